"""Copies of initializers that a conversion made: what reads one reads what it is a copy of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import ModelProto, NodeProto, TensorProto

from opsetlift.model.scopes import subgraphs
from opsetlift.rulebook.trace import ConversionTrace


def read_as_originals(result: ModelProto, trace: ConversionTrace) -> tuple[ModelProto, list[str]]:
    """Take the copies of initializers off a result, once each has been found to be one.

    Args:
        result: What the conversion gave.
        trace: Names the copies. The nodes in it come to read the originals, too.

    Returns:
        The result itself where it has none, else one whose nodes read the originals; and what is wrong with the copies.
    """
    copies = trace.copied_initializers
    if not copies:
        return result, []
    tensors = {tensor.name: tensor for tensor in result.graph.initializer}
    inputs = {info.name for info in result.graph.input}
    faults = [
        f"graph: initializer {name!r} is no copy of {original!r}"
        for name, original in sorted(copies.items())
        if name in inputs
        or original in inputs
        or not {name, original} <= tensors.keys()
        or _content(tensors[name]) != _content(tensors[original])
    ]
    found = ModelProto()
    found.CopyFrom(result)
    kept = [tensor for tensor in found.graph.initializer if tensor.name not in copies]
    del found.graph.initializer[:]
    found.graph.initializer.extend(kept)
    _rename_reads(found.graph.node, copies)
    _rename_reads(trace.converted_bodies(), copies)
    return found, faults


def _content(tensor: TensorProto) -> bytes:
    """All but its name; of data in a file, where it is."""
    copy = TensorProto()
    copy.CopyFrom(tensor)
    copy.ClearField("name")
    return bytes(copy.SerializeToString(deterministic=True))


def _rename_reads(nodes: Iterable[NodeProto], copies: Mapping[str, str]) -> None:
    for node in nodes:
        if any(name in copies for name in node.input):
            node.input[:] = [copies.get(name, name) for name in node.input]
        for _, graph in subgraphs(node):
            _rename_reads(graph.node, copies)
