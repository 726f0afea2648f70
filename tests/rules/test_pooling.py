"""Poolings across their versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite
from testing.pairs import every_pair


def pool(opset, operator, attributes, shape="1, 2, 5, 6", *, dtype="float", outputs="y"):
    declared = ", ".join(f"{dtype if name == 'y' else 'int64'}[A, B, C, D] {name}" for name in outputs.split(", "))
    return (
        f'<ir_version: 3, opset_import: ["": {opset}]> g ({dtype}[{shape}] x) => ({declared}) '
        f"{{ {outputs} = {operator} <{attributes}> (x) }}"
    )


STATIC, DYNAMIC = "1, 2, 5, 6", "N, 2, H, W"


# ceil_mode


@pytest.mark.parametrize(("operator", "opset"), [("AveragePool", 10), ("MaxPool", 10), ("LpPool", 18)])
@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
def test_rounding_up_becomes_pads(operator, opset, shape):
    text = pool(opset, operator, "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, pads = [0, 1, 0, 1]", shape)
    check_converts(text, opset - 1, exact=True)


def test_pads_are_just_what_the_last_windows_lack():
    check_rewrite(
        pool(10, "MaxPool", "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1"),
        pool(9, "MaxPool", "kernel_shape = [3, 3], strides = [2, 2], pads = [0, 0, 0, 1]"),
    )


def test_rounding_down_needs_nothing():
    check_rewrite(
        pool(10, "MaxPool", "kernel_shape = [3, 3], ceil_mode = 0, dilations = [1, 1]"),
        pool(9, "MaxPool", "kernel_shape = [3, 3]"),
    )


@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
@pytest.mark.parametrize("to", [9, 6])
def test_counted_pads_become_zeros_and_what_ceil_mode_adds_is_not_counted(shape, to):
    attributes = "kernel_shape = [3, 2], strides = [2, 2], ceil_mode = 1, count_include_pad = 1, pads = [1, 0, 1, 1]"
    check_converts(pool(10, "AveragePool", attributes, shape), to, exact=True)


@pytest.mark.parametrize("to", [19, 12, 6])
@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
def test_windows_that_start_in_the_end_pads_are_cut_off_below_22(shape, to):
    attributes = "kernel_shape = [2, 2], strides = [3, 2], ceil_mode = 1, pads = [0, 0, 1, 1]"
    check_converts(pool(22, "MaxPool", attributes, shape), to, exact=True)
    check_converts(pool(22, "AveragePool", attributes, shape), to, exact=True)


def test_windows_do_not_round_up_below_22_where_only_ignored_ones_would_come_of_it():
    check_rewrite(
        pool(22, "MaxPool", "kernel_shape = [1, 1], strides = [2, 2], ceil_mode = 1", "1, 1, 2, 2"),
        pool(12, "MaxPool", "kernel_shape = [1, 1], strides = [2, 2]", "1, 1, 2, 2"),
    )


@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
@pytest.mark.parametrize(("operator", "opset"), [("MaxPool", 12), ("MaxPool", 10), ("AveragePool", 19), ("LpPool", 18)])
def test_windows_that_start_in_the_end_pads_are_ignored_below_22_too(operator, opset, shape):
    attributes = "kernel_shape = [2, 2], strides = [3, 2], ceil_mode = 1, pads = [0, 0, 1, 1]"
    check_rewrite(pool(opset, operator, attributes, shape), pool(22, operator, attributes, shape))
    check_converts(pool(opset, operator, attributes, shape), 9, exact=operator != "LpPool")


def test_the_windows_of_onnx_s_test_of_maxpool_12_stay_as_they_are():
    text = '<ir_version: 7, opset_import: ["": {}]> g (float[1, 1, 2, 2] x) => (float[1, 1, 1, 1] y) {{ y = MaxPool '
    text += "<kernel_shape = [1, 1], strides = [2, 2], ceil_mode = 1> (x) }}"
    check_rewrite(text.format(12), text.format(22))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "more", "window", "shape"),
    [
        (*pool, *others)
        for pool, *others in every_pair(
            [
                ("MaxPool", ""),
                ("MaxPool", ", dilations = [1, 2]"),
                ("AveragePool", ""),
                ("AveragePool", ", dilations = [1, 2]"),
                ("AveragePool", ", count_include_pad = 1"),
                ("LpPool", ""),
                ("LpPool", ", dilations = [1, 2]"),
            ],
            [(1, 2, 0, 0), (1, 3, 0, 0), (2, 3, 1, 1), (3, 3, 1, 1), (2, 4, 0, 1), (1, 4, 0, 2)],
            [STATIC, DYNAMIC],
        )
    ],
)
def test_ignored_windows_stay_ignored_below_22(shape, operator, window, more):
    size, stride, begin, end = window
    attributes = f"kernel_shape = [{size}, 2], strides = [{stride}, 2], ceil_mode = 1, pads = [{begin}, 0, {end}, 1]"
    for to in (21, 8):
        check_converts(pool(22, operator, attributes + more, shape), to)


@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
@pytest.mark.parametrize(("operator", "opset"), [("MaxPool", 12), ("AveragePool", 11), ("LpPool", 18)])
def test_valid_padding_that_rounds_up_becomes_pads(operator, opset, shape):
    attributes = 'kernel_shape = [2, 3], strides = [3, 2], ceil_mode = 1, auto_pad = "VALID"'
    check_converts(pool(opset, operator, attributes, shape), 9, exact=operator != "LpPool")
    check_rewrite(pool(opset, operator, attributes, shape), pool(22, operator, attributes, shape))


def test_common_windows_that_round_up_stay_as_they_are_at_22():
    attributes = "kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, pads = [1, 1, 1, 1]"
    check_rewrite(pool(12, "MaxPool", attributes, DYNAMIC), pool(22, "MaxPool", attributes, DYNAMIC))


# Averages


def test_counted_pads_become_a_pad_node_below_7():
    check_rewrite(
        pool(7, "AveragePool", "kernel_shape = [3, 3], pads = [1, 0, 1, 0], count_include_pad = 1"),
        '<ir_version: 3, opset_import: ["": 6]> g (float[1, 2, 5, 6] x) => (float[A, B, C, D] y) '
        "{ y_Pad = Pad <pads = [0, 0, 1, 0, 0, 0, 1, 0]> (x) y = AveragePool <kernel_shape = [3, 3]> (y_Pad) }",
    )


def test_counted_pads_of_auto_pad_follow_from_the_sizes():
    attributes = 'kernel_shape = [3, 2], auto_pad = "SAME_LOWER", count_include_pad = 1'
    check_converts(pool(7, "AveragePool", attributes), 6, exact=True)


def test_counted_pads_of_auto_pad_are_the_same_for_all_sizes_where_strides_are_1():
    attributes = 'kernel_shape = [3, 2], auto_pad = "SAME_LOWER", count_include_pad = 1'
    check_converts(pool(7, "AveragePool", attributes, DYNAMIC), 6, exact=True)


def test_counted_pads_of_auto_pad_are_refused_where_sizes_are_unknown():
    attributes = 'kernel_shape = [3, 2], auto_pad = "SAME_LOWER", count_include_pad = 1, strides = [1, 2]'
    check_refusal(pool(7, "AveragePool", attributes, DYNAMIC), 6, Why.SHAPE_UNKNOWN, "SAME_LOWER")


@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("more", ["", ", ceil_mode = 1"])
def test_dilated_averages_are_sums_of_slices(shape, counts, more):
    attributes = f"kernel_shape = [2, 3], dilations = [2, 2], pads = [1, 0, 1, 2], strides = [2, 1]{more}"
    check_converts(pool(19, "AveragePool", f"{attributes}, count_include_pad = {counts}", shape), 18)


@pytest.mark.parametrize("dtype", ["float16", "double"])
def test_dilated_averages_of_other_floats(dtype):
    attributes = "kernel_shape = [2, 3], dilations = [2, 2], pads = [1, 0, 1, 2]"
    check_converts(pool(19, "AveragePool", attributes, dtype=dtype), 13)


# Maxima


@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
@pytest.mark.parametrize("more", ["", ", ceil_mode = 1, strides = [2, 3]"])
def test_dilated_maxima_are_maxima_of_slices(shape, more):
    attributes = f"kernel_shape = [2, 3], dilations = [2, 2], pads = [1, 0, 1, 2]{more}"
    check_converts(pool(10, "MaxPool", attributes, shape), 9, exact=True)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [7, 1])
@pytest.mark.parametrize("storage_order", [0, 1])
def test_indices_are_computed_below_8(to, storage_order):
    attributes = f"kernel_shape = [2, 3], pads = [1, 0, 1, 2], storage_order = {storage_order}"
    check_converts(pool(8, "MaxPool", attributes, "2, 2, 3, 4", outputs="y, i"), to, exact=True)


def test_indices_of_dilated_windows():
    attributes = "kernel_shape = [2, 2], dilations = [2, 2], pads = [1, 0, 1, 2], strides = [2, 1], ceil_mode = 1"
    check_converts(pool(10, "MaxPool", attributes, "2, 2, 4, 4", outputs="y, i"), 9, exact=True)


def test_indices_need_the_sizes_below_8():
    text = pool(8, "MaxPool", "kernel_shape = [2, 3]", DYNAMIC, outputs="y, i")
    check_refusal(text, 7, Why.SHAPE_UNKNOWN, "indices")


def test_indices_that_nobody_reads_go():
    check_rewrite(
        '<ir_version: 3, opset_import: ["": 8]> g (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) '
        "{ y, i = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x) }",
        '<ir_version: 3, opset_import: ["": 7]> g (float[1, 1, 4, 4] x) => (float[1, 1, 3, 3] y) '
        "{ y = MaxPool <kernel_shape = [2, 2]> (x) }",
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_travel_in_floats_below_12(dtype):
    check_rewrite(
        pool(12, "MaxPool", "kernel_shape = [2, 2]", "1, 1, 2, 2", dtype=dtype),
        f'<ir_version: 3, opset_import: ["": 11]> g ({dtype}[1, 1, 2, 2] x) => ({dtype}[A, B, C, D] y) '
        "{ y_Cast = Cast <to = 1> (x) y_MaxPool = MaxPool <kernel_shape = [2, 2]> (y_Cast) "
        f"y = Cast <to = {3 if dtype == 'int8' else 2}> (y_MaxPool) }}",
    )


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_bytes_in_windows_of_pads_only_are_the_least(dtype):
    attributes = "kernel_shape = [1, 1], pads = [1, 1, 1, 1]"
    check_converts(pool(12, "MaxPool", attributes, "1, 1, 2, 2", dtype=dtype, outputs="y, i"), 11, exact=True)


# Norms


@pytest.mark.parametrize("operator", ["LpPool", "GlobalLpPool"])
def test_whole_powers_change_their_dtype(operator):
    more = "" if operator == "GlobalLpPool" else "kernel_shape = [2, 2], "
    check_rewrite(pool(1, operator, more + "p = 3.0"), pool(2, operator, more + "p = 3"))
    check_rewrite(pool(2, operator, more + "p = 3"), pool(1, operator, more + "p = 3.0"))


@pytest.mark.parametrize("operator", ["LpPool", "GlobalLpPool"])
def test_other_powers_are_written_out(operator):
    more = "" if operator == "GlobalLpPool" else "kernel_shape = [2, 2], pads = [0, 1, 1, 0], "
    check_converts(pool(1, operator, more + "p = 1.5"), 2)


def test_powers_beyond_a_float_are_refused():
    check_refusal(pool(2, "GlobalLpPool", "p = 16777217"), 1, Why.NO_EQUIVALENT, "16777217")


def test_a_norm_without_windows_is_refused():
    check_refusal(pool(1, "LpPool", "p = 3.0"), 2, Why.INVALID_MODEL, "kernel_shape")


@pytest.mark.parametrize("shape", [STATIC, DYNAMIC])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_dilated_norms_are_sums_of_slices(shape, p):
    attributes = f"kernel_shape = [2, 3], dilations = [2, 2], pads = [1, 0, 1, 2], p = {p}"
    check_converts(pool(18, "LpPool", attributes, shape), 17)


@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("late", ["", ", ceil_mode = 1, strides = [3, 3]"])
def test_bfloat16_is_pooled_in_float_below_22(operator, late):
    check_converts(pool(22, operator, "kernel_shape = [2, 2]" + late, dtype="bfloat16"), 18)


@pytest.mark.parametrize("operator", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_bfloat16_is_pooled_globally_in_float_below_22(operator):
    text = pool(22, operator, "", dtype="bfloat16").replace("<> ", "")
    check_converts(text, 13)
