"""Models that differ on few inputs: at one value of 16 bits, one row of a table, one size, one rank, one count."""

from __future__ import annotations

import numpy
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper, parser

from opsetlift import prove_models
from opsetlift.proof import Outcome
from tests.prove.conversions import conversion

ROWS = numpy.random.default_rng(1).standard_normal((5000, 4)).astype(numpy.float32)
OTHER_ROWS = ROWS.copy()
OTHER_ROWS[3777, 2] += 1
LONG = numpy.arange(65536, dtype=numpy.float32)
OTHER_LONG = LONG.copy()
OTHER_LONG[43210] = 7


def number(name: str, value: float, kind: str = "int64") -> str:
    return f"{name} = Constant <value = {kind} {{{value}}}> () "


def sizes(*wanted: int) -> str:
    """Subtracts 1 from the result where the input has these sizes."""
    listed = ", ".join(map(str, wanted))
    return f"""s = Shape (x) k = Constant <value = int64[{len(wanted)}] {{{listed}}}> () e = Equal (s, k)
        g = Cast <to = 1> (e) h = ReduceProd <keepdims = 0> (g) z = Neg (x) y = Sub (z, h)"""


def rank(wanted: int) -> str:
    condition = f"s = Shape (x) n = Size (s) {number('k', wanted)} e = Equal (n, k) f = Cast <to = 1> (e)"
    return f"{condition} z = Neg (x) y = Sub (z, f)"


def where_product_is(wanted: int, wide: int) -> str:
    """Adds 1 where x * (x + 1) is a number that says nothing of x."""
    return f"""{number("k", wanted, "int32")} {number("o", 1, "int32")} f = Cast <to = 6> (x) q = Add (f, o)
        p = Mul (f, q) e = Equal (p, k) g = Cast <to = 6> (e) s = Add (f, g) y = Cast <to = {wide}> (s)"""


SPLIT = 'y, n = StringSplit <delimiter = ","{}> (x)'
UNIQUE = "y, i, j, {} = Unique <axis = 0> (x)"
NARROW = "a = Cast <to = 7> (x) {} i = Add (a, b) y = Gather (t, i)"

PAIRS: dict[str, tuple[str, str, str, tuple[NDArray[numpy.float32], ...]]] = {
    "a row of a table": ("(int64[N] x) => (float[N, 4] y)", *["y = Gather (t, x)"] * 2, (ROWS, OTHER_ROWS)),
    "one of 16 bits as an index": (
        "(uint16[N] x) => (float[N] y)",
        *["i = Cast <to = 7> (x) y = Gather (t, i)"] * 2,
        (LONG, OTHER_LONG),
    ),
    "one of 16 bits, moved": (
        "(int16[N] x) => (float[N] y)",
        *[NARROW.format(number("b", 32768))] * 2,
        (LONG, OTHER_LONG),
    ),
    "a pair of 8 bits": (
        "(uint8[N] x, uint8[N] z) => (float[N] y)",
        *[NARROW.format("b = Cast <to = 7> (z)")] * 2,
        (LONG[:511], numpy.where(LONG[:511] == 333, 0, LONG[:511])),
    ),
    "one of int16": ("(int16[N] x) => (int16[N] y)", "y = Identity (x)", where_product_is(1234 * 1235, 5), ()),
    "one of uint16": ("(uint16[N] x) => (uint16[N] y)", "y = Identity (x)", where_product_is(234 * 235, 4), ()),
    "one of float16": (
        "(float16[N] x) => (float16[N] y)",
        "y = Neg (x)",
        f"""{number("k", 1234 * 1234, "float")} f = Cast <to = 1> (x) q = Mul (f, f) e = Equal (q, k)
            g = Cast <to = 10> (e) z = Neg (x) y = Sub (z, g)""",
        (),
    ),
    "rank 5": ("(float[] x) => (float[] y)", "y = Neg (x)", rank(5), ()),
    "rank 0": ("(float[] x) => (float[] y)", "y = Neg (x)", rank(0), ()),
    "two sizes alike": ("(float[N, M] x) => (float[A, B] y)", "y = Neg (x)", sizes(17, 17), ()),
    "two sizes": ("(float[N, M] x) => (float[A, B] y)", "y = Neg (x)", sizes(13, 17), ()),
    "the other way round": ("(float[N, M] x) => (float[A, B] y)", "y = Neg (x)", sizes(17, 13), ()),
    "a count": (
        "(float[N] x) => (float[A] y, int64[A] c)",
        UNIQUE.format("c"),
        f"{UNIQUE.format('d')} {number('m', 3)} c = Min (d, m)",
        (),
    ),
    "an index of the fifth": (
        "(float[N] x, int64[1] k) => (float[K] y, int64[K] i)",
        "y, i = TopK (x, k)",
        f"y, j = TopK (x, k) {number('m', 4)} i = Min (j, m)",
        (),
    ),
    "a diagonal below": (
        "(float[N, M] x, int64 k) => (float[N, M] y)",
        "y = Trilu (x, k)",
        f"{number('m', -3)} i = Max (k, m) y = Trilu (x, i)",
        (),
    ),
    "an end before": (
        "(float[N] x, int64[1] e) => (float[K] y)",
        "s = Constant <value = int64[1] {-1}> () a = Constant <value = int64[1] {0}> () y = Slice (x, s, e, a, s)",
        f"""s = Constant <value = int64[1] {{-1}}> () a = Constant <value = int64[1] {{0}}> () {number("m", -100)}
            i = Max (e, m) y = Slice (x, s, i, a, s)""",
        (),
    ),
    "a threshold that is computed": (
        "(float[N] x) => (float[N] y)",
        *(
            f"k = Constant <value = float {{1000}}> () t = Constant <value = float {{{limit}}}> () p = Mul (x, k)"
            " g = Greater (p, t) z = Neg (x) y = Where (g, z, x)"
            for limit in (770, 780)
        ),
        (),
    ),
    "the sum that decides": (
        "(float[4] x) => (float[4] y)",
        *(
            f"k = Constant <value = float {{1000}}> () t = Constant <value = float {{{limit}}}> () p = Mul (x, k)"
            " s = ReduceSum <keepdims = 0> (p) g = Greater (s, t) z = Neg (x) y = Where (g, z, x)"
            for limit in (770, 771)
        ),
        (),
    ),
    "a quotient in place of a product": (
        "(float[N] x, float s) => (float[N] y)",
        "q = Div (x, s) y = Round (q)",
        "r = Reciprocal (s) q = Mul (x, r) y = Round (q)",
        (),
    ),
    "an odd zero point before rounding": (
        "(float[8] x) => (uint8[8] y)",
        f"{number('s', 0.0371, 'float')} {number('z', 127, 'uint8')} y = QuantizeLinear (x, s, z)",
        f"{number('s', 0.0371, 'float')} {number('z', 127, 'float')} {number('l', 0, 'float')} "
        f"{number('h', 255, 'float')} q = Div (x, s) a = Add (q, z) r = Round (a) c = Clip (r, l, h) "
        "y = Cast <to = 2> (c)",
        (),
    ),
    "boxes that overlap by little more": (
        "(float[1, 5, 4] b, float[1, 1, 5] s) => (int64[K, 3] y)",
        *(
            f"m = Constant <value = int64 {{3}}> () t = Constant <value = float {{{limit}}}> ()"
            " y = NonMaxSuppression (b, s, m, t)"
            for limit in (0.5, 0.51)
        ),
        (),
    ),
    "zeros everywhere": (
        "(float[N, 4] x) => (float[N, 4] y)",
        *(f"k = Constant <value = float {{{k}}}> () t = Tanh (x) y = Add (t, k)" for k in (0.0, 1e-30)),
        (),
    ),
    "numbers below a million everywhere": (
        "(float[1, 1, H, W] x) => (float[1, 1, A, B] y)",
        "y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)",
        "p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> () l = Constant <value = float {-1e6}> ()"
        " q = Pad (x, p, l) y = MaxPool <kernel_shape = [3, 3]> (q)",
        (),
    ),
    "a sum that leaves its dtype": (
        "(int32[N] x) => (int32 y)",
        "y = ReduceSum <keepdims = 0> (x)",
        "d = Cast <to = 11> (x) s = ReduceSum <keepdims = 0> (d) y = Cast <to = 6> (s)",
        (),
    ),
    "sizes in float16": (
        "(float[N, M] x) => (int64 y)",
        "y = Size (x)",
        "s = Size (x) h = Cast <to = 10> (s) y = Cast <to = 7> (h)",
        (),
    ),
    "positions in int16": (
        "(float[N] x) => (int64 y)",
        "y = ArgMax <keepdims = 0> (x)",
        "p = ArgMax <keepdims = 0> (x) h = Cast <to = 5> (p) y = Cast <to = 7> (h)",
        (),
    ),
    "scales that are nearly the same": (
        "(float[1, 1, H, 4] x) => (float[1, 1, A, B] y)",
        *(
            f"s = Constant <value = float[4] {{1, 1, {scale}, 1}}> () "
            'y = Resize <mode = "nearest", nearest_mode = "floor"> (x, , s)'
            for scale in (1.5, 1.501)
        ),
        (),
    ),
    "a pattern": (
        "(string[N] x) => (bool[N] y)",
        *(f'y = RegexFullMatch <pattern = "(foo|ba+r)[0-9]{{2,{most}}}"> (x)' for most in (5, 6)),
        (),
    ),
    "two numbers that are skipped to": (
        "(int64[N] x) => (float[4] y)",
        *(
            f'y = TfIdfVectorizer <mode = "TF", min_gram_length = 1, max_gram_length = 2, max_skip_count = {skipped}, '
            "ngram_counts = [0, 2], ngram_indexes = [0, 1, 2, 3], pool_int64s = [2, 3, 5, 4, 6, 7]> (x)"
            for skipped in (0, 1)
        ),
        (),
    ),
    "the tenth part": (
        "(string[N] x) => (string[N, M] y, int64[N] n)",
        SPLIT.format(""),
        SPLIT.format(", maxsplit = 9"),
        (),
    ),
}


def model(graph: str, nodes: str, table: NDArray[numpy.float32] | None) -> ModelProto:
    found: ModelProto = parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> g {graph} {{ {nodes} }}')
    if table is not None:
        found.graph.initializer.append(numpy_helper.from_array(table, "t"))
    return found


@pytest.mark.parametrize("name", PAIRS)
def test_the_difference_is_found(name: str) -> None:
    graph, first, second, tables = PAIRS[name]
    one, other = tables or (None, None)
    assert prove_models(model(graph, first, one), model(graph, second, other)).outcome is Outcome.DIFFERENT
    assert prove_models(model(graph, first, one), model(graph, first, one)).outcome is Outcome.EQUAL


@pytest.mark.parametrize(("dtype", "element_type", "value"), [("float16", 10, 1234), ("bfloat16", 16, 124)])
def test_a_rule_that_is_wrong_for_one_value_of_16_bits_is_found(dtype: str, element_type: int, value: int) -> None:
    graph = f"g ({dtype}[N] x) => ({dtype}[N] y)"
    nodes = f"""{number("k", value * value, "float")} f = Cast <to = 1> (x) q = Mul (f, f) e = Equal (q, k)
        g = Cast <to = {element_type}> (e) z = Abs (x) y = Add (z, g)"""
    found = conversion(f"{graph} {{ y = Abs (x) }}", f"{graph} {{ {nodes} }}", (13, 14), claims=[(0, 0, 7)]).prove()
    assert [site.outcome for site in found.sites] == [Outcome.DIFFERENT]
