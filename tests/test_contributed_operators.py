"""Operators of com.microsoft in ONNX's operators, for runtimes that lack them."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy
import onnx
import onnxruntime
import pytest
from onnx import helper

from opsetlift import Certificate, ConversionRefused, NotEquivalent, convert, reach
from opsetlift.conversion.contributed import with_written_operators
from opsetlift.evaluator import Evaluator
from opsetlift.facts import ModelFacts
from opsetlift.model.arrays import Array
from opsetlift.rulebook.book import RuleBook, RuleBookError, default_rule_book
from opsetlift.rulebook.contributed import ContributedOperator
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.targets import find_target
from opsetlift_rules import contributed_operators

_SCALES = "float s = {0.02}, float t = {0.03}, float o = {0.05}, uint8 p = {120}, uint8 q = {100}, uint8 z = {128}"
_SIGNED = "float s = {0.02}, float t = {0.03}, float o = {0.05}, int8 p = {3}, int8 q = {-10}, int8 z = {7}"

OPERATORS = {
    "QLinearAdd": ("uint8[2,4] x, uint8[4] w", "uint8[2,4] y", "QLinearAdd (x, s, p, w, t, q, o, z)"),
    "QLinearMul": ("uint8[2,4] x, uint8[2,4] w", "uint8[2,4] y", "QLinearMul (x, s, p, w, t, q, o, z)"),
    "QLinearSigmoid": ("uint8[2,4] x", "uint8[2,4] y", "QLinearSigmoid (x, s, q, t, z)"),
    "QLinearLeakyRelu": ("uint8[2,4] x", "uint8[2,4] y", "QLinearLeakyRelu <alpha = 0.25> (x, s, q, o, z)"),
    "QLinearAveragePool": (
        "uint8[1,2,5,4] x",
        "uint8[1,2,A,B] y",
        "QLinearAveragePool <kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 0]> (x, s, q, o, z)",
    ),
    "QLinearGlobalAveragePool": ("uint8[1,2,3,4] x", "uint8[1,2,1,1] y", "QLinearGlobalAveragePool (x, s, q, t, z)"),
    "QLinearSoftmax": ("uint8[2,3,4] x", "uint8[2,3,4] y", "QLinearSoftmax <axis = 1, opset = OPSET> (x, s, q, f, g)"),
    "QLinearSoftmax of all axes": (
        "uint8[2,3,4] x",
        "uint8[2,3,4] y",
        "QLinearSoftmax <axis = 1, opset = 11> (x, s, q, f, g)",
    ),
    "QLinearConcat": (
        "uint8[2,3] x, uint8[2,1] w",
        "uint8[2,4] y",
        "QLinearConcat <axis = 1> (o, z, x, s, p, w, t, q)",
    ),
    "QLinearWhere": (
        "bool[2,4] c, uint8[2,4] x, uint8[4] w",
        "uint8[2,4] y",
        "QLinearWhere (c, x, s, p, w, t, q, o, z)",
    ),
    "QGemm": ("uint8[2,3] x, uint8[3,4] w", "uint8[2,4] y", "QGemm (x, s, p, w, t, q, b, o, z)"),
    "QGemm of constant weights": ("uint8[2,3] x", "uint8[2,4] y", "QGemm <transB = 1> (x, s, p, k, t, m, b, o, z)"),
    "QGemm by scales of columns": (
        "uint8[2,3] x",
        "uint8[2,4] y",
        "QGemm <transB = 1, alpha = 0.5> (x, s, p, k, v, n, b, o, z)",
    ),
    "QGemm by scales of columns as they are": (
        "uint8[2,4] x",
        "uint8[2,3] y",
        "QGemm (x, s, p, k, u, r, , o, z)",
    ),
    "QGemm of floats": (
        "uint8[3,2] x, uint8[4,3] w",
        "float[2,4] y",
        "QGemm <transA = 1, transB = 1, alpha = 0.5> (x, s, p, w, t, q)",
    ),
    "MatMulIntegerToFloat": (
        "uint8[2,3] x, uint8[3,4] w, float[4] c",
        "float[2,4] y",
        "MatMulIntegerToFloat (x, w, s, t, p, q, c)",
    ),
    "DynamicQuantizeMatMul": ("float[2,3] x, uint8[3,4] w", "float[2,4] y", "DynamicQuantizeMatMul (x, w, t, q)"),
    "FusedMatMul": (
        "float[2,4,3] x, float[2,5,4] w",
        "float[2,3,5] y",
        "FusedMatMul <transA = 1, transB = 1, alpha = 0.5> (x, w)",
    ),
    "Gelu": ("float[2,4] x", "float[2,4] y", "Gelu (x)"),
    "BiasGelu": ("float[2,4] x, float[4] w", "float[2,4] y", "BiasGelu (x, w)"),
    "FastGelu": ("float[2,4] x, float[4] w", "float[2,4] y", "FastGelu (x, w)"),
    "FastGelu alone": ("float[2,4] x", "float[2,4] y", "FastGelu (x)"),
    "QuickGelu": ("float[2,4] x", "float[2,4] y", "QuickGelu <alpha = 1.5> (x)"),
    "FusedConv": (
        "float[1,2,5,5] x, float[3,2,3,3] w, float[3] c, float[1,3,3,3] d",
        "float[1,3,3,3] y",
        'FusedConv <activation = "LeakyRelu", activation_params = [0.25], kernel_shape = [3, 3]> (x, w, c, d)',
    ),
    "SkipLayerNormalization": (
        "float[1,3,4] x, float[1,3,4] w, float[4] a, float[4] c, float[4] d",
        "float[1,3,4] y",
        "SkipLayerNormalization <epsilon = 0.001> (x, w, a, c, d)",
    ),
}
"""Inputs, outputs and a node of com.microsoft."""

_CONSTANTS = (
    "int32[4] b = {10, -20, 30, -40}, float f = {0.00390625}, uint8 g = {0}, "
    "int8[4,3] k = {1, -2, 3, 40, 50, -60, 7, 8, 9, -100, 110, 120}, int8 m = {2}, "
    "float[4] v = {0.01, 0.02, 0.03, 0.04}, int8[4] n = {1, -2, 3, 4}, "
    "float[3] u = {0.01, 0.02, 0.03}, int8[3] r = {1, -2, 3}"
)


def of_one_node(name: str, opset: int, scales: str = _SCALES) -> onnx.ModelProto:
    """A model of one operator, with the constants that it reads."""
    inputs, outputs, node = OPERATORS[name]
    node = node.replace("OPSET", str(opset))
    text = f"""<ir_version: 8, opset_import: ["": {opset}, "com.microsoft": 1]>
        g ({inputs}) => ({outputs}) <{scales}, {_CONSTANTS}> {{ y = com.microsoft.{node} }}"""
    found = onnx.parser.parse_model(text)
    read = {one for node in found.graph.node for one in node.input}
    constants = [one for one in found.graph.initializer if one.name in read]
    del found.graph.initializer[:]
    found.graph.initializer.extend(constants)
    return found


def drawn(model: onnx.ModelProto) -> dict[str, Array]:
    """Values for the inputs."""
    random = numpy.random.default_rng(4)
    values = {}
    for one in model.graph.input:
        kind = one.type.tensor_type
        dtype = numpy.dtype(numpy_dtype(helper.tensor_dtype_to_string(kind.elem_type).split(".")[1].lower()))
        shape = [size.dim_value for size in kind.shape.dim]
        whole = random.integers(0, {"b": 2, "i": 127}.get(dtype.kind, 255), shape)
        values[one.name] = (random.standard_normal(shape) if dtype.kind == "f" else whole).astype(dtype)
    return values


def in_onnxruntime(model: onnx.ModelProto, values: dict[str, Array]) -> Array:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return numpy.asarray(session.run(None, values)[0])


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("name", OPERATORS)
def test_what_is_written_is_what_onnxruntime_computes(name: str, opset: int) -> None:
    given = of_one_node(name, opset)
    lacking = frozenset(f"com.microsoft.{one.op_type}" for one in given.graph.node)
    runtime = replace(find_target("openvino==2022.3"), operators_lacking=lacking)
    done = with_written_operators(ModelFacts(given), runtime, default_rule_book())
    assert done is not None
    written, notes = done.model, done.notes
    assert not [node for node in written.graph.node if node.domain], notes
    onnx.checker.check_model(written, full_check=True)
    values = drawn(given)
    before, after = in_onnxruntime(given, values), in_onnxruntime(written, values)
    assert (before.dtype, before.shape) == (after.dtype, after.shape)
    steps = 1 if before.dtype.kind in "iu" else 1e-5
    assert numpy.abs(before.astype(numpy.float64) - after.astype(numpy.float64)).max() <= steps
    assert len(numpy.unique(after)) > 1
    numpy.testing.assert_array_equal(Evaluator(given).run(values)["y"], Evaluator(written).run(values)["y"])
    assert len(notes) == 1
    assert notes[0].startswith(given.graph.node[0].op_type)


@pytest.mark.parametrize("name", ["QLinearAdd", "QLinearMul", "QLinearSigmoid", "QLinearConcat", "QLinearLeakyRelu"])
def test_signed_values_stay_signed(name: str) -> None:
    given = of_one_node(name, 13, _SIGNED)
    for one in (*given.graph.input, *given.graph.output):
        one.type.tensor_type.elem_type = onnx.TensorProto.INT8
    done = with_written_operators(ModelFacts(given), find_target("openvino==2022.3"), default_rule_book())
    assert done is not None
    values = drawn(given)
    before, after = in_onnxruntime(given, values), in_onnxruntime(done.model, values)
    assert numpy.abs(before.astype(int) - after.astype(int)).max() <= 1


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("runtime", ["onnxruntime==1.3", "openvino==2022.3"])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_conversion_is_proven_from_there_on(name: str, runtime: str) -> None:
    operator = name.split()[0]
    conversion = convert(of_one_node(name, 13), target=runtime)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    if f"com.microsoft.{operator}" in find_target(runtime).operators_lacking:
        assert not [node for node in conversion.model.graph.node if node.domain]


def test_the_certificate_says_what_was_written_and_can_be_verified() -> None:
    given = of_one_node("QLinearAdd", 13)
    conversion = convert(given, target="openvino==2022.3")
    assert conversion.certificate is not None
    assert '"name": "QLinearAdd of com.microsoft"' in conversion.certificate.to_json()
    read = Certificate.from_json(conversion.certificate.to_json())
    assert [stage.stage for stage in read.stages] == ["write operators", "convert"]
    sentence = "QLinearAdd of com.microsoft: one node is written as DequantizeLinear, Add and QuantizeLinear"
    assert any(note.startswith(sentence) for note in conversion.report.notes)


def test_another_meaning_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a rule writes something else, the kernel of the evaluator tells."""
    book = RuleBook([contributed_operators])
    for operator, wrong in (
        ("QLinearAdd", "QLinearMul"),
        ("Gelu", "QuickGelu"),
        ("QLinearSigmoid", "QLinearLeakyRelu"),
    ):
        other = book.contributed("com.microsoft", wrong)
        assert other is not None
        declared = default_rule_book()
        monkeypatch.setitem(declared._contributed, ("com.microsoft", operator), other)
        with pytest.raises(NotEquivalent):
            convert(of_one_node(operator, 13), target="openvino==2021.4")


def test_what_a_runtime_has_stays() -> None:
    for runtime in ("onnxruntime==1.10", "onnxruntime==1.20"):
        found = convert(of_one_node("QLinearAdd", 13), target=runtime).model
        assert [node.op_type for node in found.graph.node] == ["QLinearAdd"]


@pytest.mark.parametrize("name", ["QLinearAdd", "QGemm", "FusedConv"])
def test_reach_agrees(name: str) -> None:
    given = of_one_node(name, 13)
    runtimes = ["onnxruntime==0.5", "onnxruntime==1.3", "onnxruntime==1.10", "openvino==2022.3", "opencv==4.14"]
    for answer in reach(given, targets=runtimes, opsets=False).targets:
        try:
            convert(given, target=answer.where, prove=False)
        except ConversionRefused:
            assert not answer.is_reachable, answer
        else:
            assert answer.is_reachable, answer


def test_the_model_itself_is_not_touched() -> None:
    given = of_one_node("QLinearAdd", 13)
    before = given.SerializeToString()
    convert(given, target="openvino==2022.3")
    assert given.SerializeToString() == before


def test_branches_and_functions_are_written_too() -> None:
    text = f"""<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]>
        g (bool c, uint8[4] x) => (uint8[4] y) <{_SCALES}> {{
            y = If (c) <
                then_branch = a () => (uint8[4] u) {{ u = com.microsoft.QLinearSigmoid (x, s, q, t, z) }},
                else_branch = b () => (uint8[4] v) {{ v = Identity (x) }}>
        }}"""
    found = convert(onnx.parser.parse_model(text), target="onnxruntime==1.3").model
    then = next(one.g for node in found.graph.node for one in node.attribute if one.name == "then_branch")
    assert not [node for node in then.node if node.domain]


def test_attributes_of_a_function_are_not_read() -> None:
    text = """<ir_version: 8, opset_import: ["": 15, "com.microsoft": 1, "own": 1]> g (uint8[4] x) => (uint8[4] y)
        { y = own.leaky <slope = 0.5> (x) }
        <domain: "own", opset_import: ["": 15, "com.microsoft": 1]> leaky <slope> (a) => (b) {
            s = Constant <value_float = 0.25> () z = Constant <value = uint8 {100}> ()
            b = com.microsoft.QLinearLeakyRelu <alpha: float = @slope> (a, s, z, s, z) }"""
    with pytest.raises(ConversionRefused, match="QLinearLeakyRelu"):
        convert(onnx.parser.parse_model(text), target="openvino==2022.3")


def test_scales_with_an_axis_become_numbers() -> None:
    text = """<ir_version: 8, opset_import: ["": 13, "com.microsoft": 1]> g (uint8[2,3] x) => (uint8[2,3] y)
        <float[1] s = {0.5}, uint8[1] z = {100}> { y = com.microsoft.QLinearSigmoid (x, s, z, s, z) }"""
    conversion = convert(onnx.parser.parse_model(text), target="openvino==2022.3")
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    computed = text.replace("(uint8[2,3] x)", "(uint8[2,3] x, float[N] s)").replace("float[1] s = {0.5}, ", "")
    with pytest.raises(ConversionRefused, match="QLinearSigmoid"):
        convert(onnx.parser.parse_model(computed), target="openvino==2022.3")


def test_a_function_of_that_name_is_called() -> None:
    text = """<ir_version: 8, opset_import: ["": 15, "com.microsoft": 1]> g (float[4] x) => (float[4] y)
        { y = com.microsoft.QuickGelu (x) }
        <domain: "com.microsoft", opset_import: ["": 15]> QuickGelu (a) => (b) { b = Relu (a) }"""
    found = convert(onnx.parser.parse_model(text), target="openvino==2022.3").model
    assert "Sigmoid" not in {node.op_type for node in found.graph.node}


@pytest.mark.parametrize(
    ("inputs", "outputs", "node", "opset"),
    [
        ("uint8[1,4,4,2] x", "uint8[1,1,1,2] y", "QLinearGlobalAveragePool <channels_last = 1> (x, s, p, o, z)", 13),
        ("float[2,3] x, float[2,3] w", "float[2,2] y", "FusedMatMul <transBatchA = 1> (x, w)", 13),
        ("uint8[4] x", "uint8[4] y", "QLinearAdd (x, s, p)", 13),
        ("float[4] x", "float[4] y", "QuickGelu (x)", 9),
    ],
)
def test_what_cannot_be_written_is_refused(inputs: str, outputs: str, node: str, opset: int) -> None:
    text = f"""<ir_version: 8, opset_import: ["": {opset}, "com.microsoft": 1]>
        g ({inputs}) => ({outputs}) <{_SCALES}> {{ y = com.microsoft.{node} }}"""
    operator = node.split()[0]
    with pytest.raises(ConversionRefused, match=operator):
        convert(onnx.parser.parse_model(text), target="openvino==2022.3")


def test_an_operator_is_declared_once() -> None:
    module = ModuleType("twice")
    module.CONTRIBUTED_OPERATORS = 2 * [ContributedOperator("A", lambda body: "")]  # type: ignore[attr-defined]
    with pytest.raises(RuleBookError, match=r"what A of com\.microsoft stands for is known"):
        RuleBook([module])
