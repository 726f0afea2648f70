"""Names that onnxruntime gives to initializers of its own are no names of ours: the model would not load."""

import onnx
import onnxruntime

import opsetlift
from tests.normalize.rewriting import text_model

THREE_OF_ONE = """g (float[1,2,3] x) => (float[2] a, float[2] b, float[2] c) {
    i = Constant<value_int = 0>() j = Constant<value_int = 1>() k = Constant<value_int = 2>()
    AXES
    a = Gather<axis = 1>(squeeze, i) b = Gather<axis = 1>(squeeze, j) c = Gather<axis = 1>(squeeze, k)
}"""
"""What onnxruntime turns into Split and Squeeze, with an initializer "squeeze_axes"."""


def check_loads(model: onnx.ModelProto) -> None:
    assert "squeeze_axes" not in [initializer.name for initializer in model.graph.initializer]
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def test_axes_of_a_value_called_squeeze_get_another_name_when_normalised() -> None:
    graph = THREE_OF_ONE.replace("AXES", "axes = Constant<value_ints = [-3]>() squeeze = Squeeze(x, axes)")
    check_loads(opsetlift.normalize(text_model(graph)).model)


def test_axes_of_a_value_called_squeeze_get_another_name_when_converted() -> None:
    graph = THREE_OF_ONE.replace("AXES", "squeeze = Squeeze<axes = [0]>(x)")
    check_loads(opsetlift.convert(text_model(graph, opset=12), to=17).model)
