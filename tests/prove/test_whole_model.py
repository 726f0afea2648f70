"""Two models side by side."""

from __future__ import annotations

from pathlib import Path

import numpy
import onnx
import pytest

from opsetlift.proof import Outcome, prove_models
from tests.prove.conversions import model

REDUCED = "g (float[N, M] x) => (float[N] y, float[M] z) { y = ReduceMin <axes = [1], keepdims = 0> (x) %s }"


def test_equal_models_are_equal_on_at_least_as_many_runs_as_asked_for() -> None:
    one = model(REDUCED % "z = ReduceMax <axes = [0], keepdims = 0> (x)", 13)
    other = model(REDUCED % "z = ReduceMax <axes = [-2], keepdims = 0> (x)", 13)
    found = prove_models(one, other, runs=4)
    assert found.is_equal
    assert found.runs >= 4


def test_as_many_runs_as_asked_for_where_the_usual_inputs_are_fewer() -> None:
    one = model("g (float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }", 13)
    assert prove_models(one, one, runs=200).runs >= 200


def test_a_difference_is_told_with_how_the_inputs_were_made() -> None:
    one = model("g (float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }", 13)
    other = model("g (float[2, 3] x) => (float[2, 3] y) { y = Abs (x) }", 13)
    assert prove_models(one, other).sentence.startswith("inputs with declared shapes (small integers): output 'y' at")


def test_the_first_output_that_differs_is_named() -> None:
    one = model(REDUCED % "z = ReduceMax <axes = [0], keepdims = 0> (x)", 13)
    other = model(REDUCED % "z = ReduceSum <keepdims = 0> (x, a) a = Constant <value_ints = [0]> ()", 13)
    other.graph.node.insert(0, other.graph.node.pop(2))
    found = prove_models(one, other)
    assert found.outcome is Outcome.DIFFERENT
    assert "output 'z' at index" in found.sentence


@pytest.mark.parametrize(
    "division", ["y = Div (x, zero)", "q = Div (zero, zero) y = Mul (q, x)", "q = Mod (x, zero) y = Mul (q, zero)"]
)
def test_a_division_of_integers_by_zero_that_the_first_model_does_not_make_is_a_difference(division: str) -> None:
    """Runtimes crash there, or give what they like; our evaluator gives 0."""
    text = "g (int64[N] x) => (int64[N] y) <int64 zero = {0}> { %s }"
    one, other = (model(text % nodes, 14) for nodes in ("y = Mul (x, zero)", division))
    assert "divides an integer by zero" in prove_models(one, other).sentence
    assert prove_models(other, other).outcome is not Outcome.DIFFERENT


def test_masks_with_rows_that_are_all_false_are_tried() -> None:
    """Coin tosses hardly ever give one in a mask of this size."""
    text = """g (bool[4, 9] mask, float[4, 9] x) => (float[4, 9] y) <float zero = {0}> {
        seen = Cast <to = 1> (mask)
        any = ReduceMax <axes = [%s]> (seen)
        is_masked = Equal (any, zero)
        y = Where (is_masked, zero, x)
    }"""
    assert prove_models(model(text % "1", 13), model(text % "-1", 13)).is_equal
    assert prove_models(model(text % "1", 13), model(text % "0", 13)).outcome is Outcome.DIFFERENT


def test_given_inputs_are_used_as_they_are() -> None:
    one = model("g (float[N] x) => (float[N] y) { y = Relu (x) }", 13)
    other = model("g (float[N] x) => (float[N] y) { y = Identity (x) }", 13)
    positive = {"x": numpy.array([1, 2], dtype=numpy.float32)}
    assert prove_models(one, other, inputs=positive).is_equal
    found = prove_models(one, other, inputs={"x": -positive["x"]})
    assert found.sentence.startswith("the given inputs: output 'y' at index [0] 0.0 became -1.0")
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_given_inputs_that_the_first_model_rejects_prove_nothing() -> None:
    one = model("g (float[N] x) => (float[N] y) { y = Relu (x) }", 13)
    found = prove_models(one, one, inputs={"x": numpy.zeros((2, 2), numpy.float32)})
    assert found.outcome is Outcome.UNPROVEN
    assert "did not run on the given inputs" in found.sentence


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("g (float[N] z) => (float[N] y) { y = Relu (z) }", "input 'x' is missing in the second model"),
        ("g (double[N] x) => (double[N] y) { y = Relu (x) }", "input 'x' is tensor(float) in the first model and"),
        ("g (float[N] x) => (float[N] z) { z = Relu (x) }", "output 'y' is missing in the second model"),
        ("g (float[N, 3] x) => (float[N] y) { y = Relu (x) }", "input 'x' has shape ['N'] in the first model and"),
    ],
)
def test_models_of_other_interfaces_are_not_run(other: str, sentence: str) -> None:
    found = prove_models(model("g (float[N] x) => (float[N] y) { y = Relu (x) }", 13), model(other, 13))
    assert found.outcome is Outcome.DIFFERENT
    assert sentence in found.sentence
    assert found.runs == 0


def test_token_ids_are_redrawn_until_the_model_takes_them() -> None:
    text = "g (int64[B, T] ids, float[5, 2] table) => (float[B, T, 2] y) { y = Gather (table, ids) }"
    found = prove_models(model(text, 11), model(text, 13))
    assert found.is_equal
    assert found.runs >= 3
    assert "beyond 2^24" in found.inputs[0].rejected


def test_a_rounding_bound_may_be_given() -> None:
    one = model("g (double[N] x) => (double[N] y) { y = Identity (x) }", 13)
    other = model("g (double[N] x) => (double[N] y) { t = Exp (x) y = Log (t) }", 13)
    inputs = {"x": numpy.linspace(0.1, 3.0, 50)}
    exact, bounded = prove_models(one, other, inputs=inputs), prove_models(one, other, inputs=inputs, ulps=8)
    assert exact.outcome is Outcome.DIFFERENT
    assert exact.worst_ulps > 0
    assert bounded.is_equal
    assert bounded.worst_ulps == exact.worst_ulps


def test_files_and_their_external_data_are_read(tmp_path: Path) -> None:
    text = "g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}> { y = Add (x, w) }"
    paths = []
    for name, opset in (("a", 13), ("b", 14)):
        made = model(text, opset)
        folder = tmp_path / name
        folder.mkdir()
        made.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(numpy.array([1, 2], numpy.float32), "w"))
        path = folder / "model.onnx"
        onnx.save(made, path, save_as_external_data=True, size_threshold=0, location="w.bin")
        paths.append(path)
    assert prove_models(*paths).is_equal
    content = (tmp_path / "b" / "w.bin").read_bytes()
    (tmp_path / "b" / "w.bin").write_bytes(content[:-1] + b"\x41")
    assert prove_models(*paths).outcome is Outcome.DIFFERENT


def test_initializers_with_defaults_need_not_be_given() -> None:
    text = """<ir_version: 3, opset_import: ["": 8]>
        g (float[N] x, float[1] w) => (float[N] y) <float[1] w = {2}> { y = Mul (x, w) }"""
    assert prove_models(model(text), model(text)).is_equal


@pytest.mark.parametrize("threshold", [10.0, 1000.0])
@pytest.mark.parametrize("original_branches", [True, False])
def test_branches_that_a_sum_of_ordinary_numbers_decides_are_compared(
    threshold: float, original_branches: bool
) -> None:
    branching = model(
        "g (float[N] x) => (float[N] y) {"
        " s = ReduceSum <keepdims = 0> (x)"
        f" t = Constant <value_float = {threshold}> ()"
        " c = Greater (s, t)"
        " y = If (c) <then_branch = a () => (float[N] p) { p = Relu (x) },"
        " else_branch = b () => (float[N] q) { q = Abs (x) }> }",
        18,
    )
    plain = model("g (float[N] x) => (float[N] y) { y = Abs (x) }", 18)
    models = (branching, plain) if original_branches else (plain, branching)
    assert prove_models(*models).outcome is Outcome.DIFFERENT


def test_a_branch_that_no_input_reaches_makes_the_proof_weak() -> None:
    branching = model(
        "g (float[N] x) => (float[N] y) {"
        " k = Constant <value_float = 1000.0> ()"
        " a = Mul (x, k)"
        " s = ReduceSum <keepdims = 0> (a)"
        " d = Constant <value_float = 7777.5> ()"
        " c = Equal (s, d)"
        " y = If (c) <then_branch = a () => (float[N] p) { p = Relu (x) },"
        " else_branch = b () => (float[N] q) { q = Abs (x) }> }",
        18,
    )
    plain = model("g (float[N] x) => (float[N] y) { y = Abs (x) }", 18)
    for models, which in (((branching, plain), "first"), ((plain, branching), "second")):
        found = prove_models(*models)
        assert found.outcome is Outcome.WEAK
        assert found.sentence == f"no input made 'then_branch' of If 'y' in the {which} model run"


def test_a_branch_that_shapes_rule_out_is_not_missed() -> None:
    branching = model(
        "g (float[3] x) => (float[3] y) {"
        " s = Shape (x)"
        " t = Constant <value_ints = [1]> ()"
        " c = Equal (s, t)"
        " y = If (c) <then_branch = a () => (float[3] p) { p = Relu (x) },"
        " else_branch = b () => (float[3] q) { q = Abs (x) }> }",
        18,
    )
    plain = model("g (float[3] x) => (float[3] y) { y = Abs (x) }", 18)
    assert prove_models(branching, plain).is_equal


@pytest.mark.parametrize(("size", "columns"), [(17, "M"), (1000, "M"), (1000, "80"), (4096, "30"), (100_000, "M")])
def test_a_model_that_is_cut_to_a_fixed_size_differs(size: int, columns: str) -> None:
    plain = model(f"g (float[N, {columns}] x) => (float[A, {columns}] y) {{ y = Identity (x) }}", 18)
    cut = model(
        f"g (float[N, {columns}] x) => (float[A, {columns}] y) {{"
        f" a = Constant <value_ints = [0]> () b = Constant <value_ints = [{size}]> () y = Slice (x, a, b) }}",
        18,
    )
    assert prove_models(plain, cut).outcome is Outcome.DIFFERENT
    assert prove_models(cut, plain).outcome is Outcome.DIFFERENT


BY_SIZES = """g (float[N, M] x) => (float[N, M] y) {
    rows = Shape <start = 0, end = 1> (x)
    columns = Shape <start = 1, end = 2> (x)
    %s
    negative = Neg (x)
    y = Where (is_so, negative, x)
}"""

UNLIKE = {
    "as many rows as columns": (BY_SIZES % "is_so = Equal (rows, columns)", "N, M"),
    "twice as many rows": (BY_SIZES % "twice = Add (columns, columns) is_so = Equal (rows, twice)", "N, M"),
    "77 columns": (BY_SIZES % "size = Constant <value_ints = [77]> () is_so = Equal (columns, size)", "N, M"),
    "5 columns": (BY_SIZES % "size = Constant <value_ints = [5]> () is_so = Equal (columns, size)", "N, M"),
    "20,000 columns": (BY_SIZES % "size = Constant <value_ints = [20000]> () is_so = Equal (columns, size)", "N, M"),
    "one column": (BY_SIZES % "one = Constant <value_ints = [1]> () is_so = Equal (columns, one)", "N, M"),
}


@pytest.mark.parametrize("what", UNLIKE)
def test_open_sizes_by_which_a_model_tells_its_inputs_apart_are_tried(what: str) -> None:
    text, sizes = UNLIKE[what]
    plain = model(f"g (float[{sizes}] x) => (float[{sizes}] y) {{ y = Identity (x) }}", 18)
    assert prove_models(plain, model(text, 18)).outcome is Outcome.DIFFERENT


def test_a_single_axis_without_elements_is_tried() -> None:
    one, other = (
        model(
            "g (float[N, M] x) => (float[N] y) {"
            " axis = Constant <value_ints = [1]> () zero = Constant <value_ints = [0]> ()"
            " columns = Shape <start = 1> (x) none = Equal (columns, zero)"
            " sum = ReduceSum <keepdims = 0> (x, axis)"
            f" five = Constant <value = float[1] {{{number}}}> () y = Where (none, five, sum) }}",
            18,
        )
        for number in (5, 6)
    )
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_numbers_of_the_models_are_tried_in_two_inputs_at_once() -> None:
    text = """g (float[N] x, float[N] w) => (bool[N] y) {
        a = Constant <value = float {17}> () b = Constant <value = float {-23}> ()
        is_a = Equal (x, a) is_b = Equal (w, b) both = And (is_a, is_b) %s
    }"""
    plain, other = (
        model(text % nodes, 18)
        for nodes in ("y = Identity (both)", "more = Not (is_a) less = Not (is_b) y = Xor (more, less)")
    )
    never = model("g (float[N] x, float[N] w) => (bool[N] y) { c = IsInf (x) d = Not (c) y = And (c, d) }", 20)
    assert prove_models(plain, other).outcome is Outcome.DIFFERENT
    assert prove_models(plain, never).outcome is Outcome.DIFFERENT
    assert prove_models(never, plain).outcome is Outcome.DIFFERENT


FOO = 'text = Constant <value_string = "foo"> () text_too = Constant <value_string = "bar"> ()'
LOWER = 'StringNormalizer <case_change_action = "LOWER">'
UPPER = 'StringNormalizer <case_change_action = "UPPER">'
STOP = 'y = StringNormalizer <stopwords = ["%s"], is_case_sensitive = %d> (x)'
SPLIT = 'y, n = StringSplit <delimiter = ",", maxsplit = %d> (x)'


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "y = Identity (x)",
            f"{FOO} is_so = Equal (x, text) y = Where (is_so, text_too, x)",
        ),
        (STOP % ("mon", 1), STOP % ("mon", 0)),
        (STOP % ("straße", 1), STOP % ("straße", 0)),
        (SPLIT % 2, SPLIT % 3),
        (f"y = {LOWER} (x)", f"upper = {UPPER} (x) y = {LOWER} (upper)"),
    ],
    ids=[
        "a text of the model",
        "a text in the other case",
        "a text with a letter that has no other case",
        "a text as a delimiter",
        "a letter that upper case doubles",
    ],
)
def test_texts_that_models_compare_with_are_tried(one: str, other: str) -> None:
    first, second = (model(f"g (string[N] x) => (string y) {{ {nodes} }}", 20) for nodes in (one, other))
    assert prove_models(first, second).outcome is Outcome.DIFFERENT
    assert prove_models(first, first).is_equal


@pytest.mark.parametrize("size", ["", "[3]", "[N]"])
@pytest.mark.parametrize(("dtype", "wide"), [("int32", 1), ("int64", 1), ("int64", 11)])
@pytest.mark.parametrize("operator", ["Equal", "Less"])
def test_integers_next_to_one_another_are_compared(operator: str, dtype: str, wide: int, size: str) -> None:
    text = f"g ({dtype}{size} a, {dtype}{size} b) => (bool{size} y) {{ %s y = {operator} (%s) }}"
    one = model(text % ("", "a, b"), 18)
    other = model(text % (f"c = Cast <to = {wide}> (a) d = Cast <to = {wide}> (b)", "c, d"), 18)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_integers_next_to_one_another_are_tried_also_where_sizes_follow_them() -> None:
    text = "g (int64[N] x) => (int64[M] y) { %s }"
    one = model(text % "y = Unique (x)", 18)
    other = model(text % "d = Cast <to = 11> (x) u, i = Unique (d) y = Gather (x, i)", 18)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_each_key_of_a_list_is_tried_in_a_model_of_many_nodes() -> None:
    keys = ", ".join(f'"k{number}"' for number in range(40))
    chain = " ".join(f"v{step + 1} = Softplus (v{step})" for step in range(60))
    text = (
        '<ir_version: 8, opset_import: ["": 13, "ai.onnx.ml": 2]> g (string[N] x) => (float[N] y) { '
        f"v0 = ai.onnx.ml.LabelEncoder <keys_strings = [{keys}], values_floats = %s> (x) {chain} y = Identity (v60) }}"
    )
    right = [float(number) for number in range(40)]
    for place in (7, 20, 33):
        wrong = [*right[:place], 77.0, *right[place + 1 :]]
        one, other = map(onnx.parser.parse_model, (text % right, text % wrong))
        assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_sequences_of_other_lengths_are_tried() -> None:
    text = """g (seq(float[N]) s) => (float[M] y) {
        joined = ConcatFromSequence <axis = 0> (s) length = SequenceLength (s)
        many = Constant <value_int = 9> () is_so = Equal (length, many) negative = Neg (joined) y = %s
    }"""
    plain, other = (model(text % node, 18) for node in ("Identity (joined)", "Where (is_so, negative, joined)"))
    assert prove_models(plain, other).outcome is Outcome.DIFFERENT


@pytest.mark.parametrize("position", [5, -9, 40])
def test_sequences_are_as_long_as_a_position_in_them_wants(position: int) -> None:
    text = "g (seq(float[N]) s) => (float[N] y) { at = Constant <value_int = %d> () y = SequenceAt (s, at) }"
    one, other = model(text % position, 18), model(text % (position - 1 if position > 0 else position + 1), 18)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT
    assert prove_models(one, one).is_equal


def test_an_optional_without_an_element_is_tried() -> None:
    text = "g (optional(float[N]) s) => (bool y) { y = %s }"
    one, other = model(text % "OptionalHasElement (s)", 18), model(text % "Constant <value = bool {1}> ()", 18)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT
    assert prove_models(one, one).is_equal


OVERRIDABLE = "g (float[N] x, float w) => (float[N] y) <float w = {2}> { y = %s }"


def test_defaults_that_callers_may_override_are_overridden() -> None:
    one, other = model(OVERRIDABLE % "Mul (x, w)", 18), model(OVERRIDABLE % "Add (x, x)", 18)
    assert prove_models(one, other).outcome is Outcome.DIFFERENT
    assert prove_models(one, one).is_equal


def test_a_default_that_only_the_first_model_lets_callers_override_makes_the_proof_weak() -> None:
    one = model(OVERRIDABLE % "Mul (x, w)", 18)
    other = model("g (float[N] x) => (float[N] y) <float w = {2}> { y = Mul (x, w) }", 18)
    found = prove_models(one, other)
    assert found.outcome is Outcome.WEAK
    assert found.sentence == "only the first model lets callers override 'w'"
    assert prove_models(other, one).is_equal


def test_defaults_of_other_types_are_another_interface() -> None:
    one = model(OVERRIDABLE % "Mul (x, w)", 18)
    other = model("g (float[N] x, double w) => (float[N] y) <double w = {2}> { y = Add (x, x) }", 18)
    found = prove_models(one, other)
    assert found.outcome is Outcome.DIFFERENT
    assert found.sentence == "input 'w' is tensor(float) in the first model and tensor(double) in the second"


@pytest.mark.parametrize(
    ("dtypes", "direct", "detour"),
    [
        (("double", "float16"), 10, 1),
        (("float", "bfloat16"), 16, 10),
        (("int64", "float"), 1, 11),
        (("double", "bfloat16"), 16, 1),
    ],
)
def test_numbers_that_are_rounded_twice_are_tried(dtypes: tuple[str, str], direct: int, detour: int) -> None:
    given, result = dtypes
    text = f"g ({given}[N] x) => ({result}[N] y) {{ %s }}"
    one = model(text % f"y = Cast <to = {direct}> (x)", 18)
    twice = model(text % f"t = Cast <to = {detour}> (x) y = Cast <to = {direct}> (t)", 18)
    assert prove_models(one, twice).outcome is Outcome.DIFFERENT


def test_a_number_that_one_model_alone_has_in_a_table_is_tried_in_each_column() -> None:
    text = """g (float[N, 20] x) => (bool[N, 20] y) {
        w = Constant <value = float[20] {90, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, %s}> ()
        y = Greater (x, w)
    }"""
    assert prove_models(model(text % 120, 18), model(text % 120.5, 18)).outcome is Outcome.DIFFERENT


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("y = Pad (x, p)", "p_only = Max (p, zero) y = Pad (x, p_only)"),
        (
            "s = Slice (p, zeros, ones) y = Slice (x, zeros, s)",
            "s = Slice (p, zeros, ones) t = Min (s, fifty) y = Slice (x, zeros, t)",
        ),
    ],
    ids=["negative pads", "a size above fifty"],
)
def test_what_controls_shapes_is_varied(one: str, other: str) -> None:
    text = """g (float[N] x, int64[2] p) => (float[M] y) <int64 zero = {0}, int64[1] zeros = {0}, int64[1] ones = {1}> {
        fifty = Constant <value_ints = [50]> () %s
    }"""
    assert prove_models(model(text % one, 18), model(text % other, 18)).outcome is Outcome.DIFFERENT


def test_defaults_that_are_sizes_are_overridden() -> None:
    text = "g (float[N, 2] x, int64[2] s) => (float[A, B] y) <int64[2] s = {0, 2}> { y = %s }"
    assert (
        prove_models(model(text % "Reshape (x, s)", 18), model(text % "Identity (x)", 18)).outcome is Outcome.DIFFERENT
    )


def test_sizes_that_numbers_of_the_models_divide_are_guessed() -> None:
    one, other = (
        model(f"g (float[1, C, H, W] x) => (float[A, B, D, E] y) {{ y = DepthToSpace <blocksize = 5{mode}> (x) }}", 18)
        for mode in ("", ', mode = "CRD"')
    )
    assert prove_models(one, one).is_equal
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_dimensions_without_names_are_tried_unlike() -> None:
    text = "g (float[?, 3] x, float[?, 3] z) => (int64[1] y) { n = Concat <axis = 0> (x, %s) y = Shape <end = 1> (n) }"
    one, twice = model(text % "z", 18), model(text % "x", 18)
    assert prove_models(one, one).is_equal
    assert prove_models(one, twice).outcome is Outcome.DIFFERENT


def test_a_dimension_without_a_name_is_tried_with_one_element_beside_others() -> None:
    text = "g (float[N, ?] x, float[N, ?] z) => (float[N, M] y) { %s }"
    one, other = model(text % "s = Shape (z) y = Expand (x, s)", 18), model(text % "y = Identity (x)", 18)
    assert prove_models(one, one).is_equal
    assert prove_models(one, other).outcome is Outcome.DIFFERENT


def test_inputs_of_more_elements_than_memory_may_hold_are_not_drawn() -> None:
    large = model("g (float[400000, 1000] x) => (float[400000, 1000] y) { y = Neg (x) }", 13)
    found = prove_models(large, large)
    assert found.outcome is Outcome.UNPROVEN
    assert found.sentence == "the inputs have 400,000,000 elements, and inputs are drawn up to 134,217,728"
