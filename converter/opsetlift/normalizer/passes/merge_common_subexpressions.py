"""Merge nodes that compute the same from the same inputs.

The same operator, with the same attributes, on the same inputs gives the same, unless it is random or nobody knows what
it does: operators of other domains, calls of functions and nodes with subgraphs stay apart. A node that computes an
output of the graph keeps its name; where both do, both stay.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.helpers.editing import content, is_plain
from opsetlift.normalizer.rewriting import Context, Pass

_MOST_BYTES_COMPARED = 1 << 16


def merge_common_subexpressions(graph: gs.Graph, context: Context) -> bool:
    """Let what reads a repeated result read the first one; in the order of the graph, so that chains collapse."""
    is_done = False
    first_to_read: dict[Hashable, gs.Node] = {}
    first_of: dict[Hashable, gs.Node] = {}
    for node in graph.nodes:
        if not node.outputs or not is_plain(node):
            continue
        reads = _reads(node)
        alike = first_to_read.setdefault(reads, node)
        if alike is node:
            continue  # as most are: what else there is to a node is only looked at where another reads the same
        first_of.setdefault((reads, _attributes(alike, context)), alike)
        attributes = _attributes(node, context)
        if attributes is None:
            continue
        key = (reads, attributes)
        first = first_of.setdefault(key, node)
        if first is node:
            continue
        is_done = True
        if not _replace(node, first, context) and _replace(first, node, context):
            first_of[key] = node
    return is_done


def _replace(node: gs.Node, first: gs.Node, context: Context) -> bool:
    pairs = [(output, other) for output, other in zip(node.outputs, first.outputs, strict=True) if output.name]
    if any(context.is_output(output) for output, _ in pairs):
        return False
    if not all(context.replace_uses(output, other) for output, other in pairs):
        return False
    context.inherit(first, node)
    return True


def _reads(node: gs.Node) -> Hashable:
    """The operator, what it reads and which outputs it gives."""
    inputs = tuple([id(tensor) if tensor.name else 0 for tensor in node.inputs])
    return (node.op, inputs, tuple([not output.name for output in node.outputs]))


def _attributes(node: gs.Node, context: Context) -> Hashable:
    """What else two nodes that compute the same have in common; None for those that are left alone."""
    if context.is_random(node):
        return None
    attributes = []
    for name in sorted(node.attrs):
        value = _hashable(node.attrs[name])
        if value is None:
            return None
        attributes.append((name, value))
    return tuple(attributes)


def _hashable(value: Any) -> Hashable:
    """An attribute's value, told apart to the bit; None for subgraphs and what else is not compared."""
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, (int, str, bytes)):
        return (type(value).__name__, value)
    if isinstance(value, list) and not any(isinstance(item, gs.Graph) for item in value):
        items = tuple(_hashable(item) for item in value)
        return None if None in items else items
    if isinstance(value, gs.Constant):
        return _content(value)
    return None


def _content(constant: gs.Constant) -> Hashable:
    if held_values(constant).nbytes > _MOST_BYTES_COMPARED:
        return None
    values = content(constant)
    if values.dtype == object:
        return ("string", values.shape, tuple(values.reshape(-1).tolist()))
    return (str(values.dtype), values.shape, values.tobytes())


PASS = Pass(
    name="merge-common-subexpressions",
    rewrite=merge_common_subexpressions,
    summary="Merge nodes that compute the same from the same inputs.",
)
