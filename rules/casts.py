"""Conversions between dtypes.

Cast      6: `to` as text -> number · 9: +string · 13: +bfloat16 · 19: +float8, saturate · 21: +int4 uint4 ·
          23: +float4 · 24: +float8e8m0, round_mode; FNUZ saturates infinities · 25: +int2 uint2 · 28: +float6
CastLike  15: born · 19 to 25: as Cast
"""

from __future__ import annotations

from converter.dtypes import element_type
from converter.rule import Birth, Step, in_turn, unchanged
from converter.site import Operators, Site

_FNUZ_LARGEST = {"float8e4m3fnuz": 240.0, "float8e5m2fnuz": 57344.0}
_WITH_INFINITY = frozenset(["float", "double", "float16", "bfloat16", "float8e5m2", "string"])


def text_becomes_number(site: Site) -> None:
    """Cast-1 spells the dtype ("FLOAT"), as onnx 1.1 still did at opset 6; who wrote a number is understood."""
    if isinstance(site.attribute("to", is_of_any_kind=True), str):
        site.set_attribute("to", element_type(site.dtype_attribute("to")))


def number_becomes_text(site: Site) -> None:
    if not isinstance(site.attribute("to", is_of_any_kind=True), str):
        site.set_attribute("to", site.dtype_attribute("to").upper())


def saturate_goes(site: Site) -> None:
    """It only applies to float8, which the far side does not have."""
    site.remove_attribute("saturate")


def round_mode_goes(site: Site) -> None:
    """It only applies to float8e8m0, which the far side does not have."""
    site.remove_attribute("round_mode")


def _saturates_infinities(site: Site) -> str | None:
    """The dtype cast to, if it is one of those for which the text of 24 differs and infinities can come in."""
    to = site.dtype(1) if site.node.op_type == "CastLike" else site.dtype_attribute("to")
    if to not in _FNUZ_LARGEST or not site.attribute("saturate", 1):
        return None
    return to if site.dtype(0) in _WITH_INFINITY else None


def _as_float(site: Site, op: Operators) -> tuple[str, str]:
    """The input as a float type that the operators on floats take, and that type."""
    value, dtype = site.input(0), site.dtype(0)
    if dtype == "string":
        return op.Cast(value, to="double"), "double"
    if dtype == "float8e5m2":
        return op.Cast(value, to="float"), "float"
    return value, dtype


def infinities_stay_nan(site: Site) -> None:
    """For the FNUZ types, saturation made NaN of infinities up to 23, and makes the largest value from 24 on."""
    if _saturates_infinities(site) is None:
        return
    op = site.op
    value, dtype = _as_float(site, op)
    infinite = op.IsInf(value)
    site.replace(site.copy(op.Where(infinite, site.scalar(float("nan"), dtype, "nan"), value), *site.inputs[1:]))


def infinities_are_clipped(site: Site) -> None:
    """The inverse: an infinity becomes the largest value before the cast."""
    to = _saturates_infinities(site)
    if to is None:
        return
    op = site.op
    value, dtype = _as_float(site, op)
    limit = _FNUZ_LARGEST[to]
    bounds = [site.scalar(sign * limit, dtype, hint) for sign, hint in ((-1, "smallest"), (1, "largest"))]
    site.replace(site.copy(op.Clip(value, *bounds), *site.inputs[1:]))


def target_type_becomes_attribute(site: Site) -> None:
    """CastLike is Cast to the dtype of its second input."""
    site.replace(site.op.Cast(site.input(0), to=site.dtype(1)))


_RANGES = (
    "13 spells out what 9 leaves open of values out of range: integers lose their higher bits, floats become infinite; "
    "in range both say the same"
)
_FLOAT8 = "19 adds float8 and its tables; the rules for the other types are those of 13, word for word"
_STRINGS = "9 adds strings; what it says of numbers holds for 6, which is silent"

STEPS = [
    Step("Cast", 1, 6, up=text_becomes_number, down=number_becomes_text),
    Step("Cast", 6, 9, up=text_becomes_number, down=unchanged, because=_STRINGS),
    Step("Cast", 9, 13, up=unchanged, down=unchanged, because=_RANGES),
    Step("Cast", 13, 19, up=unchanged, down=saturate_goes, because=_FLOAT8),
    Step("Cast", 23, 24, up=infinities_stay_nan, down=in_turn(round_mode_goes, infinities_are_clipped)),
    Step("CastLike", 15, 19, up=unchanged, down=saturate_goes, because=_FLOAT8),
    Step("CastLike", 23, 24, up=infinities_stay_nan, down=in_turn(round_mode_goes, infinities_are_clipped)),
]

BIRTHS = [
    Birth("CastLike", 15, down=target_type_becomes_attribute),
]
