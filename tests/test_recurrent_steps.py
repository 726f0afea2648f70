"""RNN, GRU and LSTM as the products and activations of their steps, for runtimes that do not compute them."""

from __future__ import annotations

from itertools import product

import numpy
import onnx
import pytest
from onnx import numpy_helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from testing.conversion import model
from tests.test_fallbacks import converted, operators

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrent(
    operator: str, *, steps: int = 3, batch: int = 2, directions: int = 1, inputs: str = "", **given: str
) -> str:
    """A model of one node; `inputs` follow X, W and R, and `given` are attributes as texts."""
    gates, hidden, size = _GATES[operator], 3, 2
    random = numpy.random.default_rng(7)

    def weights(name: str, *shape: int) -> str:
        numbers = ", ".join(f"{one:.3f}" for one in random.uniform(-1, 1, numpy.prod(shape)))
        return f"float{list(shape)} {name} = {{{numbers}}}"

    constants = {
        "w": (directions, gates * hidden, size),
        "r": (directions, gates * hidden, hidden),
        "b": (directions, 2 * gates * hidden),
        "h": (directions, batch, hidden),
        "c": (directions, batch, hidden),
        "p": (directions, 3 * hidden),
    }
    read = ["w", "r", *inputs.replace(" ", "").split(",")]
    initializers = ", ".join(weights(name, *shape) for name, shape in constants.items() if name in read)
    if "full" in read:
        initializers += f", int32[{batch}] full = {{{', '.join([str(steps)] * batch)}}}"
    computed = "".join(f", float[{directions},{batch},{hidden}] {name}" for name in ("h0", "c0") if name in read)
    computed += f", int32[{batch}] lengths" if "lengths" in read else ""
    attributes = ", ".join([f"hidden_size={hidden}", *(f"{name}={value}" for name, value in given.items())])
    arguments = f"x, w, r, {inputs}".rstrip(", ")
    state = f"[{directions},{batch},{hidden}]"
    return f"""g (float[{steps},{batch},{size}] x{computed}) => (float[{steps},{state[1:]} y, float{state} last)
        <{initializers}> {{ y, last = {operator} <{attributes}> ({arguments}) }}"""


@pytest.mark.quick_share(8)
@pytest.mark.parametrize(
    ("text", "runtime"),
    [
        (recurrent("RNN"), "opencv==5.0"),
        (recurrent("RNN", inputs="b, , h0"), "opencv==4.14"),
        (recurrent("RNN", directions=2, inputs="b, , h0", direction='"bidirectional"'), "onnxruntime==0.3"),
        (recurrent("RNN", clip="0.5", direction='"reverse"'), "opencv==5.0"),
        (recurrent("GRU", linear_before_reset="1", inputs="b, , h0"), "opencv==4.14"),
        (recurrent("GRU", inputs="b, , h"), "opencv==4.14"),
        (recurrent("GRU", inputs="b, lengths"), "opencv==5.0"),
        (recurrent("GRU", steps=1, batch=1, activations='["HardSigmoid", "Relu"]'), "openvino==2022.3"),
        (recurrent("LSTM", inputs="b, , h0"), "opencv==5.0"),
        (recurrent("LSTM", inputs="b, , h, c0"), "opencv==4.14"),
        (recurrent("LSTM", inputs="b, , , , p"), "openvino==2022.3"),
        (recurrent("LSTM", input_forget="1"), "openvino==2026.4"),
        (recurrent("LSTM", inputs="b, lengths"), "onnxruntime==0.4"),
        (
            recurrent(
                "LSTM",
                inputs="b",
                activations='["HardSigmoid", "ScaledTanh", "Affine"]',
                activation_alpha="[0.3, 0.7, 0.9]",
                activation_beta="[0.4, 1.5, 0.1]",
            ),
            "openvino==2021.4",
        ),
    ],
)
def test_steps_compute_the_same(text: str, runtime: str) -> None:
    found = converted(text, runtime)
    assert not {"RNN", "GRU", "LSTM"}.intersection(operators(found)), operators(found)


def test_what_a_runtime_computes_stays() -> None:
    for operator, runtime in product(_GATES, ["onnxruntime==1.10", "openvino==2022.3"]):
        assert operators(converted(recurrent(operator, inputs="b"), runtime)) == [operator]


def test_one_direction_at_a_time_is_enough_where_only_the_other_is_missing() -> None:
    text = recurrent("LSTM", inputs="b, , h, c", directions=2, direction='"bidirectional"')
    assert "LSTM" in operators(converted(text, "opencv==4.14"))


def test_the_layout_with_the_batch_first_is_transposed_before() -> None:
    text = """g (float[2,3,2] x) => (float[2,3,1,1] y) <float[1,1,2] w = {1, -1}, float[1,1,1] r = {0.5}>
        { y = RNN <hidden_size=1, layout=1> (x, w, r) }"""
    found = operators(converted(text, "opencv==5.0", opset=14))
    assert "RNN" not in found
    assert found.count("Transpose") == 2


def test_lengths_that_are_the_whole_sequence_need_no_choice() -> None:
    found = operators(converted(recurrent("GRU", inputs="b, full"), "opencv==5.0"))
    assert "Where" not in found


def test_a_state_alone_is_asked_for() -> None:
    text = recurrent("GRU", inputs="b, lengths").replace("y, last = ", '"", last = ')
    text = text.replace("float[3,1,2,3] y, ", "")
    assert "GRU" not in operators(converted(text, "opencv==4.14"))


@pytest.mark.parametrize(
    "text",
    [
        recurrent("LSTM", clip="0.5"),
        recurrent("RNN").replace("[3,2,2] x", "[T,2,2] x"),
        recurrent("RNN", activations='["Affine"]'),
        recurrent("RNN", steps=600),
        recurrent("RNN", inputs="b").replace("[1, 6] b", "[6, 1] b"),
        recurrent("RNN", directions=2, inputs="b"),
        "g (float[3,2,2] x, float[1,1,2] w) => (float[3,1,2,1] y) <float[1,1,1] r = {1}> { y = RNN (x, w, r) }",
    ],
    ids=[
        "clipped cells",
        "open length",
        "no default",
        "many steps",
        "misfit",
        "one of two directions",
        "computed weights",
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(ConversionRefused, match=r"OpenCV DNN 5\.0"):
        convert(model(f'<ir_version: 7, opset_import: ["": 13]> {text}'), target="opencv==5.0")


def test_parameters_that_are_left_out_have_32_bits() -> None:
    """Those of HardSigmoid do, which the list of activations means."""
    text = """<ir_version: 7, opset_import: ["": 13]> g (double[1,1,1] x) => (double[1,1,1,1] y, double[1,1,1] s)
        <double[1,1,1] w = {1}, double[1,1,1] r = {0}> {
            y = RNN <hidden_size=1, activations=["HardSigmoid"]> (x, w, r)
            s = HardSigmoid (x)
        }"""
    found = Evaluator(model(text)).run({"x": numpy.full((1, 1, 1), 0.7)})
    assert found["y"].item() == found["s"].item()


def test_weights_are_shared_by_the_steps() -> None:
    found = converted(recurrent("LSTM", steps=9, inputs="b, , h0"), "opencv==5.0")
    sizes = [numpy_helper.to_array(one).size for one in found.graph.initializer]
    assert sizes.count(36) == 1
    onnx.checker.check_model(found, full_check=True)
