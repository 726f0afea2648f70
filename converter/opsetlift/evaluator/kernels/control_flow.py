"""If, Loop, Scan from version 9 on, SequenceMap; Scan-8, which has a batch axis, is in scan_8.py.

Versions differ in the types that they take, and where noted: If-1 wants equal shapes from both branches; a Scan-9 does
not know negative axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from onnx import GraphProto, TypeProto, ValueInfoProto

from opsetlift.evaluator import values
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes

Value = Any

_SINCE_11 = (11, 13, 16, 19, 21, 23, 24, 25)


@kernel("If", since=(1, *_SINCE_11))
def if_(call: Call, condition: Array) -> tuple[Value, ...]:
    """If-1, 11, 13, 16, 19, 21, 23, 24, 25: The outputs of the branch that the condition chooses.

    Args:
        call: The subgraphs then_branch and else_branch, which take no inputs.
        condition: bool, one element.

    Returns:
        The branch's outputs, tensors, sequences or optionals.
    """
    branches: list[GraphProto] = [call.attributes["then_branch"], call.attributes["else_branch"]]
    for branch in branches:
        check_output_count(call, branch, len(call.node.output))
    for one, other in zip(branches[0].output, branches[1].output, strict=True):
        _check_branches_agree(call, one, other)
    if condition.size != 1:
        call.fail(f"cond must contain a single element, not {condition.size}")
    return tuple(call.run_subgraph("then_branch" if condition.item() else "else_branch", []))


def _check_branches_agree(call: Call, one: ValueInfoProto, other: ValueInfoProto) -> None:
    types = dtypes.type_string(one.type), dtypes.type_string(other.type)
    if None not in types and types[0] != types[1]:
        call.fail(f"the branches' outputs {one.name!r} and {other.name!r} must be of one type, not {types}")
    shapes = _known_shape(one.type), _known_shape(other.type)
    if call.since_version == 1 and None not in shapes and shapes[0] != shapes[1]:
        call.fail(f"the branches' outputs {one.name!r} and {other.name!r} must be of one shape, not {shapes}")


def _known_shape(declared: TypeProto) -> list[int] | None:
    if not declared.tensor_type.HasField("shape"):
        return None
    sizes = declared.tensor_type.shape.dim
    return [size.dim_value for size in sizes] if all(size.HasField("dim_value") for size in sizes) else None


def check_output_count(call: Call, body: GraphProto, expected: int) -> None:
    """Refuse a subgraph with another number of outputs than the text asks for."""
    if len(body.output) != expected:
        call.fail(f"the subgraph must have {expected} outputs, not {len(body.output)}")


@kernel("Loop", since=(1, *_SINCE_11))
def loop(
    call: Call, trip_count: Array | None = None, condition: Array | None = None, *states: Value
) -> tuple[Value, ...]:
    """Loop-1, 11, 13, 16, 19, 21, 23, 24, 25: The subgraph again and again, its states handed on.

    Args:
        call: The subgraph body.
        trip_count: int64 scalar, M; absent, no limit.
        condition: bool scalar; absent, true.
        *states: The loop-carried dependencies, tensors, sequences or optionals.

    Returns:
        The last states, then each scan output [iterations, *shape of one].
    """
    body: GraphProto = call.attributes["body"]
    check_output_count(call, body, 1 + len(call.node.output))
    if len(body.output) - 1 < len(states):
        call.fail(f"the body gives {len(body.output) - 1} values for {len(states)} loop-carried dependencies")
    for name, tensor in (("M", trip_count), ("cond", condition)):
        if tensor is not None and tensor.size != 1:
            call.fail(f"{name} must contain a single element, not {tensor.size}")
    iterations = None if trip_count is None else int(trip_count.item())
    going = numpy.array(True) if condition is None else condition
    state, columns = list(states), _Columns(call, body.output[1 + len(states) :])
    # The iteration number is a scalar; exporters also declare it with shape [1], which onnxruntime obliges.
    rank = len(body.input[0].type.tensor_type.shape.dim) if body.input else 0
    iteration = 0
    while (iterations is None or iteration < iterations) and (condition is None or going.item()):
        number = numpy.array(iteration, dtype=numpy.int64, ndmin=rank)
        going, *results = call.run_subgraph("body", [number, going, *state])
        if going.dtype != bool or going.size != 1:
            call.fail("the body's first output must be a single bool, the condition")
        state = results[: len(states)]
        columns.append(results[len(states) :])
        iteration += 1
    return (*state, *(columns.stacked(index, 0) for index in range(len(columns))))


class _Columns:
    """The scan outputs while they grow, element by element."""

    def __init__(self, call: Call, declared: Sequence[ValueInfoProto]) -> None:
        self._call = call
        self._declared = list(declared)
        self._elements: list[list[Array]] = [[] for _ in declared]

    def __len__(self) -> int:
        return len(self._elements)

    def append(self, elements: Sequence[Value]) -> None:
        for info, column, element in zip(self._declared, self._elements, elements, strict=True):
            if not isinstance(element, numpy.ndarray):
                self._call.fail(f"scan output {info.name!r} must be a tensor")
            if column and (column[0].shape != element.shape or column[0].dtype != element.dtype):
                self._call.fail(
                    f"scan output {info.name!r} may not change from one iteration to the next: "
                    f"{column[0].dtype}{column[0].shape} became {element.dtype}{element.shape}"
                )
            column.append(element)

    def stacked(self, index: int, axis: int, *, backward: bool = False) -> Array:
        column = self._elements[index][:: -1 if backward else 1]
        like = column[0] if column else empty_element(self._declared[index])
        axis = normalized_axis(self._call, axis, like.ndim + 1, "scan output")
        if column:
            return numpy.stack(column, axis)
        return numpy.empty((*like.shape[:axis], 0, *like.shape[axis:]), like.dtype)


def empty_element(declared: ValueInfoProto) -> Array:
    """Return zeros of the type of a scan output's element where no iteration ran; sizes that are not declared are 0."""
    kind = dtypes.type_string(declared.type)
    dtype = kind and dtypes.dtype_of_type(kind)
    if dtype is None:
        raise ValueError(f"without an iteration the type of scan output {declared.name!r} is unknown: declare it")
    sizes = [size.dim_value for size in declared.type.tensor_type.shape.dim]
    return numpy.full(sizes, "" if dtype == "string" else 0, dtype=dtypes.numpy_dtype(dtype))


def normalized_axis(call: Call, axis: int, rank: int, what: str) -> int:
    """Count the axis of a scan input or output from the front; negative ones came with version 11."""
    if not -rank <= axis < rank:
        call.fail(f"the axis of a {what} of rank {rank} must be in [{-rank}, {rank - 1}], not {axis}")
    if axis < 0 and call.since_version < 11:
        call.fail_if_strict("negative axes came with version 11")
    return axis % rank


def flags(call: Call, attribute: str, count: int) -> list[int]:
    """Return an attribute with a number for each of `count` inputs or outputs, 0 where it is omitted."""
    given: list[int] = call.attributes.get(attribute, [0] * count)
    if len(given) != count:
        call.fail(f"{attribute} must have {count} elements, not {len(given)}")
    if "directions" in attribute and not set(given) <= {0, 1}:
        call.fail(f"{attribute} must be 0 or 1, not {given}")
    return given


def split_scan_inputs(call: Call, inputs: Sequence[Value]) -> tuple[list[Array], list[Array]]:
    """Split the inputs of Scan into the initial states and the tensors to scan."""
    scanned = call.attributes["num_scan_inputs"]
    if not 1 <= scanned <= len(inputs):
        call.fail(f"num_scan_inputs is {scanned}, but there are {len(inputs)} inputs")
    states = len(inputs) - scanned
    body: GraphProto = call.attributes["body"]
    check_output_count(call, body, len(call.node.output))
    if len(body.output) < states:
        call.fail(f"the body gives {len(body.output)} values for {states} state variables")
    return list(inputs[:states]), list(inputs[states:])


def checked_state(call: Call, before: Sequence[Array], after: Sequence[Array]) -> list[Array]:
    """Refuse states of Scan whose shape or dtype changed in an iteration; return those after it."""
    for one, other in zip(before, after, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            call.fail(
                f"state variables keep shape and type in each iteration: {one.dtype}{one.shape} became "
                f"{other.dtype}{other.shape}"
            )
    return list(after)


@kernel("Scan", since=(9, *(version for version in _SINCE_11 if version != 13)))
def scan(call: Call, *inputs: Array) -> tuple[Array, ...]:
    """Scan-9, 11, 16, 19, 21, 23, 24, 25: The subgraph for each element along an axis of the inputs.

    Args:
        call: The subgraph body, num_scan_inputs, and axes and directions of inputs and outputs.
        *inputs: The initial states, then tensors [*, length, *] to scan.

    Returns:
        The last states, then the scan outputs with an axis of that length.
    """
    state, scanned = split_scan_inputs(call, inputs)
    body: GraphProto = call.attributes["body"]
    columns = _Columns(call, body.output[len(state) :])
    axes = flags(call, "scan_input_axes", len(scanned))
    streams = []
    for tensor, axis, backward in zip(scanned, axes, flags(call, "scan_input_directions", len(scanned)), strict=True):
        stream = numpy.moveaxis(tensor, normalized_axis(call, axis, tensor.ndim, "scan input"), 0)
        streams.append(stream[::-1] if backward else stream)
    lengths = {len(stream) for stream in streams}
    if len(lengths) > 1:
        call.fail(f"all scan inputs must have one sequence length, not {sorted(lengths)}")
    output_axes = flags(call, "scan_output_axes", len(columns))
    output_directions = flags(call, "scan_output_directions", len(columns))
    for time in range(lengths.pop()):
        results = call.run_subgraph("body", [*state, *(stream[time] for stream in streams)])
        state = checked_state(call, state, results[: len(state)])
        columns.append(results[len(state) :])
    stacked = (
        columns.stacked(index, axis, backward=bool(backward))
        for index, (axis, backward) in enumerate(zip(output_axes, output_directions, strict=True))
    )
    return (*state, *stacked)


@kernel("SequenceMap", since=[17])
def sequence_map(call: Call, first: list[Array], *additional: Value) -> tuple[Value, ...]:
    """SequenceMap-17: The subgraph for each element of a sequence.

    Args:
        call: The subgraph body.
        first: The sequence that decides how often it runs.
        *additional: Sequences as long, or tensors that every run is given.

    Returns:
        A sequence for each output of the subgraph.
    """
    body: GraphProto = call.attributes["body"]
    check_output_count(call, body, len(call.node.output))
    for value in additional:
        if isinstance(value, list) and len(value) < len(first):
            call.fail(f"a sequence of {len(value)} samples cannot go with one of {len(first)}")
        if isinstance(value, list) and len(value) > len(first):
            call.fail_if_strict(f"a sequence of {len(value)} samples goes with one of {len(first)}")
    samples = [
        call.run_subgraph(
            "body", [sample, *(value[index] if isinstance(value, list) else value for value in additional)]
        )
        for index, sample in enumerate(first)
    ]
    if samples:
        return tuple(list(column) for column in zip(*samples, strict=True))
    return tuple(values.Sequence([], f"seq({dtypes.type_string(info.type)})") for info in body.output)
