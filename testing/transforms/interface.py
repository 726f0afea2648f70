"""What a model says of its values: shapes erased, dimensions that are names or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import numpy
import onnx
from onnx import ModelProto, TensorShapeProto, TypeProto

from testing.cases import Case
from testing.transforms.transform import Transform, copied, rewritten


def tensor_types(declared: TypeProto) -> Iterator[TypeProto.Tensor]:
    """The tensor type in a type, however deep."""
    match declared.WhichOneof("value"):
        case "tensor_type":
            yield declared.tensor_type
        case "sequence_type":
            yield from tensor_types(declared.sequence_type.elem_type)
        case "optional_type":
            yield from tensor_types(declared.optional_type.elem_type)


def _with_shapes(case: Case, edit: Callable[[TypeProto.Tensor], None]) -> Case:
    model = copied(case.model)
    del model.graph.value_info[:]
    for info in (*model.graph.input, *model.graph.output):
        for tensor in tensor_types(info.type):
            edit(tensor)
    return rewritten(case, model)


def without_shapes(case: Case) -> Case:
    """Nothing is known of ranks."""
    return _with_shapes(case, lambda tensor: tensor.ClearField("shape"))


def without_sizes(case: Case) -> Case:
    """Ranks are known, sizes are not."""

    def erase(tensor: TypeProto.Tensor) -> None:
        rank = len(tensor.shape.dim)
        tensor.shape.CopyFrom(TensorShapeProto(dim=[TensorShapeProto.Dimension()] * rank))

    return _with_shapes(case, erase)


def with_names_for_sizes(case: Case) -> Case:
    """Each size has a name of its own."""
    numbers = count()

    def name(tensor: TypeProto.Tensor) -> None:
        for dimension in tensor.shape.dim:
            dimension.dim_param = f"size_{next(numbers)}"

    return _with_shapes(case, name)


def complaint_once_shaped(case: Case, converted: ModelProto) -> str:
    """What onnx.checker, which wants shapes of inputs and outputs, says when the true ones are put back."""
    model = copied(converted)
    arrays = dict(zip((info.name for info in model.graph.output), case.expected(), strict=False)) | case.inputs()
    shapes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    shapes.update((name, numpy.shape(value)) for name, value in arrays.items() if value is not None)
    for info in (*model.graph.input, *model.graph.output):
        for tensor in tensor_types(info.type):
            tensor.shape.SetInParent()
            if info.type.WhichOneof("value") == "tensor_type" and info.name in shapes:
                sizes = [TensorShapeProto.Dimension(dim_value=size) for size in shapes[info.name]]
                tensor.shape.CopyFrom(TensorShapeProto(dim=sizes))
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error).strip()[:300]
    return ""


INTERFACE = (
    Transform("without_shapes", without_shapes, complaint_once_shaped),
    Transform("without_sizes", without_sizes),
    Transform("with_names_for_sizes", with_names_for_sizes),
)
