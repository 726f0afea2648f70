"""Sequences and optionals.

Later versions take more types; OptionalHasElement and OptionalGetElement take what is not an optional from 18 on.
"""

from __future__ import annotations

from typing import Any

import numpy

from opsetlift.evaluator import values
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes


@kernel("SequenceEmpty", since=[11], keeps_form=True)
def sequence_empty(call: Call) -> values.Sequence:
    """SequenceEmpty-11: A sequence without elements, of tensors of the attribute dtype."""
    number = call.attributes.get("dtype", dtypes.element_type("float"))
    try:
        return values.Sequence([], f"seq({dtypes.tensor_type(dtypes.dtype_name(number))})")
    except ValueError:
        call.fail(f"dtype {number} is not an element type")


@kernel("SequenceConstruct", since=[11], keeps_form=True)
def sequence_construct(call: Call, *inputs: Array) -> values.Sequence:
    """SequenceConstruct-11: A sequence of tensors of one dtype, of any shapes."""
    return values.Sequence(inputs, f"seq({values.type_of(inputs[0])})")


@kernel("SequenceAt", since=[11])
def sequence_at(call: Call, sequence: values.Sequence, position: Array) -> Array:
    """SequenceAt-11: The tensor at a position, int32 or int64 [], negative from the end."""
    element: Array = sequence[_position(call, position, len(sequence), len(sequence) - 1)]
    return element


@kernel("SequenceInsert", since=[11], keeps_form=True)
def sequence_insert(
    call: Call, sequence: values.Sequence, tensor: Array, position: Array | None = None
) -> values.Sequence:
    """SequenceInsert-11: The sequence with a tensor before a position, or at the end."""
    if sequence.type_string != f"seq({values.type_of(tensor)})":
        call.fail(f"a {values.type_of(tensor)} does not go into a {sequence.type_string}")
    index = len(sequence)
    if position is not None:
        index = _position(call, position, len(sequence), len(sequence))
    return values.Sequence([*sequence[:index], tensor, *sequence[index:]], sequence.type_string)


@kernel("SequenceErase", since=[11], keeps_form=True)
def sequence_erase(call: Call, sequence: values.Sequence, position: Array | None = None) -> values.Sequence:
    """SequenceErase-11: The sequence without the tensor at a position, or the last."""
    last = numpy.array(-1, dtype=numpy.int64)
    index = _position(call, last if position is None else position, len(sequence), len(sequence) - 1)
    return values.Sequence([*sequence[:index], *sequence[index + 1 :]], sequence.type_string)


def _position(call: Call, position: Array, length: int, highest: int) -> int:
    # "It must be a scalar" says the text; the node tests for the operator give a tensor of shape [1], too.
    if position.size != 1:
        call.fail(f"position must be a scalar, not of shape {position.shape}")
    index = int(position.item())
    if not -length <= index <= highest:
        call.fail(f"position must be in [{-length}, {highest}], not {index}")
    return index + length if index < 0 else index


@kernel("SequenceLength", since=[11], reads_no_elements=True)
def sequence_length(call: Call, sequence: values.Sequence) -> Array:
    """SequenceLength-11: The number of elements of a sequence, int64 []."""
    return numpy.array(len(sequence), dtype=numpy.int64)


@kernel("SplitToSequence", since=(11, 24), changes=())
def split_to_sequence(call: Call, tensor: Array, split: Array | None = None) -> values.Sequence:
    """SplitToSequence-11, 24: Parts of a tensor along an axis, as a sequence.

    Args:
        call: axis; keepdims, where the parts have length 1 and split is no list: the text says that it counts only
            where split is absent, and every onnxruntime squeezes for a scalar, too.
        tensor: [*shape], any dtype.
        split: int32 or int64: a scalar is the length of each part, [n] are the lengths; absent, parts of length 1.

    Returns:
        A sequence of tensors of that dtype.
    """
    rank, axis = tensor.ndim, call.attributes["axis"]
    if not -rank <= axis < rank:
        call.fail(f"axis must be in [{-rank}, {rank - 1}], not {axis}")
    size = tensor.shape[axis]
    step = 0
    if split is None or split.ndim == 0:
        step = 1 if split is None else int(split.item())
        if step <= 0:
            call.fail(f"split must be positive, not {step}")
        boundaries = list(range(step, size, step))
    else:
        # "Only positive numbers" says the text, ">= 0" its input's description: onnxruntime goes by the latter.
        if split.ndim != 1 or (split < 0).any() or split.sum() != size:
            call.fail(f"split must be lengths that add up to {size}, not {split.tolist()}")
        boundaries = numpy.cumsum(split)[:-1].tolist()
    has_parts = split.size > 0 if split is not None and split.ndim else size > 0
    parts = numpy.split(tensor, boundaries, axis) if has_parts else []
    if step == 1 and not call.attributes["keepdims"]:
        parts = [part.squeeze(axis) for part in parts]
    return values.Sequence(parts, f"seq({values.type_of(tensor)})")


@kernel("ConcatFromSequence", since=[11])
def concat_from_sequence(call: Call, sequence: values.Sequence) -> Array:
    """ConcatFromSequence-11: The tensors of a sequence joined, or stacked along a new axis."""
    if not sequence:
        call.fail("there is nothing in the sequence to concatenate")
    axis, stacks = call.attributes["axis"], call.attributes["new_axis"]
    rank = sequence[0].ndim + bool(stacks)
    if not -rank <= axis < rank:
        call.fail(f"axis must be in [{-rank}, {rank - 1}], not {axis}")
    shapes = {_shape_without(tensor, None if stacks else axis) for tensor in sequence}
    if len(shapes) > 1:
        call.fail("all tensors must have the same shape, but for the axis to concatenate on")
    return numpy.stack(sequence, axis) if stacks else numpy.concatenate(sequence, axis)


def _shape_without(tensor: Array, axis: int | None) -> tuple[int | None, ...]:
    shape: list[int | None] = list(tensor.shape)
    if axis is not None and -len(shape) <= axis < len(shape):
        shape[axis] = None
    return tuple(shape)


@kernel("Optional", since=(15, 28), changes=(), keeps_form=True)
def optional(call: Call, element: Any = None) -> values.Optional:
    """Optional-15, 28: An optional that holds the input, or none of the attribute type."""
    declared = call.attributes.get("type")
    kind = None if declared is None else dtypes.type_string(declared)
    if element is None and kind is None:
        call.fail("either an input or the attribute type must be given")
    if element is not None:
        kind = values.type_of(element)
    return values.Optional(element, f"optional({kind})")


@kernel("OptionalHasElement", since=(15, 18, 28), changes=(), reads_no_elements=True)
def optional_has_element(call: Call, value: Any = None) -> Array:
    """OptionalHasElement-15, 18, 28: Whether there is an element, bool []."""
    element = value.element if isinstance(value, values.Optional) else value
    return numpy.array(element is not None)


@kernel("OptionalGetElement", since=(15, 18, 28), changes=())
def optional_get_element(call: Call, value: Any) -> Any:
    """OptionalGetElement-15, 18, 28: The element, a tensor or sequence; an empty one is refused."""
    element = value.element if isinstance(value, values.Optional) else value
    if element is None:
        call.fail("an empty optional has no element to get")
    return element
