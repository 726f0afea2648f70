"""Keys of nodes with bodies: those that are alike share one, and nothing that a verdict depends on is left out."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import ModelProto

import opsetlift
from opsetlift.facts import ModelFacts
from opsetlift.proof.body_keys import BodyKeys
from opsetlift.proof.scopes import paired_scopes
from opsetlift.proof.signature import Key
from opsetlift.proof.site_keys import SiteKeys
from opsetlift.proof.sites import Site
from opsetlift.proof.type_numbers import TypeNumbers
from tests.prove.conversions import Conversion, conversion, model

TYPES = TypeNumbers()


def keys_of(made: Conversion) -> list[Key | None]:
    """The keys of the nodes of the graph."""
    pairs, facts = list(paired_scopes(made.original, made.result, made.trace)), ModelFacts(made.original)
    keys = SiteKeys(pairs[0], facts, {}, TYPES, BodyKeys(pairs, facts, TYPES))
    return [keys.of(aligned) for aligned in pairs[0].aligned]


def key_of(original: str, result: str = "", **trace: Any) -> Key | None:
    """The key of the last node."""
    return keys_of(conversion(original, result or original, (11, 13), **trace))[-1]


BRANCHED = """g (bool c, float[N, 4] x, float[N, 4] z) => (float[N, 4] y) {
    y = If (c) <
        then_branch = t () => (float[N, 4] p) { q = Neg (x)  p = Elu <alpha = 0.5> (q) },
        else_branch = e () => (float[N, 4] r) <float w = {2.0}> { r = Add (x, w) }>
}"""


def changed(*changes: tuple[str, str]) -> str:
    text = BRANCHED
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


ALIKE = {
    "inner values": changed(("q = ", "other = "), ("(q)", "(other)"), (" p)", " s)"), ("p = ", "s = ")),
    "captured values": changed(("float[N, 4] x", "float[N, 4] k"), ("Neg (x)", "Neg (k)"), ("Add (x", "Add (k")),
    "names of graphs": changed(("= t ()", "= then ()")),
    "names of nodes": changed(("q = Neg", "[negated] q = Neg")),
}
OTHER = {
    "operator": changed(("Neg", "Abs")),
    "attribute": changed(("0.5", "0.25")),
    "no attribute": changed(("<alpha = 0.5>", "")),
    "connection": changed(("Elu <alpha = 0.5> (q)", "Elu <alpha = 0.5> (x)")),
    "order of inputs": changed(("Add (x, w)", "Add (w, x)")),
    "another captured value": changed(("Add (x, w)", "Add (z, w)")),
    "content of an initializer": changed(("{2.0}", "{3.0}")),
    "declared type of an output": changed(("(float[N, 4] r)", "(float[N, M] r)")),
    "branches exchanged": changed(("then_branch", "swap"), ("else_branch", "then_branch"), ("swap", "else_branch")),
    "type of what is captured": changed(("bool c, float[N, 4] x", "bool c, float[3, 4] x")),
    "size by another name": changed(("bool c, float[N, 4] x", "bool c, float[K, 4] x")),
    "type of the output": changed(("=> (float[N, 4] y)", "=> (float[3, 4] y)")),
}


@pytest.mark.parametrize("name", ALIKE)
def test_names_make_no_other_key(name: str) -> None:
    assert key_of(ALIKE[name]) == key_of(BRANCHED) is not None


@pytest.mark.parametrize("name", OTHER)
def test_what_a_body_is_makes_another_key(name: str) -> None:
    assert None is not key_of(OTHER[name]) != key_of(BRANCHED)


UNEXPLAINED = ("another captured value", "branches exchanged")
RESULTS = [name for name in OTHER if not name.startswith(("type", "size")) and name not in UNEXPLAINED]


@pytest.mark.parametrize("name", RESULTS)
def test_what_the_body_became_makes_another_key(name: str) -> None:
    assert None is not key_of(BRANCHED, OTHER[name]) != key_of(BRANCHED)


def test_a_constant_that_is_captured_makes_another_key() -> None:
    text = """g (bool c, float[2] x) => (y) <int64[1] a = {{{}}}> {{
        y = If (c) <then_branch = t () => (p) {{ p = Unsqueeze (x, a) }}, else_branch = e () => (q) {{ q = Neg (x) }}>
    }}"""
    assert None is not key_of(text.format(0)) != key_of(text.format(1))


def test_a_constant_that_rules_added_makes_another_key() -> None:
    text = """g (bool c, float[2, 2] x) => (y) <int64[1] a = {{{}}}> {{
        y = If (c) <then_branch = t () => (p) {{ p = ReduceSum (x, a) }}, else_branch = e () => (q) {{ q = Neg (x) }}>
    }}"""
    original = text.format(0).replace("<int64[1] a = {0}>", "").replace("(x, a)", "(x)")
    keys = {key_of(original, text.format(axes), added=("a",)) for axes in (0, 1)}
    assert len(keys) == 2
    assert None not in keys


@pytest.mark.parametrize("name", UNEXPLAINED)
def test_what_nothing_explains_has_no_key(name: str) -> None:
    assert key_of(BRANCHED, OTHER[name]) is None


NESTED = """g (bool c, float[4] x) => (y) {
    y = If (c) <
        then_branch = t () => (p) { p = If (c) <
            then_branch = tt () => (a) { a = Elu <alpha = 0.5> (x) },
            else_branch = te () => (b) { b = Abs (x) }> },
        else_branch = e () => (d) { d = Neg (x) }>
}"""


def test_what_is_in_the_body_of_a_body_makes_another_key() -> None:
    other = NESTED.replace("0.5", "0.25")
    keys = [key_of(NESTED), key_of(other), key_of(NESTED, other), key_of(other, NESTED)]
    assert None not in keys
    assert len({*keys}) == 4


WITHOUT_KEY = {
    "two bodies have a name": NESTED.replace("(b)", "(a)").replace("b = ", "a = "),
    "a body has a name of the graph": "g (bool c, float[4] x, float[4] a) => (y) " + NESTED.partition("(y) ")[2],
}


@pytest.mark.parametrize("name", WITHOUT_KEY)
def test_names_of_several_scopes_have_no_key(name: str) -> None:
    assert key_of(WITHOUT_KEY[name]) is None


def test_a_name_of_another_body_of_the_original_has_no_key() -> None:
    exchanged = NESTED.replace("(a)", "(_)").replace("a =", "_ =").replace("(b)", "(a)").replace("b =", "a =")
    assert key_of(NESTED, exchanged.replace("(_)", "(b)").replace("_ =", "b =")) is None


def test_a_node_that_became_another_has_no_key() -> None:
    assert key_of(NESTED, "g (bool c, float[4] x) => (y) { y = Neg (x) }", claims=[(0, 0, 1)]) is None


def test_notes_of_declarations_have_no_key() -> None:
    made = conversion(BRANCHED, BRANCHED, (11, 13))
    made.result.graph.node[0].attribute[0].g.output[0].doc_string = "a note"
    assert keys_of(made) == [None]


def chosen(count: int) -> ModelProto:
    """A chain of Ifs, each with a node that rules change."""
    nodes = [
        f"""v{one + 1} = If (c) <
            then_branch = t{one} () => (float[N, 1] p{one}) {{ p{one} = ReduceMean <axes = [1]> (v{one}) }},
            else_branch = e{one} () => (float[N, 1] q{one}) {{ q{one} = Neg (v{one}) }}>"""
        for one in range(count)
    ]
    return model(f"g (bool c, float[N, 1] v0) => (float[N, 1] v{count}) {{ {' '.join(nodes)} }}", 13)


def test_nodes_with_bodies_that_are_alike_cost_no_site(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    keys = Site.key.func

    def counted(site: Site) -> Key:
        made.append(site.node.op_type)
        return keys(site)

    monkeypatch.setattr(Site, "key", property(counted))
    certificate = opsetlift.convert(chosen(40), to=18).certificate
    assert certificate is not None
    assert certificate.is_proven
    assert sum(site.count for site in certificate.sites if site.operator == "If") == 40
    assert 0 < made.count("If") < 8
