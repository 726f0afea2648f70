"""ONNX's own tests in other forms at other opsets: what becomes of each, beside what becomes of the test as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opsetlift.model.files import validate_model
from testing.cases import Case
from testing.corpus import Result, absolute_tolerance, computes_the_same, judge
from testing.transforms import Transform

UNJUDGED = "unjudged"
"""The outcome where the transformed test itself does not run, so that no conversion of it can be judged."""


@dataclass(frozen=True)
class Outcome:
    """One test in one form at one target, and what became of it as it was."""

    transform: str
    result: Result
    plain: str
    """The outcome of the test that was not transformed; empty where nobody asked."""

    @property
    def kind(self) -> str:
        """The outcome; "refused anew" where the test was converted as it was, and in this form is refused."""
        is_new = self.result.outcome == "refused" and self.plain == "correct" and self.result.interface_exists
        return "refused anew" if is_new else self.result.outcome

    @property
    def is_bad(self) -> bool:
        """Whether the conversion failed in another way than by a refusal that the plain test shares."""
        return self.kind not in ("correct", "refused")

    def __str__(self) -> str:
        one = self.result
        return f"{self.kind}: {one.name} {self.transform} {one.source}->{one.target}: {one.detail}"


def transformed(case: Case, transform: Transform) -> Case | None:
    """A test in another form, judged by the tolerances that it has in its own."""
    changed = transform.apply(case)
    if changed is None:
        return None
    return replace(changed, atol=absolute_tolerance(case, changed.expected()))


def outcomes(case: Case, transform: Transform, targets: tuple[int, ...], *, ort: bool = False) -> list[Outcome]:
    """A test in one form at each target."""
    changed = transformed(case, transform)
    if changed is None:
        return []
    if transform.is_legal and (reason := _why_unjudged(changed)):
        return [Outcome(transform.name, Result(case.name, case.opset, case.opset, UNJUDGED, reason), "")]
    found = []
    for target in targets:
        if target != changed.opset:
            result = judge(changed, target, "opsetlift", ort, complaint=transform.complaint)
            plain = judge(case, target, "opsetlift", False).outcome if result.outcome == "refused" else ""
            found.append(Outcome(transform.name, result, plain))
    return found


def _why_unjudged(case: Case) -> str:
    try:
        validate_model(case.model)
        return computes_the_same(case, case.model, False) or ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
