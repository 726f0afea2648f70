"""The history of every operator, as `onnx.defs` tells it: since-versions, steps, introductions, transitions, type sets.

This module is the only reader of `onnx.defs`. Everything here is worked out once and cached.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache

import onnx.defs

from opsetlift.specification.definition import (
    AI_ONNX,
    AI_ONNX_ML,
    CONVERTED_DOMAINS,
    FLAGS,
    PREVIEW_DOMAINS,
    Definition,
    canonical_domain,
    display_domain,
)
from opsetlift.specification.experimental import experimental_definition

__all__ = [
    "AI_ONNX",
    "AI_ONNX_ML",
    "CONVERTED_DOMAINS",
    "FLAGS",
    "PREVIEW_DOMAINS",
    "WRITTEN_FOR",
    "Definition",
    "Direction",
    "OperatorHistory",
    "Transition",
    "all_transitions",
    "canonical_domain",
    "definition",
    "definitions_sha256",
    "display_domain",
    "gaining_types_from_nothing",
    "has_operators_without_inference",
    "histories",
    "history",
    "infers_types",
    "is_behind",
    "is_unknown",
    "latest_opset",
]


WRITTEN_FOR = {AI_ONNX: 28, AI_ONNX_ML: 5}
"""The newest opsets that rules, kernels and target files were written for."""


def is_behind(domain: str) -> bool:
    """Whether the installed onnx is older than what rules and data were written for, and may lack what they name.

    Releases of onnx also add versions to older opsets: Attention-25 came with opset 28.
    """
    return domain in WRITTEN_FOR and latest_opset(domain) < WRITTEN_FOR[domain]


@lru_cache(maxsize=1 << 14)
def latest_opset(domain: str = AI_ONNX) -> int:
    """The newest opset of `domain` that the installed onnx knows. Raises KeyError for an unknown domain."""
    if domain == AI_ONNX:
        return onnx.defs.onnx_opset_version()
    return max(schema.since_version for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == domain)


class Direction(Enum):
    """Whether a transition is applied upward or downward."""

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
        """Up where nodes go to a newer opset."""
        return Direction.UP if self.upward else Direction.DOWN

    @property
    def is_introduction(self) -> bool:
        """Whether the operator does not exist on the older side."""
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
    def source_version(self) -> int:
        """The since-version that the site comes from."""
        return self.older if self.upward else self.newer

    @property
    def destination_version(self) -> int:
        """The since-version that the site goes to; 0 below an introduction."""
        return self.newer if self.upward else self.older

    @property
    def landing_opset(self) -> int:
        """The opset of nodes that the transition's rule emits: the first one past the transition."""
        if self.stays:
            return self.newer
        return self.newer if self.upward else self.newer - 1

    @property
    def last_opset_before(self) -> int | None:
        """The last opset before the transition; None where it leads to no other opset of the model's."""
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
        return f"{name} {self.source_version}→{self.destination_version}"


class OperatorHistory:
    """One operator through the opsets of its domain."""

    def __init__(self, domain: str, operator: str, definitions: Mapping[int, Definition]) -> None:
        self.domain = domain
        self.operator = operator
        self.definitions = dict(sorted(definitions.items()))
        self.since_versions = tuple(self.definitions)

    @property
    def introduction(self) -> int:
        """The opset that introduced the operator."""
        return self.since_versions[0]

    def since_version(self, opset: int) -> int:
        """The since-version of the definition in force at `opset`; 0 where the operator is not introduced yet."""
        index = bisect_right(self.since_versions, opset)
        return self.since_versions[index - 1] if index else 0

    def at(self, opset: int) -> Definition | None:
        """The definition in force at `opset`, or None before the introduction."""
        return self.definitions.get(self.since_version(opset))

    @lru_cache(maxsize=1 << 14)  # noqa: B019 (histories live as long as the process)
    def transitions_between(self, source: int, target: int) -> tuple[Transition, ...]:
        """The transitions of a node of this operator from opset `source` to `target`, in their order."""
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

    @lru_cache(maxsize=1 << 14)  # noqa: B019 (histories live as long as the process)
    def first_to_give(self, type_string: str, opset: int) -> int:
        """The first since-version after `opset` whose first output may have a type.

        0 where the definition in force at `opset` allows the type, or no later one does.
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


@cache
def definitions_sha256() -> str:
    """The SHA-256 of what is defined: onnx's operators by version, those that others register with their bodies."""
    digest = hashlib.sha256()
    for (domain, operator), found in sorted(histories().items()):
        digest.update(f"{domain}\0{operator}\0{found.since_versions}\0".encode())
        for version in found.since_versions if domain.split(".")[0] not in ("", "ai") else ():
            digest.update(found.definitions[version].schema.function_body.SerializeToString(deterministic=True))
    return digest.hexdigest()


def history(domain: str, operator: str) -> OperatorHistory | None:
    """The history of one operator; None where the installed onnx has no such operator."""
    return histories().get((canonical_domain(domain), operator))


def is_unknown(domain: str, operator: str, opset: int) -> bool:
    """Whether ONNX has no such operator at an opset, of a domain that is its own: a plugin, or a wrong name."""
    if domain not in CONVERTED_DOMAINS:
        return False
    found = history(domain, operator)
    return found is None or not found.since_version(opset)


@lru_cache(maxsize=1 << 14)
def definition(domain: str, operator: str, opset: int) -> Definition | None:
    """The definition in force at `opset`, or that of an experimental operator there; None where there is none."""
    found = history(domain, operator)
    return (found.at(opset) if found else None) or experimental_definition(canonical_domain(domain), operator, opset)


@lru_cache(maxsize=1 << 14)
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


def infers_types(domain: str, operator: str, opset: int) -> bool:
    """Whether onnx infers the types of the outputs of an operator at `opset`; True also where there is no definition.

    Many of the oldest definitions have no inference.
    """
    found = definition(domain, operator, opset)
    return found is None or found.infers_types


@lru_cache(maxsize=1 << 14)
def has_operators_without_inference(domain: str, opset: int) -> bool:
    """Whether onnx infers no types for some operator of `domain` at `opset`."""
    return any(not infers_types(*key, opset) for key in histories() if key[0] == domain)


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
