"""BatchNormalization across its versions: what trains goes on training, what infers goes on inferring."""

import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model, normalised

ALL = "y, mean, var, saved_mean, saved_var"


def batch(opset, attributes="", *, shape="2, 3, 4, 5", outputs="y", read=None, size="3", dtypes=("float",) * 3):
    """`read` are the graph's outputs, if not all of the node's; `dtypes` those of X, scale and mean."""
    x, scale, mean = dtypes
    declared = ", ".join(
        f"{x if name == 'y' else mean}[{shape if name == 'y' else size}] {name}"
        for name in (outputs if read is None else read).split(", ")
    )
    return (
        f'<ir_version: 3, opset_import: ["": {opset}]> g ({x}[{shape}] x, {scale}[{size}] s, {scale}[{size}] b, '
        f"{mean}[{size}] m, {mean}[{size}] v) => ({declared}) "
        f"{{ {outputs} = BatchNormalization <epsilon = 0.01{attributes}> (x, s, b, m, v) }}"
    )


def test_consumed_inputs_go_at_6_and_are_required_below():
    check_rewrite(batch(1, ", is_test = 1, consumed_inputs = [0, 0, 0, 1, 1]"), batch(6, ", is_test = 1"))
    check_rewrite(batch(6, ", is_test = 1"), batch(1, ", is_test = 1, consumed_inputs = [0, 0, 0, 0, 0]"))


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["N, 3", "N, 3, 4", "2, 3, 4, 1, 2"])
def test_other_ranks_become_images_below_6(shape):
    check_converts(batch(6, ", is_test = 1", shape=shape), 1, exact=True)
    check_converts(batch(6, shape=shape, outputs=ALL), 1, exact=True)


# 6 and 7


def test_a_test_has_one_output_at_7_and_nothing_else():
    check_rewrite(batch(6, ", is_test = 1, spatial = 0"), batch(7))
    check_rewrite(batch(7), batch(6, ", is_test = 1"))


def test_statistics_of_a_test_that_nobody_reads_go():
    converted = convert(model(batch(6, ", is_test = 1", outputs=ALL, read="y")), to=7, prove=False).model
    assert normalised(converted) == normalised(model(batch(7)))


def test_statistics_of_a_test_that_are_read_have_no_meaning():
    check_refusal(batch(6, ", is_test = 1", outputs="y, mean"), 7, Why.INVALID_MODEL, "is_test")


@pytest.mark.parametrize("outputs", ["y", ALL])
def test_training_goes_on_at_7_since_all_outputs_are_asked_for(outputs):
    converted = check_converts(batch(6, outputs=outputs), 7, exact=True)
    assert len(converted.graph.node[0].output) == 5


def test_training_goes_on_at_6():
    check_rewrite(batch(7, outputs=ALL), batch(6, outputs=ALL))


def test_outputs_that_nobody_reads_still_mean_training():
    check_rewrite(batch(7, outputs=ALL, read="y"), batch(6, outputs=ALL, read="y"))


def test_training_without_spatial_has_no_mean_per_feature_at_6():
    check_converts(batch(6, ", spatial = 0", shape="4, 3", outputs=ALL), 7, exact=True)
    check_refusal(batch(6, ", spatial = 0", outputs=ALL), 7, Why.INVALID_MODEL, "mean per feature")


@pytest.mark.parametrize("outputs", ["y", ALL])
@pytest.mark.parametrize("to", [9, 6, 1])
def test_statistics_of_elements_become_those_of_channels(outputs, to):
    check_converts(batch(7, ", spatial = 0", shape="2, 3, 4", size="3, 4", outputs=outputs), to, exact=True)


def test_spatial_goes_at_9():
    check_rewrite(batch(7, ", spatial = 1"), batch(9))


@pytest.mark.parametrize("outputs", ["y", ALL])
def test_vectors_get_a_channel_below_9(outputs):
    check_converts(batch(9, shape="N", size="1", outputs=outputs), 8, exact=True)


def test_an_unknown_rank_is_refused_below_9():
    check_refusal(batch(9, shape=""), 8, Why.RANK_UNKNOWN, "rank 1")


# 9 and 14


def test_a_test_needs_nothing_at_14_or_9():
    check_rewrite(batch(9), batch(14))
    check_rewrite(batch(14, ", training_mode = 0"), batch(9))


def test_training_mode_is_set_at_14():
    check_rewrite(batch(9, outputs=ALL, read="y, mean, var"), batch(14, ", training_mode = 1", outputs="y, mean, var"))


def test_saved_statistics_have_no_counterpart_at_14():
    check_refusal(batch(9, outputs=ALL), 14, Why.NO_EQUIVALENT, "output 3")


@pytest.mark.parametrize("outputs", ["y", "y, mean, var"])
def test_training_goes_on_below_14_since_all_outputs_are_asked_for(outputs):
    converted = check_converts(batch(14, ", training_mode = 1", outputs=outputs), 9, exact=True)
    assert len(converted.graph.node[0].output) == 5


@pytest.mark.parametrize("outputs", ["y", "y, mean, var"])
def test_training_goes_on_from_15_to_1(outputs):
    converted = check_converts(batch(15, ", training_mode = 1", outputs=outputs), 1, exact=True)
    assert not any(attribute.name == "is_test" and attribute.i for attribute in converted.graph.node[0].attribute)


def test_statistics_of_a_test_are_invalid_since_14():
    check_refusal(batch(14, outputs="y, mean, var"), 9, Why.INVALID_MODEL, "training_mode=0")


# dtypes


@pytest.mark.parametrize("dtypes", [("float16", "float16", "float"), ("float", "float", "double")])
@pytest.mark.parametrize("attributes", ["", ", training_mode = 1"])
def test_different_dtypes_are_computed_in_the_widest_below_14(dtypes, attributes):
    outputs = "y, mean, var" if attributes else "y"
    check_converts(batch(14, attributes, outputs=outputs, dtypes=dtypes), 13)


@pytest.mark.parametrize("dtypes", [("float16", "float", "float"), ("bfloat16", "float", "double")])
def test_a_scale_of_another_dtype_is_brought_to_the_widest_below_15(dtypes):
    check_converts(batch(15, dtypes=dtypes), 14)


def test_bfloat16_is_computed_in_float_below_14():
    check_converts(batch(14, dtypes=("bfloat16",) * 3), 13)
