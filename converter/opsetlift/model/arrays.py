"""Tensors as arrays, and arrays as tensors."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray
from onnx import TensorProto, numpy_helper

from opsetlift.model.files import ModelFileError, with_data

Array = NDArray[Any]


def tensor_of(array: Array, name: str = "") -> TensorProto:
    """A TensorProto of an array; strings from dtype object."""
    if array.dtype == object:
        tensor = TensorProto(name=name, data_type=TensorProto.STRING, dims=array.shape)
        tensor.string_data.extend(
            item if isinstance(item, bytes) else str(item).encode("utf-8") for item in array.reshape(-1).tolist()
        )
        return tensor
    return numpy_helper.from_array(numpy.ascontiguousarray(array).reshape(array.shape), name)


def array_of(tensor: TensorProto, base_dir: str) -> Array | None:
    """The content of a tensor, whose external data lies in `base_dir`; None where it cannot be read."""
    if tensor.data_type == TensorProto.STRING:
        text = [item.decode("utf-8", "surrogateescape") for item in tensor.string_data]
        return numpy.array(text, dtype=object).reshape(tuple(tensor.dims))
    try:
        return numpy_helper.to_array(with_data(tensor, base_dir))
    except (ModelFileError, ValueError, RuntimeError):
        return None
