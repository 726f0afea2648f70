"""Range across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

RANGE = "{dtype} start, {dtype} limit, {dtype} delta) => ({dtype}[N] y) {{ y = Range (start, limit, delta) }}"


def test_a_constant_range_is_a_constant_below_11():
    check_rewrite(
        '<ir_version: 6, opset_import: ["": 11]> g (int64 x) => (int64[3] y) '
        "<int64 start = {5}, int64 limit = {-4}, int64 delta = {-3}> "
        "{ r = Range (start, limit, delta) y = Add (x, r) }",
        '<ir_version: 5, opset_import: ["": 10]> g (int64 x) => (int64[3] y) <int64[3] r_range = {5, 2, -1}> '
        "{ r = Identity (r_range) y = Add (x, r) }",
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float", "double"])
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_ranges_computed_at_run_time_go_below_11(dtype, to):
    check_converts(f'<ir_version: 6, opset_import: ["": 11]> g ({RANGE.format(dtype=dtype)}', to, exact=True)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("delta", [1, 3, -2])
@pytest.mark.parametrize("to", [10, 8])
def test_a_range_from_0_up_to_an_input_goes_below_11(delta, to):
    check_converts(
        '<ir_version: 6, opset_import: ["": 11]> g (int64 limit) => (int64[N] y) '
        f"<int64 start = {{0}}, int64 delta = {{{delta}}}> {{ y = Range (start, limit, delta) }}",
        to,
        exact=True,
    )


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("stash_type", [1, 11])
def test_narrow_floats_are_counted_in_the_stash_type_below_27(dtype, stash_type):
    text = RANGE.format(dtype=dtype).replace("Range", f"Range <stash_type = {stash_type}>")
    check_converts(f'<ir_version: 13, opset_import: ["": 27]> g ({text}', 26, exact=True)


def test_a_narrow_stash_type_is_refused_below_27():
    text = RANGE.format(dtype="float16").replace("Range", "Range <stash_type = 10>")
    check_refusal(f'<ir_version: 13, opset_import: ["": 27]> g ({text}', 26, Why.NO_EQUIVALENT, "compute in float16")


@pytest.mark.parametrize("to", [10, 9, 7])
@pytest.mark.parametrize("limit", ["int64[1]", "int64[]"])
def test_inputs_that_are_no_scalars_or_may_be_none_count_all_the_same(to, limit):
    check_converts(
        f'<ir_version: 6, opset_import: ["": 11]> g ({limit} limit) => (int64[N] y) '
        "<int64 start = {0}, int64 delta = {1}> { y = Range (start, limit, delta) }",
        to,
        exact=True,
    )
