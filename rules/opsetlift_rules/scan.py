"""Scans.

Scan  8: introduced · 9: no batch axis, no sequence_lens, axes and directions of its own for each input and output ·
      11: axes may be negative · 16, 19, 21, 23, 24, 25: more types
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import TypeProto

from opsetlift.rulebook.rule import Introduction, Step, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.specification.dtypes import tensor_type_proto
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.axes import END, counted_from_front
from opsetlift_rules.helpers.bodies import cast_values_around_the_body, subgraph_input_types
from opsetlift_rules.helpers.counting import endless
from opsetlift_rules.helpers.zeros import zero


def make_axes_non_negative(site: Site) -> None:
    """Make the axes of Scan-11 non-negative, as Scan-9 requires; those of outputs count their dimensions."""
    because = "below opset 11 a negative axis must be made non-negative"
    streams = len(site.inputs) - site.attribute("num_scan_inputs")
    for attribute, names in (
        ("scan_input_axes", site.inputs[streams:]),
        ("scan_output_axes", list(site.node.output)[streams:]),
    ):
        axes = site.attribute(attribute, [])
        if min(axes, default=0) < 0:
            ranks = [site.rank(name, because=because) for name in names]
            counted = [
                counted_from_front(site, [axis], rank, name=attribute)[0]
                for axis, rank in zip(axes, ranks, strict=True)
            ]
            site.set_attribute(attribute, counted)


# One sequence, along axis 0


def by_scan(site: Site, op: Operators, states: Sequence[str], streams: Sequence[str], backward: list[int]) -> list[str]:
    """Emit a Scan along axis 0 of each stream, with the unchanged body."""
    results = op.Scan(
        *states,
        *streams,
        body=site.attribute("body"),
        num_scan_inputs=len(streams),
        scan_input_directions=backward if any(backward) else None,
        outputs=len(site.node.output),
    )
    return _listed(results)


def by_loop(site: Site, op: Operators, states: Sequence[str], streams: Sequence[str], backward: list[int]) -> list[str]:
    """Emit a Loop over axis 0 of each stream: the iteration number selects the elements."""
    length = _size(site, op, streams[0], 0)
    last = op.Sub(length, site.constant(1, "int64", "one")) if any(backward) else ""

    def iteration(inner: Operators, number: str, going: str, *states: str) -> list[str]:
        places = [inner.Sub(last, number) if reverse else number for reverse in backward]
        elements = [_element(inner, stream, place) for stream, place in zip(streams, places, strict=True)]
        return [going, *inner.inline("body", *states, *elements, keep_names=True)]

    types = subgraph_input_types(site, "body")[: len(states)]
    loop = site.op_at(opsets.AXES_AS_INPUTS).subgraph(iteration, takes=[("int64", []), ("bool", []), *types])
    return _listed(op.Loop(length, endless(site), *states, body=loop, outputs=len(site.node.output)))


Run = Callable[[Site, Operators, Sequence[str], Sequence[str], list[int]], list[str]]


def _listed(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _size(site: Site, op: Operators, value: str, axis: int) -> str:
    return _element(op, op.Shape(value), site.constant(axis, "int64", "axis"))


def _element(op: Operators, value: str, place: str) -> str:
    """Written for an opset at which no place is negative."""
    return str(op.at(opsets.NON_NEGATIVE_INDICES).Gather(value, place, axis=0))


# Scan-8: a batch of sequences, each with a length of its own


def add_a_scan_over_the_batch(site: Site) -> None:
    """Replace Scan-8 with a Scan-9 over the batch around one over time: version 9 has no batch axis."""
    lengths, states, streams = _batch(site)
    values = [*states, *streams]

    def entry(op: Operators, *taken: str) -> list[str]:
        length = taken[0] if lengths else ""
        own = taken[1:] if lengths else taken
        return _entry(site, op, by_scan, own[: len(states)], own[len(states) :], length)

    scanned = [lengths, *values] if lengths else values
    body = site.op_at(opsets.AXES_AS_INPUTS).subgraph(entry, takes=[_type_of_entry(site, name) for name in scanned])
    results = site.op.Scan(*scanned, body=body, num_scan_inputs=len(scanned), outputs=len(site.node.output))
    site.replace(*_with_time(site, _listed(results), states, streams))


def replace_with_loops(site: Site) -> None:
    """Replace Scan-8 with a Loop over the batch around one over time.

    States [batch, *shape], scanned inputs and outputs [batch, length, *shape], of any dtype; lengths int64 [batch].
    """
    lengths, states, streams = _batch(site)

    def entry(op: Operators, number: str, going: str) -> list[str]:
        taken = [_element(op, name, number) for name in (*states, *streams)]
        length = _element(op, lengths, number) if lengths else ""
        results = _entry(site, op, by_loop, taken[: len(states)], taken[len(states) :], length)
        return [going, *results]

    body = site.op_at(opsets.AXES_AS_INPUTS).subgraph(entry, takes=[("int64", []), ("bool", [])])
    op = site.op_at(opsets.AXES_AS_INPUTS)
    results = op.Loop(_size(site, op, streams[0], 0), endless(site), body=body, outputs=len(site.node.output))
    site.replace(*_with_time(site, _listed(results), states, streams))


def _with_time(site: Site, results: list[str], states: Sequence[str], streams: Sequence[str]) -> list[str]:
    """Of a batch of none, the scan outputs are still as long as the sequences; what no entry gave, nobody measured."""
    batch_and_time = (site.shape(streams[0]) or [None])[:2]
    if isinstance(batch_and_time[-1], int) or (isinstance(batch_and_time[0], int) and batch_and_time[0]):
        return results
    op = site.op_at(opsets.BFLOAT16)
    zero, two, last = (site.constant([place], "int64", "place") for place in (0, 2, END))
    for position in range(len(states), len(results)):
        result, output = results[position], site.output(position)
        site.op.declare(result, site.dtype(output), site.shape(output))
        sizes = op.Slice(op.Shape(streams[0]), zero, two), op.Slice(op.Shape(result), two, last)
        results[position] = op.Reshape(result, op.Concat(*sizes, axis=0))
    return results


def _batch(site: Site) -> tuple[str, list[str], list[str]]:
    """The lengths ("" where all sequences are equally long), the states and the sequences."""
    values = site.inputs[1:]
    count = len(values) - site.attribute("num_scan_inputs")
    if site.input(0):
        _check_padding(site, list(site.node.output)[count:])
    return site.input(0), values[:count], values[count:]


def _check_padding(site: Site, outputs: Sequence[str]) -> None:
    """Refuse possibly empty sequences whose outputs have no declared element shape."""
    lengths = site.constant_value(0)
    if lengths is not None and (lengths > 0).all():
        return
    for name in outputs:
        shape = site.shape(name)
        if shape is None or not all(isinstance(dim, int) for dim in shape[2:]):
            site.refuse(
                Why.SHAPE_UNKNOWN,
                f"a sequence may be empty, and then the element shape of {name!r} is unknown: declare its shape",
            )


def _type_of_entry(site: Site, name: str) -> TypeProto:
    """The type of a value without the batch axis."""
    shape = site.shape(name)
    return tensor_type_proto(site.dtype(name), None if shape is None else shape[1:])


def _entry(
    site: Site, op: Operators, run: Run, states: Sequence[str], streams: Sequence[str], length: str
) -> list[str]:
    """The results of one entry of the batch; a shorter sequence ends, in either direction, at its own length."""
    own = [_first(site, op, stream, length) for stream in streams] if length else streams
    results = run(site, op, states, own, site.attribute("directions") or [0] * len(streams))
    for position, (result, output) in enumerate(zip(results, site.node.output, strict=True)):
        shape = site.shape(output)
        inner = None if shape is None else shape[1:]
        if inner and length and position >= len(states):
            inner[0] = None
        site.op.declare(result, site.dtype(output), inner)
        if length and position >= len(states):
            results[position] = _padded(site, op, result, site.dtype(output), length, streams[0])
    return results


def _first(site: Site, op: Operators, stream: str, length: str) -> str:
    zero = site.constant([0], "int64", "zero")
    return str(op.Slice(stream, zero, op.Unsqueeze(length, zero), zero))


def _padded(site: Site, op: Operators, result: str, dtype: str, length: str, longest: str) -> str:
    """Pad a result with zeros to the length of the longest sequence, as runtimes do."""
    missing = op.Unsqueeze(op.Sub(_size(site, op, longest, 0), length), site.constant([0], "int64", "zero"))
    element = op.Slice(op.Shape(result), site.constant([1], "int64", "one"), site.constant([END], "int64", "last"))
    filler = op.Expand(zero(site, dtype), op.Concat(missing, element, axis=0))
    return str(op.Concat(result, filler, axis=0))


# From 9 down: axes and directions become other nodes


def add_a_batch_axis(site: Site) -> None:
    """Write Scan-9 as Scan-8 with a batch of one; below 8 as a Loop.

    Scan-8 runs along axis 1, forward or backward, and stacks results in that order; other axes and directions become
    Transpose and Slice.
    """
    states, streams = _sequence(site)
    backward = site.attribute("scan_input_directions") or [0] * len(streams)
    if site.target < opsets.SCAN:
        results = by_loop(site, site.op_at(opsets.AXES_AS_INPUTS), states, streams, backward)
    else:
        op = site.op
        batches = [op.Unsqueeze(name, axes=[0]) for name in (*states, *streams)]
        scanned = op.Scan(
            "",
            *batches,
            body=site.attribute("body"),
            num_scan_inputs=len(streams),
            directions=backward if any(backward) else None,
            outputs=len(site.node.output),
        )
        for result, output in zip(_listed(scanned), site.node.output, strict=True):
            site.op.declare(result, site.dtype(output), None)
        results = [op.Squeeze(result, axes=[0]) for result in _listed(scanned)]
    _give_in_order(site, results, len(states))


def _sequence(site: Site) -> tuple[list[str], list[str]]:
    """The states, and the sequences with their axis in front."""
    count = len(site.inputs) - site.attribute("num_scan_inputs")
    streams = site.inputs[count:]
    for position, axis in enumerate(site.attribute("scan_input_axes", [])):
        if axis:
            rank = site.rank(streams[position], because="its scanned axis is moved to the front")
            perm = [axis, *(other for other in range(rank) if other != axis)]
            streams[position] = site.op.Transpose(streams[position], perm=perm)
    return site.inputs[:count], streams


def _give_in_order(site: Site, results: list[str], states: int) -> None:
    """Replace the outputs: those with direction 1 are reversed, and their axis is transposed to its position."""
    outputs = len(results) - states
    directions = site.attribute("scan_output_directions") or [0] * outputs
    axes = site.attribute("scan_output_axes") or [0] * outputs
    for position, (backward, axis) in enumerate(zip(directions, axes, strict=True), states):
        output = site.output(position)
        shape = site.shape(output)
        in_front = None if shape is None else [shape[axis], *shape[:axis], *shape[axis + 1 :]]
        site.op.declare(results[position], site.dtype(output), in_front)
        if backward:
            results[position] = _turned_around(site, results[position])
        if axis:
            rank = site.rank(output, because="its scanned axis is moved from the front")
            perm = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
            results[position] = site.op.Transpose(results[position], perm=perm)
    site.replace(*results)


def _turned_around(site: Site, value: str) -> str:
    op = site.op_at(opsets.BFLOAT16)
    bounds = [[-1], [-(2**63)], [0], [-1]]
    return str(op.Slice(value, *(site.constant(bound, "int64", "bounds") for bound in bounds)))


STEPS = [
    Step("Scan", 8, 9, up=add_a_scan_over_the_batch, down=add_a_batch_axis),
    Step("Scan", 9, 11, up=unchanged, down=make_axes_non_negative, because="11 adds negative axes"),
    Step("Scan", 11, 16, up=unchanged, down=cast_values_around_the_body),
]

INTRODUCTIONS = [Introduction("Scan", 8, down=replace_with_loops)]
