"""Sum, Mean, Max and Min of inputs of several shapes, which broadcast from 8 on."""

import pytest

from testing.conversion import check_converts


@pytest.mark.quick_share(18)
@pytest.mark.parametrize("operator", ["Sum", "Mean", "Max", "Min"])
@pytest.mark.parametrize(
    ("shapes", "result"), [(["2, 1", "3", "1"], "2, 3"), (["A, B", "C", "1"], "D, E"), (["N", "N", "N"], "N")]
)
@pytest.mark.parametrize("to", [7, 6])
def test_inputs_of_several_shapes_come_to_one_below_8(operator, shapes, result, to):
    inputs = ", ".join(f"float[{shape}] {name}" for shape, name in zip(shapes, "abc", strict=True))
    check_converts(
        f'<ir_version: 3, opset_import: ["": 8]> g ({inputs}) => (float[{result}] y) {{ y = {operator} (a, b, c) }}',
        to,
        exact=True,
    )
