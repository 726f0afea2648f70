"""Initial states of recurrent networks."""

import pytest

from tests.normalize.rewriting import check_unchanged, rewritten, text_model

PASS = "remove-zero-states"
WEIGHTS = "float[1,8,3] w, float[1,8,2] r"


def lstm(states: str, inputs: str = "", nodes: str = "", constants: str = "") -> str:
    """An LSTM with given states on a sequence of any length and batch."""
    head = f"g (float[S,N,3] x, {WEIGHTS}{inputs}) => (float[A,B,C,D] y)"
    return f"{head} {constants} {{ {nodes} y = LSTM<hidden_size = 2>(x, w, r, , , {states}) }}"


ZEROS = (
    "s = Shape<start = 1, end = 2>(x) t = Concat<axis = 0>(d, s, h) z = ConstantOfShape(t) p, q = Split<axis = 0>(z)"
)
SIZES = "<int64[1] d = {2}, int64[1] h = {2}>"


@pytest.mark.parametrize("fill", ["", "<value = float[1] {0}>"])
def test_zeros_of_any_size_are_left_out(fill: str) -> None:
    nodes = ZEROS.replace("ConstantOfShape(", f"ConstantOfShape {fill} (")
    model = rewritten(PASS, text_model(lstm("p, q", nodes=nodes, constants=SIZES))).model
    (node,) = model.graph.node
    assert list(node.input) == ["x", "w", "r"]


def test_a_state_that_is_no_zero_stays() -> None:
    model = rewritten(PASS, text_model(lstm("p, c", inputs=", float[1,N,2] c", nodes=ZEROS, constants=SIZES))).model
    assert list(model.graph.node[-1].input) == ["x", "w", "r", "", "", "", "c"]


@pytest.mark.parametrize("fill", ["<value = float[1] {-0.0}>", "<value = float[1] {1}>"])
def test_other_fills_stay(fill: str) -> None:
    nodes = ZEROS.replace("ConstantOfShape(", f"ConstantOfShape {fill} (")
    check_unchanged(PASS, lstm("p, q", nodes=nodes, constants=SIZES))


def test_a_default_that_callers_may_override_stays() -> None:
    graph = lstm("h", inputs=", float[1,1,2] h", constants="<float[1,1,2] h = {0, 0}>").replace("S,N,3", "S,1,3")
    check_unchanged(PASS, graph)
