"""Which nodes tell 0 from -0: some give the same for both, and results of others differ in the signs of zeros alone."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy
import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import given, is_plain
from opsetlift.normalizer.rewriting import Context


class Fate(Enum):
    """What becomes of the sign of the zeros in an input."""

    ENDS = "ends"
    """The node gives the same, to the bit, for both signs."""
    PASSES = "passes"
    """The node gives the same but for the signs of zeros."""
    SHOWS = "shows"
    """It may give other numbers, or nobody knows."""


ENDS = frozenset(
    (
        *("Abs", "Acos", "ArgMax", "ArgMin", "Cos", "Cosh", "Exp", "IsInf", "IsNaN", "NonZero", "Shape", "Sigmoid"),
        *("Size", "Softmax", "Softplus", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
        *("ReduceL1", "ReduceL2", "ReduceSumSquare"),
    )
)
"""Operators that give the same for both, whichever input it is."""

PASSES = frozenset(
    (
        *("Add", "Concat", "Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", "Max", "Mean", "Min", "Mul", "Sub"),
        *("Sum", "Where"),
    )
)
"""Operators whose results differ in the signs of zeros at most, whichever inputs' zeros change theirs.

Which of them give the same beside certain other inputs says `_SPECIAL`.
"""

PASSES_FIRST = frozenset(
    (
        *("Asin", "Asinh", "Atan", "Atanh", "AveragePool", "BatchNormalization", "Ceil", "Celu", "Clip", "CumSum"),
        *("DepthToSpace", "Div", "Elu", "Erf", "Expand", "Flatten", "Floor", "Gather", "GatherElements", "GatherND"),
        *("Gelu", "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "HardSigmoid", "HardSwish", "Identity"),
        *("InstanceNormalization", "LayerNormalization", "LeakyRelu", "LogSoftmax", "MaxPool", "Mish", "Neg", "PRelu"),
        *("Pad", "RMSNormalization", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Relu", "Reshape", "Resize"),
        *("Round", "Selu", "Shrink", "Sign", "Sin", "Sinh", "Slice", "Softsign", "SpaceToDepth", "Split", "Sqrt"),
        *("Squeeze", "Swish", "Tan", "Tanh", "ThresholdedRelu", "Tile", "Transpose", "Trilu", "Unsqueeze", "Upsample"),
    )
)
"""The same, for the first input alone."""

WITH_BIAS = {
    "BatchNormalization": 2,
    "Conv": 2,
    "ConvTranspose": 2,
    "GroupNormalization": 2,
    "InstanceNormalization": 2,
    "LayerNormalization": 2,
}
"""Which input is the bias, added to what was made of the first."""

_FLOATS = frozenset(("float16", "bfloat16", "float", "double"))


def fate(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    """What becomes of the sign of the zeros in `tensor` where `node` reads it, from opset 7 on."""
    if not is_plain(node):
        return Fate.SHOWS
    if node.op in ENDS:
        return Fate.ENDS
    if node.op in _SPECIAL:
        return _SPECIAL[node.op](node, tensor, context)
    is_first = node.inputs[0] is tensor and all(one is not tensor for one in node.inputs[1:])
    bias = given(node, WITH_BIAS[node.op]) if node.op in WITH_BIAS else None
    if bias is not None and is_first and _has_no_negative_zero(bias, context) and len(node.outputs) == 1:
        return Fate.ENDS
    if len(node.outputs) > 1 and node.op != "Split":
        return Fate.SHOWS
    return Fate.PASSES if node.op in PASSES or (node.op in PASSES_FIRST and is_first) else Fate.SHOWS


def _of_sum(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    """The sum x + c is the same for both zeros where no element of c is -0."""
    others = [one for one in node.inputs if one is not tensor]
    ends = len(others) == len(node.inputs) - 1 and any(_has_no_negative_zero(one, context) for one in others)
    return Fate.ENDS if ends else Fate.PASSES


def _of_difference(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    """The difference x - c is x + (-c), and c - x is the same for both zeros where no element of c is -0."""
    first, second = node.inputs
    if second is tensor and first is not tensor and _has_no_negative_zero(first, context):
        return Fate.ENDS
    if first is tensor and second is not tensor and _has_no_negative_zero(second, context, negated=True):
        return Fate.ENDS
    return Fate.PASSES


def _of_product(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    return Fate.ENDS if all(one is tensor for one in node.inputs) else Fate.PASSES


def _of_power(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    """A square, or another even power, has no sign."""
    exponent = context.constant(node.inputs[1])
    if node.inputs[1] is tensor or exponent is None or exponent.dtype.kind not in "iuf":
        return Fate.SHOWS
    return Fate.ENDS if exponent.size and bool(((exponent > 0) & (exponent % 2 == 0)).all()) else Fate.SHOWS


def _of_gemm(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    """As for a sum with C, where beta is 1."""
    bias = given(node, 2)
    if bias is None or bias is tensor or node.attrs.get("beta", 1.0) != 1.0:
        return Fate.PASSES
    return Fate.ENDS if _has_no_negative_zero(bias, context) else Fate.PASSES


def _of_cast(node: gs.Node, tensor: gs.Tensor, context: Context) -> Fate:
    """Integers and truth values have one zero; texts show its sign, and not all narrow floats have one."""
    dtype = context.dtype_of(node.outputs[0])
    if dtype is None or dtype == "string" or "float8" in dtype or "float4" in dtype:
        return Fate.SHOWS
    return Fate.PASSES if dtype in _FLOATS else Fate.ENDS


_SPECIAL: dict[str, Callable[[gs.Node, gs.Tensor, Context], Fate]] = {
    "Add": _of_sum,
    "Cast": _of_cast,
    "Gemm": _of_gemm,
    "Mul": _of_product,
    "Pow": _of_power,
    "Sub": _of_difference,
    "Sum": _of_sum,
}


def _has_no_negative_zero(tensor: gs.Tensor, context: Context, *, negated: bool = False) -> bool:
    """Whether a tensor is a constant of floats none of which, or none of whose negatives, is -0."""
    value = context.constant(tensor)
    if value is None or value.dtype.kind != "f":
        return False
    return not bool(((value == 0) & (numpy.signbit(value) != negated)).any())
