"""Constant tensors, and tensors that only copy or describe another.

Constant         9: +all dtypes · 11: +sparse_value · 12: +value_int, value_floats, ... · 13: +bfloat16 ·
                 19, 21, 23, 24, 25: more dtypes
ConstantOfShape  9: introduced · 20: +bfloat16 +float8
EyeLike          9: introduced · 22: +bfloat16
Identity         13: +bfloat16 · 14: +sequences · 16: +optionals
Shape            13: +bfloat16 · 15: +start +end
"""

from __future__ import annotations

import math

import numpy
import onnx
from onnx import TensorProto, numpy_helper

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Array, Site, dtype_attribute, has_attribute, known_shape, pop_attribute
from opsetlift.specification.dtypes import dtype_name, numpy_dtype, tensor_type
from opsetlift.specification.wider_dtypes import cast_back_attributes, exact_wider_dtype, holds
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END
from opsetlift_rules.helpers.counting import LARGEST_TABLE, iota
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS


def write_value_as_a_tensor(site: Site) -> None:
    """Write the value of Constant-12 and newer as a tensor, the only form below 12 but sparse ones.

    Below 19 too: onnxruntime 1.3 to 1.8, which take opsets 12 to 14, lose the shape of other forms.
    """
    for name in ("value_int", "value_ints"):
        if has_attribute(site, name):
            site.set_attribute("value", numpy.array(pop_attribute(site, name), dtype=numpy.int64))
    for name in ("value_float", "value_floats"):
        if has_attribute(site, name):
            site.set_attribute("value", numpy.array(pop_attribute(site, name), dtype=numpy.float32))
    for name in ("value_string", "value_strings"):
        if has_attribute(site, name):
            site.set_attribute("value", _texts(pop_attribute(site, name)))


def _texts(value: str | list[bytes]) -> TensorProto:
    texts = [value.encode("utf-8", "surrogateescape")] if isinstance(value, str) else value
    dims = [] if isinstance(value, str) else [len(texts)]
    return TensorProto(data_type=TensorProto.STRING, dims=dims, string_data=texts)


def convert_sparse_value_to_dense(site: Site) -> None:
    """Write sparse_value of Constant-11 as a dense tensor: Constant-9 has no sparse form."""
    if has_attribute(site, "sparse_value"):
        site.set_attribute("value", _dense(pop_attribute(site, "sparse_value")))


def _dense(sparse: onnx.SparseTensorProto) -> Array:
    values = numpy_helper.to_array(sparse.values)
    indices = numpy_helper.to_array(sparse.indices)
    result = numpy.zeros(tuple(sparse.dims), values.dtype)
    if indices.ndim == 2:
        result[tuple(indices.T)] = values
    else:
        result.reshape(-1)[indices] = values
    return result


def move_other_types_to_initializers(site: Site) -> None:
    """Move a Constant-9 that is not a float to an initializer: Constant-1 takes floats only.

    Functions have no initializers: there Cast makes integers and booleans of doubles.
    """
    tensor = site.attribute("value")
    dtype = dtype_name(tensor.data_type)
    if dtype in FIRST_FLOATS:
        return
    if site.become_initializer(tensor):
        return
    if dtype == "bool" or dtype.startswith(("int", "uint")):
        site.replace(_cast_from_doubles(site, numpy_helper.to_array(tensor), dtype))
    else:
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                f"a Constant in a function is {dtype}; below opset 9 Constant gives floats, and Cast converts "
                "these only to numbers"
            ),
        )


def _cast_from_doubles(site: Site, values: Array, dtype: str) -> str:
    """Cast a double Constant if it holds every value, else add two, for the higher and the lower bits."""
    op = site.op

    def made(numbers: Array) -> str:
        return str(op.Cast(op.Constant(value=numbers.astype(numpy.float64)), to=dtype))

    if holds("double", dtype) or all(int(float(value)) == value for value in values.reshape(-1).tolist()):
        return made(values)
    unit = values.dtype.type(2**32)
    return str(op.Add(op.Mul(made(values // unit), made(numpy.full_like(values, unit))), made(values % unit)))


def replace_with_expand(site: Site) -> None:
    """Replace ConstantOfShape-9 with Expand of a scalar."""
    value = site.attribute("value")
    scalar = numpy.zeros((), numpy.float32) if value is None else numpy_helper.to_array(value).reshape(())
    site.replace(site.op.Expand(site.constant(scalar, hint="value"), site.input(0)))


def write_what_has_no_elements(site: Site) -> None:
    """Write a tensor without elements as a constant, where the shape is known."""
    shape, value = site.constant_value(0), site.attribute("value")
    if shape is not None and not shape.all():
        dtype = numpy.float32 if value is None else numpy_helper.to_array(value).dtype
        site.replace(site.constant(numpy.zeros(shape, dtype), hint="empty"))


def fill_in_a_wider_type_and_cast(site: Site) -> None:
    """Compute ConstantOfShape-20 of a type that ConstantOfShape-9 does not take in a wider one, and cast."""
    value = site.attribute("value")
    if value is None:
        return
    dtype = dtype_name(value.data_type)
    compute_dtype = (
        exact_wider_dtype(dtype, [tensor_type(one) for one in FIRST_FLOATS], site.opset)
        if dtype not in FIRST_FLOATS
        else None
    )
    if compute_dtype is not None and dtype in _CAST_INTO:
        wide = numpy_helper.to_array(value).astype(numpy_dtype(compute_dtype))
        result = site.op.ConstantOfShape(site.input(0), value=wide.reshape(1))
        site.replace(site.op.Cast(result, to=dtype, **cast_back_attributes(dtype)))


_CAST_INTO = frozenset(["bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"])


def compute_bfloat16_in_float(site: Site) -> None:
    """Compute EyeLike-22 of bfloat16 in float for EyeLike-9: of the input only the shape counts."""
    dtype = dtype_attribute(site, "dtype") if has_attribute(site, "dtype") else site.dtype(0)
    if "bfloat16" not in (dtype, site.dtype(0)):
        return
    op = site.op
    like = op.Cast(site.input(0), to="float") if site.dtype(0) == "bfloat16" else site.input(0)
    plain = "float" if dtype == "bfloat16" else dtype
    result = op.EyeLike(like, dtype=plain, k=site.attribute("k", 0))
    site.replace(op.Cast(result, to=dtype) if plain != dtype else result)


def compute_the_diagonal_by_comparison(site: Site) -> None:
    """Replace EyeLike-9 with a constant or, where the shape is unknown, with column number == row number + k."""
    dtype = dtype_attribute(site, "dtype") if has_attribute(site, "dtype") else site.dtype(0)
    k = site.attribute("k", 0)
    shape = known_shape(site, 0)
    if shape is not None and len(shape) == 2 and math.prod(shape) <= LARGEST_TABLE:
        rows, columns = shape
        diagonal = numpy.eye(rows, columns, min(max(k, -rows), columns), dtype=numpy_dtype(dtype))
        site.replace(site.constant(diagonal, hint="diagonal"))
        return
    op = site.op_at(opsets.AXES_AS_INPUTS)
    sizes = op.Shape(site.input(0))
    rows_, columns_ = (op.Gather(sizes, site.constant([axis], "int64", "axis")) for axis in (0, 1))
    row_numbers = op.Add(op.Unsqueeze(iota(site, op, rows_), site.constant([1], "int64")), site.constant([k], "int64"))
    site.replace(
        op.Cast(op.Equal(op.Unsqueeze(iota(site, op, columns_), site.constant([0], "int64")), row_numbers), to=dtype)
    )


def copy_sequence_by_insert_and_erase(site: Site) -> None:
    """Replace Identity-14 of a sequence, which Identity-13 does not take, with SequenceInsert and SequenceErase."""
    found = site.dtype(0, "")
    if not found.startswith("seq(tensor("):
        return
    if (parts := site.parts(0)) is not None:
        site.scalarize(0, parts)
        return
    dtype = found.removeprefix("seq(tensor(").removesuffix("))")
    filler = numpy.array("", dtype=object) if dtype == "string" else numpy.zeros((), numpy_dtype(dtype))
    op = site.op
    site.replace(op.SequenceErase(op.SequenceInsert(site.input(0), site.constant(filler, hint="filler"))))


def slice_the_shape(site: Site) -> None:
    """Replace start and end of Shape-15 with a Slice of Shape-13; both clamp the bounds in the same way."""
    start, end = pop_attribute(site, "start", 0), pop_attribute(site, "end")
    if start == 0 and end is None:
        return
    op = site.op
    bounds = [site.constant([bound], "int64", "bound") for bound in (start, END if end is None else end)]
    site.replace(op.Slice(op.Shape(site.input(0)), *bounds))


_DTYPE_OF_THE_INPUT = "without `dtype`, both give the dtype of the input"
_SEQUENCES = "14 adds sequences of tensors"
_WHOLE_SHAPE = "without start and end, both give the whole shape"

STEPS = [
    Step("Constant", 1, 9, up=unchanged, down=move_other_types_to_initializers, because="9 adds dtypes"),
    Step("Constant", 9, 11, up=unchanged, down=convert_sparse_value_to_dense, because="11 adds the sparse form"),
    Step("Constant", 11, 12, up=unchanged, down=write_value_as_a_tensor, because="12 adds attributes for the value"),
    Step("Constant", 12, 13, up=unchanged, down=write_value_as_a_tensor, because="13 adds bfloat16"),
    Step("Constant", 13, 19, up=unchanged, down=write_value_as_a_tensor, because="19 adds float8"),
    Step("ConstantOfShape", 9, 20, up=unchanged, down=fill_in_a_wider_type_and_cast, because="20 adds dtypes"),
    Step("EyeLike", 9, 22, up=unchanged, down=compute_bfloat16_in_float, because=_DTYPE_OF_THE_INPUT),
    Step("Identity", 13, 14, up=unchanged, down=copy_sequence_by_insert_and_erase, because=_SEQUENCES),
    Step("Shape", 13, 15, up=unchanged, down=slice_the_shape, because=_WHOLE_SHAPE),
]

INTRODUCTIONS = [
    Introduction("ConstantOfShape", 9, down=replace_with_expand),
    Introduction("EyeLike", 9, down=compute_the_diagonal_by_comparison),
]

FALLBACKS = [
    Fallback("Constant", write_value_as_a_tensor),
    Fallback("ConstantOfShape", write_what_has_no_elements),
]
