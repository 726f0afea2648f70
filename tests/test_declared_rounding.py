"""Rounding is declared where a rule stands in the rule book: what a rule may do at run time is known before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from opsetlift.pipeline.convert import convert
from opsetlift.rulebook.book import RuleBook, default_rule_book
from opsetlift.rulebook.explain import explain
from opsetlift.rulebook.rounding import UndeclaredRounding
from opsetlift.rulebook.rule import Rule, in_turn, rounding
from opsetlift.rulebook.site import Site
from opsetlift.specification.history import Transition
from opsetlift.support.refusal import ConversionRefused, Why
from testing.conversion import model as model_of

RULES = sorted(default_rule_book().rules(), key=lambda pair: pair[0])
FLOOR = '<ir_version: 8, opset_import: ["": 12]> agraph (float[N] x) => (float[N] y) { y = Floor (x) }'
FLOOR_DOWN = Transition("", "Floor", 6, 13, True)


def _reached(function: Callable[..., Any]) -> Iterator[CodeType]:
    """The code of a rule and of everything in the rules and in `rulebook.rule` that it may call."""
    pending: list[Any] = [function]
    seen: set[int] = set()
    while pending:
        one = pending.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Rule):
            pending.append(one.apply)
        elif isinstance(one, (list, tuple)):
            pending.extend(one)
        elif isinstance(one, type) and one.__module__.startswith("opsetlift_rules."):
            pending.extend(vars(one).values())
        elif isinstance(one, property):
            pending.append(one.fget)
        elif isinstance(one, FunctionType) and one.__module__.startswith(
            ("opsetlift_rules.", "opsetlift.rulebook.rule", "tests.")
        ):
            pending.extend(transition.cell_contents for transition in one.__closure__ or ())
            for code in _codes(one.__code__):
                yield code
                pending.extend(one.__globals__[name] for name in code.co_names if name in one.__globals__)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _may_round(rule: Rule) -> bool:
    return rule.apply is not None and any("rounds" in code.co_names for code in _reached(rule.apply))


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(("where", "rule"), RULES, ids=[where for where, _ in RULES])
def test_what_may_round_at_run_time_is_declared(where: str, rule: Rule) -> None:
    assert rule.ulps or not _may_round(rule), f"{where}: {rule.name!r} may say that it rounds, and its entry does not"


@pytest.mark.parametrize(
    ("where", "rule"),
    [pair for pair in RULES if pair[1].when],
    ids=[where for where, rule in RULES if rule.when],
)
def test_what_rounds_at_some_sites_can_say_at_which(where: str, rule: Rule) -> None:
    assert _may_round(rule), f"{where}: {rule.name!r} rounds where {rule.when}, and never says so at run time"


def test_every_rounding_rule_says_why() -> None:
    assert [where for where, rule in RULES if rule.ulps and not rule.because] == []


def test_the_search_finds_what_helpers_and_classes_round() -> None:
    found = dict(RULES)
    # By a class of another module, by a helper of another module, and by a rule of `in_turn`.
    for where in ("Resize 11→10", "Attention below 23", "LpPool 18→11"):
        assert _may_round(found[where])
    assert not _may_round(found["Clip 11→6"])


def book_with(rule: Rule) -> RuleBook:
    module = ModuleType("of_this_test")
    module.STEPS = []  # type: ignore[attr-defined]
    book = RuleBook([module])
    book._add(FLOOR_DOWN, rule, "of_this_test", "")
    return book


def claims(ulps: int | None = None, **digits: int) -> Callable[[Site], None]:
    def is_written_anew(site: Site) -> None:
        site.rounds(ulps, **digits)
        site.replace(site.op.copy(*site.inputs))

    return is_written_anew


def converted_with(rule: Rule, **options: Any) -> list[int]:
    conversion = convert(model_of(FLOOR), to=13, rule_book=book_with(rule), prove=False, **options)
    return [rewrite.ulps for rewrite in conversion.report.rewrites]


def is_copied(site: Site) -> None:
    site.replace(site.op.copy(*site.inputs))


def test_a_rule_may_claim_what_it_declares_or_less() -> None:
    assert converted_with(rounding(claims(), ulps=4, because="it may")) == [4]
    assert converted_with(rounding(claims(1), ulps=4, because="it may")) == [1]
    assert converted_with(rounding(claims(0), ulps=4, because="it may")) == [0]
    assert converted_with(rounding(claims(2, fewer_digits=3), ulps=4, fewer_digits=3, because="it may")) == [16]


def test_a_condition_leaves_other_sites_exact() -> None:
    assert converted_with(rounding(is_copied, ulps=4, because="it may")) == [4]
    assert converted_with(rounding(is_copied, ulps=4, because="it may", when="it is dark")) == [0]
    assert converted_with(rounding(is_copied, ulps=4, because="it may", when="it is dark"), exact=True) == [0]


def test_exact_refuses_what_a_site_claims() -> None:
    with pytest.raises(ConversionRefused) as caught:
        converted_with(rounding(claims(), ulps=4, because="of the moon", when="it is dark"), exact=True)
    assert [one.why for one in caught.value.refusals] == [Why.ROUNDING]
    assert "of the moon" in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        Rule("exact", claims(1)),
        rounding(claims(5), ulps=4, because="it may"),
        rounding(claims(4, fewer_digits=1), ulps=4, because="it may"),
        in_turn(is_copied, claims(1)),
    ],
    ids=["undeclared", "further than declared", "of a narrower stage than declared", "undeclared in turn"],
)
def test_what_is_not_declared_is_no_rounding(rule: Rule) -> None:
    with pytest.raises(UndeclaredRounding):
        rule.bound.claim(5, fewer_digits=1)


def test_rules_in_turn_say_each_where_they_round() -> None:
    with pytest.raises(ValueError, match="`when`"):
        in_turn(rounding(claims(), ulps=4, because="it may"), is_copied)


class TestTheRuleBook:
    book = default_rule_book()

    def test_knows_the_largest_bound_of_each_rule(self) -> None:
        assert self.book.largest_ulps(Transition("", "Celu", 0, 12, False), "decompose celu") == 4
        assert self.book.largest_ulps(Transition("", "Relu", 6, 13, True), "unchanged") == 0

    def test_knows_no_rule_of_another_name_or_transition(self) -> None:
        assert self.book.largest_ulps(Transition("", "Celu", 0, 12, False), "made up") is None
        assert self.book.largest_ulps(Transition("", "NoSuchOperator", 1, 2, True), "unchanged") is None
        assert self.book.largest_ulps(Transition("", "Relu", 2, 99, True), "unchanged") is None

    def test_bounds_of_stages_hang_on_the_dtypes_at_the_site(self) -> None:
        transition, rule = Transition("", "LayerNormalization", 0, 17, False), "decompose layer normalization"
        assert self.book.largest_ulps(transition, rule, ["float", "int64"]) == 8
        assert self.book.largest_ulps(transition, rule, ["float", "double"]) == 8 << 29
        assert self.book.largest_ulps(transition, rule) == 8 << 45

    def test_knows_what_stands_in_for_a_runtime(self) -> None:
        transition = Transition("", "BatchNormalization", 13, 13, False)
        assert self.book.largest_ulps(transition, "compute batch statistics") == 8
        assert self.book.largest_ulps(transition, "what is constant needs no kernel") == 0


def test_explain_knows_before_a_conversion_does() -> None:
    rules = [rule for step in explain("Resize", (10, 11)).steps for rule in step.rules]
    assert [rule.exactness.startswith("within 32 ULP") for rule in rules] == [False, True]
