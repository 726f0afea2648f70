"""Nodes that become one with their neighbours."""

import pytest

from opsetlift.normalizer import chosen_passes
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

INPUT = "g (float[2,3,4] x) => (float[] y)"


def test_transposes_become_one() -> None:
    before = f"{INPUT} {{ a = Transpose<perm = [1, 2, 0]>(x) y = Transpose<perm = [0, 2, 1]>(a) }}"
    check_rewrite("merge-transposes", before, f"{INPUT} {{ y = Transpose<perm = [1, 0, 2]>(x) }}")


def test_transposes_that_undo_each_other_go() -> None:
    before = f"{INPUT} {{ a = Transpose(x) b = Transpose(a) y = Neg(b) }}"
    check_rewrite(("merge-transposes", "remove-no-op-moves"), before, f"{INPUT} {{ y = Neg(x) }}")


def test_a_transpose_that_something_else_reads_stays() -> None:
    graph = "g (float[2,3] x) => (float[2,3] y, float[3,2] z) { a = Transpose(x) y = Transpose(a) z = Neg(a) }"
    check_unchanged("merge-transposes", graph)
    graph = "g (float[2,3] x) => (float[2,3] y, float[3,2] a) { a = Transpose(x) y = Transpose(a) }"
    check_unchanged("merge-transposes", graph)


def test_a_transpose_that_a_subgraph_reads_stays() -> None:
    graph = """g (bool c, float[2,3] x) => (float[2,3] y, float[3,2] z) {
        a = Transpose<perm = [1, 0]>(x)
        y = Transpose<perm = [1, 0]>(a)
        z = If (c) <
            then_branch = t () => (float[3,2] u) { u = Neg(a) },
            else_branch = e () => (float[3,2] v) { v = Abs(a) }
        >
    }"""
    check_unchanged("merge-transposes", graph)


@pytest.mark.parametrize(
    ("source", "through", "target"),
    [
        ("float16", "float", "double"),
        ("float", "double", "float16"),
        ("int8", "int32", "uint8"),
        ("bool", "float", "int64"),
    ],
)
def test_a_lossless_cast_goes(source: str, through: str, target: str) -> None:
    number = {"float": 1, "uint8": 2, "int32": 6, "int64": 7, "float16": 10, "double": 11}
    head = f"g ({source}[4] x) => ({target}[4] y)"
    before = f"{head} {{ a = Cast<to = {number[through]}>(x) y = Cast<to = {number[target]}>(a) }}"
    check_rewrite("merge-casts", before, f"{head} {{ y = Cast<to = {number[target]}>(x) }}")


@pytest.mark.parametrize(
    ("source", "through", "target"),
    [
        ("float", "float16", "float"),
        ("int64", "double", "float"),
        ("int8", "float", "uint8"),
        ("float16", "int8", "float"),
    ],
)
def test_a_cast_that_loses_something_stays(source: str, through: str, target: str) -> None:
    number = {"float": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10, "double": 11}
    head = f"g ({source}[4] x) => ({target}[4] y)"
    check_unchanged(
        "merge-casts", f"{head} {{ a = Cast<to = {number[through]}>(x) y = Cast<to = {number[target]}>(a) }}"
    )


def test_what_is_infinite_or_nan_is_asked_of_the_number_itself() -> None:
    graph = "g (float[4] x) => (bool[4] y) {{ {} n = IsNaN({}) i = IsInf<detect_negative = 0>({}) y = Or(n, i) }}"
    check_rewrite("merge-casts", graph.format("a = Cast<to = 11>(x)", "a", "a"), graph.format("", "x", "x"))


@pytest.mark.parametrize(
    ("dtypes", "to", "opset"),
    [
        pytest.param(("float16", "bool"), 1, 19, id="IsInf takes none of half precision yet"),
        pytest.param(("double", "bool"), 1, 19, id="numbers of double may become infinite"),
        pytest.param(("int32", "bool"), 1, 19, id="integers"),
    ],
)
def test_it_is_asked_of_the_cast_one_elsewhere(dtypes: tuple[str, str], to: int, opset: int) -> None:
    text = f"g ({dtypes[0]}[4] x) => ({dtypes[1]}[4] y) {{ a = Cast<to = {to}>(x) y = IsInf(a) }}"
    check_unchanged("merge-casts", text, opset=opset, ir=9)


def test_a_reshape_reads_past_another_view() -> None:
    before = f"{INPUT} <int64[2] s = {{4, -1}}> {{ a = Flatten<axis = 2>(x) y = Reshape(a, s) }}"
    check_rewrite("merge-reshapes", before, f"{INPUT} <int64[2] s = {{4, -1}}> {{ y = Reshape(x, s) }}")


def test_views_of_known_shape_become_one_reshape() -> None:
    before = (
        f"{INPUT} <int64[2] s = {{0, -1}}, int64[1] z = {{0}}> {{"
        f" a = Unsqueeze(x, z) b = Flatten(a) c = Reshape(b, s) y = Neg(c) }}"
    )
    check_rewrite(
        "merge-reshapes", before, f"{INPUT} <int64[2] c_shape = {{1, 24}}> {{ c = Reshape(x, c_shape) y = Neg(c) }}"
    )


def test_a_target_that_copies_a_size_names_the_others() -> None:
    before = "g (float[N,4] x) => (float[A,B] y) <int64[2] s = {-1, 2}, int64[3] t = {0, 1, -1}> "
    before += "{ a = Reshape(x, s) b = Reshape(a, t) y = Neg(b) }"
    after = before.split("<")[0] + "<int64[3] b_shape = {-1, 1, 2}> { b = Reshape(x, b_shape) y = Neg(b) }"
    check_rewrite("merge-reshapes", before, after)


def test_a_target_that_copies_one_of_two_open_sizes_stays() -> None:
    graph = "g (float[N,M,4] x) => (float[A,B,C] y) <int64[3] s = {0, -1, 2}, int64[3] t = {0, 2, -1}> "
    check_unchanged("merge-reshapes", graph + "{ a = Reshape(x, s) y = Reshape(a, t) }")


def test_squeeze_and_unsqueeze_undo_each_other_whatever_the_shape() -> None:
    before = (
        "g (float[N,M] x) => (float[N,M] y) <int64[1] i = {1}, int64[1] j = {-2}> { n = Neg(x) a = "
        "Unsqueeze(n, i) b = Squeeze(a, j) y = Abs(b) }"
    )
    check_rewrite("merge-reshapes", before, "g (float[N,M] x) => (float[N,M] y) { n = Neg(x) y = Abs(n) }")


def test_unsqueezes_become_one() -> None:
    before = "g (float[N] x) => (float[] y) { a = Unsqueeze<axes = [0]>(x) y = Unsqueeze<axes = [0, 2]>(a) }"
    after = "g (float[N] x) => (float[] y) { y = Unsqueeze<axes = [0, 1, 2]>(x) }"
    check_rewrite("merge-reshapes", before, after, opset=11)


def test_squeezes_become_one() -> None:
    before = "g (float[1,N,1,1] x) => (float[] y) { a = Squeeze<axes = [0, 2]>(x) y = Squeeze<axes = [1]>(a) }"
    after = "g (float[1,N,1,1] x) => (float[] y) { y = Squeeze<axes = [0, 2, 3]>(x) }"
    check_rewrite("merge-reshapes", before, after, opset=11)


def test_an_empty_list_of_axes_means_none_or_all_and_so_stays() -> None:
    graph = """g (float[1,2,1] x) => (float[a,b] y) <int64[1] first = {0}, int64[0] none = {}> {
        a = Squeeze(x, first) y = Squeeze(a, none)
    }"""
    check_unchanged("merge-reshapes", graph)


def test_size_zero_is_no_target() -> None:
    check_unchanged(
        "merge-reshapes", "g (float[0,3] x) => (float[] y) { a = Flatten<axis = 0>(x) y = Flatten<axis = 0>(a) }"
    )


def test_slices_of_different_axes_become_one() -> None:
    before = (
        f"{INPUT} {{"
        f" a = Slice<axes = [2], starts = [1], ends = [3]>(x) y = Slice<axes = [0], starts = [-1], ends = [9]>(a) }}"
    )
    after = f"{INPUT} {{ y = Slice<starts = [-1, 1], ends = [9, 3], axes = [0, 2]>(x) }}"
    check_rewrite("merge-slices", before, after, opset=9)


def test_slices_of_a_slice_read_past_it() -> None:
    before = """g (float[4,4] x) => (float[2,2] y, float[2,2] z)
        <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two = {2}, int64[1] four = {4}> {
        a = Slice(x, zero, four, zero, two) y = Slice(a, zero, four, one, two) z = Slice(a, one, four, one, two)
    }"""
    after = """g (float[4,4] x) => (float[2,2] y, float[2,2] z)
        <int64[2] y_starts = {0, 0}, int64[2] y_ends = {4, 4}, int64[2] y_axes = {0, 1}, int64[2] y_steps = {2, 2},
         int64[2] z_starts = {0, 1}, int64[2] z_ends = {4, 4}, int64[2] z_axes = {0, 1}, int64[2] z_steps = {2, 2}> {
        y = Slice(x, y_starts, y_ends, y_axes, y_steps) z = Slice(x, z_starts, z_ends, z_axes, z_steps)
    }"""
    check_rewrite("merge-slices", before, after)


def test_slices_of_one_axis_stay_two() -> None:
    graph = (
        f"{INPUT} {{"
        f" a = Slice<axes = [2], starts = [1], ends = [4]>(x) y = Slice<axes = [2], starts = [1], ends = [2]>(a) }}"
    )
    check_unchanged("merge-slices", graph, opset=9)


def test_a_concat_in_a_concat_becomes_part_of_it() -> None:
    before = "g (float[2] x, float[3] z) => (float[8] y) { a = Concat<axis = 0>(z, x) y = Concat<axis = -1>(a, z) }"
    after = "g (float[2] x, float[3] z) => (float[8] y) { y = Concat<axis = -1>(z, x, z) }"
    check_rewrite("merge-concats", before, after)


def test_concats_along_other_axes_stay_two() -> None:
    check_unchanged(
        "merge-concats", "g (float[2,2] x) => (float[4,4] y) { a = Concat<axis = 0>(x, x) y = Concat<axis = 1>(a, a) }"
    )


def test_pads_with_one_constant_become_one() -> None:
    before = (
        "g (float[2] x) => (float[8] y) <int64[2] p = {1, 2}, int64[2] q = {3, 0}, float v = {0}> { "
        "a = Pad(x, p) y = Pad(a, q, v) }"
    )
    after = "g (float[2] x) => (float[8] y) <float v = {0}, int64[2] y_pads = {4, 2}> { y = Pad(x, y_pads, v) }"
    check_rewrite("merge-pads", before, after)


@pytest.mark.parametrize(
    ("pads", "value", "mode"),
    [("{-1, 0}", "{0}", "constant"), ("{1, 0}", "{-0.0}", "constant"), ("{1, 0}", "{0}", "edge")],
)
def test_other_pads_stay_two(pads: str, value: str, mode: str) -> None:
    graph = f"""g (float[2] x) => (float[] y) <int64[2] p = {{1, 2}}, int64[2] q = {pads}, float v = {value}> {{
        a = Pad(x, p) y = Pad<mode = "{mode}">(a, q, v)
    }}"""
    check_unchanged("merge-pads", graph)


def test_sums_of_sums_of_integers_become_one() -> None:
    before = (
        "g (int32[2,3,4] x) => (int32[3] y) <int64[1] p = {0}, int64[1] q = {-1}> { a = "
        "ReduceSum<keepdims = 0>(x, p) y = ReduceSum<keepdims = 0>(a, q) }"
    )
    after = "g (int32[2,3,4] x) => (int32[3] y) <int64[2] y_axes = {0, 2}> { y = ReduceSum<keepdims = 0>(x, y_axes) }"
    check_rewrite("merge-reductions", before, after)


def test_the_least_of_the_least_without_axes_is_that_of_all() -> None:
    before = "g (int32[2,3] x) => (int32[1,1] y) { a = ReduceMin<axes = [1]>(x) y = ReduceMin(a) }"
    check_rewrite("merge-reductions", before, "g (int32[2,3] x) => (int32[1,1] y) { y = ReduceMin<axes = [0, 1]>(x) }")


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMean"])
def test_floats_round_in_the_order_given(operator: str) -> None:
    graph = f"{INPUT} {{ a = {operator}<axes = [1]>(x) y = {operator}<axes = [0]>(a) }}"
    check_unchanged("merge-reductions", graph, opset=11)


def test_a_reduction_is_split_into_one_for_each_axis_on_demand() -> None:
    before = "g (int32[2,3,4] x) => (int32[3] y) <int64[2] axes = {0, 2}> { y = ReduceSum<keepdims = 0>(x, axes) }"
    after = """g (int32[2,3,4] x) => (int32[3] y) <int64[1] y_reduced_axes = {2}, int64[1] y_axes = {0}> {
        y_reduced = ReduceSum<keepdims = 0>(x, y_reduced_axes)
        y = ReduceSum<keepdims = 0>(y_reduced, y_axes)
    }"""
    check_rewrite("split-reductions", before, after)


def test_axes_as_an_attribute_are_split_as_such() -> None:
    before = "g (int64[2,3] x) => (int64[1,1] y) { y = ReduceMax(x) }"
    after = """g (int64[2,3] x) => (int64[1,1] y) {
        y_reduced = ReduceMax<axes = [1]>(x) y = ReduceMax<axes = [0]>(y_reduced)
    }"""
    check_rewrite("split-reductions", before, after)


@pytest.mark.parametrize("graph", ["ReduceSum(x)", "ReduceMean(x)"])
def test_reductions_that_round_are_not_split(graph: str) -> None:
    check_unchanged("split-reductions", f"{INPUT} {{ y = {graph} }}", opset=11)


def test_all_passes_are_all_but_those_that_undo_others() -> None:
    names = [one.name for one in chosen_passes("all")]
    assert "merge-reductions" in names
    assert "split-reductions" not in names


def test_max_and_min_become_clip() -> None:
    before = "g (float[2] x) => (float[2] y) <float h = {2}, float[1] l = {-1}> { a = Max(x, l) y = Min(h, a) }"
    after = "g (float[2] x) => (float[2] y) <float y_min = {-1}, float y_max = {2}> { y = Clip(x, y_min, y_max) }"
    check_rewrite("merge-bounds", before, after)
    check_rewrite("merge-bounds", before.replace("a = Max(x, l) y = Min(h, a)", "a = Min(x, h) y = Max(a, l)"), after)


@pytest.mark.parametrize(
    "constants", ["float h = {2}, float l = {0}", "float h = {2}, float l = {3}", "float h = {2}, float[1,1] l = {1}"]
)
def test_bounds_that_clip_does_not_have_stay(constants: str) -> None:
    check_unchanged("merge-bounds", f"g (float[2] x) => (float[] y) <{constants}> {{ a = Min(x, h) y = Max(a, l) }}")


def test_a_product_plus_a_bias_is_gemm_only_on_demand() -> None:
    before = "g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) { a = MatMul(x, w) y = Add(b, a) }"
    check_rewrite(
        "merge-matmul-add", before, "g (float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y) { y = Gemm(x, w, b) }"
    )
    assert len(rewritten("default", text_model(before)).model.graph.node) == 2


def test_a_bias_that_widens_the_product_stays_an_add() -> None:
    graph = "g (float[1,3] x, float[3,4] w, float[2,4] b) => (float[2,4] y) { a = MatMul(x, w) y = Add(b, a) }"
    check_unchanged("merge-matmul-add", graph)


def test_no_rounding_pass_runs_unless_it_is_asked_for() -> None:
    from opsetlift.normalizer import chosen_passes

    assert all(one.ulps == 0 for one in chosen_passes())


def test_a_squeeze_of_axes_out_of_order_has_the_shape_that_it_has() -> None:
    before = """g (float[4,1,1] x) => (float[] y) {
        a = Squeeze<axes = [2, 1]>(x) b = Flatten<axis = 1>(a) y = Squeeze<axes = [1]>(b)
    }"""
    after = "g (float[4,1,1] x) => (float[] y) <int64[1] y_shape = {4}> { y = Reshape(x, y_shape) }"
    check_rewrite(("remove-no-op-moves", "merge-reshapes"), before, after, opset=9)


def test_clip_takes_other_dtypes_from_opset_12_on() -> None:
    graph = "g (double[2] x) => (double[] y) <double h = {2}, double l = {1}> { a = Max(x, l) y = Min(a, h) }"
    check_unchanged("merge-bounds", graph, opset=11)
    assert len(rewritten("merge-bounds", text_model(graph, opset=12)).model.graph.node) == 1


@pytest.mark.parametrize(
    ("inner", "outer", "merged"),
    [
        ("zero, six", "one, nine", "one, six"),
        ("zero, six", "zero, six", "zero, six"),
        ("zero", ", six", "zero, six"),
        (", nine", ", six", ", six"),
        (", nine", "", ", nine"),
        ("zero", "one", "one"),
    ],
)
def test_clips_of_clips_have_the_tighter_bounds(inner: str, outer: str, merged: str) -> None:
    head = "g (float[3] x) => (float[3] y) <float zero = {0}, float one = {1}, float six = {6}, float nine = {9}>"
    before = f"{head} {{ a = Clip(x, {inner}) y = Clip({f'a, {outer}' if outer else 'a'}) }}"
    result = rewritten(("merge-bounds", "remove-unused"), text_model(before)).model
    assert [list(node.input) for node in result.graph.node] == [["x", *merged.split(", ")]]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("zero, one", "six, nine"),  # every number becomes 6
        ("six, one", "zero, nine"),
        ("zero, one", "minus_zero, one"),
        ("zero, infinity", "zero"),  # without a bound infinity becomes the largest number
        ("zero, z", "zero, one"),
    ],
)
def test_other_clips_of_clips_stay(inner: str, outer: str) -> None:
    constants = (
        "<float zero = {0}, float one = {1}, float six = {6}, float nine = {9}, float minus_zero = {-0.0}, "
        "float infinity = {inf}>"
    )
    graph = f"g (float[3] x, float z) => (float[3] y) {constants} {{ a = Clip(x, {inner}) y = Clip(a, {outer}) }}"
    check_unchanged("merge-bounds", graph)
