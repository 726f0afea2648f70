"""The facts of one scope."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from onnx import FunctionProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, TypeProto

from opsetlift.evaluator import may_read_only_shapes
from opsetlift.facts.by_nodes import declared_in, has_known_sizes, may_suffice
from opsetlift.facts.compared import Asked, Question, has_content_compared
from opsetlift.facts.cross_check import CrossCheck
from opsetlift.facts.environment import ModelEnvironment
from opsetlift.facts.folding import folded
from opsetlift.facts.given_types import given_types
from opsetlift.facts.implied_types import implied_types
from opsetlift.facts.inference import inferred_ranks, inferred_types
from opsetlift.facts.node_keys import ScopeKeys
from opsetlift.facts.type_strings import type_strings
from opsetlift.facts.value_types import has_rank, merged, type_of_tensor
from opsetlift.model.arrays import Array, array_of
from opsetlift.model.def_use import DefUse
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    captured_names,
    function_key,
    omitted_inputs,
    subgraph_path,
    subgraphs,
)
from opsetlift.specification.dtypes import element_type, name_of_numpy_dtype, shape_of_type, type_string
from opsetlift.specification.history import canonical_domain


@dataclass
class ScopeTables:
    """What has been worked out of one scope of the original. Every walk of the model shares it.

    Attributes:
        index: Definitions and uses.
        given_types: Those of inputs and initializers; None until asked for.
        hints: Those of the whole model's inference and of readers of unknown operators; None until asked for.
        types: Types with shapes by name; None until asked for. While they are worked out, node by node, what precedes
            the node is here already.
        type_strings: Types without shapes, of all values; None until asked for.
        spelt_types: The types of `types` as the schemas spell them, as far as they were asked for.
        shapes: The shapes in them, likewise.
        constants: The values of constants, None for what is computed at run time, as far as they were asked for.
        answers_about_constants: To questions about large ones.
        run_time_values: Values that are no constants; None until asked for.
        value_keys: What tells values apart for rules, as far as it was asked for.
        site_numbers: For nodes, by position, a number that only those have that are alike for rules; None for a node
            that is alike to no other.
        numbered_sites: What that number stands for.
        kinds_in_whole: The kinds of nodes in the model that this one is a part of, for those that fare as there.
        kinds: For each node its kind, as `LikeNodes.learn` gives it; filled with the types.
        presumed: Types that were worked out before, of values that need not be inferred.
        children: Those of subgraphs, by the node's position and the attribute.
    """

    index: DefUse
    given_types: Mapping[str, TypeProto] | None = None
    hints: Mapping[str, TypeProto] | None = None
    types: dict[str, TypeProto] | None = None
    type_strings: Mapping[str, str] | None = None
    spelt_types: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, list[int | str | None]] = field(default_factory=dict)
    constants: dict[str, Array | None] = field(default_factory=dict)
    answers_about_constants: dict[tuple[str, Question], bool] = field(default_factory=dict)
    run_time_values: frozenset[str] | None = None
    value_keys: dict[str, Hashable] = field(default_factory=dict)
    site_numbers: dict[int, int | None] = field(default_factory=dict)
    numbered_sites: dict[Hashable, int] = field(default_factory=dict)
    kinds_in_whole: Mapping[int, Hashable] = field(default_factory=dict)
    kinds: list[int] = field(default_factory=list)
    presumed: Mapping[str, TypeProto] = field(default_factory=dict)
    children: dict[tuple[int, str], ScopeTables] = field(default_factory=dict)

    def child(self, position: int, attribute: str, graph: GraphProto) -> ScopeTables:
        """Those of a subgraph of the node at a position."""
        key = (position, attribute)
        if key not in self.children:
            self.children[key] = ScopeTables(self.index.child(position, attribute, graph))
        return self.children[key]


class ScopeFacts:
    """The facts of one scope: a graph, a subgraph, or a function's body.

    Args:
        model: The model around it.
        container: The scope as the original has it.
        path: Where it is.
        parent: The facts of the scope around, of a subgraph.
        imports: The opsets of its nodes, by domain.
        owner: The node that has this subgraph.
        tables: What was worked out before.
    """

    def __init__(
        self,
        model: ModelEnvironment,
        container: Container,
        path: str,
        parent: ScopeFacts | None,
        imports: Mapping[str, int],
        owner: NodeProto | None = None,
        tables: ScopeTables | None = None,
    ) -> None:
        self.model = model
        self.container = container
        self.path = path
        self.parent = parent
        self.imports = imports
        self.owner = owner
        self.tables = tables or ScopeTables(DefUse(container))
        self.index = self.tables.index
        self._children: dict[str, ScopeFacts] = {}
        self._omissible: frozenset[str] | None = None
        self._captured: frozenset[str] | None = None
        self._emitted: dict[str, tuple[NodeProto, Mapping[str, int]]] = {}
        self._producers: dict[str, NodeProto] = {}
        self.origins: dict[str, dict[int, Hashable]] = {}
        """What computes each value, as far back as by a number of nodes; forgotten where another node computes it."""
        self._added_types: dict[str, TypeProto] = {}
        self._emitted_types: dict[str, TypeProto | None] = {}
        self._emitted_constants: dict[str, Array | None] = {}

    @property
    def omissible(self) -> frozenset[str]:
        """The values seen from here that are absent where a call of the function leaves an input out."""
        if self._omissible is None:
            self._omissible = self._find_omissible()
        return self._omissible

    def _find_omissible(self) -> frozenset[str]:
        if not isinstance(self.container, FunctionProto):
            return self.parent.omissible if self.parent else frozenset()
        omitted: set[str] = set()
        for scope, call in self.model.call_sites[function_key(self.container)]:
            omitted |= omitted_inputs(self.container, call)
            omitted.update(
                name for name, given in zip(self.container.input, call.input, strict=False) if given in scope.omissible
            )
        return frozenset(omitted)

    def child(self, index: int, node: NodeProto, attribute: str, graph: GraphProto) -> ScopeFacts:
        """The facts of a subgraph of the node at `index`; `attribute` is as `subgraphs` names it."""
        path = subgraph_path(self.path, index, node, attribute)
        if path not in self._children:
            tables = self.tables.child(index, attribute, graph)
            self._children[path] = ScopeFacts(self.model, graph, path, self, self.imports, node, tables)
        return self._children[path]

    def children(self) -> Iterator[ScopeFacts]:
        """The facts of all subgraphs of the scope's nodes."""
        for index, node in enumerate(self.container.node):
            for attribute, graph in subgraphs(node) if node.attribute else ():
                yield self.child(index, node, attribute, graph)

    def subgraph_of(self, output: str, attribute: str) -> ScopeFacts | None:
        """The facts of a subgraph of the node that computes `output`; None where no node of the original does."""
        position = self.index.positions.get(output)
        if position is None:
            return None
        node = self.container.node[position]
        # An emitted node may have taken the output over from one of another kind.
        graph = next((graph for name, graph in subgraphs(node) if name == attribute), None)
        return None if graph is None else self.child(position, node, attribute, graph)

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Take note of an emitted node: it may be asked for the facts of its outputs. Known names keep their facts."""
        copy = NodeProto()
        copy.CopyFrom(node)
        self.note_producers([copy])
        for output in node.output:
            if output and not self._is_known(output):
                self._emitted[output] = (copy, {**self.imports, domain: opset})

    def presume(self, types: Mapping[str, TypeProto]) -> None:
        """Use types that were worked out before: nodes that compute nothing but these values are not inferred."""
        self.tables.presumed = types

    def register_tensor(self, tensor: TensorProto) -> None:
        """Take note of an added initializer whose content may never be asked for."""
        self._added_types[tensor.name] = type_of_tensor(tensor.data_type, tensor.dims)

    def register_type(self, name: str, known: TypeProto) -> None:
        """Take note of a value that an emitted subgraph is given."""
        self._added_types[name] = known

    def register_constant(self, name: str, value: Array) -> None:
        """Take note of an added initializer."""
        self._emitted_constants[name] = value
        self._added_types[name] = type_of_tensor(element_type(name_of_numpy_dtype(value.dtype)), value.shape)

    def type_string(self, name: str) -> str | None:
        """The type as the schemas spell it ("tensor(float)"); None where it is not known."""
        if name in self._emitted or name in self._added_types:
            found = self.type_of(name)
            return found and type_string(found)
        spelt = self.tables.spelt_types.get(name)
        if spelt is not None:
            return spelt
        if self._is_known(name):
            if self.tables.types is None:
                return self.type_strings.get(name)
            found = self.tables.types.get(name)
            spelt = found and type_string(found)
            if spelt is not None:
                self.tables.spelt_types[name] = spelt
            return spelt
        return self.parent.type_string(name) if self.parent else None

    def type_of(self, name: str) -> TypeProto | None:
        """The type with as much of the shape as is known; None where nothing is."""
        if name in self._added_types:
            return self._added_types[name]
        if name in self._emitted:
            if name not in self._emitted_types:
                node, imports = self._emitted[name]
                self._emitted_types[name] = None
                self._emitted_types.update(inferred_types(self.model, node, imports, self.type_of, self.constant))
                found = self._emitted_types[name]
                if found is not None and not has_rank(found):
                    self._emitted_types.update(inferred_ranks(self, node, imports))
            return self._emitted_types[name]
        if self._is_known(name):
            return self._types().get(name)
        return self.parent.type_of(name) if self.parent else None

    def own_types(self) -> Mapping[str, TypeProto]:
        """The types of all values that the scope itself defines, as far as anything is known, all at once."""
        return self._types()

    def kinds(self) -> Sequence[int]:
        """For each node a number that others have only with the same operator, attributes and types; 0 for none."""
        self._types()
        return self.tables.kinds

    def shape(self, name: str) -> list[int | str | None] | None:
        """The shape: a number, a symbol or None per dimension; None where not even the rank is known."""
        is_added = name in self._added_types or name in self._emitted
        known = None if is_added else self.tables.shapes.get(name)
        if known is not None:
            return known[:]
        found = self.type_of(name)
        shape = None if found is None else shape_of_type(found)
        if shape is not None and not is_added and self._is_known(name):
            self.tables.shapes[name] = shape[:]
        return shape

    def constant(self, name: str) -> Array | None:
        """The value, if it is the same in every run; None otherwise.

        Initializers that no caller can override, and what deterministic nodes compute from constants alone (or from
        static shapes alone).
        """
        value = self.content(name)
        if value is not None and not has_content_compared(value):
            self.model.note_large_constant()
        return value

    def holds(self, name: str, question: Question) -> bool:
        """Whether a value is the same in every run, and the answer to a question about its elements is yes.

        Nodes with weights of which the same holds are taken for alike, so that this is asked rather than `constant`.
        """
        value = self.content(name)
        if value is None:
            return False
        if has_content_compared(value):
            return question(value)
        is_given = self.tables.constants.get(name) is value
        known = self.tables.answers_about_constants.get((name, question)) if is_given else None
        answer = question(value) if known is None else known
        if is_given:
            self.tables.answers_about_constants[name, question] = answer
        self.model.note_large_constant(Asked(name, question, answer))
        return answer

    def content(self, name: str) -> Array | None:
        """The same, for what only passes the value on: nothing may be decided by its elements."""
        if not name:
            return None
        if name in self._emitted_constants:
            return self._emitted_constants[name]
        if name in self._emitted:
            return self._fold(name, *self._emitted[name], self._emitted_constants)
        known = self.tables.constants
        if name in known:
            return known[name]
        if name in self.index.inputs:
            return None
        if name in self.index.initializers:
            known[name] = self._read(self.index.initializers[name])
            return known[name]
        node = self.index.producer(name)
        if node is None:
            return self.parent.content(name) if self.parent is not None else None
        if node.input and name in self.run_time_values():
            return None  # or the question would go on to what it is computed from, node by node
        if node.input:
            # Types come first: their inference asks for constants, and should find none half folded.
            self._types()
        return self._fold_in_order(name, known)

    def is_constant(self, name: str) -> bool:
        """Whether `constant` gives a value, without reading that of an initializer."""
        index = self.index
        if name in index.initializers and name not in index.inputs and name not in self._emitted:
            return not isinstance(index.initializers[name], SparseTensorProto)
        if self.parent is not None and name not in self._emitted_constants and not self._is_known(name):
            return self.parent.is_constant(name)
        return self.content(name) is not None

    def run_time_values(self) -> frozenset[str]:
        """Values that are no constants, found in one pass: what nodes of this scope compute from its inputs.

        `constant` gives None for each of them; there may be more.
        """
        if self.tables.run_time_values is None:
            found = set(self.index.inputs)
            index = self.index
            pure = {one for one in index.operators if may_read_only_shapes(canonical_domain(one[0]), one[1])}
            rows = zip(index.operators_by_node, index.inputs_by_node, index.outputs_by_node, strict=True)
            for operator, inputs, outputs in rows:
                if not found.isdisjoint(inputs) and operator not in pure:
                    found.update(outputs)
            found.discard("")
            self.tables.run_time_values = frozenset(found)
        return self.tables.run_time_values

    def parameter_behind(self, name: str) -> str:
        """The function's parameter that is the value of a Constant; "" where that is not so."""
        node = self.index.producer(name)
        if node is None or node.input:
            return self.parent.parameter_behind(name) if node is None and self.parent else ""
        return next((attribute.ref_attr_name for attribute in node.attribute if attribute.ref_attr_name), "")

    def computes(self, name: str) -> bool:
        """Whether a node of this scope computes the value."""
        return name in self.index.positions

    def producer(self, name: str) -> NodeProto | None:
        """The node of this scope that computes a value, be it emitted; None for inputs and constants."""
        return self._producers.get(name) or self.index.producer(name)

    def note_producers(self, nodes: Iterable[NodeProto]) -> None:
        """Take note of nodes that compute values in place of those that did."""
        for node in nodes:
            for name in filter(None, node.output):
                self._producers[name] = node
                self.origins.pop(name, None)

    def reads(self, name: str) -> bool:
        """Whether a node of this scope, a subgraph in it or its outputs read the value."""
        return self.index.use_count(name) > 0

    def is_shared(self, name: str) -> bool:
        """Whether the value is read more than once there, in the original."""
        return self.index.use_count(name) > 1

    def is_captured(self, name: str) -> bool:
        """Whether a graph inside this one reads the value, in the original."""
        if self._captured is None:
            inside = self.index.subgraphs_by_node.values()
            self._captured = frozenset(one for graphs in inside for _, graph in graphs for one in captured_names(graph))
        return name in self._captured

    def is_initializer(self, name: str) -> bool:
        """Whether the value is an initializer here or further out."""
        if self._is_known(name):
            return name in self.index.initializers
        return self.parent.is_initializer(name) if self.parent else False

    def is_as_given(self, name: str) -> bool:
        """Whether a value of this scope is what the original says, whatever the walk has registered so far."""
        is_registered = name in self._added_types or name in self._emitted or name in self._emitted_constants
        return not is_registered and self._is_known(name)

    def _is_known(self, name: str) -> bool:
        return self.index.defines(name)

    def _read(self, tensor: TensorProto | SparseTensorProto) -> Array | None:
        if isinstance(tensor, SparseTensorProto):
            return None
        return array_of(tensor, self.model.base_dir)

    def _fold(
        self, name: str, node: NodeProto, imports: Mapping[str, int], known: dict[str, Array | None]
    ) -> Array | None:
        known[name] = None  # for inference that asks for it on the way
        known.update(folded(self, node, imports))
        return known[name]

    def _fold_in_order(self, name: str, known: dict[str, Array | None]) -> Array | None:
        """Fold what a value is computed from, then the value: by recursion, some hundred nodes would be too many."""
        pending, seen = [name], {name}
        while pending:
            node = self.index.producer(pending[-1])
            assert node is not None
            missing = [one for one in node.input if one not in seen and one not in known and self._may_fold(one)]
            if missing and pending[-1] not in known:
                pending += missing
                seen.update(missing)
                continue
            one = pending.pop()
            if one not in known:
                self._fold(one, node, self.imports, known)
        return known[name]

    def _may_fold(self, name: str) -> bool:
        return name in self.index.positions and name not in self.run_time_values()

    @property
    def given_types(self) -> Mapping[str, TypeProto]:
        """Types of what no node of this scope computes: inputs and initializers."""
        if self.tables.given_types is None:
            self.tables.given_types = given_types(self)
        return self.tables.given_types

    @property
    def hints(self) -> Mapping[str, TypeProto]:
        """Types as the inference of the whole model gives them, and as readers of unknown operators show them."""
        if self.tables.hints is None:
            hints = self.model.hints.get(self.path, {})
            self.tables.hints = {**implied_types(self, hints), **hints}
        return self.tables.hints

    @property
    def type_strings(self) -> Mapping[str, str]:
        """Types without shapes, of all values of this scope."""
        if self.tables.type_strings is None:
            self.tables.type_strings = type_strings(self)
        return self.tables.type_strings

    def _types(self) -> Mapping[str, TypeProto]:
        """Types with shapes, by onnx's inference, node by node in topological order.

        While it goes on the table has what precedes the node, which serves the constants that are folded for it.
        """
        if self.tables.types is None:
            constants = self.tables.constants.copy()
            try:
                if not (may_suffice(self) and self._infer_nodes(declared_in(self), until_open=True)):
                    # What was folded on the way knew less of sizes than there is to know.
                    self.tables.spelt_types.clear()
                    self.tables.shapes.clear()
                    self.tables.constants.clear()
                    self.tables.constants.update(constants)
                    self._infer_nodes(self.hints)
            except BaseException:
                self.tables.types = None
                raise
        assert self.tables.types is not None
        return self.tables.types

    def _infer_nodes(self, hints: Mapping[str, TypeProto], *, until_open: bool = False) -> bool:
        """Work out the types of the table; False where that ended, as asked, at a value with an open size."""
        known = self.tables.types = dict(self.given_types)
        kinds = self.tables.kinds = []
        presumed = self.tables.presumed
        cross_check = CrossCheck(self, known) if self.model.is_undeclared and self.path == GRAPH_PATH else None
        keys = ScopeKeys(self, hints, known)
        index, find = self.index, self.model.like_nodes.outputs_of
        by_node = index.operators_by_node, index.attributes_by_node, index.inputs_by_node, index.outputs_by_node
        rows = zip(self.container.node, *by_node, strict=True)
        for node, operator, attributes, inputs, positions in rows:
            outputs = [name for name in positions if name] if "" in positions else positions
            kinds.append(0)
            if not outputs:
                continue
            if presumed and all(map(presumed.__contains__, outputs)):
                known.update((name, presumed[name]) for name in outputs)
            elif cross_check is not None and (certain := cross_check.types_of(node)) is not None:
                known.update(certain)
            elif (like := find(key := keys.key(operator, attributes, inputs, positions))) is not None:
                kinds[-1], types = like
                for name, one in zip(outputs, types, strict=True):
                    if one is not None:
                        known[name] = one
            else:
                self._infer(node, outputs, hints, known)
                if until_open and not all(has_known_sizes(known.get(name)) for name in outputs):
                    return False
                is_typed = all(not name or self.type_of(name) is not None for name in inputs)
                types = [known.get(name) for name in outputs]
                kinds[-1] = self.model.like_nodes.learn(key, types, is_typed=is_typed)
            if cross_check is not None:
                cross_check.learn(node, known)
        return True

    def _infer(
        self, node: NodeProto, outputs: Sequence[str], hints: Mapping[str, TypeProto], known: dict[str, TypeProto]
    ) -> None:
        inferred = inferred_types(self.model, node, self.imports, self.type_of, self.constant)
        for output in outputs:
            found = inferred.get(output)
            if found is not None and type_string(found) is not None:
                known[output] = merged(found, hints.get(output))
            elif output in hints:
                known[output] = hints[output]
        if any(name in known and not has_rank(known[name]) for name in outputs):
            for name, ranked in inferred_ranks(self, node, self.imports).items():
                own = TypeProto()  # a hint is shared by values of the same type
                own.CopyFrom(known[name])
                known[name] = merged(own, ranked)
