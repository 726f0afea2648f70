"""What a pass says of itself: where it says that it has left a graph as it was, it has."""

from __future__ import annotations

from collections import Counter

import onnx
import onnx_graphsurgeon as gs
import pytest

from opsetlift.normalizer import Pass, to_graph
from opsetlift.normalizer.discovery import known_passes
from opsetlift.normalizer.model_state import ModelState
from opsetlift.normalizer.picture import Picture
from opsetlift.normalizer.rewriting import Context
from opsetlift.normalizer.structure import Structure
from opsetlift.pipeline.normalize import normalize
from testing.cases import node_cases
from testing.random_graphs import random_graph
from tests.normalize.rewriting import text_model

OTHERS = frozenset(("fix-defaults", "inline-functions", "remove-unused"))
"""They say nothing, or change the interface."""


def count_words(model: onnx.ModelProto, words: Counter[str], name: str) -> None:
    """Run every pass twice, and look whether those that say so have done nothing."""
    state = ModelState(to_graph(model))
    state.tidy()
    for _ in range(2):
        state.facts.renew()
        for one in known_passes().values():
            if one.name in OTHERS:
                continue
            before = Picture(Structure(state.places(), state.graph.functions))
            said = [one.rewrite(place.graph, Context(state, place)) for place in state.places()]
            if all(word is False for word in said):
                assert before.structure.still_holds(state.places(), state.graph.functions), f"{one.name} on {name}"
                assert before.renewed() is before, f"{one.name} on {name}"
                words[one.name] += 1
                continue
            state.tidy()
            state.facts.graph_has_changed()


@pytest.mark.slow
def test_passes_that_say_they_did_nothing_did_nothing() -> None:
    words: Counter[str] = Counter()
    for seed in range(40):
        count_words(random_graph(seed), words, f"seed {seed}")
    for case in node_cases()[::24]:
        count_words(case.model, words, case.name)
    assert len(words) > 12
    assert min(words.values()) > 50


def test_what_passes_of_others_say_is_not_believed() -> None:
    def rename(graph: gs.Graph, context: Context) -> bool:
        graph.nodes[0].name = "another"
        return False

    source = text_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    result = normalize(source, ["name-nodes", Pass("rename", rename, "")])
    assert result.model.graph.node[0].name == "another"
    assert [one.changes for one in result.report.passes] == [1, 1]
