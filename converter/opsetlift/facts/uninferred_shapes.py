"""Shapes of outputs of ai.onnx.ml for which onnx (1.23) has no inference, as their texts give them.

Trees, linear models and support vector machines compute a row for each row of their input, "[N,F]" in the texts of
ai.onnx.ml 1 to 5. The evaluator and onnxruntime compute these shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onnx import NodeProto, TensorProto, TypeProto, helper

from opsetlift.specification.dtypes import shape_of_type
from opsetlift.specification.history import AI_ONNX_ML

Size = int | str | None

_LABELS = {"classlabels_strings": TensorProto.STRING, "classlabels_int64s": TensorProto.INT64}


def with_uninferred_shapes(
    node: NodeProto,
    domain: str,
    inferred: Mapping[str, TypeProto],
    type_of: Callable[[str], TypeProto | None],
) -> Mapping[str, TypeProto]:
    """The types of a node's outputs, with the shapes that onnx leaves open although the texts state them."""
    shapes_of = _SHAPES.get(node.op_type) if domain == AI_ONNX_ML else None
    if shapes_of is None or not node.input:
        return inferred
    given = type_of(node.input[0])
    size = None if given is None else shape_of_type(given)
    if given is None or size is None:
        return inferred
    result = dict(inferred)
    for name, (dtype, shape) in zip(node.output, shapes_of(node, given.tensor_type.elem_type, size), strict=False):
        known = inferred.get(name)
        if name and shape is not None and (known is None or not known.tensor_type.HasField("shape")):
            result[name] = helper.make_tensor_type_proto(dtype, shape)
    return result


_Outputs = Sequence[tuple[int, Sequence[Size] | None]]
"""The dtype and the shape of each output; None where the shape is not known."""


def _as_input(node: NodeProto, dtype: int, shape: Sequence[Size]) -> _Outputs:
    return [(dtype, shape)]


def _scaled(node: NodeProto, dtype: int, shape: Sequence[Size]) -> _Outputs:
    return [(TensorProto.FLOAT, shape)]


def _row_for_each(attribute: str) -> Callable[[NodeProto, int, Sequence[Size]], _Outputs]:
    """A row of as many numbers as an attribute says."""

    def shapes(node: NodeProto, dtype: int, shape: Sequence[Size]) -> _Outputs:
        count = next((one.i for one in node.attribute if one.name == attribute and not one.ref_attr_name), None)
        return [(TensorProto.FLOAT, _rows(shape, count))]

    return shapes


def _one_for_each(node: NodeProto, dtype: int, shape: Sequence[Size]) -> _Outputs:
    return [(TensorProto.FLOAT, _rows(shape, 1))]


def _classes(node: NodeProto, dtype: int, shape: Sequence[Size]) -> _Outputs:
    """Labels and a row of scores; how many scores a row has depends on more than the number of labels."""
    labels = [_LABELS[one.name] for one in node.attribute if one.name in _LABELS]
    named = labels[0] if len(labels) == 1 else None
    rows = None if named is None or len(shape) != 2 else shape[:1]
    return [(named or TensorProto.UNDEFINED, rows), (TensorProto.FLOAT, _rows(shape, None))]


def _rows(shape: Sequence[Size], columns: int | None) -> Sequence[Size] | None:
    return [shape[0], columns] if len(shape) == 2 else None


_SHAPES: Mapping[str, Callable[[NodeProto, int, Sequence[Size]], _Outputs]] = {
    "Imputer": _as_input,
    "LinearClassifier": _classes,
    "LinearRegressor": _row_for_each("targets"),
    "Normalizer": _scaled,
    "SVMClassifier": _classes,
    "SVMRegressor": _one_for_each,
    "Scaler": _scaled,
    "TreeEnsembleClassifier": _classes,
    "TreeEnsembleRegressor": _row_for_each("n_targets"),
}
