"""Types of what operators of onnxruntime's own domain, com.microsoft, compute: onnx has no definitions of these.

onnxruntime's quantizer and optimizer write them, and skl2onnx for texts. The dtypes are those of its schemas
(`onnxruntime.capi.onnxruntime_pybind11_state.get_all_operator_schema()`), the shapes those of its documentation
(docs/ContribOperators.md). Each is compared in the tests with what onnxruntime computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from onnx import NodeProto, TensorProto, TypeProto, helper

from opsetlift.specification.dtypes import shape_of_type

Size = int | str | None
Shape = list[Size] | None

Attributes = Mapping[str, Any]


class _Inputs:
    """The inputs of a node, of which some may be absent or unknown."""

    def __init__(self, node: NodeProto, type_of: Callable[[str], TypeProto | None]) -> None:
        self._names = list(node.input)
        self._types = [type_of(name) if name else None for name in self._names]
        self.count = len(self._types)

    def has(self, index: int) -> bool:
        """Whether the input is there."""
        return index < self.count and bool(self._names[index])

    def dtype(self, index: int) -> int:
        """The number of the dtype; 0 where it is not known, or the input is absent."""
        found = self._types[index] if index < self.count else None
        return 0 if found is None else found.tensor_type.elem_type

    def shape(self, index: int) -> Shape:
        """The shape, as far as it is known."""
        found = self._types[index] if index < self.count else None
        return None if found is None else shape_of_type(found)


Output = tuple[int, Shape]
"""The number of a dtype, 0 where it is not known, and the shape."""

Rule = Callable[[_Inputs, Attributes], Sequence[Output]]


def types_in_onnxruntime(node: NodeProto, type_of: Callable[[str], TypeProto | None]) -> Mapping[str, TypeProto]:
    """The types of a node's outputs by name, as far as they are known; none of operators that the table lacks."""
    rule = _RULES.get(node.op_type)
    if rule is None:
        return {}
    attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute if not one.ref_attr_name}
    outputs = zip(node.output, rule(_Inputs(node, type_of), attributes), strict=False)
    return {name: helper.make_tensor_type_proto(dtype, shape) for name, (dtype, shape) in outputs if name and dtype}


def _like(index: int) -> Rule:
    """The type of an input."""
    return lambda inputs, _: [(inputs.dtype(index), inputs.shape(index))]


def _like_first_and_fourth_output(inputs: _Inputs, _: Attributes) -> Sequence[Output]:
    """SkipLayerNormalization: mean and variance are for training, and nobody writes them."""
    return [(inputs.dtype(0), inputs.shape(0)), (0, None), (0, None), (inputs.dtype(0), inputs.shape(0))]


def _broadcast(dtype_of: int, *operands: int) -> Rule:
    """The dtype of one input, and the shape to which some are broadcast."""

    def types(inputs: _Inputs, _: Attributes) -> Sequence[Output]:
        shape = inputs.shape(operands[0])
        for other in operands[1:]:
            shape = _broadcast_shape(shape, inputs.shape(other))
        return [(inputs.dtype(dtype_of), shape)]

    return types


def _broadcast_shape(one: Shape, other: Shape) -> Shape:
    if one is None or other is None:
        return None
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=1)
    return [_broadcast_size(*pair) for pair in pairs][::-1]


def _broadcast_size(one: Size, other: Size) -> Size:
    if one == other or other == 1:
        return one
    if one == 1:
        return other
    return next((size for size in (one, other) if isinstance(size, int)), None)


def _product(dtype_of: int, other: int = 1) -> Rule:
    """The dtype of one input, and the shape of the matrix product of the first and another one."""

    def types(inputs: _Inputs, attributes: Attributes) -> Sequence[Output]:
        return [(inputs.dtype(dtype_of), _product_shape(inputs.shape(0), inputs.shape(other), attributes))]

    return types


def _product_shape(a: Shape, b: Shape, attributes: Attributes) -> Shape:
    moves_batches = attributes.get("transBatchA", 0) or attributes.get("transBatchB", 0)
    if a is None or b is None or min(len(a), len(b)) < 2 or moves_batches:
        return None
    outer = _broadcast_shape(a[:-2], b[:-2])
    rows, columns = a[-1 if attributes.get("transA", 0) else -2], b[-2 if attributes.get("transB", 0) else -1]
    return None if outer is None else [*outer, rows, columns]


def _quantized_gemm(inputs: _Inputs, attributes: Attributes) -> Sequence[Output]:
    """QGemm gives integers where it is given their zero point, else floats as its scales are."""
    dtype = inputs.dtype(8 if inputs.has(8) else 1)
    return [(dtype, _product_shape(inputs.shape(0), inputs.shape(3), attributes))]


def _concatenated(inputs: _Inputs, attributes: Attributes) -> Sequence[Output]:
    """QLinearConcat: behind scale and zero point of the result each input has its own two."""
    shapes = [inputs.shape(index) for index in range(2, inputs.count, 3)]
    known = [shape for shape in shapes if shape is not None]
    if not known or len(known) < len(shapes) or len({len(shape) for shape in known}) > 1 or not known[0]:
        return [(inputs.dtype(1), None)]
    axis = attributes["axis"] % len(known[0])
    result = [sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*known, strict=True)]
    joined = [shape[axis] for shape in known]
    numbers = [size for size in joined if isinstance(size, int)]
    result[axis] = sum(numbers) if len(numbers) == len(joined) else None
    return [(inputs.dtype(1), result)]


def _global_pool(inputs: _Inputs, attributes: Attributes) -> Sequence[Output]:
    shape = inputs.shape(0)
    if shape is None or len(shape) < 3:
        return [(inputs.dtype(0), None)]
    ones: list[Size] = [1] * (len(shape) - 2)
    is_last = attributes.get("channels_last", 0)
    return [(inputs.dtype(0), [shape[0], *ones, shape[-1]] if is_last else [*shape[:2], *ones])]


def _pool(inputs: _Inputs, attributes: Attributes) -> Sequence[Output]:
    """The windows' sizes are left open."""
    shape = inputs.shape(0)
    if shape is None or len(shape) < 3:
        return [(inputs.dtype(0), None)]
    windows: list[Size] = [None] * (len(shape) - 2)
    is_last = attributes.get("channels_last", 0)
    return [(inputs.dtype(0), [shape[0], *windows, shape[-1]] if is_last else [*shape[:2], *windows])]


def _columns_named(inputs: _Inputs, attributes: Attributes) -> Sequence[Output]:
    """MatMulNBits: its matrix is packed, and an attribute says how many columns it has."""
    shape = inputs.shape(0)
    return [(inputs.dtype(0), None if shape is None else [*shape[:-1], attributes["N"]])]


def _quantized(inputs: _Inputs, _: Attributes) -> Sequence[Output]:
    return [(inputs.dtype(2), inputs.shape(0))]


def _dequantized(inputs: _Inputs, _: Attributes) -> Sequence[Output]:
    return [(inputs.dtype(1), inputs.shape(0))]


def _tokens(inputs: _Inputs, _: Attributes) -> Sequence[Output]:
    """Tokenizer: an axis more for the tokens of each text, of which the text with most decides how many."""
    shape = inputs.shape(0)
    return [(TensorProto.STRING, None if shape is None else [*shape, None])]


_RULES: Mapping[str, Rule] = {
    "BiasGelu": _like(0),
    "DequantizeLinear": _dequantized,
    "DynamicQuantizeMatMul": _product(0),
    "FastGelu": _like(0),
    "FusedMatMul": _product(0),
    "Gelu": _like(0),
    "MatMulIntegerToFloat": _product(2),
    "MatMulNBits": _columns_named,
    "QGemm": _quantized_gemm,
    "QLinearAdd": _broadcast(0, 0, 3),
    "QLinearAveragePool": _pool,
    "QLinearConcat": _concatenated,
    "QLinearGlobalAveragePool": _global_pool,
    "QLinearLeakyRelu": _like(0),
    "QLinearMul": _broadcast(0, 0, 3),
    "QLinearSigmoid": _like(0),
    "QLinearSoftmax": _like(0),
    "QLinearWhere": _broadcast(1, 0, 1, 4),
    "QuantizeLinear": _quantized,
    "QuickGelu": _like(0),
    "SkipLayerNormalization": _like_first_and_fourth_output,
    "SkipSimplifiedLayerNormalization": _like_first_and_fourth_output,
    "Tokenizer": _tokens,
}
