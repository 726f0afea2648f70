"""Recurrent networks.

RNN   7: -output_sequence · 14: +layout · 22: +bfloat16
GRU   3: +linear_before_reset, Y_h need not be asked for · 7: -output_sequence · 14: +layout · 22: +bfloat16
LSTM  7: -output_sequence · 14: +layout · 22: +bfloat16
"""

from __future__ import annotations

import math

import numpy

from opsetlift.rulebook.rule import Fallback, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site, has_attribute, known_shape, pop_attribute
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round
from opsetlift_rules.helpers.recurrent_steps import ACTIVATIONS, compute_each_step

_INITIAL_STATES = {"RNN": (5,), "GRU": (5,), "LSTM": (5, 6)}
"""The inputs that have the layout of a state: initial_h, and initial_c."""


def remove_output_sequence(site: Site) -> None:
    """Remove output_sequence: from 7 on the name of output Y asks for it."""
    site.remove_attribute("output_sequence")


def set_output_sequence(site: Site) -> None:
    """Set output_sequence=1 where Y is asked for: below 7 runtimes may leave it out otherwise."""
    if site.output(0):
        site.set_attribute("output_sequence", 1)


def correct_the_misspelt_direction(site: Site) -> None:
    """Write direction "forward" for "foward", the misspelt default of GRU-1."""
    if site.attribute("direction") == "foward":
        site.set_attribute("direction", "forward")


def remove_linear_before_reset(site: Site) -> None:
    """Remove linear_before_reset=0 of GRU-3, the behaviour of GRU-1; write direction and ask for Y_h.

    The default direction of GRU-1 is misspelt, and Y_h is required.
    """
    if pop_attribute(site, "linear_before_reset", 0):
        site.refuse(
            Why.NO_EQUIVALENT,
            (
                "linear_before_reset=1 has no equivalent below opset 3: GRU resets the hidden state before "
                "the linear transformation"
            ),
        )
    if not has_attribute(site, "direction"):
        site.set_attribute("direction", "forward")
    site.ask_for_outputs([1])


def transpose_batch_to_the_second_axis(site: Site) -> None:
    """Transpose inputs and outputs of a node with layout=1: below 14 the shapes are [time, batch, ...]."""
    if not pop_attribute(site, "layout", 0):
        return
    op = site.op
    inputs = site.inputs
    for position in (0, *_INITIAL_STATES[site.node.op_type]):
        if site.input(position):
            inputs[position] = op.Transpose(inputs[position], perm=[1, 0, 2])
    results = site.op.copy(*inputs)
    sequence, *states = (results,) if isinstance(results, str) else results
    site.replace(
        op.Transpose(sequence, perm=[2, 0, 1, 3]) if site.output(0) else None,
        *(
            op.Transpose(state, perm=[1, 0, 2]) if site.output(position) else None
            for position, state in enumerate(states, 1)
        ),
    )


def _names_the_defaults(site: Site) -> bool:
    given = [name.decode() for name in site.attribute("activations", [])]
    defaults = ACTIVATIONS[site.node.op_type]
    return given in (defaults, 2 * defaults)


def leave_out_defaults_or_write_what_is_left_out(site: Site) -> None:
    """Leave out activations that are the defaults, which some runtimes do not read; else write what is left out."""
    if not _names_the_defaults(site):
        write_what_is_left_out(site)
        return
    site.remove_attribute("activations")
    results = site.op.copy(*site.inputs)
    # A new node, which is looked at in its turn.
    site.replace(*((results,) if isinstance(results, str) else results))


def write_what_is_left_out(site: Site) -> None:
    """Write what runtimes may need: hidden_size, zeros for a missing bias, the layout of all of them, all outputs.

    Some take one that stands alone for another, or end where one is missing. Where nothing is left out, outputs that
    nothing reads are: others take no more than the first.
    """
    recurrence = known_shape(site, 2)
    lacks_bias = not site.input(3) and bool(site.node.op_type == "LSTM" or site.attribute("linear_before_reset", 0))
    outputs = range(1 + len(_INITIAL_STATES[site.node.op_type]))
    is_complete = len(site.node.output) == len(outputs) and all(site.node.output)
    if is_complete and has_attribute(site, "hidden_size") and not lacks_bias and not site.attribute("layout", 0):
        site.keep_outputs(1 + max(filter(site.is_read, outputs), default=0))
        return
    site.ask_for_outputs(outputs)
    if recurrence is not None and not has_attribute(site, "hidden_size"):
        site.set_attribute("hidden_size", recurrence[-1])
    if recurrence is not None and lacks_bias:
        zeros = numpy.zeros([recurrence[0], 2 * recurrence[1]], numpy_dtype(site.dtype(0)))
        site.set_input(3, site.constant(zeros, hint="bias"))
    transpose_batch_to_the_second_axis(site)


def compute_directions_or_steps_apart(site: Site) -> None:
    """Write each direction by itself, with all that may be left out; where that does not help, the steps.

    The last state is the last element of a sequence, or the first one where it is read backwards. What reads a sequence
    backwards and leaves nothing out reads the reversed one forwards.
    """
    if site.attribute("layout", 0):
        # A new node, which is looked at in its turn.
        transpose_batch_to_the_second_axis(site)
    elif not site.computes(site.node.op_type, T=site.dtype(0)) or not _compute_directions_apart(site):
        compute_each_step(site)


def _compute_directions_apart(site: Site) -> bool:
    shape, recurrence = known_shape(site, 0), known_shape(site, 2)
    weights = {position: site.content(position) for position in _CONSTANTS if site.input(position)}
    if shape is None or recurrence is None or not math.prod(shape) or any(one is None for one in weights.values()):
        return False
    is_plain = not site.input(_LENGTHS) and not site.input(_PEEPHOLES)
    if not is_plain or site.is_read(_CELL) or not _names_the_defaults_or_none(site):
        return False
    length, batch, _ = shape
    directions, _, hidden_size = recurrence
    states, dtype = _INITIAL_STATES[site.node.op_type], numpy_dtype(site.dtype(0))
    weights.setdefault(_BIAS, numpy.zeros((directions, 2 * recurrence[1]), dtype))
    for position in states:
        weights.setdefault(position, numpy.zeros((directions, batch, hidden_size), dtype))
    direction = site.attribute("direction", "forward")
    has_all_inputs = len(weights) == sum(map(bool, site.inputs[1:])) and has_attribute(site, "hidden_size")
    op = site.op_at(opsets.SLICE_INPUTS)
    if directions == 1 and has_all_inputs and list(map(bool, site.node.output)) == [True]:
        if direction == "forward" or length > _LONGEST_REVERSED:
            return False
        results = site.op.copy(_reversed(op, site.input(0), length), *site.inputs[1:], direction="forward")
        site.replace(_reversed(op, results, length))
        return True
    site.remove_attribute("activations")
    sequences, last = [], []
    for position, one in enumerate(("forward", "reverse") if direction == "bidirectional" else (direction,)):
        inputs = [site.input(0), *[""] * max(states)]
        for place, value in weights.items():
            assert value is not None
            inputs[place] = site.constant(value[position : position + 1], hint="part")
        sequences.append(site.op.copy(*inputs, outputs=1, direction=one, hidden_size=hidden_size))
        end = 0 if one == "reverse" else length - 1
        bounds = [site.constant([number], "int64", "bound") for number in (end, end + 1, 0)]
        shape_of_state = site.constant([1, batch, hidden_size], "int64", "shape")
        if site.is_read(1):
            last.append(op.Reshape(op.Slice(sequences[-1], *bounds), shape_of_state))
    parts = [(sequences, 1), *([(last, 0)] if last else [])]
    site.replace(*(op.Concat(*some, axis=axis) if len(some) > 1 else some[0] for some, axis in parts))
    return True


def _reversed(op: Operators, sequence: str, length: int) -> str:
    if length == 1:
        return sequence
    elements = op.Split(sequence, axis=0, split=[1] * length, outputs=length)
    return str(op.Concat(*reversed(elements), axis=0))


def _names_the_defaults_or_none(site: Site) -> bool:
    return not has_attribute(site, "activations") or _names_the_defaults(site)


_BIAS, _LENGTHS, _PEEPHOLES, _CELL = 3, 4, 7, 2
_CONSTANTS = (1, 2, 3, 5, 6)
"""Inputs that are weights, biases and states."""
_LONGEST_REVERSED = 512


_TRANSPOSED = "7 transposes R in the formulas, but its layout is unchanged: a correction of the formulas"
_BEFORE_RESET = "without linear_before_reset, 3 computes the same as 1; it adds the defaults of alpha and beta"
_LISTS = "14 reformats names and formulas as lists; without layout, nothing else differs"


STEPS = [
    Step("RNN", 1, 7, up=remove_output_sequence, down=set_output_sequence, because=_TRANSPOSED),
    Step("RNN", 7, 14, up=unchanged, down=transpose_batch_to_the_second_axis, because=_LISTS),
    Step("RNN", 14, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("GRU", 1, 3, up=correct_the_misspelt_direction, down=remove_linear_before_reset, because=_BEFORE_RESET),
    Step("GRU", 3, 7, up=remove_output_sequence, down=set_output_sequence, because=_TRANSPOSED),
    Step("GRU", 7, 14, up=unchanged, down=transpose_batch_to_the_second_axis, because=_LISTS),
    Step("GRU", 14, 22, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
    Step("LSTM", 1, 7, up=remove_output_sequence, down=set_output_sequence, because=_TRANSPOSED),
    Step("LSTM", 7, 14, up=unchanged, down=transpose_batch_to_the_second_axis, because=_LISTS),
    Step("LSTM", 14, 22, up=unchanged, down=cast_bfloat16_and_round, because="22 corrects a typo in the shape of P"),
]

_APART = rounding(
    compute_directions_or_steps_apart,
    ulps=512,
    when="each step is computed apart",
    because="the product of a step rounds otherwise, and what follows it carries that on",
)

FALLBACKS = [
    Fallback("RNN", leave_out_defaults_or_write_what_is_left_out, otherwise=_APART),
    Fallback("GRU", leave_out_defaults_or_write_what_is_left_out, otherwise=_APART),
    Fallback("LSTM", leave_out_defaults_or_write_what_is_left_out, otherwise=_APART),
]
