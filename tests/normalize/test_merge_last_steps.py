"""Steps of recurrent networks."""

from __future__ import annotations

import pytest

from tests.normalize.rewriting import rewritten, text_model

_PASSES = ("merge-last-steps", "remove-unused")


def operators(network: str, nodes: str, direction: str = "forward", lengths: str = "") -> list[str]:
    graph = f"""g (float[5, n, 3] x, float[1, W, 3] w, float[1, W, 2] r, int32[n] lengths) => (float[n, 2] y)
    <int64[1] one = {{1}}, int64 first = {{0}}, int64 second = {{1}}, int64 last = {{-1}}, int64 fifth = {{4}},
    int64[3] shape = {{5, 1, 2}}> {{
        a = {network}<hidden_size = 2, direction = "{direction}">(x, w, r{lengths}) {nodes}
    }}""".replace("W", str({"RNN": 2, "GRU": 6, "LSTM": 8}[network]))
    if "shape)" in nodes:
        graph = graph.replace("[5, n, 3]", "[5, 1, 3]").replace("[n, 2]", "[1, 2]").replace("int32[n]", "int32[1]")
    return [node.op_type for node in rewritten(_PASSES, text_model(graph)).model.graph.node]


@pytest.mark.parametrize("network", ["RNN", "GRU", "LSTM"])
def test_the_last_step_is_the_state(network: str) -> None:
    assert operators(network, "b = Squeeze(a, one) y = Gather(b, last)") == [network, "Squeeze"]


def test_the_last_step_may_be_counted_from_the_front() -> None:
    assert operators("GRU", "b = Squeeze(a, one) y = Gather(b, fifth)") == ["GRU", "Squeeze"]
    assert operators("GRU", "b = Reshape(a, shape) y = Gather(b, fifth)") == ["GRU", "Squeeze"]


def test_in_reverse_the_first_step_is_the_last() -> None:
    assert operators("GRU", "b = Squeeze(a, one) y = Gather(b, first)", "reverse") == ["GRU", "Squeeze"]


@pytest.mark.parametrize(
    ("nodes", "direction", "lengths", "why"),
    [
        ("b = Squeeze(a, one) y = Gather(b, second)", "forward", "", "another step"),
        ("b = Squeeze(a, one) y = Gather(b, last)", "reverse", "", "the first one computed"),
        ("b = Squeeze(a, one) y = Gather(b, last)", "forward", ", , lengths", "sequences end earlier"),
        (
            "b = Squeeze(a, one) c = Gather(b, last) d = ReduceMax<axes = [0], keepdims = 0>(b) y = Add(c, d)",
            "forward",
            "",
            "all steps are read",
        ),
    ],
)
def test_other_steps_stay(nodes: str, direction: str, lengths: str, why: str) -> None:
    assert "Gather" in operators("GRU", nodes, direction, lengths)
