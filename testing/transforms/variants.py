"""Tests that mean something else than the one they come from: our evaluator says what their outputs are.

At older versions of the operator, with other dtypes, attributes, inputs, ranks, empty, with infinities and NaN. What
the evaluator rejects is no variant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy
import onnx
from onnx import AttributeProto, ModelProto, NodeProto

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.specification.history import history
from testing.cases import Case
from testing.transforms.transform import Transform, copied, required_inputs, rewritten

OTHER_DTYPES = {
    "float32": ("float16", "bfloat16", "float64", "int32", "int64", "uint8"),
    "float64": ("float32", "float16"),
    "int64": ("int32", "int8", "uint64", "float32"),
    "int32": ("int64", "uint8", "int16", "float32"),
    "uint8": ("int8", "uint16", "int32"),
    "int8": ("uint8", "int16"),
    "bool": ("float32", "uint8"),
}


def variant(case: Case, model: ModelProto, inputs: dict[str, Any]) -> Case | None:
    """The case of a model and inputs, with the outputs that they have; None where it is no legal one."""
    for info in model.graph.input:
        if info.name in inputs and info.type.WhichOneof("value") == "tensor_type":
            _declare(info, inputs[info.name])
    for info in model.graph.output:
        info.ClearField("type")
    del model.graph.value_info[:]
    try:
        results = Evaluator(_with_declared_outputs(model), base_dir=case.base_dir or None).run(inputs)
        for info in model.graph.output:
            if isinstance(results[info.name], list | dict) or results[info.name] is None:
                return None
            _declare(info, results[info.name])
        onnx.checker.check_model(model, full_check=True)
    except (EvaluationError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return rewritten(case, model, list(inputs.values()), list(results.values()))


def _with_declared_outputs(model: ModelProto) -> ModelProto:
    """Inferred types of outputs, which the evaluator checks."""
    inferred = onnx.shape_inference.infer_shapes(model)
    for info in inferred.graph.output:
        info.type.tensor_type.ClearField("shape")
    return inferred


def _declare(info: onnx.ValueInfoProto, value: Any) -> None:
    array = numpy.asarray(value)
    kind = "object" if array.dtype.kind in "OU" else array.dtype
    element = onnx.TensorProto.STRING if kind == "object" else onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    info.CopyFrom(onnx.helper.make_tensor_value_info(info.name, element, array.shape))


def _arrays(case: Case) -> dict[str, numpy.ndarray]:
    """The inputs that are tensors of numbers or truth values."""
    arrays = {name: value for name, value in case.inputs().items() if isinstance(value, numpy.ndarray)}
    return {name: value for name, value in arrays.items() if value.dtype.kind not in "OU"}


def _main_node(case: Case) -> NodeProto:
    node: NodeProto = case.model.graph.node[0]
    return node


def versions_back(number: int) -> Callable[[Case], Case | None]:
    """The same nodes at an older version of the first one's operator, where that has the same attributes."""

    def apply(case: Case) -> Case | None:
        operator = history(_main_node(case).domain, _main_node(case).op_type)
        if operator is None or case.model.functions:
            return None
        older = [
            since for since in (operator.introduction, *(new for _, new in operator.steps())) if since <= case.opset
        ]
        if len(older) <= number:
            return None
        model = copied(case.model)
        for entry in model.opset_import:
            if entry.domain == _main_node(case).domain:
                entry.version = older[-1 - number]
        return variant(case, model, case.inputs())

    return apply


def with_other_dtype(number: int) -> Callable[[Case], Case | None]:
    """All inputs of the first input's dtype have another one."""

    def apply(case: Case) -> Case | None:
        arrays = _arrays(case)
        if not arrays:
            return None
        old = next(iter(arrays.values())).dtype
        others = OTHER_DTYPES.get(old.name, ())
        if number >= len(others):
            return None
        new = numpy.dtype(getattr(ml_dtypes, others[number], None) or others[number])
        with numpy.errstate(all="ignore"):
            changed = {name: value.astype(new) for name, value in arrays.items() if value.dtype == old}
        return variant(case, copied(case.model), case.inputs() | changed)

    return apply


def without_attribute(number: int) -> Callable[[Case], Case | None]:
    """One attribute of the first node is left to its default."""

    def apply(case: Case) -> Case | None:
        if number >= len(_main_node(case).attribute):
            return None
        model = copied(case.model)
        del model.graph.node[0].attribute[number]
        return variant(case, model, case.inputs())

    return apply


def without_last_input(case: Case) -> Case | None:
    """The first node's last input is not given."""
    if len(_main_node(case).input) < 2 or len(case.model.graph.node) > 1:
        return None
    model = copied(case.model)
    gone = model.graph.node[0].input.pop()
    if gone in model.graph.node[0].input:
        return None
    inputs = {name: value for name, value in case.inputs().items() if name != gone}
    kept = [info for info in model.graph.input if info.name != gone]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return variant(case, model, inputs)


def with_axes_counted_otherwise(case: Case) -> Case | None:
    """Axes in attributes are negative where they were not, and the reverse."""
    model, arrays = copied(case.model), list(_arrays(case).values())
    axes = [one for one in model.graph.node[0].attribute if one.name in ("axis", "axes")]
    if not axes or not arrays:
        return None
    rank = arrays[0].ndim
    for attribute in axes:
        if attribute.type == AttributeProto.INT:
            attribute.i += -rank if attribute.i >= 0 else rank
        else:
            attribute.ints[:] = [axis - rank if axis >= 0 else axis + rank for axis in attribute.ints]
    return variant(case, model, case.inputs())


def _with_inputs(case: Case, change: Callable[[numpy.ndarray], numpy.ndarray]) -> Case | None:
    changed = {name: change(value) for name, value in _arrays(case).items()}
    if all(changed[name] is value for name, value in _arrays(case).items()) or len(required_inputs(case.model)) == 0:
        return None
    return variant(case, copied(case.model), case.inputs() | changed)


def _first_with_inputs(case: Case, change: Callable[[numpy.ndarray], numpy.ndarray]) -> Case | None:
    arrays = _arrays(case)
    if not arrays:
        return None
    name, value = next(iter(arrays.items()))
    return variant(case, copied(case.model), case.inputs() | {name: change(value)})


def with_special_values(case: Case) -> Case | None:
    """Infinities, NaN and negative zero among the first input's elements, or the least and the greatest integer."""

    def change(value: numpy.ndarray) -> numpy.ndarray:
        special = value.copy().reshape(-1)
        if value.dtype.kind in "iu":
            limits = numpy.iinfo(value.dtype)
            special[:2] = [limits.min, limits.max][: special.size]
        elif value.dtype.kind == "f":
            places = slice(None, None, 3)
            special[places] = numpy.resize([numpy.inf, -0.0, numpy.nan, -numpy.inf, 0.0], special[places].size)
        return special.reshape(value.shape)

    return _first_with_inputs(case, change)


def with_one_axis_more(case: Case) -> Case | None:
    """Every input has one more axis in front."""
    return _with_inputs(case, lambda value: value[None])


def with_one_axis_more_of_the_first(case: Case) -> Case | None:
    """The first input has one more axis in front."""
    return _first_with_inputs(case, lambda value: value[None])


def with_one_axis_less(case: Case) -> Case | None:
    """Every input is the first along its first axis."""
    return _with_inputs(case, lambda value: value[0] if value.ndim and len(value) else value)


def with_one_axis_less_of_the_first(case: Case) -> Case | None:
    """The first input is the first along its first axis."""
    return _first_with_inputs(case, lambda value: value[0] if value.ndim and len(value) else value)


def empty(case: Case) -> Case | None:
    """The first axis of every input has no index."""
    return _with_inputs(case, lambda value: value[:0] if value.ndim else value)


def empty_first_input(case: Case) -> Case | None:
    """The last axis of the first input has no index."""
    return _first_with_inputs(case, lambda value: value[..., :0] if value.ndim else value)


VARIANTS = (
    *(Transform(f"{number}_versions_back", versions_back(number)) for number in range(1, 7)),
    *(Transform(f"with_other_dtype_{number}", with_other_dtype(number)) for number in range(6)),
    *(Transform(f"without_attribute_{number}", without_attribute(number)) for number in range(4)),
    *(
        Transform(apply.__name__, apply)
        for apply in (
            without_last_input,
            with_axes_counted_otherwise,
            with_special_values,
            with_one_axis_more,
            with_one_axis_more_of_the_first,
            with_one_axis_less,
            with_one_axis_less_of_the_first,
            empty,
            empty_first_input,
        )
    ),
)
