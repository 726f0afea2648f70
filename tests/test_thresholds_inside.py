"""Models that differ in a number with which something is compared that they compute."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from onnx import ModelProto

from opsetlift.normalizer.proving import prove_passes
from opsetlift.proof import Outcome, prove_models
from testing.conversion import model

ROWS = "float[N,16] x"
TABLE = [str(place * 37 % 101) for place in range(1000)]
EDGES = [0.05 * place * place for place in range(40)]


def numbers(kind: str, name: str, held: list[str]) -> str:
    return f"{kind}[{len(held)}] {name} = {{{','.join(held)}}}"


def moved_edge(factor: float) -> str:
    edges = [edge * (factor if place == 23 else 1) for place, edge in enumerate(EDGES)]
    return numbers("float", "e", [f"{edge:.6f}" for edge in edges])


MODELS: dict[str, tuple[str, str, str, str]] = {
    "a threshold behind a scale": (
        ROWS,
        "float k = {1000}, float t = {NUMBER}",
        "m = Mul(x, k) g = Greater(m, t) y = Cast <to = 1> (g)",
        "770|770.01",
    ),
    "which side of it the number is on": (
        ROWS,
        "float k = {1000}, float t = {770}",
        "m = Mul(x, k) g = NUMBER(m, t) y = Cast <to = 1> (g)",
        "Greater|GreaterOrEqual",
    ),
    "a threshold of a distance": (
        "float[N,16] x, float[N,16] w",
        "float t = {NUMBER}, int64[1] axis = {1}",
        "d = Sub(x, w) q = Mul(d, d) s = ReduceSum(q, axis) r = Sqrt(s) g = Less(r, t) y = Cast <to = 1> (g)",
        "0.3|0.301",
    ),
    "a threshold of a norm": (
        ROWS,
        "float t = {NUMBER}",
        "s = ReduceL2 <axes = [1]> (x) g = Greater(s, t) n = Neg(x) y = Where(g, x, n)",
        "10|10.01",
    ),
    "a threshold behind a sigmoid": (
        ROWS,
        "float t = {NUMBER}",
        "s = Sigmoid(x) g = Greater(s, t) y = Cast <to = 1> (g)",
        "0.7|0.701",
    ),
    "a bound": (
        ROWS,
        "float k = {0.01}, float low = {-3}, float high = {NUMBER}",
        "m = Mul(x, k) y = Clip(m, low, high)",
        "3|3.001",
    ),
    "one of many edges": (
        "float[N,1] x",
        "NUMBER, float k = {3.7}, int64[1] axis = {1}",
        "m = Mul(x, k) g = Greater(m, e) c = Cast <to = 7> (g) y = ReduceSum <keepdims = 0> (c, axis)",
        f"{moved_edge(1)}|{moved_edge(1.01)}",
    ),
    "an element of a table": (
        ROWS,
        "NUMBER, float k = {100}, float low = {0}, float high = {999}",
        "z = Abs(x) m = Mul(z, k) f = Floor(m) c = Clip(f, low, high) i = Cast <to = 7> (c) y = Gather(t, i)",
        f"{numbers('float', 't', TABLE)}|{numbers('float', 't', [*TABLE[:777], '55.5', *TABLE[778:]])}",
    ),
    "a branch": (
        ROWS,
        "float t = {NUMBER}",
        "m = ReduceMean <keepdims = 0> (x) g = Greater(m, t) y = If (g) <then_branch = a () => (float[K,L] p) "
        "{ p = Neg(x) }, else_branch = b () => (float[K,L] q) { q = Abs(x) }>",
        "0.25|0.26",
    ),
    "when a loop ends": (
        ROWS,
        "int64 m = {50}, float t = {NUMBER}, bool go = {1}",
        "s = ReduceSum <keepdims = 0> (x) a = Abs(s) y = Loop (m, go, a) <body = b (int64 i, bool c, float p) => "
        "(bool d, float q) { q = Add(p, p) d = Less(q, t) }>",
        "100|101",
    ),
    "buckets of a logarithm": (
        "int64[N] x",
        "float k = {NUMBER}, float m = {8}, float e = {8}, float t = {31}",
        "f = Cast <to = 1> (x) a = Abs(f) d = Div(a, m) l = Log(d) q = Mul(l, k) r = Add(q, e) z = Min(r, t) "
        "c = Max(z, e) y = Cast <to = 7> (c)",
        "16|16.05",
    ),
    "scores that are suppressed": (
        "float[1,1,N] x, float[1,N,4] boxes",
        "int64 k = {20}, float o = {0.5}, float t = {NUMBER}",
        "g = Sigmoid(x) y = NonMaxSuppression(boxes, g, k, o, t)",
        "0.3|0.31",
    ),
    "a token": (
        "int64[B,S] x",
        "int64 t = {NUMBER}, float a = {1}, float b = {2}",
        "e = Equal(x, t) y = Where(e, a, b)",
        "50256|50257",
    ),
}


def models(kind: str, behind: int) -> tuple[ModelProto, ModelProto]:
    """Two models, behind so many nodes that give their input back."""
    inputs, constants, nodes, numbers = MODELS[kind]
    if behind:
        names = ["x", *(f"b{at}" for at in range(behind))]
        before = " ".join(f"{name} = Neg({read})" for read, name in pairwise(names))
        nodes = f"{before} " + re.sub(r"\bx(?=[,)])", names[-1], nodes)
    graph = f"g ({inputs}) => (y) <{constants}> {{ {nodes} }}"
    one, other = (graph.replace("NUMBER", number) for number in numbers.split("|"))
    head = '<ir_version: 8, opset_import: ["": 17]>'
    return model(head + one), model(head + other)


@pytest.mark.parametrize("behind", [0, 430], ids=["alone", "behind many nodes"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.quick_share(4)
def test_numbers_inside_count(kind: str, behind: int) -> None:
    one, other = models(kind, behind)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT
    assert prove_passes(one, other, ulps=0, seed=0, base_dir="").outcome is Outcome.DIFFERENT


@pytest.mark.parametrize("behind", [0, 430], ids=["alone", "behind many nodes"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.quick_share(8)
def test_a_model_is_like_itself(kind: str, behind: int) -> None:
    one, _ = models(kind, behind)
    assert prove_models(one, one).outcome is not Outcome.DIFFERENT
