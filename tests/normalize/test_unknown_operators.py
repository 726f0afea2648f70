"""What ONNX does not have, in its own domain: TensorRT's plugins, and what onnxruntime's optimizer writes."""

from __future__ import annotations

import pytest
from onnx import ModelProto, parser

from opsetlift import ConversionRefused, convert, normalize

NMS = "ai.onnx has no operator EfficientNMS_TRT; its nodes were left as they are"


def model(nodes: str, opset: int = 11, functions: str = "") -> ModelProto:
    """A model with some nodes, and constants that they read."""
    return parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": {opset}, "f": 1]>
        g (float[2,4] x, bool c) => (float[2,4] y) <float[4] s = {{1, 2, 3, 4}}> {{ {nodes} }} {functions}"""
    )


def operators(converted: ModelProto) -> list[str]:
    return [node.op_type for node in converted.graph.node]


def test_plugins_stay_and_what_is_around_them_is_normalised() -> None:
    done = normalize(model("a = Identity(x) k = EfficientNMS_TRT<score = 0.5>(a) b = Relu(k) y = Relu(b)"))
    assert operators(done.model) == ["EfficientNMS_TRT", "Relu"]
    assert done.report.notes == (NMS,)
    assert done.certificate is not None
    assert done.certificate.is_proven


def test_equal_plugins_are_not_merged() -> None:
    """One may draw random numbers."""
    before = model("a = Plugin(x) b = Plugin(x) y = Add(a, b)")
    assert operators(normalize(before).model) == operators(before)


def test_operators_that_were_introduced_later_stay() -> None:
    """onnxruntime has LayerNormalization at any opset, and its optimizer writes it at that of the model."""
    done = normalize(model("a = Identity(x) y = LayerNormalization<axis = -1>(a, s, s)"))
    assert operators(done.model) == ["LayerNormalization"]
    assert not done.report.notes


@pytest.mark.parametrize(
    ("nodes", "functions"),
    [
        (
            "y = If(c) <then_branch = t () => (float[2,4] p) { p = Plugin(x) },"
            " else_branch = e () => (float[2,4] q) { q = Neg(x) }>",
            "",
        ),
        ("y = f.F(x)", '<domain: "f", opset_import: ["": 11]> F (v) => (w) { w = Plugin(v) }'),
    ],
    ids=["subgraph", "function"],
)
def test_they_may_be_inside(nodes: str, functions: str) -> None:
    assert normalize(model(nodes, functions=functions)).report.notes == (NMS.replace("EfficientNMS_TRT", "Plugin"),)


def test_other_faults_are_still_found() -> None:
    with pytest.raises(Exception, match="Unrecognized attribute: wrong for operator Relu"):
        normalize(model("a = Plugin(x) y = Relu<wrong = 1>(a)"))


@pytest.mark.parametrize(
    ("opset", "target", "sentence"),
    [
        (11, "onnxruntime==1.16", "no release of ONNX has an operator Plugin, and nor has ONNX Runtime 1.16"),
        (11, "opencv==4.14", "no release of ONNX has an operator Plugin, and nor has OpenCV DNN 4.14"),
        (20, "tensorrt==8.6", "opset 20 has no operator Plugin, so its meaning is unknown"),
    ],
)
def test_runtimes_without_them_and_other_opsets_are_refused(opset: int, target: str, sentence: str) -> None:
    with pytest.raises(ConversionRefused, match=sentence):
        convert(model("y = Plugin(x)", opset), target=target)


def test_tensorrt_takes_them() -> None:
    """It looks for plugins by the names of operators, in whatever domain these are."""
    converted = convert(model("y = EfficientNMS_TRT(x)"), target="tensorrt==8.6")
    assert operators(converted.model) == ["EfficientNMS_TRT"]
    assert NMS in converted.report.notes


@pytest.mark.parametrize(
    "nodes",
    [
        "s = Constant <value = int64[2] {3, 2}> () a = Identity (x) y = Reshape (a, s)",
        "a = Identity (x) y = If (c) <then_branch = t () => (float[3,2] p) { s = Constant <value = int64[2] {3, 2}> ()"
        " p = Reshape (a, s) }, else_branch = e () => (float[3,2] q) { q = Transpose (a) }>",
    ],
    ids=["graph", "subgraph"],
)
def test_constants_of_integers_below_9_stay(nodes: str) -> None:
    """Exporters of 2018 wrote shapes so, and runtimes take what the text of version 1 does not allow."""
    head = '<ir_version: 3, opset_import: ["": 8]> g (float[2,3] x, bool c) => (float[3,2] y)'
    source = parser.parse_model(f"{head} {{ {nodes} }}")
    done = normalize(source)
    assert "Identity" not in operators(done.model)
    assert done.model.ir_version == 3
    assert done.certificate is not None
    assert done.certificate.is_proven


def test_constants_of_old_models_are_initializers_for_a_runtime_without_constants() -> None:
    source = parser.parse_model(
        """<ir_version: 3, opset_import: ["": 8]> g (float[2,3] x) => (float[2,3] y)
        { s = Constant <value = float[3] {3, 2, 1}> () y = Add (x, s) }"""
    )
    assert operators(convert(source, target="opencv==4.14").model) == ["Add"]
