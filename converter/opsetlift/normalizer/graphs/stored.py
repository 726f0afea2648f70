"""Values that stay where they are stored: in a protobuf, in a file beside the model, or sparse."""

from __future__ import annotations

from abc import abstractmethod
from math import prod
from typing import Any

import numpy
import onnx_graphsurgeon as gs
from numpy.typing import NDArray
from onnx import SparseTensorProto, TensorProto

from opsetlift.evaluator import sparse_tensor_value, tensor_value
from opsetlift.normalizer.graphs.graphsurgeon_internals import LazyValues, SparseValues, held_values
from opsetlift.specification import dtypes


class _Stored(LazyValues):  # type: ignore[misc]
    """Values of `tensor`, read when a rewrite asks for them. `base_dir` is the folder of external data."""

    def __init__(self, tensor: TensorProto | SparseTensorProto, data_type: int, base_dir: str) -> None:
        self.tensor = tensor
        self.base_dir = base_dir
        self.shape = tuple(tensor.dims[:])
        self.dtype = dtypes.numpy_dtype(dtypes.dtype_name(data_type))
        self.nbytes = prod(self.shape) * self.dtype.itemsize
        self.loaded: NDArray[Any] | None = None

    def load(self) -> NDArray[Any]:
        """A copy of the values, to be remembered as such. Raises ValueError where they cannot be read."""
        self.loaded = self.read()
        return self.loaded

    @abstractmethod
    def read(self) -> NDArray[Any]:
        """A copy of the values. Raises ValueError where they cannot be read."""


class StoredTensor(_Stored):
    """The values of a TensorProto."""

    def __init__(self, tensor: TensorProto, base_dir: str = "") -> None:
        super().__init__(tensor, tensor.data_type, base_dir)

    def read(self) -> NDArray[Any]:
        """A copy of the values. Raises ValueError where they cannot be read."""
        return numpy.array(tensor_value(self.tensor, self.base_dir))


class StoredSparseTensor(_Stored, SparseValues):  # type: ignore[misc]
    """The values of a SparseTensorProto, made dense."""

    def __init__(self, tensor: SparseTensorProto, base_dir: str = "") -> None:
        super().__init__(tensor, tensor.values.data_type, base_dir)

    def read(self) -> NDArray[Any]:
        """A dense copy of the values. Raises ValueError where they cannot be read."""
        return numpy.array(sparse_tensor_value(self.tensor, self.base_dir))


Stored = StoredTensor | StoredSparseTensor


def stored_values(tensor: gs.Constant) -> LazyValues | None:
    """Where the values of a constant are stored, if nobody has read or replaced them."""
    values = held_values(tensor)
    return values if isinstance(values, LazyValues) else None
