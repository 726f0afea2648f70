"""Models with what their functions do in place of the calls, for onnx's inference.

For each call onnx copies the table of all functions, so that its time grows with the number of calls times that of the
functions. Without calls it grows with the graph.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import onnx.inliner
from onnx import ModelProto, NodeProto

from opsetlift.model.scopes import (
    Container,
    FunctionKey,
    called_function_key,
    function_key,
    overrides_operator,
    subgraphs_within,
)
from opsetlift.support.onnx_errors import ONNX_ERRORS

_MOST_COPIED = 1 << 18
"""So many entries of tables may onnx copy before calls are inlined."""

_MOST_GROWTH = 8
"""Functions that call one another may hold more nodes than memory does; so many times the model's own are allowed."""


def with_calls_inlined(model: ModelProto) -> ModelProto | None:
    """A copy without calls, where inference of the model itself would copy its table of functions too often.

    Values of the graph keep their names, and nodes that have subgraphs keep their outputs. Functions that onnx does not
    inline, as they import other opsets, remain. None where nothing is to be gained, the copy would be too large, or
    a function has the name of an operator, which the inference takes its calls for.
    """
    if len(model.functions) <= 1 or any(map(overrides_operator, model.functions)):
        return None
    bodies = {function_key(function): _nodes_within(function) for function in model.functions}
    graph = _nodes_within(model.graph)
    try:
        calls, nodes = _after_inlining(graph, bodies)
    except CycleError:
        return None
    own = len(graph) + sum(map(len, bodies.values()))
    if calls * len(bodies) <= _MOST_COPIED or nodes > _MOST_GROWTH * own:
        return None
    try:
        return onnx.inliner.inline_local_functions(model)
    except ONNX_ERRORS:
        return None


def _nodes_within(container: Container) -> list[NodeProto]:
    return [node for one in (container, *subgraphs_within(container)) for node in one.node]


def _after_inlining(graph: list[NodeProto], bodies: dict[FunctionKey, list[NodeProto]]) -> tuple[int, int]:
    """How many calls are inlined in all, and how many nodes there are then. Raises CycleError."""

    def called_by(nodes: list[NodeProto]) -> list[FunctionKey]:
        return [key for node in nodes if (key := called_function_key(node)) in bodies]

    called = {key: called_by(nodes) for key, nodes in bodies.items()}
    found: dict[FunctionKey, tuple[int, int]] = {}

    def sums(nodes: list[NodeProto], keys: list[FunctionKey]) -> tuple[int, int]:
        return len(keys) + sum(found[key][0] for key in keys), len(nodes) + sum(found[key][1] for key in keys)

    for key in TopologicalSorter(called).static_order():
        found[key] = sums(bodies[key], called[key])
    return sums(graph, called_by(graph))
