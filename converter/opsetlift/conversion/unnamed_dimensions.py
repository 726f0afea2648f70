"""Names for open sizes of subgraphs' inputs and outputs, for runtimes that take all sizes without a name for one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from onnx import ModelProto, TensorShapeProto, ValueInfoProto

from opsetlift.model.scopes import subgraphs_within


def name_dimensions(model: ModelProto) -> None:
    """Give each dimension of a subgraph's inputs and outputs that has neither size nor name a name of its own."""
    infos = [info for graph in subgraphs_within(model.graph) for info in (*graph.input, *graph.output)]
    taken = {dim.dim_param for info in (*infos, *model.graph.input, *model.graph.output) for dim in _dimensions(info)}
    names = (name for number in count(1) if (name := f"size_{number}") not in taken)
    for info in infos:
        for dim in _dimensions(info):
            if not dim.HasField("dim_value") and not dim.dim_param:
                dim.dim_param = next(names)


def _dimensions(info: ValueInfoProto) -> Iterator[TensorShapeProto.Dimension]:
    if info.type.HasField("tensor_type") and info.type.tensor_type.HasField("shape"):
        yield from info.type.tensor_type.shape.dim
