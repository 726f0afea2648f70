"""The model inside a model-local function: attributes by reference, defaults, nested calls, calls that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto
from onnx.helper import make_node, make_opsetid

from opsetlift.specification.history import history, latest_opset
from testing.cases import Case, node_cases
from testing.transforms.transform import (
    Transform,
    computes_its_outputs,
    copied,
    ensure_ir_version,
    renamed,
    renamed_info,
    required_inputs,
    rewritten,
)

DOMAIN = "local.functions"
_BY_REFERENCE = (
    AttributeProto.FLOAT,
    AttributeProto.INT,
    AttributeProto.STRING,
    AttributeProto.FLOATS,
    AttributeProto.INTS,
    AttributeProto.STRINGS,
    AttributeProto.TENSOR,
)


def _can_be_function(case: Case) -> bool:
    return computes_its_outputs(case.model) and not case.model.functions and bool(required_inputs(case.model))


def _function(case: Case, name: str = "Wrapped") -> FunctionProto:
    """The model's nodes as a function of all its inputs and initializers."""
    graph = case.model.graph
    return FunctionProto(
        domain=DOMAIN,
        name=name,
        input=_inputs(case.model),
        output=[info.name for info in graph.output],
        node=graph.node,
        opset_import=case.model.opset_import,
    )


def _inputs(model: ModelProto) -> list[str]:
    names = [info.name for info in model.graph.input]
    return [*names, *(tensor.name for tensor in model.graph.initializer if tensor.name not in names)]


def _calling(case: Case, *functions: FunctionProto, attributes: Sequence[AttributeProto] = ()) -> ModelProto:
    """The model with one call, of the first function, as its only node."""
    model = copied(case.model)
    del model.graph.node[:]
    del model.graph.value_info[:]
    call = make_node(functions[0].name, functions[0].input, functions[0].output, domain=DOMAIN)
    call.attribute.extend(attributes)
    model.graph.node.append(call)
    model.functions.extend(functions)
    model.opset_import.append(make_opsetid(DOMAIN, 1))
    ensure_ir_version(model, 8)
    return model


def _referring(nodes: Sequence[NodeProto]) -> list[AttributeProto]:
    """Let the nodes' attributes refer to the function's; what the call has to pass then."""
    passed = []
    for number, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.type in _BY_REFERENCE:
                value = AttributeProto()
                value.CopyFrom(attribute)
                value.name = f"{attribute.name}_of_{number}"
                passed.append(value)
                reference = AttributeProto(name=attribute.name, type=attribute.type, ref_attr_name=value.name)
                attribute.CopyFrom(reference)
    return passed


def in_function(case: Case) -> Case | None:
    """One call of a function without attributes."""
    return rewritten(case, _calling(case, _function(case))) if _can_be_function(case) else None


def with_attributes_by_reference(case: Case) -> Case | None:
    """The call passes the attributes."""
    if not _can_be_function(case):
        return None
    function = _function(case)
    passed = _referring(function.node)
    if not passed:
        return None
    function.attribute.extend(value.name for value in passed)
    return rewritten(case, _calling(case, function, attributes=passed))


def with_attribute_defaults(case: Case) -> Case | None:
    """The attributes are the function's defaults, which came with IR version 9; the call passes none."""
    if not _can_be_function(case):
        return None
    function = _function(case)
    defaults = _referring(function.node)
    if not defaults:
        return None
    function.attribute_proto.extend(defaults)
    model = _calling(case, function)
    ensure_ir_version(model, 9)
    return rewritten(case, model)


def in_nested_functions(case: Case) -> Case | None:
    """A function that calls another one and hands its attributes on under other names."""
    if not _can_be_function(case):
        return None
    inner = _function(case, "Inner")
    passed = _referring(inner.node)
    inner.attribute.extend(value.name for value in passed)
    outer = FunctionProto(domain=DOMAIN, name="Outer", input=inner.input, output=inner.output)
    outer.opset_import.extend([*case.model.opset_import, make_opsetid(DOMAIN, 1)])
    call = make_node("Inner", inner.input, inner.output, domain=DOMAIN)
    given = []
    for value in passed:
        call.attribute.append(AttributeProto(name=value.name, type=value.type, ref_attr_name=f"outer_{value.name}"))
        renamed_value = AttributeProto()
        renamed_value.CopyFrom(value)
        renamed_value.name = f"outer_{value.name}"
        given.append(renamed_value)
    outer.node.append(call)
    outer.attribute.extend(value.name for value in given)
    return rewritten(case, _calling(case, outer, inner, attributes=given))


def _without_values(case: Case) -> tuple[object, ...] | None:
    """What two cases have in common that differ in attribute values only; None for cases of several nodes."""
    if len(case.model.graph.node) != 1 or not _can_be_function(case):
        return None
    node = case.model.graph.node[0]
    attributes = tuple(sorted((one.name, one.type) for one in node.attribute))
    values = (*node.input, "->", *node.output)
    return (node.op_type, node.domain, case.opset, attributes, values, tuple(_inputs(case.model)))


@cache
def _siblings() -> Mapping[tuple[object, ...] | None, list[Case]]:
    found: dict[tuple[object, ...] | None, list[Case]] = {}
    for case in node_cases():
        found.setdefault(_without_values(case), []).append(case)
    return found


def in_function_called_for_two(case: Case) -> Case | None:
    """One function, called for this test and for another one that differs in inputs and attribute values."""
    key = _without_values(case)
    others = _siblings().get(key, []) if key else []
    places = [place for place, other in enumerate(others) if other.name == case.name]
    if not places or len(others) < 2 or case.model.graph.initializer:
        return None
    other = others[(places[0] + 1) % len(others)]
    function = _function(case)
    passed = _referring(function.node)
    function.attribute.extend(value.name for value in passed)
    model = _calling(case, function, attributes=passed)
    model.graph.node.extend(_second_call(other, function))
    graph = other.model.graph
    model.graph.input.extend(renamed_info(info, f"second_{info.name}") for info in graph.input)
    model.graph.output.extend(renamed_info(info, f"second_{info.name}") for info in graph.output)
    inputs = [*case.inputs().values(), *other.inputs().values()]
    return rewritten(case, model, inputs, [*case.expected(), *other.expected()])


def _second_call(other: Case, function: FunctionProto) -> list[NodeProto]:
    nodes = renamed(other.model.graph.node, {})
    call = make_node(function.name, function.input, function.output, domain=DOMAIN)
    call.attribute.extend(_referring(nodes))
    return renamed([call], {name: f"second_{name}" for name in (*call.input, *call.output) if name})


def _changes(node: NodeProto, opset: int) -> bool:
    """Whether a node's operator means something else at the newest opset, for all that the versions say."""
    operator = history(node.domain, node.op_type)
    return operator is None or operator.since_version(opset) != operator.since_version(latest_opset())


def in_function_at_its_own_opset(case: Case) -> Case | None:
    """The function imports the test's opset, the model the newest; only where both mean the same by its operators."""
    if not _can_be_function(case):
        return None
    if case.opset == latest_opset() or any(_changes(node, case.opset) for node in case.model.graph.node):
        return None
    model = _calling(case, _function(case))
    newest = [OperatorSetIdProto(domain=entry.domain, version=entry.version) for entry in model.opset_import]
    for entry in newest:
        if entry.domain == "":
            entry.version = latest_opset()
    del model.opset_import[:]
    model.opset_import.extend(newest)
    return rewritten(case, model)


FUNCTIONS = tuple(
    Transform(apply.__name__, apply)
    for apply in (
        in_function,
        with_attributes_by_reference,
        with_attribute_defaults,
        in_nested_functions,
        in_function_called_for_two,
        in_function_at_its_own_opset,
    )
)
