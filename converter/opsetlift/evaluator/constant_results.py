"""What every runtime computes of constants: results on which runtimes differ are left to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy
from onnx import NodeProto

from opsetlift.evaluator.errors import EvaluationError
from opsetlift.evaluator.evaluator import run_node
from opsetlift.evaluator.open_results import open_results
from opsetlift.evaluator.values import Value
from opsetlift.model.arrays import Array
from opsetlift.specification.history import canonical_domain

_LARGEST_EXACT = 2.0**53
"""Up to here runtimes that compute powers of integers in double agree with those that multiply."""


def constant_results(
    node: NodeProto, inputs: Sequence[Array | None], opset_imports: Mapping[str, int], *, element_limit: int
) -> list[Value] | None:
    """Execute a node on constants, leniently, to put its outputs in its place.

    Args:
        node: The node; it has no subgraphs.
        inputs: An array per input name, None where it is absent.
        opset_imports: The opset of each domain.
        element_limit: As for Evaluator.

    Returns:
        A value per output name; None where the node cannot be executed, or where runtimes may compute something else.
    """
    try:
        with open_results() as found:
            results = run_node(node, inputs, opset_imports, strict=False, element_limit=element_limit)
    except (EvaluationError, MemoryError):
        return None
    given = [value for value in inputs if value is not None]
    differ = None if canonical_domain(node.domain) else _RUNTIMES_DIFFER.get(node.op_type)
    if found or (differ is not None and given and differ(given)):
        return None
    return results


def _power(inputs: Sequence[Array]) -> bool:
    """Of integers: with negative exponents, and where it does not fit."""
    base, exponent = inputs[:2]
    if base.dtype.kind not in "iu":
        return False
    with numpy.errstate(all="ignore"):
        power = numpy.power(base.astype(numpy.float64), exponent.astype(numpy.float64))
    largest = min(float(numpy.iinfo(base.dtype).max), _LARGEST_EXACT)
    return bool((exponent < 0).any()) or not bool((numpy.abs(power) <= largest).all())


def _negative_zero(inputs: Sequence[Array]) -> bool:
    """Bounds at zero: whether -0 lies below 0."""
    return any(_has_zero(value, negative=True) for value in inputs)


def _zeros_of_either_sign(inputs: Sequence[Array]) -> bool:
    """The greatest and the least of zeros."""
    return all(any(_has_zero(value, negative=sign) for value in inputs) for sign in (True, False))


def _has_zero(values: Array, *, negative: bool) -> bool:
    if values.dtype.kind != "f":
        return False
    return bool(((values == 0) & (numpy.signbit(values) == negative)).any())


_RUNTIMES_DIFFER: dict[str, Callable[[Sequence[Array]], bool]] = {
    "Clip": _negative_zero,
    "Max": _zeros_of_either_sign,
    "Min": _zeros_of_either_sign,
    "Pow": _power,
    "ReduceMax": _zeros_of_either_sign,
    "ReduceMin": _zeros_of_either_sign,
    "Relu": _negative_zero,
}
"""Inputs on which runtimes differ although the evaluator has a result; what else is open, kernels report."""
