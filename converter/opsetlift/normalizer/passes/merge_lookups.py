"""Labels are looked up in a table that is written as they are needed.

A Cast of what Gather or ArrayFeatureExtractor takes out of a constant is the same of the cast constant. What
ArrayFeatureExtractor takes out of one row by the result of ArgMax or ArgMin, and a Reshape makes a vector of, is a
Gather by that result as a vector; and where the table holds 0, 1, 2..., and one for each number that may come, the
label is the number. Classifiers of scikit-learn are exported so. Exact: the same elements.
"""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.helpers.editing import (
    become,
    integers,
    is_operator,
    new_constant,
    nodes_of,
    normalised_axes,
    producer,
    rank_of,
    sole_producer,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.rewriting import Context, Pass

_EXTRACTOR = "ArrayFeatureExtractor"
_ML = "ai.onnx.ml"
_POSITIONS = ("ArgMax", "ArgMin")
_RESHAPE_WITH_INPUT = 5


def merge_lookups(graph: gs.Graph, context: Context) -> bool:
    """Look labels up by positions, in a table of the dtype that is wanted, or not at all."""
    if context.opset() < _RESHAPE_WITH_INPUT or not takes_vectors(context):
        return False
    is_done = False
    for node in nodes_of(graph, "Cast"):
        is_done |= _cast_table(node, context)
    for node in nodes_of(graph, "Reshape"):
        is_done |= _gathered(node, context)
    for node in nodes_of(graph, "Gather"):
        is_done |= _positions_themselves(node, context)
    return is_done


def _lookup(tensor: gs.Tensor, context: Context) -> gs.Node | None:
    """The Gather or ArrayFeatureExtractor that computes a tensor for one reader alone."""
    gather = sole_producer(tensor, context, "Gather")
    if gather is not None or len(tensor.inputs) != 1 or context.is_outer(tensor):
        return gather
    node = tensor.inputs[0]
    return node if node.op == _EXTRACTOR and node.domain == _ML and context.uses(tensor) == 1 else None


def _cast_table(cast: gs.Node, context: Context) -> bool:
    lookup = _lookup(cast.inputs[0], context)
    table = None if lookup is None else context.constant(lookup.inputs[0])
    if lookup is None or table is None or table.dtype.kind not in "biuf":
        return False
    probe = gs.Node("Cast", attrs=dict(cast.attrs), inputs=[gs.Constant("table", table)], outputs=[gs.Variable("cast")])
    found = context.evaluate(probe)
    if found is None or found[0].dtype.kind not in "biuf":
        return False
    if found[0].nbytes > max(context.size_limit, table.nbytes):
        return False
    written = new_constant(found[0], f"{cast.outputs[0].name}_table", context)
    become(cast, lookup.op, [written, lookup.inputs[1]], dict(lookup.attrs))
    cast.domain = lookup.domain
    context.inherit(cast, lookup)
    return True


def _gathered(reshape: gs.Node, context: Context) -> bool:
    """ArrayFeatureExtractor of one row by what ArgMax or ArgMin gives, and Reshape to a vector, as Gather."""
    extractor = _lookup(reshape.inputs[0], context)
    if extractor is None or extractor.op != _EXTRACTOR or integers(reshape.inputs[1], context) != [-1]:
        return False
    table = context.constant(extractor.inputs[0])
    positions = sole_producer(extractor.inputs[1], context, *_POSITIONS)
    if table is None or positions is None or table.size != table.shape[-1]:
        return False
    if not _stays_within(positions, table.size, context):
        return False
    made = gs.Variable(context.fresh_name(extractor.inputs[1].name), numpy.int64)
    index = extractor.inputs[1]
    become(extractor, "Reshape", [index, vector([-1], f"{made.name}_shape", context)])
    extractor.domain = ""
    extractor.outputs = [made]
    written = new_constant(table.reshape(-1), f"{reshape.outputs[0].name}_table", context)
    become(reshape, "Gather", [written, made], {"axis": 0})
    return True


def _positions_themselves(gather: gs.Node, context: Context) -> bool:
    table, node = context.constant(gather.inputs[0]), producer(gather.inputs[1], context, *_POSITIONS)
    if table is None or node is None or not _counts(table) or not _stays_within(node, table.size, context):
        return False
    return context.replace_uses(gather.outputs[0], gather.inputs[1])


def _counts(table: Array) -> bool:
    return table.dtype == numpy.int64 and table.ndim == 1 and bool((table == numpy.arange(table.size)).all())


def _stays_within(node: gs.Node, size: int, context: Context) -> bool:
    """Whether what ArgMax or ArgMin gives is less than `size`: so many there are along its axis, or fewer."""
    rank, shape = rank_of(node.inputs[0], context), context.shape_of(node.inputs[0])
    axes = None if rank is None else normalised_axes([node.attrs.get("axis", 0)], rank)
    found = shape[axes[0]] if shape is not None and axes is not None else None
    return isinstance(found, int) and 0 < found <= size and is_operator(node, *_POSITIONS)


PASS = Pass(
    name="merge-lookups",
    rewrite=merge_lookups,
    summary="Look labels up in constants of the wanted dtype, by Gather, or not at all where they count from 0.",
    operators=frozenset(("Cast", "Reshape", "Gather")),
)
