"""What is written in a node, in the terms of `[[form]]` in target files: attributes, inputs, ranks, dtypes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from onnx import AttributeProto, NodeProto, helper
from onnx.defs import OpSchema

from opsetlift.facts import ScopeFacts, has_late_windows
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import Definition
from opsetlift.specification.operands import input_operands, operands

_OPTIONAL = OpSchema.FormalParameterOption.Optional
_KERNEL = "kernel_shape"
_VARIADIC = OpSchema.FormalParameterOption.Variadic


class Feature(NamedTuple):
    """One thing that a form of nodes may state."""

    key: str
    """As target files spell it: attributes, given, negative..."""
    name: str = ""
    value: Any = None


def features_of(
    node: NodeProto, definition: Definition, scope: ScopeFacts
) -> tuple[frozenset[Feature], dict[str, str]]:
    """What a form may state of a node, and the dtypes that its type variables stand for."""
    known: dict[str, str] = {}
    inputs, outputs = operands(node, definition)
    for one in (*inputs, *outputs):
        spelt = scope.type_string(one.name)
        dtype = dtype_of_type(spelt) if spelt else None
        if dtype is not None and one.variable in definition.types_by_variable:
            known.setdefault(one.variable, dtype)
    found = {Feature("dtypes", variable, dtype) for variable, dtype in known.items()}
    found.update(_of_attributes(node, definition.schema))
    found.update(_of_inputs(node, definition, scope))
    if len([name for name in node.output if name]) > definition.schema.min_output:
        found.add(Feature("outputs", value=len(node.output)))
    if node.input and has_late_windows(node, scope.shape(node.input[0])):
        found.add(Feature("has_late_windows", value=True))
    producers = {name: one.op_type for one in scope.container.node for name in one.output}
    if node.input and node.input[0] in producers:
        found.add(Feature("after", value=producers[node.input[0]]))
    return frozenset(found), known


def _of_attributes(node: NodeProto, schema: OpSchema) -> Iterator[Feature]:
    given = {one.name: one for one in node.attribute}
    for name, declared in schema.attributes.items():
        attribute = given.get(name)
        default = declared.default_value
        if attribute is None and not default.name:
            yield Feature("absent", name)
            continue
        value = helper.get_attribute_value(default if attribute is None else attribute)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if isinstance(value, (int, str)):
            yield Feature("attributes", name, value)
        if attribute is None:
            continue
        yield Feature("given", name)
        numbers = list(attribute.ints) or [attribute.i]
        if min(numbers) < 0:
            yield Feature("negative", name)
        if name == "dilations" and max(numbers) > 1:
            yield Feature("is_dilated", value=True)
        if attribute.type == AttributeProto.INTS and numbers[: len(numbers) // 2] != numbers[len(numbers) // 2 :]:
            yield Feature("uneven", name)
        limits = list(given[_KERNEL].ints) if name == "pads" and _KERNEL in given else []
        if any(one >= limit for one, limit in zip(numbers, limits * 2, strict=False)):
            yield Feature("at_least", name, _KERNEL)


def _of_inputs(node: NodeProto, definition: Definition, scope: ScopeFacts) -> Iterator[Feature]:
    schema = definition.schema
    present = {one.formal: one for one in input_operands(node, definition)}
    for formal in schema.inputs:
        if formal.option == _VARIADIC:
            yield Feature("input_counts", value=len(node.input))
        elif formal.option == _OPTIONAL:
            yield Feature("has_inputs" if formal.name in present else "lacks_inputs", formal.name)
    for name, one in present.items():
        shape, value = scope.shape(one.name), scope.constant(one.name)
        yield Feature("computed_inputs" if value is None else "known_inputs", name)
        if value is not None and value.dtype.kind in "if" and bool((value < 0).any()):
            yield Feature("negative", name)
        if shape is not None:
            yield Feature("ranks", name, len(shape))
            yield Feature("ranked_inputs", name)
        if shape is None or not all(isinstance(size, int) for size in shape):
            yield Feature("open_inputs", name)
        elif 0 in shape:
            yield Feature("empty_inputs", name)


def as_form(features: frozenset[Feature]) -> Mapping[str, Any]:
    """The keys of a form in a target file that states all of some features."""
    form: dict[str, Any] = {}
    for key, name, value in sorted(features, key=lambda one: (one.key, one.name, str(one.value))):
        if key in ("attributes", "at_least"):
            form.setdefault(key, {})[name] = value
        elif key in ("ranks", "dtypes"):
            form.setdefault(key, {}).setdefault(name, []).append(value)
        elif key in ("after", "input_counts"):
            form.setdefault(key, []).append(value)
        elif key == "opsets":
            form[key] = {"min": value}
        elif key in ("outputs", "is_dilated", "has_late_windows"):
            form[key] = value
        else:
            form.setdefault(key, []).append(name)
    return form
