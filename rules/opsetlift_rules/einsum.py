"""Einsum.

Einsum  12: introduced · 28: +bfloat16
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from opsetlift.rulebook.rule import Fallback, Introduction, Step, rounding, unchanged
from opsetlift.rulebook.site import Operators, Site
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets
from opsetlift_rules.helpers.counting import iota
from opsetlift_rules.helpers.dtype_groups import COMPUTED_IN, FLOATING
from opsetlift_rules.helpers.narrow_floats import BFLOAT16_IS_ADDED, cast_bfloat16_and_round

_ULPS = 64
_ULPS_OF_FEW_TERMS = 8
_TERMS_OF_AN_ULP = 16
"""Kernels keep about so many partial sums; each of them adds, and rounds, once for every so many products."""
_BECAUSE = "a kernel may sum the products in another order"

Label = str
"""A letter, or "." and a number for a dimension of the ellipsis."""


@dataclass(frozen=True)
class Operand:
    """A value and the label of each of its dimensions."""

    name: str
    labels: tuple[Label, ...]


def decompose_the_equation(site: Site) -> None:
    """Replace Einsum-12 with products and sums, combining operands from left to right.

    Dimensions that no later operand needs are summed at once.
    """
    dtype = site.dtype(0)
    terms, result = _parsed(site)
    op = site.op_at(opsets.AXES_AS_INPUTS)
    compute_dtype = COMPUTED_IN.get(dtype, dtype)
    if dtype in FLOATING:
        site.rounds(min(_ULPS, _ULPS_OF_FEW_TERMS + _most_terms(site, terms, result) // _TERMS_OF_AN_ULP))
    operands = []
    for name, labels in zip(site.inputs, terms, strict=True):
        value = op.Cast(name, to=compute_dtype) if compute_dtype != dtype else name
        operands.append(_with_diagonals(site, op, Operand(value, labels)))
    stretched = _stretched(site, terms)
    current = operands[0]
    if compute_dtype not in FLOATING or len(operands) == 1:
        current = _summed(site, op, current, _needed(operands[1:], result))
    for position in range(1, len(operands)):
        needed, following = _needed(operands[position + 1 :], result), operands[position]
        if compute_dtype not in FLOATING:
            # Floats are summed after multiplication: infinity times a sum differs from the sum of the products.
            following = _summed(site, op, following, needed | set(current.labels))
        current = _combined(site, op, current, following, needed, stretched)
    ordered = _ordered(op, current, result).name
    site.replace(op.Cast(ordered, to=dtype) if compute_dtype != dtype else ordered)


def _most_terms(site: Site, terms: Sequence[tuple[Label, ...]], result: tuple[Label, ...]) -> int:
    """How many products a sum has, as far as sizes are known."""
    sizes = {
        label: size
        for position, labels in enumerate(terms)
        for label, size in zip(labels, site.shape(position) or (), strict=False)
        if isinstance(size, int) and size > 1 and label not in result
    }
    return math.prod(sizes.values())


def _parsed(site: Site) -> tuple[list[tuple[Label, ...]], tuple[Label, ...]]:
    """The labels of each operand and of the result; without an arrow, those that occur once, in order."""
    equation = str(site.attribute("equation")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    texts = left.split(",")
    if len(texts) != len(site.inputs):
        site.refuse(
            Why.INVALID_MODEL,
            f"the equation {equation!r} has {len(texts)} terms, but the node has {len(site.inputs)} inputs",
        )
    ellipsis: tuple[Label, ...] = ()
    terms = []
    for position, text in enumerate(texts):
        if "..." in text:
            rank = site.rank(position, because="'...' stands for the dimensions that have no letter")
            ellipsis = tuple(f".{number}" for number in range(rank - len(text.replace("...", ""))))
        terms.append(_labels(text, ellipsis))
    if arrow:
        result = _labels(right, ellipsis)
    else:
        counts = Counter(letter for text in texts for letter in text.replace("...", ""))
        result = (*ellipsis, *sorted(letter for letter, count in counts.items() if count == 1))
    unknown = set(result) - {label for term in terms for label in term}
    if unknown or len(set(result)) < len(result):
        site.refuse(
            Why.INVALID_MODEL, f"the result of the equation {equation!r} has a repeated letter, or one that no term has"
        )
    return terms, result


def _stretched(site: Site, terms: Sequence[tuple[Label, ...]]) -> set[Label]:
    """Letters that stand for 1 in one term and for more in another: not in the text, but runtimes broadcast them."""
    sizes: dict[Label, set[int]] = {}
    for position, labels in enumerate(terms):
        for label, size in zip(labels, site.shape(position) or (), strict=False):
            if isinstance(size, int):
                sizes.setdefault(label, set()).add(size)
    return {label for label, found in sizes.items() if len(found) > 1}


def _labels(text: str, ellipsis: tuple[Label, ...]) -> tuple[Label, ...]:
    before, dots, after = text.partition("...")
    return (*before, *(ellipsis if dots else ()), *after)


def _needed(later: Sequence[Operand], result: tuple[Label, ...]) -> set[Label]:
    return set(result).union(*(operand.labels for operand in later))


def _with_diagonals(site: Site, op: Operators, operand: Operand) -> Operand:
    """Take the diagonal of each pair of dimensions with the same label: element (i, i) for each i."""
    for label, count in Counter(operand.labels).items():
        for _ in range(count - 1):
            first = operand.labels.index(label)
            second = operand.labels.index(label, first + 1)
            rest = [position for position in range(len(operand.labels)) if position not in (first, second)]
            front = op.Transpose(operand.name, perm=[first, second, *rest])
            length = op.Gather(op.Shape(front), site.constant(0, "int64", "first"))
            numbers = op.Unsqueeze(iota(site, op, length), site.constant([1], "int64"))
            diagonal = op.GatherND(front, op.Concat(numbers, numbers, axis=1))
            operand = Operand(diagonal, (label, *(operand.labels[position] for position in rest)))
    return operand


def _summed(site: Site, op: Operators, operand: Operand, needed: set[Label]) -> Operand:
    axes = [position for position, label in enumerate(operand.labels) if label not in needed]
    if not axes:
        return operand
    kept = tuple(label for label in operand.labels if label in needed)
    return Operand(op.ReduceSum(operand.name, site.constant(axes, "int64"), keepdims=0), kept)


def _combined(
    site: Site, op: Operators, first: Operand, second: Operand, needed: set[Label], stretched: set[Label]
) -> Operand:
    """Combine two operands with MatMul where it applies, else with Mul, which broadcasts, and ReduceSum."""
    shared = [label for label in first.labels if label in second.labels]
    summed = [label for label in shared if label not in needed]
    batch = [label for label in shared if label in needed]
    own = [[label for label in operand.labels if label not in shared] for operand in (first, second)]
    if (
        len(summed) == 1
        and not stretched.intersection(summed)
        and all(len(labels) <= 1 and needed.issuperset(labels) for labels in own)
    ):
        rows, columns = (labels or [""] for labels in own)
        left = _shaped(site, op, first, (*batch, *rows, *summed))
        right = _shaped(site, op, second, (*batch, *summed, *columns))
        product = op.MatMul(left, right)
        absent = [len(batch) + position for position, label in enumerate((*rows, *columns)) if not label]
        if absent:
            product = op.Squeeze(product, site.constant(absent, "int64"))
        return Operand(product, (*batch, *filter(None, (*rows, *columns))))
    labels = tuple(dict.fromkeys((*first.labels, *second.labels)))
    # The second operand starts at the position of its first label: Mul broadcasts the dimensions before.
    start = min((labels.index(label) for label in second.labels), default=len(labels))
    product = op.Mul(_shaped(site, op, first, labels), _shaped(site, op, second, labels[start:]))
    return _summed(site, op, Operand(product, labels), needed)


def _shaped(site: Site, op: Operators, operand: Operand, labels: tuple[Label, ...]) -> str:
    """The operand with one dimension for each label, of size 1 for labels that it lacks."""
    present = tuple(label for label in labels if label in operand.labels)
    name = _ordered(op, operand, present).name
    missing = [position for position, label in enumerate(labels) if label not in operand.labels]
    return str(op.Unsqueeze(name, site.constant(missing, "int64"))) if missing else name


def _ordered(op: Operators, operand: Operand, labels: tuple[Label, ...]) -> Operand:
    if operand.labels == labels:
        return operand
    order = [operand.labels.index(label) for label in labels]
    return Operand(op.Transpose(operand.name, perm=order), labels)


STEPS = [
    Step("Einsum", 12, 28, up=unchanged, down=cast_bfloat16_and_round, because=BFLOAT16_IS_ADDED),
]

_DECOMPOSE_THE_EQUATION = rounding(decompose_the_equation, ulps=_ULPS, when="floats are multiplied", because=_BECAUSE)

INTRODUCTIONS = [
    Introduction("Einsum", 12, down=_DECOMPOSE_THE_EQUATION),
]

FALLBACKS = [
    Fallback("Einsum", _DECOMPOSE_THE_EQUATION),
]
