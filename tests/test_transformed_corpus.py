"""ONNX's own tests in other forms and as variants, at other opsets: a selection of benchmarks/transformed.py."""

import pytest

from testing.cases import Case, node_cases
from testing.transformed import Outcome, outcomes
from testing.transforms import TRANSFORMS
from testing.transforms.interface import INTERFACE
from testing.transforms.variants import VARIANTS

pytestmark = pytest.mark.slow

SELECTED = (
    "test_argmax_no_keepdims_example_select_last_index",
    "test_clip_example",
    "test_cumsum_2d_axis_1",
    "test_dropout_default_mask_ratio",
    "test_gather_1",
    "test_gemm_default_vector_bias",
    "test_onehot_negative_indices",
    "test_constant_pad",
    "test_reduce_sum_negative_axes_keepdims_random",
    "test_resize_upsample_sizes_nearest",
    "test_slice_neg_steps",
    "test_softmax_axis_1",
    "test_split_variable_parts_2d_opset18",
    "test_squeeze_negative_axes",
    "test_top_k_negative_axis",
    "test_where_long_example",
)
TARGETS = (7, 13, 28)

REPAIRED = (
    ("test_attention_3d", "with_one_axis_more", 25),
    ("test_argmax_default_axis_example", "empty_first_input", 11),
    ("test_cumprod_2d_int32", "with_one_axis_more_of_the_first", 8),
    ("test_onehot_negative_indices", "with_other_dtype_2", 7),
    ("test_reduce_max_empty_set", "with_other_dtype_1", 13),
)
"""What once went wrong: a test, in which form, where to."""

BY_NAME = {transform.name: transform for transform in TRANSFORMS}
MAY_BE_REFUSED = {transform.name for transform in VARIANTS}
"""Variants are other models: what is refused of them, the tests of rules say."""
WITHOUT_FACTS = {transform.name for transform in INTERFACE}


def case_named(name: str) -> Case:
    return next(case for case in node_cases() if case.name == name)


def is_defensible(one: Outcome) -> bool:
    """Without shapes a rule may say that it wants one, or a number that would follow from one."""
    lacks_fact = one.result.detail.startswith(("RANK_UNKNOWN", "SHAPE_UNKNOWN", "INPUT_NOT_CONSTANT"))
    may_be_refused = one.transform in MAY_BE_REFUSED or (one.transform in WITHOUT_FACTS and lacks_fact)
    return not one.is_bad or (one.kind == "refused anew" and may_be_refused)


@pytest.mark.parametrize("name", SELECTED)
def test_every_form_of_a_test_arrives_where_the_test_does(name):
    case = case_named(name)
    found = [one for transform in TRANSFORMS for one in outcomes(case, transform, TARGETS)]
    assert not [str(one) for one in found if not is_defensible(one)]
    assert sum(one.kind == "correct" for one in found) > len(found) / 2


@pytest.mark.parametrize(("name", "transform", "target"), REPAIRED)
def test_what_was_repaired_stays_so(name, transform, target):
    (found,) = outcomes(case_named(name), BY_NAME[transform], (target,))
    assert found.kind == "correct", found
