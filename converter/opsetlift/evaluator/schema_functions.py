"""The functions by which schemas define operators, which run where there is no kernel."""

from __future__ import annotations

from typing import Any

from onnx import AttributeProto, FunctionProto, NodeProto

from opsetlift.evaluator import values
from opsetlift.evaluator.errors import NotExecutable, Place
from opsetlift.evaluator.function_steps import Description


def function_opsets(schema: Any) -> list[int]:
    """Return the opsets that the function bodies of a definition are written for; empty where it has none."""
    if schema.has_context_dependent_function:
        return list(schema.context_dependent_function_opset_versions)
    return list(schema.function_opset_versions)


def function_version(schema: Any, opset: int, place: Place) -> int:
    """Return which of a schema's functions is for a model of `opset`.

    Raises:
        NotExecutable: The schema has none.
    """
    versions = function_opsets(schema)
    if not versions:
        raise NotExecutable("there is no kernel for this version", place)
    return max((version for version in versions if version <= opset), default=min(versions))


def schema_function(
    schema: Any, version: int, node: NodeProto, inputs: tuple[Description, ...], place: Place
) -> FunctionProto:
    """Return the function that a schema has for a node with inputs of these types.

    Raises:
        NotExecutable: The function depends on the inputs' types and does not cover these.
    """
    if schema.has_context_dependent_function:
        type_protos = [values.type_proto(*described).SerializeToString() for described in inputs]
        serialized = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), type_protos
        )
    else:
        serialized = schema.get_function_with_opset_version(version)
    function: FunctionProto = FunctionProto.FromString(serialized)
    if not function.node:
        raise NotExecutable("there is no kernel, and the schema's function does not cover these inputs", place)
    produced = {*function.input, *(name for inner in function.node for name in inner.output)}
    for index, name in enumerate(function.output):
        if name not in produced:  # a function may leave out what is not asked for
            function.output[index] = ""
    return function


def given_attributes(schema: Any, node: NodeProto) -> dict[str, AttributeProto]:
    """Return a node's attributes by name, with the schema's defaults."""
    attributes = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.type != AttributeProto.UNDEFINED
    }
    attributes.update({attribute.name: attribute for attribute in node.attribute})
    return attributes
