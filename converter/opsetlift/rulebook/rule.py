"""What rule modules are made of: Step, Introduction, and the few ways to say a rule.

A rule is a function that takes a site across one transition. Its name is shown to people ("axes_become_input"), so it
is named for what happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from opsetlift.model.arrays import tensor_of
from opsetlift.rulebook.rounding import RoundingBound
from opsetlift.rulebook.site import Site, widen, widen_if_lost, widen_to_kernel
from opsetlift.specification.dtypes import DIGITS
from opsetlift.support.refusal import Why

Apply = Callable[[Site], None]


@dataclass(frozen=True)
class Rule:
    """A rule as the rule book holds it; plain functions become one by themselves."""

    name: str
    apply: Apply | None
    """None leaves the node as it is."""
    ulps: int = 0
    """0 for an exact rule; else the largest bound that a site of a rounding rule may claim, in units in the last place
    of the largest magnitude in the result."""
    fewer_digits: int = 0
    """By how many binary digits a stage of the rewrite may be narrower than the result: the bound then counts units in
    the last place of that stage."""
    when: str = ""
    """Which sites round, in words; "" where all do. Others are exact: with it a site rounds where the rule says so."""
    refuses: Why | None = None
    """Set where the rule does nothing but refuse, by design."""
    because: str = ""
    """Why it is right (for `unchanged`), rounds, or refuses."""

    for_lost_types: bool = False
    """Whether it leaves every site alone that has no value of a type that the destination version lacks."""
    before_bodies: bool = False
    """Whether sites with values of such types are given to it before their subgraphs are converted."""

    @property
    def is_exact(self) -> bool:
        """Whether results have the same bits."""
        return self.ulps == 0

    @property
    def bound(self) -> RoundingBound:
        """What a site may claim."""
        return RoundingBound(self.ulps, self.fewer_digits)

    @property
    def exactness(self) -> str:
        """For people: "exact", or the bound and where it applies."""
        if not self.ulps:
            return "exact"
        unit = " of the narrowest dtype involved" if self.fewer_digits else ""
        return f"within {self.ulps} ULP{unit}" + (f" where {self.when}" if self.when else "")

    def largest_ulps(self, dtypes: Iterable[str] | None = None) -> int:
        """The largest bound that a site may claim, in units in the last place of its results.

        Args:
            dtypes: The dtypes of all values at the site, where they are known: a stage cannot be narrower than these.
        """
        digits = [DIGITS[one] for one in dtypes if one in DIGITS] if dtypes is not None else list(DIGITS.values())
        spread = max(digits) - min(digits) if digits else 0
        return self.ulps << min(self.fewer_digits, spread)


RuleLike = Rule | Apply

unchanged = Rule("unchanged", None)
"""The node means the same in both versions. The walk's type gate refuses dtypes that the destination version lacks."""


def _becomes_its_values(site: Site) -> None:
    values = [site.content(name) if name else None for name in site.node.output]
    # An initializer of the output's name, where it can be: few runtimes see a constant behind an Identity.
    if len(values) == 1 and values[0] is not None and site.become_initializer(tensor_of(values[0])):
        return
    site.replace(*(None if value is None else site.constant(value) for value in values))


becomes_its_values = Rule("what is constant needs no kernel", _becomes_its_values)
"""For a runtime that does not take a node as it is written, where the node computes the same in every run."""


def _leaves_out_absent_inputs(site: Site) -> None:
    inputs = site.inputs
    while inputs and not inputs[-1]:
        inputs.pop()
    results = site.op.copy(*(name or None for name in inputs))
    results = [results] if isinstance(results, str) else results
    site.replace(*(result if name else None for result, name in zip(results, site.node.output, strict=True)))


leaves_out_absent_inputs = Rule("trailing inputs without a name are left out", _leaves_out_absent_inputs)
"""For a runtime that fails on names that are empty, though they mean the same as none."""


def rounding(rule: RuleLike, *, ulps: int, because: str, when: str = "", fewer_digits: int = 0) -> Rule:
    """The same mathematics with other rounding.

    Args:
        rule: What is done. It may claim less for a site: `site.rounds(1)`.
        ulps: The largest bound, in units in the last place of the result's largest magnitude.
        because: Why results may differ.
        when: Which sites round, in words that follow "where"; others are exact. The rule says at run time which ones
            these are: `site.rounds()`.
        fewer_digits: By how many binary digits a stage may be narrower than the result; see `Rule.fewer_digits`.
    """
    return replace(as_rule(rule), ulps=ulps, because=because, when=when, fewer_digits=fewer_digits)


def for_lost_types(function: Apply) -> Rule:
    """A rule that leaves every site alone that has no value of a type that the destination version lacks.

    To be said of a function that looks for such dtypes first: most models have none of them, and are spared the look.
    """
    return replace(as_rule(function), for_lost_types=True)


def before_bodies(rule: RuleLike) -> Rule:
    """A rule that gets sites with values of types that the destination version lacks, with subgraphs not yet converted.

    `op.given` gives it these as they are. What computes such values is lowered to parts, even if the target has the
    type.
    """
    return replace(as_rule(rule), before_bodies=True)


def refused(why: Why, because: str) -> Rule:
    """A transition that no site can cross, by design; `because` is the sentence that users read."""

    def refuse(site: Site) -> None:
        site.refuse(why, because)

    return Rule("refused", refuse, refuses=why, because=because)


def refused_unless_constant(because: str) -> Rule:
    """A transition that a site can only cross where it computes the same in every run: then it becomes its values."""

    def values_or_refusal(site: Site) -> None:
        values = [site.content(name) if name else None for name in site.node.output]
        if any(value is None and name for value, name in zip(values, site.node.output, strict=True)):
            site.refuse(Why.NO_EQUIVALENT, because)
        site.replace(*(None if value is None else site.constant(value) for value in values))

    return Rule("refused", values_or_refusal, refuses=Why.NO_EQUIVALENT, because=because)


def in_turn(*rules: RuleLike) -> Rule:
    """Rules that edit the node in place, one after the other; one that replaces the node ends the turn."""
    named = [as_rule(rule) for rule in rules]

    def apply(site: Site) -> None:
        for rule in named:
            if rule.apply is not None and not site.is_replaced:
                rule.apply(site)

    round_some = [rule for rule in named if rule.ulps]
    if any(not rule.when for rule in round_some):
        raise ValueError("of rules in turn each that rounds says where it does (`when`)")
    return Rule(
        ", ".join(rule.name for rule in named),
        apply,
        ulps=max((rule.ulps for rule in round_some), default=0),
        fewer_digits=max((rule.fewer_digits for rule in round_some), default=0),
        when=" or ".join(dict.fromkeys(rule.when for rule in round_some)),
        because="; ".join(dict.fromkeys(rule.because for rule in round_some)),
        for_lost_types=all(rule.for_lost_types for rule in named),
        before_bodies=any(rule.before_bodies for rule in named),
    )


def exact_cast(*dtypes: str, through: str) -> Rule:
    """Sites whose first input has one of `dtypes` compute in the wider dtype `through`; others stay as they are.

    For operators with one type variable whose result is a value of the input dtype whenever the wider result is one;
    `dtypes` are those that the destination version lacks.
    """

    def cast_through(site: Site) -> None:
        if site.dtype(0) in dtypes:
            widen(site, through)

    return Rule(f"cast through {through}", cast_through, for_lost_types=True)


def rounded_cast(*dtypes: str, through: str, because: str) -> Rule:
    """As `exact_cast`, for results that the narrow dtype does not hold: they are rounded to it once."""

    def cast_and_round(site: Site) -> None:
        if site.dtype(0) in dtypes:
            site.rounds()
            widen(site, through)

    rule = replace(as_rule(cast_and_round), name=f"cast through {through}", for_lost_types=True)
    return rounding(rule, ulps=1, because=because, when=f"the dtype is {' or '.join(dtypes)}")


def widen_values(*, like: int = 0) -> Rule:
    """For operators that only move values: cast to a wider dtype where the one of input `like` is not there any more.

    The dtype holds every value exactly, and Cast takes both there; where there is none, the type gate refuses.
    """

    def cast_through_wider_type(site: Site) -> None:
        widen_if_lost(site, like=like)

    return Rule("cast through a wider type", cast_through_wider_type, for_lost_types=True)


def widen_for_runtime() -> Rule:
    """A fallback where the result does not hang on the dtype of the values: in one that the runtime computes."""

    def cast_through_a_dtype_with_a_kernel(site: Site) -> None:
        widen_to_kernel(site, like=0)

    return Rule("cast through a dtype that the runtime computes", cast_through_a_dtype_with_a_kernel)


def as_rule(rule: RuleLike) -> Rule:
    """The rule itself, or a function as an exact rule named after it."""
    if isinstance(rule, Rule):
        return rule
    return Rule(rule.__name__.replace("_", " "), rule)


@dataclass(frozen=True)
class Step:
    """How sites of `operator` cross between two adjacent since-versions."""

    operator: str
    older: int
    newer: int
    up: RuleLike = field(kw_only=True)
    down: RuleLike = field(kw_only=True)
    because: str = field(default="", kw_only=True)
    """For a step whose text changed but whose meaning did not: what was compared."""
    domain: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Fallback:
    """What computes the same as a node of `operator` whose dtypes or form a runtime does not accept.

    What it emits is checked for the runtime in the same way.
    """

    operator: str
    rule: RuleLike
    otherwise: RuleLike | None = field(default=None, kw_only=True)
    """What is tried where the runtime does not take what the rule emits either."""
    domain: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class ExperimentalOperator:
    """How sites of an operator that never had a version are written in operators of opset `until`, which have one.

    From that opset on onnx had the experimental operator no longer. The rule applies to upgrades and downgrades.
    """

    operator: str
    until: int = field(default=10, kw_only=True)
    lowered: RuleLike = field(kw_only=True)


@dataclass(frozen=True)
class Introduction:
    """How sites of an operator introduced at `since` are lowered to older operators."""

    operator: str
    since: int
    down: RuleLike = field(kw_only=True)
    domain: str = field(default="", kw_only=True)
