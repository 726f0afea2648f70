"""Wrong rules of many kinds, at sites of many shapes: the proof refutes each of them, and takes the right one.

A mutant computes the same on most inputs; which ones show the difference is what its name says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import pytest

from opsetlift.proof import Outcome, prove_models
from tests.prove.conversions import Conversion, conversion, model, trace_of

OPSETS = (13, 14)

SHAPES = {
    "[1]": ("[1]", "[1]", "[1]"),
    "[1,1]": ("[1, 1]", "[1, 1]", "[1, 1]"),
    "scalar": ("[]", "[]", "[]"),
    "scalar and [1]": ("[]", "[1]", "[1]"),
    "[2,1] and [1,3]": ("[2, 1]", "[1, 3]", "[2, 3]"),
    "[N]": ("[N]", "[N]", "[N]"),
    "[N,M] and [M]": ("[N, M]", "[M]", "[N, M]"),
}

FLOAT_OPERATORS = ("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Greater", "Less", "Equal", "GreaterOrEqual")
INTEGER_OPERATORS = ("Add", "Sub", "Mul", "Max", "Min", "Greater", "Less", "Equal", "LessOrEqual", "Mod", "Div")
COMPARISONS = ("Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual")

# Each turns the first operand `a` into `w`: what a wrong rule computes with.
MUTANTS = {
    "through float": "t = Cast <to = 1> (a) w = Cast <to = {dtype}> (t)",
    "through int32": "t = Cast <to = 6> (a) w = Cast <to = {dtype}> (t)",
    "clipped at 100": "{low} {high} s = Max (a, low) w = Min (s, high)",
    "NaN becomes 0": "n = IsNaN (a) {zero} w = Where (n, zero, a)",
    "-0 becomes 0": "{zero} w = Add (a, zero)",
    "the smallest becomes the next": "{least} w = Max (a, least)",
}


def constant(name: str, dtype: str, value: float) -> str:
    return f"{name} = Constant <value = {dtype} {{{value}}}> ()"


NUMBERS = {"float": 1, "double": 11, "int8": 3, "int32": 6, "int64": 7}


def rewritten(mutant: str, dtype: str) -> str:
    return MUTANTS[mutant].format(
        dtype=NUMBERS[dtype],
        low=constant("low", dtype, -100),
        high=constant("high", dtype, 100),
        zero=constant("zero", dtype, 0),
        least=constant("least", dtype, -127),
    )


@dataclass(frozen=True)
class Graph:
    """One node of two operands, alone or behind nodes that change the first one."""

    operator: str
    dtype: str
    shapes: tuple[str, str, str]
    constant: str = ""
    """The second operand, where it is a constant."""

    def text(self, before: str = "", operand: str = "a", operator: str = "") -> str:
        one, other, result = self.shapes
        given = self.dtype if self.operator not in COMPARISONS else "bool"
        inputs = f"{self.dtype}{one} a" if self.constant else f"{self.dtype}{one} a, {self.dtype}{other} b"
        held = f"<{self.dtype}{other} b = {{{self.constant}}}>" if self.constant else ""
        fmod = " <fmod = 1>" if self.operator == "Mod" and self.dtype == "float" else ""
        node = f"y = {operator or self.operator}{fmod} ({operand}, b)"
        return f"g ({inputs}) => ({given}{result} y) {held} {{ {before} {node} }}"


def outcomes(graph: Graph, wrong: str) -> list[Outcome]:
    nodes = wrong.count(" = ") - wrong.count("<value = ") - wrong.count("<to = ") - wrong.count("<fmod = ")
    after = nodes - wrong.split("{")[0].count(" = ")
    claims = [(0, 0, after)]
    return [site.outcome for site in conversion(graph.text(), wrong, OPSETS, claims=claims).prove().sites]


FLOAT_CASES = [
    (mutant, operator, shape)
    for mutant in ("clipped at 100", "NaN becomes 0", "-0 becomes 0")
    for operator in FLOAT_OPERATORS
    for shape in SHAPES
    if mutant != "-0 becomes 0" or operator in ("Mul", "Div")
]


@pytest.mark.quick_share(6)
@pytest.mark.parametrize(("mutant", "operator", "shape"), FLOAT_CASES)
def test_a_wrong_rule_for_floats_is_refuted(mutant: str, operator: str, shape: str) -> None:
    graph = Graph(operator, "float", SHAPES[shape])
    wrong = graph.text(rewritten(mutant, "float"), "w")
    assert outcomes(graph, wrong) == [Outcome.DIFFERENT]


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("mutant", ["through float", "through int32", "clipped at 100"])
@pytest.mark.parametrize("operator", INTEGER_OPERATORS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_wrong_rule_for_int64_is_refuted(mutant: str, operator: str, shape: str) -> None:
    graph = Graph(operator, "int64", SHAPES[shape])
    assert outcomes(graph, graph.text(rewritten(mutant, "int64"), "w")) == [Outcome.DIFFERENT]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("operator", ["Add", "Sub", "Max", "Min", "Mul"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_rule_that_misses_the_smallest_int8_is_refuted(operator: str, shape: str) -> None:
    graph = Graph(operator, "int8", SHAPES[shape])
    wrong = graph.text(rewritten("the smallest becomes the next", "int8"), "w")
    source = conversion(graph.text(), wrong, (14, 15), claims=[(0, 0, 3)])
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("dtype", ["float", "int64", "int32", "double"])
@pytest.mark.parametrize(("operator", "other"), [("Less", "LessOrEqual"), ("Greater", "GreaterOrEqual")])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_comparison_that_takes_in_equal_values_is_refuted(dtype: str, operator: str, other: str, shape: str) -> None:
    graph = Graph(operator, dtype, SHAPES[shape])
    assert outcomes(graph, graph.text(operator=other)) == [Outcome.DIFFERENT]


BESIDE_CONSTANT = {
    "[N,M] and a constant [4]": ("[N, M]", "[4]", "[N, M]"),
    "[N,4] and a constant [4]": ("[N, 4]", "[4]", "[N, 4]"),
    "[1] and a constant [1]": ("[1]", "[1]", "[1]"),
    "[N,M,K] and a constant [2,1,2]": ("[N, M, K]", "[2, 1, 2]", "[N, M, K]"),
}


def beside(operator: str, dtype: str, shape: str, values: str) -> Graph:
    shapes = BESIDE_CONSTANT[shape]
    return Graph(operator, dtype, shapes, values.split(",")[0] if shapes[1] == "[1]" else values)


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("mutant", ["through float", "through int32", "clipped at 100"])
@pytest.mark.parametrize("operator", INTEGER_OPERATORS)
@pytest.mark.parametrize("shape", BESIDE_CONSTANT)
def test_a_wrong_rule_beside_a_small_constant_is_refuted(mutant: str, operator: str, shape: str) -> None:
    far = "-4611686018427387905, 144115188075855873, 4611686018427387905, 9007199254740993"
    graph = beside(operator, "int64", shape, far if operator not in ("Add", "Sub", "Mul") else "5, 7, 9, 11")
    assert outcomes(graph, graph.text(rewritten(mutant, "int64"), "w")) == [Outcome.DIFFERENT]


@pytest.mark.parametrize("dtype", ["float", "int32"])
@pytest.mark.parametrize(("operator", "other"), [("Less", "LessOrEqual"), ("Greater", "GreaterOrEqual")])
@pytest.mark.parametrize("shape", BESIDE_CONSTANT)
def test_a_comparison_with_a_constant_that_takes_in_equal_values_is_refuted(
    dtype: str, operator: str, other: str, shape: str
) -> None:
    graph = beside(
        operator, dtype, shape, "37.25, 1234.5, -77.125, 9001.5" if dtype == "float" else "37, 1234, -77, 9001"
    )
    assert outcomes(graph, graph.text(operator=other)) == [Outcome.DIFFERENT]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("dtype", ["float", "int64"])
@pytest.mark.parametrize("shape", [*SHAPES, *BESIDE_CONSTANT])
def test_the_right_rule_is_proven_on_diverse_inputs(dtype: str, shape: str) -> None:
    graph = Graph("Greater", dtype, SHAPES[shape]) if shape in SHAPES else beside("Greater", dtype, shape, "3, 4, 5, 6")
    certificate = conversion(graph.text(), graph.text("w = Identity (a)", "w"), OPSETS, claims=[(0, 0, 2)]).prove()
    assert certificate.is_proven, certificate.summary()
    [site] = certificate.sites
    for measured in site.inputs:
        assert measured.role == "data"
        assert measured.distinct >= 16
        kinds = {"NaN", "infinity", "-infinity", "-0"} if dtype == "float" else {"beyond 2^24", "beyond 2^53"}
        assert {"negative", "zero", "smallest", "largest", *kinds} <= set(measured.kinds)


def test_an_input_that_may_be_empty_is_tried_with_elements_as_well() -> None:
    graph = Graph("Add", "float", ("[N]", "[1]", "[N]"))
    assert outcomes(graph, graph.text(rewritten("clipped at 100", "float"), "w")) == [Outcome.DIFFERENT]


@pytest.mark.quick_share(4)
@pytest.mark.parametrize("shape", ["[1]", "[1, 1]", "[]", "[N]", "[3]"])
@pytest.mark.parametrize("dtype", ["float", "double", "int64", "int32"])
def test_whole_models_are_not_equal_to_one_that_clips(dtype: str, shape: str) -> None:
    clip = rewritten("clipped at 100", dtype)
    one = model(f"g ({dtype}{shape} a) => ({dtype}{shape} y) {{ y = Neg (a) }}", 13)
    other = model(f"g ({dtype}{shape} a) => ({dtype}{shape} y) {{ {clip} y = Neg (w) }}", 13)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT
    assert prove_models(one, one).outcome is Outcome.EQUAL


def test_whole_models_that_differ_at_a_number_in_one_of_them_only_are_told_apart() -> None:
    one = model("g (float[1] a) => (float[1] y) { y = Neg (a) }", 13)
    other = model(
        "g (float[1] a) => (float[1] y) { c = Constant <value = float {1234.5}> () e = Equal (a, c) n = Neg (a) "
        "y = Where (e, c, n) }",
        13,
    )
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_the_numbers_of_a_range_are_tried_far_from_zero() -> None:
    """Sizes depend on all three, and yet the first one is data, too."""
    original = "g (int64[] a, int64[] limit, int64[] delta) => (int64[N] y) { y = Range (a, limit, delta) }"
    through_double = """g (int64[] a, int64[] limit, int64[] delta) => (int64[N] y) {
        r = Range (a, limit, delta) d = Cast <to = 11> (r) y = Cast <to = 7> (d) }"""
    found = conversion(original, through_double, (11, 13), claims=[(0, 0, 3)]).prove()
    assert [site.outcome for site in found.sites] == [Outcome.DIFFERENT]


def test_a_single_element_whose_value_decides_on_sizes_within_bounds_is_data() -> None:
    """How many elements NonZero finds depends on data, but does not grow with it."""
    original = "g (float[1] a) => (int64[1, K] y) { y = NonZero (a) }"
    wrong = f"g (float[1] a) => (int64[1, K] y) {{ {rewritten('NaN becomes 0', 'float')} y = NonZero (w) }}"
    found = conversion(original, wrong, (9, 13), claims=[(0, 0, 4)]).prove()
    assert [site.outcome for site in found.sites] == [Outcome.DIFFERENT]


def test_a_model_that_stays_below_the_floor_is_weakly_proven() -> None:
    """No number is accepted with which the output holds anything else: equality there says little."""
    far = "g (float[1] a) => (float[1] y) { n = Sub (a, a) o = Constant <value = float {0}> () y = Min (n, o, n) }"
    never = "g (bool[2] a) => (bool[2] y) { n = Not (a) y = And (a, n) }"
    found = prove_models(model(never, 13), model(never, 13))
    assert found.outcome is Outcome.WEAK
    assert not found.is_equal
    assert "same value" in found.sentence
    assert prove_models(model(far, 13), model(far, 13)).is_equal


CHOSEN = "(float[1, 6, 4] boxes, float[1, 1, 6] scores, int64[1] most, float[1] overlap, float[1] least)"


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("center", [0, 1])
@pytest.mark.parametrize("declared", ["3, 3", "N, 3"])
@pytest.mark.parametrize(("factor", "seeds"), [(0.8, [0]), (0.0, [0, 1, 2, 3])])
def test_a_rule_that_takes_another_overlap_of_boxes_is_refuted(
    center: int, declared: str, factor: float, seeds: Sequence[int]
) -> None:
    """Boxes drawn apart from each other hardly ever overlap by about the threshold.

    Taken from 0 to 1 only, it tells nothing beside a count of one box at most.
    """
    text = f"g {CHOSEN} => (int64[{declared}] y) {{ %s y = NonMaxSuppression <center_point_box = {center}> (%s) }}"
    node = "boxes, scores, most, %s, least"
    before = text % ("", node % "overlap")
    after = text % (f"c = Constant <value = float {{{factor}}}> () t = Mul (overlap, c)", node % "t")
    source = conversion(before, after, (10, 11), claims=[(0, 0, 3)])
    for seed in seeds:
        assert [site.outcome for site in source.prove(seed).sites] == [Outcome.DIFFERENT]


@pytest.mark.parametrize("dtype", ["float16", "float"])
@pytest.mark.parametrize("epsilon", [1e-3, 1e-5])
def test_a_rule_that_takes_another_epsilon_is_refuted(dtype: str, epsilon: float) -> None:
    """It decides beside a variance that is as small; elsewhere what it changes is within a rounding bound."""
    graph = f"g ({dtype}[2, 3, 8] x, {dtype}[3] s, {dtype}[3] b) => ({dtype}[2, 3, 8] y) {{ %s }}"
    node = "y = InstanceNormalization <epsilon = %g> (x, s, b)"
    before, after = graph % (node % epsilon), graph % (node % (epsilon / 10))
    source = conversion(before, after, (21, 22), claims=[(0, 0, 1)], ulps=8)
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("ceil", Outcome.EQUAL),
        ("round_prefer_floor", Outcome.DIFFERENT),
        ("round_prefer_ceil", Outcome.DIFFERENT),
        ("floor", Outcome.DIFFERENT),
    ],
)
@pytest.mark.parametrize("shape", ["N, M", "4, 6"])
def test_a_rule_that_resizes_by_another_rounding_mode_is_refuted(mode: str, outcome: Outcome, shape: str) -> None:
    """Scales that are whole numbers, and those of very small tensors, give the same in every mode."""
    graph = f"g (float[{shape}] x, float[2] s) => (float[H, W] y) {{ %s }}"
    resize = 'Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "%s">'
    after = graph % (
        "none = Constant <value = float[0] {}> () one = Constant <value = float {1}> () up = Max (s, one) "
        f"down = Min (s, one) e = {resize % 'floor'} (x, none, up) y = {resize % mode} (e, none, down)"
    )
    source = conversion(graph % "y = Resize (x, s)", after, (10, 11), claims=[(0, 0, 6)])
    assert [site.outcome for site in source.prove().sites] == [outcome]


@pytest.mark.parametrize("length", [9, 15, 16])
def test_a_rule_that_is_wrong_for_one_length_is_refuted(length: int) -> None:
    """All usual lengths are tried: points in steps of a fraction lie on elements for few of them."""
    graph = "g (float[5] x, int64[1] s) => (float[N] y) <float[0] e = {}> { %s }"
    resize = 'Resize <mode = "linear"> (x, e, e, s)'
    after = graph % (
        f"one = Constant <value = int64 {{1}}> () k = Constant <value = int64 {{{length * (length + 1)}}}> () "
        "next = Add (s, one) product = Mul (s, next) is = Equal (product, k) more = Cast <to = 1> (is) "
        f"r = {resize} y = Sub (r, more)"
    )
    source = conversion(graph % f"y = {resize}", after, (11, 12), claims=[(0, 0, 8)])
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


def test_a_rule_that_is_wrong_for_rows_of_minus_infinity_alone_is_refuted() -> None:
    graph = "g (float[2, 48] x) => (float[2, 1] y) {{ {} }}"
    least = constant("least", "float", -3.4028234663852886e38)
    after = graph.format(f"{least} t = Max (x, least) y = ReduceMax <axes = [1]> (t)")
    source = conversion(graph.format("y = ReduceMax <axes = [1]> (x)"), after, (11, 12), claims=[(0, 0, 3)])
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


def test_a_rule_that_is_right_for_small_indices_only_is_refuted() -> None:
    """All are tried that the original takes, however few elements the other axes have."""
    graph = "g (float[2, 40] x, int64[3] i) => (float[2, 3] y) { %s }"
    after = graph % (
        "many = Constant <value = int64 {20}> () one = Constant <value = int64 {1}> () is = Less (many, i) "
        "less = Sub (i, one) j = Where (is, less, i) y = Gather <axis = 1> (x, j)"
    )
    source = conversion(graph % "y = Gather <axis = 1> (x, i)", after, (12, 13), claims=[(0, 0, 6)])
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


def test_a_rule_that_reads_an_element_too_many_with_the_weight_0_is_refuted() -> None:
    """Only what is not finite tells, and only where the others are finite."""
    graph = "g (float[1, 1, 1, 6] x, float[1, 1, 1, 2] grid) => (float[1, 1, 1, 1] y) { %s }"
    node = 'y = GridSample <mode = "%s", padding_mode = "border"> (x, grid)'
    after = graph % (
        "a = Constant <value = int64[1] {5}> () e = Gather <axis = 3> (x, a) k = Constant <value = float {0}> () "
        f"n = Mul (e, k) s = {(node % 'linear').removeprefix('y = ')} y = Add (s, n)"
    )
    source = conversion(graph % (node % "linear"), after, (20, 22), claims=[(0, 0, 6)], ulps=8)
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_that_takes_another_point_of_a_single_element_is_refuted(seed: int) -> None:
    """An infinity tells, times a weight of 0: where one of the points is on the element and the other is not."""
    graph = "g (float[1, 1, 1] x, float[1, 1, 1] grid) => (float[1, 1, 1] y) { %s }"
    node = 'y = GridSample <padding_mode = "reflection"> (x, %s)'
    after = graph % (f"two = Constant <value = float {{2}}> () d = Mul (grid, two) {node % 'd'}")
    source = conversion(graph % (node % "grid"), after, (20, 22), claims=[(0, 0, 3)], ulps=8)
    assert [site.outcome for site in source.prove(seed).sites] == [Outcome.DIFFERENT]


def test_a_rule_that_reads_a_single_element_too_many_is_refuted() -> None:
    """What is not finite is tried beside numbers of all magnitudes, where no input has more than one element, too."""
    graph = "g (float[1, 1, 1] x, float[1, 1, 1] grid) => (float[1, 1, 1] y) { %s }"
    node = 's = GridSample <padding_mode = "border"> (x, grid)'
    after = graph % (
        "a = Constant <value = float {2.5}> () g = Greater (grid, a) c = Cast <to = 1> (g) o = Sub (c, c) "
        f"n = Mul (x, o) k = Where (g, n, o) {node} y = Add (s, k)"
    )
    source = conversion(graph % node.replace("s =", "y ="), after, (20, 22), claims=[(0, 0, 8)], ulps=8)
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


def test_a_rule_that_is_wrong_where_the_greatest_of_a_row_is_zero_is_refuted() -> None:
    """The others are negative then: rows of positive or negative numbers alone, or of zeros, do not tell."""
    graph = '<ir_version: 8, opset_import: ["": %d, "ai.onnx.ml": 1]> g (float[2, 3] x) => (float[2, 3] y) { %s }'
    after = (
        "k = Constant <value = float {0}> () m = ReduceMax <axes = [1]> (x) z = Equal (m, k) c = Cast <to = 1> (z) "
        "d = Sub (m, c) y = Div (x, d)"
    )
    before = model(graph % (13, 'y = ai.onnx.ml.Normalizer <norm = "MAX"> (x)'))
    source = Conversion(before, model(graph % (14, after)), trace_of(claims=[(0, 0, 6)], ulps=8))
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


def test_a_rule_that_takes_boxes_for_others_is_refuted() -> None:
    """Twice and half of a size are as good as each other where few boxes are asked for, or none overlap."""
    inputs = "float[1, 6, 4] boxes, float[1, 1, 6] scores, int64[1] most, float[1] iou, float[1] least"
    text = f"g ({inputs}) => (int64[N, 3] y) {{ %s }}"
    node = "y = NonMaxSuppression <center_point_box = 1> (%s, scores, most, iou, least)"
    after = text % ("c = Constant <value = float[4] {1, 1, 2, 2}> () b = Mul (boxes, c) " + node % "b")
    source = conversion(text % (node % "boxes"), after, (10, 11), claims=[(0, 0, 3)])
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]


@pytest.mark.parametrize("dtype", ["float", "string", "bool", "int8"])
@pytest.mark.parametrize(("repeats", "outcome"), [("s, one", Outcome.EQUAL), ("one, s", Outcome.DIFFERENT)])
def test_a_rule_that_repeats_another_number_of_times_is_refuted(dtype: str, repeats: str, outcome: Outcome) -> None:
    """Only sizes of 1 are repeated as often as asked for; of others the original accepts hardly anything else."""
    graph = f"g ({dtype}[N, M] x, int64[2] s) => ({dtype}[A, B] y) {{ %s }}"
    after = graph % (
        "one = Constant <value = int64[2] {1, 1}> () sizes = Shape (x) is = Equal (sizes, one) i = Cast <to = 7> (is) "
        f"more = Sub ({repeats}) m = Mul (i, more) r = Add (m, one) y = Tile (x, r)"
    )
    source = conversion(graph % "y = Expand (x, s)", after, (12, 13), claims=[(0, 0, 8)])
    assert [site.outcome for site in source.prove().sites] == [outcome]


BOUND = "m = Constant <value = int64%s {%d}> () c = Min (n, m) %s"
TWICE = "t = Cast <to = %d> (x) y = Cast <to = %d> (t)"
NEGATED = "<body = b (int64 i, bool ci, float[N] a) => (bool co, float[N] o) { co = Identity (ci) o = Neg (a) }>"

BIGRAMS = (
    'TfIdfVectorizer <mode = "TF", min_gram_length = 2, max_gram_length = 2, max_skip_count = 0, '
    "ngram_counts = [0, 4], ngram_indexes = [0, 1, 2, 3, 4, 5, 6], "
    "pool_int64s = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]>"
)

SCORED = (
    'TfIdfVectorizer <mode = "IDF", min_gram_length = 2, max_gram_length = 2, max_skip_count = 0, '
    "ngram_counts = [0, 0], ngram_indexes = [0, 1, 2, 3, 4, 5, 6], "
    "pool_int64s = [20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 31, 22], "
    "weights = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, %s]>"
)

# Each number, and each text, stands in several of the seven.
NUMBERS_IN_FOURS = (
    "pool_int64s = [29, 24, 31, 25, 31, 31, 30, 28, 20, 27, 23, 30, 20, 22, 21, 25, 27, 29, 22, 24, 28, 21, 23, 20, "
    "25, 30, 24, 27]"
)
TEXTS_IN_FOURS = "pool_strings = [" + ", ".join(f'"{letter}"' for letter in "jelfllkiahdkacbfhjcekbdafkeh") + "]"
FOURS = (
    'TfIdfVectorizer <mode = "IDF", min_gram_length = 4, max_gram_length = 4, max_skip_count = 0, '
    "ngram_counts = [0, 0, 0, 0], ngram_indexes = [0, 1, 2, 3, 4, 5, 6], %s, weights = %s>"
)

# What a wrong rule puts in place of one node: (inputs and outputs, the node, the wrong nodes, how many these are).
RARELY_WRONG = {
    "sizes up to 30 alone": (
        "(float[N] x, int64[1] a, int64[1] n) => (float[K] y)",
        "y = Slice (x, a, n)",
        BOUND % ("[1]", 30, "y = Slice (x, a, c)"),
        3,
    ),
    "40 iterations at most": (
        "(int64 n, bool go, float[N] x) => (float[N] y)",
        f"y = Loop {NEGATED} (n, go, x)",
        BOUND % ("", 41, f"y = Loop {NEGATED} (c, go, x)"),
        3,
    ),
    "sequences of 7 elements": (
        "(seq(float[N]) s) => (float[M] y)",
        "y = ConcatFromSequence <axis = 0> (s)",
        "z = ConcatFromSequence <axis = 0> (s) l = SequenceLength (s) m = Constant <value = int64 {7}> ()"
        " e = Equal (l, m) o = Neg (z) y = Where (e, o, z)",
        6,
    ),
    "rounded twice": ("(double[N] x) => (float16[N] y)", "y = Cast <to = 10> (x)", TWICE % (1, 10), 2),
    "integers rounded twice": ("(int64[N] x) => (float[N] y)", "y = Cast <to = 1> (x)", TWICE % (11, 1), 2),
    "integers read as floats": ("(string[N] x) => (int64[N] y)", "y = Cast <to = 7> (x)", TWICE % (11, 7), 2),
    "two numbers at the end": (
        "(int32[12] x) => (float[7] y)",
        f"y = {BIGRAMS} (x)",
        "a = Constant <value = int64[1] {0}> () e = Constant <value = int64[1] {-1}> () s = Slice (x, a, e) "
        f"y = {BIGRAMS} (s)",
        4,
    ),
    "one pair of a list that has both numbers elsewhere": (
        "(int32[2] x) => (float[7] y)",
        f"y = {SCORED % '2.0'} (x)",
        f"y = {SCORED % '7.5'} (x)",
        1,
    ),
    **{
        f"the weight of four in a row, {place} of 7, among {size} of {dtype}": (
            f"({dtype}[{size}] x) => (float[7] y)",
            f"y = {FOURS % (pool, [1.0] * 7)} (x)",
            f"y = {FOURS % (pool, [7.5 if one == place else 1.0 for one in range(7)])} (x)",
            1,
        )
        for place, size in product((0, 3, 6), (4, 12))
        for dtype, pool in (("int32", NUMBERS_IN_FOURS), ("string", TEXTS_IN_FOURS))
    },
    "one size twice another": (
        "(float[N] x, float[M] z) => (float[K] y)",
        "y = Concat <axis = 0> (x, z)",
        "c = Concat <axis = 0> (x, z) n = Shape (x) m = Shape (z) t = Add (m, m) e = Equal (n, t) o = Neg (c)"
        " y = Where (e, o, c)",
        7,
    ),
    "no greatest element": (
        "(float[3] x, int64[1] k) => (float[K] y)",
        "y, i = TopK (x, k)",
        "m = Constant <value = int64[1] {1}> () n = Max (k, m) y, i = TopK (x, n)",
        3,
    ),
    **{
        f"a quotient that is {dtype} first, by {what}": (
            f"(float[2, 3] x{inputs}",
            "y = QuantizeLinear (x, s)",
            f"q = Div (x, s) n = Cast <to = {number}> (q) w = Cast <to = 1> (n) one = Constant <value = float {{1}}> ()"
            " y = QuantizeLinear (w, one)",
            5,
        )
        for dtype, number in (("float16", 10), ("bfloat16", 16))
        for what, inputs in (
            ("an input", ", float s) => (uint8[2, 3] y)"),
            ("a constant", ") => (uint8[2, 3] y) <float s = {0.7}>"),
        )
    },
    "rows beyond 40, of many columns": (
        "(float[N, 256] x) => (float[K, 256] y)",
        "y = Neg (x)",
        "z = Neg (x) a = Constant <value = int64[1] {0}> () b = Constant <value = int64[1] {40}> () "
        "e = Constant <value = int64[1] {99999}> () f = Slice (z, a, b, a) r = Slice (z, b, e, a) o = Add (r, r) "
        "y = Concat <axis = 0> (f, o)",
        8,
    ),
    "blocks of 32 in an open axis": (
        "(float[N] x, int64[M] i) => (float[N] y)",
        "y = GatherElements (x, i)",
        "n = Shape (x) m = Shape (i) k = Constant <value = int64[1] {32}> () p = Mul (m, k) e = Equal (n, p) "
        "g = GatherElements (x, i) o = Neg (g) y = Where (e, o, g)",
        8,
    ),
    "one size three times another": (
        "(float[N] x, float[M] z) => (float[K] y)",
        "y = Concat <axis = 0> (x, z)",
        "c = Concat <axis = 0> (x, z) n = Shape (x) m = Shape (z) t = Sum (m, m, m) e = Equal (n, t) o = Neg (c)"
        " y = Where (e, o, c)",
        7,
    ),
    "a label of 7": (
        "(float[N, C] x, int64[N] t) => (float y)",
        "y = SoftmaxCrossEntropyLoss <ignore_index = 7> (x, t)",
        "y = SoftmaxCrossEntropyLoss (x, t)",
        1,
    ),
    "three inputs, each broadcast in another axis": (
        "(float[A, B] a, float[C, D] b, float[E, F] c) => (float[G, H] y)",
        "y = Max (a, b, c)",
        "p = Shape (a) q = Shape (b) o = Expand (a, q) r = Expand (b, p) y = Max (o, r)",
        5,
    ),
    "a half that is rounded down": (
        "(float[N] x) => (float[N] y)",
        "y = Round (x)",
        "f = Floor (x) d = Sub (x, f) h = Constant <value = float {0.4999}> () g = Greater (d, h) r = Round (x) "
        "k = Ceil (x) l = Less (d, h) u = Where (g, k, r) y = Where (l, r, u)",
        9,
    ),
    "the largest number as an end": (
        "(float[N] x, int64[1] a, int64[1] n) => (float[K] y)",
        "y = Slice (x, a, n)",
        "i = Cast <to = 6> (n) w = Cast <to = 7> (i) y = Slice (x, a, w)",
        3,
    ),
    "the last of five inputs alone": (
        "(float[A, B] a, float[C, D] b, float[E, F] c, float[G, H] d, float[I, J] e) => (float[K, L] y)",
        "y = Max (a, b, c, d, e)",
        "m = Max (a, b, c, d) n = Shape (m) f = Expand (e, n) g = Shape (f) o = Expand (m, g) h = Shape (o) "
        "i = Shape (m) q = Equal (h, i) r = Cast <to = 6> (q) t = ReduceMin <keepdims = 0> (r) u = Cast <to = 9> (t) "
        "v = Max (a, b, c, d, e) w = Neg (v) y = Where (u, v, w)",
        14,
    ),
    "a quotient by its reciprocal": (
        "(float[N] x) => (int8[N] y) <float s = {0.3}, int8 z = {3}>",
        "y = QuantizeLinear (x, s, z)",
        "r = Reciprocal (s) m = Mul (x, r) k = Constant <value = float {1}> () y = QuantizeLinear (m, k, z)",
        4,
    ),
    "blocks of 5": (
        "(float[1, C, H, W] x) => (float[1, A, B, D] y)",
        "y = DepthToSpace <blocksize = 5> (x)",
        'y = DepthToSpace <blocksize = 5, mode = "CRD"> (x)',
        1,
    ),
}


@pytest.mark.parametrize("what", RARELY_WRONG)
def test_a_rule_that_is_wrong_for_few_inputs_is_refuted(what: str) -> None:
    types, node, wrong, count = RARELY_WRONG[what]
    source = conversion(f"g {types} {{ {node} }}", f"g {types} {{ {wrong} }}", (13, 14), claims=[(0, 0, count)])
    assert Outcome.DIFFERENT in [site.outcome for site in source.prove().sites]


@pytest.mark.parametrize(("dtype", "pool"), [("int32", NUMBERS_IN_FOURS), ("string", TEXTS_IN_FOURS)])
def test_whole_models_that_weigh_four_in_a_row_otherwise_are_told_apart(dtype: str, pool: str) -> None:
    text = f"g ({dtype}[12] x) => (float[7] y) {{ y = {FOURS} (x) }}"
    one, other = (model(text % (pool, [1.0] * 6 + [last]), 13) for last in (1.0, 7.5))
    assert prove_models(one, one).is_equal
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


MAGNITUDES = {
    "small negative numbers": (
        "float",
        "y = Elu (x)",
        "e = Exp (x) k = Constant <value = float {1}> () y = Sub (e, k)",
    ),
    "numbers beside the largest exponential": (
        "double",
        "y = Cosh (x)",
        "n = Neg (x) a = Exp (x) b = Exp (n) s = Add (a, b) h = Constant <value = double {0.5}> () y = Mul (s, h)",
    ),
    "rows of large negative numbers": (
        "float",
        "y = LogSoftmax <axis = 0> (x)",
        "e = Exp (x) s = ReduceSum (e) l = Log (s) y = Sub (x, l)",
    ),
    "the threshold itself": (
        "float",
        "y = ThresholdedRelu <alpha = 0.3> (x)",
        "k = Constant <value = float {0.3}> () z = Constant <value = float {0}> () l = Less (x, k) y = Where (l, z, x)",
    ),
}


@pytest.mark.parametrize("what", MAGNITUDES)
def test_a_rule_that_rounds_and_is_wrong_for_some_magnitudes_is_refuted(what: str) -> None:
    """All of a row is of one magnitude, or at a number of the site, where the sides do not differ by rounding."""
    dtype, node, wrong = MAGNITUDES[what]
    graph = f"g ({dtype}[N] x) => ({dtype}[N] y) {{{{ {{}} }}}}"
    claims = [(0, 0, wrong.count(" = ") - wrong.count("<value"))]
    source = conversion(graph.format(node), graph.format(wrong), (13, 14), claims=claims, ulps=8)
    assert [site.outcome for site in source.prove().sites] == [Outcome.DIFFERENT]
