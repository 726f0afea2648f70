"""Constant and its relatives: what ONNX's node tests leave open."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx import TensorProto, helper, numpy_helper

from opsetlift.evaluator import Rejected, run_node


def run(operator: str, *inputs: Any, opset: int = 13, strict: bool = True, **attributes: Any) -> Any:
    node = helper.make_node(operator, [f"i{index}" for index in range(len(inputs))], ["o"])
    for name, value in attributes.items():
        kind = None if value != [] else {"value_ints": 7, "value_floats": 6}[name]
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    return run_node(node, inputs, {"": opset}, strict=strict)[0]


def tensor(*numbers: float, dtype: Any = numpy.float32) -> TensorProto:
    return numpy_helper.from_array(numpy.array(numbers, dtype=dtype))


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("value_int", 3, numpy.array(3)),
        ("value_ints", [3, 4], numpy.array([3, 4])),
        ("value_ints", [], numpy.zeros(0, numpy.int64)),
        ("value_float", 0.1, numpy.float32(0.1)),
        ("value_floats", [0.5], numpy.array([0.5], numpy.float32)),
        ("value_string", "é", numpy.array("é", object)),
        ("value_strings", ["a", "b"], numpy.array(["a", "b"], object)),
        ("value", tensor(1, 2), numpy.array([1, 2], numpy.float32)),
    ],
)
def test_each_form_of_constant_gives_its_tensor(attribute: str, value: Any, expected: Any) -> None:
    result = run("Constant", opset=12, **{attribute: value})
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert result.tolist() == expected.tolist()


def test_a_sparse_constant_is_dense() -> None:
    sparse = helper.make_sparse_tensor(tensor(7), numpy_helper.from_array(numpy.array([2])), [3])
    assert run("Constant", opset=11, sparse_value=sparse).tolist() == [0, 0, 7]


def test_a_constant_has_exactly_one_value() -> None:
    with pytest.raises(Rejected, match="exactly one attribute must be given, not none"):
        run("Constant", opset=12)
    with pytest.raises(Rejected, match="exactly one attribute must be given, not value_float, value_int"):
        run("Constant", opset=12, value_int=1, value_float=1.0)


@pytest.mark.parametrize(("opset", "attribute"), [(11, "value_int"), (9, "sparse_value")])
def test_forms_that_a_version_lacks_are_rejected(opset: int, attribute: str) -> None:
    sparse = helper.make_sparse_tensor(tensor(7), numpy_helper.from_array(numpy.array([2])), [3])
    with pytest.raises(Rejected):
        run("Constant", opset=opset, **{attribute: sparse if attribute == "sparse_value" else 1})


def test_the_first_version_has_floating_point_constants_only() -> None:
    assert run("Constant", opset=1, value=tensor(1)).tolist() == [1]
    with pytest.raises(Rejected, match=r"would be tensor\(int64\)"):
        run("Constant", opset=1, value=tensor(1, dtype=numpy.int64))


def test_constant_of_shape_defaults_to_float_zeros() -> None:
    result = run("ConstantOfShape", numpy.array([2, 0, 3]))
    assert (result.dtype, result.shape) == (numpy.float32, (2, 0, 3))
    assert run("ConstantOfShape", numpy.zeros(0, numpy.int64), value=tensor(5)).tolist() == 5


@pytest.mark.parametrize(
    ("shape", "value", "clause"),
    [
        (numpy.array([2, -1]), tensor(1), "all sizes must be >= 0"),
        (numpy.array(2), tensor(1), "must be a 1D tensor, not of rank 0"),
        (numpy.array([2]), tensor(1, 2), "one-element tensor"),
    ],
)
def test_broken_constants_of_shape_are_rejected(shape: Any, value: TensorProto, clause: str) -> None:
    with pytest.raises(Rejected, match=clause):
        run("ConstantOfShape", shape, value=value)


@pytest.mark.parametrize(("k", "ones"), [(0, [(0, 0), (1, 1)]), (2, [(0, 2)]), (-1, [(1, 0)]), (9, []), (-9, [])])
def test_the_diagonal_may_be_anywhere(k: int, ones: list[tuple[int, int]]) -> None:
    result = run("EyeLike", numpy.zeros((2, 3), numpy.int32), k=k)
    assert result.dtype == numpy.int32
    assert [tuple(index) for index in numpy.argwhere(result)] == ones


def test_eye_like_takes_its_type_from_dtype() -> None:
    square = numpy.zeros((2, 2), numpy.float32)
    assert run("EyeLike", square, dtype=TensorProto.BOOL).dtype == bool
    with pytest.raises(Rejected, match="dtype 99 is not an element type"):
        run("EyeLike", square, dtype=99)
    with pytest.raises(Rejected, match="must be of rank 2, not 1"):
        run("EyeLike", square[0])


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [(0, None, [2, 3, 4]), (-1, None, [4]), (-9, 9, [2, 3, 4]), (2, 1, []), (1, -1, [3]), (9, None, [])],
)
def test_shape_takes_a_clamped_slice(start: int, end: int | None, expected: list[int]) -> None:
    attributes = {"start": start} | ({} if end is None else {"end": end})
    assert run("Shape", numpy.zeros((2, 3, 4)), opset=15, **attributes).tolist() == expected


def test_size_and_shape_of_a_scalar() -> None:
    assert run("Size", numpy.array(5.0)).tolist() == 1
    assert run("Shape", numpy.array(5.0)).shape == (0,)
