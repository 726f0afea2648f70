"""Operators of ai.onnx without a version: onnx's experimental ones before opset 10 (one before 9), and onnxruntime's.

What is meant is what onnx's page on managing experimental operators says to write instead, with the texts of the time.
onnxruntime has LayerNormalization and SimplifiedLayerNormalization at every opset, and its optimizers write them.

Affine, ConstantFill, Crop, DynamicSlice, GivenTensorFill, ImageScaler, ParametricSoftplus, Scale, ScaledTanh
ThresholdedRelu                          10: an operator like others
MeanVarianceNormalization                9: an operator like others, with other attributes
ATen, GRUUnit                            what they compute was never written down
LayerNormalization                       17: an operator like others
SimplifiedLayerNormalization             23: RMSNormalization
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import ExperimentalOperator, refused, rounding
from opsetlift.rulebook.site import Operators, Site, dtype_attribute, has_attribute, static_shape
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END

_STEPS_ROUND = "each operator of the formula rounds; a kernel may round only once"


def replace_with_mul_and_add(site: Site) -> None:
    """Replace Affine with alpha * x + beta; float16 computes in float, the dtype of the attributes."""
    op, dtype = site.op_at(opsets.BFLOAT16), _computed_in(site)
    scaled = _times(site, op, _wide(site, op, dtype), site.attribute("alpha", 1.0), dtype)
    beta = site.attribute("beta", 0.0)
    # -0 + 0 is 0, so that not even a beta of 0 can be left out.
    _give(site, op, op.Add(scaled, site.constant(beta, dtype, "beta")), dtype)


def replace_with_mul(site: Site) -> None:
    """Replace Scale with scale * x; float16 computes in float, the dtype of the attribute."""
    op, dtype = site.op_at(opsets.BFLOAT16), _computed_in(site)
    _give(site, op, op.Mul(_wide(site, op, dtype), site.constant(site.attribute("scale", 1.0), dtype, "scale")), dtype)


def scale_and_shift_channels(site: Site) -> None:
    """Replace ImageScaler of [N, C, H, W] with scale * x + bias, which has one number for each channel."""
    op, dtype = site.op_at(opsets.BFLOAT16), _computed_in(site)
    scaled = op.Mul(_wide(site, op, dtype), site.constant(site.attribute("scale", 1.0), dtype, "scale"))
    if bias := site.attribute("bias", []):
        column = numpy.array(bias, numpy_dtype(dtype))[None, :, None, None]
        scaled = op.Add(scaled, site.constant(column, hint="bias"))
    _give(site, op, scaled, dtype)


def decompose_scaled_tanh(site: Site) -> None:
    """Replace ScaledTanh with alpha * Tanh(beta * x)."""
    _around(site, "Tanh")


def decompose_parametric_softplus(site: Site) -> None:
    """Replace ParametricSoftplus with alpha * Softplus(beta * x)."""
    _around(site, "Softplus")


def _around(site: Site, operator: str) -> None:
    op, dtype = site.op_at(opsets.BFLOAT16), _computed_in(site)
    factors = []
    for name in ("alpha", "beta"):
        if not has_attribute(site, name):
            site.refuse(Why.NO_EQUIVALENT, f"{name} is not set, and the specification gives no default")
        factors.append(site.attribute(name))
    inner = _times(site, op, _wide(site, op, dtype), factors[1], dtype)
    _give(site, op, _times(site, op, getattr(op, operator)(inner), factors[0], dtype), dtype)


def _computed_in(site: Site) -> str:
    """The dtype of computation, which holds the attributes: floats."""
    dtype = site.dtype(0)
    return "float" if dtype == "float16" else dtype


def _wide(site: Site, op: Operators, dtype: str) -> str:
    return site.input(0) if site.dtype(0) == dtype else str(op.Cast(site.input(0), to=dtype))


def _times(site: Site, op: Operators, value: str, factor: float, dtype: str) -> str:
    return value if factor == 1 else str(op.Mul(value, site.constant(factor, dtype, "factor")))


def _give(site: Site, op: Operators, value: str, dtype: str) -> None:
    if site.dtype(0) != dtype:
        site.replace(op.Cast(value, to=site.dtype(0)))
    elif value == site.input(0):
        site.replace(op.Identity(value))
    else:
        site.replace(value)


def replace_with_slice_without_borders(site: Site) -> None:
    """Replace Crop of [N, C, H, W] with Slice: `border` is cut off, or `scale` is the size that is kept."""
    left, top, right, bottom = site.attribute("border", [0, 0, 0, 0])
    size = site.attribute("scale", [])
    ends = [top + size[0], left + size[1]] if size else [-bottom or END, -right or END]
    bounds = [[top, left], ends, [2, 3]]
    site.replace(
        site.op_at(opsets.BFLOAT16).Slice(site.input(0), *(site.constant(bound, "int64", "bounds") for bound in bounds))
    )


def replace_with_slice(site: Site) -> None:
    """Rename DynamicSlice to Slice-10, which has the same inputs."""
    site.become("Slice")


def replace_with_standard_thresholded_relu(site: Site) -> None:
    """Replace the experimental ThresholdedRelu with ThresholdedRelu-10, which has the same attribute."""
    site.become("ThresholdedRelu")


def replace_with_standard_layer_normalization(site: Site) -> None:
    """Take onnxruntime's LayerNormalization for LayerNormalization-17, which computes the same of one dtype."""
    _refuse_other_dtypes(site)
    site.become("LayerNormalization")


def replace_with_rms_normalization(site: Site) -> None:
    """Replace onnxruntime's SimplifiedLayerNormalization with RMSNormalization-23, which has its first output."""
    _refuse_other_dtypes(site)
    if site.is_read(1):
        site.refuse(Why.NO_EQUIVALENT, "no operator of ONNX gives the reciprocal of the root as well")
    op = site.op
    attributes = {name: site.attribute(name) for name in ("axis", "epsilon", "stash_type") if has_attribute(site, name)}
    site.replace(op.RMSNormalization(site.input(0), site.input(1), **attributes))


def _refuse_other_dtypes(site: Site) -> None:
    """Where the dtypes differ, and of doubles, ONNX's text rounds on the way, and onnxruntime does not."""
    dtype, scale = site.dtype(0), site.dtype(1)
    if dtype != scale or dtype == "double":
        site.refuse(
            Why.NO_EQUIVALENT,
            f"onnxruntime's {site.transition.operator} of {dtype} with a scale of {scale} rounds otherwise than ONNX's",
        )


def replace_with_constant_of_shape(site: Site) -> None:
    """Replace ConstantFill with ConstantOfShape, whose shape is an attribute, an input, or that of the input."""
    dtype = dtype_attribute(site, "dtype", "float")
    value = numpy.array([site.attribute("value", 0.0)], numpy.float32).astype(numpy_dtype(dtype))
    op, extra = site.op_at(opsets.BFLOAT16), site.attribute("extra_shape", [])
    if not site.input(0):
        shape = site.constant(site.attribute("shape", []), "int64", "shape")
    else:
        shape = op.Cast(site.input(0), to="int64") if site.attribute("input_as_shape", 0) else op.Shape(site.input(0))
        if extra:
            shape = op.Concat(shape, site.constant(extra, "int64", "extra_shape"), axis=0)
    site.replace(op.ConstantOfShape(shape, value=value))


def replace_with_a_constant(site: Site) -> None:
    """Replace GivenTensorFill with a constant of its values."""
    values = numpy.array(site.attribute("values", []), numpy.float32)
    shape = _known_shape(site)
    if values.size != math.prod(shape):
        site.refuse(Why.INVALID_MODEL, f"{values.size} values do not fill the shape {shape}")
    site.replace(site.constant(values.reshape(shape), hint="values"))


def _known_shape(site: Site) -> list[int]:
    if not site.input(0):
        return [int(size) for size in site.attribute("shape", [])]
    extra = site.attribute("extra_shape", [])
    if not site.attribute("input_as_shape", 0):
        return [*static_shape(site, 0, because="the constant takes this shape"), *extra]
    shape = site.constant_value(0)
    if shape is None:
        site.refuse(
            Why.INPUT_NOT_CONSTANT, f"GivenTensorFill needs a constant shape; {site.input(0)!r} is computed at run time"
        )
    return [*map(int, shape.tolist()), *extra]


_AXES_ARE_OPEN = refused(
    Why.NO_EQUIVALENT,
    (
        "MeanVarianceNormalization was experimental before opset 9, and no specification defines its axes or "
        "its protection against division by zero"
    ),
)
_NAMES_OF_PYTORCH = refused(
    Why.NO_EQUIVALENT,
    (
        "ATen calls a function of PyTorch by name, which ONNX does not define: export the model again "
        "without the ATen fallback"
    ),
)
_GATES_ARE_OPEN = refused(
    Why.NO_EQUIVALENT,
    "GRUUnit was an experimental operator of Caffe2, and no specification defines the order of its gates",
)

_SCALED_SOFTPLUS = rounding(decompose_parametric_softplus, ulps=4, because=_STEPS_ROUND)
_SCALED_TANH = rounding(decompose_scaled_tanh, ulps=4, because=_STEPS_ROUND)

EXPERIMENTAL_OPERATORS = [
    ExperimentalOperator("Affine", lowered=replace_with_mul_and_add),
    ExperimentalOperator("ConstantFill", lowered=replace_with_constant_of_shape),
    ExperimentalOperator("Crop", lowered=replace_with_slice_without_borders),
    ExperimentalOperator("DynamicSlice", lowered=replace_with_slice),
    ExperimentalOperator("GivenTensorFill", lowered=replace_with_a_constant),
    ExperimentalOperator("ImageScaler", lowered=scale_and_shift_channels),
    ExperimentalOperator("ParametricSoftplus", lowered=_SCALED_SOFTPLUS),
    ExperimentalOperator("Scale", lowered=replace_with_mul),
    ExperimentalOperator("ScaledTanh", lowered=_SCALED_TANH),
    ExperimentalOperator("ThresholdedRelu", lowered=replace_with_standard_thresholded_relu),
    ExperimentalOperator("LayerNormalization", until=17, lowered=replace_with_standard_layer_normalization),
    ExperimentalOperator("SimplifiedLayerNormalization", until=23, lowered=replace_with_rms_normalization),
    ExperimentalOperator("MeanVarianceNormalization", until=9, lowered=_AXES_ARE_OPEN),
    ExperimentalOperator("ATen", lowered=_NAMES_OF_PYTORCH),
    ExperimentalOperator("GRUUnit", lowered=_GATES_ARE_OPEN),
]
