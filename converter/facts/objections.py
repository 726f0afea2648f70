"""What is wrong with a node as a model has it, by the schema of its version and by onnx's own inference."""

from __future__ import annotations

from onnx import NodeProto
from onnx.defs import OpSchema

from converter import history
from converter.evaluator.gate import Illegal, gate_of
from converter.facts.inference import Question
from converter.facts.scope import ScopeFacts
from converter.onnx_errors import ONNX_ERRORS
from converter.scopes import called_function_key


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
    return ""
