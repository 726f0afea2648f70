"""Attention.

23  introduced
24  +nonpad_kv_seqlen, masks shorter than the keys
25  +left_window_size, +right_window_size
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import Introduction, Step, rounding
from opsetlift.rulebook.site import Operators, Site, dtype_attribute
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FLOATING
from opsetlift_rules.helpers.heads import numbers_up_to, sizes, transposed, with_heads, without_heads
from opsetlift_rules.helpers.narrow_floats import compute_narrow_floats_in_float
from opsetlift_rules.helpers.zeros import zero

_QUERY, _KEY, _VALUE, _MASK, _PAST_KEY, _PAST_VALUE, _LENGTHS = range(7)
_PRESENT = (1, 2)
"""The outputs present_key and present_value."""

_ULPS = 64
_IN_STEPS = (
    "each step (products, softmax, sums) rounds; a kernel may keep more digits between the steps, and "
    "the exponential of a large product magnifies the difference"
)
_LARGEST_BIAS = 1 << 14
"""The most elements of a bias that is stored; a larger one is computed at run time."""


def satisfy_the_inference_of_25(site: Site) -> None:
    """Remove q_num_heads and kv_num_heads from Attention-24 with inputs of rank 4, and ask for both present outputs.

    The counts belong to inputs of rank 3; the type inference of 25 rejects them with others, and one output without
    the other.
    """
    if any(map(site.output, _PRESENT)):
        site.ask_for_outputs(_PRESENT)
    if len(site.shape(_QUERY) or ()) == 4:
        site.remove_attribute("q_num_heads")
        site.remove_attribute("kv_num_heads")


def expand_mask_to_all_keys(site: Site) -> None:
    """Broadcast the mask of Attention-23 to the number of keys.

    From 24 on a shorter mask, one of length 1 included, is filled up with -inf instead of broadcast.
    """
    if _mask_covers_all_keys(site):
        return
    op = site.op
    total = sizes(site, op, site.input(_KEY), -2, -1)
    if site.input(_PAST_KEY):
        total = op.Add(total, sizes(site, op, site.input(_PAST_KEY), 2, 3))
    site.set_input(_MASK, op.Expand(site.input(_MASK), total))


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


def decompose_short_masks_and_padding(site: Site) -> None:
    """Decompose Attention-24 with nonpad_kv_seqlen or a mask shorter than the keys, which Attention-23 lacks."""
    if site.input(_LENGTHS) or not _mask_covers_all_keys(site):
        decompose_attention(site)


def decompose_bounded_windows(site: Site) -> None:
    """Decompose Attention-25 with bounded windows, which Attention-24 lacks; remove unbounded ones."""
    if site.attribute("left_window_size", -1) < 0 and site.attribute("right_window_size", -1) < 0:
        site.remove_attribute("left_window_size")
        site.remove_attribute("right_window_size")
    else:
        decompose_attention(site)


def decompose_attention(site: Site) -> None:
    """Replace Attention with the operators of its definition: products, bias, Softmax, products.

    Narrow floats compute in float. All sizes may be 0 in some run.
    """
    if compute_narrow_floats_in_float(site):
        return
    site.rounds()
    op = site.op_at(opsets.REDUCTION_AXES_AS_INPUTS)
    dtype = site.dtype(_QUERY)
    is_packed = site.rank(_QUERY, because="the rank shows whether the heads are packed into one dimension") == 3
    query, key, value = (_unpacked(site, op, position, is_packed) for position in (_QUERY, _KEY, _VALUE))
    if site.input(_PAST_KEY):
        key = op.Concat(site.input(_PAST_KEY), key, axis=2)
        value = op.Concat(site.input(_PAST_VALUE), value, axis=2)
    root = _root_of_scale(site, op, query, dtype)
    products = op.MatMul(
        op.Mul(query, root), transposed(op, op.Mul(_for_all_heads(site, op, key, query), root), (0, 1, 3, 2))
    )
    softcap = site.attribute("softcap", 0.0)
    cap = site.constant(softcap, dtype, "softcap") if softcap else ""
    capped = op.Mul(op.Tanh(op.Div(products, cap)), cap) if cap else products
    bias = _bias(site, op, query, key, dtype)
    biased = op.Add(capped, bias) if bias else capped
    weights = _softmax(site, op, biased, dtype)
    if bias:
        # A fully masked row gives zeros, not NaN. The largest of only -inf is a finite number in some runtimes.
        is_lowest = op.Cast(op.Equal(bias, site.constant(-numpy.inf, dtype, "lowest")), to="float")
        least = op.ReduceMin(is_lowest, site.constant([-1], "int64"))
        is_masked = op.Equal(least, site.constant(1.0, "float", "one"))
        weights = op.Where(is_masked, zero(site, dtype), weights)
    result = _weighted(site, op, weights, _for_all_heads(site, op, value, query))
    if is_packed:
        result = without_heads(site, op, transposed(op, result), site.attribute("q_num_heads"))
    shown = (products, capped, biased, weights)[site.attribute("qk_matmul_output_mode", 0)]
    site.replace(result, key, value, shown)


def _unpacked(site: Site, op: Operators, position: int, is_packed: bool) -> str:
    if not is_packed:
        return site.input(position)
    heads = site.attribute("q_num_heads" if position == _QUERY else "kv_num_heads")
    return transposed(op, with_heads(site, op, site.input(position), heads))


def _root_of_scale(site: Site, op: Operators, query: str, dtype: str) -> str:
    """The square root of the scale, by which both factors of each product are multiplied."""
    scale = site.attribute("scale")
    size = (site.shape(query) or [None])[-1]
    if scale is None and not isinstance(size, int):
        return str(op.Reciprocal(op.Sqrt(op.Sqrt(op.Cast(sizes(site, op, query, 3), to=dtype)))))
    scale = 1 / math.sqrt(max(1, size)) if scale is None else scale  # type: ignore[type-var, arg-type]
    return site.constant(math.sqrt(scale), dtype, "root")


def _for_all_heads(site: Site, op: Operators, keys: str, query: str) -> str:
    """Keys (or values) repeated for each of the query heads that share them."""
    shared, all_heads = ((site.shape(name) or [None] * 4)[1] for name in (keys, query))
    if shared is not None and shared == all_heads:
        return keys
    if isinstance(shared, int) and isinstance(all_heads, int):
        heads = site.constant(numpy.arange(shared).repeat(all_heads // shared).tolist(), "int64", "heads")
    else:
        # Where there are no heads, neither size may become a divisor: onnxruntime refuses to divide by 0, even nothing.
        one = site.constant([1], "int64", "one")
        group = op.Div(sizes(site, op, query, 1, 2), op.Max(sizes(site, op, keys, 1, 2), one))
        heads = op.Div(numbers_up_to(site, op, query, 1), op.Max(group, one))
    return str(op.Gather(keys, heads, axis=1))


def _weighted(site: Site, op: Operators, weights: str, values: str) -> str:
    """The product of weights and values; if their dtypes differ, in double."""
    dtype, other = site.dtype(_QUERY), site.dtype(_VALUE)
    if dtype == other:
        return str(op.MatMul(weights, values))
    wide = [op.Cast(name, to="double") for name in (weights, values)]
    return str(op.Cast(op.MatMul(*wide), to=dtype))


def _softmax(site: Site, op: Operators, scores: str, dtype: str) -> str:
    stage = dtype_attribute(site, "softmax_precision", dtype)
    if stage == dtype:
        return str(op.Softmax(scores, axis=-1))
    staged = op.Cast(scores, to=stage)
    if stage in ("float16", "bfloat16"):
        shares = op.Cast(op.Softmax(op.Cast(staged, to="float"), axis=-1), to=stage)
    else:
        shares = op.Softmax(staged, axis=-1)
    return str(op.Cast(shares, to=dtype))


# What is added to the products


def _bias(site: Site, op: Operators, query: str, key: str, dtype: str) -> str:
    """The bias: -inf for each key that a query may not see, plus a numeric mask; "" where there is none."""
    mask = _filled_mask(site, op, key) if site.input(_MASK) else ""
    seen = _visible_keys(site, op, query, key)
    if mask and site.dtype(_MASK) == "bool":
        seen = op.And(seen, mask) if seen else mask
        mask = ""
    bias = op.Where(seen, zero(site, dtype), site.constant(-numpy.inf, dtype, "lowest")) if seen else ""
    if mask:
        mask = mask if site.dtype(_MASK) == dtype else op.Cast(mask, to=dtype)
        bias = op.Add(bias, mask) if bias else mask
    return bias


def _filled_mask(site: Site, op: Operators, key: str) -> str:
    """The mask, from version 24 on padded to the number of keys with values that exclude them."""
    mask, dtype = site.input(_MASK), site.dtype(_MASK)
    if site.shape(_MASK) == []:
        site.refuse(Why.INVALID_MODEL, "the mask is a single number; runtimes take a row for each query")
    if site.transition.newer < 24 or _mask_covers_all_keys(site):
        return mask
    if dtype != "bool" and dtype not in FLOATING:
        site.refuse(Why.INVALID_MODEL, f"the mask is {dtype}; it has to be bool, or of the dtype of the query")
    missing = op.Sub(sizes(site, op, key, 2, 3), sizes(site, op, mask, -1))
    pads = op.Concat(site.constant([0], "int64", "begin"), missing, axis=0)
    filler = site.constant(False if dtype == "bool" else -numpy.inf, dtype, "filler")
    return str(op.Pad(mask, pads, filler, site.constant([-1], "int64")))


def _visible_keys(site: Site, op: Operators, query: str, key: str) -> str:
    """The keys that each query sees by its position; "" where it sees all."""
    causal = bool(site.attribute("is_causal", 0))
    left, right = (site.attribute(f"{side}_window_size", -1) for side in ("left", "right"))
    if not (causal or left >= 0 or right >= 0 or site.input(_LENGTHS)):
        return ""

    def compared() -> str:
        keys = numbers_up_to(site, op, key, 2)
        places = op.Unsqueeze(numbers_up_to(site, op, query, 2), site.constant([1], "int64"))
        conditions = []
        if site.input(_LENGTHS):
            lengths = op.Unsqueeze(site.input(_LENGTHS), site.constant([1, 2, 3], "int64"))
            conditions.append(op.Less(keys, lengths))
            places = op.Add(places, op.Sub(lengths, sizes(site, op, query, 2, 3)))
        elif site.input(_PAST_KEY):
            places = op.Add(places, sizes(site, op, site.input(_PAST_KEY), 2, 3))
        if causal:
            conditions.append(op.LessOrEqual(keys, places))
        if left >= 0:
            conditions.append(op.GreaterOrEqual(keys, op.Sub(places, site.constant(left, "int64", "left"))))
        if right >= 0:
            conditions.append(op.LessOrEqual(keys, op.Add(places, site.constant(right, "int64", "right"))))
        seen = conditions[0]
        for condition in conditions[1:]:
            seen = op.And(seen, condition)
        return str(seen)

    counts = [(site.shape(name) or [None] * 4)[2] for name in (query, key)]
    if all(isinstance(count, int) for count in counts) and math.prod(counts) <= _LARGEST_BIAS:  # type: ignore[arg-type]
        return site.folded(compared, "seen")
    return compared()


_DECOMPOSE_SHORT_MASKS_AND_PADDING = rounding(
    decompose_short_masks_and_padding,
    ulps=_ULPS,
    when="lengths are given, or a mask may not cover all keys",
    because=_IN_STEPS,
)
_DECOMPOSE_BOUNDED_WINDOWS = rounding(
    decompose_bounded_windows, ulps=_ULPS, when="windows are bounded", because=_IN_STEPS
)
_UNBOUNDED = (
    "windows are unbounded by default; 25 rewords the rest, but its type inference rejects q_num_heads "
    "and kv_num_heads with inputs of rank 4"
)

STEPS = [
    Step("Attention", 23, 24, up=expand_mask_to_all_keys, down=_DECOMPOSE_SHORT_MASKS_AND_PADDING),
    Step("Attention", 24, 25, up=satisfy_the_inference_of_25, down=_DECOMPOSE_BOUNDED_WINDOWS, because=_UNBOUNDED),
]

INTRODUCTIONS = [Introduction("Attention", 23, down=rounding(decompose_attention, ulps=_ULPS, because=_IN_STEPS))]
