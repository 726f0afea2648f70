"""Tensors as they are stored: where a model holds them, how many bytes they take, whether the data fits the shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from math import prod
from operator import attrgetter
from typing import NamedTuple

import numpy
import onnx
from onnx import AttributeProto, SparseTensorProto, TensorProto, numpy_helper

from opsetlift.model.files.errors import ModelFileError
from opsetlift.specification.dtypes import by_element_type, dtype_name, numpy_dtype

_BITS_OF_PACKED_DTYPES = by_element_type(
    {"uint4": 4, "int4": 4, "float4e2m1": 4, "uint2": 2, "int2": 2, "float6e2m3": 6, "float6e3m2": 6}
)
_TYPED_FIELDS: dict[int, str] = {
    TensorProto.FLOAT: "float_data",
    TensorProto.COMPLEX64: "float_data",
    TensorProto.DOUBLE: "double_data",
    TensorProto.COMPLEX128: "double_data",
    TensorProto.INT64: "int64_data",
    TensorProto.UINT32: "uint64_data",
    TensorProto.UINT64: "uint64_data",
    TensorProto.STRING: "string_data",
}
VALUE_FIELDS = ("float_data", "int32_data", "string_data", "int64_data", "raw_data", "double_data", "uint64_data")
"""Those of a tensor that hold its elements."""
_KINDS_WITH_TENSORS = frozenset(
    (
        AttributeProto.TENSOR,
        AttributeProto.TENSORS,
        AttributeProto.GRAPH,
        AttributeProto.GRAPHS,
        AttributeProto.SPARSE_TENSOR,
        AttributeProto.SPARSE_TENSORS,
    )
)
_LARGEST_SIZE = 2**63 - 1


def is_external(tensor: TensorProto) -> bool:
    """Whether the data lies in a file of its own."""
    return tensor.data_location == TensorProto.EXTERNAL


class Tensors(NamedTuple):
    """The tensors of a model, in subgraphs and functions too."""

    dense: list[TensorProto]
    """Initializers and attributes."""
    others: list[TensorProto]
    """The parts of sparse ones, and all of training graphs."""
    sparse: list[SparseTensorProto]
    """Those of training graphs, too."""

    def all(self) -> Iterator[TensorProto]:
        """The tensors, parts of sparse ones included."""
        return chain(self.dense, self.others)


def tensors_of(model: onnx.ModelProto) -> Tensors:
    """Every tensor of a model; equal models give theirs in the same order."""
    found = Tensors([], [], [])
    _of_graph(model.graph, found)
    for function in model.functions:
        _of_attributes(function.attribute_proto, found)
        _of_nodes(function.node, found)
    for training in model.training_info:
        own = Tensors(found.others, found.others, found.sparse)
        _of_graph(training.initialization, own)
        _of_graph(training.algorithm, own)
    return found


def all_tensors(model: onnx.ModelProto) -> Iterator[TensorProto]:
    """Every tensor of a model: initializers and attributes, in subgraphs, functions and training graphs too."""
    first = model.graph.initializer
    yield from first  # they are most, and enough for who stops there
    yield from islice(tensors_of(model).all(), len(first), None)


def _of_graph(graph: onnx.GraphProto, found: Tensors) -> None:
    found.dense.extend(graph.initializer)
    _of_sparse(graph.sparse_initializer, found)
    _of_nodes(graph.node, found)


def _of_nodes(nodes: Iterable[onnx.NodeProto], found: Tensors) -> None:
    given = filter(None, map(attrgetter("attribute"), nodes))  # most nodes have none, which is told faster in C
    _of_attributes([one for each in given for one in each[:] if one.type in _KINDS_WITH_TENSORS], found)


def _of_attributes(attributes: Iterable[AttributeProto], found: Tensors) -> None:
    for attribute in attributes:
        kind = attribute.type
        if kind == AttributeProto.TENSOR and attribute.HasField("t"):
            found.dense.append(attribute.t)
        elif kind == AttributeProto.TENSORS:
            found.dense.extend(attribute.tensors)
        elif kind == AttributeProto.GRAPH:
            _of_graph(attribute.g, found)
        elif kind == AttributeProto.GRAPHS:
            for graph in attribute.graphs:
                _of_graph(graph, found)
        elif kind in (AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS):
            own = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
            _of_sparse((*own, *attribute.sparse_tensors), found)


def _of_sparse(tensors: Iterable[SparseTensorProto], found: Tensors) -> None:
    for sparse in tensors:
        found.sparse.append(sparse)
        found.others.extend((sparse.values, sparse.indices))


def _bits(data_type: int) -> int | None:
    """Bits per element; None for strings. Raises ValueError for a number that is no dtype."""
    if data_type == TensorProto.STRING:
        return None
    return _BITS_OF_PACKED_DTYPES.get(data_type) or 8 * numpy_dtype(dtype_name(data_type)).itemsize


def element_count(tensor: TensorProto) -> int:
    """The number of elements. Raises ModelFileError for dimensions that no tensor can have."""
    dims = tensor.dims[:]
    count: int = prod(dims)
    # A zero dimension makes any product 0, and a pair of negative ones hides in it.
    if count < 0 or min(dims, default=0) < 0:
        raise ModelFileError(f"tensor {tensor.name!r} has a negative dimension: {list(tensor.dims)}")
    if count > _LARGEST_SIZE:
        raise ModelFileError(f"tensor {tensor.name!r} has more elements than can exist: {list(tensor.dims)}")
    return count


def stored_bytes(tensor: TensorProto) -> int | None:
    """The bytes that the elements take in raw or external form; None for strings. Raises ModelFileError."""
    try:
        bits = _bits(tensor.data_type)
    except ValueError as error:
        raise ModelFileError(f"tensor {tensor.name!r} has no dtype that onnx knows: {tensor.data_type}") from error
    count = element_count(tensor)
    if bits is None:
        return None
    size = -(-count * bits // 8)
    if size > _LARGEST_SIZE:
        raise ModelFileError(f"tensor {tensor.name!r} has more bytes than can exist: {list(tensor.dims)}")
    return size


def check_data(tensor: TensorProto) -> None:
    """Raises ModelFileError where the data inside a tensor does not fit its dtype and dimensions."""
    size = stored_bytes(tensor)
    if tensor.HasField("raw_data"):
        _check_raw_data(tensor, size)
        return
    filled = [field for field in VALUE_FIELDS if field != "raw_data" and len(getattr(tensor, field))]
    count = element_count(tensor)
    if count and not filled:
        raise ModelFileError(f"tensor {tensor.name!r} holds no data for its {count} elements")
    expected_field = _TYPED_FIELDS.get(tensor.data_type, "int32_data")
    if filled and filled != [expected_field]:
        raise ModelFileError(
            f"tensor {tensor.name!r} keeps its {dtype_name(tensor.data_type)} elements in {' and '.join(filled)}, "
            f"not in {expected_field}"
        )
    found = len(getattr(tensor, expected_field))
    fewest, most = _entries(tensor.data_type, count)
    if not fewest <= found <= most:
        raise ModelFileError(
            f"tensor {tensor.name!r} holds {found} entries in {expected_field}, and its shape "
            f"{list(tensor.dims)} asks for {most}"
        )


def check_sparse(sparse: SparseTensorProto) -> None:
    """Raises ModelFileError where the indices of a sparse tensor are not those of its values, in ascending order.

    The data of both parts is taken to fit their shapes. Indices in a file of their own are not read.
    """
    name, values, indices = sparse.values.name, sparse.values, sparse.indices
    size = element_count(TensorProto(name=name, dims=sparse.dims))
    forms = [[element_count(values)], [element_count(values), len(sparse.dims)]]
    if indices.data_type != TensorProto.INT64 or list(indices.dims) not in forms:
        raise ModelFileError(
            f"sparse tensor {name!r} has indices of {dtype_name(indices.data_type)} {list(indices.dims)}, "
            f"not of int64 {forms[0]} or {forms[1]}"
        )
    if is_external(indices) or not element_count(indices):
        return
    found = numpy_helper.to_array(indices)
    try:
        positions = numpy.ravel_multi_index(tuple(found.T), tuple(sparse.dims)) if found.ndim > 1 else found
    except ValueError:
        positions = numpy.array([-1])
    if positions[0] < 0 or positions[-1] >= size or (numpy.diff(positions) <= 0).any():
        raise ModelFileError(f"sparse tensor {name!r} has indices outside of {list(sparse.dims)}, or not in order")


def _check_raw_data(tensor: TensorProto, size: int | None) -> None:
    if size is None:
        raise ModelFileError(f"tensor {tensor.name!r} holds strings in raw_data, which cannot hold strings")
    found = len(tensor.raw_data)
    also = [field for field in VALUE_FIELDS if field != "raw_data" and len(getattr(tensor, field))]
    if also and found:
        raise ModelFileError(f"tensor {tensor.name!r} holds its data twice, in raw_data and in {also[0]}")
    if found != size and not also:
        raise ModelFileError(
            f"tensor {tensor.name!r} holds {found} bytes of data, and its shape {list(tensor.dims)} of "
            f"{dtype_name(tensor.data_type)} takes {size}"
        )


def _entries(data_type: int, count: int) -> tuple[int, int]:
    """The fewest and the most entries of a typed field that may hold `count` elements.

    onnx.proto packs two 4-bit elements into each int32_data entry, onnx.checker is content with four times as many.
    """
    if data_type in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
        return 2 * count, 2 * count
    bits = _BITS_OF_PACKED_DTYPES.get(data_type, 8)
    if bits in (2, 4):
        return -(-count * bits // 32), -(-count * bits // 8)
    return count, count
