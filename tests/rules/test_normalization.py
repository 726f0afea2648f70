"""Normalisation with statistics of the input itself, across its versions."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite


def instance(opset, shape, attributes="", dtype="float"):
    return (
        f'<ir_version: 3, opset_import: ["": {opset}]> g ({dtype}[{shape}] x, {dtype}[2] s, {dtype}[2] b) '
        f"=> ({dtype}[{shape}] y) {{ y = InstanceNormalization <epsilon = 0.01{attributes}> (x, s, b) }}"
    )


def test_consumed_inputs_of_an_instance_normalisation_go():
    check_rewrite(instance(1, "N, 2, 3, 4", ", consumed_inputs = [0, 0, 0]"), instance(6, "N, 2, 3, 4"))


@pytest.mark.parametrize("shape", ["N, 2, W", "1, 2, 3, 4", "N, 2, 3, 4, 5"])
def test_instances_of_any_rank_become_images_below_6(shape):
    check_converts(instance(6, shape), 1, exact=True)


@pytest.mark.parametrize(
    ("shape", "why", "words"),
    [("", Why.RANK_UNKNOWN, "rank 4"), ("1, 2, D, H, W", Why.SHAPE_UNKNOWN, "spatial sizes")],
)
def test_instances_that_cannot_become_images_are_refused(shape, why, words):
    check_refusal(instance(6, shape), 1, why, words)


def test_a_spatial_size_of_0_is_refused():
    check_refusal(instance(6, "1, 2, 0, 3, 4"), 1, Why.NO_EQUIVALENT, "a spatial size is 0")


@pytest.mark.parametrize("to", [21, 13])
def test_instances_of_bfloat16_are_computed_in_float_below_22(to):
    check_converts(instance(22, "1, 2, 3", dtype="bfloat16"), to)


# GroupNormalization


def groups(opset, shape, values, dtype="float", attributes=""):
    return (
        f'<ir_version: 8, opset_import: ["": {opset}]> g ({dtype}[{shape}] x, {dtype}[{values}] s, {dtype}[{values}] b)'
        f" => ({dtype}[{shape}] y) {{ y = GroupNormalization <num_groups = 2, epsilon = 0.01{attributes}> (x, s, b) }}"
    )


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("to", [18, 17, 9, 4])
@pytest.mark.parametrize("shape", ["1, 4, 3", "2, 4, 2, 3", "1, 4"])
def test_groups_become_instances_below_21(to, shape):
    check_converts(groups(21, shape, 4), to, exact=True)


def test_groups_of_unknown_sizes_become_instances():
    check_converts(groups(21, "N, C, H, W", "C"), 18, exact=True)


@pytest.mark.parametrize("stash_type", [1, 10, 11, 16])
def test_the_first_stage_has_the_precision_of_stash_type(stash_type):
    check_converts(groups(21, "1, 4, 3", 4, "float16", f", stash_type = {stash_type}"), 20)
    check_converts(groups(21, "1, 4, 3", 4, "double", f", stash_type = {stash_type}"), 20)


def test_groups_of_unknown_rank_are_refused():
    check_refusal(groups(21, "", 4), 20, Why.RANK_UNKNOWN, "'x'")


def old_groups(initializers):
    # 18 is deprecated, which onnx's checker does not let pass.
    return (
        groups(18, "1, 4, 3", 2)
        .replace("float[1, 4, 3] x, float[2] s, float[2] b", "float[1, 4, 3] x")
        .replace("(float[1, 4, 3] y) {", f"(float[1, 4, 3] y) {initializers} {{")
    )


def test_the_scale_of_a_group_becomes_that_of_its_channels():
    text = old_groups("<float[2] s = {1, 2}, float[2] b = {3, 4}>")
    check_rewrite(
        text,
        '<ir_version: 8, opset_import: ["": 21]> g (float[1, 4, 3] x) => (float[1, 4, 3] y) '
        "<float[4] y_scale = {1, 1, 2, 2}, float[4] y_bias = {3, 3, 4, 4}> "
        "{ y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, y_scale, y_bias) }",
    )


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("shape", ["1, 4, 3", "N, C, H"])
def test_the_scale_of_a_group_is_repeated_at_run_time(dtype, shape):
    check_converts(groups(18, shape, 2, dtype), 21, exact=dtype != "float16")


@pytest.mark.parametrize("to", [17, 13, 6])
def test_groups_of_18_become_instances_with_their_scale(to):
    check_converts(groups(18, "2, 4, 3", 2), to, exact=True)


# LayerNormalization, RMSNormalization


@pytest.mark.parametrize("axis", [-1, 1, -2])
@pytest.mark.parametrize("to", [16, 13, 6, 1])
def test_layers_are_standardised_below_17(axis, to):
    check_converts(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2, 3, 4] x, float[4] s, float[4] b) '
        "=> (float[2, 3, 4] y, float[A, B, C] mean, float[D, E, F] inverse) "
        f"{{ y, mean, inverse = LayerNormalization <axis = {axis}, epsilon = 0.01> (x, s, b) }}",
        to,
    )


@pytest.mark.parametrize("dtype", ["float16", "double"])
def test_layers_of_other_floats_have_a_stage_in_float(dtype):
    check_converts(
        f'<ir_version: 8, opset_import: ["": 17]> g ({dtype}[N, 4] x, {dtype}[4] s) => ({dtype}[N, 4] y) '
        "{ y = LayerNormalization (x, s) }",
        13,
    )


def test_an_axis_counted_from_the_front_needs_the_rank():
    text = (
        '<ir_version: 8, opset_import: ["": {opset}]> g (float[] x, float[] s) => (float[] y) '
        "{{ y = {operator} <axis = 1> (x, s) }}"
    )
    check_refusal(text.format(opset=17, operator="LayerNormalization"), 16, Why.RANK_UNKNOWN, "axes")
    check_refusal(text.format(opset=23, operator="RMSNormalization"), 22, Why.RANK_UNKNOWN, "axes")


@pytest.mark.parametrize(("dtype", "scale"), [("float", "float"), ("float16", "float"), ("double", "float16")])
@pytest.mark.parametrize("to", [22, 13, 8])
def test_root_mean_squares_are_divided_by_below_23(dtype, scale, to):
    check_converts(
        f'<ir_version: 10, opset_import: ["": 23]> g ({dtype}[N, 3, 4] x, {scale}[4] s) => ({scale}[N, 3, 4] y) '
        "{ y = RMSNormalization <axis = -2> (x, s) }",
        to,
    )


# MeanVarianceNormalization, LRN


def test_the_default_axes_are_written_down_for_13():
    text = (
        '<ir_version: 7, opset_import: ["": {opset}]> g (float[1, 2, 3, 4] x) => (float[1, 2, 3, 4] y) '
        "{{ y = MeanVarianceNormalization {attributes} (x) }}"
    )
    check_rewrite(text.format(opset=9, attributes=""), text.format(opset=13, attributes="<axes = [0, 2, 3]>"))


@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
@pytest.mark.parametrize("to", [8, 1])
def test_mean_and_deviation_are_computed_below_9(dtype, to):
    check_converts(
        f'<ir_version: 4, opset_import: ["": 9]> g ({dtype}[2, 3, 4] x) => ({dtype}[2, 3, 4] y) '
        "{ y = MeanVarianceNormalization <axes = [0, 2]> (x) }",
        to,
    )


def test_local_responses_of_bfloat16_are_refused_below_13_since_nothing_there_takes_it():
    check_refusal(
        '<ir_version: 7, opset_import: ["": 13]> g (bfloat16[1, 4, 2] x) => (bfloat16[1, 4, 2] y) '
        "{ y = LRN <size = 3> (x) }",
        12,
        Why.DTYPE_NOT_AVAILABLE,
        "bfloat16",
    )


def test_outputs_of_a_layer_normalization_that_nothing_reads_are_left_out():
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[N, 3] x, float[3] s) => (float[N, 3] y) {{ {} (x, s) }}'
    named, unnamed = (
        check_converts(text.format(f"{names} = LayerNormalization"), 16) for names in ("y, mean, inverse", "y")
    )
    assert {node.op_type for node in named.graph.node} == {node.op_type for node in unnamed.graph.node}
