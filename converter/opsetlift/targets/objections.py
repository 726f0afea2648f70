"""What a runtime does not take: operators that it lacks, dtypes without a kernel, and forms that it reads wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from onnx import NodeProto
from onnx.defs import OpSchema

from opsetlift.facts import ScopeFacts
from opsetlift.model.scopes import called_function_key
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_of_type, tensor_type
from opsetlift.specification.history import (
    AI_ONNX_ML,
    CONVERTED_DOMAINS,
    PREVIEW_DOMAINS,
    Definition,
    canonical_domain,
)
from opsetlift.targets.forms import Grid
from opsetlift.targets.node_dtypes import dtypes_of
from opsetlift.targets.target import Target


def node_objection(node: NodeProto, opset: int, scope: ScopeFacts, target: Target) -> str:
    """Why the runtime does not take a node of `opset` as it is written, in a sentence; "" where nothing is known."""
    domain = canonical_domain(node.domain)
    if (domain, node.op_type) not in target.operators_to_check or called_function_key(node) in scope.model.functions:
        return ""
    definition = history.definition(domain, node.op_type, opset)
    if definition is None and domain not in CONVERTED_DOMAINS:
        definition = _undefined(domain, node.op_type)
    return "" if definition is None else next(_objections(node, definition, opset, scope, target), "")


@lru_cache(maxsize=1024)
def _undefined(domain: str, operator: str) -> Definition:
    """An operator that onnx does not define: the names of its inputs are their places, from "0" on."""
    optional = OpSchema.FormalParameterOption.Optional
    inputs = [OpSchema.FormalParameter(str(at), f"T{at}", param_option=optional) for at in range(_MOST_PLACES)]
    types = [(f"T{at}", _TYPES, "") for at in range(_MOST_PLACES)]
    return Definition(OpSchema(operator, domain, 1, inputs=inputs, type_constraints=types))


_TYPES = [tensor_type(dtype) for dtype in ("bfloat16", "bool", "double", "float", "float16", "int32", "int64", "uint8")]

_MOST_PLACES = 16
"""More inputs than the operators have of which something is known by place."""


def contributed_objection(node: NodeProto, scope: ScopeFacts, target: Target) -> str:
    """Why the runtime does not take a node of a domain beside ONNX's own; "" where nothing is known."""
    domain, name = node.domain, f"{node.domain}.{node.op_type}"
    if domain in ("", "ai.onnx", AI_ONNX_ML) or called_function_key(node) in scope.model.functions:
        return ""
    if name in target.operators_lacking:
        return f"{target.called} has no {node.op_type} of {domain}"
    if _is_left_out(domain, target):
        return f"{target.called} is not known to have {node.op_type} of {domain}"
    for value in (*node.input, *node.output) if name in target.contributed_in_dtypes else ():
        spelt = scope.type_string(value) if value else None
        dtype = dtype_of_type(spelt) if spelt else None
        if f"{name} of {dtype}" in target.operators_lacking:
            return f"{target.called} has no {node.op_type} of {domain} for {dtype}"
    signature = target.signatures.get((domain, node.op_type))
    objection = "" if signature is None else signature.objection(node)
    return objection and f"{target.called} {objection}"


def _is_left_out(domain: str, target: Target) -> bool:
    """Whether ONNX tries out operators in a domain, which no runtime has whose kernels are known."""
    return domain in PREVIEW_DOMAINS and bool(target.kernels)


def may_object(domain: str, operator: str, opset: int, possible: frozenset[str] | None, target: Target) -> bool:
    """Whether there can be an objection to a node of an operator in a model whose values have these types, or any.

    Much cheaper than to look at every node.
    """
    definition = history.definition(domain, operator, opset)
    if (domain, operator) not in target.operators_to_check or definition is None:
        return (domain, operator) in target.operators_to_check
    grids = target.kernels.get((domain, operator, definition.since_version))
    if (domain, operator) in target.forms_by_operator or operator in target.operators_lacking or possible is None:
        return True
    return grids is not None and not any(_takes_all(grid, definition, possible) for grid in grids)


def _takes_all(grid: Grid, definition: Definition, possible: frozenset[str]) -> bool:
    return all(
        dtype_of_type(one) in grid[variable]
        for variable, allowed in definition.types_by_variable.items()
        if variable in grid
        for one in allowed & possible
    )


def _objections(
    node: NodeProto, definition: Definition, opset: int, scope: ScopeFacts, target: Target
) -> Iterator[str]:
    runtime = target.called
    domain = canonical_domain(node.domain)
    if domain in CONVERTED_DOMAINS and node.op_type in target.operators_lacking:
        yield f"{runtime} has no {node.op_type}"
    for form in target.forms_by_operator.get((domain, node.op_type), ()):
        if form.fits(node, definition, scope, opset):
            yield f"{runtime} {form.text}"
    grids = target.kernels.get((domain, node.op_type, definition.since_version))
    if grids is not None:
        dtypes = dtypes_of(node, definition, scope)
        if dtypes and not any(_is_in(dtypes, grid) for grid in grids):
            told_apart = {variable for grid in grids for variable in grid} or set(dtypes)
            shown = ", ".join(dict.fromkeys(dtype for variable, dtype in dtypes.items() if variable in told_apart))
            yield f"{runtime} has no kernel of {node.op_type}-{definition.since_version} for {shown}"


def has_kernel(domain: str, operator: str, opset: int, dtypes: Mapping[str, str], target: Target) -> bool:
    """Whether the runtime computes an operator with these dtypes for its type variables, as far as is known."""
    definition = history.definition(domain, operator, opset)
    is_lacking = domain in CONVERTED_DOMAINS and operator in target.operators_lacking
    if definition is None or is_lacking or not target.dtypes_refused.isdisjoint(dtypes.values()):
        return False
    grids = target.kernels.get((domain, operator, definition.since_version))
    return grids is None or any(_is_in(dtypes, grid) for grid in grids)


def _is_in(dtypes: Mapping[str, str], grid: Grid) -> bool:
    return all(dtype in grid.get(variable, (dtype,)) for variable, dtype in dtypes.items())


def known_of_operators(
    operators: Iterable[tuple[str, str]], opsets: Mapping[str, int], target: Target
) -> Mapping[tuple[str, str], object]:
    """What is known of a runtime about operators, given by domain and name, at some opsets by domain.

    Runtimes with equal data accept the same nodes of them.
    """
    found: dict[tuple[str, str], object] = {}
    for key in operators:
        domain, operator = key
        spelt = f"{domain}.{operator}"
        is_lacking: object = operator in target.operators_lacking or spelt in target.operators_lacking
        if spelt in target.contributed_in_dtypes:
            is_lacking = frozenset(one for one in target.operators_lacking if one.startswith(f"{spelt} of "))
        signature = target.signatures.get(key)
        is_lacking = is_lacking or _is_left_out(domain, target)
        if key not in target.operators_to_check and not is_lacking and signature is None:
            continue
        opset = opsets.get(domain)
        definition = None if opset is None else history.definition(domain, operator, opset)
        if definition is None:
            since_versions = [one for one in target.kernels if one[:2] == key]
            forms = tuple(target.forms_by_operator.get(key, ()))
        else:
            since_versions = [(domain, operator, definition.since_version)]
            forms = tuple(one for one in target.forms_by_operator.get(key, ()) if opset in one.opsets)
        kernels = {one: target.kernels[one] for one in since_versions if one in target.kernels}
        if is_lacking or forms or kernels or definition is None:
            found[key] = (is_lacking, forms, kernels, signature)
    return found
