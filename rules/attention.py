"""Attention and what goes with it.

Attention            24: +nonpad_kv_seqlen, masks shorter than the keys · 25: +left_window_size +right_window_size
RotaryEmbedding      born at 23
LinearAttention      born at 27
CausalConvWithState  born at 27
"""

from __future__ import annotations

from converter.function_body import expand
from converter.rule import Birth, Step, unchanged
from converter.site import Operators, Site
from rules.narrow_floats import body_in_float, goes_in_float

_MASK, _PAST_KEY, _NONPAD_KV_SEQLEN = 3, 4, 6
_KEY = 1

_ULPS = 64
_IN_STEPS = (
    "the body rounds after each of its steps, which are products, a softmax and sums; a kernel may keep more digits "
    "between them"
)


def masks_cover_all_keys(site: Site) -> None:
    """Up to 24, from where on a shorter mask, be it of length 1, is filled up with -inf and not broadcast."""
    if _mask_covers_all_keys(site):
        return
    op = site.op
    total = _length(site, op, site.input(_KEY))
    if site.input(_PAST_KEY):
        total = op.Add(total, _length(site, op, site.input(_PAST_KEY)))
    site.set_input(_MASK, op.Expand(site.input(_MASK), total))


def _length(site: Site, op: Operators, keys: str) -> str:
    return str(op.Shape(keys, start=-2, end=-1))


def mask_and_padding_are_written_out(site: Site) -> None:
    """Below 24 the mask covers all keys, and all keys count: else the node becomes its function body."""
    if site.input(_NONPAD_KV_SEQLEN) or not _mask_covers_all_keys(site):
        _write_out(site)


def _mask_covers_all_keys(site: Site) -> bool:
    if not site.input(_MASK):
        return True
    mask, key = site.shape(_MASK), site.shape(_KEY)
    if not mask or key is None:
        return False
    total = key[-2]
    if site.input(_PAST_KEY):
        past = site.shape(_PAST_KEY)
        if past is None or not isinstance(total, int) or not isinstance(past[-2], int):
            return False
        total += past[-2]
    return mask[-1] is not None and mask[-1] == total


def windows_are_written_out(site: Site) -> None:
    """Below 25 each query sees all keys that the mask lets it see."""
    if site.attribute("left_window_size", -1) == -1 and site.attribute("right_window_size", -1) == -1:
        site.remove_attribute("left_window_size")
        site.remove_attribute("right_window_size")
        return
    _write_out(site)


def _write_out(site: Site) -> None:
    if not goes_in_float(site):
        expand(site)
        site.rounds(_ULPS, _IN_STEPS)


STEPS = [
    Step(
        "Attention",
        23,
        24,
        up=masks_cover_all_keys,
        down=mask_and_padding_are_written_out,
        because="with the inputs of 23, the causal offset of 24 is the past length, as in 23",
    ),
    Step(
        "Attention",
        24,
        25,
        up=unchanged,
        down=windows_are_written_out,
        because="windows are unbounded by default; the rest of 25's text says the same in other words",
    ),
]

BIRTHS = [
    Birth("Attention", 23, down=body_in_float(ulps=_ULPS, because=_IN_STEPS)),
    Birth("RotaryEmbedding", 23, down=body_in_float(ulps=4, because=_IN_STEPS)),
    Birth("LinearAttention", 27, down=body_in_float(ulps=_ULPS, because=_IN_STEPS)),
    Birth("CausalConvWithState", 27, down=body_in_float(ulps=_ULPS, because=_IN_STEPS)),
]
