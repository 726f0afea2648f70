"""Definitions and uses of the values of a scope: one index that everything else shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto

from opsetlift.model.scopes import Container, FunctionKey, function_key, graphs_of, subgraphs

Operator = tuple[str, str, str]
"""Domain, name and overload of the operator or function of a node, as they are spelt."""

_NO_ATTRIBUTES: Sequence[AttributeProto] = ()


class DefUse:
    """Where each value of one scope is defined, and how often it is used.

    The scope is a graph, a subgraph or the body of a function. A use is an input of a node, an output of the scope, or
    a capture: a use in a subgraph that does not define the value itself. Both tables are made when they are first asked
    for, each in one pass over the nodes.

    `fork` gives the index of a copy of the scope that is going to be edited. It takes the tables over, and `update`,
    `replace`, `add_initializer` and `drop_initializer` keep them true; edits in a subgraph count in the scopes around.
    """

    def __init__(self, container: Container) -> None:
        self.container = container
        self._nodes: Sequence[NodeProto] | None = None
        self._inputs_by_node: Sequence[Sequence[str]] | None = None
        self._outputs_by_node: Sequence[Sequence[str]] | None = None
        self._positions: dict[str, int] | None = None
        self._uses: dict[str, int] | None = None
        self._readers: dict[str, list[int]] | None = None
        self._operators_by_node: list[Operator] | None = None
        self._attributes_by_node: list[Sequence[AttributeProto]] | None = None
        self._subgraphs_by_node: dict[int, list[tuple[str, GraphProto]]] | None = None
        self._inputs: frozenset[str] | None = None
        self._node_names: frozenset[str] | None = None
        self._initializers: dict[str, TensorProto | SparseTensorProto] | None = None
        self._children: dict[tuple[int, str], DefUse] = {}
        self._origin: DefUse | None = None
        self._parent: DefUse | None = None
        self._forks: dict[int, list[DefUse]] = {}
        self._edited: set[int] = set()
        self._replaced: dict[int, list[NodeProto]] = {}
        self._added_initializers: set[str] = set()
        self._dropped_initializers: set[str] = set()
        self._formerly_defined: set[str] = set()
        self._unused: set[str] = set()

    # Nodes

    @property
    def _held_nodes(self) -> Sequence[NodeProto]:
        """The nodes, as they were when first asked for: protobuf makes one object of each while it is held."""
        if self._nodes is None:
            self._nodes = self.container.node[:]
        return self._nodes

    @property
    def inputs_by_node(self) -> Sequence[Sequence[str]]:
        """The inputs of each node of the scope, as they were when they were first asked for.

        To read them from the protobuf costs more than most of what is done with them.
        """
        if self._inputs_by_node is None:
            self._inputs_by_node = [node.input[:] for node in self._held_nodes]
        return self._inputs_by_node

    @property
    def outputs_by_node(self) -> Sequence[Sequence[str]]:
        """The outputs of each node of the scope, likewise."""
        if self._outputs_by_node is None:
            self._outputs_by_node = [node.output[:] for node in self._held_nodes]
        return self._outputs_by_node

    @property
    def operators_by_node(self) -> Sequence[Operator]:
        """The operator of each node of the scope, likewise; nodes of the same operator share one object."""
        if self._operators_by_node is None:
            known: dict[Operator, Operator] = {}
            spelt = map(attrgetter("domain", "op_type", "overload"), self._held_nodes)
            self._operators_by_node = [known.setdefault(one, one) for one in spelt]
        return self._operators_by_node

    @property
    def operators(self) -> set[Operator]:
        """The operators of the nodes of the scope."""
        return set(self.operators_by_node)

    @property
    def attributes_by_node(self) -> Sequence[Sequence[AttributeProto]]:
        """The attributes of each node of the scope, likewise."""
        if self._attributes_by_node is None:
            self._attributes_by_node = [node.attribute[:] or _NO_ATTRIBUTES for node in self._held_nodes]
        return self._attributes_by_node

    @property
    def subgraphs_by_node(self) -> Mapping[int, Sequence[tuple[str, GraphProto]]]:
        """The subgraphs of the nodes that have some, by position, likewise."""
        if self._subgraphs_by_node is None:
            rows = enumerate(self.attributes_by_node)
            found = ((position, graphs_of(attributes)) for position, attributes in rows if attributes)
            self._subgraphs_by_node = {position: graphs for position, graphs in found if graphs}
        return self._subgraphs_by_node

    def take_over(self, other: DefUse, equal: Sequence[int]) -> None:
        """Have of another index what it knows of nodes that are equal here: to read them again costs more.

        Args:
            other: The index of another scope.
            equal: By position of a node here, that of an equal one there; -1 where there is none.
        """
        rows = list(zip(self._held_nodes, equal, strict=True))
        inputs, outputs, graphs = other.inputs_by_node, other.outputs_by_node, other.subgraphs_by_node
        self._inputs_by_node = [inputs[at] if at >= 0 else node.input[:] for node, at in rows]
        self._outputs_by_node = [outputs[at] if at >= 0 else node.output[:] for node, at in rows]
        read = [(position, node) for position, (node, at) in enumerate(rows) if at < 0 or at in graphs]
        found = ((position, graphs_of(node.attribute[:])) for position, node in read)
        self._subgraphs_by_node = {position: some for position, some in found if some}

    def within(self) -> Iterator[DefUse]:
        """The indexes of the subgraphs of the scope's nodes, and of those in them."""
        for child in self._children_in_order():
            yield child
            yield from child.within()

    def _children_in_order(self) -> Iterator[DefUse]:
        for position, graphs in self.subgraphs_by_node.items():
            for attribute, graph in graphs:
                yield self.child(position, attribute, graph)

    # Definitions

    @property
    def inputs(self) -> frozenset[str]:
        """The names of the scope's inputs."""
        if self._inputs is None:
            inputs = self.container.input
            self._inputs = frozenset(one if isinstance(one, str) else one.name for one in inputs)
        return self._inputs

    @property
    def initializers(self) -> Mapping[str, TensorProto | SparseTensorProto]:
        """The initializers by name, as they were when they were first asked for; a function has none."""
        if self._initializers is None:
            self._initializers = {}
            if isinstance(self.container, GraphProto):
                self._initializers.update((one.name, one) for one in self.container.initializer)
                self._initializers.update((one.values.name, one) for one in self.container.sparse_initializer)
        return self._initializers

    @property
    def positions(self) -> Mapping[str, int]:
        """The position of the node that computes each value, by name."""
        if self._positions is None:
            if self._origin is not None:
                return self._origin.positions
            outputs = enumerate(self.outputs_by_node)
            self._positions = {name: position for position, names in outputs for name in names if name}
        return self._positions

    def producer(self, name: str) -> NodeProto | None:
        """The node that computes a value; None where none of this scope does."""
        position = self.positions.get(name)
        if position is None:
            return None
        replaced = self._replaced.get(position)
        if replaced is None:
            node: NodeProto = self.container.node[position]
            return node
        return next(node for node in replaced if name in node.output)

    def is_dense_initializer(self, name: str) -> bool:
        """Whether the value is an initializer of this scope, and no sparse one."""
        if name in self._added_initializers:
            return True
        found = (self._origin or self).initializers.get(name)
        return isinstance(found, TensorProto) and name not in self._dropped_initializers

    def defines(self, name: str) -> bool:
        """Whether the value is an input, an initializer or computed in this scope."""
        positions = self.positions if self._positions is None else self._positions
        inputs = self.inputs if self._inputs is None else self._inputs
        if name in positions or name in inputs or name in self._added_initializers:
            return True
        return name in (self._origin or self).initializers and name not in self._dropped_initializers

    # Uses

    @property
    def _counts(self) -> dict[str, int]:
        """How often each name is used, captured values included."""
        if self._uses is None:
            if self._origin is not None:
                return self._origin._counts
            counts = Counter(chain.from_iterable(self.inputs_by_node))
            counts.update(one if isinstance(one, str) else one.name for one in self.container.output)
            for child in self._children_in_order():
                counts.update(child.captures)
            self._uses = dict(counts)
        return self._uses

    def use_count(self, name: str) -> int:
        """How often the nodes, their subgraphs and the outputs of the scope use a value."""
        return self._counts.get(name, 0)

    def readers(self, name: str) -> list[NodeProto]:
        """The nodes of the scope that have a value as input, as they were when this was first asked."""
        if self._readers is None:
            self._readers = {}
            for position, names in enumerate(self.inputs_by_node):
                for one in {*names}:
                    self._readers.setdefault(one, []).append(position)
        return [self._held_nodes[position] for position in self._readers.get(name, ())]

    @property
    def captures(self) -> dict[str, int]:
        """The values that this subgraph takes from the scopes around it, and how often it uses each."""
        return {name: count for name, count in self._counts.items() if count and name and not self._owns(name)}

    def _owns(self, name: str) -> bool:
        """Whether the scope defines the value, or did: what no node computes any more may still be used."""
        return self.defines(name) or name in self._formerly_defined or name in self._dropped_initializers

    def reads(self, position: int) -> list[str]:
        """What the nodes at a position use, once per use: their inputs, and what their subgraphs capture."""
        if position in self._replaced or position in self._edited:
            return uses_of(self.nodes(position))
        if self._origin is not None and position not in self._forks:
            return self._origin.reads(position)
        original = self._origin or self
        node = original.container.node[position]
        names: list[str] = node.input[:]
        if original._uses is None or position in original.subgraphs_by_node:
            edited = {id(fork._origin): fork for fork in self._forks.get(position, ())}
            for attribute, graph in subgraphs(node):
                child = original.child(position, attribute, graph)
                names += _elements(edited.get(id(child), child).captures)
        return names

    def child(self, position: int, attribute: str, graph: GraphProto) -> DefUse:
        """The index of a subgraph of the node at a position; `attribute` is as `subgraphs` names it."""
        key = (position, attribute)
        if key not in self._children:
            self._children[key] = DefUse(graph)
        return self._children[key]

    def names_used(self) -> set[str]:
        """The values that nodes, their subgraphs or the outputs of the scope use."""
        if self._uses is None and self._origin is None:
            return self._names_used()
        return {name for name, count in self._counts.items() if count and name}

    def _names_used(self) -> set[str]:
        """The same without counting, of a scope whose uses nobody has counted."""
        names = {one if isinstance(one, str) else one.name for one in self.container.output}
        names.update(*self.inputs_by_node, *(child.captures for child in self._children_in_order()))
        names.discard("")
        return names

    def names(self) -> set[str]:
        """Every name of a value in this scope and its subgraphs: defined, used or declared."""
        names = {*self.inputs, *self.initializers}
        names.update(one if isinstance(one, str) else one.name for one in self.container.output)
        if isinstance(self.container, GraphProto):
            names.update(info.name for info in self.container.value_info)
        names.update(self._counts, self.positions)
        for child in self._children_in_order():
            names |= child.names()
        names.discard("")
        return names

    @property
    def own_node_names(self) -> frozenset[str]:
        """The names of the nodes of the scope, as they were when they were first asked for."""
        if self._node_names is None:
            self._node_names = frozenset(map(attrgetter("name"), self._held_nodes))
        return self._node_names

    def node_names(self) -> frozenset[str]:
        """Every name of a node in this scope and its subgraphs."""
        return self.own_node_names.union(*(child.node_names() for child in self._children_in_order()))

    # Edits

    def fork(self, container: Container, parent: DefUse | None = None, position: int = 0) -> DefUse:
        """The index of an equal copy of the scope, for edits. This one stays as it is.

        Args:
            container: The copy. Positions stay those of the original, however many nodes take the place of one.
            parent: The fork for the scope around, where that counts what the copy captures.
            position: That of the node, in the scope around, that has this subgraph.
        """
        fork = DefUse(container)
        fork._origin = self
        if parent is not None:
            fork._parent = parent
            parent._forks.setdefault(position, []).append(fork)
        return fork

    def nodes(self, position: int) -> Sequence[NodeProto]:
        """The nodes at a position: the one that has always been there, or those that replaced it."""
        replaced = self._replaced.get(position)
        return [self.container.node[position]] if replaced is None else replaced

    @property
    def has_replaced_nodes(self) -> bool:
        """Whether `all_nodes` differs from the nodes of the scope."""
        return bool(self._replaced)

    def all_nodes(self) -> Iterator[tuple[int, Sequence[NodeProto]]]:
        """The nodes at each position, in order."""
        for position, node in enumerate(self.container.node):
            yield position, self._replaced.get(position, (node,))

    def update(self, position: int) -> None:
        """Take note that the node at a position was edited in place."""
        assert self._origin is not None
        node, origin = self.container.node[position], self._origin
        inputs, old_inputs = node.input[:], origin.inputs_by_node[position]
        has_old_outputs = position not in self._edited and node.output[:] == origin.outputs_by_node[position]
        if has_old_outputs and position not in origin.subgraphs_by_node:
            if inputs == old_inputs:
                return
            self._edited.add(position)
            self._recount(old_inputs, inputs)
            return
        self._change(position, None)

    def replace(self, position: int, nodes: Sequence[NodeProto]) -> None:
        """Put other nodes in the place of those at a position. They are written by `write`."""
        self._change(position, list(nodes))

    def _change(self, position: int, nodes: list[NodeProto] | None) -> None:
        assert self._origin is not None
        uses = self.reads(position)
        was_edited = position in self._replaced or position in self._edited
        before = self.nodes(position) if was_edited else [self._origin.container.node[position]]
        old_outputs = [name for node in before for name in node.output[:]]
        if nodes is None:
            self._edited.add(position)
        else:
            self._replaced[position] = nodes
        self._forks.pop(position, None)
        outputs = [name for node in self.nodes(position) for name in node.output[:]]
        if outputs != old_outputs:
            self._redefine(position, old_outputs, outputs)
        self._recount(uses, self.reads(position))

    def _redefine(self, position: int, before: Sequence[str], after: Sequence[str]) -> None:
        assert self._origin is not None
        if self._positions is None:
            self._positions = dict(self._origin.positions)
        for name in before:
            self._positions.pop(name, None)
        self._formerly_defined.update(filter(None, before))
        for name in after:
            if name:
                self._positions[name] = position
                if name not in self._origin.positions:
                    self._unused.add(name)

    def _recount(self, before: Sequence[str], after: Sequence[str]) -> None:
        if self._uses is None:
            assert self._origin is not None
            self._uses = self._origin._counts.copy()
        uses = self._uses
        for name in after:
            uses[name] = uses.get(name, 0) + 1
        for name in before:
            left = uses[name] = uses[name] - 1
            if not left:
                self._unused.add(name)
        if self._parent is not None:
            outer = [[name for name in names if name and not self._owns(name)] for names in (before, after)]
            if outer != [[], []]:
                self._parent._recount(*outer)

    def add_initializer(self, name: str) -> None:
        """Take note of an initializer that was added to the scope."""
        self._added_initializers.add(name)
        self._dropped_initializers.discard(name)
        if name not in self.positions:
            self._unused.add(name)

    def drop_initializer(self, name: str) -> None:
        """Take note of an initializer that is taken from the scope."""
        self._added_initializers.discard(name)
        self._dropped_initializers.add(name)

    def discard(self, names: Iterable[str]) -> None:
        """Take note of values that something was going to use, and does not."""
        self._unused.update(names)

    def take_unused(self) -> list[str]:
        """The values that have lost their last use, here or in a subgraph, or are new and have none; sorted.

        Each is told once, unless it changes again.
        """
        found = sorted(name for name in self._unused if name and not self._counts.get(name))
        self._unused.clear()
        return found

    def write(self) -> None:
        """Write the nodes that replace others into the scope. The index ends with it: positions are others then."""
        if self._replaced:
            nodes = [node for _, here in self.all_nodes() for node in here]
            del self.container.node[:]
            self.container.node.extend(nodes)


def uses_of(nodes: Iterable[NodeProto]) -> list[str]:
    """The values that nodes use from outside, once per use: as inputs, and in subgraphs that do not define them."""
    names: list[str] = []
    for node in nodes:
        names += node.input
        if node.attribute:
            for _, graph in subgraphs(node):
                names += _elements(DefUse(graph).captures)
    return names


def _elements(counts: Mapping[str, int]) -> Iterator[str]:
    return chain.from_iterable([name] * count for name, count in counts.items())


class ModelIndex:
    """The indexes of a model's scopes: its graph, the bodies of its functions, and from these their subgraphs.

    Attributes:
        graph: The index of the main graph.
    """

    def __init__(self, model: ModelProto) -> None:
        self._model = model
        self.graph = DefUse(model.graph)
        self._functions: dict[FunctionKey, DefUse] = {}

    def function(self, function: FunctionProto) -> DefUse:
        """The index of the body of one of the model's functions."""
        key = function_key(function)
        if key not in self._functions:
            self._functions[key] = DefUse(function)
        return self._functions[key]

    @cached_property
    def every_name(self) -> frozenset[str]:
        """The names of all values and nodes of the model, as they were when they were first asked for."""
        scopes = [self.graph, *map(self.function, self._model.functions)]
        return frozenset().union(*(scope.names() for scope in scopes), *(scope.node_names() for scope in scopes))
