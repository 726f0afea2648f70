"""From protobufs to something that runs: graphs, subgraphs and function bodies, prepared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto

from opsetlift.evaluator import values
from opsetlift.evaluator.assembly import assembled
from opsetlift.evaluator.body import Body, Formal
from opsetlift.evaluator.declared_types import Checked, DeclaredTypes
from opsetlift.evaluator.definitions import definition_in_force, opset_imports
from opsetlift.evaluator.errors import NotExecutable, Place, Rejected
from opsetlift.evaluator.function_steps import Description, ExpandedStep, FunctionStep
from opsetlift.evaluator.gate import Gate, Illegal, gate_of
from opsetlift.evaluator.kernel_step import KernelStep, named_outputs
from opsetlift.evaluator.kernels.registry import alike, find_kernel
from opsetlift.evaluator.schema_functions import function_version, given_attributes, schema_function
from opsetlift.evaluator.step import Step
from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes
from opsetlift.specification.contributed import contributed_definition
from opsetlift.specification.history import canonical_domain, display_domain, history
from opsetlift.support.onnx_errors import ONNX_ERRORS

FunctionKey = tuple[str, str, str]


@dataclass(frozen=True)
class Library:
    """What all scopes of a model share."""

    functions: Mapping[FunctionKey, FunctionProto] = field(default_factory=dict)
    base_dir: str | None = None
    strict: bool = True
    iteration_limit: int | None = None
    element_limit: int | None = None
    checked: Checked | None = None
    prepared: dict[object, Body] = field(default_factory=dict)
    """Function bodies by function and the attributes of the call."""


@dataclass(frozen=True)
class Scope:
    """The graph, subgraph or function body whose nodes are prepared."""

    library: Library
    opsets: Mapping[str, int]
    path: tuple[str, ...] = ()
    attributes: Mapping[str, AttributeProto] | None = None
    """In a function body: the values that the call gives the function's attributes."""
    calls: tuple[FunctionKey, ...] = ()
    """The functions that are being prepared, to find one that calls itself."""


def prepare_model(
    model: ModelProto,
    *,
    strict: bool,
    base_dir: str | None,
    iteration_limit: int | None,
    element_limit: int | None = None,
    checked: Checked | None = None,
) -> Body:
    """Prepare the main graph of a model.

    Args:
        model: The model.
        strict: Whether what exporters commonly did against the text is rejected.
        base_dir: The folder of the model's external data.
        iteration_limit: How often a node may run its subgraph.
        element_limit: How many elements a value may have.
        checked: What of declared types is compared with values; None for nothing.

    Raises:
        Rejected: The model is illegal.
        NotExecutable: Something in it cannot be executed here.
    """
    functions: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        key = (canonical_domain(function.domain), function.name, function.overload)
        if key in functions:
            raise Rejected(f"function {function.name!r} is defined twice", Place())
        functions[key] = function
    opsets = opset_imports(model.opset_import)
    if not opsets and model.ir_version < 3:
        opsets = {"": 1}  # IR versions before 3 had no opset_import
    scope = Scope(Library(functions, base_dir, strict, iteration_limit, element_limit, checked), opsets)
    return prepare_graph(model.graph, scope)


def prepare_graph(graph: GraphProto, scope: Scope) -> Body:
    """Prepare a graph, which may use names of the scopes around it where it is a subgraph."""
    initializers: dict[str, Callable[[], Array]] = {}
    for tensor in graph.initializer:
        initializers[tensor.name] = partial(_load_initializer, tensor, values.tensor_value, tensor.name, scope)
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        initializers[name] = partial(_load_initializer, sparse, values.sparse_tensor_value, name, scope)
    inputs = [Formal(info.name, dtypes.type_string(info.type)) for info in graph.input]
    outputs = [Formal(info.name, dtypes.type_string(info.type)) for info in graph.output]
    checked = scope.library.checked
    infos = () if checked is None else (*graph.input, *graph.output, *graph.value_info)
    declared = DeclaredTypes(infos, checked) if checked is not None and infos else None
    return _prepare_body(inputs, outputs, graph.node, initializers, scope, declared)


def _load_initializer(
    proto: TensorProto | SparseTensorProto, decode: Callable[..., Array], name: str, scope: Scope
) -> Array:
    try:
        return decode(proto, scope.library.base_dir)
    except (*ONNX_ERRORS, OSError) as error:  # external data may not be there
        raise NotExecutable(f"initializer {name!r} cannot be read: {error}", Place(scope.path)) from error


def _prepare_body(
    inputs: Sequence[Formal],
    outputs: Sequence[Formal],
    nodes: Sequence[NodeProto],
    initializers: Mapping[str, Callable[[], Array]],
    scope: Scope,
    declared: DeclaredTypes | None = None,
) -> Body:
    steps = [_prepare_step(node, index, scope) for index, node in enumerate(nodes)]
    return assembled(scope.path, inputs, outputs, steps, initializers, declared, strict=scope.library.strict)


def _prepare_step(node: NodeProto, index: int, scope: Scope) -> Step:
    domain = canonical_domain(node.domain)
    place = Place(scope.path, node.name or f"{node.op_type}#{index}", domain, node.op_type)
    try:
        node = _with_bound_attributes(node, scope)
        # onnx leaves the priority to the runtime where a function has an operator's name; the model's word is nearer.
        function = scope.library.functions.get((domain, node.op_type, node.overload))
        if domain not in scope.opsets and (function is None or scope.library.strict):
            raise Illegal(f"domain {display_domain(domain)} is not imported")
        if function is not None:
            return FunctionStep(node, place, _prepare_call(node, function, scope, place))
        return _prepare_operator(node, place, scope)
    except Illegal as error:
        raise Rejected(str(error), place) from error


def _with_bound_attributes(node: NodeProto, scope: Scope) -> NodeProto:
    """In a function body: attributes that refer to the function's own replaced by what the call gives."""
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        return node
    if scope.attributes is None:
        raise Illegal("only nodes of functions refer to a function's attributes")
    bound = NodeProto()
    bound.CopyFrom(node)
    del bound.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            bound.attribute.append(attribute)
        elif attribute.ref_attr_name in scope.attributes:
            given = bound.attribute.add()
            given.CopyFrom(scope.attributes[attribute.ref_attr_name])
            given.name = attribute.name
    return bound


def _prepare_operator(node: NodeProto, place: Place, scope: Scope) -> Step:
    domain, opset = place.domain, scope.opsets[place.domain]
    definition = definition_in_force(domain, node.op_type, opset, place, strict=scope.library.strict)
    place = Place(place.path, place.node, domain, node.op_type, definition.since_version)
    try:
        gate = gate_of(definition)
        gate.check_node(node, strict=scope.library.strict)
        bodies = {}
        if definition.takes_subgraphs:
            label = f"{node.op_type} {node.name!r}" if node.name else place.node
            bodies = {
                attribute.name: prepare_graph(attribute.g, _inside(scope, f"{label} {attribute.name}"))
                for attribute in node.attribute
                if attribute.HasField("g")
            }
        foldable = not (definition.is_random or definition.takes_subgraphs)
        kernel = find_kernel(domain, node.op_type, definition.since_version)
        if kernel is None:
            return _prepare_expansion(node, place, scope, gate, foldable)
        try:
            attributes = gate.attributes(node, scope.library.base_dir)
        except (*ONNX_ERRORS, OSError) as error:
            raise Illegal(f"an attribute cannot be read: {error}") from error
        versions = alike(domain, node.op_type, definition.since_version, attributes, named_outputs(node))
        return KernelStep(
            node,
            place,
            bodies,
            foldable,
            gate=gate,
            kernel=kernel,
            shown_version=versions.shown,
            attributes={**_defaults(domain, node.op_type, versions.latest), **attributes},
            strict=scope.library.strict,
            iteration_limit=scope.library.iteration_limit,
            element_limit=scope.library.element_limit,
        )
    except Illegal as error:
        raise Rejected(str(error), place) from error


def _inside(scope: Scope, name: str) -> Scope:
    """The scope of a subgraph."""
    return Scope(scope.library, scope.opsets, (*scope.path, name), scope.attributes, scope.calls)


@lru_cache(maxsize=1 << 14)
def _defaults(domain: str, operator: str, since_version: int) -> Mapping[str, Any]:
    found = history(domain, operator)
    definition = contributed_definition(domain, operator) if found is None else found.at(since_version)
    return {} if definition is None else gate_of(definition).defaults


def _prepare_call(node: NodeProto, function: FunctionProto, scope: Scope, place: Place) -> Body:
    key = (canonical_domain(function.domain), function.name, function.overload)
    if key in scope.calls:
        raise Illegal("the function calls itself")
    for what, given, formal in (("input", node.input, function.input), ("output", node.output, function.output)):
        if len(given) > len(formal):
            raise Illegal(f"the function has {len(formal)} {what}s, the node names {len(given)}")
    attributes = {attribute.name: attribute for attribute in function.attribute_proto}
    known = {*function.attribute, *attributes}
    for attribute in node.attribute:
        if attribute.name not in known:
            raise Illegal(f"the function has no attribute {attribute.name!r}")
        attributes[attribute.name] = attribute
    return _prepare_function(function, key, attributes, scope)


def _prepare_function(
    function: FunctionProto,
    key: FunctionKey,
    attributes: Mapping[str, AttributeProto],
    scope: Scope,
    opsets: Mapping[str, int] | None = None,
) -> Body:
    bound = tuple(sorted((name, attribute.SerializeToString()) for name, attribute in attributes.items()))
    prepared = scope.library.prepared
    if (key, bound) not in prepared:
        inner = Scope(
            scope.library,
            {**(opsets or {}), **opset_imports(function.opset_import)},
            (*scope.path, f"function {display_domain(key[0])}.{function.name}"),
            attributes,
            (*scope.calls, key),
        )
        inputs = [Formal(name, None) for name in function.input]
        outputs = [Formal(name, None) for name in function.output]
        body = _prepare_body(inputs, outputs, function.node, {}, inner)
        if body.captured:
            raise Rejected(f"nothing in the function gives {body.captured[0]!r} a value", Place(inner.path))
        prepared[key, bound] = body
    return prepared[key, bound]


def _prepare_expansion(node: NodeProto, place: Place, scope: Scope, gate: Gate, foldable: bool) -> Step:
    version = function_version(gate.schema, scope.opsets[place.domain], place)

    def expand(inputs: tuple[Description, ...]) -> Body:
        function = schema_function(gate.schema, version, node, inputs, place)
        key = (place.domain, node.op_type, f"{version} {len(node.output)} {inputs}")
        return _prepare_function(function, key, given_attributes(gate.schema, node), scope, scope.opsets)

    return ExpandedStep(node, place, foldable, gate, expand)


def prepare_node(
    node: NodeProto,
    opsets: Mapping[str, int],
    *,
    strict: bool,
    iteration_limit: int | None,
    element_limit: int | None = None,
) -> Step:
    """Prepare one node by itself, whose subgraphs see nothing outside; the arguments are those of `prepare_model`."""
    library = Library(strict=strict, iteration_limit=iteration_limit, element_limit=element_limit)
    scope = Scope(library, {canonical_domain(domain): opset for domain, opset in opsets.items()})
    step = _prepare_step(node, 0, scope)
    for body in step.bodies.values():
        if body.captured:
            raise NotExecutable(f"its subgraph uses {min(body.captured)!r} of the graph around it", step.place)
    return step
