"""Conversions between dtypes.

Cast      6: `to` as text -> number · 9: +string · 13: +bfloat16 · 19: +float8, saturate · 21: +int4 uint4 ·
          23: +float4 · 24: +float8e8m0, round_mode · 25: +int2 uint2 · 28: +float6
CastLike  15: introduced · 19 to 25: as Cast
"""

from __future__ import annotations

from opsetlift.rulebook.rule import Fallback, Introduction, Step, unchanged
from opsetlift.rulebook.site import Site, dtype_attribute, known_shape
from opsetlift.specification.dtypes import element_type
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS, FLOATING, NARROW_INTEGERS


def convert_dtype_name_to_number(site: Site) -> None:
    """Write `to` of Cast as a number.

    Cast-1 names the dtype ("FLOAT"); so did onnx 1.1 at opset 6.
    """
    if isinstance(site.attribute("to", is_of_any_kind=True), str):
        site.set_attribute("to", element_type(dtype_attribute(site, "to")))


def convert_dtype_number_to_name(site: Site) -> None:
    """Write `to` of Cast-6 as a name, as Cast-1 has it."""
    if not isinstance(site.attribute("to", is_of_any_kind=True), str):
        site.set_attribute("to", dtype_attribute(site, "to").upper())


def remove_saturate(site: Site) -> None:
    """Remove saturate of Cast-19 or CastLike-19: it applies only to float8, which the older version does not take."""
    site.remove_attribute("saturate")


def remove_round_mode(site: Site) -> None:
    """Remove round_mode of Cast-24 or CastLike-24: it applies only to float8e8m0, which version 23 does not take."""
    site.remove_attribute("round_mode")


def replace_with_cast(site: Site) -> None:
    """Replace CastLike-15 with Cast to the dtype of its second input."""
    site.replace(site.op.Cast(site.input(0), to=site.dtype(1)))


def reshape_in_between(site: Site) -> None:
    """Keep a Cast and the one before it apart by a Reshape to the same shape: some optimisers merge or drop both."""
    value, shape = site.input(0), known_shape(site, 0)
    op = site.op_at(opsets.INTEGERS_IN_ARITHMETIC)
    site.set_input(0, op.Reshape(value, op.Shape(value) if shape is None else site.constant(shape, "int64", "shape")))


def compare_truncate_or_reshape(site: Site) -> None:
    """Compute a Cast with other operators, for runtimes that leave the numbers as they are; else keep two Casts apart.

    To booleans it is a comparison with 0, of narrow integers as floats. Between floats and integers, fractions are
    dropped:

    Floor of the positive part minus Floor of the negative one rounds towards 0; the outer Floor shows that the result
    is whole.
    """
    if dtype_attribute(site, "to") == "bool":
        op, value, dtype = site.op_at(opsets.FLOATS_IN_EQUAL), site.input(0), site.dtype(0)
        if dtype in NARROW_INTEGERS:
            value, dtype = op.Cast(value, to="float"), "float"
        site.replace(op.Not(op.Equal(value, site.constant(0, dtype, "zero"))))
        return
    dtype, integers = site.dtype(0), NARROW_INTEGERS | _WIDE_INTEGERS
    if dtype == "bool" and dtype_attribute(site, "to") == "int64":
        # Any product would be one of integers that a Cast back gave.
        site.set_input(0, site.op.Not(site.op.Not(site.input(0))))
        return
    if dtype not in FLOATING or dtype_attribute(site, "to") not in integers or not site.computes("Floor", T=dtype):
        reshape_in_between(site)
        return
    op, value, is_vector = site.op, site.input(0), len(site.shape(0) or ()) == 1
    if is_vector:
        # Some runtimes mix up the memory of several steps on vectors.
        value = op.Reshape(value, site.constant([1, -1], "int64", "row"))
    whole = op.Floor(op.Sub(op.Floor(op.Relu(value)), op.Floor(op.Relu(op.Neg(value)))))
    if is_vector:
        site.replace(op.Reshape(op.copy(whole), site.constant([-1], "int64", "vector")))
    else:
        site.set_input(0, whole)


def put_a_maximum_behind(site: Site) -> None:
    """Give the Max of what a Cast to floats gives and itself: an optimiser that looks behind the Cast stops there."""
    if dtype_attribute(site, "to") in FIRST_FLOATS:
        value = site.op.copy(site.input(0))
        site.replace(site.op_at(opsets.BFLOAT16).Max(value, value))


_WIDE_INTEGERS = frozenset(["int32", "uint32", "int64", "uint64"])

_RANGES = (
    "13 defines the results for values out of range, which 9 leaves open: integers lose their higher "
    "bits, floats become infinite; for values in range both say the same"
)
_FLOAT8 = "19 adds float8 and its tables; the rules for the other types are the same"
_INFINITIES = (
    "19 to 23 say that infinities saturate to NaN in the FNUZ types; ONNX's tests of these versions and "
    "onnxruntime give the largest value, as 24 says"
)
_STRINGS = "9 adds strings; its rules for numbers hold for 6, which has none"

STEPS = [
    Step("Cast", 1, 6, up=convert_dtype_name_to_number, down=convert_dtype_number_to_name),
    Step("Cast", 6, 9, up=convert_dtype_name_to_number, down=unchanged, because=_STRINGS),
    Step("Cast", 9, 13, up=unchanged, down=unchanged, because=_RANGES),
    Step("Cast", 13, 19, up=unchanged, down=remove_saturate, because=_FLOAT8),
    Step("Cast", 23, 24, up=unchanged, down=remove_round_mode, because=_INFINITIES),
    Step("CastLike", 15, 19, up=unchanged, down=remove_saturate, because=_FLOAT8),
    Step("CastLike", 23, 24, up=unchanged, down=remove_round_mode, because=_INFINITIES),
]

INTRODUCTIONS = [
    Introduction("CastLike", 15, down=replace_with_cast),
]

FALLBACKS = [
    Fallback("Cast", compare_truncate_or_reshape, otherwise=put_a_maximum_behind),
]
