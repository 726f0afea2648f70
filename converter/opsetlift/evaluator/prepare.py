"""From protobufs to something that runs: graphs, subgraphs and function bodies, prepared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import onnx
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto

from opsetlift.evaluator import values
from opsetlift.evaluator.errors import NotExecutable, Place, Rejected
from opsetlift.evaluator.execute import Body, Description, ExpandedStep, Formal, FunctionStep, KernelStep, Step
from opsetlift.evaluator.gate import Gate, Illegal, gate_of
from opsetlift.evaluator.kernels.registry import find_kernel
from opsetlift.specification import dtypes
from opsetlift.specification.experimental import experimental_definition
from opsetlift.specification.history import (
    Definition,
    OperatorHistory,
    canonical_domain,
    display_domain,
    history,
    latest_opset,
)
from opsetlift.support.onnx_errors import ONNX_ERRORS

FunctionKey = tuple[str, str, str]

# Dropout's schema does not say so, but in training mode it draws random numbers.
_RANDOM = frozenset(["Dropout"])


@dataclass(frozen=True)
class Library:
    """What all scopes of a model share."""

    functions: Mapping[FunctionKey, FunctionProto] = field(default_factory=dict)
    base_dir: str | None = None
    strict: bool = True
    iteration_limit: int | None = None
    element_limit: int | None = None
    prepared: dict[object, Body] = field(default_factory=dict)
    """Function bodies by function and the attributes of the call."""


@dataclass(frozen=True)
class Scope:
    """Where nodes stand."""

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
) -> Body:
    """The main graph of a model. Raises EvaluationError for what is illegal or not executable in it."""
    functions: dict[FunctionKey, FunctionProto] = {}
    for function in model.functions:
        key = (canonical_domain(function.domain), function.name, function.overload)
        if key in functions:
            raise Rejected(f"function {function.name!r} is defined twice", Place())
        functions[key] = function
    opsets = opset_imports(model.opset_import)
    if not opsets and model.ir_version < 3:
        opsets = {"": 1}  # IR versions before 3 had no opset_import
    scope = Scope(Library(functions, base_dir, strict, iteration_limit, element_limit), opsets)
    return prepare_graph(model.graph, scope)


def opset_imports(imports: Sequence[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """Domain -> opset."""
    opsets: dict[str, int] = {}
    for entry in imports:
        domain = canonical_domain(entry.domain)
        if opsets.setdefault(domain, entry.version) != entry.version:
            raise Rejected(f"domain {display_domain(domain)} is imported at two opsets", Place())
    return opsets


def prepare_graph(graph: GraphProto, scope: Scope) -> Body:
    """A graph; as a subgraph it may use names of the scopes around it."""
    initializers: dict[str, Callable[[], values.Array]] = {}
    for tensor in graph.initializer:
        initializers[tensor.name] = partial(_load_initializer, tensor, values.tensor_value, tensor.name, scope)
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        initializers[name] = partial(_load_initializer, sparse, values.sparse_tensor_value, name, scope)
    inputs = [Formal(info.name, dtypes.type_string(info.type)) for info in graph.input]
    outputs = [Formal(info.name, dtypes.type_string(info.type)) for info in graph.output]
    return _prepare_body(inputs, outputs, graph.node, initializers, scope)


def _load_initializer(
    proto: TensorProto | SparseTensorProto, decode: Callable[..., values.Array], name: str, scope: Scope
) -> values.Array:
    try:
        return decode(proto, scope.library.base_dir)
    except (*ONNX_ERRORS, OSError) as error:  # external data may not be there
        raise NotExecutable(f"initializer {name!r} cannot be read: {error}", Place(scope.path)) from error


def _prepare_body(
    inputs: Sequence[Formal],
    outputs: Sequence[Formal],
    nodes: Sequence[NodeProto],
    initializers: Mapping[str, Callable[[], values.Array]],
    scope: Scope,
) -> Body:
    defined = {formal.name for formal in inputs}
    if len(defined) != len(inputs):
        raise Rejected("two inputs have the same name", Place(scope.path))
    defined.update(initializers)
    steps = [_prepare_step(node, index, scope) for index, node in enumerate(nodes)]
    for step in steps:
        for name in filter(None, step.outputs):
            if name in defined:
                raise Rejected(f"{name!r} has a value already; a graph assigns each name once", step.place)
            defined.add(name)
    captured = {name for step in steps for name in step.uses if name not in defined}
    captured.update(formal.name for formal in outputs if formal.name and formal.name not in defined)
    if not scope.path:
        _reject_dangling(steps, outputs, captured)
    later = {name for step in steps for name in step.outputs if name}
    for step in steps:
        if used_too_early := sorted(later.intersection(step.uses)):
            steps = _sorted_steps(steps, used_too_early[0], scope, step)
            break
        later.difference_update(step.outputs)
    return Body(scope.path, inputs, outputs, steps, initializers, sorted(captured))


def _reject_dangling(steps: Sequence[Step], outputs: Sequence[Formal], undefined: set[str]) -> None:
    for step in steps:
        for name in step.uses:
            if name in undefined:
                raise Rejected(f"nothing in the graph gives {name!r} a value", _user_of(step, name))
    for output in outputs:
        if output.name in undefined:
            raise Rejected(f"nothing in the graph gives the output {output.name!r} a value", Place())


def _user_of(step: Step, name: str) -> Place:
    """The node that uses `name`: the step's own, or one in its subgraphs."""
    for body in step.bodies.values():
        for inner in body.steps:
            if name in inner.uses and name in body.captured:
                return _user_of(inner, name)
    return step.place


def _sorted_steps(steps: list[Step], name: str, scope: Scope, user: Step) -> list[Step]:
    """The steps in an order of dependence, which graphs must have; only strict=False sorts them."""
    waiting = {name for step in steps for name in step.outputs if name}
    ordered: list[Step] = []
    pending = steps
    while pending:
        held = []
        for step in pending:
            if waiting.isdisjoint(step.uses):
                waiting.difference_update(step.outputs)
                ordered.append(step)
            else:
                held.append(step)
        if len(held) == len(pending):
            raise Rejected("the nodes depend on one another in a cycle", pending[0].place)
        pending = held
    if scope.library.strict:
        raise Rejected(f"{name!r} gets its value only later; nodes must be in topological order", user.place)
    return ordered


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
    definition = _definition(domain, node.op_type, opset, place, strict=scope.library.strict)
    place = Place(place.path, place.node, domain, node.op_type, definition.since_version)
    try:
        gate = gate_of(definition)
        gate.check_node(node, strict=scope.library.strict)
        bodies = {}
        if definition.takes_subgraphs:
            label = f"{node.op_type} {node.name!r}" if node.name else place.node
            bodies = {
                attribute.name: prepare_graph(
                    attribute.g, replace(scope, path=(*scope.path, f"{label} {attribute.name}"))
                )
                for attribute in node.attribute
                if attribute.HasField("g")
            }
        foldable = not definition.is_random and node.op_type not in _RANDOM
        kernel = find_kernel(domain, node.op_type, definition.since_version)
        if kernel is None:
            return _prepare_expansion(node, place, scope, gate, foldable)
        try:
            attributes = gate.attributes(node, scope.library.base_dir)
        except (*ONNX_ERRORS, OSError) as error:
            raise Illegal(f"an attribute cannot be read: {error}") from error
        return KernelStep(
            node,
            place,
            bodies,
            foldable,
            gate=gate,
            kernel=kernel,
            attributes=attributes,
            strict=scope.library.strict,
            iteration_limit=scope.library.iteration_limit,
            element_limit=scope.library.element_limit,
        )
    except Illegal as error:
        raise Rejected(str(error), place) from error


def _definition(domain: str, operator: str, opset: int, place: Place, *, strict: bool) -> Definition:
    experiment = experimental_definition(domain, operator, opset)
    if experiment is not None:
        if strict:
            raise Illegal("the operator was an experimental operator, which no opset has")
        return experiment
    versions = _operator_history(domain, operator, opset, place)
    found = versions.at(opset)
    if found is None:
        raise Illegal(f"opset {opset} has no such operator; it came with {versions.introduction}")
    return found


def _operator_history(domain: str, operator: str, opset: int, place: Place) -> OperatorHistory:
    try:
        latest = latest_opset(domain)
    except (KeyError, ValueError):
        latest = 0
    if not latest:
        raise NotExecutable("the operators of this domain are not known here", place)
    if opset > latest:
        raise NotExecutable(
            f"the installed onnx knows {display_domain(domain)} up to opset {latest}, not {opset}", place
        )
    versions = history(domain, operator)
    if versions is None:
        raise Illegal(f"{display_domain(domain)} has no such operator")
    return versions


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


def function_opsets(schema: Any) -> list[int]:
    """The opsets that function bodies of a definition are written for; empty where it has none."""
    if schema.has_context_dependent_function:
        return list(schema.context_dependent_function_opset_versions)
    return list(schema.function_opset_versions)


def _prepare_expansion(node: NodeProto, place: Place, scope: Scope, gate: Gate, foldable: bool) -> Step:
    schema: Any = gate.schema  # onnx's stubs lack what follows
    opset, versions = scope.opsets[place.domain], function_opsets(schema)
    if not versions:
        raise NotExecutable("there is no kernel for this version", place)
    version = max((version for version in versions if version <= opset), default=min(versions))
    dependent = schema.has_context_dependent_function

    def expand(inputs: tuple[Description, ...]) -> Body:
        if dependent:
            type_protos = [values.type_proto(*described).SerializeToString() for described in inputs]
            serialized = schema.get_context_dependent_function_with_opset_version(
                version, node.SerializeToString(), type_protos
            )
        else:
            serialized = schema.get_function_with_opset_version(version)
        function = FunctionProto.FromString(serialized)
        if not function.node:
            raise NotExecutable("there is no kernel, and the schema's function does not cover these inputs", place)
        produced = {*function.input, *(name for inner in function.node for name in inner.output)}
        for index, name in enumerate(function.output):
            if name not in produced:  # a function may leave out what is not asked for
                function.output[index] = ""
        attributes: dict[str, Any] = {
            name: attribute.default_value
            for name, attribute in schema.attributes.items()
            if attribute.default_value.type != AttributeProto.UNDEFINED
        }
        attributes.update({attribute.name: attribute for attribute in node.attribute})
        key = (place.domain, node.op_type, f"{version} {len(node.output)} {inputs}")
        return _prepare_function(function, key, attributes, scope, scope.opsets)

    return ExpandedStep(node, place, foldable, gate, expand)


def prepare_node(
    node: NodeProto,
    opsets: Mapping[str, int],
    *,
    strict: bool,
    iteration_limit: int | None,
    element_limit: int | None = None,
) -> Step:
    """One node by itself; its subgraphs cannot see anything outside."""
    library = Library(strict=strict, iteration_limit=iteration_limit, element_limit=element_limit)
    scope = Scope(library, {canonical_domain(domain): opset for domain, opset in opsets.items()})
    step = _prepare_step(node, 0, scope)
    for body in step.bodies.values():
        if body.captured:
            raise NotExecutable(f"its subgraph uses {min(body.captured)!r} of the graph around it", step.place)
    return step
