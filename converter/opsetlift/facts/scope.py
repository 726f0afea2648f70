"""The facts of one scope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy as shallow_copy
from functools import cached_property
from typing import TYPE_CHECKING

from onnx import FunctionProto, GraphProto, NodeProto, SparseTensorProto, TensorProto, TypeProto

from opsetlift.facts.agreement import Agreement
from opsetlift.facts.folding import folded
from opsetlift.facts.given_types import given_types
from opsetlift.facts.inference import inferred_ranks, inferred_types
from opsetlift.facts.like_nodes import ScopeKeys
from opsetlift.facts.type_strings import type_strings
from opsetlift.facts.value_types import has_rank, merged, type_of_tensor
from opsetlift.model.arrays import Array, array_of
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    function_key,
    omitted_inputs,
    referenced_names,
    subgraph_path,
    subgraphs,
)
from opsetlift.specification.dtypes import element_type, name_of_numpy_dtype, shape_of_type, type_string

if TYPE_CHECKING:
    from opsetlift.facts.model import ModelFacts


class ScopeFacts:
    """The facts of one scope: a graph, a subgraph, or a function's body."""

    def __init__(
        self,
        model: ModelFacts,
        container: Container,
        path: str,
        parent: ScopeFacts | None,
        imports: Mapping[str, int],
        owner: NodeProto | None = None,
    ) -> None:
        self.model = model
        self.container = container
        self.path = path
        self.parent = parent
        self.imports = imports
        self.owner = owner
        self._children: dict[str, ScopeFacts] = {}
        self._constants: dict[str, Array | None] = {}
        self._emitted: dict[str, tuple[NodeProto, Mapping[str, int]]] = {}
        self._added_types: dict[str, TypeProto] = {}
        self._emitted_types: dict[str, TypeProto | None] = {}
        self._presumed: Mapping[str, TypeProto] = {}

    @cached_property
    def omissible(self) -> frozenset[str]:
        """The values seen from here that are no values where a call of the function leaves an input out."""
        if not isinstance(self.container, FunctionProto):
            return self.parent.omissible if self.parent else frozenset()
        omitted: set[str] = set()
        for scope, call in self.model.call_sites[function_key(self.container)]:
            omitted |= omitted_inputs(self.container, call)
            omitted.update(
                name for name, given in zip(self.container.input, call.input, strict=False) if given in scope.omissible
            )
        return frozenset(omitted)

    def renewed(self, model: ModelFacts, parent: ScopeFacts | None) -> ScopeFacts:
        """The facts without those of emitted nodes."""
        other = shallow_copy(self)
        other.model, other.parent = model, parent
        other._children = {path: child.renewed(model, other) for path, child in self._children.items()}
        other._constants = {name: value for name, value in self._constants.items() if self._is_known(name)}
        other._emitted, other._added_types, other._emitted_types = {}, {}, {}
        return other

    def child(self, index: int, node: NodeProto, attribute: str, graph: GraphProto) -> ScopeFacts:
        """The facts of a subgraph of the node at `index`."""
        path = subgraph_path(self.path, index, node, attribute)
        if path not in self._children:
            self._children[path] = ScopeFacts(self.model, graph, path, self, self.imports, node)
        return self._children[path]

    def subgraph_of(self, output: str, attribute: str) -> ScopeFacts | None:
        """The facts of a subgraph of the node that computes `output`; None where no node of the original does."""
        node = self._producers.get(output)
        if node is None:
            return None
        index = next(index for index, candidate in enumerate(self.container.node) if output in candidate.output)
        # An emitted node may have taken the output over from one of another kind.
        graph = next((graph for name, graph in subgraphs(node) if name == attribute), None)
        return None if graph is None else self.child(index, node, attribute, graph)

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Take note of an emitted node: it may be asked for the facts of its outputs. Known names keep their facts."""
        copy = NodeProto()
        copy.CopyFrom(node)
        for output in node.output:
            if output and not self._is_known(output):
                self._emitted[output] = (copy, {**self.imports, domain: opset})

    def presume(self, types: Mapping[str, TypeProto]) -> None:
        """Believe types that were worked out before: what computes these values alone is not asked again."""
        self._presumed = types

    def register_tensor(self, tensor: TensorProto) -> None:
        """Take note of an added initializer whose content may never be asked for."""
        self._added_types[tensor.name] = type_of_tensor(tensor.data_type, tensor.dims)

    def register_type(self, name: str, known: TypeProto) -> None:
        """Take note of a value that an emitted subgraph is given."""
        self._added_types[name] = known

    def register_constant(self, name: str, value: Array) -> None:
        """Take note of an added initializer."""
        self._constants[name] = value
        self._added_types[name] = type_of_tensor(element_type(name_of_numpy_dtype(value.dtype)), value.shape)

    def type_string(self, name: str) -> str | None:
        """The type as the schemas spell it ("tensor(float)"); None where it is not known."""
        if name in self._emitted or name in self._added_types:
            found = self.type_of(name)
            return found and type_string(found)
        if self._is_known(name):
            if "_types" in self.__dict__:
                found = self._types.get(name)
                return found and type_string(found)
            return self.type_strings.get(name)
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
            return self._types.get(name)
        return self.parent.type_of(name) if self.parent else None

    def shape(self, name: str) -> list[int | str | None] | None:
        """The shape: a number, a symbol or None per dimension; None where not even the rank is known."""
        found = self.type_of(name)
        return None if found is None else shape_of_type(found)

    def constant(self, name: str) -> Array | None:
        """The value, if it is the same in every run; None otherwise.

        Initializers that no caller can override, and what deterministic nodes compute from constants alone (or from
        static shapes alone).
        """
        if not name:
            return None
        if name in self._constants:
            return self._constants[name]
        if name in self._emitted:
            return self._fold(name, *self._emitted[name])
        if name in self.initializers:
            value = None if name in self._inputs else self._read(self.initializers[name])
        elif name in self._producers:
            if self._producers[name].input:
                # Types come first: their inference asks for constants, and should find none half folded.
                assert self._types is not None
            return self._fold(name, self._producers[name], self.imports)
        elif name in self._inputs or self.parent is None:
            value = None
        else:
            return self.parent.constant(name)
        self._constants[name] = value
        return value

    def parameter_behind(self, name: str) -> str:
        """The function's parameter that is the value of a Constant; "" where that is not so."""
        node = self._producers.get(name)
        if node is None or node.input:
            return self.parent.parameter_behind(name) if node is None and self.parent else ""
        return next((attribute.ref_attr_name for attribute in node.attribute if attribute.ref_attr_name), "")

    def computes(self, name: str) -> bool:
        """Whether a node of this scope computes the value."""
        return name in self._producers

    def reads(self, name: str) -> bool:
        """Whether a node of this scope, a subgraph in it or its outputs read the value."""
        return name in self._names_read

    @cached_property
    def _names_read(self) -> frozenset[str]:
        outputs = self.container.output
        read = {output if isinstance(output, str) else output.name for output in outputs}
        for node in self.container.node:
            read.update(node.input)
            for _, graph in subgraphs(node):
                read.update(referenced_names(graph))
        return frozenset(read)

    def is_initializer(self, name: str) -> bool:
        """Whether the value is an initializer here or further out."""
        if self._is_known(name):
            return name in self.initializers
        return self.parent.is_initializer(name) if self.parent else False

    def _is_known(self, name: str) -> bool:
        return name in self._producers or name in self._inputs or name in self.initializers

    @cached_property
    def _producers(self) -> Mapping[str, NodeProto]:
        return {output: node for node in self.container.node for output in node.output if output}

    @cached_property
    def _inputs(self) -> frozenset[str]:
        if isinstance(self.container, FunctionProto):
            return frozenset(self.container.input)
        return frozenset(info.name for info in self.container.input)

    @cached_property
    def initializers(self) -> Mapping[str, TensorProto | SparseTensorProto]:
        """The initializers of the scope by name; a function has none."""
        if isinstance(self.container, FunctionProto):
            return {}
        found: dict[str, TensorProto | SparseTensorProto] = {t.name: t for t in self.container.initializer}
        found.update({sparse.values.name: sparse for sparse in self.container.sparse_initializer})
        return found

    def _read(self, tensor: TensorProto | SparseTensorProto) -> Array | None:
        if isinstance(tensor, SparseTensorProto):
            return None
        return array_of(tensor, self.model.base_dir)

    def _fold(self, name: str, node: NodeProto, imports: Mapping[str, int]) -> Array | None:
        self._constants[name] = None  # for inference that asks for it on the way
        self._constants.update(folded(self, node, imports))
        return self._constants[name]

    @cached_property
    def given_types(self) -> Mapping[str, TypeProto]:
        """Types of what no node of this scope computes: inputs and initializers."""
        return given_types(self)

    @cached_property
    def type_strings(self) -> Mapping[str, str]:
        """Types without shapes, of all values of this scope."""
        return type_strings(self)

    @cached_property
    def _types(self) -> Mapping[str, TypeProto]:
        """Types with shapes, by onnx's inference, node by node."""
        known = dict(self.given_types)
        self.__dict__["_types"] = known  # what is known so far serves the constants that are folded on the way
        hints = self.model.hints.get(self.path, {})
        agreement = Agreement(self, known) if self.model.is_undeclared and self.path == GRAPH_PATH else None
        keys = ScopeKeys(self, hints)
        for node in self.container.node:
            outputs = [name for name in node.output if name]
            if all(map(self._presumed.__contains__, outputs)):
                known.update((name, self._presumed[name]) for name in outputs)
            elif agreement is not None and (certain := agreement.types_of(node)) is not None:
                known.update(certain)
            elif (like := self.model.like_nodes.outputs_of(key := keys.key(node))) is not None:
                known.update((name, one) for name, one in zip(outputs, like, strict=True) if one is not None)
            else:
                self._infer(node, outputs, hints, known)
                self.model.like_nodes.learn(key, [known.get(name) for name in outputs])
            if agreement is not None:
                agreement.learn(node, known)
        return known

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
                known[name] = merged(known[name], ranked)
