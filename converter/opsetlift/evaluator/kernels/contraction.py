"""Einstein summation as stacks of matrix products: letters that both operands and the result have index the stack."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy

from opsetlift.evaluator.kernels.accumulation import product, total
from opsetlift.evaluator.kernels.numeric import is_float
from opsetlift.model.arrays import Array

Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Labelled:
    """An array with a label for each axis, none of them twice."""

    values: Array
    labels: Labels

    def laid_out(self, labels: Sequence[str], sizes: dict[str, int]) -> Array:
        """With these axes, in this order; an axis that is missing or of size 1 repeats what there is."""
        order = [self.labels.index(label) for label in labels if label in self.labels]
        shape = [self.values.shape[self.labels.index(label)] if label in self.labels else 1 for label in labels]
        repeated = self.values.transpose(order).reshape(shape)
        return numpy.broadcast_to(repeated, [sizes[label] for label in labels])

    def summed(self, kept: Collection[str]) -> _Labelled:
        """Without the labels that are not `kept`."""
        axes = tuple(axis for axis, label in enumerate(self.labels) if label not in kept)
        if not axes:
            return self
        labels = tuple(label for label in self.labels if label in kept)
        if is_float(self.values.dtype):
            return _Labelled(total(self.values, axes).astype(self.values.dtype), labels)
        return _Labelled(numpy.asarray(self.values.sum(axis=axes, dtype=self.values.dtype)), labels)


def contracted(equation: str, operands: Sequence[Array], reserve: Callable[[int], None]) -> Array:
    """Sum products as numpy.einsum does, from left to right, as onnxruntime has it.

    The text leaves the order open, on which results with infinities depend.

    Args:
        equation: Einstein summation with a term for each operand.
        operands: Arrays of one numeric dtype.
        reserve: Is told how many elements a product has.

    Raises:
        ValueError: Shapes and equation do not fit.
    """
    inputs, arrow, result = equation.partition("->")
    terms = inputs.split(",")
    ellipsis = max(x.ndim - len(term.replace("...", "")) for term, x in zip(terms, operands, strict=True))
    named = [_labels(term, ellipsis) for term in terms]
    output = _labels(result, ellipsis) if arrow else _implicit_output(named)
    _check_output(output, named)
    if len(operands) == 1 and ellipsis and "..." in inputs and "..." not in result and arrow:
        raise ValueError("the output lacks the ellipsis")
    sizes = _sizes(named, operands)
    parts = [_without_repetition(x, labels) for x, labels in zip(operands, named, strict=True)]
    done = parts[0]
    for index, part in enumerate(parts[1:], start=1):
        later = {label for labels in named[index + 1 :] for label in labels}
        done = _of_two(done, part, later.union(output), sizes, reserve)
    done = done.summed(output)
    return numpy.ascontiguousarray(done.laid_out(output, sizes)).reshape([sizes[label] for label in output])


def _labels(term: str, ellipsis: int) -> Labels:
    before, dots, after = term.partition("...")
    return (*before, *(f"...{axis}" for axis in range(ellipsis) if dots), *after)


def _implicit_output(named: Sequence[Labels]) -> Labels:
    """The dimensions of the ellipsis, then the letters that occur once, in alphabetical order."""
    every = [label for labels in named for label in labels]
    dots = sorted({label for label in every if label.startswith("...")})
    return (*dots, *sorted(label for label in every if len(label) == 1 and every.count(label) == 1))


def _check_output(output: Labels, named: Sequence[Labels]) -> None:
    known = {label for labels in named for label in labels}
    for label in output:
        if label not in known:
            raise ValueError(f"the output has {label[:3]!r}, which no input has")
        if output.count(label) > 1:
            raise ValueError(f"the output has {label[:3]!r} twice")


def _sizes(named: Sequence[Labels], operands: Sequence[Array]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, operand in zip(named, operands, strict=True):
        for label, size in zip(labels, operand.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise ValueError(f"{label[:3]!r} stands for {known} and for {size}")
    return sizes


def _without_repetition(values: Array, labels: Labels) -> _Labelled:
    """The diagonal of axes that have the same label."""
    for label in labels:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if values.shape[first] != values.shape[second]:
                raise ValueError(f"{label[:3]!r} stands for {values.shape[first]} and for {values.shape[second]}")
            values = numpy.diagonal(values, axis1=first, axis2=second)
            labels = (*(kept for axis, kept in enumerate(labels) if axis not in (first, second)), label)
    return _Labelled(values, labels)


def _of_two(
    a: _Labelled, b: _Labelled, kept: Collection[str], sizes: dict[str, int], reserve: Callable[[int], None]
) -> _Labelled:
    """The products of both, summed over what is not `kept`."""
    every = dict.fromkeys(a.labels + b.labels)
    inner = [label for label in every if label not in kept]
    shared = [label for label in a.labels if label in b.labels and label in kept]
    left = [label for label in a.labels if label in kept and label not in shared]
    right = [label for label in b.labels if label in kept and label not in shared]
    stack, rows, terms, columns = ([sizes[label] for label in labels] for labels in (shared, left, inner, right))
    reserve(math.prod(stack + rows + columns))
    ours = a.laid_out(shared + left + inner, sizes).reshape(*stack, math.prod(rows), math.prod(terms))
    theirs = b.laid_out(shared + inner + right, sizes).reshape(*stack, math.prod(terms), math.prod(columns))
    if inner and not right:
        # The rows meet a vector: each in a product of its own, as those of one matrix may depend on one another.
        ours = ours.reshape(*stack, *rows, 1, math.prod(terms))
        theirs = theirs.reshape(*stack, *(1 for _ in rows), math.prod(terms), 1)
    result = product(ours, theirs) if inner else ours * theirs
    return _Labelled(result.reshape([*stack, *rows, *columns]), (*shared, *left, *right))
