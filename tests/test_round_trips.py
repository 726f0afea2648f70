"""ONNX's own tests to another opset and back: a selection of benchmarks/round_trips.py."""

import pytest

from testing.cases import Case, folder_cases, node_cases
from testing.lost_forms import UNEXPLAINED
from testing.round_trips import first_losses, round_trip, trips

pytestmark = pytest.mark.slow

SELECTED = (
    "test_add_bcast",
    "test_argmax_keepdims_example",
    "test_clip_default_min",
    "test_dft_inverse_opset19",
    "test_gather_0",
    "test_gemm_default_no_bias",
    "test_reduce_mean_keepdims_example",
    "test_selu_default",
    "test_softmax_axis_2",
    "test_squeeze",
)
EXACT = (
    ("test_ConstantPad2d", 11),
    ("test_operator_clip", 11),
    ("test_operator_reduced_mean_keepdim", 18),
    ("test_operator_reduced_sum", 13),
    ("test_Linear", 28),
)
"""Tests of opset 6 whose attributes become inputs on the way up, and attributes again."""


def case_named(name: str) -> Case:
    return next(case for case in (*folder_cases(), *node_cases()) if case.name == name)


@pytest.mark.parametrize("name", SELECTED)
def test_what_comes_back_computes_the_same_and_lost_forms_have_a_reason(name):
    found = trips(case_named(name))
    assert found
    assert not [one for one in found if one.is_bad]
    assert not [loss for loss in first_losses(found) if UNEXPLAINED in loss]


@pytest.mark.parametrize(("name", "target"), EXACT)
def test_attributes_that_became_inputs_come_back_as_they_were(name, target):
    found = round_trip(case_named(name), target)
    assert found is not None
    assert found.outcome == "same nodes", found
