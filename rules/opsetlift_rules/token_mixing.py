"""Operators that mix the tokens of a sequence.

RotaryEmbedding      23: introduced
LinearAttention      27: introduced
CausalConvWithState  27: introduced
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import Introduction, rounding
from opsetlift.rulebook.site import Dims, Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END
from opsetlift_rules.helpers.heads import sizes, with_heads, without_heads
from opsetlift_rules.helpers.narrow_floats import compute_narrow_floats_in_float, expand_body_in_float
from opsetlift_rules.helpers.zeros import zero

_DECAY, _BETA = 4, 5
"""Inputs of LinearAttention."""

_IN_STEPS = "each step rounds; a kernel may keep more digits between the steps"


def decompose_rotary_embedding(site: Site) -> None:
    """Replace RotaryEmbedding-23: rotate each pair of elements by the cached cosine and sine."""
    if compute_narrow_floats_in_float(site):
        return
    op = site.op_at(opsets.ALLOWZERO)
    is_packed = site.rank(0, because="the rank shows whether the heads are packed into one dimension") == 3
    heads = site.attribute("num_heads", 0)
    value = with_heads(site, op, site.input(0), heads) if is_packed else site.input(0)
    # Packed heads come after the length, others before it.
    axis = site.constant([2 if is_packed else 1], "int64")
    cosine, sine = (_angles(site, op, position, axis) for position in (1, 2))
    rotated = site.attribute("rotary_embedding_dim", 0) or _known_size(site, value)
    if rotated:
        half, end = (site.constant([number], "int64", "bound") for number in (rotated // 2, rotated))
    else:
        end = sizes(site, op, value, 3)
        half = op.Div(end, site.constant([2], "int64", "two"))
    first, second = _parts(site, op, value, half, end)
    real = op.Sub(op.Mul(cosine, first), op.Mul(sine, second))
    imaginary = op.Add(op.Mul(sine, first), op.Mul(cosine, second))
    result = [_interleaved(site, op, real, imaginary, end)] if site.attribute("interleaved", 0) else [real, imaginary]
    if site.attribute("rotary_embedding_dim", 0) and rotated != _known_size(site, value):
        result.append(op.Slice(value, end, site.constant([END], "int64", "last"), site.constant([3], "int64")))
    whole = op.Concat(*result, axis=3) if len(result) > 1 else result[0]
    site.replace(without_heads(site, op, whole, heads) if is_packed else whole)


def _known_size(site: Site, value: str) -> int:
    size = (site.shape(value) or [None])[-1]
    return size if isinstance(size, int) else 0


def _angles(site: Site, op: Operators, position: int, axis: str) -> str:
    cache = site.input(position)
    chosen = op.Gather(cache, site.input(3)) if site.input(3) else cache
    return str(op.Unsqueeze(chosen, axis))


def _parts(site: Site, op: Operators, value: str, half: str, end: str) -> tuple[str, str]:
    zero, one, two, axis = (site.constant([number], "int64", "number") for number in (0, 1, 2, 3))
    if site.attribute("interleaved", 0):
        return op.Slice(value, zero, end, axis, two), op.Slice(value, one, end, axis, two)
    return op.Slice(value, zero, half, axis), op.Slice(value, half, end, axis)


def _interleaved(site: Site, op: Operators, real: str, imaginary: str, end: str) -> str:
    axis = site.constant([4], "int64")
    pairs = op.Concat(op.Unsqueeze(real, axis), op.Unsqueeze(imaginary, axis), axis=4)
    known = site.constant_value(end)
    if known is not None and known[0] > 0:
        return str(op.Reshape(pairs, site.constant([0, 0, 0, int(known[0])], "int64", "shape")))
    return str(op.Reshape(pairs, op.Concat(sizes(site, op, real, 0, 3), end, axis=0), allowzero=1))


_MOST_HEADS = 1 << 16
"""No model has more; each takes a place in a list."""


def replace_with_a_scan_over_tokens(site: Site) -> None:
    """Replace LinearAttention-27 with a Scan over the tokens; chunk_size is only a hint for other algorithms."""
    if compute_narrow_floats_in_float(site):
        return
    op, dtype = site.op_at(opsets.ALLOWZERO), site.dtype(0)
    heads, shared = site.attribute("q_num_heads"), site.attribute("kv_num_heads")
    if not 0 < shared <= heads <= _MOST_HEADS or heads % shared:
        site.refuse(Why.INVALID_MODEL, f"{heads} heads of queries cannot share {shared} of keys")
    query = with_heads(site, op, site.input(0), heads)
    key, value = (with_heads(site, op, site.input(position), shared) for position in (1, 2))
    rates = _rates(site, op, shared)
    scanned = [query, key, value, *rates.values()]
    steps = [_without_time(site, name) for name in scanned]
    state = _first_state(site, op, query, key, value)

    def step(inner: Operators, before: str, query: str, key: str, value: str, *rates_now: str) -> list[str]:
        given = dict(zip(rates, rates_now, strict=True))
        last, before_last = (site.constant([axis], "int64") for axis in (-1, -2))
        column, row = inner.Unsqueeze(key, last), inner.Unsqueeze(value, before_last)
        decayed = inner.Mul(inner.Exp(inner.Unsqueeze(given[_DECAY], last)), before) if _DECAY in given else before
        if _BETA in given:
            expected = inner.MatMul(inner.Unsqueeze(key, before_last), decayed)
            row = inner.Mul(inner.Unsqueeze(given[_BETA], last), inner.Sub(row, expected))
        after = inner.Add(decayed, inner.Mul(column, row))
        shown = after
        if heads != shared:
            sharing = site.constant(numpy.arange(shared).repeat(heads // shared).tolist(), "int64", "heads")
            shown = inner.Gather(after, sharing, axis=1)
        read = inner.MatMul(inner.Unsqueeze(query, before_last), shown)
        return [after, inner.Squeeze(read, before_last)]

    body = site.op_at(opsets.ALLOWZERO).subgraph(step, takes=[(dtype, [None] * 4), *((dtype, dims) for dims in steps)])
    axes = {"scan_input_axes": [1] * len(scanned), "scan_output_axes": [1]}
    final, results = op.Scan(state, *scanned, outputs=2, num_scan_inputs=len(scanned), body=body, **axes)
    site.op.declare(final, dtype, site.shape(state))
    site.op.declare(results, dtype, [None] * 4)
    # A Scan over no tokens does not know the other sizes of what it stacks.
    width = op.Mul(sizes(site, op, value, 3), site.constant([heads], "int64", "heads"))
    whole = site.folded(lambda: str(op.Concat(sizes(site, op, query, 0, 2), width, axis=0)), "shape")
    packed = op.Reshape(op.Mul(results, _scale(site, op, query, dtype)), whole, allowzero=1)
    wanted = site.dtype(3) if site.input(3) else dtype
    site.replace(packed, final if wanted == dtype else op.Cast(final, to=wanted))


def _rates(site: Site, op: Operators, heads: int) -> dict[int, str]:
    """What the update rule takes besides keys and values, by the position of its input."""
    update_rule = site.attribute("update_rule", "gated_delta")
    rates: dict[int, str] = {}
    if "gated" in update_rule:
        rates[_DECAY] = with_heads(site, op, site.input(_DECAY), heads)
    if "delta" in update_rule:
        # One rate for each head, or one for all of them.
        rates[_BETA] = op.Unsqueeze(site.input(_BETA), site.constant([3], "int64"))
    return rates


def _first_state(site: Site, op: Operators, query: str, key: str, value: str) -> str:
    """The state before the first token: the one that is given, else zeros for each head, key and value."""
    dtype = site.dtype(0)
    if site.input(3):
        return site.input(3) if site.dtype(3) == dtype else str(op.Cast(site.input(3), to=dtype))
    parts = [sizes(site, op, query, 0, 1), site.constant([site.attribute("kv_num_heads")], "int64", "heads")]
    parts += [sizes(site, op, name, 3) for name in (key, value)]
    shape = site.folded(lambda: str(op.Concat(*parts, axis=0)), "shape")
    return str(op.Expand(zero(site, dtype), shape))


def _scale(site: Site, op: Operators, query: str, dtype: str) -> str:
    """The scale that is given, else one by the square root of the size of a head."""
    scale, size = site.attribute("scale", 0.0), _known_size(site, query)
    if scale or size:
        return site.constant(scale or 1 / math.sqrt(size), dtype, "scale")
    return str(op.Reciprocal(op.Sqrt(op.Cast(sizes(site, op, query, 3), to=dtype))))


def _without_time(site: Site, value: str) -> Dims:
    batch, _, *others = site.shape(value) or [None] * 4
    return [batch, *others]


_SCAN_OVER_TOKENS = rounding(replace_with_a_scan_over_tokens, ulps=64, because=_IN_STEPS)

INTRODUCTIONS = [
    Introduction("RotaryEmbedding", 23, down=rounding(decompose_rotary_embedding, ulps=4, because=_IN_STEPS)),
    Introduction("LinearAttention", 27, down=_SCAN_OVER_TOKENS),
    Introduction("CausalConvWithState", 27, down=expand_body_in_float(ulps=64, because=_IN_STEPS)),
]
