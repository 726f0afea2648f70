"""The data of tensors as raw bytes, for runtimes that misread the fields for single dtypes."""

from __future__ import annotations

from collections.abc import Collection

from onnx import ModelProto, TensorProto, numpy_helper

from opsetlift.model.files.copying import copy_with_tensors
from opsetlift.model.files.tensors import all_tensors
from opsetlift.specification.dtypes import element_type


def with_raw_data(model: ModelProto, dtypes: Collection[str]) -> ModelProto:
    """The model, or a copy in which tensors of some dtypes hold their data as raw bytes (onnx.proto, TensorProto).

    Args:
        model: The model, whose data fits its shapes.
        dtypes: Those of tensors whose data may be in `int32_data`.
    """
    numbers = set(map(element_type, dtypes))

    def is_kept(tensor: TensorProto) -> bool:
        return tensor.data_type not in numbers or not tensor.int32_data

    def fill(tensor: TensorProto, target: TensorProto) -> None:
        target.raw_data = numpy_helper.from_array(numpy_helper.to_array(tensor)).raw_data

    return model if all(map(is_kept, all_tensors(model))) else copy_with_tensors(model, is_kept, fill)
