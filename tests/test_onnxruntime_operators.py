"""Types of what operators of onnxruntime's own domain compute, beside those that onnxruntime computes."""

from __future__ import annotations

import numpy
import onnx
import onnx.parser
import onnxruntime
import pytest

import opsetlift
from opsetlift.facts import ModelFacts
from opsetlift.facts.onnxruntime_operators import _RULES
from opsetlift.specification.dtypes import dtype_of_type, numpy_dtype

_SCALES = "float s = {0.5}, uint8 p = {3}"

NODES = {
    "BiasGelu": ("float[2, 4] x, float[4] b", "", "y = m.BiasGelu (x, b)"),
    "DequantizeLinear": ("uint16[2, 3] x", "float s = {0.5}, uint16 p = {3}", "y = m.DequantizeLinear (x, s, p)"),
    "DynamicQuantizeMatMul": (
        "float[2, 5, 3] x",
        "int8[3, 4] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float s = {0.5}",
        "y = m.DynamicQuantizeMatMul (x, b, s)",
    ),
    "FastGelu": ("float[2, 4] x", "", "y = m.FastGelu (x)"),
    "FusedMatMul": ("float[3, 1, 4, 2] x, float[5, 3, 4] b", "", "y = m.FusedMatMul <transA = 1, transB = 1> (x, b)"),
    "FusedMatMul, batches": (
        "float[3, 5, 2] x, float[5, 2, 4] b",
        "",
        "y = m.FusedMatMul <transBatchA = 1> (x, b)",
    ),
    "Gelu": ("float[2, 4] x", "", "y = m.Gelu (x)"),
    "MatMulIntegerToFloat": (
        "uint8[2, 5, 3] x, int8[3, 4] b",
        "float s = {0.5}",
        "y = m.MatMulIntegerToFloat (x, b, s, s)",
    ),
    "MatMulNBits": (
        "float[2, 5, 16] x",
        f"uint8[4, 1, 8] b = {{{', '.join(map(str, range(32)))}}}, float[4] s = {{1, 2, 3, 4}}",
        "y = m.MatMulNBits <K = 16, N = 4, bits = 4, block_size = 16> (x, b, s)",
    ),
    "QGemm": ("uint8[2, 3] x, uint8[4, 3] b", _SCALES, 'y = m.QGemm <transB = 1> (x, s, p, b, s, p, "", s, p)'),
    "QGemm, floats": ("uint8[2, 3] x, uint8[3, 4] b", _SCALES, "y = m.QGemm (x, s, p, b, s, p)"),
    "QLinearAdd": ("uint8[2, 1, 3] x, uint8[4, 3] b", _SCALES, "y = m.QLinearAdd (x, s, p, b, s, p, s, p)"),
    "QLinearAveragePool": (
        "uint8[2, 3, 8, 7] x",
        _SCALES,
        "y = m.QLinearAveragePool <kernel_shape = [2, 3]> (x, s, p, s, p)",
    ),
    "QLinearAveragePool, channels last": (
        "uint8[2, 8, 7, 3] x",
        _SCALES,
        "y = m.QLinearAveragePool <kernel_shape = [2, 3], channels_last = 1> (x, s, p, s, p)",
    ),
    "QLinearConcat": (
        "uint8[2, 3] x, uint8[2, 4] b",
        _SCALES,
        "y = m.QLinearConcat <axis = -1> (s, p, x, s, p, b, s, p)",
    ),
    "QLinearGlobalAveragePool": ("uint8[2, 3, 8, 7] x", _SCALES, "y = m.QLinearGlobalAveragePool (x, s, p, s, p)"),
    "QLinearGlobalAveragePool, channels last": (
        "uint8[2, 8, 7, 3] x",
        _SCALES,
        "y = m.QLinearGlobalAveragePool <channels_last = 1> (x, s, p, s, p)",
    ),
    "QLinearLeakyRelu": ("uint8[2, 3] x", _SCALES, "y = m.QLinearLeakyRelu (x, s, p, s, p)"),
    "QLinearMul": ("uint8[2, 3] x, uint8[3] b", _SCALES, "y = m.QLinearMul (x, s, p, b, s, p, s, p)"),
    "QLinearSigmoid": ("uint8[2, 3] x", _SCALES, "y = m.QLinearSigmoid (x, s, p, s, p)"),
    "QLinearSoftmax": ("uint8[2, 3] x", _SCALES, "y = m.QLinearSoftmax <opset = 13> (x, s, p, s, p)"),
    "QLinearWhere": (
        "bool[2, 1] c, uint8[3] x, uint8[1, 3] b",
        _SCALES,
        "y = m.QLinearWhere (c, x, s, p, b, s, p, s, p)",
    ),
    "QuantizeLinear": ("float[2, 3] x", "float s = {0.5}, uint16 p = {3}", "y = m.QuantizeLinear (x, s, p)"),
    "QuickGelu": ("float[2, 4] x", "", "y = m.QuickGelu (x)"),
    "SkipLayerNormalization": (
        "float[2, 3, 4] x, float[2, 3, 4] b",
        "float[4] g = {1, 2, 3, 4}",
        'y, "", "", z = m.SkipLayerNormalization (x, b, g)',
    ),
    "SkipSimplifiedLayerNormalization": (
        "float[2, 3, 4] x, float[2, 3, 4] b",
        "float[4] g = {1, 2, 3, 4}",
        'y, "", "", z = m.SkipSimplifiedLayerNormalization (x, b, g)',
    ),
    "Tokenizer": (
        "string[2, 3] x",
        "",
        'y = m.Tokenizer <mark = 0, mincharnum = 1, pad_value = "#", tokenexp = "[a-z0-9.]+"> (x)',
    ),
}


def model_of(case: str) -> onnx.ModelProto:
    inputs, constants, node = NODES[case]
    outputs = "float y, float z" if " z =" in node else "float y"
    text = f'<ir_version: 8, opset_import: ["": 13, "m": 1]> g ({inputs}) => ({outputs}) <{constants}> {{ {node} }}'
    model = onnx.parser.parse_model(text.replace("<> {", "{"))
    model.opset_import[1].domain = model.graph.node[0].domain = "com.microsoft"
    for info in model.graph.output:
        info.ClearField("type")
    return model


@pytest.mark.parametrize("case", NODES)
def test_types_are_those_that_onnxruntime_computes(case: str) -> None:
    model = model_of(case)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    fed = {
        info.name: numpy.ones(
            [dim.dim_value for dim in info.type.tensor_type.shape.dim],
            onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type),
        )
        for info in model.graph.input
    }
    facts = ModelFacts(model).graph
    for name, value in zip([info.name for info in model.graph.output], session.run(None, fed), strict=True):
        dtype, shape = dtype_of_type(str(facts.type_string(name))), facts.shape(name)
        assert dtype is not None
        assert numpy_dtype(dtype) == value.dtype
        if shape is None:
            assert "batches" in case
        else:
            assert all(size in (None, actual) for size, actual in zip(shape, value.shape, strict=True))
            assert None not in shape or "Pool" in case or case == "Tokenizer"


def test_every_operator_of_the_table_is_among_them() -> None:
    assert {case.partition(",")[0] for case in NODES} == set(_RULES)


def test_what_reads_their_results_is_converted_and_normalised_with_a_proof() -> None:
    """Without a rank DequantizeLinear may have one scale or one for each channel, which matters below 13."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]> g (uint8[N, 3] a, uint8[3] b) => (float[N, 3] y)
        <float s = {0.5}, uint8 p = {3}> {
            c = com.microsoft.QLinearAdd (a, s, p, b, s, p, s, p) d = Identity (c) y = DequantizeLinear (d, s, p)
        }"""
    )
    conversion = opsetlift.convert(model, to=10)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    normalization = opsetlift.normalize(model)
    assert [node.op_type for node in normalization.model.graph.node] == ["QLinearAdd", "DequantizeLinear"]
    assert normalization.certificate is not None
    assert normalization.certificate.is_proven


def test_what_reads_the_tokens_of_texts_goes_down() -> None:
    """As skl2onnx writes a TfidfVectorizer."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]> g (string[N] x) => (string[N, M] y) {
            tokens = com.microsoft.Tokenizer <mark = 0, pad_value = "#", tokenexp = "[a-z]+"> (x)
            y = Flatten (tokens)
        }"""
    )
    assert [node.op_type for node in opsetlift.convert(model, to=10).model.graph.node] == ["Tokenizer", "Flatten"]
