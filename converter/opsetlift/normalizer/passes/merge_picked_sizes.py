"""Gather sizes that are taken from a shape one by one in one node.

Exporters write a target as a Concat of scalars, each with a Gather from a Shape and an Unsqueeze of its own. Neighbours
of one tensor become one Gather from its Shape with a vector of indices or, from opset 15 on, one Shape of just these
dimensions; numbers become one constant. It is done where fewer nodes are left. Exact: the same sizes in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    become,
    integers,
    nodes_of,
    producer,
    rank_of,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.helpers.sizes import Size, Sizes, rearranged
from opsetlift.normalizer.helpers.slices import slice_of
from opsetlift.normalizer.rewriting import Context, Pass

_PICKING = ("Gather", "Slice", "Concat", "Squeeze", "Unsqueeze", "Reshape", "Where", "Equal", "Identity", "Cast")
_REWRITTEN = ("Concat", "Where", "Unsqueeze", "Gather", "Slice", "Reshape")
_FIRST_SHAPE_OF_SOME = 15
_DEEPEST = 16
_LONGEST = 64


@dataclass(frozen=True)
class _Dimension:
    """The size of one dimension of a tensor, or, of a vector that is computed otherwise, one of its elements."""

    tensor: gs.Tensor
    index: int
    is_size: bool
    number: int | None = None
    """The size, where it is known."""

    @property
    def key(self) -> tuple[int, bool]:
        """What neighbours in a run have in common."""
        return id(self.tensor), self.is_size


_Picked = list[int | _Dimension]


def merge_picked_sizes(graph: gs.Graph, context: Context) -> bool:
    """Write each vector of picked sizes with as few nodes as possible."""
    if not takes_vectors(context):
        return False
    is_done = False
    found = _Finder(context)
    # The last ones first: what they need no more is no longer there to be rewritten.
    for node in reversed(list(nodes_of(graph, *_REWRITTEN))):
        output = node.outputs[0]
        if not node.outputs or rank_of(output, context) != 1 or context.dtype_of(output) != "int64":
            continue
        picked = found.picked(output)
        if picked and any(isinstance(one, _Dimension) and one.number is None for one in picked):
            is_done |= _rewrite(graph, node, picked, context)
    return is_done


class _Finder:
    """Finds out what vectors are picked from."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._sizes = Sizes(context)

    def picked(self, tensor: gs.Tensor, depth: int = 0) -> _Picked | None:
        """The elements of a scalar or vector of int64; None where not even their number is known."""
        context = self._context
        known = integers(tensor, context)
        if known is not None:
            return list(known)
        if rank_of(tensor, context) not in (0, 1) or context.dtype_of(tensor) != "int64" or depth > _DEEPEST:
            return None
        node = producer(tensor, context, "Shape", *_PICKING)
        picked = self._by(node, depth + 1) if node is not None else None
        if picked is None:
            shape = context.shape_of(tensor)
            if shape is None or not shape or not isinstance(shape[0], int) or shape[0] > _LONGEST:
                return None
            picked = [_Dimension(tensor, index, False) for index in range(shape[0])]
        sizes = self._sizes.of(tensor)
        if sizes is None or len(sizes) != len(picked):
            return picked
        return [
            replace(one, number=size) if isinstance(one, _Dimension) and isinstance(size, int) else one
            for one, size in zip(picked, sizes, strict=True)
        ]

    def _by(self, node: gs.Node, depth: int) -> _Picked | None:
        """What a node gives; None where that is not known element by element."""
        context = self._context
        if node.op == "Shape":
            rank = rank_of(node.inputs[0], context)
            dims = None if rank is None else range(rank)[node.attrs.get("start", 0) : node.attrs.get("end", rank)]
            return None if dims is None else [_Dimension(node.inputs[0], index, True) for index in dims]
        if node.op == "Concat":
            parts = [self.picked(tensor, depth) for tensor in node.inputs]
            return None if None in parts else [one for part in parts if part is not None for one in part]
        if node.op == "Where":
            return self._chosen(node, depth)
        source = self.picked(node.inputs[0], depth)
        if source is None:
            return None
        match node.op:
            case "Identity" | "Cast":
                return source if context.dtype_of(node.inputs[0]) == "int64" else None
            case "Squeeze" | "Unsqueeze" | "Reshape" | "Gather":
                return rearranged(source, node, context)
            case "Slice":
                found = slice_of(node, context)
                if found is not None and len(found.starts) == 1 and found.steps == [1]:
                    return source[found.starts[0] : found.ends[0]]
        return None

    def _chosen(self, node: gs.Node, depth: int) -> _Picked | None:
        conditions: list[Size] | None = self._sizes.of(node.inputs[0])
        ones, others = (self.picked(tensor, depth) for tensor in node.inputs[1:])
        if conditions is None or ones is None or others is None or None in conditions:
            return None
        if not len(conditions) == len(ones) == len(others):
            return None
        return [one if condition else other for condition, one, other in zip(conditions, ones, others, strict=True)]


def _rewrite(graph: gs.Graph, node: gs.Node, picked: _Picked, context: Context) -> bool:
    """Write a node anew, if that takes fewer nodes than it does now."""
    sources = {one.key: _shape_node(graph, one.tensor) for one in picked if isinstance(one, _Dimension) and one.is_size}
    numbers: _Picked = [one.number if isinstance(one, _Dimension) and one.number is not None else one for one in picked]
    plans = [(_saved(node, runs, sources, context), runs) for runs in map(_runs, (numbers, picked))]
    saved, runs = max(plans, key=itemgetter(0))
    if saved <= 0:
        return False
    name = node.outputs[0].name
    added: list[gs.Node] = []
    parts = [_written(run, sources, name, added, context) for run in runs]
    if len(parts) == 1:
        if not added:
            return context.replace_uses(node.outputs[0], parts[0])
        only = added.pop()
        become(node, only.op, list(only.inputs), only.attrs)
        only.inputs.clear()
    else:
        become(node, "Concat", parts, {"axis": 0})
    place = next(index for index, one in enumerate(graph.nodes) if one is node)
    graph.nodes[place:place] = added
    return True


def _runs(picked: _Picked) -> list[_Picked]:
    """Neighbours that can be written together."""
    return [list(run) for _, run in groupby(picked, lambda one: one.key if isinstance(one, _Dimension) else None)]


def _saved(node: gs.Node, runs: list[_Picked], sources: _Sources, context: Context) -> int:
    """How many nodes fewer there are when a node is written anew; 0 where one of the runs cannot be written."""
    costs = [_cost(run, sources, context) for run in runs]
    if None in costs:
        return 0
    read = [tensor for run in runs if (tensor := _read_by(run, sources, context)) is not None]
    return len(_only_for(node, read, context)) - sum(filter(None, costs)) - (len(runs) > 1)


_Sources = dict[tuple[int, bool], gs.Node | None]


def _shape_node(graph: gs.Graph, tensor: gs.Tensor) -> gs.Node | None:
    """The node of the graph that gives the whole shape of a tensor."""
    shapes = (node for node in tensor.outputs if node.op == "Shape" and not node.attrs and node.outputs)
    return next((node for node in shapes if any(node is one for one in graph.nodes)), None)


def _is_whole(run: _Picked, context: Context) -> bool:
    """Whether a run is a whole vector, or a whole shape."""
    first = run[0]
    if not isinstance(first, _Dimension):
        return False
    shape = context.shape_of(first.tensor)
    length = None if shape is None else len(shape) if first.is_size else shape[0]
    return [one.index for one in run if isinstance(one, _Dimension)] == list(range(length or 0))  # type: ignore[arg-type]


def _is_of_neighbours(run: _Picked) -> bool:
    indices = [one.index for one in run if isinstance(one, _Dimension)]
    return indices == list(range(indices[0], indices[0] + len(indices)))


def _is_gathered(run: _Picked, context: Context) -> bool:
    """Whether a run of sizes is a Gather from a Shape, and not a Shape of its own."""
    first = run[0]
    if not isinstance(first, _Dimension) or not first.is_size or _is_whole(run, context):
        return False
    return context.opset() < _FIRST_SHAPE_OF_SOME or not _is_of_neighbours(run)


def _read_by(run: _Picked, sources: _Sources, context: Context) -> gs.Tensor | None:
    """The vector that a run is read from once it is written anew; None for numbers and for a Shape of its own."""
    first = run[0]
    if not isinstance(first, _Dimension):
        return None
    if not first.is_size:
        return first.tensor
    source = sources[first.key]
    is_read = _is_gathered(run, context) or _is_whole(run, context)
    return source.outputs[0] if is_read and source is not None else None


def _cost(run: _Picked, sources: _Sources, context: Context) -> int | None:
    """How many new nodes a run takes; None where it cannot be written."""
    first = run[0]
    if not isinstance(first, _Dimension):
        return 0
    if not first.is_size:
        return 0 if _is_whole(run, context) else None
    if _is_whole(run, context) or _is_gathered(run, context):
        if sources[first.key] is None:
            return None
        return 0 if _is_whole(run, context) else 1
    return 1


def _written(run: _Picked, sources: _Sources, name: str, added: list[gs.Node], context: Context) -> gs.Tensor:
    """The tensor of a run, and the node that is added for it, if there is one."""
    first = run[0]
    if not isinstance(first, _Dimension):
        return vector([one for one in run if isinstance(one, int)], f"{name}_sizes", context)
    if not first.is_size:
        return first.tensor
    source = sources[first.key]
    if source is not None and _is_whole(run, context):
        return source.outputs[0]
    indices = [one.index for one in run if isinstance(one, _Dimension)]
    output = gs.Variable(context.fresh_name(f"{name}_picked"))
    if _is_gathered(run, context):
        assert source is not None
        inputs = [source.outputs[0], vector(indices, f"{name}_indices", context)]
        added.append(gs.Node("Gather", inputs=inputs, outputs=[output]))
    else:
        attributes = {"start": indices[0], "end": indices[-1] + 1}
        added.append(gs.Node("Shape", attrs=attributes, inputs=[first.tensor], outputs=[output]))
    return output


def _only_for(node: gs.Node, read: Sequence[gs.Tensor], context: Context) -> list[gs.Node]:
    """The node, and those before it that nothing else needs, except for what computes the tensors that stay `read`."""
    stays = set(map(id, read))
    found = {id(node): node}
    waiting = [node]
    while waiting:
        for tensor in waiting.pop().inputs:
            before = producer(tensor, context, "Shape", *_PICKING)
            if before is None or id(before) in found or id(tensor) in stays:
                continue
            readers = {id(reader) for reader in tensor.outputs}
            named = sum(one is tensor for key in readers if key in found for one in found[key].inputs)
            if readers <= found.keys() and context.uses(tensor) == named:
                found[id(before)] = before
                waiting.append(before)
    return list(found.values())


PASS = Pass(
    name="merge-picked-sizes",
    rewrite=merge_picked_sizes,
    summary="Gather sizes that are taken from a shape one by one in one node.",
    operators=frozenset(_REWRITTEN),
)
