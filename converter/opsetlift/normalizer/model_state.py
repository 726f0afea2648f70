"""A model while it is normalised: its graphs, what is known of their tensors, and edits that span scopes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

import onnx_graphsurgeon as gs
from onnx import NodeProto

from opsetlift.model.names import NAMES_OF_RUNTIMES
from opsetlift.model.scopes import FunctionKey, called_function_key, referenced_names
from opsetlift.normalizer.facts.graph_facts import GraphFacts
from opsetlift.normalizer.graphs.attached_metadata import (
    NodeMetadata,
    TensorMetadata,
    attach,
    metadata_of_graph,
    metadata_of_node,
    metadata_of_tensor,
)
from opsetlift.normalizer.graphs.dead_code import relink, remove_dead_nodes_and_sort
from opsetlift.normalizer.graphs.places import Place, key_of, opsets_of, places_in
from opsetlift.normalizer.graphs.shadowing import rename_shadowing
from opsetlift.normalizer.graphs.traversal import distinct, linked_to, nodes_in, subgraphs_of, tensors_in
from opsetlift.specification import history
from opsetlift.targets import Target

FIRST_IR_VERSION_WITH_CONSTANTS = 4
"""Before it every initializer of the main graph is an input, too."""

SIZE_LIMIT = 1 << 20
"""Bytes that a computed value may have to be written down in place of what computes it."""


class ModelState:
    """The model that passes work on, with the `size_limit` and the `target` that passes are given."""

    def __init__(
        self, graph: gs.Graph, *, base_dir: str = "", target: Target | None = None, size_limit: int = SIZE_LIMIT
    ) -> None:
        self.graph = graph
        self.target = target
        self.size_limit = size_limit
        self.pinned = _names_in_training(graph)
        if any(isinstance(tensor, gs.Constant) for tensor in _initializers(graph)):
            # Whatever the model declares: only from this version on may initializers not be inputs.
            graph.ir_version = max(self.ir_version, FIRST_IR_VERSION_WITH_CONSTANTS)
        # A function, as the pass that asks may have moved nodes, and with them the paths of subgraphs.
        self.facts = GraphFacts(graph, partial(places_in, graph), base_dir)
        self._taken: set[str] | None = None
        self._last_number: Counter[str] = Counter()
        """The last number that was appended to a base to make a name of it."""
        self._places: list[Place] | None = None
        self._forget_links()
        for one in (graph, *graph.functions):
            rename_shadowing(one, self.fresh_name)

    @property
    def ir_version(self) -> int:
        """The IR version of the model."""
        return int(self.graph.ir_version)

    def places(self) -> Sequence[Place]:
        """Every graph: subgraphs before what holds them, the main graph, then the functions."""
        if self._places is None:
            self._places = list(places_in(self.graph))
        return self._places

    def clean_up(self) -> None:
        """After a pass: remove dead nodes, sort the others, and rebuild the links between nodes and tensors.

        Raises:
            CyclicGraph: A pass lets a node read what is computed from its own outputs.
        """
        self.nodes_have_changed()
        for place in self.places():
            remove_dead_nodes_and_sort(place.graph, self.pinned if place.scope == "graph" else ())
        for graph in (self.graph, *self.graph.functions):
            relink(graph)
        if any(place.scope == "subgraph" for place in self.places()):
            self._places = None  # the nodes that hold them may be gone, or elsewhere
        self._make_names_unique()

    def nodes_have_changed(self) -> None:
        """Forget what is remembered of nodes: they, or where they are, may be others than before."""
        self._places = None
        self._forget_links()
        self.facts.forget_nodes()

    def _forget_links(self) -> None:
        self._owners: dict[int, gs.Graph] | None = None
        self._named: Counter[int] | None = None
        self._functions: dict[FunctionKey, gs.Function] | None = None

    def _make_names_unique(self) -> None:
        """Give new tensors other names where they have those of others: `gs.Graph.layer` looks at one graph only."""
        tensors = self._all_tensors()
        new = [tensor for tensor in tensors if metadata_of_tensor(tensor) is None and tensor.name]
        names = {tensor.name for tensor in tensors if metadata_of_tensor(tensor) is not None} if new else set()
        for tensor in new:
            if tensor.name in names:
                tensor.name = self.fresh_name(tensor.name)
            names.add(tensor.name)
            attach(tensor, TensorMetadata())

    def _all_tensors(self) -> Sequence[gs.Tensor]:
        graphs = [place.graph for place in self.places()]
        return distinct(
            chain.from_iterable(
                chain(graph.inputs, linked_to(graph.nodes), graph.outputs, _initializers(graph)) for graph in graphs
            )
        )

    # Operators

    def opsets_in(self, graph: gs.Graph) -> Mapping[str, int]:
        """The opsets that a graph imports."""
        return opsets_of(graph)

    def function_of(self, node: gs.Node) -> gs.Function | None:
        """The model's function that a node calls."""
        if self._functions is None:
            self._functions = {key_of(function): function for function in self.graph.functions}
        return self._functions.get(_called(node)) if self._functions else None

    def definition(self, node: gs.Node, graph: gs.Graph) -> history.Definition | None:
        """The definition of a node's operator in force; None where the model has a function in its place."""
        domain = history.canonical_domain(node.domain or "")
        if self.function_of(node) is not None:
            return None
        return history.definition(domain, node.op, self.opsets_in(graph).get(domain, 0))

    def is_random(self, node: gs.Node, graph: gs.Graph) -> bool:
        """Whether two runs of a node may differ, or nothing is known of it."""
        function = self.function_of(node)
        if function is not None:
            return any(self.is_random(one, function) for one in nodes_in(function))
        found = self.definition(node, graph)
        # Of operators with subgraphs the schemas say that they may be random, as what is in them may be.
        if found is None or (found.is_random and not found.takes_subgraphs):
            return True
        return any(self.is_random(one, graph) for _, inner in subgraphs_of(node) for one in nodes_in(inner))

    def remove_unused_functions(self) -> None:
        """Remove the functions that no node of the model calls, directly or through others."""
        called: dict[int, gs.Function] = {}
        graphs: list[gs.Graph] = [self.graph]
        while graphs:
            for node in nodes_in(graphs.pop()):
                function = self.function_of(node)
                if function is not None and id(function) not in called:
                    called[id(function)] = function
                    graphs.append(function)
        self.graph.functions = [function for function in self.graph.functions if id(function) in called]

    # Uses

    def is_outer(self, tensor: gs.Tensor, graph: gs.Graph) -> bool:
        """Whether a tensor that a graph names belongs to a graph around it."""
        if self._owners is None:
            self._owners = {}
            # What holds a subgraph comes after it, and what it owns it has shared with it.
            for place in reversed(self.places()):
                metadata = metadata_of_graph(place.graph)
                for one in (*tensors_in(place.graph), *(metadata.initializers if metadata else ())):
                    self._owners.setdefault(id(one), place.graph)
        return self._owners.get(id(tensor), graph) is not graph

    def is_output(self, tensor: gs.Tensor) -> bool:
        """Whether a tensor is an output of any graph, or the training info names it."""
        return self.times_named(tensor) > 0 or (tensor.name in self.pinned and not tensor.is_empty())

    def times_named(self, tensor: gs.Tensor) -> int:
        """How often outputs of graphs name a tensor."""
        if self._named is None:
            self._named = Counter(id(one) for place in self.places() for one in place.graph.outputs)
        return self._named[id(tensor)]

    def uses(self, tensor: gs.Tensor, graph: gs.Graph) -> int:
        """How often nodes, outputs and quantization annotations name a tensor."""
        consumers = {id(node): node for node in tensor.outputs}
        by_nodes = sum(one is tensor for node in consumers.values() for one in node.inputs)
        return by_nodes + self.times_named(tensor) + self._annotated(tensor, graph)

    @staticmethod
    def _annotated(tensor: gs.Tensor, graph: gs.Graph) -> int:
        metadata = metadata_of_graph(graph)
        annotations = metadata.annotations if metadata is not None else ()
        return sum(one is tensor for entry in annotations for one in (entry.tensor, *entry.parameters.values()))

    # Edits

    def fresh_name(self, base: str) -> str:
        """A name that nothing in the model has, and no runtime gives."""
        if self._taken is None:
            self._taken = {*NAMES_OF_RUNTIMES, *self.pinned}
            self._taken.update(tensor.name for tensor in self._all_tensors() if tensor.name)
            self._taken.update(node.name for place in self.places() for node in place.graph.nodes if node.name)
        name = base
        while name in self._taken:
            self._last_number[base] += 1
            name = f"{base}_{self._last_number[base]}"
        self._taken.add(name)
        return name

    def fix_defaults(self, graph: gs.Graph) -> None:
        """Make constants of the inputs that callers may leave out."""
        inputs: list[gs.Tensor] = []
        for tensor in graph.inputs:
            metadata = metadata_of_tensor(tensor)
            if metadata is None or metadata.default is None:
                inputs.append(tensor)
                continue
            tensor.to_constant(metadata.default)
            attach(tensor, TensorMetadata(stored=metadata.default))
        if len(inputs) < len(graph.inputs):
            graph.inputs = inputs
            self.graph.ir_version = max(self.ir_version, FIRST_IR_VERSION_WITH_CONSTANTS)

    @staticmethod
    def inherit(node: gs.Node, originals: Sequence[gs.Node]) -> None:
        """Let a node take on the doc strings and the metadata of others."""
        known = [metadata for metadata in map(metadata_of_node, originals) if metadata is not None]
        notes = [proto for metadata in known for proto in (metadata.proto, *metadata.notes_of.values())]
        own = metadata_of_node(node)
        if own is None:
            own = NodeMetadata(NodeProto())
            attach(node, own)
        own.notes_of.update((id(proto), proto) for proto in notes if proto is not own.proto)

    def replace_uses(self, graph: gs.Graph, tensor: gs.Tensor, replacement: gs.Tensor) -> bool:
        """Let everything that reads a tensor read another one that holds the same value; see Context.replace_uses."""
        if tensor is replacement or self._annotated(tensor, graph):
            return False
        if not (any(one is tensor for one in graph.outputs) or tensor.name in self.pinned):
            self._redirect(tensor, replacement)
            return True
        is_own = not self.is_outer(replacement, graph) and len(replacement.inputs) == 1
        is_bound = any(one is replacement for one in (*graph.outputs, *graph.inputs)) or self._annotated(
            replacement, graph
        )
        if not is_own or is_bound or isinstance(replacement, gs.Constant) or replacement.name in self.pinned:
            return False
        if any(one is tensor for one in graph.inputs) or self.is_outer(tensor, graph):
            return False
        for node in list(tensor.inputs):
            _put(node.outputs, tensor, gs.Variable.empty())
        _put(replacement.inputs[0].outputs, replacement, tensor)
        self._redirect(replacement, tensor)
        return True

    def _redirect(self, tensor: gs.Tensor, replacement: gs.Tensor) -> None:
        for node in list(tensor.outputs):
            _put(node.inputs, tensor, replacement)
        if self.times_named(tensor):
            for place in self.places():
                place.graph.outputs = [replacement if one is tensor else one for one in place.graph.outputs]
            self._named = None


def _initializers(graph: gs.Graph) -> Sequence[gs.Tensor]:
    metadata = metadata_of_graph(graph)
    return metadata.initializers if metadata is not None else ()


def _put(tensors: list[gs.Tensor], old: gs.Tensor, new: gs.Tensor) -> None:
    for index, one in enumerate(tensors):
        if one is old:
            tensors[index] = new


def _called(node: gs.Node) -> FunctionKey:
    metadata = metadata_of_node(node)
    overload = metadata.proto.overload if metadata is not None and metadata.proto.op_type == node.op else ""
    return called_function_key(NodeProto(domain=node.domain or "", op_type=node.op, overload=overload))


def _names_in_training(graph: gs.Graph) -> frozenset[str]:
    """What the training info of a model says of its main graph goes by names, which have to stay."""
    metadata = metadata_of_graph(graph)
    names: set[str] = set()
    for training in metadata.model.training_info if metadata is not None and metadata.model is not None else ():
        for binding in (*training.initialization_binding, *training.update_binding):
            names.update((binding.key, binding.value))
        for one in (training.initialization, training.algorithm):
            names.update(referenced_names(one))
    return frozenset(names - {""})
