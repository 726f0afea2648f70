"""Nodes whose bodies hold what rules round: the bodies are proven within bounds, the nodes around them bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from onnx import ModelProto, NodeProto, helper

from opsetlift import convert
from opsetlift.conversion.walked import walked_copy
from opsetlift.facts import ModelFacts
from opsetlift.proof import ConversionProof, Outcome, prove_conversion
from opsetlift.rulebook.book import default_rule_book
from testing.pairs import every_pair
from tests.prove.conversions import model

BODIES = {
    "If": """<ir_version: 8, opset_import: ["": 16]>
        g (bool c, float16[N] x) => (float16[N] y) {
          y = If (c) <
            then_branch = t () => (float16[N] a) { a = HardSwish (x) },
            else_branch = e () => (float16[N] d) { d = Abs (x) }
          >
        }""",
    "If that becomes Loops": """<ir_version: 8, opset_import: ["": 16]>
        g (bool c, float16[N] x) => (float16[M] y) {
          y = If (c) <
            then_branch = t () => (float16[N] a) { a = HardSwish (x) },
            else_branch = e () => (float16[K] d) { d = Concat <axis = 0> (x, x) }
          >
        }""",
    "Loop": """<ir_version: 8, opset_import: ["": 16]>
        g (int64 n, bool c, float16[4] x) => (float16[4] y) {
          y = Loop (n, c, x) <
            body = b (int64 i, bool k, float16[4] s) => (bool k2, float16[4] t) {
              k2 = Identity (k) h = HardSwish (s) t = Add (h, x)
            }
          >
        }""",
    "Loop that gets a state": """<ir_version: 8, opset_import: ["": 16]>
        g (int64 n, bool c, float16[4] x) => (float16[M, 4] y) {
          y = Loop (n, c) <
            body = b (int64 i, bool k) => (bool k2, float16[4] t) {
              k2 = Identity (k) h = HardSwish (x) t = Add (h, x)
            }
          >
        }""",
    "Scan": """<ir_version: 8, opset_import: ["": 16]>
        g (float16[4] z, float16[M, 4] x) => (float16[4] y, float16[M, 4] w) {
          y, w = Scan <
            num_scan_inputs = 1,
            body = b (float16[4] s, float16[4] e) => (float16[4] s2, float16[4] o) {
              h = HardSwish (s) s2 = Add (h, e) o = Identity (h)
            }
          > (z, x)
        }""",
    "bodies in bodies": """<ir_version: 8, opset_import: ["": 18]>
        g (bool c, int64 n, float16[4] x) => (float16[4] y) {
          y = If (c) <
            then_branch = t () => (float16[4] a) {
              a = Loop (n, c, x) <
                body = b (int64 i, bool k, float16[4] s) => (bool k2, float16[4] t) {
                  k2 = Identity (k) h = HardSwish (s) t = Add (h, x)
                }
              >
            },
            else_branch = e () => (float16[4] d) { d = Mish (x) }
          >
        }""",
    "a function called in a body": """<ir_version: 8, opset_import: ["": 16, "local": 1]>
        g (bool c, float16[N] x) => (float16[N] y) {
          y = If (c) <
            then_branch = t () => (float16[N] a) { a = local.f <s = 0.5> (x) },
            else_branch = e () => (float16[N] d) { d = Abs (x) }
          >
        }
        <domain: "local", opset_import: ["": 16, "local": 1]>
        f <s> (a) => (b) { h = local.inner (a) b = LeakyRelu <alpha: float = @s> (h) }
        <domain: "local", opset_import: ["": 16]>
        inner (a) => (b) { b = HardSwish (a) }""",
    "a function called in the body of a Loop that gets a state": """<ir_version: 8, opset_import: ["": 16, "local": 1]>
        g (int64 n, bool c, float16[4] x) => (float16[M, 4] y) {
          y = Loop (n, c) <
            body = b (int64 i, bool k) => (bool k2, float16[4] t) {
              k2 = Identity (k) h = local.f (x) t = Add (h, x)
            }
          >
        }
        <domain: "local", opset_import: ["": 16]>
        f (a) => (b) { b = HardSwish (a) }""",
    "a body in a function": """<ir_version: 8, opset_import: ["": 16, "local": 1]>
        g (bool c, float16[N] x) => (float16[N] y) { y = local.f <s = 0.5> (c, x) }
        <domain: "local", opset_import: ["": 16, "local": 1]>
        f <s> (c, x) => (y) {
          y = If (c) <
            then_branch = t () => (float16[N] a) { h = HardSwish (x) a = LeakyRelu <alpha: float = @s> (h) },
            else_branch = e () => (float16[N] d) { d = Abs (x) }
          >
        }""",
    "initializers in a body": """<ir_version: 8, opset_import: ["": 16]>
        g (bool c, float16[4] x) => (float16[4] y) {
          y = If (c) <
            then_branch = t () => (float16[4] a) <float16[4] w = {1, 2, 3, 4}> { h = HardSwish (x) a = Mul (h, w) },
            else_branch = e () => (float16[4] d) { d = Abs (x) }
          >
        }""",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("opset", "ir", "name"),
    every_pair([13, 11, 7], [None, 7, 3], BODIES),
)
def test_a_node_is_not_held_to_the_bits_of_what_rounds_in_its_bodies(name: str, ir: int | None, opset: int) -> None:
    certificate = convert(model(BODIES[name]), to=opset, ir=ir).certificate
    assert certificate is not None
    assert certificate.is_proven, certificate.summary()


def converted(name: str, opset: int, wrong: Callable[[ModelProto], object] | None = None) -> ConversionProof:
    original = model(BODIES[name])
    walked = walked_copy(original, {"": opset}, default_rule_book(), exact=False, base_dir="")
    if wrong is not None:
        before = walked.model.SerializeToString()
        wrong(walked.model)
        assert walked.model.SerializeToString() != before
    return prove_conversion(original, walked.model, walked.trace, ModelFacts(original))


def _nodes(nodes: list[NodeProto]) -> list[NodeProto]:
    found = []
    for node in nodes:
        found.append(node)
        for attribute in node.attribute:
            found += _nodes(list(attribute.g.node))
    return found


def _node(of: ModelProto, operator: str) -> NodeProto:
    nodes = [*of.graph.node, *(node for function in of.functions for node in function.node)]
    return next(node for node in _nodes(nodes) if node.op_type == operator)


def _swap_branches(of: ModelProto) -> None:
    first, second = _node(of, "If").attribute
    first.name, second.name = second.name, first.name


def _give_another_state(of: ModelProto) -> None:
    body = next(attribute.g for attribute in _node(of, "Loop").attribute if attribute.HasField("g"))
    add = next(node for node in body.node if node.op_type == "Add")
    add.input[1] = add.input[0]


def _stop_early(of: ModelProto) -> None:
    loop = _node(of, "Loop")
    body = next(attribute.g for attribute in loop.attribute if attribute.HasField("g"))
    kept = next(node for node in body.node if body.output[0].name in node.output)
    kept.op_type = "Not"


WRONG: dict[str, tuple[str, int, Callable[[ModelProto], object]]] = {
    "swapped branches": ("If", 13, _swap_branches),
    "a slope beyond the bound": (
        "If",
        13,
        lambda of: _node(of, "HardSigmoid").attribute[0].CopyFrom(helper.make_attribute("alpha", 0.17)),
    ),
    "another operator beside what rounds": ("If", 13, lambda of: setattr(_node(of, "Abs"), "op_type", "Neg")),
    "another sum in a Loop": ("Loop", 13, _give_another_state),
    "another condition in a Loop": ("Loop", 13, _stop_early),
    "another sum where the rule wrote a body anew": ("Loop that gets a state", 11, _give_another_state),
    "another condition where the rule wrote a body anew": ("Loop that gets a state", 11, _stop_early),
    "a slope where the rule wrote bodies anew": (
        "If that becomes Loops",
        9,
        lambda of: _node(of, "HardSigmoid").attribute[0].CopyFrom(helper.make_attribute("alpha", 0.1668)),
    ),
    "a function that does something else": (
        "a function called in a body",
        13,
        lambda of: _node(of, "HardSigmoid").attribute[0].CopyFrom(helper.make_attribute("alpha", 0.17)),
    ),
}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_or_around_a_body_that_rounds_is_found(name: str) -> None:
    of, opset, wrong = WRONG[name]
    assert converted(of, opset).is_proven
    refuted = converted(of, opset, wrong)
    assert refuted.is_refuted, refuted.summary()


def test_the_node_around_what_rounds_is_exact() -> None:
    certificate = converted("If", 13)
    ulps = {site.operator: (site.ulps, site.worst_ulps) for site in certificate.sites}
    assert ulps["If"] == (0, 0)
    assert ulps["HardSwish"][0] > 0
    assert all(site.outcome is Outcome.EQUAL for site in certificate.sites)


@pytest.mark.parametrize("target", [10, 11])
@pytest.mark.parametrize(
    "branch",
    [
        "tv = Celu <alpha = 2.0> (x)",
        """tv = If (c) <
            then_branch = tt () => (float[2] ttv) { ttv = Celu <alpha = 2.0> (x) },
            else_branch = te () => (float[2] tev) { tev = Neg (x) }>""",
    ],
    ids=["in a branch", "in a branch of a branch"],
)
def test_what_rounds_in_a_body_that_a_rule_writes_anew_belongs_to_the_site(branch: str, target: int) -> None:
    original = model(
        f"""
        <ir_version: 8, opset_import: ["": 13]>
        g (float[2] x, bool c) => (float[M] y) {{
            n = Constant <value = int64 {{2}}> ()
            e = SequenceEmpty ()
            s = Loop (n, , e) <body = b (int64 i, bool on, seq(float[K]) before) => (bool on_, seq(float[K]) after) {{
                on_ = Identity (on)
                v = If (c) <
                    then_branch = t () => (float[2] tv) {{ {branch} }},
                    else_branch = f () => (float[4] fv) {{ fv = Concat <axis = 0> (x, x) }}>
                after = SequenceInsert (before, v)
            }}>
            y = ConcatFromSequence <axis = 0> (s)
        }}
        """
    )
    converted = convert(original, to=target)
    assert converted.certificate is not None
    assert converted.certificate.is_proven
    loop = next(site for site in converted.certificate.sites if site.operator == "Loop")
    assert "Celu below 12: decompose celu" in loop.rules
    assert loop.ulps == 4
