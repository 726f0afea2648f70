"""Keys of resampling, as Resize and Upsample do it."""

from __future__ import annotations

import numpy
from onnx import helper

from opsetlift.targets.form_keys.place import Place
from opsetlift.targets.form_keys.registry import key
from opsetlift.targets.form_keys.shared import CHANNELS, from_front


@key(bool)
def cuts_sizes(place: Place) -> bool:
    """Whether scales times the sizes of its first input may be other than whole numbers, so that sizes are rounded.

    Where scales are computed they may.
    """
    node, scope = place.node, place.scope
    given = {one.name: helper.get_attribute_value(one) for one in node.attribute}
    named = {one.formal: one.name for one in place.inputs}
    scales = numpy.asarray(given["scales"]) if "scales" in given else None
    if "scales" in named:
        scales = scope.constant(named["scales"])
        if scales is None:
            return True
    shape = scope.shape(node.input[0])
    if scales is None or not scales.size:
        return False
    axes = given.get("axes") or range(scales.size)
    sizes = [None if shape is None or not -len(shape) <= axis < len(shape) else shape[axis] for axis in axes]
    return any(
        scale != int(scale) and not (isinstance(size, int) and (numpy.float32(size) * scale) % 1 == 0)
        for size, scale in zip(sizes, scales.astype(numpy.float32), strict=False)
    )


@key(bool)
def resizes_channels(place: Place) -> bool:
    """Whether constant scales or sizes change one of the first two axes."""
    node, scope = place.node, place.scope
    axes = place.attribute("axes")
    factors = _factors(place)
    if isinstance(axes, list) and (shape := scope.shape(node.input[0])) is not None:
        pairs = zip(axes, factors, strict=False)
        return any(from_front(axis, len(shape)) <= CHANNELS and factor != 1 for axis, factor in pairs)
    return any(factor != 1 for factor in factors[: CHANNELS + 1])


@key(bool)
def resizes_by_fractions(place: Place) -> bool:
    """Whether constant scales or sizes make the data longer or shorter by what is no whole number of times."""
    return any(one % 1 for one in _factors(place))


def _factors(place: Place) -> list[float]:
    """How many times longer a Resize or Upsample makes each axis that it names.

    Empty where that is not known; a size before that is not known counts as 1.
    """
    named = {one.formal: one.name for one in place.inputs}
    values = {formal: place.scope.content(named[formal]) for formal in ("scales", "sizes") if formal in named}
    shape, axes = place.scope.shape(place.node.input[0]), place.attribute("axes")
    if shape is not None and isinstance(axes, list):
        shape = [shape[axis] for axis in axes]
    known = next((one for one in values.values() if one is not None and one.size), None)
    if isinstance(attribute := place.attribute("scales"), list):
        known = numpy.array(attribute, numpy.float32)
    if known is None or shape is None or known.size != len(shape):
        return []
    numbers = [float(one) for one in known.reshape(-1)]
    if known.dtype.kind == "f":
        return numbers
    before = [size if isinstance(size, int) and size else 1 for size in shape]
    return [one / size for one, size in zip(numbers, before, strict=True)]
