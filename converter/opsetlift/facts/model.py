"""The facts of a model: its scopes, and what onnx's inference says of the whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from onnx import FunctionProto, ModelProto, NodeProto, TypeProto

from opsetlift.facts.like_nodes import LikeNodes
from opsetlift.facts.scope import ScopeFacts
from opsetlift.facts.type_strings import types_from_nothing
from opsetlift.facts.whole_model import Types, whole_model_types
from opsetlift.model.arrays import Array
from opsetlift.model.scopes import (
    GRAPH_PATH,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
    subgraphs,
)


class ModelFacts:
    """The facts of one model; `base_dir` is where its external data lies.

    `is_undeclared` says that the model declares no types of what it computes. Those that onnx's whole-model inference
    gives are all inferred then, and need not be inferred again node by node.
    """

    def __init__(self, model: ModelProto, base_dir: str = "", *, is_undeclared: bool = False) -> None:
        self.model = model
        self.base_dir = base_dir
        self.is_undeclared = is_undeclared
        self.functions = {function_key(function): function for function in model.functions}
        self.like_nodes = LikeNodes()
        self.graph = ScopeFacts(self, model.graph, GRAPH_PATH, None, imported_opsets(model.opset_import))
        self._scopes = {GRAPH_PATH: self.graph}

    def renewed(self) -> ModelFacts:
        """The facts for another walk of the same model: what has been worked out, not what a walk registered."""
        other = ModelFacts(self.model, self.base_dir, is_undeclared=self.is_undeclared)
        for name in ("_inferred", "possible_types"):
            if name in self.__dict__:
                other.__dict__[name] = self.__dict__[name]
        other._scopes = {path: scope.renewed(other, None) for path, scope in self._scopes.items()}
        other.graph = other._scopes[GRAPH_PATH]
        return other

    def function_scope(self, function: FunctionProto) -> ScopeFacts:
        """The facts of a function's body."""
        path = function_path(function)
        if path not in self._scopes:
            imports = imported_opsets(function.opset_import)
            self._scopes[path] = ScopeFacts(self, self.functions[function_key(function)], path, None, imports)
        return self._scopes[path]

    @cached_property
    def _paths(self) -> dict[str, ScopeFacts]:
        paths: dict[str, ScopeFacts] = {}

        def visit(scope: ScopeFacts) -> None:
            paths[scope.path] = scope
            for index, node in enumerate(scope.container.node):
                for attribute, graph in subgraphs(node) if node.attribute else ():
                    visit(scope.child(index, node, attribute, graph))

        visit(self.graph)
        for function in self.model.functions:
            visit(self.function_scope(function))
        return paths

    def all_scopes(self) -> Iterator[ScopeFacts]:
        """The facts of the graph, the functions and all subgraphs."""
        yield from self._paths.values()

    def scope(self, path: str) -> ScopeFacts:
        """The facts of the scope at `path`."""
        return self._scopes.get(path) or self._paths[path]

    def type_of(self, path: str, name: str) -> TypeProto | None:
        """The type of a value seen from the scope at `path`; None where nothing is known."""
        return self.scope(path).type_of(name)

    def constant(self, path: str, name: str) -> Array | None:
        """The value of a constant seen from the scope at `path`; None where it is computed at run time."""
        return self.scope(path).constant(name)

    @cached_property
    def possible_types(self) -> frozenset[str] | None:
        """Every type that any value of the model may have; None where one of them is not known.

        Much cheaper than the type of each value: most nodes pass on the type of an input.
        """
        found: set[str | None] = set()
        for scope in self._paths.values():
            found.update(types_from_nothing(scope))
        return None if None in found else frozenset(one for one in found if one is not None)

    @cached_property
    def call_sites(self) -> Mapping[FunctionKey, list[tuple[ScopeFacts, NodeProto]]]:
        """Where each function is called from."""
        sites: dict[FunctionKey, list[tuple[ScopeFacts, NodeProto]]] = {key: [] for key in self.functions}
        for scope in self._paths.values():
            for node in scope.container.node:
                if (key := called_function_key(node)) in sites:
                    sites[key].append((scope, node))
        return sites

    @cached_property
    def _inferred(self) -> tuple[Types, Types]:
        return whole_model_types(self.model, twice=self.is_undeclared)

    @property
    def hints(self) -> Types:
        """Types by scope path and name as onnx's own whole-model inference (with its data propagation) sees them."""
        return self._inferred[1]

    @property
    def certain_types(self) -> Types:
        """Of a model that declares no types of what it computes, those that its nodes would give one by one."""
        return self._inferred[0] if self.is_undeclared else {}
