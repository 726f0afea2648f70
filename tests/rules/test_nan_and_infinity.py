"""IsNaN and IsInf across their versions and below their introductions."""

import pytest

from testing.conversion import check_converts

FLOATS = ["float", "double", "float16"]


def unary(operator, dtype, opset, *, result=None, attributes="", shape="N, 3"):
    return (
        f'<ir_version: 9, opset_import: ["": {opset}]> g ({dtype}[{shape}] x) => ({result or dtype}[{shape}] y) '
        f"{{ y = {operator} {attributes} (x) }}"
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("to", [8, 6, 1])
def test_nan_is_found_by_comparisons_below_9(dtype, to):
    check_converts(unary("IsNaN", dtype, 9, result="bool"), to, exact=True)


@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("to", [9, 6])
def test_infinities_are_found_beyond_the_limits_below_10(negative, positive, dtype, to):
    attributes = f"<detect_negative = {negative}, detect_positive = {positive}>"
    check_converts(unary("IsInf", dtype, 10, result="bool", attributes=attributes), to, exact=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8e4m3fn", "float8e5m2"])
@pytest.mark.parametrize("operator", ["IsNaN", "IsInf"])
def test_narrow_floats_are_looked_at_in_wider_ones_below_20(operator, dtype):
    check_converts(unary(operator, dtype, 20, result="bool"), 19, exact=True)
