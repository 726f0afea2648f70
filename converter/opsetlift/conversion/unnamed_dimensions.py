"""Names for open sizes, and shapes of all values, for runtimes that take all sizes without a name for one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from onnx import ModelProto, TensorShapeProto, TypeProto, ValueInfoProto

from opsetlift.facts import ModelFacts
from opsetlift.model.scopes import GRAPH_PATH, imported_opsets, subgraphs_within
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification.dtypes import shape_of_type
from opsetlift.specification.history import infers_types


def name_dimensions(model: ModelProto) -> None:
    """Give each dimension of a subgraph's inputs and outputs that has neither size nor name a name of its own."""
    infos = [info for graph in subgraphs_within(model.graph) for info in (*graph.input, *graph.output)]
    names = _fresh_names(model)
    for info in infos:
        for dim in _dimensions(info.type):
            if not dim.HasField("dim_value") and not dim.dim_param:
                dim.dim_param = next(names)


def declare_shapes(before: ModelFacts, facts: ModelFacts, trace: ConversionTrace) -> None:
    """Declare what shape each value of the graph has, as far as it is known, with a name of its own for each open size.

    What definitions without inference give stays undeclared: onnxruntime's Normalizer is wrong where it knows that it
    may work in the memory of its input.

    Args:
        before: What is known of the model before its conversion; of a value that it has, no more is declared.
        facts: What is known of the result, whose graph is changed.
        trace: Takes the names of what is declared, for the proof.
    """
    graph, names = facts.model.graph, _fresh_names(facts.model)
    without_shape = {info.name: info for info in graph.value_info if shape_of_type(info.type) is None}
    declared = {info.name for info in (*graph.value_info, *graph.output)} - without_shape.keys()
    own = {name for node in before.model.graph.node for name in node.output}
    opsets = imported_opsets(facts.model.opset_import)
    inferred = [one for one in graph.node if infers_types(one.domain, one.op_type, opsets.get(one.domain, 1))]
    for name in [name for node in inferred for name in node.output if name and name not in declared]:
        kind = (before if name in own else facts).graph.type_of(name)
        if kind is None or not kind.HasField("tensor_type") or shape_of_type(kind) is None:
            continue
        info = without_shape.get(name) or graph.value_info.add(name=name)
        info.type.CopyFrom(kind)
        for dim in _dimensions(info.type):
            if not dim.HasField("dim_value"):
                dim.dim_param = next(names)
        trace.scope(GRAPH_PATH).declared_values.add(name)


def _fresh_names(model: ModelProto) -> Iterator[str]:
    graphs = [model.graph, *subgraphs_within(model.graph)]
    infos: list[ValueInfoProto] = [
        info for graph in graphs for info in (*graph.input, *graph.output, *graph.value_info)
    ]
    taken = {dim.dim_param for info in infos for dim in _dimensions(info.type)}
    return (name for number in count(1) if (name := f"size_{number}") not in taken)


def _dimensions(kind: TypeProto) -> Iterator[TensorShapeProto.Dimension]:
    if kind.HasField("tensor_type") and kind.tensor_type.HasField("shape"):
        yield from kind.tensor_type.shape.dim
