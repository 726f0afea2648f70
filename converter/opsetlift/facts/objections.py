"""What is wrong with a node as a model has it: by its schema, by onnx's own inference and by its execution."""

from __future__ import annotations

import math

import numpy
from onnx import NodeProto
from onnx.defs import OpSchema

from opsetlift.evaluator import ComputationFailed, EvaluationError, Illegal, Rejected, gate_of, run_node
from opsetlift.facts.inference import Question
from opsetlift.facts.scope import ScopeFacts
from opsetlift.model.arrays import Array
from opsetlift.model.scopes import called_function_key
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_of_type, numpy_dtype
from opsetlift.support.onnx_errors import ONNX_ERRORS


def objection_to(node: NodeProto, facts: ScopeFacts) -> str:
    """What the specification forbids of a node in its scope; "" where nothing is known to be wrong."""
    domain = history.canonical_domain(node.domain)
    definition = history.definition(domain, node.op_type, facts.imports.get(domain, 0))
    if definition is None or called_function_key(node) in facts.model.functions:
        return ""
    try:
        gate_of(definition).check_node(node, strict=False)
    except Illegal as error:
        return str(error)
    formals = definition.schema.inputs
    for position, name in enumerate(node.input):
        formal = formals[min(position, len(formals) - 1)]
        found = facts.type_string(name) if name else None
        if not name and formal.option == OpSchema.FormalParameterOption.Single:
            return f"input {position} ({formal.name!r}) is required, and the node has none"
        if found is not None and found not in definition.allowed_types(formal.type_str):
            return f"input {position} ({formal.name!r}) cannot be {found} in this version"
    is_known = all(facts.type_string(name) for name in node.input if name)
    if not is_known or definition.takes_subgraphs or any(one.ref_attr_name for one in node.attribute):
        return ""
    question = Question(facts.model, definition, node, facts.imports, facts.type_of, facts.constant, {})
    try:
        question.ask(node)
    except ONNX_ERRORS as error:
        return " ".join(str(error).split())
    return _rejection(node, facts)


_LARGEST = 1 << 20
"""Elements of an input that is made up."""


def _rejection(node: NodeProto, facts: ScopeFacts) -> str:
    """Why the strict evaluator does not execute a node whose inputs have known shapes; "" where it does.

    Inputs that are not constant are zeros.
    """
    values = []
    for name in node.input:
        value = _zeros(name, facts) if name else None
        if name and value is None:
            return ""
        values.append(value)
    try:
        run_node(node, values, facts.imports, strict=False)
    except (Rejected, ComputationFailed) as error:
        return error.clause
    except EvaluationError:
        pass
    return ""


def _zeros(name: str, facts: ScopeFacts) -> Array | None:
    constant = facts.constant(name)
    if constant is not None:
        return constant
    spelt, shape = facts.type_string(name), facts.shape(name)
    dtype = dtype_of_type(spelt) if spelt else None
    if dtype is None or shape is None:
        return None
    dims = [dim for dim in shape if isinstance(dim, int)]
    if len(dims) < len(shape) or math.prod(dims) > _LARGEST:
        return None
    return numpy.full(dims, "", object) if dtype == "string" else numpy.zeros(dims, numpy_dtype(dtype))
