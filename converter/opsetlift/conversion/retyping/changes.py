"""Types and arrays with other dtypes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import ml_dtypes
import numpy
from numpy.typing import NDArray
from onnx import TensorProto, TypeProto

from opsetlift.model.arrays import Array, tensor_of
from opsetlift.specification.dtypes import dtype_of_type, element_type, numpy_dtype
from opsetlift.support.protobuf import text_of

INTEGERS = ("int64", "int32", "uint64", "uint32")
FLOATS = ("double", "float", "float16", "bfloat16")
"""The dtypes that may stand for each other."""


class DoesNotFit(Exception):
    """A constant has elements that the other dtype does not hold; the message names the first."""


@lru_cache(maxsize=1024)
def _changed_type(spelt: str, changes: tuple[tuple[str, str], ...]) -> str | None:
    kind, _, rest = spelt.partition("(")
    if kind == "tensor":
        new = dict(changes).get(rest[:-1])
        return f"tensor({new})" if new else None
    inner = _changed_type(rest[:-1], changes) if kind in ("seq", "optional") else None
    return inner and f"{kind}({inner})"


def changed_type(spelt: str | None, changes: Mapping[str, str]) -> str | None:
    """A type as the schemas spell it, with the new dtypes; None where nothing in it changes."""
    return _changed_type(spelt, tuple(changes.items())) if spelt else None


def set_type(known: TypeProto, spelt: str) -> None:
    """Give a type the dtype of a spelling; the shapes in it stay."""
    kind, _, rest = spelt.partition("(")
    if kind == "tensor":
        known.tensor_type.elem_type = element_type(rest[:-1])
    else:
        set_type((known.sequence_type if kind == "seq" else known.optional_type).elem_type, rest[:-1])


def retyped_array(array: Array, new: str, *, clamps: bool = False) -> Array:
    """The array in another dtype; digits may be lost. Raises DoesNotFit where elements are beyond its range.

    With `clamps`, floats beyond it become the largest that there are.
    """
    with numpy.errstate(all="ignore"):
        converted = array.astype(numpy_dtype(new))
        misfits = numpy.asarray(converted != array) if new in INTEGERS else beyond(array, new)
    if not misfits.any():
        return converted
    if not clamps or new in INTEGERS:
        raise DoesNotFit(f"holds {array[misfits].flat[0]}, which is beyond {new}")
    largest = ml_dtypes.finfo(numpy_dtype(new)).max  # type: ignore[no-untyped-call]
    return numpy.where(misfits, numpy.copysign(float(largest), array.astype(numpy.float64)), array).astype(
        converted.dtype
    )


def beyond(array: Array, new: str) -> NDArray[numpy.bool_]:
    """Which floats are finite, and would not be so in another dtype."""
    with numpy.errstate(all="ignore"):
        return numpy.asarray(numpy.isfinite(array) & ~numpy.isfinite(array.astype(numpy_dtype(new))))


def retyped_tensor(tensor: TensorProto, array: Array, new: str) -> TensorProto:
    """A tensor, whose content `array` is, in another dtype. Raises DoesNotFit."""
    result = tensor_of(retyped_array(array, new), tensor.name)
    result.doc_string = text_of(tensor.doc_string)
    result.metadata_props.extend(tensor.metadata_props)
    return result


def dtype_in(spelt: str) -> str:
    """The dtype in a type: "seq(tensor(int64))" -> "int64"."""
    return dtype_of_type(spelt) or dtype_in(spelt.partition("(")[2][:-1])
