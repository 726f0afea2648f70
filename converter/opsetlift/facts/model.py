"""The facts of a model: its scopes, and what onnx's inference says of the whole."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from onnx import FunctionProto, ModelProto, NodeProto, TypeProto

from opsetlift.facts.compared import Asked
from opsetlift.facts.environment import Types
from opsetlift.facts.inference import type_told_by_outputs
from opsetlift.facts.like_nodes import LikeNodes
from opsetlift.facts.scope import ScopeFacts, ScopeTables
from opsetlift.facts.type_strings import types_from_nothing
from opsetlift.facts.whole_model import whole_model_types
from opsetlift.model.arrays import Array
from opsetlift.model.def_use import ModelIndex
from opsetlift.model.scopes import (
    GRAPH_PATH,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
)


@dataclass
class ModelTables:
    """What has been worked out of a model. Every walk of it shares this.

    Attributes:
        index: Definitions and uses.
        graph: What is known of its graph.
        functions: What is known of the bodies of its functions, by path.
        inferred: What onnx's whole-model inference gives; None until asked for.
        large_constants_asked: How often the value of a constant was given by which nodes are not told apart.
        asked: What was asked about such values since it was last emptied; None where all of one was given.
        asked_by_nodes: The same of all walks, for nodes of the graph, by position.
        possible_types: Every type that a value may have, or None where one is not known; empty until asked for.
        numbered_origins: Numbers for what computes values, by all that tells them apart.
        answers: What onnx inferred of nodes, by all that it follows from.
    """

    index: ModelIndex
    graph: ScopeTables
    functions: dict[str, ScopeTables] = field(default_factory=dict)
    inferred: tuple[Types, Types] | None = None
    possible_types: tuple[frozenset[str] | None, ...] = ()
    large_constants_asked: int = 0
    asked: set[Asked | None] = field(default_factory=set)
    asked_by_nodes: dict[int, set[Asked | None]] = field(default_factory=dict)
    numbered_origins: dict[Hashable, int] = field(default_factory=dict)
    answers: dict[Hashable, Mapping[str, bytes]] = field(default_factory=dict)


class ModelFacts:
    """The facts of one model.

    Args:
        model: The model, which must not change.
        base_dir: The folder of its external data.
        is_undeclared: Whether the model declares no types of what it computes. Those that onnx's whole-model inference
            gives are all inferred then, and need not be inferred again node by node.
        tables: What was worked out of the same model before.
    """

    def __init__(
        self, model: ModelProto, base_dir: str = "", *, is_undeclared: bool = False, tables: ModelTables | None = None
    ) -> None:
        self.model = model
        self.base_dir = base_dir
        self.is_undeclared = is_undeclared
        if tables is None:
            index = ModelIndex(model)
            tables = ModelTables(index, ScopeTables(index.graph))
        self.tables = tables
        self.cut_inputs: frozenset[str] = frozenset()
        """Inputs that another model computes, of which this one is a part."""
        self.functions = {function_key(function): function for function in model.functions}
        self.like_nodes = LikeNodes()
        imports = imported_opsets(model.opset_import)
        self.graph = ScopeFacts(self, model.graph, GRAPH_PATH, None, imports, tables=tables.graph)
        self._scopes = {GRAPH_PATH: self.graph}
        self._all_scopes: dict[str, ScopeFacts] | None = None
        self._call_sites: Mapping[FunctionKey, list[tuple[ScopeFacts, NodeProto]]] | None = None

    def renewed(self) -> ModelFacts:
        """The facts for another walk of the same model: what has been worked out, not what a walk registered."""
        other = ModelFacts(self.model, self.base_dir, is_undeclared=self.is_undeclared, tables=self.tables)
        other.cut_inputs = self.cut_inputs
        return other

    def adopt(self, whole: ModelFacts, cut_inputs: frozenset[str], positions: Sequence[int]) -> None:
        """Take over what is known of the nodes and values of a model of which this one's graph is a part.

        Args:
            whole: The facts of that model.
            cut_inputs: The inputs of this one that it computes.
            positions: By node of this one, where it is in the whole.
        """
        self.cut_inputs = cut_inputs
        mine, theirs = self.tables.graph, whole.tables.graph
        mine.types = dict(whole.own_types(GRAPH_PATH))
        mine.type_strings = whole.graph.type_strings
        mine.constants = theirs.constants
        mine.answers_about_constants = theirs.answers_about_constants
        mine.value_keys = theirs.value_keys
        mine.numbered_sites = theirs.numbered_sites
        numbers = theirs.site_numbers
        mine.site_numbers = {place: numbers[one] for place, one in enumerate(positions) if one in numbers}
        mine.run_time_values = whole.graph.run_time_values()
        self.tables.possible_types = (whole.possible_types,)

    def function_scope(self, function: FunctionProto) -> ScopeFacts:
        """The facts of a function's body."""
        path = function_path(function)
        if path not in self._scopes:
            imports = imported_opsets(function.opset_import)
            own = self.functions[function_key(function)]
            tables = self.tables.functions.setdefault(path, ScopeTables(self.tables.index.function(own)))
            self._scopes[path] = ScopeFacts(self, own, path, None, imports, tables=tables)
        return self._scopes[path]

    def _by_path(self) -> dict[str, ScopeFacts]:
        if self._all_scopes is None:
            self._all_scopes = {}
            pending = [self.graph, *map(self.function_scope, self.model.functions)][::-1]
            while pending:
                scope = pending.pop()
                self._all_scopes[scope.path] = scope
                pending += reversed(list(scope.children()))
        return self._all_scopes

    def all_scopes(self) -> Iterator[ScopeFacts]:
        """The facts of the graph, the functions and all subgraphs."""
        yield from self._by_path().values()

    @cached_property
    def training_scopes(self) -> Mapping[str, ScopeFacts]:
        """By path the facts of the training graphs, which see the values of the graph, and of the subgraphs in them."""
        found = {}
        for number, info in enumerate(self.model.training_info):
            for name in ("initialization", "algorithm"):
                path = f"training_info[{number}].{name}"
                pending = [ScopeFacts(self, getattr(info, name), path, self.graph, self.graph.imports)]
                while pending:
                    scope = pending.pop()
                    found[scope.path] = scope
                    pending += scope.children()
        return found

    def scope(self, path: str) -> ScopeFacts:
        """The facts of the scope at `path`."""
        return self._scopes.get(path) or self._by_path().get(path) or self.training_scopes[path]

    def type_of(self, path: str, name: str) -> TypeProto | None:
        """The type of a value seen from the scope at `path`; None where nothing is known."""
        return self.scope(path).type_of(name)

    def type_told(self, path: str, name: str) -> TypeProto | None:
        """The type of a value of unknown rank, where the outputs of a node of the scope that reads it tell the rank."""
        scope = self.scope(path)
        told = (
            type_told_by_outputs(scope, node, scope.imports, name)
            for node in scope.container.node
            if name in node.input
        )
        return next((kind for kind in told if kind is not None), None)

    def own_types(self, path: str) -> Mapping[str, TypeProto]:
        """The types of all values that the scope at `path` itself defines, as far as anything is known."""
        return self.scope(path).own_types()

    def kinds(self, path: str) -> Sequence[int]:
        """For each node of the scope at `path` its kind: others have it only with the same attributes and types."""
        return self.scope(path).kinds()

    def constant(self, path: str, name: str) -> Array | None:
        """The value of a constant seen from the scope at `path`; None where it is computed at run time."""
        return self.scope(path).constant(name)

    def run_time_values(self, path: str) -> frozenset[str]:
        """Values of the scope at `path` that are no constants, found in one pass; there may be more."""
        return self.scope(path).run_time_values()

    @property
    def large_constants_asked(self) -> int:
        """How often the value of a constant was given by which nodes are not told apart, as it is too large."""
        return self.tables.large_constants_asked

    @property
    def numbered_origins(self) -> dict[Hashable, int]:
        """Numbers for what computes values, by all that tells them apart."""
        return self.tables.numbered_origins

    @property
    def answers(self) -> dict[Hashable, Mapping[str, bytes]]:
        """What onnx inferred of nodes: serialized types, by all that they follow from."""
        return self.tables.answers

    def note_large_constant(self, asked: Asked | None = None) -> None:
        """Take note of what was asked about one; None where its value was given."""
        self.tables.large_constants_asked += 1
        self.tables.asked.add(asked)

    @property
    def possible_types(self) -> frozenset[str] | None:
        """Every type that any value of the model may have; None where one of them is not known.

        Much cheaper than the type of each value: most nodes pass on the type of an input.
        """
        if not self.tables.possible_types:
            found: set[str | None] = set()
            for scope in self.all_scopes():
                found.update(types_from_nothing(scope))
            known = None if None in found else frozenset(one for one in found if one is not None)
            self.tables.possible_types = (known,)
        return self.tables.possible_types[0]

    @property
    def call_sites(self) -> Mapping[FunctionKey, list[tuple[ScopeFacts, NodeProto]]]:
        """Where each function is called from."""
        if self._call_sites is None:
            sites: dict[FunctionKey, list[tuple[ScopeFacts, NodeProto]]] = {key: [] for key in self.functions}
            for scope in self.all_scopes() if sites else ():
                for node in scope.container.node:
                    if (key := called_function_key(node)) in sites:
                        sites[key].append((scope, node))
            self._call_sites = sites
        return self._call_sites

    def _inferred(self) -> tuple[Types, Types]:
        if self.tables.inferred is None:
            self.tables.inferred = whole_model_types(self.model, twice=self.is_undeclared)
        return self.tables.inferred

    @property
    def hints(self) -> Types:
        """Types by scope path and name as onnx's own whole-model inference (with its data propagation) sees them."""
        return self._inferred()[1]

    @property
    def certain_types(self) -> Types:
        """Of a model that declares no types of what it computes, those that its nodes would give one by one."""
        return self._inferred()[0] if self.is_undeclared else {}
