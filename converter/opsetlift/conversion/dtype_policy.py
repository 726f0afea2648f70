"""Other dtypes for a model, because somebody asked for them: never by default, and never exact.

A runtime may lack a dtype that a model uses. Nothing that computes in another dtype computes the same, so the change
is for users to decide; what it did is in the report, and how near the results are is tried on the whole model.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnx import ModelProto, TensorProto

from opsetlift.conversion.retyping import FLOATS, INTEGERS, Retyped, changed_type, retype
from opsetlift.conversion.specialise import specialisable, specialise
from opsetlift.facts import ModelFacts
from opsetlift.model.scopes import FunctionKey, called_function_key, function_key, function_path, root_path
from opsetlift.specification.dtypes import dtype_name
from opsetlift.specification.wider_dtypes import holds
from opsetlift.support.arguments import of_kind
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.refusal import ConversionRefused, Refusal, Why

KEEP, CHANGE = "keep", "change"
"""What becomes of inputs and outputs of the model."""

_MOST_FUNCTIONS = 1000


class UnusableDtypes(OpsetLiftError, ValueError):
    """A change of dtypes that is not made; the message is one sentence."""


@dataclass(frozen=True)
class DtypePolicy:
    """Which dtype stands for which, and whether the model's inputs and outputs keep theirs."""

    changes: Mapping[str, str]
    interface: str = KEEP

    @classmethod
    def of(cls, changes: Mapping[str, str], interface: str = KEEP) -> DtypePolicy:
        """Raises UnusableDtypes for what is not done."""
        for old, new in changes.items():
            _check(old, new)
            if new in changes:
                raise UnusableDtypes(
                    f"{old}={new} and {new}={changes[new]} cannot be chained: give the final dtype of {old}"
                )
        if interface not in (KEEP, CHANGE):
            raise UnusableDtypes(f"--dtype-interface takes {KEEP} or {CHANGE}, not {interface!r}")
        return cls(dict(changes), interface)

    @property
    def keeps_interface(self) -> bool:
        """Whether inputs and outputs of the model keep their dtypes."""
        return self.interface == KEEP

    @property
    def shown(self) -> str:
        """The changes for people: "int64=int32, double=float"."""
        return ", ".join(f"{old}={new}" for old, new in self.changes.items())


_DTYPES = frozenset(map(dtype_name, filter(None, TensorProto.DataType.values())))


def _check(old: str, new: str) -> None:
    for kind in (INTEGERS, FLOATS):
        if old in kind and new in kind and old != new:
            return
    for name in (old, new):
        if of_kind(name, str, "a dtype", "a name as 'int64'") not in _DTYPES:
            near = difflib.get_close_matches(name, _DTYPES, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UnusableDtypes(f"{old}={new}: there is no dtype {name!r}{hint}")
    raise UnusableDtypes(
        f"{old}={new} is not supported: a dtype can be replaced among {_listed(INTEGERS)}, or among {_listed(FLOATS)}; "
        "smaller dtypes depend on scales and zero points, so they cannot be replaced"
    )


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def dtype_that_would_do(refused: str, also_refused: frozenset[str]) -> str:
    """The dtype to ask for where a runtime refuses one; "" where there is none."""
    for kind in (INTEGERS, FLOATS):
        if refused in kind:
            narrower_first = (*kind[kind.index(refused) + 1 :], *reversed(kind[: kind.index(refused)]))
            near = ("float", "int32", *narrower_first) if refused != "float" else narrower_first
            return next((one for one in near if one in kind and one != refused and one not in also_refused), "")
    return ""


@dataclass(frozen=True)
class DtypeChanges:
    """What a policy did, for the report."""

    policy: str
    interface: str
    values: int
    """How many values that nodes compute have another dtype."""
    constants: int
    casts: int
    """How many Cast nodes were added."""
    kept: tuple[str, ...]
    """Why values kept their dtype."""
    clamped: Mapping[str, float] = field(default_factory=dict)
    """Constants with floats beyond the range, which became the largest in it, and the smallest magnitude of these."""
    narrowed_integers: tuple[str, ...] = ()
    """The integer dtypes that hold less than those that they stand for."""
    is_exact: bool = False
    """Never: another dtype rounds and overflows elsewhere."""

    @property
    def sentence(self) -> str:
        """For people."""
        if not (self.values or self.constants or self.casts):
            return f"{self.policy}: there was nothing to change"
        return (
            f"{self.policy}, not exact: {self.values} computed values and {self.constants} constants changed, "
            f"{self.casts} Cast nodes added at the borders"
        )

    @property
    def caution(self) -> str:
        """What was checked of ranges, and what was not; "" where no range became smaller."""
        if not (self.narrowed_integers and (self.values or self.casts)):
            return ""
        return (
            f"Constants were checked against the range of {', '.join(self.narrowed_integers)}; computed values beyond "
            "it wrap around (TensorRT, which casts by itself, clamps them)"
        )


def apply(model: ModelProto, policy: DtypePolicy, base_dir: str = "") -> tuple[ModelProto, DtypeChanges]:
    """A copy of a model with other dtypes, and what was done. Raises ConversionRefused."""
    if model.training_info:
        sentence = "dtypes cannot be changed in a model with training info"
        raise ConversionRefused([Refusal(Why.DTYPE_NOT_AVAILABLE, sentence, "", "", "training_info[0]", "")])
    model, facts = _with_typed_functions(model, policy, base_dir)
    retyped = retype(model, facts, policy.changes, keep_interface=policy.keeps_interface)
    return retyped.model, _changes(policy, retyped)


def _changes(policy: DtypePolicy, retyped: Retyped) -> DtypeChanges:
    kept = tuple(
        sentence if count == 1 else f"{sentence} ({count} nodes)" for sentence, count in _ordered(retyped.kept)
    )
    return DtypeChanges(
        policy=policy.shown,
        interface=policy.interface,
        values=retyped.values,
        constants=retyped.constants,
        casts=retyped.casts,
        kept=kept,
        clamped=retyped.clamped,
        narrowed_integers=tuple(new for old, new in policy.changes.items() if old in INTEGERS and not holds(new, old)),
    )


def _ordered(kept: Counter[str]) -> list[tuple[str, int]]:
    return sorted(kept.items(), key=lambda item: (-item[1], item[0]))


def _with_typed_functions(model: ModelProto, policy: DtypePolicy, base_dir: str) -> tuple[ModelProto, ModelFacts]:
    """A function in which types depend on the caller, changing ones among them, becomes one function per call."""
    while True:
        facts = ModelFacts(model, base_dir)
        generic = specialisable(model, set(_untyped(facts, policy))) if model.functions else set()
        if not generic or len(model.functions) > _MOST_FUNCTIONS:
            return model, facts
        model, _ = specialise(model, generic)


def _untyped(facts: ModelFacts, policy: DtypePolicy) -> Iterator[FunctionKey]:
    for function in facts.model.functions:
        scope = facts.function_scope(function)
        names = [*function.input, *(name for node in function.node for name in node.output if name)]
        if any(scope.type_string(name) is None for name in names) and _is_touched(
            facts, function_key(function), policy
        ):
            yield function_key(function)


def _is_touched(facts: ModelFacts, key: FunctionKey, policy: DtypePolicy) -> bool:
    """Whether a call of a function passes on or gives a value of a dtype that changes, or a body has one inside."""
    path = function_path(facts.functions[key])
    for scope in facts.all_scopes():
        for node in scope.container.node:
            is_inside = root_path(scope.path) == path
            if (called_function_key(node) == key or is_inside) and any(
                changed_type(scope.type_string(name), policy.changes) for name in (*node.input, *node.output) if name
            ):
                return True
    return False


def dtypes_from(texts: Sequence[str]) -> dict[str, str]:
    """The changes that a command line spells as "int64=int32". Raises UnusableDtypes."""
    found: dict[str, str] = {}
    for text in texts:
        old, separator, new = text.partition("=")
        old, new = _ALIASES.get(old.strip(), old.strip()), _ALIASES.get(new.strip(), new.strip())
        if not separator or not old or not new:
            raise UnusableDtypes(f"--dtype takes FROM=TO, such as int64=int32, not {text!r}")
        if found.setdefault(old, new) != new:
            raise UnusableDtypes(f"{old} cannot become both {found[old]} and {new}")
    return found


_ALIASES: dict[str, Any] = {"float32": "float", "float64": "double"}
