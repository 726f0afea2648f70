"""How a definition is tried on the evaluator and on onnxruntime, and how their differences are written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy
import onnxruntime
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from opsetlift.specification.history import histories
from tests.evaluator.onnxruntime_judge import NotThere, OneNode, evaluate_or_none, onnxruntime_outputs, same

Tolerance = float | Mapping[str, float]
"""Absolute and relative, for all dtypes or by the dtype's name (0 where it is not named)."""


@dataclass(frozen=True)
class Disagreement:
    """Nodes on which the two differ, who is right by the text, and an example that is checked to be real."""

    operator: str
    right: str
    because: str
    applies: Callable[[OneNode], bool]
    example: OneNode
    until: tuple[int, int] | None = None
    """The first release of onnxruntime that agrees with the evaluator."""

    @property
    def is_resolved(self) -> bool:
        """Whether the installed onnxruntime is to agree."""
        return self.until is not None and release() >= self.until


def release() -> tuple[int, int]:
    """The installed onnxruntime's."""
    major, minor = onnxruntime.__version__.split(".")[:2]
    return int(major), int(minor)


@cache
def newest_judged_opset() -> int:
    """The newest opset that onnxruntime executes."""
    probe = numpy.ones(1, numpy.float32)
    return max(opset for opset in range(13, 40) if _runs(OneNode("Neg", opset, [probe])))


@cache
def newest_kernels() -> Mapping[tuple[str, str], int]:
    """Per operator the newest definition for which onnxruntime has a kernel; without those that it only expands."""
    found: dict[tuple[str, str], int] = {}
    for one in onnxruntime.capi.onnxruntime_pybind11_state.get_all_opkernel_def():
        if one.provider == "CPUExecutionProvider":
            oldest, newest = one.version_range
            # A range without an end is of the definition that it begins with.
            version = oldest if newest == 2**31 - 1 else newest
            found[one.domain, one.op_name] = max(version, found.get((one.domain, one.op_name), 0))
    return found


def _runs(case: OneNode) -> bool:
    try:
        return onnxruntime_outputs(case) is not None
    except NotThere:
        return False


def judged_opsets(operator: str, domain: str = "") -> list[int]:
    """One opset for each definition, of onnx's own domain from opset 7 on: below it onnxruntime promises nothing.

    Left out are definitions without a function body that are newer than the operator's kernels: onnxruntime loads
    opsets before it has all their kernels.
    """
    definitions = histories()[domain, operator].definitions
    oldest = 1 if domain else 7
    newest = newest_kernels().get((domain, operator))
    versions = set()
    for version, definition in definitions.items():
        schema = definition.schema
        is_expanded = schema.has_function or schema.has_context_dependent_function
        if not schema.deprecated and (newest is None or version <= newest or is_expanded):
            versions.add(max(version, oldest))
    return [opset for opset in sorted(versions) if domain or opset <= newest_judged_opset()]


def compared_examples(
    strategy: SearchStrategy[OneNode],
    disagreements: Sequence[Disagreement],
    *,
    examples: int,
    tolerance: Tolerance = 0.0,
) -> int:
    """Draw nodes and compare both sides, but for listed disagreements; gives how many nodes both executed."""
    compared = 0
    known = [entry for entry in disagreements if not entry.is_resolved]

    @settings(
        max_examples=examples, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def check(case: OneNode) -> None:
        nonlocal compared
        if any(entry.operator == case.operator and entry.applies(case) for entry in known):
            return
        try:
            theirs = onnxruntime_outputs(case)
        except NotThere:
            return
        ours = evaluate_or_none(case)
        assert ours is not None, "the strategies draw legal nodes, this one was rejected"
        assert _same_within(ours, theirs, tolerance)
        compared += 1

    check()
    return compared


def is_real(entry: Disagreement, *, tolerance: Tolerance = 0.0) -> bool:
    """Whether the two differ on the entry's example, or agree where the installed onnxruntime is to."""
    theirs = onnxruntime_outputs(entry.example)
    agree = _same_within(evaluate_or_none(entry.example), theirs, tolerance)
    return agree == entry.is_resolved and entry.applies(entry.example)


def _same_within(ours: list[Any] | None, theirs: list[Any] | None, tolerance: Tolerance) -> bool:
    if isinstance(tolerance, Mapping):
        tolerance = max((tolerance.get(value.dtype.name, 0.0) for value in theirs or ()), default=0.0)
    return same(ours, theirs, tolerance, tolerance)
