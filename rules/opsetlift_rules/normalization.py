"""Normalisation with statistics of the input itself (BatchNormalization has a module of its own).

InstanceNormalization      6: -consumed_inputs, any rank · 22: +bfloat16
MeanVarianceNormalization  9: introduced · 13: +bfloat16
LRN                        13: +bfloat16
LayerNormalization         17: introduced
GroupNormalization         18: introduced · 21: scale and bias per channel, not per group, +stash_type
RMSNormalization           23: introduced
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy

from opsetlift.rulebook.rule import Apply, Fallback, Introduction, Rule, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, dtype_attribute, has_attribute, known_shape
from opsetlift.specification.dtypes import DIGITS
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.images import as_image, is_image
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round, in_float
from opsetlift_rules.helpers.separating import put_maxima_before

_ONE_BY_ONE = "mean, variance, root and quotient round one by one"
_STAGE_ROUNDS = "a kernel may round to stash_type after each operation of the first stage, or once at its end"


# InstanceNormalization


def reshape_other_ranks_to_images(site: Site) -> None:
    """Reshape the input of InstanceNormalization-6 to rank 4, the only rank of version 1."""
    if not is_image(site):
        op = site.op_at(opsets.AXES_AS_INPUTS)
        image, back = as_image(site, op, site.input(0))
        site.replace(back(site.op.copy(image, *site.inputs[1:])))


def normalize_a_batch_of_one(site: Site) -> None:
    """Write epsilon out, and several images as one with all their channels, each of which is normalized by itself.

    Where nothing of that is left to do, the mean is taken off before.
    """
    shape, dims = known_shape(site, 0), site.shape(0)
    parameters = [value for position in (1, 2) if (value := site.content(position)) is not None]
    has_epsilon = has_attribute(site, "epsilon")
    if not has_epsilon:
        site.set_attribute("epsilon", _EPSILON)
    op = site.op
    if shape is not None and 0 not in shape and shape[0] > 1 and len(parameters) == len(site.inputs) - 1:
        batch, channels, *spatial = shape
        inputs = [op.Reshape(site.input(0), site.constant([1, batch * channels, *spatial], "int64", "channels"))]
        inputs += [site.constant(numpy.tile(value, batch), hint="repeated") for value in parameters]
        site.replace(op.Reshape(op.copy(*inputs), site.constant(shape, "int64", "shape")))
    elif has_epsilon and dims is not None:
        site.rounds()
        op = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE)
        mean = op.ReduceMean(site.input(0), axes=list(range(2, len(dims))), keepdims=1)
        site.set_input(0, op.Sub(site.input(0), mean))
    else:
        # A new node, which is looked at in its turn.
        site.replace(op.copy(*site.inputs))


_EPSILON = 1e-5
"""The default of InstanceNormalization."""

# MeanVarianceNormalization


def write_default_axes(site: Site) -> None:
    """Write the default axes of MeanVarianceNormalization-9, which 13 has too.

    onnx's inference fails on the function body of 13 where the attribute is absent.
    """
    if not has_attribute(site, "axes"):
        site.set_attribute("axes", [0, 2, 3])


def decompose_mean_variance_normalization(site: Site) -> None:
    """Replace MeanVarianceNormalization-9 with (x - mean) / (deviation + 1e-9), as in its function body.

    Two passes, as in the formula: E(X²) - E(X)² would lose digits.
    """
    op = site.op_at(opsets.BFLOAT16)
    dtype, (value,), result = in_float(site, op)
    axes = site.attribute("axes", [0, 2, 3])
    centred, variance = _centred(op, value, axes)
    deviation = op.Add(op.Sqrt(variance), site.constant(1e-9, dtype, "least"))
    site.replace(result(op.Div(centred, deviation)))


def _centred(op: Operators, value: str, axes: list[int]) -> tuple[str, str]:
    centred = op.Sub(value, op.ReduceMean(value, axes=axes))
    return centred, op.ReduceMean(op.Mul(centred, centred), axes=axes)


# LayerNormalization, RMSNormalization: the first stage in the precision of stash_type, the second in that of the scale


def decompose_layer_normalization(site: Site) -> None:
    """Replace LayerNormalization-17 with mean, variance, root and quotient in stash_type, then scale and bias."""
    op = site.op_at(opsets.BFLOAT16)
    axes = _trailing_axes(site)
    stage, value, back = _staged(site, op, site.input(0))
    mean = op.ReduceMean(value, axes=axes)
    centred = op.Sub(value, mean)
    variance = op.ReduceMean(op.Mul(centred, centred), axes=axes)
    deviation = op.Sqrt(op.Add(variance, site.constant(site.attribute("epsilon", 1e-5), stage, "epsilon")))
    result = op.Mul(back(op.Div(centred, deviation)), site.input(1))
    if site.input(2):
        result = op.Add(result, site.input(2))
    site.replace(result, mean, op.Reciprocal(deviation) if site.is_read(2) else None)


def decompose_rms_normalization(site: Site) -> None:
    """Replace RMSNormalization-23 with x / root mean square in stash_type, then the scale."""
    op = site.op_at(opsets.BFLOAT16)
    axes = _trailing_axes(site)
    stage, value, back = _staged(site, op, site.input(0))
    squares = op.ReduceMean(op.Mul(value, value), axes=axes)
    root = op.Sqrt(op.Add(squares, site.constant(site.attribute("epsilon", 1e-5), stage, "epsilon")))
    normalised = back(op.Div(value, root))
    scale_dtype = site.dtype(1)
    if scale_dtype != site.dtype(0):
        normalised = op.Cast(normalised, to=scale_dtype)
    site.replace(op.Mul(normalised, site.input(1)))


def _trailing_axes(site: Site) -> list[int]:
    axis = site.attribute("axis", -1)
    if axis < 0:
        return list(range(axis, 0))
    return list(range(axis, site.rank(0, because="all axes from `axis` to the last are normalized")))


def _staged(site: Site, op: Operators, value: str) -> tuple[str, str, Callable[[str], str]]:
    """The dtype of stash_type, the value cast to it, and the cast of the stage's result back."""
    stage, dtype = dtype_attribute(site, "stash_type", "float"), site.dtype(0)
    if site.transition.operator != "GroupNormalization" or stage in ("float16", "bfloat16"):
        site.rounds(fewer_digits=max(0, DIGITS[dtype] - DIGITS[stage]))
    if stage == dtype:
        return stage, value, lambda result: result
    return stage, op.Cast(value, to=stage), lambda result: str(op.Cast(result, to=dtype))


def give_a_bias_or_negate_twice(site: Site) -> None:
    """Give LayerNormalization-17 a bias of -0, which changes no sum; over several axes, negate its input twice.

    For runtimes that take a bias for granted, or merge a sum with a normalization over several axes. Scale and bias
    that are to be broadcast are applied to what is normalized without them, for those that do not do that.
    """
    shape, data = known_shape(site, 1), known_shape(site, 0)
    wanted = None if data is None else data[site.attribute("axis", -1) :]
    if wanted is not None and shape is not None and shape != wanted:
        _scale_what_is_normalized(site, wanted)
        return
    if shape is not None and len(shape) > 1:
        site.set_input(0, site.op.Neg(site.op.Neg(site.input(0))))
    elif shape is not None and not site.input(2):
        site.set_input(2, site.constant(numpy.full(shape, -0.0), site.dtype(1), "bias"))


def _scale_what_is_normalized(site: Site, shape: list[int]) -> None:
    op, dtype = site.op, site.dtype(1)
    scale, bias = site.constant_value(1), site.constant_value(2) if site.input(2) else None
    if scale is not None and scale.size <= prod(shape) and (bias is not None or not site.input(2)):
        # Constants that are repeated within the shape stay with the node.
        given = [scale.reshape(_without_ones(scale.shape, len(shape)))]
        given += [] if bias is None else [bias.reshape(_without_ones(bias.shape, len(shape)))]
        if all(one.ndim <= len(shape) for one in given):
            repeated = [site.constant(numpy.broadcast_to(one, shape).copy(), hint="repeated") for one in given]
            site.replace(op.copy(site.input(0), *repeated))
            return
    if dtype != site.dtype(0) or len([one for one in site.node.output if one]) > 1:
        return
    site.rounds()
    ones, zeros = (site.constant(numpy.full(shape, one), dtype, "plain") for one in (1.0, -0.0))
    value = op.Mul(op.copy(site.input(0), ones, zeros), site.input(1))
    site.replace(op.Add(value, site.input(2)) if site.input(2) else value)


def _without_ones(shape: Sequence[int], rank: int) -> list[int]:
    """The sizes without those of 1 in front that there are beyond a rank."""
    sizes = list(shape)
    while len(sizes) > rank and sizes[0] == 1:
        del sizes[0]
    return sizes


# GroupNormalization


def repeat_scale_for_each_channel(site: Site) -> None:
    """Repeat scale and bias of GroupNormalization-18, [groups], for each channel: [C] in version 21.

    Version 18 does not define a precision: double stays double, and narrower floats round once more in 21.
    """
    dtype = site.dtype(0)
    if dtype == "double":
        site.set_attribute("stash_type", 11)
    elif dtype != "float":
        site.rounds()
    op = site.op
    for position, hint in ((1, "scale"), (2, "bias")):
        name = site.input(position)
        site.set_input(position, site.folded(lambda name=name: _repeated(site, op, name), hint))  # type: ignore[misc]


def _repeated(site: Site, op: Operators, values: str) -> str:
    """One value per group, repeated for each of its channels."""
    groups = site.attribute("num_groups")
    shape = site.shape(0)
    channels = shape[1] if shape else None
    column = op.Unsqueeze(values, site.constant([1], "int64"))
    if isinstance(channels, int):
        repeats = site.constant([1, channels // groups], "int64", "repeats")
    else:
        count = op.Gather(op.Shape(site.input(0)), site.constant([1], "int64"))
        per_group = op.Div(count, site.constant([groups], "int64", "groups"))
        repeats = op.Concat(site.constant([1], "int64"), per_group, axis=0)
    return str(op.Reshape(op.Tile(column, repeats), site.constant([-1], "int64", "shape")))


def normalize_groups_as_instances(site: Site) -> None:
    """Replace GroupNormalization-21 with InstanceNormalization of [N, groups, rest], then scale and bias.

    Version 18 is deprecated, so that no GroupNormalization is left below 21.
    """
    op = site.op_at(opsets.ALLOWZERO)
    rank = site.rank(0, because="scale and bias need a dimension of size 1 for each spatial axis")
    stage, value, back = _staged(site, op, site.input(0))
    compute_dtype = "float" if stage == "bfloat16" else stage
    value = op.Cast(value, to=compute_dtype) if compute_dtype != stage else value
    # Adding -0 changes no number, zeros included.
    one, zero = (site.constant(number, compute_dtype, hint) for number, hint in ((1, "one"), (-0.0, "zero")))
    groups = site.constant([site.attribute("num_groups")], "int64", "groups")
    ones, zeros = (site.folded(lambda name=name: str(op.Expand(name, groups)), "values") for name in (one, zero))  # type: ignore[misc]
    normalised = _instances_normalised(site, op, value, ones, zeros)
    normalised = back(op.Cast(normalised, to=stage) if compute_dtype != stage else normalised)
    aligned = site.constant(range(1, rank - 1), "int64")
    scale, bias = (op.Unsqueeze(name, aligned) if rank > 2 else name for name in site.inputs[1:])
    site.replace(op.Add(op.Mul(normalised, scale), bias))


def replace_with_instance_normalization(site: Site) -> None:
    """Replace GroupNormalization-18 with InstanceNormalization of [N, groups, rest] and its scale and bias."""
    op = site.op_at(opsets.ALLOWZERO)
    site.replace(_instances_normalised(site, op, *site.inputs))


def _instances_normalised(site: Site, op: Operators, value: str, scale: str, bias: str) -> str:
    groups = site.attribute("num_groups")
    shape = op.Shape(site.input(0))

    def grouped_shape() -> str:
        batch = op.Slice(shape, site.constant([0], "int64"), site.constant([1], "int64"))
        rest = op.Slice(shape, site.constant([1], "int64"), site.constant([END], "int64"))
        per_group = op.Div(op.ReduceProd(rest), site.constant([groups], "int64", "groups"))
        return str(op.Concat(batch, site.constant([groups], "int64", "groups"), per_group, axis=0))

    grouped = op.Reshape(value, site.folded(grouped_shape, "shape"), allowzero=1)
    epsilon = site.attribute("epsilon", 1e-5)
    normalised = op.InstanceNormalization(grouped, scale, bias, epsilon=epsilon)
    return str(op.Reshape(normalised, site.folded(lambda: str(op.Identity(shape)), "shape"), allowzero=1))


def _staged_rounding(rule: Apply, when: str = "") -> Rule:
    digits = DIGITS["double"] - DIGITS["bfloat16"]
    return rounding(rule, ulps=8, when=when, because=_STAGE_ROUNDS, fewer_digits=digits)


_TEXT = "13 reformats the text and adds bfloat16"

_SCALE_BECOMES_THAT_OF_CHANNELS = rounding(
    repeat_scale_for_each_channel,
    ulps=2,
    when="the dtype is narrower than float",
    because="21 rounds the normalized values to the narrow dtype before it scales them",
)
_NORMALIZE_GROUPS_AS_INSTANCES = _staged_rounding(
    normalize_groups_as_instances, when="stash_type is narrower than float"
)

STEPS = [
    Step("InstanceNormalization", 1, 6, up=remove_consumed_inputs, down=reshape_other_ranks_to_images),
    Step("InstanceNormalization", 6, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("MeanVarianceNormalization", 9, 13, up=write_default_axes, down=cast_bfloat16_and_round, because=_TEXT),
    Step("LRN", 1, 13, up=unchanged, down=cast_bfloat16_and_round, because=_TEXT),
    Step("GroupNormalization", 18, 21, up=_SCALE_BECOMES_THAT_OF_CHANNELS, down=_NORMALIZE_GROUPS_AS_INSTANCES),
]

_MEAN_AND_DEVIATION = rounding(decompose_mean_variance_normalization, ulps=4, because=_ONE_BY_ONE)

INTRODUCTIONS = [
    Introduction("MeanVarianceNormalization", 9, down=_MEAN_AND_DEVIATION),
    Introduction("LayerNormalization", 17, down=_staged_rounding(decompose_layer_normalization)),
    Introduction("RMSNormalization", 23, down=_staged_rounding(decompose_rms_normalization)),
    Introduction("GroupNormalization", 18, down=replace_with_instance_normalization),
]

_WITH_SCALES_APART = rounding(
    give_a_bias_or_negate_twice,
    ulps=2,
    when="scale and bias are applied by nodes of their own",
    because="the product and the sum round one by one",
)

_CENTRED = rounding(
    normalize_a_batch_of_one,
    ulps=16,
    when="the runtime loses digits of numbers far from 0, so that their mean is taken off before",
    because="the mean is rounded before it is taken off",
)

FALLBACKS = [
    Fallback("MeanVarianceNormalization", _MEAN_AND_DEVIATION),
    Fallback("InstanceNormalization", reshape_other_ranks_to_images, otherwise=_CENTRED),
    Fallback("LayerNormalization", _WITH_SCALES_APART),
    Fallback("LRN", put_maxima_before),
]
