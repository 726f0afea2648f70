"""A Loop or Scan whose number of runs is the same in every run of the model becomes the nodes of its runs.

Opinions differ on whether that is better, as the model grows, so it is done on demand, and for runtimes that do not
take the Loop. The number is known where the trip count and the condition are constants, or where the condition is
computed from the number of the run and from states that begin as constants, as the loops of TensorFlow count. A Scan
(from version 9 on) runs as often as what it scans has elements, where that size is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy
import onnx_graphsurgeon as gs

from opsetlift.model.arrays import Array
from opsetlift.normalizer.graphs.attached_metadata import metadata_of_graph
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.traversal import nodes_in, subgraphs_of, tensors_in
from opsetlift.normalizer.helpers.copying import Copier
from opsetlift.normalizer.helpers.editing import new_constant, nodes_of
from opsetlift.normalizer.rewriting import Context, Pass

_AXES_AS_INPUTS = 13
_SCAN_WITHOUT_BATCHES = 9
_NEGATIVE_AXES = 11
_IDENTITY_OF_ANYTHING = 16
_BEFORE_STATES = 2
_MOST_RUNS = 256
_MOST_NODES = 4096
"""Of all runs of one Loop together."""


@dataclass(frozen=True)
class _Along:
    """How a Scan goes along an axis."""

    axis: int = 0
    is_backwards: bool = False


@dataclass(frozen=True)
class _Plan:
    """The runs of a Loop or Scan."""

    count: int
    states: int
    """How many values each run takes from the one before."""
    counts: bool = True
    """Whether the body's inputs begin with the number of the run and the condition, its outputs with the condition."""
    scanned: list[_Along] = field(default_factory=list)
    """Of each input of which a run takes one element."""
    lists: list[_Along] = field(default_factory=list)
    """Of each output that has one element of each run."""


def unroll_loops(graph: gs.Graph, context: Context) -> None:
    """Put copies of the body's nodes, one for each run, in the place of the Loop or Scan."""
    for node in nodes_of(graph, "Loop", "Scan"):
        body = node.attrs.get("body")
        if not isinstance(body, gs.Graph) or not _can_be_copied(node, body, context):
            continue
        plan = _plan_of_loop(node, body, context) if node.op == "Loop" else _plan_of_scan(node, body, context)
        if plan is None or plan.count * len(body.nodes) > _MOST_NODES or (not plan.count and plan.lists):
            continue
        place = next(index for index, one in enumerate(graph.nodes) if one is node)
        graph.nodes[place : place + 1] = list(_runs(node, body, plan, context))


def _can_be_copied(node: gs.Node, body: gs.Graph, context: Context) -> bool:
    """Whether copies mean the same: what refers to parameters of the function around stays."""
    metadata = metadata_of_graph(body)
    if metadata is not None and metadata.annotations:
        return False
    values = (value for inner in nodes_in(body) for value in inner.attrs.values())
    if any(isinstance(value, gs.Node.AttributeRef) for value in (*values, *node.attrs.values())):
        return False
    given = [tensor for tensor in node.outputs if not tensor.is_empty()]
    are_tensors = all(context.dtype_of(tensor) is not None for tensor in given)
    return context.opset() >= _IDENTITY_OF_ANYTHING or are_tensors


def _plan_of_loop(node: gs.Node, body: gs.Graph, context: Context) -> _Plan | None:
    """None where the number of runs is not known, or is too large, or the node is malformed."""
    states = len(node.inputs[_BEFORE_STATES:])
    if (len(body.inputs), len(body.outputs)) != (_BEFORE_STATES + states, 1 + len(node.outputs)):
        return None
    runs = _number_of_runs(node, body, context)
    return None if runs is None else _Plan(runs, states, lists=[_Along() for _ in node.outputs[states:]])


def _plan_of_scan(node: gs.Node, body: gs.Graph, context: Context) -> _Plan | None:
    """None where the number of runs is not known, or is too large, or the node is malformed."""
    count = node.attrs.get("num_scan_inputs", 0)
    states = len(node.inputs) - count
    lists = len(node.outputs) - states
    are_as_many = (len(body.inputs), len(body.outputs)) == (len(node.inputs), len(node.outputs))
    if context.opset() < _SCAN_WITHOUT_BATCHES or not are_as_many or not 0 < count <= len(node.inputs) or lists < 0:
        return None
    scanned, given = (
        [
            _Along(axis, bool(is_backwards))
            for axis, is_backwards in zip(
                node.attrs.get(f"scan_{kind}_axes") or [0] * length,
                node.attrs.get(f"scan_{kind}_directions") or [0] * length,
                strict=False,
            )
        ]
        for kind, length in (("input", count), ("output", lists))
    )
    shapes = [context.shape_of(tensor) for tensor in node.inputs[states:]]
    if (len(scanned), len(given)) != (count, lists) or any(shape is None for shape in shapes):
        return None
    pairs = [(shape or (), one.axis) for shape, one in zip(shapes, scanned, strict=True)]
    sizes = {shape[axis] if -len(shape) <= axis < len(shape) else None for shape, axis in pairs}
    size = sizes.pop()
    if sizes or not isinstance(size, int) or not 0 < size <= _MOST_RUNS:
        return None
    if context.opset() < _NEGATIVE_AXES and any(one.axis < 0 for one in (*scanned, *given)):
        return None
    return _Plan(size, states, counts=False, scanned=scanned, lists=given)


def _number_of_runs(node: gs.Node, body: gs.Graph, context: Context) -> int | None:
    """How often the body is run; None where that is not known, or is too often."""
    trips, going = (_value(tensor, context) for tensor in (*node.inputs, *[gs.Variable.empty()] * 2)[:_BEFORE_STATES])
    if trips is None or going is None:
        return None
    most = max(0, int(trips.item())) if trips.size else _MOST_RUNS + 1
    states = [context.constant(tensor) for tensor in node.inputs[_BEFORE_STATES:]]
    if not going.size:
        # What the body says does not count then.
        return most if most <= _MOST_RUNS else None
    counting = _what_conditions_depend_on(body)
    is_going, runs = bool(going.item()), 0
    while is_going and runs < most:
        if runs == _MOST_RUNS:
            return None
        values = [numpy.array(runs, numpy.int64), numpy.array(True), *states]
        known = {id(tensor): value for tensor, value in zip(body.inputs, values, strict=True) if value is not None}
        _compute(counting, known, context)
        found, *others = (_known(tensor, known, context) for tensor in body.outputs)
        if found is None or found.size != 1:
            return None
        is_going, states, runs = bool(found.item()), others[: len(states)], runs + 1
    return runs


_NOTHING = numpy.zeros(0)


def _value(tensor: gs.Tensor, context: Context) -> Array | None:
    """The value of a constant; an empty one where none is given, which stands for no limit and for no condition."""
    if tensor.is_empty():
        return _NOTHING
    value = context.constant(tensor)
    return value if value is not None and value.size == 1 else None


def _what_conditions_depend_on(body: gs.Graph) -> list[gs.Node]:
    """The nodes of the body, in order, from which the condition and the states that it reads are computed."""
    places = {id(tensor): place for place, tensor in enumerate(body.inputs)}
    own = {id(node) for node in body.nodes}
    pending, seen, wanted = [body.outputs[0]], {id(body.outputs[0])}, set[int]()
    while pending:
        tensor = pending.pop()
        place = places.get(id(tensor), 0)
        read = [body.outputs[place - 1]] if place >= _BEFORE_STATES else []
        for node in tensor.inputs:
            if id(node) in own:
                wanted.add(id(node))
                read += node.inputs
        fresh = [one for one in read if id(one) not in seen]
        seen.update(map(id, fresh))
        pending += fresh
    return [node for node in body.nodes if id(node) in wanted]


def _known(tensor: gs.Tensor, known: dict[int, Array], context: Context) -> Array | None:
    if isinstance(tensor, gs.Constant):
        return held_values(tensor)
    return known[id(tensor)] if id(tensor) in known else context.constant(tensor)


def _compute(nodes: Collection[gs.Node], known: dict[int, Array], context: Context) -> None:
    """Compute what only depends on known values, and add it to them."""
    for node in nodes:
        read = [gs.Constant("", _NOTHING) if one.is_empty() else _known(one, known, context) for one in node.inputs]
        if any(value is None for value in read):
            continue
        inputs = [
            gs.Variable.empty() if one.is_empty() else gs.Constant(f"input_{place}", value)
            for place, (one, value) in enumerate(zip(node.inputs, read, strict=True))
        ]
        outputs = [gs.Variable(f"output_{place}") for place in range(len(node.outputs))]
        values = context.evaluate(gs.Node(node.op, "", node.attrs, inputs, outputs, node.domain))
        known.update(zip(map(id, node.outputs), values or (), strict=False))


def _runs(node: gs.Node, body: gs.Graph, plan: _Plan, context: Context) -> Iterator[gs.Node]:
    """The nodes that take the place of a Loop or Scan."""
    shared = _what_all_runs_read(body, context)
    first = _BEFORE_STATES if plan.counts else 0
    states, whole = list(node.inputs[first : first + plan.states]), list(node.inputs[first + plan.states :])
    results = list(node.outputs)
    lists: list[list[gs.Tensor]] = [[] for _ in plan.lists]
    node.outputs.clear()
    node.inputs.clear()
    node.attrs = {}
    for run in range(plan.count):
        before: list[gs.Tensor] = []
        if plan.counts:
            numbers = ((run, "run"), (True, "going"))
            before = [new_constant(numpy.array(one), name, context) for one, name in numbers]
        elements = []
        for tensor, along in zip(whole, plan.scanned, strict=True):
            place = plan.count - 1 - run if along.is_backwards else run
            elements.append(gs.Variable(context.fresh_name(f"{tensor.name}_element")))
            index = new_constant(numpy.array(place), f"{tensor.name}_place", context)
            yield gs.Node("Gather", attrs={"axis": along.axis}, inputs=[tensor, index], outputs=elements[-1:])
        given = dict(zip(map(id, body.inputs), (*before, *states, *elements), strict=True))
        copier = Copier(context, {**shared, **given}, {})
        nodes = copier.nodes(body.nodes)
        if nodes:
            context.inherit(nodes[-1], node)
        yield from nodes
        values = [copier.tensor(tensor) for tensor in body.outputs[1 if plan.counts else 0 :]]
        states = values[: plan.states]
        for values_of_runs, value, along in zip(lists, values[plan.states :], plan.lists, strict=True):
            values_of_runs.insert(0 if along.is_backwards else len(values_of_runs), value)
    for state, result in zip(states, results, strict=False):
        if not result.is_empty():
            yield gs.Node("Identity", inputs=[state], outputs=[result])
    for values_of_runs, result, along in zip(lists, results[plan.states :], plan.lists, strict=True):
        if not result.is_empty():
            rows = [gs.Variable(context.fresh_name(f"{result.name}_row")) for _ in values_of_runs]
            pairs = zip(values_of_runs, rows, strict=True)
            yield from (_row(value, row, along.axis, context) for value, row in pairs)
            yield gs.Node("Concat", attrs={"axis": along.axis}, inputs=rows, outputs=[result])


def _what_all_runs_read(body: gs.Graph, context: Context) -> dict[int, gs.Tensor]:
    """What a body takes from around it, and its constants, which are of the graph around from now on."""
    graphs = [body, *(graph for node in nodes_in(body) for _, graph in subgraphs_of(node))]
    named = [(graph, tensor) for graph in graphs for tensor in tensors_in(graph)]
    owners = {id(tensor): graph for graph, tensor in named if not context.inside(graph).is_outer(tensor)}
    shared: dict[int, gs.Tensor] = {}
    for _, tensor in named:
        owner = owners.get(id(tensor))
        if owner is body and isinstance(tensor, gs.Constant) and id(tensor) not in shared:
            tensor.name = context.fresh_name(tensor.name)
        if owner is None or (owner is body and isinstance(tensor, gs.Constant)):
            shared[id(tensor)] = tensor
    return shared


def _row(value: gs.Tensor, row: gs.Tensor, axis: int, context: Context) -> gs.Node:
    """The Unsqueeze that makes an element of a list of what a run gives."""
    if context.opset() < _AXES_AS_INPUTS:
        return gs.Node("Unsqueeze", attrs={"axes": [axis]}, inputs=[value], outputs=[row])
    axes = new_constant(numpy.array([axis]), f"{row.name}_axes", context)
    return gs.Node("Unsqueeze", inputs=[value, axes], outputs=[row])


PASS = Pass(
    name="unroll-loops",
    rewrite=unroll_loops,
    summary="Replace a Loop or Scan whose number of runs is known by the nodes of its runs.",
    is_default=False,
    operators=frozenset(("Loop", "Scan")),
)
