"""Copies of constants for runtimes that lose a constant once some node has read it (targets/shared_constants.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from opsetlift.conversion.traced_edit import TracedEdit
from opsetlift.conversion.walked import Walked
from opsetlift.model.ir_version import overridable_initializers
from opsetlift.model.scopes import GRAPH_PATH, Container, imported_opsets, subgraphs, subgraphs_within
from opsetlift.rulebook.trace import AppliedRules
from opsetlift.specification.history import canonical_domain, definition, display_domain
from opsetlift.specification.operands import input_operands
from opsetlift.support.refusal import Refusal, Why
from opsetlift.targets import Owners, SharedConstants, Target


def give_own_constants(source: ModelProto, walked: Walked, shared: SharedConstants) -> list[str]:
    """Let nodes read copies of the initializers of the graph that they do not find otherwise, in place.

    Initializers that are inputs, too, are left as they are, as callers may give them.

    Args:
        source: The model before the walk.
        walked: The model at its opsets, without functions; its trace goes on to relate it to `source`.
        shared: Where the runtime loses constants.

    Returns:
        The names of the initializers that were copied.
    """
    graph, trace = walked.model.graph, walked.trace
    copied: dict[str, None] = {}

    def copy(tensor: TensorProto) -> str:
        copied[tensor.name] = None
        added = graph.initializer.add()
        added.CopyFrom(tensor)
        added.name = walked.names.fresh(tensor.name)
        trace.copied_initializers[added.name] = tensor.name
        return str(added.name)

    inputs = {info.name for info in graph.input}
    tensors = [tensor for tensor in graph.initializer if tensor.name not in inputs]
    readers = _Readers(walked.model, shared, tensors, copy)

    def read_own(node: NodeProto, applied: AppliedRules) -> list[NodeProto] | None:
        names = readers.names_for(node)
        if names == list(node.input):
            return None
        node.input[:] = names
        return [node]

    TracedEdit(trace, read_own).run(GRAPH_PATH, source.graph, graph)
    return list(copied)


def shared_defaults(model: ModelProto, target: Target) -> Iterator[Refusal]:
    """The initializers that need copies, but can have none, as callers may give other values for them."""
    shared, graph = target.shared_constants, model.graph
    overridable = set(overridable_initializers(model))
    if shared is None or not overridable:
        return
    lost: dict[str, None] = {}

    def note(tensor: TensorProto) -> str:
        lost[tensor.name] = None
        return str(tensor.name)

    readers = _Readers(model, shared, [tensor for tensor in graph.initializer if tensor.name in overridable], note)
    for node in _nodes_within(graph):
        readers.names_for(node)
    for name in lost:
        sentence = (
            f"{target.called} loses the constant {name!r}, which several nodes read, and no copy of it can help, "
            "as it is an input of the model, too; the pass fix-defaults makes it a constant alone"
        )
        yield Refusal(Why.TARGET, sentence, "", "", GRAPH_PATH, "")


class _Readers:
    """Who reads some constants under which names."""

    def __init__(
        self,
        model: ModelProto,
        shared: SharedConstants,
        tensors: Sequence[TensorProto],
        copy: Callable[[TensorProto], str],
    ) -> None:
        self._opsets = imported_opsets(model.opset_import)
        self._shared = shared
        containers = (model.graph, *subgraphs_within(model.graph))
        self._operators = {name: node.op_type for one in containers for node in one.node for name in node.output}
        self._shapes = {tensor.name: tuple(tensor.dims) for tensor in tensors}
        self._owners = {tensor.name: Owners(tensor.name, partial(copy, tensor)) for tensor in tensors}

    def names_for(self, node: NodeProto) -> list[str]:
        """The names of a node's inputs, those of constants being the ones under which it finds them."""
        names = list(node.input)
        domain = canonical_domain(node.domain)
        found = definition(domain, node.op_type, self._opsets.get(domain, 0))
        formals = {one.position: one.formal for one in input_operands(node, found)} if found is not None else {}
        before = {self._operators[name] for name in names if name in self._operators}
        operator = f"{display_domain(domain)}.{node.op_type}" if domain else node.op_type
        for position, name in enumerate(names):
            if name in self._owners:
                use = self._shared.use(operator, formals.get(position, ""), self._shapes[name], before)
                names[position] = self._owners[name].name_for(use)
        return names


def _nodes_within(container: Container | GraphProto) -> Iterator[NodeProto]:
    """The nodes of a graph and of the subgraphs in it, in the order in which they run."""
    for node in container.node:
        yield node
        for _, graph in subgraphs(node):
            yield from _nodes_within(graph)
