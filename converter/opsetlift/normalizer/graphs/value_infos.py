"""The declared types of values: written as they were read, but for what a rewrite has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
from onnx import TensorProto, TypeProto, ValueInfoProto

from opsetlift.normalizer.graphs.attached_metadata import declared, metadata_of_tensor
from opsetlift.specification import dtypes


def element_type_of(dtype: Any) -> int:
    """The element type of a dtype as graphsurgeon has them: numpy's, or a number of TensorProto.DataType."""
    if isinstance(dtype, int):
        return dtype
    return dtypes.element_type(dtypes.name_of_numpy_dtype(numpy.dtype(dtype)))


class ValueInfos:
    """A list of declarations, as it was imported."""

    def __init__(self, imported: Iterable[tuple[gs.Tensor, ValueInfoProto]]) -> None:
        self._imported = list(imported)
        self._by_tensor = {id(tensor): info for tensor, info in self._imported}

    def write(self, tensors: Iterable[gs.Tensor], target: Any) -> None:
        """The declarations of a graph's inputs or outputs."""
        for tensor in tensors:
            self._write(tensor, self._by_tensor.get(id(tensor)), target.add())

    def write_values(self, graph: gs.Graph, tensors: Iterable[gs.Tensor], target: Any) -> None:
        """The declarations of inner values: those that were there and those that have become known.

        `tensors` are those that the graph names.
        """
        for tensor, info in self._imported:
            metadata = metadata_of_tensor(tensor)
            if not isinstance(tensor, gs.Constant) or (metadata is not None and metadata.stored is not None):
                self._write(tensor, info, target.add())
        typed = [tensor for tensor in tensors if isinstance(tensor, gs.Variable) and _is_typed_tensor(tensor)]
        known = {*map(id, graph.inputs), *map(id, graph.outputs), *self._by_tensor}
        computed = {id(tensor) for node in graph.nodes for tensor in node.outputs} if typed else set()
        for tensor in typed:
            if id(tensor) in computed and id(tensor) not in known:
                shape = None if tensor.shape is None else tuple(tensor.shape)
                target.add(name=tensor.name, type=_tensor_type(element_type_of(tensor.dtype), shape))

    @staticmethod
    def _write(tensor: gs.Tensor, imported: ValueInfoProto | None, target: ValueInfoProto) -> None:
        if imported is not None:
            target.CopyFrom(imported)
        if target.name != tensor.name:
            target.name = tensor.name
        if isinstance(tensor, gs.Constant):
            if imported is None:
                target.type.CopyFrom(onnx.helper.make_tensor_type_proto(element_type_of(tensor.dtype), tensor.shape))
            return
        metadata = metadata_of_tensor(tensor)
        if imported is None or metadata is None or metadata.declared != declared(tensor):
            _write_type(tensor, target.type)


def _is_typed_tensor(variable: gs.Variable) -> bool:
    return variable.dtype is not None and getattr(variable, "type", "tensor_type") == "tensor_type"


def _write_type(tensor: gs.Variable, target: TypeProto) -> None:
    """Write what a variable says of itself into its type, which may say more."""
    kind = getattr(tensor, "type", "tensor_type")
    if isinstance(tensor.dtype, TypeProto):
        # graphsurgeon's importer puts the element type of optionals, and the value type of maps, here.
        if kind == "optional_type":
            target.optional_type.elem_type.CopyFrom(tensor.dtype)
        return
    if tensor.dtype is None:
        return
    elem_type = element_type_of(tensor.dtype)
    match kind:
        case "tensor_type":
            _write_tensor_type(elem_type, tensor.shape, target)
        case "sequence_type":
            _write_tensor_type(elem_type, tensor.shape, target.sequence_type.elem_type)
        case "sparse_tensor_type":
            target.CopyFrom(onnx.helper.make_sparse_tensor_type_proto(elem_type, tensor.shape))


@lru_cache(1024)
def _tensor_type(elem_type: int, shape: tuple[int | str | None, ...] | None) -> TypeProto:
    """The type of a tensor, to be copied: many have the same."""
    target = TypeProto()
    _write_tensor_type(elem_type, shape, target)
    return target


def _write_tensor_type(elem_type: int, shape: Sequence[int | str | None] | None, target: TypeProto) -> None:
    target.tensor_type.elem_type = elem_type
    if elem_type == TensorProto.UNDEFINED or shape is None:
        target.tensor_type.ClearField("shape")
        return
    written = target.tensor_type.shape
    written.SetInParent()
    if len(written.dim) != len(shape):
        del written.dim[:]
        for _ in shape:
            written.dim.add()
    for dim, size in zip(written.dim, shape, strict=True):
        if isinstance(size, str):
            dim.dim_param = size
        elif size is not None and size >= 0:
            dim.dim_value = int(size)
        else:
            dim.ClearField("value")
