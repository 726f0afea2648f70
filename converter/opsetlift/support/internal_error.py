"""Faults of OpsetLift, or of a package whose rules it applies. The model did not cause them; they are no refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from typing import Any

from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.refusal import Refusal

_OWN_PACKAGES = frozenset(("opsetlift_rules", "opsetlift"))


@dataclass(frozen=True)
class Fault:
    """One unexpected error, and where it happened."""

    error: BaseException
    what: str
    """What failed: "rule 'move axes to an input' of opsetlift_rules.reductions"."""
    module: str
    """The module that is to be mended, as far as it is known."""
    operator: str = ""
    node: str = ""
    """The node's name, or its first output where it has none."""
    path: str = ""
    """The scope: "graph", "graph/If_3.then_branch", "function:domain:name"."""
    transition: str = ""

    @property
    def package(self) -> str:
        """The distribution that holds the module: "OpsetLift", or that of a third party."""
        top = self.module.partition(".")[0]
        if not top or top in _OWN_PACKAGES:
            return "OpsetLift"
        return ", ".join(packages_distributions().get(top, [top]))

    def __str__(self) -> str:
        where = f" at {self.operator} {self.node!r} in {self.path}" if self.operator else ""
        transition = f", {self.transition}" if self.transition else ""
        text = " ".join(str(self.error).split())[:300]
        return f"{self.what}{transition} failed{where} with {type(self.error).__name__}: {text}"

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        return {
            "what": self.what,
            "package": self.package,
            "module": self.module,
            "operator": self.operator,
            "node": self.node,
            "path": self.path,
            "transition": self.transition,
            "error": type(self.error).__name__,
            "message": str(self.error),
        }


class InternalError(OpsetLiftError):
    """OpsetLift, or a package whose rules it applies, has a defect. The first fault's error is the cause (`__cause__`).

    Attributes:
        faults: Every fault that was met.
        refusals: What else stands in the way of the conversion, as far as it was found.
    """

    def __init__(self, faults: Sequence[Fault], refusals: Sequence[Refusal] = ()) -> None:
        self.faults = tuple(faults)
        self.refusals = tuple(refusals)
        super().__init__("; ".join(map(str, self.faults)))
        self.__cause__ = self.faults[0].error


def internal_error(error: BaseException, what: str) -> InternalError:
    """The InternalError for one unexpected error of ours."""
    return InternalError([Fault(error, what, "opsetlift")])


def how_to_report(faults: Sequence[Fault]) -> str:
    """What to do about faults, in one sentence."""
    packages = dict.fromkeys(fault.package for fault in faults)
    return (
        f"The model is not to blame. Please report this to the authors of {' and '.join(packages)}, with this message, "
        "the command or call, the output of `opsetlift --version`, the traceback that OPSETLIFT_TRACEBACK=1 shows and, "
        "if you may, the model without its weights."
    )


def as_json(error: InternalError) -> dict[str, Any]:
    """For JSON."""
    return {
        "status": "internal error",
        "faults": [fault.as_dict() for fault in error.faults],
        "refusals": [refusal.as_dict() for refusal in error.refusals],
    }
