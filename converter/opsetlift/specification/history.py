"""The history of every operator, as `onnx.defs` tells it: since-versions, steps, introductions, transitions, type sets.

This module is the only reader of `onnx.defs`. Everything here is worked out once and cached.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from typing import Any

import onnx
import onnx.defs
from onnx import FunctionProto, NodeProto, TypeProto
from onnx.defs import OpSchema

AI_ONNX = ""
AI_ONNX_ML = "ai.onnx.ml"

CONVERTED_DOMAINS = (AI_ONNX, AI_ONNX_ML)
"""The domains that OpsetLift has rules for; preview domains have one version each and hence no step."""


def canonical_domain(domain: str) -> str:
    """The default domain has two spellings, "" and "ai.onnx" (IR spec, Operator Sets); ours is ""."""
    return AI_ONNX if domain == "ai.onnx" else domain


def display_domain(domain: str) -> str:
    """The spelling for people: "ai.onnx" for the default domain."""
    return domain or "ai.onnx"


@cache
def latest_opset(domain: str = AI_ONNX) -> int:
    """The newest opset of `domain` that the installed onnx knows. Raises KeyError for an unknown domain."""
    if domain == AI_ONNX:
        return onnx.defs.onnx_opset_version()
    return max(schema.since_version for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == domain)


class Direction(Enum):
    """Which way a transition is crossed."""

    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, order=True)
class Transition:
    """One step of an operator in one direction, or (older is 0) its introduction downward: the unit of coverage.

    Where both ends are the same it stands for an operator that stays at its opset, and has to be written otherwise.
    """

    domain: str
    operator: str
    older: int
    newer: int
    upward: bool

    @property
    def direction(self) -> Direction:
        return Direction.UP if self.upward else Direction.DOWN

    @property
    def is_introduction(self) -> bool:
        return self.older == 0

    @property
    def is_experimental(self) -> bool:
        """Whether it stands for an operator that has no version: what its rule emits is written for `newer`."""
        return self.is_introduction and self.upward

    @property
    def stays(self) -> bool:
        """Whether it stands for an operator that stays at its opset."""
        return self.older == self.newer

    @property
    def near(self) -> int:
        """The since-version that the site comes from."""
        return self.older if self.upward else self.newer

    @property
    def far(self) -> int:
        """The since-version that the site goes to; 0 below an introduction."""
        return self.newer if self.upward else self.older

    @property
    def landing_opset(self) -> int:
        """The opset at which nodes emitted by the transition's rule live: the first one on the far side."""
        if self.stays:
            return self.newer
        return self.newer if self.upward else self.newer - 1

    @property
    def last_opset_before(self) -> int | None:
        """The last opset on the near side; None where no opset of the model's is on another side."""
        if self.stays or self.is_experimental:
            return None
        return self.newer - 1 if self.upward else self.newer

    def __str__(self) -> str:
        name = f"{self.domain}.{self.operator}" if self.domain else self.operator
        if self.is_experimental:
            return f"experimental {name}"
        if self.is_introduction:
            return f"{name} below {self.newer}"
        if self.stays:
            return f"{name} at {self.newer}"
        near, far = (self.older, self.newer) if self.upward else (self.newer, self.older)
        return f"{name} {near}→{far}"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


class Definition:
    """One operator at one since-version: a view of its OpSchema."""

    def __init__(self, schema: OpSchema) -> None:
        self.schema = schema

    @property
    def _untyped_schema(self) -> Any:
        """The schema, for what onnx's type stubs leave out."""
        return self.schema

    @cached_property
    def attribute_kinds(self) -> Mapping[str, int]:
        """The type of each attribute, as AttributeProto numbers them."""
        # The schemas' enumeration has AttributeProto's numbers; onnx's stubs do not say that it is one of ints.
        return {name: int(one.type) for name, one in self.schema.attributes.items()}  # type: ignore[call-overload]

    @cached_property
    def required_attributes(self) -> frozenset[str]:
        return frozenset(name for name, one in self.schema.attributes.items() if one.required)

    def requires_input(self, position: int) -> bool:
        """Whether a node must have the input at a position."""
        formals = self.schema.inputs
        return position < len(formals) and formals[position].option == OpSchema.FormalParameterOption.Single

    @property
    def since_version(self) -> int:
        return self.schema.since_version

    @cached_property
    def types_by_variable(self) -> Mapping[str, frozenset[str]]:
        """Type variable -> the types it may stand for: {"T": {"tensor(float)", ...}}."""
        return {
            constraint.type_param_str: frozenset(constraint.allowed_type_strs)
            for constraint in self.schema.type_constraints
        }

    def allowed_types(self, type_variable: str) -> frozenset[str]:
        """The types that a formal parameter's `type_str`, a variable or a type itself, stands for."""
        return self.types_by_variable.get(type_variable) or frozenset([type_variable])

    @property
    def given_types(self) -> frozenset[str]:
        """The types of the first output."""
        outputs = self.schema.outputs
        return self.allowed_types(outputs[0].type_str) if outputs else frozenset()

    @cached_property
    def takes_subgraphs(self) -> bool:
        return any(
            attribute.type in (OpSchema.AttrType.GRAPH, OpSchema.AttrType.GRAPHS)
            for attribute in self.schema.attributes.values()
        )

    @cached_property
    def is_random(self) -> bool:
        """Whether two runs on equal inputs may differ."""
        return str(self._untyped_schema.node_determinism) == "NodeDeterminism.NonDeterministic"

    @property
    def infers_types(self) -> bool:
        """Whether onnx's shape inference says anything about the outputs."""
        return bool(self._untyped_schema.has_type_and_shape_inference_function)

    @cached_property
    def infers_through_body(self) -> bool:
        """Whether onnx infers the outputs' types from the function body."""
        return bool(self._untyped_schema.has_function) and not self.infers_types

    @property
    def needs_context_for_body(self) -> bool:
        """Whether the function body depends on the node and on its inputs' types."""
        schema = self._untyped_schema
        return bool(schema.has_context_dependent_function and not schema.has_function)

    def function_body(self, node: NodeProto, input_types: Sequence[TypeProto]) -> FunctionProto | None:
        """The operator's function body, of several the one for the oldest opset; None where the schema has none."""
        schema = self._untyped_schema
        if schema.has_function:
            data = schema.get_function_with_opset_version(min(schema.function_opset_versions))
        elif schema.has_context_dependent_function:
            opset = min(schema.context_dependent_function_opset_versions)
            types = [one.SerializeToString() for one in input_types]
            data = schema.get_context_dependent_function_with_opset_version(opset, node.SerializeToString(), types)
        else:
            return None
        if not data:
            return None
        body = FunctionProto()
        body.ParseFromString(data)
        return body

    @cached_property
    def signature(self) -> object:
        """What has to be the same for two versions to differ in their types and text only."""
        schema = self.schema

        def formal(parameter: OpSchema.FormalParameter) -> object:
            return (str(parameter.option), parameter.is_homogeneous, parameter.min_arity, parameter.type_str)

        attributes = sorted(
            (a.name, str(a.type), a.required, a.default_value.SerializeToString()) for a in schema.attributes.values()
        )
        return (
            [formal(i) for i in schema.inputs],
            [formal(o) for o in schema.outputs],
            attributes,
            (schema.min_input, schema.max_input, schema.min_output, schema.max_output, schema.deprecated),
        )

    @cached_property
    def text(self) -> object:
        """Everything that the schema says in words, white space folded: the meaning, as far as it is documented."""
        schema = self.schema
        return (
            _one_line(schema.doc),
            [_one_line(i.description) for i in schema.inputs],
            [_one_line(o.description) for o in schema.outputs],
            sorted((a.name, _one_line(a.description)) for a in schema.attributes.values()),
        )


class OperatorHistory:
    """One operator through the opsets of its domain."""

    def __init__(self, domain: str, operator: str, definitions: Mapping[int, Definition]) -> None:
        self.domain = domain
        self.operator = operator
        self.definitions = dict(sorted(definitions.items()))
        self.since_versions = tuple(self.definitions)

    @property
    def introduction(self) -> int:
        return self.since_versions[0]

    def since_version(self, opset: int) -> int:
        """The since-version of the definition in force at `opset`; 0 where the operator is not introduced yet."""
        index = bisect_right(self.since_versions, opset)
        return self.since_versions[index - 1] if index else 0

    def at(self, opset: int) -> Definition | None:
        """The definition in force at `opset`, or None before the introduction."""
        return self.definitions.get(self.since_version(opset))

    def transitions_between(self, source: int, target: int) -> tuple[Transition, ...]:
        """The transitions of a node of this operator from opset `source` to `target`, in the order of travel."""
        if source <= target:
            return tuple(
                Transition(self.domain, self.operator, older, newer, True)
                for older, newer in self.steps()
                if source < newer <= target
            )
        falls = [*self.steps(), (0, self.introduction)]
        return tuple(
            Transition(self.domain, self.operator, older, newer, False)
            for older, newer in sorted(falls, key=lambda step: -step[1])
            if target < newer <= source
        )

    @cache  # noqa: B019 (histories live as long as the process)
    def first_to_give(self, type_string: str, opset: int) -> int:
        """The first since-version after `opset` whose first output may have a type; 0 where the one in force there may,
        or none.
        """
        here = self.at(opset)
        if here is None or type_string in here.given_types:
            return 0
        later = (v for v, found in self.definitions.items() if v > opset and type_string in found.given_types)
        return next(later, 0)

    def steps(self) -> list[tuple[int, int]]:
        """Adjacent since-versions, oldest first."""
        return list(zip(self.since_versions, self.since_versions[1:], strict=False))

    def is_types_only(self, older: int, newer: int) -> bool:
        """Whether a step changes nothing but the sets of types: same signature and, word for word, the same text."""
        before, after = self.definitions[older], self.definitions[newer]
        return before.signature == after.signature and before.text == after.text


@cache
def histories() -> Mapping[tuple[str, str], OperatorHistory]:
    """Every operator by (domain, name), from the installed onnx."""
    definitions: dict[tuple[str, str], dict[int, Definition]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        definitions.setdefault((schema.domain, schema.name), {})[schema.since_version] = Definition(schema)
    return {key: OperatorHistory(*key, versions) for key, versions in definitions.items()}


def history(domain: str, operator: str) -> OperatorHistory | None:
    """The history of one operator; None where the installed onnx has no such operator."""
    return histories().get((canonical_domain(domain), operator))


@cache
def definition(domain: str, operator: str, opset: int) -> Definition | None:
    """The definition in force at `opset`, or that of an experimental operator there; None where there is none."""
    from opsetlift.specification.experimental import experimental_definition

    found = history(domain, operator)
    return (found.at(opset) if found else None) or experimental_definition(canonical_domain(domain), operator, opset)


@cache
def gaining_types_from_nothing(opset: int) -> frozenset[str]:
    """The operators of ai.onnx without inputs of which a later version gives more types than that at `opset`."""
    found = set()
    for (domain, operator), operator_history in histories().items():
        here = operator_history.at(opset) if domain == AI_ONNX else None
        if here is not None and here.schema.max_input == 0:
            later = (one.given_types for version, one in operator_history.definitions.items() if version > opset)
            if not here.given_types.issuperset(frozenset().union(*later)):
                found.add(operator)
    return frozenset(found)


def is_silent(domain: str, operator: str, opset: int) -> bool:
    """Whether the definition in force infers no types for its outputs, as many of the oldest do not."""
    found = definition(domain, operator, opset)
    return found is not None and not found.infers_types


@cache
def has_silent_operators(domain: str, opset: int) -> bool:
    """Whether any operator of `domain` at `opset` infers no types."""
    return any(is_silent(*key, opset) for key in histories() if key[0] == domain)


def all_transitions() -> Iterator[Transition]:
    """Every transition of the converted domains: each step both ways, each introduction after opset 1 downward."""
    for (domain, operator), operator_history in sorted(histories().items()):
        if domain not in CONVERTED_DOMAINS:
            continue
        if operator_history.introduction > 1:
            yield Transition(domain, operator, 0, operator_history.introduction, False)
        for older, newer in operator_history.steps():
            yield Transition(domain, operator, older, newer, True)
            yield Transition(domain, operator, older, newer, False)
