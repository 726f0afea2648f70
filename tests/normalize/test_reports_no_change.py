"""A built-in pass that reports no change has left the graph unchanged."""

from __future__ import annotations

from collections import Counter

import onnx
import onnx_graphsurgeon as gs
import pytest

from opsetlift.normalizer import Pass, to_graph
from opsetlift.normalizer.discovery import known_passes
from opsetlift.normalizer.model_state import ModelState
from opsetlift.normalizer.rewriting import Context
from opsetlift.normalizer.snapshots.snapshot import Snapshot
from opsetlift.normalizer.snapshots.structure import Structure
from opsetlift.pipeline.normalize import normalize
from testing.cases import node_cases
from testing.random_graphs import random_graph
from tests.normalize.rewriting import text_model

OTHERS = frozenset(("fix-defaults", "inline-functions", "remove-unused"))
"""They say nothing, or change the interface."""


def count_reports(model: onnx.ModelProto, reports: Counter[str], name: str) -> None:
    """Run every pass twice, and check that those which report no change have changed nothing."""
    state = ModelState(to_graph(model))
    state.clean_up()
    for _ in range(2):
        state.facts.renew()
        for one in known_passes().values():
            if one.name in OTHERS:
                continue
            before = Snapshot(Structure(state.places(), state.graph.functions))
            reported = [one.rewrite(place.graph, Context(state, place)) for place in state.places()]
            if all(one is False for one in reported):
                assert before.structure.still_holds(state.places(), state.graph.functions), f"{one.name} on {name}"
                assert before.renewed() is before, f"{one.name} on {name}"
                reports[one.name] += 1
                continue
            state.clean_up()
            now = Snapshot(Structure(state.places(), state.graph.functions))
            state.facts.graph_has_changed(now.nodes_changed_since(before))


@pytest.mark.slow
def test_built_in_passes_that_report_no_change_changed_nothing() -> None:
    reports: Counter[str] = Counter()
    for seed in range(40):
        count_reports(random_graph(seed), reports, f"seed {seed}")
    for case in node_cases()[::24]:
        count_reports(case.model, reports, case.name)
    assert len(reports) > 12
    assert min(reports.values()) > 50


def test_reports_of_third_party_passes_are_not_relied_on() -> None:
    def rename(graph: gs.Graph, context: Context) -> bool:
        graph.nodes[0].name = "another"
        return False

    source = text_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    result = normalize(source, ["name-nodes", Pass("rename", rename, "")])
    assert result.model.graph.node[0].name == "another"
    assert [one.changes for one in result.report.passes] == [1, 1]
