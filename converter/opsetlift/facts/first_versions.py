"""Types of outputs of the first versions of operators, for which onnx has no inference, as their texts give them.

Models that exporters wrote up to opset 5 are full of them: Relu, Add with the attribute broadcast, Dropout, Concat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from onnx import NodeProto, TypeProto, helper

from opsetlift.specification.dtypes import shape_of_type
from opsetlift.specification.history import AI_ONNX, Definition

Size = int | str | None
_Types = Sequence[TypeProto | None]


def with_types_of_first_versions(
    node: NodeProto,
    definition: Definition,
    inferred: Mapping[str, TypeProto],
    type_of: Callable[[str], TypeProto | None],
) -> Mapping[str, TypeProto]:
    """What is inferred of a node, with the shapes that follow from the text where onnx gives dtypes alone."""
    schema = definition.schema
    if schema.domain != AI_ONNX or schema.has_type_and_shape_inference_function:
        return inferred
    given = [type_of(name) if name else None for name in node.input]
    first = given[0] if given else None
    if first is None or not first.HasField("tensor_type") or not first.tensor_type.elem_type:
        return inferred
    types = _types(node, first, given)
    open_ones = (name for name in node.output if name and not _has_shape(inferred.get(name)))
    return {**inferred, **{name: types[name] for name in open_ones if name in types}}


def _has_shape(one: TypeProto | None) -> bool:
    return one is not None and one.tensor_type.HasField("shape")


def _types(node: NodeProto, first: TypeProto, given: _Types) -> Mapping[str, TypeProto]:
    if node.op_type in _LIKE_THE_FIRST:
        return dict.fromkeys(node.output[: _LIKE_THE_FIRST[node.op_type]], first)
    if node.op_type in _ALIKE:
        # "All inputs and outputs must have the same shape and data type."
        return {node.output[0]: next(filter(_has_shape, given), None) or first}
    shapes_of = _SHAPES.get(node.op_type)
    shapes = shapes_of(node, [None if one is None else shape_of_type(one) for one in given]) if shapes_of else ()
    dtype = first.tensor_type.elem_type
    return {name: helper.make_tensor_type_proto(dtype, shape) for name, shape in zip(node.output, shapes, strict=False)}


_LIKE_THE_FIRST = {
    **dict.fromkeys(("Abs", "Ceil", "Clip", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg"), 1),
    **dict.fromkeys(("Reciprocal", "Relu", "Selu", "Sigmoid", "Sqrt", "Tanh", "PRelu", "InstanceNormalization"), 1),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), 1),
    "BatchNormalization": 1,
    "GroupNormalization": 1,
    "Dropout": 2,
}
"""How many outputs have the type of the first input. Of Add and its like the second input is broadcast to the first."""

_ALIKE = ("Max", "Mean", "Min", "Sum")

_Shape = Sequence[Size] | None
_Shapes = Callable[[NodeProto, Sequence[_Shape]], Sequence[_Shape]]


def _attributes(node: NodeProto) -> dict[str, object]:
    return {one.name: helper.get_attribute_value(one) for one in node.attribute if not one.ref_attr_name}


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


def _wholes(value: object) -> list[int]:
    return list(value) if isinstance(value, list | tuple) else []


def _of_concat(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    """Concat-1, whose axis is 1 by default."""
    axis, first = _whole(_attributes(node).get("axis"), 1), shapes[0]
    if first is None or not -len(first) <= axis < len(first):
        return [None]
    sizes = [one[axis] if one is not None and len(one) == len(first) else None for one in shapes]
    known = [one for one in sizes if isinstance(one, int)]
    joined: list[Size] = list(first)
    joined[axis] = sum(known) if len(known) == len(sizes) else None
    return [joined]


def _of_gemm(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    given = _attributes(node)
    one, other = shapes[0], shapes[1] if len(shapes) > 1 else None
    if one is None or other is None or len(one) != len(other) != 2:
        return [None]
    return [[one[1 if given.get("transA") else 0], other[0 if given.get("transB") else 1]]]


def _of_global_pool(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    return [None if shapes[0] is None else [*shapes[0][:2], *[1] * (len(shapes[0]) - 2)]]


def _of_pad(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    pads, shape = _wholes(_attributes(node).get("paddings")), shapes[0]
    if shape is None or len(pads) != 2 * len(shape):
        return [None]
    both = zip(shape, pads[: len(shape)], pads[len(shape) :], strict=True)
    return [[size + before + after if isinstance(size, int) else None for size, before, after in both]]


def _of_reshape(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    """Reshape-1: a 0 copies a size, and -1 is what is left."""
    wanted, shape = _wholes(_attributes(node).get("shape")), shapes[0]
    if not wanted or any(one == 0 and (shape is None or place >= len(shape)) for place, one in enumerate(wanted)):
        return [None]
    sizes: list[Size] = [one or (shape or ())[place] for place, one in enumerate(wanted)]
    rest = [one for one in sizes if one != -1]
    total = math.prod(one for one in rest if isinstance(one, int))
    is_known = shape is not None and all(isinstance(one, int) for one in (*shape, *rest)) and total
    left = math.prod(one for one in shape or () if isinstance(one, int)) // total if is_known else None
    return [[left if one == -1 else one for one in sizes]]


def _of_split(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    given, shape, count = _attributes(node), shapes[0], len(node.output)
    axis, lengths = _whole(given.get("axis"), 0), _wholes(given.get("split"))
    if shape is None or not -len(shape) <= axis < len(shape):
        return [None] * count
    size = shape[axis]
    parts: list[Size] = [*lengths] if lengths else [None] * count
    if not lengths and len(node.input) == 1 and isinstance(size, int) and size % count == 0:
        parts = [size // count] * count
    axis %= len(shape)
    return [[*shape[:axis], part, *shape[axis + 1 :]] for part in parts]


def _of_upsample(node: NodeProto, shapes: Sequence[_Shape]) -> Sequence[_Shape]:
    given, shape = _attributes(node), shapes[0]
    scales = [given.get("height_scale"), given.get("width_scale")]
    if shape is None or len(shape) != len(scales) + 2:
        return [None]
    longer = [
        math.floor(size * scale) if isinstance(size, int) and isinstance(scale, float) else None
        for size, scale in zip(shape[2:], scales, strict=True)
    ]
    return [[*shape[:2], *longer]]


_SHAPES: Mapping[str, _Shapes] = {
    "Concat": _of_concat,
    "Gemm": _of_gemm,
    "GlobalLpPool": _of_global_pool,
    "Pad": _of_pad,
    "Reshape": _of_reshape,
    "Split": _of_split,
    "Upsample": _of_upsample,
}
