"""The strict gate: what the schema of an operator's exact version says about a node and about the values it meets.

A `Gate` is built once per definition. `check_node` judges what the node says (attributes, counts), `check_inputs` and
`check_outputs` judge the types at run time. They raise `Illegal`; the evaluator adds the place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy
from onnx import AttributeProto, NodeProto
from onnx.defs import OpSchema

from opsetlift.evaluator import values
from opsetlift.evaluator.values import Value
from opsetlift.specification.history import FLAGS, Definition, history

Option = OpSchema.FormalParameterOption


class Illegal(Exception):
    """The clause that a node or a value breaks."""


class WrongOutput(Exception):
    """What a kernel gave back is not what the schema promises for these inputs."""


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal parameter of a definition."""

    name: str
    option: Option
    type_variable: str
    allowed: frozenset[str]
    homogeneous: bool

    @property
    def single(self) -> bool:
        """Whether it is one required value."""
        return self.option == Option.Single

    def holds_tensors_of(self, other: Formal) -> bool:
        """Whether it takes tensors alone, and none that another one does not take."""
        return self.allowed <= other.allowed and all(one.startswith("tensor(") for one in self.allowed)


Bindings = dict[str, str]
"""Type variable -> the type it stands for in one call."""


class Gate:
    """The rules of one definition, unpacked for quick checks."""

    def __init__(self, definition: Definition) -> None:
        schema = definition.schema
        self.schema = schema
        self.deprecated = schema.deprecated
        # The schemas' enumeration has AttributeProto's numbers; onnx's stubs do not say that it is one of ints.
        self._kinds: dict[str, int] = {
            name: int(attribute.type)  # type: ignore[call-overload]
            for name, attribute in schema.attributes.items()
        }
        self._required = [name for name, attribute in schema.attributes.items() if attribute.required]
        self.defaults = {
            name: values.attribute_value(attribute.default_value)
            for name, attribute in schema.attributes.items()
            if attribute.default_value.type != AttributeProto.UNDEFINED
        }
        """The schema's defaults of attributes, decoded."""
        self._inputs = _formals(definition, schema.inputs)
        self._outputs = _formals(definition, schema.outputs)

    def check_node(self, node: NodeProto, *, strict: bool = True) -> None:
        """Check counts and names of inputs, outputs and attributes.

        Deprecated operators, of which there are models all the same (GroupNormalization-18 was never anything else),
        and flags of which the texts name two values and a model has another pass unless strict.

        Raises:
            Illegal: The schema of the version forbids the node.
        """
        if self.deprecated and strict:
            raise Illegal("the operator is deprecated in this version: it may not be used")
        schema = self.schema
        _check_count("input", node.input, self._inputs, schema.min_input, schema.max_input)
        _check_count("output", node.output, self._outputs, schema.min_output, schema.max_output)
        seen = set()
        for attribute in node.attribute:
            name = attribute.name
            if name in seen:
                raise Illegal(f"attribute {name!r} is given twice")
            seen.add(name)
            if name.startswith("__"):  # onnx's checker lets such names of implementations pass
                continue
            if name not in self._kinds:
                raise Illegal(f"this version has no attribute {name!r}")
            expected, actual = self._kinds[name], values.attribute_type(attribute)
            # Before IR version 2 attributes had no `type`, and an empty list looks like nothing at all.
            if expected != actual and actual != AttributeProto.UNDEFINED:
                raise Illegal(f"attribute {name!r} must be {_kind_name(expected)}, not {_kind_name(actual)}")
            if strict and name in FLAGS and attribute.i not in (0, 1) and expected == AttributeProto.INT:
                raise Illegal(f"attribute {name!r} is 0 or 1, not {attribute.i}")
        for name in self._required:
            if name not in seen:
                raise Illegal(f"the required attribute {name!r} is missing")

    def attributes(self, node: NodeProto, base_dir: str | None = None) -> dict[str, Any]:
        """Return the node's attributes decoded, the schema's defaults filled in."""
        decoded = dict(self.defaults)
        for attribute in node.attribute:
            if attribute.name in self._kinds:
                if values.attribute_type(attribute) == AttributeProto.UNDEFINED:
                    attribute = _with_type(attribute, self._kinds[attribute.name])
                decoded[attribute.name] = values.attribute_value(attribute, base_dir)
        return decoded

    def check_inputs(self, inputs: Sequence[Value]) -> Bindings:
        """Check the types of the inputs (None: absent), and return what the type variables stand for.

        Raises:
            Illegal: The version does not take such an input.
        """
        bindings: Bindings = {}
        formals = self._inputs
        last = len(formals) - 1
        for index, value in enumerate(inputs):
            if value is None:
                continue
            formal = formals[index if index < last else last]
            try:
                actual = values.type_of(value)
            except ValueError as error:
                raise Illegal(f"input {formal.name!r} ({index}): {error}") from error
            if actual is None:
                continue
            if actual not in formal.allowed:
                raise Illegal(f"input {formal.name!r} ({index}) is {actual}; this version takes {_list(formal)}")
            if formal.homogeneous and bindings.setdefault(formal.type_variable, actual) != actual:
                bound = bindings[formal.type_variable]
                raise Illegal(
                    f"input {formal.name!r} ({index}) is {actual}, but {formal.type_variable} is {bound} already"
                )
        return bindings

    def check_outputs(
        self, outputs: Sequence[Value], bindings: Bindings, names: Sequence[str], *, strict: bool = True
    ) -> list[Value]:
        """Return the values for the outputs' `names`, types checked, scalars as arrays and lists as typed sequences.

        Unless strict, what takes no input may give the types of later versions: constants of any dtype were common.

        Raises:
            Illegal: The version has no such output.
            WrongOutput: The kernel gave what the schema does not promise for these inputs.
        """
        formals = self._outputs
        last = len(formals) - 1
        checked: list[Value] = []
        for index, (value, name) in enumerate(zip(outputs, names, strict=False)):
            if not name:
                checked.append(None)
                continue
            formal = formals[index if index < last else last]
            if value is None:
                raise WrongOutput(f"output {formal.name!r} ({index}) was not computed")
            if isinstance(value, numpy.generic):
                value = numpy.asarray(value)
            bound = bindings.get(formal.type_variable) if formal.homogeneous else None
            try:
                actual = values.type_of(value)
            except ValueError as error:
                raise WrongOutput(f"output {formal.name!r} ({index}): {error}") from error
            if actual is None:
                actual = bound or min(formal.allowed)
            if bound is not None and actual != bound:
                raise WrongOutput(
                    f"output {formal.name!r} ({index}) is {actual}, but {formal.type_variable} is {bound}"
                )
            if actual not in formal.allowed and (strict or not self._is_given_later(actual)):
                raise Illegal(f"output {formal.name!r} ({index}) would be {actual}; this version has {_list(formal)}")
            if formal.homogeneous:
                bindings[formal.type_variable] = actual
            if type(value) is list:
                value = values.Sequence(value, actual)
            checked.append(value)
        missing = [name for name in names[len(checked) :] if name]
        if missing:
            raise WrongOutput(f"output {missing[0]!r} ({len(checked)}) was not computed")
        return checked

    def lets_pass_what(self, other: Gate, inputs: Sequence[str | None], outputs: Sequence[str | None]) -> bool:
        """Whether the values of a node that another gate lets pass are of types that pass here, too.

        Args:
            other: The gate of another version of the operator.
            inputs: The type of each input of the node, None where it is not known; empty for absent ones.
            outputs: The same of the outputs.
        """
        here: dict[str, str] = {}
        there: dict[str, str] = {}
        for index, spelt in enumerate(inputs):
            formal, others = _formal_at(self._inputs, index), _formal_at(other._inputs, index)
            if spelt and others.homogeneous:
                there.setdefault(others.type_variable, spelt)
            if spelt != "" and not _passes(formal, others, spelt, here):
                return False
        for index, spelt in enumerate(outputs):
            formal, others = _formal_at(self._outputs, index), _formal_at(other._outputs, index)
            spelt = there.get(others.type_variable, spelt) if others.homogeneous else spelt
            if spelt != "" and not _passes(formal, others, spelt, here):
                return False
        return True

    def _is_given_later(self, type_string: str) -> bool:
        found = history(self.schema.domain, self.schema.name)
        is_given = found is not None and found.first_to_give(type_string, self.schema.since_version)
        return bool(is_given and self.schema.max_input == 0)


def _formals(definition: Definition, parameters: Sequence[OpSchema.FormalParameter]) -> list[Formal]:
    return [
        Formal(
            parameter.name,
            parameter.option,
            parameter.type_str,
            definition.allowed_types(parameter.type_str),
            parameter.is_homogeneous,
        )
        for parameter in parameters
    ]


def _passes(formal: Formal, other: Formal, spelt: str | None, bound: dict[str, str]) -> bool:
    """Whether a value that another formal parameter lets pass passes here: of a type, or of any.

    `bound` holds what type variables stand for: a type, or a type variable of the other version.
    """
    found = spelt or f"any {other.type_variable}"
    if formal.homogeneous and (bound.setdefault(formal.type_variable, found) != found or not other.homogeneous):
        return False
    return spelt in formal.allowed if spelt else other.holds_tensors_of(formal)


def _formal_at(formals: Sequence[Formal], index: int) -> Formal:
    return formals[min(index, len(formals) - 1)]


def _check_count(what: str, names: Sequence[str], formals: Sequence[Formal], least: int, most: int) -> None:
    count = len(names)
    if not least <= count <= most:
        expected = f"{least}" if least == most else f"{least} to {most}" if most < 2**31 - 1 else f"at least {least}"
        raise Illegal(f"{count} {what}s are given; this version takes {expected}")
    for formal, name in zip(formals, names, strict=False):
        if not name and formal.single:
            raise Illegal(f"{what} {formal.name!r} is required, but its name is empty")
    if what == "input" and formals and formals[-1].option == Option.Variadic and "" in names[len(formals) - 1 :]:
        raise Illegal(f"input {formals[-1].name!r} is a list, none of whose names may be empty")


def _with_type(attribute: AttributeProto, kind: int) -> AttributeProto:
    typed = AttributeProto()
    typed.CopyFrom(attribute)
    typed.type = kind  # type: ignore[assignment]
    return typed


def _kind_name(kind: int) -> str:
    name: str = AttributeProto.AttributeType.Name(kind)
    return name


def _list(formal: Formal) -> str:
    return ", ".join(sorted(formal.allowed))


@lru_cache(maxsize=1 << 14)
def gate_of(definition: Definition) -> Gate:
    """Return the gate of a definition; both are constructed once per process."""
    return Gate(definition)
