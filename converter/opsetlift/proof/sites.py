"""The sites of a conversion: every node whose operator's definition changed or that a rule changed, in every scope."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, numpy_helper

from opsetlift.evaluator import same_code
from opsetlift.model.arrays import Array
from opsetlift.model.def_use import Operator
from opsetlift.model.scopes import called_function_key, function_key, subgraph_path, subgraphs
from opsetlift.proof.function_attributes import attribute_bindings, defaults, refers, resolved
from opsetlift.proof.proven_bodies import ProvenBodies, Replaced
from opsetlift.proof.scopes import Aligned, ScopePair, names_read
from opsetlift.proof.shapes import Dims, dims_of, elements, follows_from
from opsetlift.proof.signature import Key, Numbering, array_key, node_key
from opsetlift.proof.structure import scope_differences
from opsetlift.rulebook.trace import ConversionTrace
from opsetlift.specification import dtypes
from opsetlift.specification.dtypes import type_string
from opsetlift.specification.history import Definition, OperatorHistory, canonical_domain, history

EMBEDDED = {"int64": 256, "int32": 256, "bool": 256, "string": 256}
"""Constants of up to so many elements are part of a site. Larger ones (weights) are first drawn like other inputs."""

EMBEDDED_OTHERWISE = 8
"""The same for all other dtypes."""

MOST_EXAMPLE = 64
"""Default values of so many elements may be axes, sizes or indices, and are tried as they are."""


class Facts(Protocol):
    """What is known of the values of the original model, by the path of the scope that sees them."""

    base_dir: str
    """The folder of the model's external data; empty where it is not known."""

    def type_of(self, path: str, name: str) -> TypeProto | None:
        """The type of a value, with as much of the shape as is known."""

    def type_told(self, path: str, name: str) -> TypeProto | None:
        """The type of a value whose rank only the outputs of nodes that read it tell."""

    def own_types(self, path: str) -> Mapping[str, TypeProto]:
        """The types of all values that a scope itself defines, as far as anything is known, at the cost of one pass."""

    def kinds(self, path: str) -> Sequence[int]:
        """For each node of a scope a number, or 0.

        Nodes of the same number have the same operator, the same attributes, and the same types of inputs and outputs.
        """

    def constant(self, path: str, name: str) -> Array | None:
        """The value, if it is the same in every run."""

    def run_time_values(self, path: str) -> Collection[str]:
        """Values of a scope that are no constants, at the cost of one pass; there may be more."""


@dataclass(frozen=True)
class BodyOutput:
    """An output of a subgraph of the original: how it is declared, and what is known of its type."""

    declared: ValueInfoProto
    type: TypeProto


@dataclass(frozen=True)
class Site:
    """A node of the original, with what stands in its place, ready to be run by itself."""

    pair: ScopePair
    aligned: Aligned
    node: NodeProto
    """The original node; in a function's body, with the attributes of one of its calls."""
    after: Sequence[NodeProto]
    facts: Facts
    overridable: Mapping[str, TensorProto]
    joined: Sequence[Aligned] = ()
    """The sites before this one that compute what it reads and the result has in parts only. `after` begins with what
    stands in their place."""
    computing: Sequence[NodeProto] = ()
    """Their original nodes."""
    replaced: Replaced | None = None
    """The original node as it is run: what rounds in its bodies is proven there, and is the same on both sides."""

    @property
    def before(self) -> Sequence[NodeProto]:
        """The nodes of the original's side."""
        return [*self.computing, self.node]

    @property
    def before_as_run(self) -> Sequence[NodeProto]:
        """The nodes of the original's side, as they are run."""
        return [*self.computing, self.replaced.node if self.replaced else self.node]

    @property
    def path(self) -> str:
        """The path of the scope of the node."""
        return self.pair.path

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that changed it, each with its transition."""
        traces = [one.site for one in (*self.joined, self.aligned) if one.site]
        return tuple(f"{transition}: {rule.name}" for site in traces for transition, rule in site.applied)

    @property
    def ulps(self) -> int:
        """The sum of the rounding bounds of its rules, in units in the last place; 0 where all are exact."""
        return sum(one.site.ulps for one in (*self.joined, self.aligned) if one.site)

    @cached_property
    def reads(self) -> list[str]:
        """What it takes from its scope, in order."""
        found: dict[str, None] = {}
        defined: set[str] = set()
        reads = [*map(names_read, self.computing), self.pair.reads(self.aligned)]
        for node, names in zip(self.before, reads, strict=True):
            captured = sorted(names - set(node.input))
            found.update(dict.fromkeys(name for name in (*node.input, *captured) if name and name not in defined))
            defined.update(node.output)
        return list(found)

    @cached_property
    def outputs(self) -> list[str]:
        """The outputs to compare: those that something in the result reads; where nothing does, those of both sides."""
        defined = {name for node in self.after for name in node.output} | set(self._initializers)
        common = [name for name in dict.fromkeys(self.node.output) if name and name in defined]
        return [name for name in common if name in self.pair.used] or common

    @property
    def _initializers(self) -> list[str]:
        """Those of its outputs that are initializers in the result."""
        return [name for name in self.node.output if name in self.pair.trace.added_initializers]

    @cached_property
    def embedded(self) -> Mapping[str, Array]:
        """Its small constants."""
        found = {name: self.constant(name) for name in self.reads if not self._is_large(name)}
        return {name: value for name, value in found.items() if value is not None}

    @cached_property
    def types(self) -> Mapping[str, TypeProto | None]:
        """The types of what it reads and is not embedded; None where they are not known."""
        return {name: self.facts.type_of(self.path, name) for name in self.reads if name not in self.embedded}

    @cached_property
    def dims(self) -> Mapping[str, Dims | None]:
        """Their dimensions."""
        return {name: dims_of(kind) if kind is not None else None for name, kind in self.types.items()}

    @cached_property
    def dims_told(self) -> Mapping[str, Dims | None]:
        """Their dimensions, with the ranks that only what other nodes give tells."""
        told = {name: self.facts.type_told(self.path, name) for name, dims in self.dims.items() if dims is None}
        return {**self.dims, **{name: dims_of(kind) for name, kind in told.items() if kind is not None}}

    @cached_property
    def declared(self) -> Mapping[str, Dims | None]:
        """The dimensions of its outputs, as far as the model tells how many there are."""
        dims = {name: dims_of(kind) for name, kind in self.output_types.items()}
        return {name: sizes for name, sizes in dims.items() if sizes is not None}

    @cached_property
    def declares_shapes(self) -> bool:
        """Whether the model tells how many dimensions an output, or a value in a body of the site, has."""
        return bool(self.declared) or any(dims_of(one.type) for one in _declared_in_subgraphs(self.before))

    @cached_property
    def output_types(self) -> Mapping[str, TypeProto]:
        """The types of its outputs, as far as they are known."""
        types = {name: self.facts.type_of(self.path, name) for name in self.outputs}
        return {name: kind for name, kind in types.items() if kind is not None}

    @cached_property
    def declared_anew(self) -> Sequence[ValueInfoProto]:
        """What the result declares of values in its nodes and their subgraphs, and does not follow from the original.

        Of the site's own outputs only what is not known in the original.
        """
        names = [name for node in self.after for name in node.output if name in self.pair.declared_anew]
        infos = [self.pair.declared_anew[name] for name in names]
        known = self.output_types
        anew = [info for info in infos if not follows_from(info.type, known.get(info.name))]
        if not any(map(_has_subgraphs, self.after)):
            return anew
        before = {info.SerializeToString(deterministic=True) for info in _declared_in_subgraphs(self.before_as_run)}
        inside = _declared_in_subgraphs(self.after)
        return [*anew, *(info for info in inside if info.SerializeToString(deterministic=True) not in before)]

    @cached_property
    def body_outputs(self) -> Mapping[str, BodyOutput]:
        """What its bodies give, as far as the model tells how many dimensions there are.

        A loop that never runs gives a tensor without elements whose other sizes can only be those that are inferred:
        open ones are 0, as in onnxruntime.
        """
        found: dict[str, list[BodyOutput]] = {}
        for one in (*self.joined, self.aligned):
            for output in _body_outputs(self.path, one.position, one.node, self.facts):
                found.setdefault(output.declared.name, []).append(output)
        return {name: outputs[0] for name, outputs in found.items() if all(one == outputs[0] for one in outputs)}

    def constant(self, name: str) -> Array | None:
        """The value of a constant, however large. What a caller may override is none, whoever says so."""
        return None if name in self.overridable else self.facts.constant(self.path, name)

    def _is_large(self, name: str) -> bool:
        return is_large(self.facts.type_of(self.path, name))

    @cached_property
    def is_constant(self) -> bool:
        """Whether its outputs are the same in every run of the original."""
        return all(self.constant(name) is not None for name in self.outputs)

    @cached_property
    def runs_same_code(self) -> bool:
        """Whether it is one unchanged node, declared as before, that the same code executes on both sides."""
        if self.joined or [*self.after] != [self.node] or self.declared_anew:
            return False
        opsets = self.pair.source, self.pair.target
        node = self.node
        return same_code(node, *_unknown(node), *opsets) or same_code(
            node, self._types_of(node.input), self._types_of(node.output), *opsets
        )

    def _types_of(self, names: Sequence[str]) -> list[str | None]:
        """The types of values; None where one is not known, empty where it is absent."""
        kinds = [self.facts.type_of(self.path, name) if name else None for name in names]
        return [kind and type_string(kind) if name else "" for name, kind in zip(names, kinds, strict=True)]

    @cached_property
    def has_bodies(self) -> bool:
        """Whether a side runs subgraphs."""
        return any(map(_has_subgraphs, (*self.before, *self.after)))

    @cached_property
    def iterates(self) -> bool:
        """Whether the result runs subgraphs where the original has none: a loop may go over each element."""
        return any(map(_has_subgraphs, self.after)) and not any(map(_has_subgraphs, self.before))

    @cached_property
    def has_large(self) -> bool:
        """Whether something that it reads may be a large constant."""
        return any(map(self._is_large, self.types))

    def example(self, name: str) -> Array | None:
        """The default value of an initializer that the caller may override, or what looks like the output's shape."""
        tensor = self.overridable.get(name)
        return self._shape_of_output(name) if tensor is None else example_of(tensor)

    def _shape_of_output(self, name: str) -> Array | None:
        """For a vector of integers, as long as the first output has dimensions: these, an open one as -1."""
        kind, wanted = self.types.get(name), next(iter(self.declared.values()), None)
        if kind is None or wanted is None or type_string(kind) != "tensor(int64)" or self.dims[name] != (len(wanted),):
            return None
        return numpy.array([size if isinstance(size, int) else -1 for size in wanted])

    @cached_property
    def shared(self) -> Mapping[str, TensorProto | NodeProto]:
        """The constants that the result reads and other sites may share."""
        defined: set[str] = set(self.reads)
        read: set[str] = set(self._initializers)
        joined = [node for one in self.joined for node in one.after]
        reads = [*map(names_read, joined), *self.pair.reads_instead(self.aligned)]
        for node, names in zip(self.after, reads, strict=True):
            read |= names - defined
            defined.update(node.output)
        constants = self.pair.added_constants
        return {name: constants[name] for name in sorted(read) if name in constants}

    @property
    def _called(self) -> Sequence[FunctionProto]:
        return self.replaced.functions if self.replaced else ()

    @cached_property
    def definition(self) -> Definition | None:
        """The original operator's definition."""
        return _definition(self.node, self.pair.source)

    @cached_property
    def variables(self) -> Mapping[str, str]:
        """The type variable (or the type) of the formal parameter that takes each input; captured values have none."""
        formals = [one.type_str for one in self.definition.schema.inputs] if self.definition is not None else []
        found: dict[str, str] = {}
        for position, name in enumerate(self.node.input if formals else ()):
            found.setdefault(name, formals[min(position, len(formals) - 1)])
        return found

    @property
    def since_versions(self) -> tuple[int, int]:
        """The operator's since-versions at both ends; 0 where it has none there."""
        target = _definition(self.node, self.pair.target)
        return (self.definition.since_version if self.definition else 0, target.since_version if target else 0)

    @property
    def numbers(self) -> list[int]:
        """The numbers that sizes may depend on.

        These are the integers in its attributes, the values and sizes of its small constants, and how many outputs it
        has.
        """
        found = [len(self.node.output)]
        for value in self.embedded.values():
            found += value.shape
            if value.dtype == numpy.int64:
                found += [int(value.sum()), *value.reshape(-1)[:8].tolist()]
        for attribute in self.node.attribute:
            found += [attribute.i, *attribute.ints]
        return found

    @cached_property
    def key(self) -> Key:
        """What the site is, but for the types of its inputs."""
        number = Numbering()
        return (
            tuple(sorted(self.pair.source.items())),
            tuple(sorted(self.pair.target.items())),
            tuple(node_key(node, number) for node in self.before_as_run),
            tuple(node_key(node, number) for one in self._called for node in one.node),
            tuple(_shared_key(name, value, number) for name, value in self.shared.items()),
            tuple(node_key(node, number) for node in self.after),
            tuple((number(name), array_key(value)) for name, value in self.embedded.items()),
            number.all(self.types),
            tuple(None if (one := self.example(name)) is None else array_key(one) for name in self.types),
            number.all(self.outputs),
            tuple((number(name), _sizes_key(output.type)) for name, output in self.body_outputs.items()),
            self.ulps,
            *self._declaration_key(number),
        )

    def _declaration_key(self, number: Numbering) -> Key:
        """What is declared anew, with the names of open sizes, which it may share with inputs and outputs."""
        if not self.declared_anew:
            return ()
        declared = tuple((number(info.name), info.type.SerializeToString()) for info in self.declared_anew)
        return declared, tuple(self.dims.values()), tuple(self.declared.values())


def _declared_in_subgraphs(nodes: Iterable[NodeProto]) -> Iterator[ValueInfoProto]:
    for node in nodes:
        for _, graph in subgraphs(node):
            yield from (*graph.input, *graph.output, *graph.value_info)
            yield from _declared_in_subgraphs(graph.node)


def _has_subgraphs(node: NodeProto) -> bool:
    return any(subgraphs(node))


def _unknown(node: NodeProto) -> tuple[list[str | None], list[str | None]]:
    """The types of the inputs and outputs of a node of which nothing is known but which of them are absent."""
    inputs, outputs = ([None if name else "" for name in names] for names in (node.input, node.output))
    return inputs, outputs


def is_large(kind: TypeProto | None) -> bool:
    """Whether a constant of a type is drawn like an input at first, and no part of a site."""
    dims = kind and dims_of(kind)
    if kind is None or dims is None or kind.WhichOneof("value") != "tensor_type":
        return False
    most = EMBEDDED.get(dtypes.dtype_of_type(dtypes.type_string(kind) or "") or "", EMBEDDED_OTHERWISE)
    return elements([dim for dim in dims if isinstance(dim, int)]) > most


def example_of(tensor: TensorProto) -> Array | None:
    """The default value of an initializer, where it may be axes, sizes or indices; None for weights."""
    if tensor.data_location == TensorProto.EXTERNAL or elements(tensor.dims) > MOST_EXAMPLE:
        return None
    return numpy.asarray(numpy_helper.to_array(tensor))


def _body_outputs(path: str, index: int, node: NodeProto, facts: Facts) -> Iterator[BodyOutput]:
    for attribute, graph in subgraphs(node):
        inner_path = subgraph_path(path, index, node, attribute)
        for info in graph.output:
            kind = facts.type_of(inner_path, info.name)
            if kind is not None and dims_of(kind) is not None and kind.HasField("tensor_type"):
                yield BodyOutput(info, kind)
        for position, inner in enumerate(graph.node):
            yield from _body_outputs(inner_path, position, inner, facts)


def _sizes_key(kind: TypeProto) -> Key:
    """A type without the names of its open sizes."""
    return dtypes.type_string(kind), tuple(size if isinstance(size, int) else None for size in dims_of(kind) or ())


def _shared_key(name: str, value: TensorProto | NodeProto, number: Numbering) -> Key:
    if isinstance(value, NodeProto):
        return node_key(value, number)
    return number(name), array_key(numpy.asarray(numpy_helper.to_array(value)))


def _definition(node: NodeProto, opsets: Mapping[str, int]) -> Definition | None:
    found = _history(node)
    return found.at(opsets.get(canonical_domain(node.domain), 1)) if found else None


def _history(node: NodeProto) -> OperatorHistory | None:
    return history(node.domain, node.op_type)


class SiteFinder:
    """Finds the sites of a conversion.

    Args:
        original: The model before.
        result: The model after.
        trace: Which nodes became which.
        facts: What is known of the original's values.
    """

    def __init__(self, original: ModelProto, result: ModelProto, trace: ConversionTrace, facts: Facts) -> None:
        self._facts = facts
        self._functions = {function_key(function) for function in original.functions}
        self._has_functions = bool(original.functions or result.functions)
        self._bindings = attribute_bindings(original)
        self._bodies = ProvenBodies(original, result, trace)
        self._same_code: dict[Key, bool] = {}
        given = {info.name for info in original.graph.input}
        self._overridable = {tensor.name: tensor for tensor in original.graph.initializer if tensor.name in given}

    def changed(self, pair: ScopePair) -> Iterator[Aligned]:
        """The nodes of a scope that a rule changed, or whose operator has another definition at the target."""
        if pair.in_site and any(scope_differences(pair, self._functions)):
            return  # the rule that changed the node around it answers for all of it
        changes: dict[Operator, bool] = {}
        operators = pair.index.operators_by_node
        for aligned in pair.aligned:
            if aligned.site is None:
                operator = operators[aligned.position]
                if operator not in changes:
                    is_call = bool(self._functions) and called_function_key(aligned.node) in self._functions
                    changes[operator] = not is_call and _definition_changes(aligned.node, pair)
                if not changes[operator]:
                    continue
            yield aligned

    def same_code_key(self, pair: ScopePair, aligned: Aligned) -> Key | None:
        """What nodes have in common that no rule changed and the same code executes on both sides, of any type.

        None for all other nodes.
        """
        node = aligned.node
        if aligned.site is not None or pair.joined(aligned) or _has_subgraphs(node) or refers(node):
            return None
        attributes = tuple(attribute.SerializeToString() for attribute in node.attribute)
        form = tuple(map(bool, node.input)), tuple(map(bool, node.output))
        domain = canonical_domain(node.domain)
        opsets = pair.source.get(domain), pair.target.get(domain)
        key = ("same code", domain, node.op_type, attributes, form, opsets)
        if key not in self._same_code:
            self._same_code[key] = same_code(node, *_unknown(node), pair.source, pair.target)
        return key if self._same_code[key] else None

    @property
    def replaces_bodies(self) -> bool:
        """Whether what it gives may be run with other bodies, or call functions."""
        return self._has_functions or self._bodies.rounds

    def overridable(self, pair: ScopePair) -> Mapping[str, TensorProto]:
        """The initializers seen from a scope that callers of the model may override."""
        return {} if isinstance(pair.root.original, FunctionProto) else self._overridable

    def is_called(self, pair: ScopePair) -> bool:
        """Whether the scope is no part of a function that nothing calls."""
        function = pair.root.original
        return not isinstance(function, FunctionProto) or bool(self._bindings[function_key(function)])

    def sites(self, pair: ScopePair, aligned: Aligned) -> Iterator[Site]:
        """The site of a node; in a function, one per kind of call where that matters."""
        function = pair.root.original if isinstance(pair.root.original, FunctionProto) else None
        calls = (self._bindings[function_key(function)] or [defaults(function)]) if function is not None else [{}]
        joined = pair.joined(aligned)
        nodes = [*(one.node for one in joined), aligned.node]
        after = [node for one in (*joined, aligned) for node in one.after]
        for call in calls if any(map(refers, (*nodes, *after))) else [{}]:
            *computing, node = (resolved(one, call) for one in nodes)
            replaced = self._bodies.replaced(pair, aligned, call)
            there = [resolved(one, call) for one in after]
            given = self.overridable(pair)
            yield Site(pair, aligned, node, there, self._facts, given, joined, computing, replaced)


def _definition_changes(node: NodeProto, pair: ScopePair) -> bool:
    found = _history(node)
    if found is None:
        return False
    domain = canonical_domain(node.domain)
    source, target = pair.source.get(domain, 1), pair.target.get(domain, 1)
    return source != target and found.since_version(source) != found.since_version(target)
