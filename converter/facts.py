"""What is known of the values of a model: types, shapes, constants. Worked out only when somebody asks.

Facts are read off the original model, which a conversion never edits, and off the nodes that rules emit. A value keeps
its name through a conversion, and hence its facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy as shallow_copy
from functools import cache, cached_property
from typing import Any

import numpy
import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, shape_inference
from onnx.defs import OpSchema

from converter import history
from converter.arrays import Array, array_of, tensor_of
from converter.dtypes import (
    dtype_name,
    element_type,
    name_of_numpy_dtype,
    tensor_type,
    type_of_spelling,
    type_string,
)
from converter.evaluator import EvaluationError, run_node
from converter.evaluator.kernels.registry import find_body_inputs, reads_only_shapes
from converter.scopes import (
    GRAPH_PATH,
    FunctionKey,
    called_function_key,
    function_key,
    function_path,
    imported_opsets,
    omitted_inputs,
    referenced_names,
    subgraph_path,
    subgraphs,
)

FOLDING_LIMIT = 1 << 20
"""Constants are folded up to this many elements; shapes and axes are small, weights are not looked for."""

HINT_LIMIT = 1 << 10
"""Shape inference reads the values of inputs up to this many elements (target shapes, axes, repeats...)."""

_MOST_DIMENSIONS = 64
"""A longer vector is hardly a shape."""


def _tensor_type(elem_type: int, dims: Any = None) -> TypeProto:
    result = TypeProto()
    result.tensor_type.elem_type = elem_type
    if dims is not None:
        shape = result.tensor_type.shape
        shape.SetInParent()
        for dim in dims:
            shape.dim.add(dim_value=dim)
    return result


def shape_of_type(tensor_type: TypeProto) -> list[int | str | None] | None:
    """A number, a symbol or None per dimension; None where the rank is not given."""
    if not tensor_type.HasField("tensor_type") or not tensor_type.tensor_type.HasField("shape"):
        return None
    return [
        dim.dim_value if dim.HasField("dim_value") else (dim.dim_param or None)
        for dim in tensor_type.tensor_type.shape.dim
    ]


def _merge(known: TypeProto, hint: TypeProto | None) -> TypeProto:
    """`known`, with what it leaves open of a tensor's shape filled in from `hint`."""
    if hint is None or not known.HasField("tensor_type") or not hint.HasField("tensor_type"):
        return known
    if known.tensor_type.elem_type == TensorProto.UNDEFINED:
        known.tensor_type.elem_type = hint.tensor_type.elem_type
    if not hint.tensor_type.HasField("shape"):
        return known
    if not known.tensor_type.HasField("shape"):
        known.tensor_type.shape.CopyFrom(hint.tensor_type.shape)
    elif len(known.tensor_type.shape.dim) == len(hint.tensor_type.shape.dim):
        for dim, hinted in zip(known.tensor_type.shape.dim, hint.tensor_type.shape.dim, strict=True):
            if not dim.HasField("dim_value") and (hinted.HasField("dim_value") or not dim.dim_param):
                dim.CopyFrom(hinted)
    return known


def _has_rank(known: TypeProto) -> bool:
    return not known.HasField("tensor_type") or known.tensor_type.HasField("shape")


def _common(types: list[TypeProto | None]) -> TypeProto | None:
    """What all of `types` agree on; None where they do not agree on the element type."""
    first = types[0] if types else None
    if first is None or any(t is None or type_string(t) != type_string(first) for t in types):
        return None
    result = TypeProto()
    result.CopyFrom(first)
    for other in types[1:]:
        assert other is not None
        if not result.HasField("tensor_type") or not result.tensor_type.HasField("shape"):
            break
        dims, others = result.tensor_type.shape.dim, other.tensor_type.shape.dim
        if not other.tensor_type.HasField("shape") or len(dims) != len(others):
            result.tensor_type.ClearField("shape")
            break
        for dim, other_dim in zip(dims, others, strict=True):
            if dim != other_dim:
                dim.Clear()
    return result


@cache
def _output_sources(domain: str, operator: str, opset: int) -> tuple[int | str | None, ...] | None:
    """For each formal output where its type comes from: an input's position, a type, or None for neither.

    The last entry also stands for all further outputs of a variadic one. None for an unknown operator.
    """
    definition = history.definition(domain, operator, opset)
    if definition is None:
        return None
    schema = definition.schema
    position_of_variable = {}
    for position, formal in reversed(list(enumerate(schema.inputs))):
        if formal.option == OpSchema.FormalParameterOption.Single or (
            formal.option == OpSchema.FormalParameterOption.Variadic and formal.is_homogeneous
        ):
            position_of_variable[formal.type_str] = position
    sources: list[int | str | None] = []
    for formal in schema.outputs:
        if formal.option == OpSchema.FormalParameterOption.Variadic and not formal.is_homogeneous:
            sources.append(None)
        elif formal.type_str in definition.types_by_variable:
            allowed = definition.types_by_variable[formal.type_str]
            only = next(iter(allowed)) if len(allowed) == 1 else None
            sources.append(position_of_variable.get(formal.type_str, only))
        else:
            sources.append(formal.type_str)
    return tuple(sources)


class ModelFacts:
    """The facts of one model; `base_dir` is where its external data lies."""

    def __init__(self, model: ModelProto, base_dir: str = "") -> None:
        self.model = model
        self.base_dir = base_dir
        self.functions = {function_key(function): function for function in model.functions}
        self.graph = ScopeFacts(self, model.graph, GRAPH_PATH, None, imported_opsets(model.opset_import))
        self._scopes = {GRAPH_PATH: self.graph}

    def renewed(self) -> ModelFacts:
        """The facts for another walk of the same model: what has been worked out, not what a walk registered."""
        other = ModelFacts(self.model, self.base_dir)
        for name in ("hints", "possible_types"):
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
            found.update(scope.types_from_nothing())
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
    def hints(self) -> Mapping[str, Mapping[str, TypeProto]]:
        """Types by scope path and name as onnx's own whole-model inference (with its data propagation) sees them."""
        light = ModelProto()
        light.CopyFrom(self.model)
        # The inference would take the default of an initializer that callers may override for its value.
        inputs = {info.name for info in light.graph.input}
        fixed = [tensor for tensor in light.graph.initializer if tensor.name not in inputs]
        if len(fixed) < len(light.graph.initializer):
            del light.graph.initializer[:]
            light.graph.initializer.extend(fixed)
        for tensor in light.graph.initializer:
            if tensor.HasField("raw_data") and len(tensor.raw_data) > 8 * HINT_LIMIT:
                # The inference reads shapes from small tensors only; without their bytes large ones cost nothing.
                tensor.ClearField("raw_data")
                tensor.data_location = TensorProto.EXTERNAL
        try:
            light = shape_inference.infer_shapes(light, data_prop=True)
        except Exception:
            # Inference is a hint; a model that it does not get through is still read node by node.
            light = self.model
        found: dict[str, dict[str, TypeProto]] = {}

        def visit(path: str, graph: GraphProto) -> None:
            found[path] = {info.name: info.type for info in (*graph.value_info, *graph.output, *graph.input)}
            for index, node in enumerate(graph.node):
                for attribute, subgraph in subgraphs(node):
                    visit(subgraph_path(path, index, node, attribute), subgraph)

        visit(GRAPH_PATH, light.graph)
        for function in self.model.functions:
            found[function_path(function)] = {info.name: info.type for info in function.value_info}
        return found


class ScopeFacts:
    """The facts of one scope: a graph, a subgraph, or a function's body."""

    def __init__(
        self,
        model: ModelFacts,
        container: GraphProto | FunctionProto,
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

    def register_tensor(self, tensor: TensorProto) -> None:
        """Take note of an added initializer whose content may never be asked for."""
        self._added_types[tensor.name] = _tensor_type(tensor.data_type, tensor.dims)

    def register_type(self, name: str, known: TypeProto) -> None:
        """Take note of a value that an emitted subgraph is given."""
        self._added_types[name] = known

    def register_constant(self, name: str, value: Array) -> None:
        """Take note of an added initializer."""
        self._constants[name] = value
        self._added_types[name] = _tensor_type(element_type(name_of_numpy_dtype(value.dtype)), value.shape)

    def type_string(self, name: str) -> str | None:
        """The type as the schemas spell it ("tensor(float)"); None where it is not known."""
        if name in self._emitted or name in self._added_types:
            found = self.type_of(name)
            return found and type_string(found)
        if self._is_known(name):
            if "_types" in self.__dict__:
                found = self._types.get(name)
                return found and type_string(found)
            return self._type_strings.get(name)
        return self.parent.type_string(name) if self.parent else None

    def type_of(self, name: str) -> TypeProto | None:
        """The type with as much of the shape as is known; None where nothing is."""
        if name in self._added_types:
            return self._added_types[name]
        if name in self._emitted:
            if name not in self._emitted_types:
                node, imports = self._emitted[name]
                self._emitted_types[name] = None
                self._emitted_types.update(self._infer(node, imports))
                found = self._emitted_types[name]
                if found is not None and not _has_rank(found):
                    self._emitted_types.update(self._infer_ranks(node, imports))
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
        if name in self._initializers:
            value = None if name in self._inputs else self._read(self._initializers[name])
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

    def types_from_nothing(self) -> Iterator[str | None]:
        """The types that enter this scope other than through a node's input: None for one that is not known."""
        if not isinstance(self.container, FunctionProto):  # whose inputs are values of the callers' scopes
            yield from (tensor_type(dtype_name(kind)) for kind in {one.data_type for one in self.container.initializer})
            for sparse in self.container.sparse_initializer:
                yield tensor_type(dtype_name(sparse.values.data_type))
            initialized = self._initializers
            yield from (type_string(info.type) for info in self.container.input if info.name not in initialized)
        passed_on: dict[tuple[str, str], bool] = {}
        for node in self.container.node:
            key = (node.domain, node.op_type)
            if key not in passed_on:
                sources = self._sources_unless_function(node)
                passed_on[key] = sources is not None and None not in sources
                if sources is not None:
                    yield from (source for source in sources if isinstance(source, str))
            if not passed_on[key] and called_function_key(node) not in self.model.functions:
                yield from map(self._type_strings.get, filter(None, node.output))

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
            return name in self._initializers
        return self.parent.is_initializer(name) if self.parent else False

    def _is_known(self, name: str) -> bool:
        return name in self._producers or name in self._inputs or name in self._initializers

    @cached_property
    def _producers(self) -> Mapping[str, NodeProto]:
        return {output: node for node in self.container.node for output in node.output if output}

    @cached_property
    def _inputs(self) -> frozenset[str]:
        if isinstance(self.container, FunctionProto):
            return frozenset(self.container.input)
        return frozenset(info.name for info in self.container.input)

    @cached_property
    def _initializers(self) -> Mapping[str, TensorProto | onnx.SparseTensorProto]:
        if isinstance(self.container, FunctionProto):
            return {}
        found: dict[str, TensorProto | onnx.SparseTensorProto] = {t.name: t for t in self.container.initializer}
        found.update({sparse.values.name: sparse for sparse in self.container.sparse_initializer})
        return found

    def _read(self, tensor: TensorProto | onnx.SparseTensorProto) -> Array | None:
        if isinstance(tensor, onnx.SparseTensorProto):
            return None
        return array_of(tensor, self.model.base_dir)

    def _fold(self, name: str, node: NodeProto, imports: Mapping[str, int]) -> Array | None:
        self._constants[name] = None
        if not _may_fold(node, imports, self.model.functions):
            return None
        domain = history.canonical_domain(node.domain)
        definition = history.definition(domain, node.op_type, imports[domain])
        assert definition is not None
        if reads_only_shapes(domain, node.op_type, definition.since_version):
            values = [self._stand_in(value) for value in node.input]
        else:
            values = [self.constant(value) if value else None for value in node.input]
        if any(value is None and given for value, given in zip(values, node.input, strict=True)):
            return None
        if sum(value.size for value in values if value is not None) > FOLDING_LIMIT:
            return None
        try:
            results = run_node(node, values, imports, strict=False)
        except (EvaluationError, ValueError, MemoryError):
            return None
        for output, result in zip(node.output, results, strict=False):
            if output and isinstance(result, numpy.ndarray) and result.size <= FOLDING_LIMIT:
                self._constants[output] = result
        return self._constants[name]

    def _stand_in(self, name: str) -> Array | None:
        """An array of the value's static shape that takes no memory, for operators that look at the shape only."""
        shape = self.shape(name)
        if shape is None or not all(isinstance(dim, int) for dim in shape):
            return None
        return numpy.broadcast_to(numpy.zeros((), numpy.bool_), tuple(int(dim or 0) for dim in shape))

    @cached_property
    def _given_types(self) -> dict[str, TypeProto]:
        """Types of what no node of this scope computes: inputs and initializers."""
        given: dict[str, TypeProto] = {}
        if isinstance(self.container, FunctionProto):
            for position, name in enumerate(self.container.input):
                calls = self.model.call_sites[function_key(self.container)]
                given_in = [(scope, node.input[position]) for scope, node in calls if any(node.input[position:][:1])]
                common = _common([scope.type_of(argument) for scope, argument in given_in])
                if common is not None:
                    given[name] = common
            return given
        for tensor in self.container.initializer:
            given[tensor.name] = _tensor_type(tensor.data_type, tensor.dims)
        for sparse in self.container.sparse_initializer:
            given[sparse.values.name] = _tensor_type(sparse.values.data_type, sparse.dims)
        by_owner = self._types_by_owner if any(type_string(info.type) is None for info in self.container.input) else ()
        for position, info in enumerate(self.container.input):
            if type_string(info.type) is not None:
                given[info.name] = info.type
            elif position < len(by_owner) and type_string(by_owner[position]) is not None:
                given[info.name] = by_owner[position]
        return given

    @property
    def _types_by_owner(self) -> Sequence[TypeProto]:
        """The types that the node which holds this subgraph gives its inputs; empty where nothing is known."""
        if self.owner is None or self.parent is None:
            return ()
        domain = history.canonical_domain(self.owner.domain)
        definition = history.definition(domain, self.owner.op_type, self.imports.get(domain, 0))
        found = definition and find_body_inputs(domain, self.owner.op_type, definition.since_version)
        if not found:
            return ()
        types = [self.parent.type_of(name) or TypeProto() if name else TypeProto() for name in self.owner.input]
        return found(self.owner, types)

    @cached_property
    def _type_strings(self) -> Mapping[str, str]:
        """Types without shapes, in one pass over the nodes: most outputs have the type of an input."""
        known = {name: found for name, value in self._given_types.items() if (found := type_string(value))}
        sources_of: dict[tuple[str, str], tuple[int | str | None, ...] | None] = {}
        for node in self.container.node:
            key = (node.domain, node.op_type)
            if key not in sources_of:
                sources_of[key] = self._sources_unless_function(node)
            sources = sources_of[key]
            for position, output in enumerate(node.output):
                source = sources[min(position, len(sources) - 1)] if sources else None
                if isinstance(source, str):
                    known[output] = source
                    continue
                found = None
                if source is not None and source < len(node.input):
                    name = node.input[source]
                    found = known.get(name) or (self.parent.type_string(name) if self.parent else None)
                if found is None and source is None:
                    found = self._type_string_by_inference(node, output, known)
                if found is not None:
                    known[output] = found
        return known

    def _sources_unless_function(self, node: NodeProto) -> tuple[int | str | None, ...] | None:
        domain = history.canonical_domain(node.domain)
        if called_function_key(node) in self.model.functions or domain not in self.imports:
            return None
        return _output_sources(domain, node.op_type, self.imports[domain])

    def _type_string_by_inference(self, node: NodeProto, output: str, known: Mapping[str, str]) -> str | None:
        def lookup(name: str) -> TypeProto | None:
            given = self._given_types.get(name)
            if given is not None:
                return given
            found = known.get(name)
            if found is not None:
                return type_of_spelling(found)
            return self.parent.type_of(name) if self.parent else None

        inferred = self._infer(node, self.imports, lookup).get(output)
        inferred = inferred or self.model.hints.get(self.path, {}).get(output)
        return inferred and type_string(inferred)

    @cached_property
    def _types(self) -> Mapping[str, TypeProto]:
        """Types with shapes, by onnx's inference, node by node."""
        known = dict(self._given_types)
        self.__dict__["_types"] = known  # what is known so far serves the constants that are folded on the way
        hints = self.model.hints.get(self.path, {})
        for node in self.container.node:
            inferred = self._infer(node, self.imports)
            for output in node.output:
                found = inferred.get(output)
                if found is not None and type_string(found) is not None:
                    known[output] = _merge(found, hints.get(output))
                elif output in hints:
                    known[output] = hints[output]
            if any(name in known and not _has_rank(known[name]) for name in node.output):
                for name, ranked in self._infer_ranks(node, self.imports).items():
                    known[name] = _merge(known[name], ranked)
        return known

    def _infer_ranks(self, node: NodeProto, imports: Mapping[str, int]) -> Mapping[str, TypeProto]:
        """Output types whose ranks follow from how many elements an input has, whatever their values are.

        So it is with target shapes, axes, repeats and the like: inference is asked with stand-ins for the values, and
        nothing but the ranks is taken from its answer.
        """
        lengths = {}
        for name in filter(None, node.input):
            shape = self.shape(name) if self.type_string(name) == "tensor(int64)" else None
            if shape is None or len(shape) != 1 or self.constant(name) is not None:
                continue
            if isinstance(shape[0], int) and shape[0] <= _MOST_DIMENSIONS:
                lengths[name] = shape[0]
        answers: list[Mapping[str, TypeProto]] = []
        for stand_in in (numpy.ones, numpy.arange) if lengths else ():
            data = {name: stand_in(length, dtype=numpy.int64) for name, length in lengths.items()}
            answers.append(self._infer(node, imports, stand_ins=data))
        ranked = {}
        for name in node.output:
            found = [answer[name] for answer in answers if name in answer and _has_rank(answer[name])]
            if found and len({len(one.tensor_type.shape.dim) for one in found}) == 1:
                ranked[name] = found[0]
                for dim in ranked[name].tensor_type.shape.dim:
                    dim.Clear()
        return ranked

    def _infer(
        self,
        node: NodeProto,
        imports: Mapping[str, int],
        lookup: Any = None,
        stand_ins: Mapping[str, Array] | None = None,
    ) -> Mapping[str, TypeProto]:
        lookup = lookup or self.type_of
        function = self.model.functions.get(called_function_key(node))
        try:
            if function is not None:
                types = [lookup(name) or TypeProto() if name else TypeProto() for name in node.input]
                results = shape_inference.infer_function_output_types(function, types, node.attribute)
                return dict(zip(node.output, results, strict=False))
            domain = history.canonical_domain(node.domain)
            definition = history.definition(domain, node.op_type, imports.get(domain, 0))
            if definition is None:
                return {}
            names = [name for name in node.input if name]
            if definition.takes_subgraphs:
                names += [name for _, graph in subgraphs(node) for name in referenced_names(graph)]
            types_by_name = {name: found for name in names if (found := lookup(name)) is not None}
            for name in node.input:
                if name and name not in types_by_name:
                    types_by_name[name] = TypeProto()
            data = {name: tensor_of(value, name) for name, value in (stand_ins or {}).items()}
            if lookup == self.type_of:
                for name in node.input:
                    value = self.constant(name) if name and self._is_small(types_by_name[name]) else None
                    if value is not None and name not in data:
                        data[name] = tensor_of(value, name)
            opsets = [onnx.OperatorSetIdProto(domain=name, version=version) for name, version in imports.items()]
            return shape_inference.infer_node_outputs(
                definition.schema,
                node,
                types_by_name,
                data,
                opset_imports=opsets,
                ir_version=self.model.model.ir_version,
            )
        except Exception:
            # onnx raises errors of many kinds on nodes that it cannot make sense of: nothing is known of their outputs.
            return {}

    @staticmethod
    def _is_small(type_proto: TypeProto) -> bool:
        if not type_proto.HasField("tensor_type") or not type_proto.tensor_type.HasField("shape"):
            return False
        size = 1
        for dim in type_proto.tensor_type.shape.dim:
            size *= dim.dim_value if dim.HasField("dim_value") else HINT_LIMIT + 1
        return size <= HINT_LIMIT


def _may_fold(node: NodeProto, imports: Mapping[str, int], functions: Mapping[FunctionKey, FunctionProto]) -> bool:
    if called_function_key(node) in functions:
        return False
    definition = history.definition(node.domain, node.op_type, imports.get(history.canonical_domain(node.domain), 0))
    if definition is None or definition.is_random or definition.takes_subgraphs:
        return False
    return not any(attribute.ref_attr_name for attribute in node.attribute)
