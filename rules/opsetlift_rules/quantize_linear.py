"""Quantization and its inverse.

QuantizeLinear    10: introduced · 13: +axis, a scale for each index · 19: +float16 +bfloat16, +float8, saturate ·
                  21: +blocks, output_dtype, +16 and 4 bits · 23: scales of another dtype than x, precision, +float4 ·
                  24: +float8e8m0 scales · 25: +int2 uint2 · 28: +float6
DequantizeLinear  10: introduced · 13: +axis · 19: +float16 +bfloat16 +float8 · 21: +blocks, +16 and 4 bits ·
                  23: output_dtype, +float4 · 24, 25, 28: as QuantizeLinear
"""

from __future__ import annotations

from collections.abc import Mapping

from opsetlift.rulebook.rule import Fallback, Introduction, Step, in_turn, unchanged
from opsetlift.rulebook.site import Site, dtype_attribute, is_constant, known_shape
from opsetlift.specification.wider_dtypes import cast_takes
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import computes_a_vector_as_a_row
from opsetlift_rules.helpers.quantized_arithmetic import cast, dequantized, quantized

_WIDE = ("int16", "uint16", "int4", "uint4")
_BYTES_AND_WIDE = ("int8", "uint8", *_WIDE)


def _result(site: Site) -> str:
    """The dtype of the result of QuantizeLinear."""
    number = site.attribute("output_dtype", 0)
    if number:
        return dtype_attribute(site, "output_dtype")
    return site.dtype(2) if site.input(2) else "uint8"


def _precision(site: Site) -> str:
    """The dtype of the division: `precision`, else that of the scale, as runtimes did before 23 said so."""
    number = site.attribute("precision", 0)
    return dtype_attribute(site, "precision") if number else site.dtype(1)


def replace_precision_with_casts(site: Site) -> None:
    """Replace `precision` of QuantizeLinear-23 with casts: in 21 x and scale have the dtype of the division."""
    precision = _precision(site)
    if precision == "float":
        for position in (0, 1):
            if site.dtype(position) != "float":
                site.set_input(position, cast(site, site.op, site.input(position), "float"))
    elif {site.dtype(0), site.dtype(1)} != {precision}:
        quantized(site, _result(site), precision)
        return
    site.remove_attribute("precision")


def decompose_blocks_and_wide_results(site: Site) -> None:
    """Decompose QuantizeLinear-21 with blocks or results of 16 or 4 bits, which QuantizeLinear-19 lacks.

    An output_dtype becomes the dtype of a zero point.
    """
    to = _result(site)
    if site.attribute("block_size", 0) or to in _WIDE:
        quantized(site, to, _precision(site))
        return
    site.remove_attribute("block_size")
    site.remove_attribute("output_dtype")
    if not site.input(2) and to != "uint8":
        _write_zero_point(site, to)


def _write_zero_point(site: Site, dtype: str) -> None:
    """Write down that the zero points are 0."""
    scale, op = known_shape(site, 1), site.op
    shape = op.Shape(site.input(1)) if scale is None else site.constant(scale, "int64", "shape")
    site.set_input(2, site.folded(lambda: op.Cast(op.ConstantOfShape(shape), to=dtype), "zero_point"))


def divide_narrow_floats_first(site: Site) -> None:
    """Divide narrow floats before QuantizeLinear-13, whose scale is float.

    A quotient that is rounded to its narrower dtype is quantized with the scale 1.
    """
    to, precision = _result(site), _precision(site)
    if precision == "float" or to.startswith("float8"):
        site.remove_attribute("saturate")
        return
    if precision == "int32" or site.rank(
        1, because="the rank distinguishes one scale for all elements from one for each index of an axis"
    ):
        quantized(site, to, precision)
        return
    op = site.op
    x, scale = (cast(site, op, site.input(position), "float") for position in (0, 1))
    quotient = op.Cast(op.Cast(op.Div(x, scale), to=precision), to="float")
    site.replace(op.QuantizeLinear(quotient, site.constant(1, "float", "one"), *site.inputs[2:]))


def convert_vectors_to_scalars(site: Site) -> None:
    """Squeeze scale and zero point [1] of version 10 to scalars: in 13 a vector belongs to an axis.

    Exporters write scalars as vectors, too.
    """
    for position in (1, 2):
        name = site.input(position)
        if name and site.shape(name) is not None and site.rank(name) == 1:
            site.set_input(position, _number(site, name))


def _number(site: Site, name: str) -> str:
    op = site.op_at(opsets.AXES_AS_INPUTS)
    return site.folded(lambda: op.Squeeze(name, site.constant([0], "int64")))


def decompose_per_axis_scales(site: Site) -> None:
    """Decompose QuantizeLinear-13 or DequantizeLinear-13 with a scale for each index: version 10 has one scale."""
    if site.rank(1, because="below opset 13 the scale is a scalar") == 0:
        site.remove_attribute("axis")
        return
    if known_shape(site, 1) == [1] and len(site.shape(0) or [0, 0]) <= 1:
        site.remove_attribute("axis")
        convert_vectors_to_scalars(site)
    elif site.node.op_type == "QuantizeLinear":
        decompose_quantization(site)
    else:
        decompose_dequantization(site)


def decompose_quantization(site: Site) -> None:
    """Replace QuantizeLinear with Div, Round, Add and Clip.

    x [*shape] of floats or int32; the scale is a scalar, has an element for each index of the axis or, from 21 on, for
    each block along it. The result is [*shape] in the dtype of the zero point, or output_dtype.
    """
    quantized(site, _result(site), _precision(site))


def _dequantized(site: Site) -> str:
    """The dtype of the result of DequantizeLinear."""
    number = site.attribute("output_dtype", 0)
    return dtype_attribute(site, "output_dtype") if number else site.dtype(1)


def dequantize_constants_of_new_types(site: Site) -> None:
    """Dequantize constants of a type that the older version does not take in a type that holds their values."""
    lost = [position for position in (0, 1) if not cast_takes(site.dtype(position), site.opset)]
    if lost and all(is_constant(site, position) for position in lost):
        dequantized(site, _dequantized(site))


def replace_output_dtype_with_a_cast(site: Site) -> None:
    """Replace output_dtype of DequantizeLinear-23 with a Cast: version 21 gives the dtype of the scale.

    The product is computed in float and rounded once.
    """
    to = _dequantized(site)
    site.remove_attribute("output_dtype")
    if to == site.dtype(1):
        return
    scale = cast(site, site.op, site.input(1), "float")
    if to == "float":
        site.set_input(1, scale)
        return
    product = site.op.copy(site.input(0), scale, *site.inputs[2:])
    site.replace(site.op.Cast(product, to=to))


def decompose_blocks_and_wide_inputs(site: Site) -> None:
    """Decompose DequantizeLinear-21 with blocks or inputs of 16 or 4 bits, which DequantizeLinear-19 lacks."""
    if site.attribute("block_size", 0) or site.dtype(0) in _WIDE:
        decompose_dequantization(site)
    else:
        site.remove_attribute("block_size")


def cast_narrow_scales_to_float(site: Site) -> None:
    """Cast the scale of DequantizeLinear-19 to float, the only one of version 13; cast the product back."""
    dtype = site.dtype(1)
    if dtype != "float":
        op = site.op
        product = site.op.copy(site.input(0), cast(site, op, site.input(1), "float"), *site.inputs[2:])
        site.replace(op.Cast(product, to=dtype))


def decompose_dequantization(site: Site) -> None:
    """Replace DequantizeLinear with Sub and Mul.

    x [*shape] of integers or narrow floats; the scale is laid out as for QuantizeLinear. The result is [*shape] in the
    dtype of the scale, or output_dtype.
    """
    dequantized(site, _dequantized(site))


def quantize_in_rows(site: Site) -> None:
    """Decompose QuantizeLinear; a vector becomes a matrix of one row before, as some runtimes take it for a column.

    A zero point that only output_dtype implies is written down, as some take it for one of uint8.
    """
    if not site.input(2) and site.attribute("output_dtype", 0) and _result(site) in _BYTES_AND_WIDE:
        _write_zero_point(site, _result(site))
        site.remove_attribute("output_dtype")
    elif site.attribute("block_size", 0) or not computes_a_vector_as_a_row(site, **_second_axis(site)):
        decompose_quantization(site)


def dequantize_in_rows(site: Site) -> None:
    """Decompose DequantizeLinear, likewise; a zero point that is left out is written down."""
    if not site.input(2) and site.dtype(0) in _BYTES_AND_WIDE:
        _write_zero_point(site, site.dtype(0))
    elif site.attribute("block_size", 0) or not computes_a_vector_as_a_row(site, **_second_axis(site)):
        decompose_dequantization(site)


def _second_axis(site: Site) -> Mapping[str, int]:
    return {"axis": 1} if site.opset >= opsets.SCALES_ALONG_AN_AXIS else {}


_narrow_scales = in_turn(dequantize_constants_of_new_types, cast_narrow_scales_to_float)
_output_dtype = in_turn(dequantize_constants_of_new_types, replace_output_dtype_with_a_cast)

_AXIS = "13 adds a scale for each index of an axis; the axis has no effect on a single scale"
_FLOATS = "19 adds other floats; it divides in the dtype of the scale, which was float"
_BLOCKS = "21 derives the granularity from the rank of the scale; both earlier granularities mean the same"
_PRECISION = "23 says that the scale's dtype is the precision, as all implementations did where both dtypes were equal"
_OUTPUT = "23 adds output_dtype, which is the scale's dtype by default, as before"
_INFINITIES = (
    "24 adds float8e8m0 scales; infinities saturate to the largest value of the FNUZ types too, as "
    "Cast-24 says and onnxruntime and ONNX's reference always did"
)
_BITS = "25 adds the ranges of the new dtypes"


_SATURATE = (
    "28 says that saturate has no effect on 4-bit and 6-bit dtypes; of those 25 has float4, which always saturates"
)

STEPS = [
    Step("QuantizeLinear", 10, 13, up=convert_vectors_to_scalars, down=decompose_per_axis_scales, because=_AXIS),
    Step("QuantizeLinear", 13, 19, up=unchanged, down=divide_narrow_floats_first, because=_FLOATS),
    Step("QuantizeLinear", 19, 21, up=unchanged, down=decompose_blocks_and_wide_results, because=_BLOCKS),
    Step("QuantizeLinear", 21, 23, up=unchanged, down=replace_precision_with_casts, because=_PRECISION),
    Step("QuantizeLinear", 23, 24, up=unchanged, down=unchanged, because=_INFINITIES),
    Step("QuantizeLinear", 24, 25, up=unchanged, down=unchanged, because=_BITS),
    Step("QuantizeLinear", 25, 28, up=unchanged, down=unchanged, because=_SATURATE),
    Step("DequantizeLinear", 10, 13, up=convert_vectors_to_scalars, down=decompose_per_axis_scales, because=_AXIS),
    Step("DequantizeLinear", 13, 19, up=unchanged, down=_narrow_scales, because=_FLOATS),
    Step("DequantizeLinear", 19, 21, up=unchanged, down=decompose_blocks_and_wide_inputs, because=_BLOCKS),
    Step("DequantizeLinear", 21, 23, up=unchanged, down=_output_dtype, because=_OUTPUT),
    Step("DequantizeLinear", 23, 24, up=unchanged, down=dequantize_constants_of_new_types),
    Step("DequantizeLinear", 24, 25, up=unchanged, down=dequantize_constants_of_new_types),
    Step("DequantizeLinear", 25, 28, up=unchanged, down=dequantize_constants_of_new_types),
]

INTRODUCTIONS = [
    Introduction("QuantizeLinear", 10, down=decompose_quantization),
    Introduction("DequantizeLinear", 10, down=decompose_dequantization),
]

FALLBACKS = [
    Fallback("QuantizeLinear", quantize_in_rows, otherwise=decompose_quantization),
    Fallback("DequantizeLinear", dequantize_in_rows, otherwise=decompose_dequantization),
]
