"""Scan-8, the version with a batch axis and sequence lengths: each batch entry is scanned by itself, along axis 1."""

from __future__ import annotations

import numpy
from onnx import GraphProto

from opsetlift.evaluator.kernels.control_flow import checked_state, empty_element, flags, split_scan_inputs
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array


@kernel("Scan", since=[8])
def scan_8(call: Call, sequence_lengths: Array | None, *inputs: Array) -> tuple[Array, ...]:
    """Scan-8: The subgraph for each element of sequences, in batches.

    Args:
        call: The subgraph body, num_scan_inputs, directions.
        sequence_lengths: int64 [batch]; absent, all are as long as the axis.
        *inputs: The initial states [batch, *], then tensors [batch, length, *] to scan.

    Returns:
        The last states, then the scan outputs [batch, length, *].
    """
    states, scanned = split_scan_inputs(call, inputs)
    backward = flags(call, "directions", len(scanned))
    if any(tensor.ndim < 2 for tensor in scanned) or any(tensor.ndim < 1 for tensor in states):
        call.fail("state variables have a batch axis, scan inputs a batch and a sequence axis")
    sizes = {tensor.shape[:2] for tensor in scanned}
    if len(sizes) > 1:
        call.fail(f"all scan inputs must have one batch size and one sequence length, not {sorted(sizes)}")
    batch_size, longest = sizes.pop()
    if any(len(state) != batch_size for state in states):
        call.fail(f"the state variables must have the scan inputs' batch size {batch_size}")
    lengths = _checked_lengths(call, sequence_lengths, batch_size, longest)
    final = [state.copy() for state in states]
    body: GraphProto = call.attributes["body"]
    outputs: list[Array | None] = [None] * (len(body.output) - len(states))
    for batch, length in enumerate(lengths):
        state = [initial[batch] for initial in states]
        for time in range(length):
            # A shorter sequence ends early, and read backward it starts at its own end, as in onnxruntime.
            elements = [
                tensor[batch, length - 1 - time if reverse else time]
                for tensor, reverse in zip(scanned, backward, strict=True)
            ]
            results = call.run_subgraph("body", [*state, *elements])
            state = checked_state(call, state, results[: len(states)])
            for index, element in enumerate(results[len(states) :]):
                output = outputs[index]
                if output is None:
                    output = outputs[index] = _padded((batch_size, longest), element)
                if output.shape[2:] != element.shape or output.dtype != element.dtype:
                    call.fail("scan outputs may not change from one iteration to the next")
                output[batch, time] = element
        for place, value in zip(final, state, strict=True):
            place[batch] = value
    declared = body.output[len(states) :]
    return (
        *final,
        *(
            _padded((batch_size, longest), empty_element(info)) if output is None else output
            for output, info in zip(outputs, declared, strict=True)
        ),
    )


def _padded(shape: tuple[int, int], element: Array) -> Array:
    # Past a sequence's end the text leaves the values undefined; onnxruntime gives zeros.
    return numpy.full((*shape, *element.shape), "" if element.dtype == object else 0, dtype=element.dtype)


def _checked_lengths(call: Call, sequence_lengths: Array | None, batch_size: int, longest: int) -> list[int]:
    if sequence_lengths is None:
        return [longest] * batch_size
    if sequence_lengths.shape != (batch_size,):
        call.fail(f"sequence_lens must be of shape [{batch_size}], not {list(sequence_lengths.shape)}")
    if ((sequence_lengths < 0) | (sequence_lengths > longest)).any():
        call.fail(f"sequence_lens must be between 0 and the sequence length {longest}, not {sequence_lengths.tolist()}")
    lengths: list[int] = sequence_lengths.tolist()
    return lengths
