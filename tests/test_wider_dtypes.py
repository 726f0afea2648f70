"""Wider types hold every value, and are only used where Cast accepts them."""

import numpy
import onnx
import pytest

from opsetlift.evaluator import Evaluator
from opsetlift.proof.special_values import every_value_of, special_values
from opsetlift.specification.dtypes import dtype_name, numpy_dtype, tensor_type
from opsetlift.specification.wider_dtypes import cast_back_attributes, exact_wider_dtype, holds

DTYPES = [dtype_name(number) for number in onnx.TensorProto.DataType.values() if number != onnx.TensorProto.UNDEFINED]
PAIRS = [(dtype, wider) for dtype in DTYPES for wider in DTYPES if wider != dtype and holds(wider, dtype)]


@pytest.mark.parametrize(("dtype", "wider"), PAIRS)
def test_values_come_back_from_a_wider_type_bit_by_bit(dtype, wider):
    values = every_value_of(dtype)
    if values is None:
        values = special_values(dtype)
    back = onnx.helper.make_node(
        "Cast", ["wide"], ["y"], to=onnx.TensorProto.DataType.Value(dtype.upper()), **cast_back_attributes(dtype)
    )
    there = onnx.helper.make_node("Cast", ["x"], ["wide"], to=onnx.TensorProto.DataType.Value(wider.upper()))
    graph = onnx.helper.make_graph(
        [there, back],
        "g",
        [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.DataType.Value(dtype.upper()), [None])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.DataType.Value(dtype.upper()), [None])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 28)])
    result = Evaluator(model).run({"x": values})["y"]
    is_nan = values != values
    assert numpy.array_equal(is_nan, result != result)
    kept = ~is_nan
    if numpy_dtype(dtype).itemsize == 1:
        assert numpy.array_equal(values[kept].view(numpy.uint8), result[kept].view(numpy.uint8))
    else:
        assert values[kept].tobytes() == result[kept].tobytes()


@pytest.mark.parametrize("dtype", ["string", "complex64", "complex128", "int64", "uint64", "double"])
def test_some_dtypes_fit_into_no_other(dtype):
    assert exact_wider_dtype(dtype, [tensor_type(one) for one in DTYPES], 28) is None


@pytest.mark.parametrize(
    ("dtype", "opset", "wider"),
    [
        ("bfloat16", 13, "float"),
        ("bfloat16", 12, None),
        ("float8e5m2", 19, "float16"),
        ("float8e5m2", 18, None),
        ("int4", 21, "int8"),
        ("int4", 20, None),
        ("bool", 1, "uint8"),
    ],
)
def test_there_is_no_wider_type_where_cast_does_not_take_the_dtype(dtype, opset, wider):
    assert exact_wider_dtype(dtype, [tensor_type(one) for one in DTYPES if one != dtype], opset) == wider
