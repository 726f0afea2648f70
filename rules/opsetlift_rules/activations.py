"""Activations that are as old as ONNX.

Relu                           6: consumed_inputs goes · 13: +bfloat16 · 14: +the signed integers
LeakyRelu                      6: consumed_inputs goes · 16: +bfloat16
Elu, HardSigmoid               6: consumed_inputs goes · 22: +bfloat16
Selu                           6: consumed_inputs goes, more digits in the defaults · 22: +bfloat16
Sigmoid, Tanh                  6: consumed_inputs goes · 13: +bfloat16
Softplus, Softsign             22: +bfloat16
PRelu                          6: consumed_inputs goes · 7: the slope is broadcast as numpy does · 9: +integers ·
                               16: +bfloat16
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Site
from opsetlift_rules.helpers.broadcasting import have_one_shape, repeated
from opsetlift_rules.helpers.consumed_inputs import consumed_inputs_go
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, bfloat16_computes_in_float

_SELU_DEFAULTS = {
    1: {"alpha": 1.6732, "gamma": 1.0507},
    6: {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
}


def old_defaults_are_written_down(site: Site) -> None:
    """Version 1 rounds the coefficients to four digits."""
    site.remove_attribute("consumed_inputs")
    _write_defaults(site, 1)


def new_defaults_are_written_down(site: Site) -> None:
    _write_defaults(site, 6)


def _write_defaults(site: Site, version: int) -> None:
    for name, value in _SELU_DEFAULTS[version].items():
        if not site.has_attribute(name):
            site.set_attribute(name, value)


def integers_are_the_greater_of_zero(site: Site) -> None:
    """Max takes integers before Relu does."""
    dtype = site.dtype(0)
    if dtype not in FLOATING:
        site.replace(site.op.Max(site.input(0), site.scalar(0, dtype, "zero")))


def numbers_are_the_greater_of_zero(site: Site) -> None:
    """Max has kernels for dtypes that Relu lacks in old runtimes."""
    dtype = site.dtype(0)
    if site.computes("Max", T=dtype):
        site.replace(site.op_at(13).Max(site.input(0), site.scalar(0, dtype, "zero")))
    else:
        site.carry_to_kernel()


def slopes_of_channels_get_dimensions_behind(site: Site) -> None:
    """Below 7 a vector holds a slope for each channel, which is dimension 1."""
    slope = site.shape(1)
    if slope == [1]:
        return
    if site.rank(1, because="a vector of slopes belongs to the channels") == 1:
        behind = site.rank(0, because="the dimensions behind the channels are counted") - 2
        if behind > 0:
            site.set_input(1, site.op_at(13).Unsqueeze(site.input(1), site.constant_int64(range(1, 1 + behind))))


def slopes_come_to_one_of_the_old_shapes(site: Site) -> None:
    """The inverse. What is neither one slope, nor one per channel, nor one per element, is repeated to the latter."""
    slope = site.shape(1)
    if (slope is not None and all(dim == 1 for dim in slope)) or have_one_shape([site.shape(0), slope]):
        return
    rank = site.rank(0, because="below opset 7 slopes belong to channels or to elements")
    op = site.op_at(13)
    ones = _dimensions_beside_channels(site, rank)
    if ones is not None:
        if ones:
            site.set_input(1, op.Squeeze(site.input(1), site.constant_int64(ones)))
        return
    site.set_input(1, repeated(site, op, site.input(1), [site.input(0)]))


def _dimensions_beside_channels(site: Site, rank: int) -> list[int] | None:
    """The dimensions of the slope, all 1, beside the one of the channels; None where it has others."""
    slope, channels = site.shape(1), (site.shape(0) or [])[1:2]
    offset = 1 - (rank - len(slope or []))
    if slope is None or not 0 <= offset < len(slope) or [slope[offset]] != channels or channels == [None]:
        return None
    ones = [position for position in range(len(slope)) if position != offset]
    return ones if all(slope[position] == 1 for position in ones) else None


def integers_are_added_by_sign(site: Site) -> None:
    """The positive part, and the negative one times the slope: one of both is 0."""
    dtype = site.dtype(0)
    if dtype in FLOATING:
        return
    op, value = site.op_at(13), site.input(0)
    if dtype.startswith("uint"):
        site.replace(op.Identity(value))
        return
    zero = site.scalar(0, dtype, "zero")
    site.replace(op.Add(op.Max(value, zero), op.Mul(site.input(1), op.Min(value, zero))))


STEPS = [
    Step("Relu", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Relu", 13, 14, up=unchanged, down=integers_are_the_greater_of_zero),
    Step("LeakyRelu", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("LeakyRelu", 6, 16, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
    Step("Elu", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Elu", 6, 22, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
    Step("HardSigmoid", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("HardSigmoid", 6, 22, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
    Step("Selu", 1, 6, up=old_defaults_are_written_down, down=new_defaults_are_written_down),
    Step("Selu", 6, 22, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
    Step("Sigmoid", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Tanh", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("Softplus", 1, 22, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
    Step("Softsign", 1, 22, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
    Step("PRelu", 1, 6, up=consumed_inputs_go, down=unchanged),
    Step("PRelu", 6, 7, up=slopes_of_channels_get_dimensions_behind, down=slopes_come_to_one_of_the_old_shapes),
    Step("PRelu", 7, 9, up=unchanged, down=integers_are_added_by_sign),
    Step("PRelu", 9, 16, up=unchanged, down=bfloat16_computes_in_float, because=BFLOAT16_IS_ADDED),
]

FALLBACKS = [
    Fallback("Relu", numbers_are_the_greater_of_zero),
]
