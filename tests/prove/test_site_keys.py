"""Cheap keys of sites: nodes that are alike share one, and nothing that a verdict depends on is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import opsetlift
from opsetlift.evaluator.kernel_step import NodeCall
from opsetlift.facts import ModelFacts, inference, scope
from opsetlift.proof.inputs import Case, Input, InputGenerator
from opsetlift.proof.scopes import paired_scopes
from opsetlift.proof.signature import Key, Numbering, node_key
from opsetlift.proof.site_keys import SiteKeys
from opsetlift.proof.sites import Site
from opsetlift.proof.type_numbers import TypeNumbers
from opsetlift.rulebook.rule import Rule
from tests.prove.conversions import Conversion, conversion, model, trace_of

TYPES = TypeNumbers()


def keys_of(made: Conversion, *, overridable: bool = False) -> list[Key | None]:
    """The keys of all nodes of the graph, as if each were a site."""
    pair = next(iter(paired_scopes(made.original, made.result, made.trace)))
    given = {info.name for info in made.original.graph.input}
    defaults = {tensor.name: tensor for tensor in made.original.graph.initializer if tensor.name in given}
    keys = SiteKeys(pair, ModelFacts(made.original), defaults if overridable else {}, TYPES)
    return [keys.of(aligned) for aligned in pair.aligned]


def key_of(original: str, result: str = "", opsets: tuple[int, int] = (11, 13), **trace: Any) -> Key:
    """The key of the last node."""
    key = keys_of(conversion(original, result or original, opsets, **trace))[-1]
    assert key is not None
    return key


BASE = "g (float[N, 4] x) => (float[N, 1] y) { y = ReduceMin <axes = [1]> (x) }"


@pytest.mark.parametrize(
    "other",
    [
        "g (float[N, 4] data) => (float[N, 1] least) { least = ReduceMin <axes = [1]> (data) }",
        "g (float[batch, 4] x) => (float[batch, 1] y) { y = ReduceMin <axes = [1]> (x) }",
        "g (float[N, 4] x) => (float[N, 1] y) { [named] y = ReduceMin <axes = [1]> (x) }",
    ],
    ids=["values", "symbols", "nodes"],
)
def test_names_make_no_other_key(other: str) -> None:
    assert key_of(other) == key_of(BASE)


@pytest.mark.parametrize(
    "other",
    [
        "g (float[N, 4] x) => (float[N, 1] y) { y = ReduceMax <axes = [1]> (x) }",
        "g (float[N, 4] x) => (float[1, 4] y) { y = ReduceMin <axes = [0]> (x) }",
        "g (float[N, 4] x) => (y) { y = ReduceMin (x) }",
        "g (double[N, 4] x) => (double[N, 1] y) { y = ReduceMin <axes = [1]> (x) }",
        "g (float[N, 5] x) => (float[N, 1] y) { y = ReduceMin <axes = [1]> (x) }",
        "g (float[3, 4] x) => (float[3, 1] y) { y = ReduceMin <axes = [1]> (x) }",
        "g (float[N, N] x) => (float[N, 1] y) { y = ReduceMin <axes = [1]> (x) }",
        "g (float[N, 4, 2] x) => (float[N, 1, 2] y) { y = ReduceMin <axes = [1]> (x) }",
    ],
    ids=["operator", "attribute", "no attribute", "dtype", "size", "open size", "equal open sizes", "rank"],
)
def test_what_a_node_is_and_reads_makes_another_key(other: str) -> None:
    assert key_of(other) != key_of(BASE)


def test_opsets_make_another_key() -> None:
    assert len({key_of(BASE, opsets=opsets) for opsets in ((11, 13), (11, 12), (12, 13))}) == 3


def test_domains_make_another_key() -> None:
    text = "g (float[N, 4] x) => (y) {{ y = {}F (x) }}"
    header = '<ir_version: 8, opset_import: ["": 13, "one": 1, "two": 1]> '
    keys = []
    for domain in ("one.", "two."):
        both = model(header + text.format(domain))
        keys += keys_of(Conversion(both, both))
    assert keys[0] != keys[1]


@pytest.mark.parametrize("pair", [("Sub (x, z)", "Sub (z, x)"), ("Sub (x, x)", "Sub (x, z)")])
def test_connections_make_another_key(pair: tuple[str, str]) -> None:
    text = "g (float[N, 4] x, float[N, 4] z) => (y) {{ t = Neg (x) y = {} }}"
    # The two differ in what stands in the node's place: each is beside `Sub (x, z)`.
    results = [text.format(one) for one in pair]
    original = text.format("Sub (x, z)")
    assert len({key_of(original, one, claims=[(1, 1, 2)]) for one in results}) == 2


def test_left_out_inputs_and_outputs_make_another_key() -> None:
    clip = "g (float[4] x, float m) => (y) {{ y = Clip (x{}) }}"
    assert len({key_of(clip.format(more)) for more in ("", ", m", ', "", m')}) == 3
    drop = "g (float[4] x) => (y) {{ y{} = Dropout (x) }}"
    assert key_of(drop.format("")) != key_of(drop.format(", m"))


def constants(value: Any, *, is_input: bool = False) -> Conversion:
    """A node that reads an initializer."""
    given = ", int64[2] c" if is_input else ""
    text = f"g (float[N, 4] x{given}) => (y) {{ y = Reshape (x, c) }}"
    made = conversion(text, text, (11, 13))
    tensor = numpy_helper.from_array(numpy.array(value, dtype=numpy.int64), "c")
    for one in (made.original, made.result):
        one.graph.initializer.append(tensor)
    return made


def test_small_constants_make_another_key() -> None:
    assert keys_of(constants([2, -1])) == keys_of(constants([2, -1]))
    assert keys_of(constants([2, -1])) != keys_of(constants([-1, 2]))


def test_what_callers_may_override_makes_another_key() -> None:
    keys = [
        keys_of(constants([2, -1], is_input=True), overridable=True),
        keys_of(constants([-1, 2], is_input=True), overridable=True),
        keys_of(constants([2, -1])),
    ]
    assert keys[0] != keys[1]
    assert keys[0] != keys[2]


def test_contents_of_large_constants_make_no_other_key() -> None:
    def weighted(seed: int) -> Conversion:
        made = conversion(*["g (float[N, 64] x) => (y) { y = Add (x, w) }"] * 2, (11, 13))
        weight = numpy.random.default_rng(seed).standard_normal(64).astype(numpy.float32)
        for one in (made.original, made.result):
            one.graph.initializer.append(numpy_helper.from_array(weight, "w"))
        return made

    assert keys_of(weighted(0)) == keys_of(weighted(1))


def test_what_takes_the_place_of_a_node_makes_another_key() -> None:
    results = [
        "g (float[N, 4] x) => (float[N, 1] y) { t = Neg (x) y = ReduceMax <axes = [1]> (t) }",
        "g (float[N, 4] x) => (float[N, 1] y) { t = Abs (x) y = ReduceMax <axes = [1]> (t) }",
        "g (float[N, 4] x) => (float[N, 1] y) { t = Neg (x) y = ReduceMax <axes = [0]> (t) }",
        "g (float[N, 4] x) => (float[N, 1] y) { t = Neg (x) y = ReduceMax <axes = [1]> (x) }",
    ]
    assert len({key_of(BASE, result, claims=[(0, 0, 2)]) for result in results}) == len(results)


def test_contents_of_added_initializers_and_nodes_make_another_key() -> None:
    def added(axes: int, *, as_node: bool) -> Key:
        constant = f"int64[1] a = Constant <value = int64[1] {{{axes}}}> ()" if as_node else ""
        constant = constant.replace("int64[1] a =", "a =")
        header = "" if as_node else f"<int64[1] a = {{{axes}}}>"
        result = f"g (float[N, 4] x) => (float[N, 1] y) {header} {{ {constant} y = ReduceMin (x, a) }}"
        claims = [(0, 0, 2 if as_node else 1)]
        return key_of(BASE, result, (11, 18), claims=claims, added=() if as_node else ("a",))

    keys = {added(axes, as_node=as_node) for axes in (0, 1) for as_node in (False, True)}
    assert len(keys) == 4


def test_an_output_that_became_an_initializer_makes_another_key() -> None:
    original = "g () => (float[1] y) { y = Constant <value_floats = [1.0]> () }"
    results = [f"g () => (float[1] y) <float[1] y = {{{value}}}> {{ }}" for value in (1, 2)]
    keys = {key_of(original, one, (13, 11), claims=[(0, 0, 0)], added=("y",)) for one in results}
    assert len(keys) == 2


def test_outputs_that_nothing_uses_make_another_key() -> None:
    text = "g (float[4] x) => (y{}) {{ y, m = Dropout (x) }}"
    assert key_of(text.format("")) != key_of(text.format(", m"))


def test_declared_sizes_of_outputs_make_another_key() -> None:
    text = "g (float[a, b] x, int64[2] s) => (float[{}] y) {{ y = Reshape (x, s) }}"
    assert key_of(text.format("2, 3")) != key_of(text.format("3, 2"))


def test_rules_and_bounds_make_another_key() -> None:
    claims = [(0, 0, 1)]
    keys = {key_of(BASE, claims=claims, ulps=ulps) for ulps in (0, 1)}
    made = conversion(BASE, BASE, (11, 13), claims=claims)
    site = made.trace.scopes["graph"].sites[0]
    transition, _ = site.applied[0]
    for applied in ((transition, Rule("another", None)), (replace(transition, newer=3), Rule("by hand", None))):
        site.applied = [applied]
        keys.add(keys_of(made)[0])  # type: ignore[arg-type]
    assert len(keys | {key_of(BASE)}) == 5


def test_nodes_with_subgraphs_and_parameters_of_functions_have_no_cheap_key() -> None:
    text = """g (bool c, float[4] x) => (y) {
        y = If (c) <then_branch = a () => (float[4] p) { p = Neg (x) }, else_branch = b () => (q) { q = Abs (x) }>
    }"""
    assert keys_of(conversion(text, text, (11, 13))) == [None]


def repeated(count: int) -> ModelProto:
    nodes = "".join(f"v{one + 1} = ReduceMin <axes = [1], keepdims = 1> (v{one})\n" for one in range(count))
    return model(f"g (float[N, 4] v0) => (float[N, 1] v{count}) {{ {nodes} }}", 11)


@pytest.mark.usefixtures("told_apart")
def test_nodes_that_are_alike_cost_no_site_and_no_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    asked: list[str] = []
    keys, inferred = Site.key.func, inference.inferred_types

    def counted_key(site: Site) -> Key:
        made.append(site.node.op_type)
        return keys(site)

    def counted_inference(model: Any, node: Any, *arguments: Any) -> Any:
        asked.append(node.op_type)
        return inferred(model, node, *arguments)

    monkeypatch.setattr(Site, "key", property(counted_key))
    monkeypatch.setattr(scope, "inferred_types", counted_inference)
    certificate = opsetlift.convert(repeated(300), to=13).certificate
    assert certificate is not None
    assert certificate.is_proven
    assert certificate.nodes == 300
    assert [site.count for site in certificate.sites] == [1, 299]
    assert len(made) < 10
    assert 0 < len(asked) < 10


def test_a_wrong_site_among_many_that_are_alike_is_found() -> None:
    original = repeated(30)
    result = model("g (float[N, 4] v0) => (y) { y = Neg (v0) }", 13)
    result.graph.CopyFrom(original.graph)
    result.graph.node[17].attribute[1].i = 0
    result.graph.node[17].attribute[0].ints[0] = 0
    trace = trace_of([(17, 17, 18)])
    certificate = Conversion(original, result, trace).prove()
    assert certificate.is_refuted


@pytest.mark.slow
def test_a_result_that_iterates_over_elements_is_run_on_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below opset 9 a Loop does what no operator can; each iteration costs as much as a small model."""
    runs = 0
    run = NodeCall.run_subgraph

    def counted(call: NodeCall, *arguments: Any) -> Any:
        nonlocal runs
        runs += 1
        return run(call, *arguments)

    monkeypatch.setattr(NodeCall, "run_subgraph", counted)
    shape = "[N, 48, 14, 14]"
    header = f"g (bool{shape} c, float{shape} x) => (float{shape} y) <float z = {{20.0}}>"
    text = header + "{ y = Where (c, x, z) }"
    certificate = opsetlift.convert(model(text, 13), to=7).certificate
    assert certificate is not None
    assert certificate.is_proven
    assert 0 < runs < 80_000


def test_inputs_have_no_more_elements_than_allowed() -> None:
    sizes: list[int] = []

    def attempt(case: Case) -> list[Any]:
        sizes.append(case.values["x"].size)
        return [case.values["x"].shape]

    kind = model("g (float[N, 30] x) => (y) { y = Neg (x) }", 13).graph.input[0].type
    InputGenerator([Input("x", kind)], [0], most_elements=200).run(attempt)
    assert max(sizes) <= 200
    assert len(set(sizes)) > 3


def test_nodes_of_one_model_share_a_key_only_where_nothing_differs() -> None:
    text = """g (float[4] x, float[4] z, double[4] d, float[N] n) => (a, b, e, f, h, i, j, k, l, m, o, p, q, r, s, t)
        <float[4] c = {1, 2, 3, 4}, float[4] other = {1, 2, 3, 5}> {
        a = Add (x, z)  b = Add (z, x)
        e = Sub (x, z)  f = Add (d, d)  h = Add (x, x)  i = Add (x, n)
        j = Add (x, c)  k = Add (z, c)  l = Add (x, other)  o = Add (c, x)
        p = ReduceMin <axes = [0]> (x)  q = ReduceMin <axes = [0], keepdims = 0> (x)
        r = Dropout (x)  s, m = Dropout (x)  t, unused = Dropout (z)
    }"""
    keys = keys_of(conversion(text, text, (11, 13)))
    names = ["a", "b", "e", "f", "h", "i", "j", "k", "l", "o", "p", "q", "r", "s", "t"]
    alike: dict[Key | None, str] = {}
    for name, key in zip(names, keys, strict=True):
        assert key is not None
        alike[key] = alike.get(key, "") + name
    assert sorted(alike.values()) == ["ab", "e", "f", "h", "i", "jk", "l", "o", "p", "q", "r", "s", "t"]


def test_the_name_of_a_tensor_in_an_attribute_tells_no_nodes_apart() -> None:
    def key(name: str, number: float) -> Key:
        value = helper.make_tensor(name, TensorProto.FLOAT, [1], [number])
        return node_key(helper.make_node("ConstantOfShape", ["x"], ["y"], value=value), Numbering())

    assert key("one", 1) == key("other", 1) != key("one", 2)
