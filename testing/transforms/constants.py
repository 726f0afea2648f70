"""Inputs that become constants, in every form that a constant can take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import onnx
from onnx import ModelProto, NodeProto, SparseTensorProto, TensorProto, numpy_helper

from testing.cases import Case
from testing.transforms.transform import (
    Transform,
    add_initializer,
    copied,
    ensure_ir_version,
    required_inputs,
    rewritten,
    tensor_of,
    tensors_of_inputs,
    without_inputs,
)

Form = Callable[[ModelProto, TensorProto], bool]
"""Puts a constant into a model; False where it cannot take this form."""

_DENSE_FORMS: dict[int, tuple[str, str]] = {
    TensorProto.FLOAT: ("value_floats", "value_float"),
    TensorProto.INT64: ("value_ints", "value_int"),
    TensorProto.STRING: ("value_strings", "value_string"),
}


def as_constants(form: Form, *, but_first: bool) -> Callable[[Case], Case | None]:
    """All small inputs, or all but the first input, become constants in one form."""

    def apply(case: Case) -> Case | None:
        model = copied(case.model)
        first = next((info.name for info in required_inputs(case.model)), None)
        chosen = {name: tensor for name, tensor in tensors_of_inputs(case).items() if not (but_first and name == first)}
        done = [name for name, tensor in chosen.items() if form(model, tensor)]
        if not done:
            return None
        outputs = {info.name for info in model.graph.output}
        kept_as_inputs = {tensor.name for tensor in model.graph.initializer}.union(outputs)
        without_inputs(model, [name for name in done if name not in kept_as_inputs])
        return rewritten(case, model, [value for name, value in case.inputs().items() if name not in done])

    return apply


def initializer(model: ModelProto, tensor: TensorProto) -> bool:
    """A plain initializer, which IR version 4 and later do not call an input."""
    ensure_ir_version(model, 4)
    without_inputs(model, [tensor.name])
    model.graph.initializer.append(tensor)
    return True


def initializer_in_typed_fields(model: ModelProto, tensor: TensorProto) -> bool:
    """An initializer whose elements are in float_data, int32_data and so on."""
    array = numpy_helper.to_array(tensor)
    try:
        typed = onnx.helper.make_tensor(tensor.name, tensor.data_type, tensor.dims, array.ravel().tolist())
    except (TypeError, ValueError):
        return False
    return numpy_helper.to_array(typed).tobytes() == array.tobytes() and initializer(model, typed)


def overridable_initializer(model: ModelProto, tensor: TensorProto) -> bool:
    """An initializer that is an input as well, as it had to be in IR version 3."""
    model.graph.initializer.append(tensor)
    return True


def constant_node(model: ModelProto, tensor: TensorProto) -> bool:
    """A Constant node with the attribute `value`."""
    return _constant(model, tensor.name, value=tensor)


def constant_node_of_numbers(model: ModelProto, tensor: TensorProto) -> bool:
    """A Constant node with `value_ints`, `value_float` and the like, which came with opset 12."""
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    if opset < 12 or tensor.data_type not in _DENSE_FORMS or len(tensor.dims) > 1:
        return False
    several, one = _DENSE_FORMS[tensor.data_type]
    array = numpy_helper.to_array(tensor)
    if array.ndim == 0:
        return _constant(model, tensor.name, **{one: array.item()})
    return array.size > 0 and _constant(model, tensor.name, **{several: array.tolist()})


def sparse_initializer(model: ModelProto, tensor: TensorProto) -> bool:
    """A sparse initializer: values and places of what is not zero."""
    sparse = _sparse(tensor)
    if sparse is None:
        return False
    ensure_ir_version(model, 6)
    without_inputs(model, [tensor.name])
    model.graph.sparse_initializer.append(sparse)
    return True


def sparse_constant_node(model: ModelProto, tensor: TensorProto) -> bool:
    """A Constant node with a sparse value, which came with opset 11."""
    sparse = _sparse(tensor)
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    if sparse is None or opset < 11:
        return False
    ensure_ir_version(model, 6)
    return _constant(model, tensor.name, sparse_value=sparse)


def computed_at_run_time(model: ModelProto, tensor: TensorProto) -> bool:
    """A constant behind an Identity node."""
    name = f"{tensor.name}_before_identity"
    behind = TensorProto()
    behind.CopyFrom(tensor)
    behind.name = name
    without_inputs(model, [tensor.name])
    add_initializer(model, behind)
    model.graph.node.insert(0, onnx.helper.make_node("Identity", [name], [tensor.name]))
    return True


def _sparse(tensor: TensorProto) -> SparseTensorProto | None:
    """A tensor's sparse form; sparse tensors have numbers only, and a rank."""
    array = numpy_helper.to_array(tensor)
    if array.dtype.kind not in "fiu" or array.ndim == 0 or array.size == 0:
        return None
    bits = numpy.frombuffer(array.tobytes(), numpy.uint8).reshape(array.size, array.itemsize)
    places = numpy.flatnonzero(bits.any(axis=1))
    return SparseTensorProto(
        values=tensor_of(array.ravel()[places], tensor.name),
        indices=tensor_of(places.astype(numpy.int64), ""),
        dims=tensor.dims,
    )


def _constant(model: ModelProto, name: str, **attribute: Any) -> bool:
    node: NodeProto = onnx.helper.make_node("Constant", [], [name], **attribute)
    without_inputs(model, [name])
    model.graph.node.insert(0, node)
    return True


CONSTANTS = tuple(
    Transform(f"{form.__name__}_of_{which}", as_constants(form, but_first=but_first))
    for form in (
        initializer,
        initializer_in_typed_fields,
        overridable_initializer,
        constant_node,
        constant_node_of_numbers,
        sparse_initializer,
        sparse_constant_node,
        computed_at_run_time,
    )
    for but_first, which in ((True, "all_but_first"), (False, "all"))
)
