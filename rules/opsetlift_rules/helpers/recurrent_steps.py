"""RNN, GRU and LSTM as the products and activations of their steps, for runtimes that do not compute the operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy

from opsetlift.model.arrays import Array
from opsetlift.rulebook.site import Operators, Site, known_shape
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.dtype_groups import FIRST_FLOATS

_X, _W, _R, _B, _LENGTHS, _H, _C, _P = range(8)
"""The places of the inputs."""

_MOST_STEPS = 512

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
"""The defaults of one direction."""

_DEFAULTS: dict[str, dict[str, float | None]] = {
    **{name: {} for name in ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")},
    "Affine": {"alpha": None, "beta": None},
    "LeakyRelu": {"alpha": 0.01},
    "ThresholdedRelu": {"alpha": 1.0},
    "ScaledTanh": {"alpha": None, "beta": None},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    "Elu": {"alpha": 1.0},
}
"""The parameters of activations with their defaults; None where no text has one, and runtimes differ."""

_Function = Callable[[str], str]


@dataclass(frozen=True)
class _Direction:
    """What the steps of one direction share; W and R are transposed, for products from the right."""

    site: Site
    op: Operators
    input_weights: Array
    state_weights: Array
    input_bias: Array
    state_bias: Array
    peepholes: Array | None
    functions: list[_Function]

    @property
    def hidden_size(self) -> int:
        """The number of columns of a state."""
        return int(self.state_weights.shape[0])

    def constant(self, value: Array, hint: str) -> str:
        return self.site.constant(numpy.ascontiguousarray(value), hint=hint)

    def of_inputs(self, rows: str, columns: slice) -> str:
        """The share of all inputs in some gates: [time * batch, gates]."""
        product = self.op.MatMul(rows, self.constant(self.input_weights[:, columns], "W"))
        return self._with(product, self.input_bias[columns])

    def of_state(self, state: str, columns: slice) -> str:
        """The share of a state in some gates: [batch, gates]."""
        weights = self.constant(self.state_weights[:, columns], "R")
        return self.site.folded(lambda: str(self.op.MatMul(state, weights)), "share")

    def with_state_bias(self, value: str, columns: slice) -> str:
        """What the bias of the state makes of a value of some gates: [batch, gates]."""
        return self._with(value, self.state_bias[columns])

    def _with(self, value: str, bias: Array) -> str:
        return str(self.op.Add(value, self.constant(bias, "B"))) if bias.any() else value


def compute_each_step(site: Site) -> None:
    """Write RNN, GRU or LSTM as the products and activations of its steps, whose number and weights are known.

    The share of the inputs of all steps is one product. Beyond the length of a sequence Y is zero, and a state stays.
    """
    shape, recurrence, dtype = known_shape(site, _X), known_shape(site, _R), site.dtype(_X)
    if shape is None or recurrence is None or not math.prod(shape) or dtype not in FIRST_FLOATS:
        return
    length, batch, input_size = shape
    count, _, hidden_size = recurrence
    weights = {place: site.content(place) for place in (_W, _R, _B, _P) if site.input(place)}
    functions = _functions(site, count)
    if length * count > _MOST_STEPS or functions is None or not _has_the_shapes(site, weights, shape):
        return
    if site.node.op_type == "LSTM" and site.attribute("clip") is not None:
        return  # The texts clip the cells as well, which are the input of an activation; onnxruntime does not.
    op = site.op_at(opsets.SLICE_INPUTS)
    rows = op.Reshape(site.input(_X), site.constant([length * batch, input_size], "int64", "shape"))
    direction = site.attribute("direction", "forward")
    sequences: list[str] = []
    last: list[list[str]] = []
    for index in range(count):
        one = _direction(site, op, weights, index, functions[index])
        states = [_initial(site, op, place, index, (batch, hidden_size)) for place in _states(site)]
        is_reversed = direction == "reverse" or index == 1
        outputs, after = _run(one, rows, states, (length, batch), is_reversed=is_reversed)
        if site.is_read(0):
            of_all = op.Concat(*outputs, axis=0) if length > 1 else outputs[0]
            as_sequence = site.constant([length, 1, batch, hidden_size], "int64", "shape")
            sequences.append(op.Reshape(of_all, as_sequence))
        last.append(after)
    results: list[str | None] = [_joined(op, sequences, 1) if sequences else None]
    as_state = site.constant([1, batch, hidden_size], "int64", "shape")
    for place in range(1, len(site.node.output)):
        parts = [op.Reshape(states[place - 1], as_state) for states in last] if site.is_read(place) else []
        results.append(_joined(op, parts, 0) if parts else None)
    site.rounds()
    site.replace(*results[: len(site.node.output)])


def _has_the_shapes(site: Site, weights: dict[int, Array | None], shape: Sequence[int]) -> bool:
    """Whether the weights are known, and are what the texts ask for: onnx does not compare them."""
    (_, batch, size), recurrence = shape, known_shape(site, _R) or [0, 0, 0]
    count, rows, hidden = recurrence
    gates = _GATES[site.node.op_type]
    expected = {
        _W: (count, rows, size),
        _R: (count, gates * hidden, hidden),
        _B: (count, 2 * rows),
        _P: (count, 3 * hidden),
    }
    lengths = site.content(_LENGTHS) if site.input(_LENGTHS) else None
    return (
        all(value is not None and value.shape == expected[place] for place, value in weights.items())
        and all(
            known_shape(site, place) in (None, [count, batch, hidden]) for place in _states(site) if site.input(place)
        )
        and (lengths is None or lengths.shape == (batch,))
        and count == 1 + (site.attribute("direction", "forward") == "bidirectional")
        and site.attribute("hidden_size", hidden) == hidden
    )


def _states(site: Site) -> tuple[int, ...]:
    return (_H, _C) if site.node.op_type == "LSTM" else (_H,)


def _joined(op: Operators, parts: Sequence[str], axis: int) -> str:
    return str(op.Concat(*parts, axis=axis)) if len(parts) > 1 else parts[0]


def _direction(
    site: Site, op: Operators, weights: dict[int, Array | None], index: int, functions: list[_Function]
) -> _Direction:
    w, r = weights[_W], weights[_R]
    assert w is not None
    assert r is not None
    gates = r.shape[1]
    bias, peepholes = weights.get(_B), weights.get(_P)
    both = numpy.zeros(2 * gates, r.dtype) if bias is None else bias[index]
    own = None if peepholes is None else peepholes[index].reshape(3, -1)
    return _Direction(site, op, w[index].T, r[index].T, both[:gates], both[gates:], own, functions)


def _initial(site: Site, op: Operators, place: int, index: int, shape: tuple[int, int]) -> str:
    """The first state of one direction: [batch, hidden]."""
    if not site.input(place):
        return site.constant(numpy.zeros(shape, numpy_dtype(site.dtype(_X))), hint="state")
    value = site.content(place)
    if value is not None:
        return site.constant(numpy.ascontiguousarray(value[index]), hint="state")
    state = site.input(place)
    if (known_shape(site, _R) or [1])[0] > 1:
        state = op.Slice(state, *(site.constant([bound], "int64", "bound") for bound in (index, index + 1, 0)))
    return str(op.Reshape(state, site.constant(shape, "int64", "shape")))


def _run(
    direction: _Direction, rows: str, states: list[str], sizes: tuple[int, int], *, is_reversed: bool
) -> tuple[list[str], list[str]]:
    """The hidden states of all steps, in the order of time, and the last states."""
    site, op, (length, batch) = direction.site, direction.op, sizes
    step, shares = _STEPS[site.node.op_type](direction, rows)
    parts = [_rows_of_steps(op, share, length, batch) for share in shares]
    lengths = site.content(_LENGTHS) if site.input(_LENGTHS) else numpy.full(batch, length)
    zeros = direction.constant(numpy.zeros((batch, direction.hidden_size), direction.state_weights.dtype), "zeros")
    outputs = [zeros] * length
    for time in reversed(range(length)) if is_reversed else range(length):
        if lengths is not None and lengths.max() <= time:
            continue
        after = step([part[time] for part in parts], states)
        outputs[time] = after[0]
        if lengths is None or lengths.min() <= time:
            is_within = _is_within(site, op, time, batch)
            if site.is_read(0):
                outputs[time] = op.Where(is_within, after[0], zeros)
            after = [op.Where(is_within, new, old) for new, old in zip(after, states, strict=True)]
        states = after
    return outputs, states


def _rows_of_steps(op: Operators, share: str, length: int, batch: int) -> Sequence[str]:
    if length == 1:
        return [share]
    return tuple(op.Split(share, axis=0, split=[batch] * length, outputs=length))


def _is_within(site: Site, op: Operators, time: int, batch: int) -> str:
    """Whether a step is within each sequence of the batch: bool [batch, 1]."""
    shape = site.constant([batch, 1], "int64", "shape")

    def compared() -> str:
        lengths = op.Reshape(op.Cast(site.input(_LENGTHS), to="float"), shape)
        return str(op.Greater(lengths, site.constant(time, "float", "time")))

    return site.folded(compared, "within")


_Step = Callable[[list[str], list[str]], list[str]]
"""From a step's shares of the inputs and the states before it to those after it; the first is the hidden one."""


def _rnn(direction: _Direction, rows: str) -> tuple[_Step, list[str]]:
    op, (f,), every = direction.op, direction.functions, slice(None)

    def step(shares: list[str], states: list[str]) -> list[str]:
        return [f(direction.with_state_bias(op.Add(shares[0], direction.of_state(states[0], every)), every))]

    return step, [direction.of_inputs(rows, every)]


def _gru(direction: _Direction, rows: str) -> tuple[_Step, list[str]]:
    site, op, (f, g), size = direction.site, direction.op, direction.functions, direction.hidden_size
    gates = [slice(start, start + size) for start in range(0, 3 * size, size)]
    is_linear_before_reset = bool(site.attribute("linear_before_reset", 0))
    one = site.constant(1, site.dtype(_X), "one")

    def linear(h: str) -> str:
        return direction.with_state_bias(direction.of_state(h, gates[2]), gates[2])

    def step(shares: list[str], states: list[str]) -> list[str]:
        (h,) = states
        update, reset = (
            f(direction.with_state_bias(op.Add(share, direction.of_state(h, gate)), gate))
            for share, gate in zip(shares[:2], gates[:2], strict=True)
        )
        if is_linear_before_reset:
            candidate = op.Mul(reset, site.folded(lambda: linear(h), "linear"))
        else:
            candidate = linear(op.Mul(reset, h))
        candidate = g(op.Add(shares[2], candidate))
        return [op.Add(op.Mul(op.Sub(one, update), candidate), op.Mul(update, h))]

    return step, [direction.of_inputs(rows, gate) for gate in gates]


def _lstm(direction: _Direction, rows: str) -> tuple[_Step, list[str]]:
    site, op, (f, g, h), size = direction.site, direction.op, direction.functions, direction.hidden_size
    has_peepholes = direction.peepholes is not None
    # All gates at once, and apart where a product with the cell is added: optimisers merge that with parts of a Split.
    columns = [slice(at, at + size) for at in range(0, 4 * size, size)] if has_peepholes else [slice(None)]

    def through_peephole(gate: str, place: int, cell: str) -> str:
        if direction.peepholes is None:
            return gate
        weights = direction.constant(direction.peepholes[place], "P")
        return str(op.Add(gate, site.folded(lambda: str(op.Mul(cell, weights)), "share")))

    def step(shares: list[str], states: list[str]) -> list[str]:
        hidden, cell = states
        gates = [
            direction.with_state_bias(op.Add(share, direction.of_state(hidden, every)), every)
            for share, every in zip(shares, columns, strict=True)
        ]
        parts = gates if has_peepholes else op.Split(*gates, axis=1, split=[size] * 4, outputs=4)
        i, o, forget, candidate = parts
        i = f(through_peephole(i, 0, cell))
        if site.attribute("input_forget", 0):
            forget = op.Sub(site.constant(1, site.dtype(_X), "one"), i)
        else:
            forget = f(through_peephole(forget, 2, cell))
        cell = op.Add(op.Mul(forget, cell), op.Mul(i, g(candidate)))
        return [op.Mul(f(through_peephole(o, 1, cell)), h(cell)), cell]

    return step, [direction.of_inputs(rows, every) for every in columns]


_STEPS = {"RNN": _rnn, "GRU": _gru, "LSTM": _lstm}


def _functions(site: Site, directions: int) -> list[list[_Function]] | None:
    """The activations of each direction; each takes the next alpha and beta, if it has one."""
    defaults = ACTIVATIONS[site.node.op_type]
    names = [name.decode() for name in site.attribute("activations", [])] or defaults * directions
    given = {name: [*site.attribute(f"activation_{name}", [])] for name in ("alpha", "beta")}
    functions: list[_Function] = []
    for name in names:
        found = {one: given[one].pop(0) if given[one] else value for one, value in _DEFAULTS.get(name, {}).items()}
        parameters = {one: value for one, value in found.items() if value is not None}
        if name not in _DEFAULTS or len(parameters) < len(found):
            return None
        functions.append(_function(site, name, parameters))
    if len(functions) != len(defaults) * directions:
        return None
    return [functions[at : at + len(defaults)] for at in range(0, len(functions), len(defaults))]


def _function(site: Site, name: str, parameters: dict[str, float]) -> _Function:
    op, limit = site.op_at(opsets.SLICE_INPUTS), site.attribute("clip")

    def number(parameter: str) -> str:
        return site.constant(parameters[parameter], site.dtype(_X), parameter)

    def function(value: str) -> str:
        if limit is not None:
            value = op.Clip(value, min=-limit, max=limit)
        if name == "Affine":
            return str(op.Add(op.Mul(value, number("alpha")), number("beta")))
        if name == "ScaledTanh":
            return str(op.Mul(op.Tanh(op.Mul(value, number("beta"))), number("alpha")))
        return str(getattr(op, name)(value, **parameters))

    return function
