"""Activations that are as old as ONNX.

Relu                           6: -consumed_inputs · 13: +bfloat16 · 14: +the signed integers
LeakyRelu                      6: -consumed_inputs · 16: +bfloat16
Elu, HardSigmoid               6: -consumed_inputs · 22: +bfloat16
Selu                           6: -consumed_inputs, more digits in the defaults · 22: +bfloat16
Sigmoid, Tanh                  6: -consumed_inputs · 13: +bfloat16
Softplus, Softsign             22: +bfloat16
PRelu                          6: -consumed_inputs · 7: the slope is broadcast as numpy does · 9: +integers ·
                               16: +bfloat16
"""

from __future__ import annotations

import numpy

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Site, has_attribute, widen_to_kernel
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.broadcasting import (
    compute_a_vector_as_a_row,
    compute_side_by_side,
    have_one_shape,
    repeated,
)
from opsetlift_rules.helpers.consumed_inputs import remove_consumed_inputs
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS, FLOATING
from opsetlift_rules.helpers.images import as_image
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round
from opsetlift_rules.helpers.separating import put_sums_before

_SELU_DEFAULTS = {
    1: {"alpha": 1.6732, "gamma": 1.0507},
    6: {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
}


def write_defaults_of_version_1(site: Site) -> None:
    """Write the default alpha and gamma of Selu-1, which have four digits only, for Selu-6."""
    site.remove_attribute("consumed_inputs")
    _write_defaults(site, 1)


def write_defaults_of_version_6(site: Site) -> None:
    """Write the default alpha and gamma of Selu-6 for Selu-1, whose own defaults are rounded to four digits."""
    _write_defaults(site, 6)


def _write_defaults(site: Site, version: int) -> None:
    for name, value in _SELU_DEFAULTS[version].items():
        if not has_attribute(site, name):
            site.set_attribute(name, value)


def replace_integer_relu_with_max(site: Site) -> None:
    """Replace Relu-14 of integers, which Relu-13 does not take, with Max(x, 0)."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        site.replace(site.op.Max(site.input(0), site.constant(0, dtype, "zero")))


def replace_relu_with_max(site: Site) -> None:
    """Replace Relu with Max, which has kernels for dtypes that Relu lacks in old runtimes."""
    dtype = site.dtype(0)
    if site.computes("Max", T=dtype):
        site.replace(site.op_at(opsets.INTEGERS_IN_MIN_AND_MAX).Max(site.input(0), site.constant(0, dtype, "zero")))
    else:
        widen_to_kernel(site)


def separate_from_the_node_before(site: Site) -> None:
    """Put a Sum of one term before an activation, so that no optimiser merges it with the node before."""
    dtype = site.dtype(0)
    if site.computes(site.node.op_type, T=dtype) and dtype in FIRST_FLOATS:
        put_sums_before(site)
    else:
        widen_to_kernel(site)


def bound_or_separate_from_the_node_before(site: Site) -> None:
    """Keep numbers whose hyperbolic tangent is 1 or -1 small, for runtimes that overflow; no optimiser merges the Clip.

    A Sum of one term keeps dtypes apart that Clip does not take.
    """
    dtype = site.dtype(0)
    if dtype in _SHORT_FLOATS and all(site.computes(one, T=dtype) for one in ("Tanh", "Clip")):
        op = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE)
        site.set_input(0, op.Clip(site.input(0), min=-_TANH_IS_1, max=_TANH_IS_1))
    else:
        separate_from_the_node_before(site)


_SHORT_FLOATS = ("float16", "float")
_TANH_IS_1 = 20.0
"""The hyperbolic tangent of it is 1 in double and narrower dtypes."""


def bound_softplus(site: Site) -> None:
    """Compute Softplus of small numbers, for runtimes that overflow; it is the number itself from there on."""
    if site.dtype(0) not in FIRST_FLOATS:
        return
    site.rounds()
    op, value = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE), site.input(0)
    site.replace(site.op_at(opsets.BFLOAT16).Max(site.op.copy(op.Clip(value, max=_SOFTPLUS_IS_X)), value))


_SOFTPLUS_IS_X = 40.0
"""Softplus of what is not less is the number itself, in double and narrower dtypes."""


def add_dimensions_to_channel_slopes(site: Site) -> None:
    """Add dimensions of size 1 behind the slopes [C] of PRelu-6: PRelu-7 broadcasts them to [N, C, *spatial]."""
    slope = site.shape(1)
    if slope == [1]:
        return
    if site.rank(1, because="below opset 7 a vector of slopes has one slope for each channel") == 1:
        behind = site.rank(0, because="the slopes need a dimension of size 1 for each spatial axis") - 2
        if behind > 0:
            site.set_input(
                1,
                site.op_at(opsets.AXES_AS_INPUTS).Unsqueeze(
                    site.input(1), site.constant(range(1, 1 + behind), "int64")
                ),
            )


def fit_slopes_to_old_broadcasting(site: Site) -> None:
    """Give the slopes of PRelu-7 one of the shapes that PRelu-6 takes.

    These are one element, [C], and the shape of the input. Other slopes are repeated to the shape of the input.
    """
    slope = site.shape(1)
    if (slope is not None and all(dim == 1 for dim in slope)) or have_one_shape([site.shape(0), slope]):
        return
    rank = site.rank(0, because="below opset 7 there is one slope for each channel or for each element")
    op = site.op_at(opsets.AXES_AS_INPUTS)
    ones = _dimensions_beside_channels(site, rank)
    if ones is not None:
        if ones:
            site.set_input(1, op.Squeeze(site.input(1), site.constant(ones, "int64")))
        return
    site.set_input(1, repeated(site, op, site.input(1), [site.input(0)]))


def _dimensions_beside_channels(site: Site, rank: int) -> list[int] | None:
    """The dimensions of size 1 of the slope beside its channels; None where it has other dimensions."""
    slope, channels = site.shape(1), (site.shape(0) or [])[1:2]
    offset = 1 - (rank - len(slope or []))
    if slope is None or not 0 <= offset < len(slope) or [slope[offset]] != channels or channels == [None]:
        return None
    ones = [position for position in range(len(slope)) if position != offset]
    return ones if all(slope[position] == 1 for position in ones) else None


def compute_integer_prelu_by_sign(site: Site) -> None:
    """Replace PRelu-9 of integers, which PRelu-7 does not take, with max(x, 0) + slope * min(x, 0)."""
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    if dtype.startswith("uint"):
        site.replace(op.Identity(value))
        return
    zero = site.constant(0, dtype, "zero")
    site.replace(op.Add(op.Max(value, zero), op.Mul(site.input(1), op.Min(value, zero))))


def multiply_the_negative_part(site: Site) -> None:
    """Replace PRelu with relu(x) - slope * relu(-x), for runtimes that take slopes of channels only."""
    slope = site.constant_value(1)
    if site.dtype(0) != "float" or slope is None or not numpy.isfinite(slope).all():
        return
    site.rounds()
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    site.replace(op.Sub(op.Relu(value), op.Mul(op.Relu(op.Neg(value)), site.input(1))))


def apply_slopes_to_images(site: Site) -> None:
    """Give sequences, tensors of rank 3, a last axis of size 1, for runtimes whose PRelu takes images only.

    X [N, C, L]; the slope is constant. Slopes of the last axis get the axes before it first, as some runtimes take them
    for those of channels.
    """
    slope, rank = site.constant_value(1), len(site.shape(0) or [])
    if len(site.shape(1) or []) == 1 and rank >= _RANK_OF_SEQUENCES:
        op, axes = site.op_at(opsets.AXES_AS_INPUTS), site.constant(range(rank - 1), "int64")
        slopes = site.folded(lambda: str(op.Unsqueeze(site.input(1), axes)), "slopes")
        site.replace(site.op.copy(site.input(0), slopes))
        return
    if slope is None or rank != _RANK_OF_SEQUENCES:
        return
    value, back = as_image(site, site.op_at(opsets.AXES_AS_INPUTS), site.input(0))
    slopes = site.constant(slope[..., None] if slope.ndim else slope, hint="slopes")
    site.replace(back(str(site.op.PRelu(value, slopes))))


_RANK_OF_SEQUENCES = 3


def clip_a_straight_line(site: Site) -> None:
    """Write HardSigmoid as alpha * x + beta between 0 and 1, for runtimes that take an alpha or beta of 0 for none."""
    op, dtype = site.op_at(opsets.AXES_OF_SUMS_AS_ATTRIBUTE), site.dtype(0)
    if dtype not in FIRST_FLOATS:
        return
    slope, offset = (
        site.constant(site.attribute(name, default), dtype, name) for name, default in _HARD_SIGMOID_DEFAULTS.items()
    )
    site.replace(op.Clip(op.Add(op.Mul(site.input(0), slope), offset), min=0.0, max=1.0))


_HARD_SIGMOID_DEFAULTS = {"alpha": 0.2, "beta": 0.5}


def multiply_by_slopes(site: Site) -> None:
    """Write LeakyRelu as PRelu, for runtimes that take few slopes."""
    slope = site.constant([site.attribute("alpha", _LEAKY_RELU_SLOPE)], site.dtype(0), "slope")
    site.replace(site.op_at(opsets.BROADCASTING).PRelu(site.input(0), slope))


_LEAKY_RELU_SLOPE = 0.01


def divide_by_one_more_than_the_magnitude(site: Site) -> None:
    """Write Softsign as x / (1 + |x|)."""
    op, value = site.op_at(opsets.BFLOAT16), site.input(0)
    site.replace(op.Div(value, op.Add(site.constant(1, site.dtype(0), "one"), op.Abs(value))))


STEPS = [
    Step("Relu", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Relu", 13, 14, up=unchanged, down=replace_integer_relu_with_max),
    Step("LeakyRelu", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("LeakyRelu", 6, 16, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Elu", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Elu", 6, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("HardSigmoid", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("HardSigmoid", 6, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Selu", 1, 6, up=write_defaults_of_version_1, down=write_defaults_of_version_6),
    Step("Selu", 6, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Sigmoid", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Tanh", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("Softplus", 1, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("Softsign", 1, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("PRelu", 1, 6, up=remove_consumed_inputs, down=unchanged),
    Step("PRelu", 6, 7, up=add_dimensions_to_channel_slopes, down=fit_slopes_to_old_broadcasting),
    Step("PRelu", 7, 9, up=unchanged, down=compute_integer_prelu_by_sign),
    Step("PRelu", 9, 16, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

_BOUNDED_SOFTPLUS = rounding(
    bound_softplus,
    ulps=1,
    because="a kernel may give a number below x, which is not taken then",
)

_BY_PARTS = rounding(
    multiply_the_negative_part,
    ulps=1,
    because="the product of a negative zero and a slope is a negative zero, and the difference is none",
)

FALLBACKS = [
    Fallback("Elu", compute_a_vector_as_a_row),
    Fallback("Selu", compute_a_vector_as_a_row),
    Fallback("HardSigmoid", clip_a_straight_line),
    Fallback("LeakyRelu", multiply_by_slopes),
    Fallback("Softsign", divide_by_one_more_than_the_magnitude),
    Fallback("PRelu", apply_slopes_to_images, otherwise=_BY_PARTS),
    Fallback("Relu", replace_relu_with_max, otherwise=compute_side_by_side),
    Fallback("Sigmoid", separate_from_the_node_before, otherwise=compute_side_by_side),
    Fallback("Softplus", compute_a_vector_as_a_row, otherwise=_BOUNDED_SOFTPLUS),
    Fallback("Tanh", bound_or_separate_from_the_node_before, otherwise=compute_side_by_side),
]
