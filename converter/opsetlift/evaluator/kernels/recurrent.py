"""RNN, GRU and LSTM: one matrix product for the inputs of all steps, then one per step for the state.

The formulas of versions 1 and 3 lack the transposition of R that those of 7 and later have; the layout of R is the
same in all, so that this is taken for a slip. What the texts leave open follows onnxruntime: beyond the length of a
sequence Y is zero, Y_h is that of its last step, and only what is within the length is reversed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from opsetlift.evaluator.kernels.accumulation import RowProduct
from opsetlift.evaluator.kernels.numeric import as_dtype, widened
from opsetlift.evaluator.kernels.recurrent_activations import Activation, activations, clipped
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

State = tuple[Array, ...]
Step = Callable[[Array, State], State]
"""From the step's share of X * W^T + Wb and the state before it to the state after it; the first is the hidden one."""


@dataclass(frozen=True)
class _Direction:
    """The weights of one direction, transposed for products from the right; the biases zero where absent."""

    input_weights: Array
    state_weights: Array
    input_bias: Array
    state_bias: Array
    functions: list[Activation]


@kernel("RNN", since=(1, 7, 14, 22), changes=())
def rnn(
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
) -> tuple[Array, ...]:
    """RNN-1, 7, 14, 22: A simple recurrent network.

    Args:
        call: hidden_size, direction, activations with alpha and beta, clip and, from 14 on, layout.
        x: [length, batch, input], any float dtype; with layout 1 the batch is first everywhere.
        w: [directions, hidden, input].
        r: [directions, hidden, hidden].
        b: [directions, 2 * hidden]; absent, 0.
        sequence_lens: int32 [batch]; absent, the length.
        initial_h: [directions, batch, hidden]; absent, 0.

    Returns:
        All states [length, directions, batch, hidden] and the last [directions, batch, hidden].
    """

    def step_of(direction: _Direction, index: int) -> Step:
        (f,) = direction.functions
        of_state = RowProduct(direction.state_weights)

        def step(inputs: Array, state: State) -> State:
            return (f(inputs + of_state(state[0]) + direction.state_bias),)

        return step

    return _unrolled(call, x, (w, r, b), sequence_lens, [initial_h], ["Tanh"], gates=1, step_of=step_of)


@kernel("GRU", since=(1, 3, 7, 14, 22), changes=())
def gru(
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
) -> tuple[Array, ...]:
    """GRU-1, 3, 7, 14, 22: Gated recurrent units.

    Args:
        call: hidden_size, direction, activations, clip, linear_before_reset (3) and layout (14).
        x: [length, batch, input], any float dtype; with layout 1 the batch is first everywhere.
        w: [directions, 3 * hidden, input], gates in the order z, r, h.
        r: [directions, 3 * hidden, hidden].
        b: [directions, 6 * hidden]; absent, 0.
        sequence_lens: int32 [batch]; absent, the length.
        initial_h: [directions, batch, hidden]; absent, 0.

    Returns:
        All states [length, directions, batch, hidden] and the last [directions, batch, hidden].
    """

    def step_of(direction: _Direction, index: int) -> Step:
        f, g = direction.functions
        hidden = r.shape[2]
        for_gates = RowProduct(direction.state_weights[:, : 2 * hidden])
        for_candidate = RowProduct(direction.state_weights[:, 2 * hidden :])
        gate_bias, hidden_bias = direction.state_bias[: 2 * hidden], direction.state_bias[2 * hidden :]
        linear_before_reset = bool(call.attributes.get("linear_before_reset", 0))

        def step(inputs: Array, state: State) -> State:
            (h,) = state
            gates = f(inputs[:, : 2 * hidden] + for_gates(h) + gate_bias)
            update, reset = gates[:, :hidden], gates[:, hidden:]
            if linear_before_reset:
                candidate = reset * (for_candidate(h) + hidden_bias)
            else:
                candidate = for_candidate(reset * h) + hidden_bias
            candidate = g(inputs[:, 2 * hidden :] + candidate)
            return ((1 - update) * candidate + update * h,)

        return step

    return _unrolled(call, x, (w, r, b), sequence_lens, [initial_h], ["Sigmoid", "Tanh"], gates=3, step_of=step_of)


@kernel("LSTM", since=(1, 7, 14, 22), changes=())
def lstm(
    call: Call,
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
) -> tuple[Array, ...]:
    """LSTM-1, 7, 14, 22: Long short-term memory.

    Args:
        call: hidden_size, direction, activations, clip, input_forget and, from 14 on, layout.
        x: [length, batch, input], any float dtype; with layout 1 the batch is first everywhere.
        w: [directions, 4 * hidden, input], gates in the order i, o, f, c.
        r: [directions, 4 * hidden, hidden].
        b: [directions, 8 * hidden]; absent, 0.
        sequence_lens: int32 [batch]; absent, the length.
        initial_h: [directions, batch, hidden]; absent, 0.
        initial_c: Like initial_h, the cells.
        p: [directions, 3 * hidden], the peepholes of i, o, f; absent, 0.

    Returns:
        All states [length, directions, batch, hidden], the last, and the last cells, [directions, batch, hidden].
    """
    hidden = r.shape[-1]
    if p is not None and p.shape != (w.shape[0], 3 * hidden):
        call.fail(f"P must have the shape (num_directions, 3 * hidden_size), not {list(p.shape)}")

    def step_of(direction: _Direction, index: int) -> Step:
        f, g, h = direction.functions
        peepholes = None if p is None else widened(p[index]).reshape(3, hidden)
        of_state = RowProduct(direction.state_weights)
        coupled = bool(call.attributes["input_forget"])

        def step(inputs: Array, state: State) -> State:
            cell = state[1]
            gates = inputs + of_state(state[0]) + direction.state_bias
            i, o, forget, candidate = (gates[:, k * hidden : (k + 1) * hidden] for k in range(4))
            if peepholes is not None:
                i = i + peepholes[0] * cell
                forget = forget + peepholes[2] * cell
            i = f(i)
            forget = 1 - i if coupled else f(forget)
            cell = forget * cell + i * g(candidate)
            if peepholes is not None:
                o = o + peepholes[1] * cell
            return f(o) * h(cell), cell

        return step

    names = ["Sigmoid", "Tanh", "Tanh"]
    return _unrolled(call, x, (w, r, b), sequence_lens, [initial_h, initial_c], names, gates=4, step_of=step_of)


def _unrolled(
    call: Call,
    x: Array,
    weights: tuple[Array, Array, Array | None],
    sequence_lens: Array | None,
    initial: Sequence[Array | None],
    default_activations: Sequence[str],
    *,
    gates: int,
    step_of: Callable[[_Direction, int], Step],
) -> tuple[Array, ...]:
    """Y and the last states of all directions, in the layout that the attribute asks for."""
    batchwise = call.attributes.get("layout", 0)
    if batchwise not in (0, 1):
        call.fail(f"layout must be 0 or 1, not {batchwise}")
    if x.ndim != 3:
        call.fail(f"X must be a 3-D tensor, not {list(x.shape)}")
    wide = widened(x.transpose(1, 0, 2) if batchwise else x)
    reversed_flags = _reversed_flags(call)
    directions = _directions(call, wide, weights, gates, activations(call, default_activations, len(reversed_flags)))
    hidden = weights[1].shape[2]
    states = [_initial(call, values, wide, len(directions), hidden, bool(batchwise)) for values in initial]
    lengths = _lengths(call, sequence_lens, wide)
    y = numpy.zeros((wide.shape[0], len(directions), wide.shape[1], hidden), wide.dtype)
    for index, (direction, is_reversed) in enumerate(zip(directions, reversed_flags, strict=True)):
        order = _order(wide, lengths) if is_reversed else None
        inputs = wide if order is None else wide[order]
        outputs, last = _steps(step_of(direction, index), direction, inputs, [s[index] for s in states], lengths)
        y[:, index] = outputs if order is None else outputs[order]
        for state, value in zip(states, last, strict=True):
            state[index] = value
    if batchwise:
        y = y.transpose(2, 0, 1, 3)
        states = [state.transpose(1, 0, 2) for state in states]
    return tuple(as_dtype(values, x.dtype) for values in (y, *states))


def _steps(
    step: Step, direction: _Direction, x: Array, initial: Sequence[Array], lengths: Array | None
) -> tuple[Array, State]:
    steps, batch, size = x.shape
    shares = RowProduct(direction.input_weights)(x.reshape(steps * batch, size)) + direction.input_bias
    shares = shares.reshape(steps, batch, -1)
    outputs = numpy.zeros((steps, batch, direction.state_weights.shape[0]), x.dtype)
    state: State = tuple(initial)
    for time in range(steps):
        after = step(shares[time], state)
        if lengths is None:
            state = after
            outputs[time] = after[0]
        else:
            active = (time < lengths)[:, None]
            state = tuple(numpy.where(active, new, old) for new, old in zip(after, state, strict=True))
            outputs[time] = numpy.where(active, after[0], outputs.dtype.type(0))
    return outputs, state


def _reversed_flags(call: Call) -> list[bool]:
    direction = call.attributes["direction"]
    # "foward" is the default that GRU-1's schema spells.
    flags = {"forward": [False], "foward": [False], "reverse": [True], "bidirectional": [False, True]}
    if direction not in flags:
        call.fail(f"direction must be forward, reverse or bidirectional, not {direction!r}")
    return flags[direction]


def _directions(
    call: Call, x: Array, weights: tuple[Array, Array, Array | None], gates: int, functions: list[list[Activation]]
) -> list[_Direction]:
    w, r, b = weights
    count = len(functions)
    hidden = call.attributes.get("hidden_size", r.shape[-1])
    rows = gates * hidden
    if w.shape != (count, rows, x.shape[2]) or r.shape != (count, rows, hidden):
        call.fail(
            f"W and R must have the shapes {[count, rows, x.shape[2]]} and {[count, rows, hidden]}, "
            f"not {list(w.shape)} and {list(r.shape)}"
        )
    if b is not None and b.shape != (count, 2 * rows):
        call.fail(f"B must have the shape {[count, 2 * rows]}, not {list(b.shape)}")
    bias = numpy.zeros((count, 2 * rows), x.dtype) if b is None else widened(b)
    return [
        _Direction(
            numpy.ascontiguousarray(widened(w[index]).T),
            numpy.ascontiguousarray(widened(r[index]).T),
            bias[index, :rows],
            bias[index, rows:],
            clipped(call, functions[index]),
        )
        for index in range(count)
    ]


def _initial(call: Call, values: Array | None, x: Array, directions: int, hidden: int, batchwise: bool) -> Array:
    """A copy of the initial state as (num_directions, batch_size, hidden_size), zeros where it is absent."""
    shape = (directions, x.shape[1], hidden)
    if values is None:
        return numpy.zeros(shape, x.dtype)
    values = values.transpose(1, 0, 2) if batchwise and values.ndim == 3 else values
    if values.shape != shape:
        call.fail(f"the initial state must have num_directions, batch_size, hidden_size {list(shape)}")
    return numpy.array(widened(values))


def _lengths(call: Call, sequence_lens: Array | None, x: Array) -> Array | None:
    if sequence_lens is None:
        return None
    if sequence_lens.shape != x.shape[1:2]:
        call.fail(f"sequence_lens must have the shape ({x.shape[1]}), not {list(sequence_lens.shape)}")
    if sequence_lens.size and not (sequence_lens.min() >= 0 and sequence_lens.max() <= x.shape[0]):
        call.fail(f"sequence_lens must be between 0 and {x.shape[0]}")
    return sequence_lens


def _order(x: Array, lengths: Array | None) -> tuple[Array, Array]:
    """The index that reverses each sequence of the batch within its length."""
    times = numpy.arange(x.shape[0])[:, None]
    ends = numpy.full(x.shape[1], x.shape[0]) if lengths is None else lengths
    return numpy.where(times < ends, ends - 1 - times, times), numpy.arange(x.shape[1])[None, :]
