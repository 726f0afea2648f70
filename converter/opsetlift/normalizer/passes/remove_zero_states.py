"""Recurrent networks start from zeros unless they are told otherwise, so zeros need not be told.

`initial_h` and `initial_c` of RNN, GRU and LSTM are left out where they are zeros, whatever their shape: what
ConstantOfShape fills with 0, and moves of that. Exporters write the states of a batch of any size so.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import content, nodes_of, producer
from opsetlift.normalizer.rewriting import Context, Pass

_STATES = {"RNN": (5,), "GRU": (5,), "LSTM": (5, 6)}
_MOVES = ("Expand", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze")
_DEEPEST = 32


def remove_zero_states(graph: gs.Graph, context: Context) -> None:
    """Leave out states that are zeros."""
    for node in nodes_of(graph, *_STATES):
        for position in _STATES[node.op]:
            if position < len(node.inputs) and _is_zeros(node.inputs[position], context, {}):
                node.inputs[position] = gs.Variable.empty()
        while node.inputs and node.inputs[-1].is_empty():
            node.inputs.pop()


def _is_zeros(tensor: gs.Tensor, context: Context, seen: dict[int, bool], depth: int = 0) -> bool:
    if tensor.is_empty() or depth > _DEEPEST:
        return False
    if id(tensor) not in seen:
        seen[id(tensor)] = _comes_to_zeros(tensor, context, seen, depth)
    return seen[id(tensor)]


def _comes_to_zeros(tensor: gs.Tensor, context: Context, seen: dict[int, bool], depth: int) -> bool:
    value = context.constant(tensor)
    if value is not None:
        return _are_zeros(value)
    node = producer(tensor, context, *_MOVES, "ConstantOfShape", "Concat")
    if node is None:
        return False
    if node.op == "ConstantOfShape":
        filled = node.attrs.get("value")
        return filled is None or _are_zeros(content(filled))
    moved = node.inputs if node.op == "Concat" else node.inputs[:1]
    return all(_is_zeros(one, context, seen, depth + 1) for one in moved)


def _are_zeros(value: Array) -> bool:
    return value.dtype.kind == "f" and not value.any() and not numpy.signbit(value).any()


PASS = Pass(
    name="remove-zero-states",
    rewrite=remove_zero_states,
    summary="Omit initial states of RNN, GRU and LSTM that are zero.",
    operators=frozenset(_STATES),
)
