"""Operators of onnxruntime's own domain, com.microsoft, which its quantizer and optimizer write.

ONNX does not define them, so each has a graph of ONNX's operators that computes the same, by docs/ContribOperators.md
of onnxruntime. A runtime has an operator if it gives that, up to a step of quantized numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy
from onnx import ModelProto, TypeProto, parser

from opsetlift.evaluator import Evaluator
from opsetlift.measuring.runner import Answer
from opsetlift.measuring.verdicts import difference_of_outputs
from opsetlift.model.arrays import Array
from opsetlift.specification.contributed import DOMAIN
from opsetlift.specification.dtypes import dtype_name, numpy_dtype, tensor_type_proto

_DEFINED_AT = 21
"""The opset of what computes the same: quantization takes 16 bits there, and Gelu is an operator."""

_QUANTIZED = "float s = {0.25}, uint8 p = {3}"


@dataclass(frozen=True)
class _Operator:
    name: str
    """With the dtype behind "of" where it is about that one."""
    inputs: str
    constants: str
    node: str
    """With "m." before the operator."""
    same: str
    """What computes the same."""
    result: str = "float"


def _quantized(name: str, inputs: str, node: str, same: str) -> _Operator:
    return _Operator(name, inputs, _QUANTIZED, f"y = m.{node}", f"{same} y = QuantizeLinear (r, s, p)", "uint8")


_A, _B = "a = DequantizeLinear (x, s, p)", "c = DequantizeLinear (w, s, p)"
_TWO = "uint8[2,4] x, uint8[2,4] w"

_OPERATORS = (
    *(
        _Operator(
            f"QuantizeLinear of {dtype}",
            "float[2,3] x",
            f"float s = {{0.5}}, {dtype} z = {{3}}",
            "y = m.QuantizeLinear (x, s, z)",
            "y = QuantizeLinear (x, s, z)",
            dtype,
        )
        for dtype in ("uint8", "int8", "uint16", "int16")
    ),
    *(
        _Operator(
            f"DequantizeLinear of {dtype}",
            f"{dtype}[2,3] x",
            f"float s = {{0.5}}, {dtype} z = {{{0 if dtype == 'int32' else 3}}}",
            "y = m.DequantizeLinear (x, s, z)",
            "y = DequantizeLinear (x, s, z)",
        )
        for dtype in ("uint8", "int8", "uint16", "int16", "int32")
    ),
    _Operator("Gelu", "float[2,4] x", "", "y = m.Gelu (x)", "y = Gelu (x)"),
    _Operator("FastGelu", "float[2,4] x", "", "y = m.FastGelu (x)", 'y = Gelu <approximate = "tanh"> (x)'),
    _Operator("BiasGelu", "float[2,4] x, float[4] w", "", "y = m.BiasGelu (x, w)", "r = Add (x, w) y = Gelu (r)"),
    _Operator(
        "QuickGelu",
        "float[2,4] x",
        "float f = {1.702}",
        "y = m.QuickGelu (x)",
        "r = Mul (x, f) t = Sigmoid (r) y = Mul (x, t)",
    ),
    _Operator(
        "FusedMatMul",
        "float[3,4,2] x, float[3,4,2] w",
        "float f = {2}",
        "y = m.FusedMatMul <transA = 1, alpha = 2.0> (x, w)",
        "r = Transpose <perm = [0, 2, 1]> (x) t = MatMul (r, w) y = Mul (t, f)",
    ),
    _Operator(
        "FusedConv",
        "float[1,2,5,5] x, float[3,2,3,3] w",
        "",
        'y = m.FusedConv <kernel_shape = [3, 3], activation = "Relu"> (x, w)',
        "r = Conv <kernel_shape = [3, 3]> (x, w) y = Relu (r)",
    ),
    _Operator(
        "SkipLayerNormalization",
        "float[1,3,4] x, float[1,3,4] w",
        "float[4] g = {1, 2, 3, 4}, float[4] b = {0, 1, 0, 1}",
        "y = m.SkipLayerNormalization <epsilon = 0.00001> (x, w, g, b)",
        "r = Add (x, w) y = LayerNormalization <epsilon = 0.00001> (r, g, b)",
    ),
    _Operator(
        "MatMulIntegerToFloat",
        "uint8[2,4] x, uint8[4,3] w",
        _QUANTIZED,
        "y = m.MatMulIntegerToFloat (x, w, s, s, p, p)",
        f"{_A} {_B} y = MatMul (a, c)",
    ),
    _Operator(
        "DynamicQuantizeMatMul",
        "float[2,4] x, uint8[4,3] w",
        _QUANTIZED,
        "y = m.DynamicQuantizeMatMul (x, w, s, p)",
        f"q, t, z = DynamicQuantizeLinear (x) a = DequantizeLinear (q, t, z) {_B} y = MatMul (a, c)",
    ),
    _quantized("QLinearAdd", _TWO, "QLinearAdd (x, s, p, w, s, p, s, p)", f"{_A} {_B} r = Add (a, c)"),
    _quantized("QLinearMul", _TWO, "QLinearMul (x, s, p, w, s, p, s, p)", f"{_A} {_B} r = Mul (a, c)"),
    _quantized(
        "QLinearConcat",
        _TWO,
        "QLinearConcat <axis = 1> (s, p, x, s, p, w, s, p)",
        f"{_A} {_B} r = Concat <axis = 1> (a, c)",
    ),
    _quantized("QLinearSigmoid", "uint8[2,4] x", "QLinearSigmoid (x, s, p, s, p)", f"{_A} r = Sigmoid (a)"),
    _quantized(
        "QLinearLeakyRelu",
        "uint8[2,4] x",
        "QLinearLeakyRelu <alpha = 0.5> (x, s, p, s, p)",
        f"{_A} r = LeakyRelu <alpha = 0.5> (a)",
    ),
    _quantized(
        "QLinearSoftmax",
        "uint8[2,4] x",
        "QLinearSoftmax <axis = 1, opset = 13> (x, s, p, s, p)",
        f"{_A} r = Softmax <axis = 1> (a)",
    ),
    _quantized(
        "QLinearAveragePool",
        "uint8[1,2,4,4] x",
        "QLinearAveragePool <kernel_shape = [2, 2]> (x, s, p, s, p)",
        f"{_A} r = AveragePool <kernel_shape = [2, 2]> (a)",
    ),
    _quantized(
        "QLinearGlobalAveragePool",
        "uint8[1,2,4,4] x",
        "QLinearGlobalAveragePool (x, s, p, s, p)",
        f"{_A} r = GlobalAveragePool (a)",
    ),
    _quantized(
        "QLinearWhere",
        f"bool[2,4] k, {_TWO}",
        "QLinearWhere (k, x, s, p, w, s, p, s, p)",
        f"{_A} {_B} r = Where (k, a, c)",
    ),
    _quantized(
        "QGemm", "uint8[2,4] x, uint8[4,3] w", 'QGemm (x, s, p, w, s, p, "", s, p)', f"{_A} {_B} r = MatMul (a, c)"
    ),
)


def lacking(run: Callable[[ModelProto, Mapping[str, Array]], Answer], opset: int, ir_version: int) -> Iterator[str]:
    """The operators that a runtime does not compute, as "Gelu", or in a dtype, as "QuantizeLinear of int16".

    Args:
        run: Asks the runtime.
        opset: One of ai.onnx that it takes.
        ir_version: The same of IR versions.
    """
    by_name: dict[str, dict[str, bool]] = {}
    for one in _OPERATORS:
        operator, _, dtype = one.name.partition(" of ")
        by_name.setdefault(operator, {})[dtype] = _is_computed(one, run, opset, ir_version)
    for operator, answers in by_name.items():
        if not any(answers.values()):
            yield operator
        else:
            yield from (f"{operator} of {dtype}" for dtype, is_computed in answers.items() if not is_computed)


def _is_computed(
    one: _Operator, run: Callable[[ModelProto, Mapping[str, Array]], Answer], opset: int, ir_version: int
) -> bool:
    constants = f"<{one.constants}>" if one.constants else ""
    graph = f"contributed ({one.inputs}) => ({one.result} y) {constants}"
    same = parser.parse_model(f'<ir_version: 10, opset_import: ["": {_DEFINED_AT}]> {graph} {{ {one.same} }}')
    inputs = {info.name: _drawn(info.type.tensor_type) for info in same.graph.input}
    expected = Evaluator(same).run(inputs)
    head = f'<ir_version: {ir_version}, opset_import: ["": {opset}, "m": 1]>'
    asked = parser.parse_model(f"{head} {graph} {{ {one.node} }}")
    for message in (*asked.opset_import, *asked.graph.node):
        message.domain = DOMAIN if message.domain == "m" else message.domain
    asked.graph.output[0].type.CopyFrom(tensor_type_proto(one.result, expected["y"].shape))
    answer = run(asked, inputs)
    if answer.error:
        return False
    found = answer.outputs.get("y")
    if one.result == "uint8" and found is not None and found.shape == expected["y"].shape and found.dtype.kind in "iuf":
        return bool((abs(found.astype(int) - expected["y"].astype(int)) <= 1).all())
    return not difference_of_outputs(expected, answer.outputs, near_zero=1e-2)


def _drawn(kind: TypeProto.Tensor) -> Array:
    """Numbers for an input: of integers small ones, so that all dtypes hold them and their products."""
    shape = [dim.dim_value for dim in kind.shape.dim]
    dtype = numpy_dtype(dtype_name(kind.elem_type))
    numbers = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
    if dtype.kind == "f":
        return (numpy.sin(numbers) * 2).astype(dtype)
    return (numbers % 2 if dtype.kind == "b" else numbers * 5 % 11).astype(dtype)
