"""Tensors and attributes of gs.Graphs as protobufs: as they were read, where they are still the same."""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
from onnx import AttributeProto, SparseTensorProto, TensorProto

from opsetlift.model.arrays import tensor_of
from opsetlift.normalizer.graphs.attached_metadata import metadata_of_tensor
from opsetlift.normalizer.graphs.graphsurgeon_internals import onnx_attribute_type_of
from opsetlift.normalizer.graphs.stored import StoredSparseTensor, StoredTensor, stored_values
from opsetlift.normalizer.graphs.value_infos import element_type_of


def set_text(message: Any, field: str, text: str | None) -> None:
    """Set a text where it is another one: protobuf tells an empty one from none."""
    if getattr(message, field) != (text or ""):
        setattr(message, field, text or "")


def is_same(value: Any, imported: Any) -> bool:
    """Whether an attribute is still what was imported."""
    if isinstance(value, gs.Constant):
        return value is imported and isinstance(stored_values(value), StoredTensor)
    if isinstance(value, (gs.Tensor, numpy.ndarray)) or type(value) is not type(imported):
        return value is imported
    return value is imported or bool(value == imported)


def write_attribute(name: str, value: Any, target: AttributeProto) -> None:
    """Write an attribute that is neither a tensor nor a graph."""
    if isinstance(value, AttributeProto):
        target.CopyFrom(value)
        target.name = name
    elif isinstance(value, gs.Node.AttributeRef):
        target.name = name
        target.ref_attr_name = value.name
        target.type = onnx_attribute_type_of(value.type)
    elif isinstance(value, numpy.ndarray):
        target.name = name
        target.type = AttributeProto.TENSOR
        target.t.CopyFrom(tensor_of(value))
    elif isinstance(value, (type, numpy.dtype)):
        target.CopyFrom(onnx.helper.make_attribute(name, element_type_of(value)))
    elif isinstance(value, list) and value and all(isinstance(one, gs.Constant) for one in value):
        target.name = name
        target.type = AttributeProto.TENSORS
        for one in value:
            write_tensor(one, target.tensors.add(), name=one.name)
    else:
        target.CopyFrom(onnx.helper.make_attribute(name, value))


def write_tensor(constant: gs.Constant, target: TensorProto, *, name: str) -> None:
    """Write a constant: as it is stored, where its values are still those."""
    stored = stored_values(constant)
    metadata = metadata_of_tensor(constant)
    if stored is None and metadata is not None and isinstance(metadata.stored, StoredTensor):
        stored = metadata.stored if _holds(metadata.stored, constant.values) else None
    if stored is not None and not isinstance(stored, StoredSparseTensor):
        copy_tensor(stored, target, name)
    else:
        exported = getattr(constant, "export_dtype", None)
        values = numpy.asarray(constant.values)
        if exported is not None and exported != values.dtype:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(element_type_of(exported))
            values = values.astype(dtype)
        target.CopyFrom(tensor_of(values, name))


def _holds(stored: StoredTensor, values: numpy.ndarray[Any, Any]) -> bool:
    """Whether values that somebody has looked at are still the stored ones."""
    if stored.dtype != values.dtype or stored.shape != values.shape:
        return False
    if stored.tensor.raw_data == values.tobytes():
        return True
    before = stored.read()
    if before.dtype == object:
        return bool(numpy.array_equal(before, values))
    return before.tobytes() == values.tobytes()


def copy_tensor(stored: Any, target: TensorProto, name: str) -> None:
    """Write a tensor as it is stored, under a name."""
    target.CopyFrom(stored.tensor)
    set_text(target, "name", name)


def write_sparse(stored: StoredSparseTensor, name: str, target: SparseTensorProto) -> None:
    """Write a sparse tensor as it is stored, under a name."""
    target.CopyFrom(stored.tensor)
    set_text(target.values, "name", name)
