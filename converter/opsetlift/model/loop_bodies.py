"""What the body of a Loop does with what it is given: the number of the run, the condition, and the states."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import GraphProto, NodeProto

from opsetlift.model.scopes import referenced_names, subgraphs

BEFORE_STATES = 2
"""The inputs of a Loop, and of its body, before the states."""

_VIEWS = frozenset(("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Dropout"))


def mentions(node: NodeProto, name: str) -> bool:
    """Whether a node reads a value, or something in a subgraph of it does."""
    return name in node.input or any(name in referenced_names(graph) for _, graph in subgraphs(node))


def reads_its_condition(body: GraphProto) -> bool:
    """Whether a body reads the condition that it is given, other than to pass it on by Identity."""
    others = (node for node in body.node if node.op_type != "Identity" or node.output[0] != body.output[0].name)
    return any(mentions(node, body.input[1].name) for node in others)


def passed_on_elsewhere(body: GraphProto) -> Iterator[int]:
    """The places, among the outputs, of states that are copies or views of an input at another place."""
    places = {info.name: place for place, info in enumerate(body.input)}
    computes = {name: node for node in body.node for name in node.output}
    for place, info in enumerate(body.output[1 : len(body.input) - BEFORE_STATES + 1], 1):
        name = info.name
        while name in computes and computes[name].op_type in _VIEWS:
            name = computes[name].input[0]
        if places.get(name, place + 1) != place + 1:  # the body is given the condition after the number of the run
            yield place
