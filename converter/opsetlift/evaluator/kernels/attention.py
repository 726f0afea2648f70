"""Attention and FlexAttention: scaled dot products, a bias, softmax, a weighted sum of values.

Narrow floats are computed in float32 and rounded once at the end, unless softmax_precision asks for something else.
"""

from __future__ import annotations

import math
from typing import Any

import numpy

from opsetlift.evaluator.kernels.accumulation import product
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.evaluator.kernels.softmax import shares
from opsetlift.model.arrays import Array
from opsetlift.specification.dtypes import numpy_dtype

_SOFTMAX_DTYPES = {1: "float", 10: "float16", 11: "double", 16: "bfloat16"}


@kernel("Attention", since=(23, 24, 25))
def attention(
    call: Call,
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
) -> tuple[Array | None, ...]:
    """Attention-23, 24, 25: softmax(Q K^T * scale + bias) V per head, grouped heads included.

    Args:
        call: scale, is_causal, softcap, the numbers of heads for inputs of rank 3, what the fourth output is.
        q: [batch, q_heads, q_length, head_size], or [batch, q_length, q_heads * head_size], any float dtype.
        k: [batch, kv_heads, kv_length, head_size], or of rank 3.
        v: [batch, kv_heads, kv_length, v_head_size], or of rank 3.
        attn_mask: bool or float, broadcast to [batch, q_heads, q_length, total_length].
        past_key: [batch, kv_heads, past_length, head_size].
        past_value: [batch, kv_heads, past_length, v_head_size].
        nonpad_kv_seqlen: int64 [batch], how many keys are no padding; from 24 on.

    Returns:
        Y like q with v_head_size, and where asked for the present key and value and the scores.
    """
    heads_q, heads_k, heads_v = _split_heads(call, q, k, v)
    _check_cache(call, past_key, past_value, nonpad_kv_seqlen)
    key, value = heads_k, heads_v
    if past_key is not None and past_value is not None:
        key = numpy.concatenate([past_key, heads_k], axis=2)
        value = numpy.concatenate([past_value, heads_v], axis=2)
    _check_heads(call, heads_q, key, value)
    past_length = 0 if past_key is None else past_key.shape[2]
    bias = _bias(call, heads_q, key, attn_mask, past_length, nonpad_kv_seqlen)

    products = _scores(call, widened(heads_q), widened(key))
    softcap = call.attributes["softcap"]
    capped = products if softcap == 0 else numpy.asarray(softcap * numpy.tanh(products / softcap))
    biased = capped if bias is None else numpy.asarray(capped + bias)
    weights = _softmax(call, biased)
    if bias is not None:
        # "A fully-masked query row produces a zero output row, not NaN."
        masked = (bias == -numpy.inf).all(axis=-1, keepdims=True)
        weights = numpy.where(masked, weights.dtype.type(0), weights)
    y = as_dtype(_weighted_values(weights, widened(value)), q.dtype)
    if q.ndim == 3:
        y = y.transpose(0, 2, 1, 3).reshape(q.shape[0], q.shape[1], y.shape[1] * y.shape[3])
    mode = call.attributes["qk_matmul_output_mode"]
    if mode not in (0, 1, 2, 3):
        call.fail(f"qk_matmul_output_mode must be 0, 1, 2 or 3, not {mode}")
    shown = None if call.output_count < 4 else as_dtype((products, capped, biased, weights)[mode], q.dtype)
    return y, key, value, shown


def _split_heads(call: Call, q: Array, k: Array, v: Array) -> tuple[Array, Array, Array]:
    """The three as (batch_size, heads, sequence, head_size)."""
    if {q.ndim, k.ndim, v.ndim} == {4}:
        return q, k, v
    if {q.ndim, k.ndim, v.ndim} != {3}:
        call.fail(f"Q, K and V must all be 4D or all be 3D, not {q.ndim}D, {k.ndim}D and {v.ndim}D")
    q_heads = call.attributes.get("q_num_heads", 0)
    kv_heads = call.attributes.get("kv_num_heads", 0)
    if q_heads < 1 or kv_heads < 1:
        call.fail("3D inputs need q_num_heads and kv_num_heads")
    split = []
    for tensor, heads in ((q, q_heads), (k, kv_heads), (v, kv_heads)):
        if tensor.shape[2] % heads:
            call.fail(f"a hidden size of {tensor.shape[2]} is not a multiple of {heads} heads")
        shape = (*tensor.shape[:2], heads, tensor.shape[2] // heads)
        split.append(tensor.reshape(shape).transpose(0, 2, 1, 3))
    return split[0], split[1], split[2]


def _check_cache(call: Call, past_key: Array | None, past_value: Array | None, nonpad: Array | None) -> None:
    if (past_key is None) != (past_value is None):
        call.fail("past_key and past_value shall be used together")
    if nonpad is not None and past_key is not None:
        call.fail("nonpad_kv_seqlen should not be used together with past_key and past_value")
    if nonpad is not None and any(call.node.output[1:3]):
        call.fail("nonpad_kv_seqlen should not be used together with present_key and present_value")


def _check_heads(call: Call, q: Array, k: Array, v: Array) -> None:
    if k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        call.fail(f"Q {list(q.shape)}, K {list(k.shape)} and V {list(v.shape)} (with the past) do not fit together")
    if k.shape[1] == 0 or q.shape[1] % k.shape[1]:
        call.fail(f"the number of query heads {q.shape[1]} must be a multiple of the key heads, {k.shape[1]}")


def _bias(
    call: Call, q: Array, k: Array, attn_mask: Array | None, past_length: int, nonpad: Array | None
) -> Array | None:
    """What is added to the scores, in a shape that broadcasts to theirs; None where nothing is."""
    total = k.shape[2]
    dtype = widened(q).dtype
    allowed: Array | None = None
    added: Array | None = None
    if attn_mask is not None:
        attn_mask = _checked_mask(call, attn_mask, (*q.shape[:3], total))
        if attn_mask.dtype == bool:
            allowed = attn_mask
        else:
            if attn_mask.dtype != q.dtype:
                call.fail_if_strict(f"a mask must be boolean or of Q's type {q.dtype}, not {attn_mask.dtype}")
            added = attn_mask.astype(dtype)
    offset = numpy.asarray(past_length)
    keys = numpy.arange(total)
    if nonpad is not None:
        if nonpad.shape != q.shape[:1]:
            call.fail(f"nonpad_kv_seqlen must have the shape ({q.shape[0]}), not {list(nonpad.shape)}")
        lengths = nonpad.reshape(-1, 1, 1, 1)
        offset = lengths - q.shape[2]
        allowed = _both(allowed, keys < lengths)
    positions = offset + numpy.arange(q.shape[2])[:, None]
    left, right = (call.attributes.get(f"{side}_window_size", -1) for side in ("left", "right"))
    if call.attributes["is_causal"]:
        allowed = _both(allowed, keys <= positions)
    if left >= 0:
        allowed = _both(allowed, keys >= positions - left)
    if right >= 0:
        allowed = _both(allowed, keys <= positions + right)
    if allowed is None:
        return added
    bias = numpy.where(allowed, dtype.type(0), dtype.type(-numpy.inf))
    return bias if added is None else numpy.asarray(bias + added)


def _both(allowed: Array | None, also: Array) -> Array:
    return also if allowed is None else numpy.logical_and(allowed, also)


def _checked_mask(call: Call, mask: Array, shape: tuple[int, ...]) -> Array:
    """The mask, since 24 padded with negative infinity (False) where its last dimension is shorter.

    A last dimension of 1 could be broadcast as well; ONNX's reference implementation pads it.
    """
    if call.since_version >= 24 and mask.ndim and mask.shape[-1] < shape[-1]:
        missing = (*mask.shape[:-1], shape[-1] - mask.shape[-1])
        filler = False if mask.dtype == bool else -numpy.inf
        mask = numpy.concatenate([mask, numpy.full(missing, filler).astype(mask.dtype)], axis=-1)
    aligned = (1,) * (len(shape) - mask.ndim) + mask.shape
    if len(aligned) != len(shape) or any(have not in (1, want) for have, want in zip(aligned, shape, strict=True)):
        call.fail(f"attn_mask {list(mask.shape)} must be broadcastable to {list(shape)}")
    return mask


def _scores(call: Call, q: Array, k: Array) -> Array:
    """(Q * sqrt(scale)) @ (K * sqrt(scale))^T, each key head shared by a group of query heads."""
    scale = call.attributes.get("scale")
    root = q.dtype.type(math.sqrt(1 / math.sqrt(max(1, q.shape[3])) if scale is None else scale))
    products = product(_grouped(q * root, k.shape[1]), (k * root).transpose(0, 1, 3, 2))
    return numpy.asarray(products.reshape(*q.shape[:3], k.shape[2]))


def _grouped(per_query_head: Array, key_heads: int) -> Array:
    """The rows of all query heads that share a key head, one after the other."""
    batch, heads, rows, columns = per_query_head.shape
    return per_query_head.reshape(batch, key_heads, heads // key_heads * rows, columns)


def _weighted_values(weights: Array, v: Array) -> Array:
    sums = product(_grouped(weights, v.shape[1]), v)
    return numpy.asarray(sums.reshape(*weights.shape[:3], v.shape[3]))


def _softmax(call: Call, scores: Array) -> Array:
    """Over the last axis, in softmax_precision where that is given, then back in the scores' dtype."""
    dtype = _softmax_dtype(call, scores.dtype)
    if scores.shape[-1] == 0:
        return scores
    stage = widened(scores.astype(dtype, copy=False))
    return as_dtype(as_dtype(shares(stage), dtype), scores.dtype)


def _softmax_dtype(call: Call, default: numpy.dtype[Any]) -> numpy.dtype[Any]:
    precision = call.attributes.get("softmax_precision")
    if precision is None:
        return default
    if precision not in _SOFTMAX_DTYPES:
        call.fail(f"softmax_precision must be 1, 10, 11 or 16, not {precision}")
    return numpy_dtype(_SOFTMAX_DTYPES[precision])


@kernel("FlexAttention", since=(1,), domain="ai.onnx.preview")
def flex_attention(call: Call, q: Array, k: Array, v: Array) -> Array:
    """FlexAttention-1: softmax(Q K^T * scale) V per head, scores changed by subgraphs.

    Args:
        call: scale, softmax_precision and the subgraphs score_mod and prob_mod.
        q: [batch, q_heads, q_length, head_size], any float dtype.
        k: [batch, kv_heads, kv_length, head_size].
        v: [batch, kv_heads, kv_length, v_head_size].

    Returns:
        [batch, q_heads, q_length, v_head_size], of the dtype of q.
    """
    if {q.ndim, k.ndim, v.ndim} != {4}:
        call.fail("Q, K and V must be rank-4 tensors")
    _check_heads(call, q, k, v)
    wide_q, wide_k = widened(q), widened(k)
    scale = call.attributes.get("scale")
    scale = 1 / math.sqrt(q.shape[3]) if scale is None else scale
    grouped = _grouped(wide_q, k.shape[1])
    products = product(grouped, wide_k.transpose(0, 1, 3, 2)).reshape(*q.shape[:3], k.shape[2])
    scores = products * products.dtype.type(scale)
    # "Defaults to float32 for non-double inputs, otherwise uses double": the dtype that the scores have here.
    scores = _modified(call, "score_mod", scores.astype(_softmax_dtype(call, scores.dtype), copy=False))
    weights = _modified(call, "prob_mod", _softmax(call, scores))
    return as_dtype(_weighted_values(widened(weights).astype(widened(v).dtype, copy=False), widened(v)), q.dtype)


def _modified(call: Call, attribute: str, values: Array) -> Array:
    """What the modifier subgraph makes of the scores or probabilities; without one, themselves."""
    if call.attributes.get(attribute) is None:
        return values
    (result,) = call.run_subgraph(attribute, [values])
    if result.shape != values.shape or result.dtype != values.dtype:
        call.fail(f"the output of {attribute} must have the shape and element type of its input")
    return numpy.asarray(result)
