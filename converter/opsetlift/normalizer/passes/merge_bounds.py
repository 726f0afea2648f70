"""Bounds become one Clip.

Min(Max(x, low), high) is what Clip is defined as, from opset 11 on, where its bounds are inputs. It takes scalars, so
both bounds are constants of one element that do not widen x. Of Max(-0, 0) either zero may come out, here and there
another one, so no bound is zero; then a tie is between equal bits. Which NaN comes out was never said: it stays a NaN.
Max(Min(x, high), low) is the same only where low is not above high. A Clip of a Clip is one Clip with the tighter
bounds of both, where the ranges overlap.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import become, given, new_constant, nodes_of, sole_producer
from opsetlift.normalizer.rewriting import Context, Pass

_BOUNDS_AS_INPUTS = 11
_OTHER_DTYPES = 12
"""The text of opset 11 allows other floats, too, but onnxruntime's Clip-11 takes float32 alone."""


def merge_bounds(graph: gs.Graph, context: Context) -> bool:
    """Write Max and Min with constants, and Clips of Clips, as one Clip."""
    if context.opset() < _BOUNDS_AS_INPUTS:
        return False
    is_done = False
    for node in nodes_of(graph, "Clip"):
        while (first := sole_producer(node.inputs[0], context, "Clip")) is not None:
            bounds = _tighter_bounds(first, node, context)
            if bounds is None:
                break
            become(node, "Clip", [first.inputs[0], *bounds])
            context.inherit(node, first)
            is_done = True
    for node in nodes_of(graph, "Min", "Max"):
        outer = _bound(node, context)
        if outer is None:
            continue
        data, outer_bound = outer
        first = sole_producer(data, context, "Max" if node.op == "Min" else "Min")
        inner = _bound(first, context) if first is not None else None
        if first is None or inner is None:
            continue
        data, inner_bound = inner
        low, high = (inner_bound, outer_bound) if node.op == "Min" else (outer_bound, inner_bound)
        if low > high:
            continue
        name = node.outputs[0].name
        bounds = [new_constant(low, f"{name}_min", context), new_constant(high, f"{name}_max", context)]
        become(node, "Clip", [data, *bounds])
        context.inherit(node, first)
        is_done = True
    return is_done


def _bound(node: gs.Node, context: Context) -> tuple[gs.Tensor, Array] | None:
    """The operand and the constant that bounds it."""
    if len(node.inputs) != 2:
        return None
    for position in (0, 1):
        data, value = node.inputs[1 - position], context.constant(node.inputs[position])
        if value is not None and _is_bound(value, data, context):
            return data, value.reshape(())
    return None


def _is_bound(value: Array, data: gs.Tensor, context: Context) -> bool:
    shape, dtype = context.shape_of(data), context.dtype_of(data)
    if value.size != 1 or dtype is None or shape is None or value.ndim > len(shape):
        return False
    if dtype != "float" and context.opset() < _OTHER_DTYPES:
        return False
    if value.dtype.kind == "f":
        return bool(value.any()) and not numpy.isnan(value).any()
    return value.dtype.kind in "iu"


def _tighter_bounds(first: gs.Node, node: gs.Node, context: Context) -> list[gs.Tensor] | None:
    """The bounds of one Clip in place of two; None where they are not known, or no number is within all of them."""
    inner, outer = (_bounds_of(one, context) for one in (first, node))
    if inner is None or outer is None:
        return None
    zeros = [value for _, value in (*inner, *outer) if value is not None and not value.any()]
    if len({value.tobytes() for value in zeros}) > 1:
        return None  # which of 0 and -0 is tighter nobody says
    low = _tightest(inner[0], outer[0], operator.gt)
    high = _tightest(inner[1], outer[1], operator.lt)
    if low[1] is not None and high[1] is not None and low[1] > high[1]:
        return None
    return [low[0], high[0]] if high[1] is not None else [low[0]] if low[1] is not None else []


_Limit = tuple[gs.Tensor, Array | None]
"""A bound and its value; None where it is left out."""


def _tightest(inner: _Limit, outer: _Limit, is_tighter: Callable[[Array, Array], bool]) -> _Limit:
    if inner[1] is None or (outer[1] is not None and is_tighter(outer[1], inner[1])):
        return outer
    return inner


def _bounds_of(node: gs.Node, context: Context) -> list[_Limit] | None:
    """Both bounds of a Clip; None where one is not a finite constant, or the lower one is above the other."""
    limits: list[_Limit] = []
    for position in (1, 2):
        bound = given(node, position)
        value = context.constant(bound) if bound is not None else None
        if bound is not None and (value is None or value.size != 1 or value.dtype.kind not in "fiu"):
            return None
        if value is not None and not numpy.isfinite(value).all():
            return None
        limits.append((gs.Variable.empty() if bound is None else bound, None if value is None else value.reshape(())))
    (_, low), (_, high) = limits
    return None if low is not None and high is not None and low > high else limits


PASS = Pass(
    name="merge-bounds",
    rewrite=merge_bounds,
    summary="Merge Max and Min with constants, and consecutive Clips, into one Clip.",
    operators=frozenset(("Clip", "Min", "Max")),
)
