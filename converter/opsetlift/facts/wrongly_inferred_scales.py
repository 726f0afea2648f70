"""Sizes that onnx's inference (1.23) gives what is resampled by scales: it multiplies in double, runtimes in float.

6 times the float that is next to 7/6 is less than 7, and 7 once it is rounded to a float. onnxruntime and our evaluator
have 7 there, as ONNX's own tests need.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import numpy
from onnx import NodeProto, TensorProto, TypeProto, helper

from opsetlift.model.arrays import Array, array_of
from opsetlift.specification.dtypes import shape_of_type
from opsetlift.specification.history import AI_ONNX, Definition, canonical_domain
from opsetlift.specification.operands import input_operands

_RESAMPLING = ("Resize", "Upsample")
_LARGEST_SIZE = 2**63 - 1


def resampled_types(
    node: NodeProto,
    definition: Definition,
    type_of: Callable[[str], TypeProto | None],
    constant: Callable[[str], Array | None] | None,
) -> Mapping[str, TypeProto] | None:
    """The type of what a node resamples by constant scales, where the inference gives another size; else None."""
    if node.op_type not in _RESAMPLING or canonical_domain(node.domain) != AI_ONNX or not (node.input and node.output):
        return None
    given = {one.name: helper.get_attribute_value(one) for one in node.attribute if not one.ref_attr_name}
    named = {one.formal: one.name for one in input_operands(node, definition)}
    scales = given.get("scales")
    if scales is None and constant is not None and "scales" in named:
        scales = constant(named["scales"])
    kind = type_of(node.input[0])
    shape = None if kind is None else shape_of_type(kind)
    if scales is None or kind is None or shape is None:
        return None
    factors = numpy.asarray(scales).reshape(-1)
    if not factors.size or factors.dtype.kind != "f":
        return None
    factors = factors.astype(numpy.float32)
    axes = given.get("axes") or range(len(shape))
    if (
        len(factors) != len(axes)
        or not numpy.isfinite(factors).all()
        or not all(-len(shape) <= axis < len(shape) for axis in axes)
    ):
        return None
    sizes = dict(zip((axis % len(shape) for axis in axes), factors, strict=True))
    known = {axis: (size, sizes[axis]) for axis, size in enumerate(shape) if isinstance(size, int) and axis in sizes}
    if any(not 0 <= _in_floats(*one) <= _LARGEST_SIZE for one in known.values()):
        return None
    if all(_in_floats(*one) == math.floor(one[0] * float(one[1])) for one in known.values()):
        return None
    result = TypeProto()
    result.CopyFrom(kind)
    for axis, dim in enumerate(result.tensor_type.shape.dim):
        if axis in known:
            dim.dim_value = _in_floats(*known[axis])
        elif axis in sizes and sizes[axis] != 1:
            dim.Clear()
    return {node.output[0]: result}


def _in_floats(size: int, scale: numpy.float32) -> int:
    return math.floor(numpy.float32(size) * scale)


def hide_wrongly_inferred_scales(
    by_operator: Mapping[str, Iterable[NodeProto]], initializers: Iterable[TensorProto]
) -> None:
    """Give nodes that may be inferred wrongly, which are those with fractions, a domain that the inference ignores."""
    nodes = [node for operator in _RESAMPLING for node in by_operator.get(operator, ())]
    if not nodes:
        return
    tensors = {one.name: one for one in initializers}
    for one in by_operator.get("Constant", ()):
        tensors.update((one.output[0], attribute.t) for attribute in one.attribute if attribute.HasField("t"))
    for node in nodes:
        given = [one.floats for one in node.attribute if one.name == "scales"]
        held = [tensors[name] for name in node.input[1:3] if name in tensors]
        small = [
            one for one in held if one.data_type == TensorProto.FLOAT and one.data_location != TensorProto.EXTERNAL
        ]
        given += [value.reshape(-1).tolist() for one in small if (value := array_of(one, "")) is not None]
        if any(scale % 1 for scales in given for scale in scales):
            node.domain = "opsetlift.not_inferred"
