"""Shapes of outputs for which onnx (1.23) has no inference, as the texts give them.

Trees, linear models and support vector machines compute a row for each row of their input, "[N,F]" in the texts of
ai.onnx.ml 1 to 5. Experimental operators have no schemas today. The evaluator and onnxruntime compute these shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from onnx import NodeProto, TensorProto, TypeProto, helper

from opsetlift.specification.dtypes import shape_of_type
from opsetlift.specification.experimental import is_experimental
from opsetlift.specification.history import AI_ONNX_ML, Definition

Size = int | str | None

_LABELS = {"classlabels_strings": TensorProto.STRING, "classlabels_int64s": TensorProto.INT64}


def with_uninferred_shapes(
    node: NodeProto,
    definition: Definition,
    inferred: Mapping[str, TypeProto],
    type_of: Callable[[str], TypeProto | None],
) -> Mapping[str, TypeProto]:
    """The types of a node's outputs, with the shapes that onnx leaves open although the texts state them."""
    shapes_of = None
    if definition.schema.domain == AI_ONNX_ML:
        shapes_of = _OF_LEARNT_MODELS.get(node.op_type)
    elif is_experimental(definition):
        shapes_of = _OF_EXPERIMENTS.get(node.op_type)
    if shapes_of is None or not node.input:
        return inferred
    given = type_of(node.input[0])
    size = None if given is None else shape_of_type(given)
    if given is None or size is None:
        return inferred
    dtypes = [one.tensor_type.elem_type if (one := type_of(name)) else 0 for name in node.input]
    result = dict(inferred)
    for name, (dtype, shape) in zip(node.output, shapes_of(node, dtypes, size), strict=False):
        known = inferred.get(name)
        if name and shape is not None and (known is None or not known.tensor_type.HasField("shape")):
            result[name] = helper.make_tensor_type_proto(dtype, shape)
    return result


_Outputs = Sequence[tuple[int, Sequence[Size] | None]]
"""The dtype and the shape of each output; None where the shape is not known."""


_Shapes = Callable[[NodeProto, Sequence[int], Sequence[Size]], _Outputs]
"""Gives them for a node by the dtypes of its inputs and the shape of the first."""


def _as_input(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
    return [(dtypes[0], shape)]


def _scaled(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
    return [(TensorProto.FLOAT, shape)]


def _row_for_each(attribute: str) -> _Shapes:
    """A row of as many numbers as an attribute says."""

    def shapes(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
        count = next((one.i for one in node.attribute if one.name == attribute and not one.ref_attr_name), None)
        return [(TensorProto.FLOAT, _rows(shape, count))]

    return shapes


def _one_for_each(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
    return [(TensorProto.FLOAT, _rows(shape, 1))]


def _classes(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
    """Labels and a row of scores; how many scores a row has depends on more than the number of labels."""
    labels = [_LABELS[one.name] for one in node.attribute if one.name in _LABELS]
    named = labels[0] if len(labels) == 1 else None
    rows = None if named is None or len(shape) != 2 else shape[:1]
    return [(named or TensorProto.UNDEFINED, rows), (TensorProto.FLOAT, _rows(shape, None))]


def _rows(shape: Sequence[Size], columns: int | None) -> Sequence[Size] | None:
    return [shape[0], columns] if len(shape) == 2 else None


def _cropped(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
    """What is left of [N, C, H, W] without its borders: left, top, right, bottom."""
    given = {one.name: list(one.ints) for one in node.attribute}
    border, size = given.get("border", [0] * 4), given.get("scale", [])
    if len(shape) != 4 or len(border) != 4:
        return []
    left, top, right, bottom = border
    cut = zip(shape[2:], (top + bottom, left + right), strict=True)
    kept = [one - less if isinstance(one, int) and one >= less else None for one, less in cut]
    return [(dtypes[0], [*shape[:2], *(size if len(size) == 2 else kept)])]


def _normalized(node: NodeProto, dtypes: Sequence[int], shape: Sequence[Size]) -> _Outputs:
    """Like the input, in the dtype of the scale; and a number for each part that is normalized, in float or double."""
    axis = next((one.i for one in node.attribute if one.name == "axis"), -1)
    if not -len(shape) <= axis < len(shape):
        return []
    axis %= len(shape)
    wide = TensorProto.DOUBLE if dtypes[0] == TensorProto.DOUBLE else TensorProto.FLOAT
    one_for_each = wide, [*shape[:axis], *[1] * (len(shape) - axis)]
    return [(dtypes[1] if len(dtypes) > 1 else 0, shape), one_for_each, one_for_each]


_OF_EXPERIMENTS: Mapping[str, _Shapes] = {
    "Affine": _as_input,
    "Crop": _cropped,
    "ImageScaler": _as_input,
    "LayerNormalization": _normalized,
    "ParametricSoftplus": _as_input,
    "Scale": _as_input,
    "ScaledTanh": _as_input,
    "SimplifiedLayerNormalization": _normalized,
    "ThresholdedRelu": _as_input,
}

_OF_LEARNT_MODELS: Mapping[str, _Shapes] = {
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
