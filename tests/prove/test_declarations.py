"""What rules declare of values that they add, in value_info and in subgraphs, is compared with what is computed."""

from __future__ import annotations

import pytest

from opsetlift.proof import Outcome, SiteRecord
from tests.prove.conversions import conversion

ORIGINAL = "g (float[N, 4] x) => (float[N, 1] y) { y = ReduceSum <axes = [1]> (x) }"
RESULT = (
    "g (float[N, 4] x) => (float[N, 1] y) <%s> { t = Identity (x) s = ReduceSum <axes = [1]> (t) y = Identity (s) }"
)


def site_of(original: str, result: str, claims: list[tuple[int, int, int]]) -> SiteRecord:
    found = conversion(original, result, (11, 12), claims=claims).prove()
    assert not found.structure
    (site,) = found.sites
    return site


@pytest.mark.parametrize(
    "declared",
    ["float[N, 4] t", "float[A, B] t", "float[N, 1] s, float[N, 4] t", "float[N, 1] y", "float[M, M2] s"],
)
def test_what_is_so_may_be_declared(declared: str) -> None:
    assert site_of(ORIGINAL, RESULT % declared, [(0, 0, 3)]).outcome is Outcome.EQUAL


@pytest.mark.parametrize(
    "declared",
    [
        "double[N, 4] t",
        "float[N, 4, 1] t",
        "float[N] t",
        "float[N, 5] t",
        "float[3, 4] t",
        "float[N, N] t",
        "float[A, A] t",
        "float[N, 4] t, float[N, 4] s",
        "float[A, B] t, float[B, 1] s",
    ],
    ids=["dtype", "rank", "lower rank", "size", "an open size", "symbol", "equal symbols", "another", "both"],
)
def test_what_is_not_so_is_refuted(declared: str) -> None:
    site = site_of(ORIGINAL, RESULT % declared, [(0, 0, 3)])
    assert site.outcome is Outcome.DIFFERENT
    assert "falsely" in site.reason


@pytest.mark.parametrize(("size", "outcome"), [(70_000, Outcome.EQUAL), (70_001, Outcome.DIFFERENT)])
def test_sizes_are_compared_however_large_they_are(size: int, outcome: Outcome) -> None:
    original = "g (float[70000, 2] x) => (float[70000, 1] y) { y = ReduceSum <axes = [1]> (x) }"
    result = RESULT.replace("N", "70000").replace("4]", "2]") % f"float[{size}, 2] t"
    assert site_of(original, result, [(0, 0, 3)]).outcome is outcome


def test_equal_nodes_of_which_one_is_declared_falsely_are_told_apart() -> None:
    node = "ReduceSum <axes = [1]>"
    original = f"g (float[N, 4] x) => (float[N, 1] y, float[N, 1] z) {{ y = {node} (x) z = {node} (x) }}"
    result = f"""g (float[N, 4] x) => (float[N, 1] y, float[N, 1] z) <float[N, 4] a, float[N, 3] b> {{
        a = Identity (x) y = {node} (a) b = Identity (x) z = {node} (b) }}"""
    found = conversion(original, result, (11, 12), claims=[(0, 0, 2), (1, 2, 4)]).prove()
    assert [site.outcome for site in found.sites] == [Outcome.EQUAL, Outcome.DIFFERENT]


IF = """g (bool c, float[N, 4] x) => (float[N, 4] y) {
    y = If (c) <
        then_branch = a () => (%s p) %s { q = Neg (x) p = Abs (q) },
        else_branch = b () => (float[N, 4] r) { r = Abs (x) }
    >
}"""


@pytest.mark.parametrize(
    ("output", "inner", "outcome"),
    [
        ("float[N, 4]", "<float[N, 4] q>", Outcome.EQUAL),
        ("float[A, B]", "", Outcome.EQUAL),
        ("float[N, 4, 1]", "", Outcome.DIFFERENT),
        ("float[N, 5]", "", Outcome.DIFFERENT),
        ("float[N, 4]", "<float[N, 5] q>", Outcome.DIFFERENT),
        ("float[N, 4]", "<float[N] q>", Outcome.DIFFERENT),
    ],
)
def test_what_subgraphs_declare_is_compared(output: str, inner: str, outcome: Outcome) -> None:
    original = (IF % ("float[N, 4]", "")).replace("q = Neg (x) p = Abs (q)", "p = Abs (x)")
    assert site_of(original, IF % (output, inner), [(0, 0, 1)]).outcome is outcome


@pytest.mark.parametrize(("state", "outcome"), [("float[N, 4]", Outcome.EQUAL), ("float[4, N]", Outcome.DIFFERENT)])
def test_what_inputs_of_subgraphs_are_declared_as_is_compared(state: str, outcome: Outcome) -> None:
    original = "g (float[N, 4] x) => (float[N, 4] y) { y = Neg (x) }"
    result = f"""g (float[N, 4] x) => (float[N, 4] y) {{
        once = Constant <value = int64 {{1}}> () yes = Constant <value = bool {{1}}> ()
        y = Loop (once, yes, x) <body = b (int64 i, bool c, {state} s) => (bool d, float[A, B] t)
            {{ d = Identity (c) t = Neg (s) }}>
    }}"""
    assert site_of(original, result, [(0, 0, 3)]).outcome is outcome


def test_nothing_is_asked_of_the_result_where_the_originals_own_declarations_do_not_hold() -> None:
    """The size 4 of `p` is the original's error; what a rule concludes from it is none of its own."""
    original = """g (bool c, float[M] x) => (y) { y = If (c) <
        then_branch = a () => (float[4] p) { p = Neg (x) }, else_branch = b () => (float[4] q) { q = Abs (x) }> }"""
    result = original.replace("float[4] q", "float[4] r").replace("q = Abs (x)", "u = Neg (x) r = Abs (u)")
    assert site_of(original, result, [(0, 0, 1)]).outcome is Outcome.EQUAL


@pytest.mark.parametrize(
    ("declared", "follows"), [("float[N, 4] t", True), ("float[N, 5] t", False), ("double[N, 4] t", False)]
)
def test_of_values_that_no_rule_touches_only_what_follows_from_the_original_is_declared(
    declared: str, follows: bool
) -> None:
    text = "g (float[N, 4] x) => (float[N, 1] y) {} {{ t = Neg (x) y = ReduceSum <axes = [1]> (t) }}"
    made = conversion(text.format(""), text.format(f"<{declared}>"), (11, 12))
    made.trace.scope("graph").declared_values.add("t")
    assert (not made.prove().structure) is follows


UNUSED = "g (float[N, 4] x) => (float[N, 4] z) {{ {} z = Neg (x) }}"


@pytest.mark.parametrize(
    ("nodes", "declared", "outcome"),
    [
        ("t = Identity (x)", "float[N, 4] t", Outcome.UNUSED),
        ("t = Identity (x)", "float[N, 5] t", Outcome.DIFFERENT),
        ("t = Identity (x)", "double[N, 4] t", Outcome.DIFFERENT),
        ("s = Constant <value = int64[1] {3}> () t = Reshape (x, s)", "", Outcome.DIFFERENT),
    ],
    ids=["true", "size", "dtype", "the result stops"],
)
def test_nodes_that_nothing_reads_may_neither_declare_what_is_not_so_nor_stop_the_model(
    nodes: str, declared: str, outcome: Outcome
) -> None:
    result = UNUSED.replace("{{", f"<{declared}> {{{{" if declared else "{{").format(nodes)
    site = site_of(UNUSED.format("y = ReduceSum <axes = [1]> (x)"), result, [(0, 0, nodes.count("("))])
    assert site.outcome is outcome
