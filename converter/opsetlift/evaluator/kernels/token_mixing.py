"""RotaryEmbedding and LinearAttention; narrow floats are computed in float32 and rounded once."""

from __future__ import annotations

import math

import numpy

from opsetlift.evaluator.kernels.accumulation import product
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("RotaryEmbedding", since=(23,))
def rotary_embedding(
    call: Call, x: Array, cos_cache: Array, sin_cache: Array, position_ids: Array | None = None
) -> Array:
    """RotaryEmbedding-23: Pairs of elements rotated by angles of their place.

    Args:
        call: interleaved, num_heads, rotary_embedding_dim.
        x: [batch, heads, length, head_size] or [batch, length, hidden], any float dtype.
        cos_cache: [places, rotated / 2], or [batch, length, rotated / 2] without position_ids.
        sin_cache: Like cos_cache.
        position_ids: int64 [batch, length].

    Returns:
        The shape and dtype of x.
    """
    rows = _rows(call, x)
    head_size = rows.shape[3]
    rotated = call.attributes["rotary_embedding_dim"] or head_size
    if not 0 < rotated <= head_size or rotated % 2:
        call.fail(f"the rotated part {rotated} must be even and at most the head size, {head_size}")
    cosine, sine = (
        _angles(call, cache, position_ids, rows.shape[:2], rotated // 2) for cache in (cos_cache, sin_cache)
    )
    wide = widened(rows)
    interleaved = bool(call.attributes["interleaved"])
    if interleaved:
        first, second = wide[..., 0:rotated:2], wide[..., 1:rotated:2]
    else:
        first, second = wide[..., : rotated // 2], wide[..., rotated // 2 : rotated]
    real = cosine * first - sine * second
    imaginary = sine * first + cosine * second
    y = wide.copy()
    if interleaved:
        y[..., 0:rotated:2], y[..., 1:rotated:2] = real, imaginary
    else:
        y[..., : rotated // 2], y[..., rotated // 2 : rotated] = real, imaginary
    y = as_dtype(y, x.dtype)
    return y.reshape(x.shape) if x.ndim == 3 else y.transpose(0, 2, 1, 3)


def _rows(call: Call, x: Array) -> Array:
    """The input as (batch_size, sequence_length, num_heads, head_size)."""
    if x.ndim == 4:
        return x.transpose(0, 2, 1, 3)
    heads = call.attributes.get("num_heads", 0)
    if x.ndim != 3 or heads < 1:
        call.fail("X must be a 4D tensor, or a 3D one with the attribute num_heads")
    if x.shape[2] % heads:
        call.fail(f"the hidden size {x.shape[2]} must be a multiple of num_heads {heads}")
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads)


def _angles(call: Call, cache: Array, position_ids: Array | None, tokens: tuple[int, ...], half: int) -> Array:
    """The cached values of every token, with an axis of size 1 for the heads."""
    if position_ids is None:
        expected: tuple[int, ...] = (*tokens, half)
        chosen = cache
    else:
        if cache.ndim != 2 or position_ids.shape != tokens:
            call.fail(f"with position_ids of shape {list(tokens)} the caches must be 2D tensors")
        if position_ids.size and not (position_ids.min() >= 0 and position_ids.max() < cache.shape[0]):
            call.fail(f"position_ids must be in [0, {cache.shape[0]})")
        expected = (cache.shape[0], half)
        chosen = cache[position_ids]
    if cache.shape != expected:
        call.fail(f"a cache must have the shape {list(expected)}, not {list(cache.shape)}")
    return widened(chosen)[:, :, None, :]


@kernel("LinearAttention", since=(27,))
def linear_attention(
    call: Call,
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
) -> tuple[Array, Array]:
    """LinearAttention-27: Attention by a state that each token updates.

    The recurrence itself, token by token; chunk_size is a hint for other algorithms. The state is kept in float32
    between tokens and rounded to its type at the end.

    Args:
        call: update_rule, scale, and the numbers of heads.
        query: [batch, length, q_heads * d_k], any float dtype, as key and value.
        key: [batch, length, kv_heads * d_k].
        value: [batch, length, kv_heads * d_v].
        past_state: [batch, kv_heads, d_k, d_v]; absent, 0.
        decay: [batch, length, kv_heads * d_k or kv_heads], for the gated rules.
        beta: [batch, length, kv_heads or 1], for the delta rules.

    Returns:
        The output [batch, length, q_heads * d_v] and the last state.
    """
    rule = call.attributes["update_rule"]
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        call.fail(f"update_rule must be linear, gated, delta or gated_delta, not {rule!r}")
    q_heads, kv_heads = call.attributes["q_num_heads"], call.attributes["kv_num_heads"]
    if kv_heads < 1 or q_heads < 1 or q_heads % kv_heads:
        call.fail(f"q_num_heads {q_heads} must be a positive multiple of kv_num_heads {kv_heads}")
    q = _unpacked(call, query, q_heads, "query")
    k, v = (_unpacked(call, tensor, kv_heads, name) for tensor, name in ((key, "key"), (value, "value")))
    batch, tokens, _, key_size = q.shape
    if k.shape != (batch, tokens, kv_heads, key_size) or v.shape[:2] != (batch, tokens):
        call.fail("query, key and value differ in batch size, length or key size")
    scale = call.attributes["scale"] or 1 / math.sqrt(max(1, key_size))
    growth = _gates(call, decay, k, "decay") if "gated" in rule else None
    rate = _gates(call, beta, k, "beta") if "delta" in rule else None
    shape = (batch, kv_heads, key_size, v.shape[3])
    if past_state is not None and past_state.shape != shape:
        call.fail(f"past_state must have the shape {list(shape)}, not {list(past_state.shape)}")
    state = numpy.zeros(shape, q.dtype) if past_state is None else widened(past_state)
    y = numpy.empty((batch, tokens, kv_heads, q_heads // kv_heads, v.shape[3]), q.dtype)
    for token in range(tokens):
        column, row = k[:, token, :, :, None], v[:, token, :, None, :]
        if growth is not None:
            state = numpy.exp(growth[:, token, :, :, None]) * state
        if rate is not None:
            row = rate[:, token, :, :, None] * (row - product(column.swapaxes(2, 3), state))
        state = state + column * row
        grouped = q[:, token].reshape(batch, kv_heads, q_heads // kv_heads, key_size)
        y[:, token] = product(grouped, state)
    y = (y * y.dtype.type(scale)).reshape(batch, tokens, q_heads * v.shape[3])
    return as_dtype(y, query.dtype), as_dtype(state, query.dtype if past_state is None else past_state.dtype)


def _unpacked(call: Call, tensor: Array, heads: int, name: str) -> Array:
    if tensor.ndim != 3 or tensor.shape[2] % heads:
        call.fail(f"{name} must have the shape (B, T, {heads} * d), not {list(tensor.shape)}")
    return widened(tensor).reshape(*tensor.shape[:2], heads, tensor.shape[2] // heads)


def _gates(call: Call, gates: Array | None, k: Array, name: str) -> Array:
    """Return decay or beta with axes for the heads and the key size, of size 1 where it is shared."""
    batch, tokens, heads, key_size = k.shape
    if gates is None:
        call.fail(f"update_rule {call.attributes['update_rule']!r} requires {name}")
    widths = (heads * key_size, heads) if name == "decay" else (heads, 1)
    if gates.shape[:2] != (batch, tokens) or gates.ndim != 3 or gates.shape[2] not in widths:
        call.fail(f"{name} must have the shape (B, T, {widths[0]}) or (B, T, {widths[1]}), not {list(gates.shape)}")
    own = key_size if gates.shape[2] == heads * key_size else 1
    return widened(gates).reshape(batch, tokens, gates.shape[2] // own, own)
