"""Refusals: why a site cannot cross a transition, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from opsetlift.support.errors import OpsetLiftError


class Why(Enum):
    """The closed list of reasons. Each refusal adds a sentence of its own."""

    NOT_WRITTEN = "no rule covers this version transition yet"
    NO_EQUIVALENT = "nothing at the target version computes the same"
    DTYPE_NOT_AVAILABLE = "the target version does not accept this dtype, and no wider type represents it exactly"
    DTYPE_UNKNOWN = "the conversion depends on a dtype that cannot be inferred"
    RANK_UNKNOWN = "the conversion depends on a rank that cannot be inferred"
    SHAPE_UNKNOWN = "the conversion depends on a shape that cannot be inferred"
    INPUT_NOT_CONSTANT = "the target version needs a constant input, and this one is computed at run time"
    ATTRIBUTE_REFERENCE = "the attribute refers to a parameter of a function, and the target version needs its value"
    TRAINING_MODE = "the node is in training mode, which the target version does not support"
    INVALID_MODEL = "the model breaks the specification of its own opset"
    UNKNOWN_OPERATOR = "no such operator exists at the model's opset"
    ROUNDING = "the only rule changes rounding, and exact rules were requested"
    IR_VERSION = "the IR version cannot hold this"
    TARGET = "the runtime does not accept this"


@dataclass(frozen=True)
class Refusal:
    """One reason why a model cannot be converted, and where."""

    why: Why
    sentence: str
    """What stands in the way and what could be done, for people."""
    operator: str
    node: str
    """The node's name, or its first output where it has none."""
    path: str
    """The scope: "graph", "graph/If_3.then_branch", "function:domain:name"."""
    transition: str
    """The transition that could not be applied, "ReduceMin 18→13"; empty for refusals of the whole model."""
    possible_at: tuple[str, int] | None = field(default=None, compare=False)
    """A domain and the last opset of it before that transition; None where there is none."""
    origin: str = field(default="", compare=False)
    """What the node is called in whose place `node` stands, where that is no node of the original."""

    @property
    def place(self) -> str:
        """The node and its scope, or the scope alone."""
        return f"{self.operator} {self.node!r} in {self.path}" if self.node else self.path

    def __str__(self) -> str:
        where = self.place
        return f"{where}, {self.transition}: {self.sentence}" if self.transition else f"{where}: {self.sentence}"

    def as_dict(self) -> dict[str, str]:
        """For JSON."""
        texts = {name: value for name, value in vars(self).items() if name not in ("why", "possible_at", "origin")}
        return {"why": self.why.name, **texts}


@dataclass(frozen=True)
class Nearest:
    """Where a model that was refused can be taken."""

    opsets: Mapping[str, int]
    """By domain: as near as possible to what was asked for, between it and the opsets of the model."""
    own: Mapping[str, int]
    """The opsets that the model has."""
    ir_version: int | None = None
    """The IR version, where the one that was asked for is in the way."""
    not_for: str = ""
    """The runtime that was asked for and does not take the model at these opsets."""

    @property
    def shown(self) -> dict[str, int]:
        """The opsets, the default domain spelt "ai.onnx"."""
        return {domain or "ai.onnx": opset for domain, opset in self.opsets.items()}

    @property
    def sentence(self) -> str:
        """For people."""
        opsets = ", ".join(f"{domain} {opset}" for domain, opset in self.shown.items())
        if self.ir_version is not None:
            return f"The nearest IR version that works is {self.ir_version}, at {opsets}."
        runtime = f", which {self.not_for} does not accept" if self.not_for else ""
        if self.opsets == self.own:
            return f"No opset nearer to the requested one works than the model's own: {opsets}{runtime}."
        return f"The nearest opset that works is {opsets}{runtime}."


_SHOWN = 20
"""How many refusals the exception's text lists; `refusals` has all of them."""


class ConversionRefused(OpsetLiftError):
    """The model cannot be converted; `refusals` holds every reason in the model, in the order of the nodes."""

    find_nearest: Callable[[], Nearest | None] | None = None
    """What `nearest` calls."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        shown = [str(refusal) for refusal in self.refusals[:_SHOWN]]
        if len(self.refusals) > _SHOWN:
            shown.append(f"... and {len(self.refusals) - _SHOWN} more")
        super().__init__("\n".join(shown))

    def __reduce__(self) -> tuple[type[ConversionRefused], tuple[Sequence[Refusal]]]:
        """Without the search for what would work, which needs the model."""
        return type(self), (self.refusals,)

    @cached_property
    def nearest(self) -> Nearest | None:
        """The nearest opsets or IR version at which the conversion works, found by dry runs when first asked for.

        None where there are none.
        """
        return self.find_nearest() if self.find_nearest is not None else None


class SiteRefused(Exception):
    """Raised by a rule through `Site.refuse`; the walk turns it into a Refusal."""

    def __init__(self, why: Why, sentence: str) -> None:
        self.why = why
        self.sentence = sentence
        super().__init__(sentence)
