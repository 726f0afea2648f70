"""A Loop whose number of runs is the same in every run of the model becomes the nodes of its runs.

Opinions differ on whether that is better, as the model grows, so it is done on demand, and for runtimes that do not
take the Loop. The number is known where the trip count and the condition are constants, or where the condition is
computed from the number of the run and from states that begin as constants, as the loops of TensorFlow count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

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
_IDENTITY_OF_ANYTHING = 16
_BEFORE_STATES = 2
_MOST_RUNS = 256
_MOST_NODES = 4096
"""Of all runs of one Loop together."""


def unroll_loops(graph: gs.Graph, context: Context) -> None:
    """Put copies of the body's nodes, one for each run, in the place of the Loop."""
    for node in nodes_of(graph, "Loop"):
        body = node.attrs.get("body")
        if not isinstance(body, gs.Graph) or not _can_be_copied(node, body, context):
            continue
        runs = _number_of_runs(node, body, context)
        lists = node.outputs[len(node.inputs[_BEFORE_STATES:]) :]
        if runs is None or runs * len(body.nodes) > _MOST_NODES or (not runs and lists):
            continue
        place = next(index for index, one in enumerate(graph.nodes) if one is node)
        graph.nodes[place : place + 1] = list(_runs(node, body, runs, context))


def _can_be_copied(node: gs.Node, body: gs.Graph, context: Context) -> bool:
    """Whether copies mean the same: what refers to parameters of the function around, or is malformed, stays."""
    metadata = metadata_of_graph(body)
    if metadata is not None and metadata.annotations:
        return False
    values = (value for inner in nodes_in(body) for value in inner.attrs.values())
    if any(isinstance(value, gs.Node.AttributeRef) for value in values):
        return False
    states = len(node.inputs[_BEFORE_STATES:])
    if (len(body.inputs), len(body.outputs)) != (_BEFORE_STATES + states, 1 + len(node.outputs)):
        return False
    given = [tensor for tensor in node.outputs if not tensor.is_empty()]
    are_tensors = all(context.dtype_of(tensor) is not None for tensor in given)
    return context.opset() >= _IDENTITY_OF_ANYTHING or are_tensors


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


def _runs(node: gs.Node, body: gs.Graph, runs: int, context: Context) -> Iterator[gs.Node]:
    """The nodes that take the place of a Loop."""
    shared = _what_all_runs_read(body, context)
    states, results = list(node.inputs[_BEFORE_STATES:]), list(node.outputs)
    lists: list[list[gs.Tensor]] = [[] for _ in results[len(states) :]]
    node.outputs.clear()
    node.inputs.clear()
    node.attrs = {}
    for run in range(runs):
        number, going = (new_constant(numpy.array(one), name, context) for one, name in ((run, "run"), (True, "going")))
        given = dict(zip(map(id, body.inputs), (number, going, *states), strict=True))
        copier = Copier(context, {**shared, **given}, {})
        nodes = copier.nodes(body.nodes)
        if nodes:
            context.inherit(nodes[-1], node)
        yield from nodes
        _, *values = (copier.tensor(tensor) for tensor in body.outputs)
        states = values[: len(states)]
        for values_of_runs, value in zip(lists, values[len(states) :], strict=True):
            values_of_runs.append(value)
    for state, result in zip(states, results, strict=False):
        if not result.is_empty():
            yield gs.Node("Identity", inputs=[state], outputs=[result])
    for values_of_runs, result in zip(lists, results[len(states) :], strict=True):
        if not result.is_empty():
            rows = [gs.Variable(context.fresh_name(f"{result.name}_row")) for _ in values_of_runs]
            yield from (_row(value, row, context) for value, row in zip(values_of_runs, rows, strict=True))
            yield gs.Node("Concat", attrs={"axis": 0}, inputs=rows, outputs=[result])


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


def _row(value: gs.Tensor, row: gs.Tensor, context: Context) -> gs.Node:
    """The Unsqueeze that makes an element of a list of what a run gives."""
    if context.opset() < _AXES_AS_INPUTS:
        return gs.Node("Unsqueeze", attrs={"axes": [0]}, inputs=[value], outputs=[row])
    axes = new_constant(numpy.array([0]), f"{row.name}_axes", context)
    return gs.Node("Unsqueeze", inputs=[value, axes], outputs=[row])


PASS = Pass(
    name="unroll-loops",
    rewrite=unroll_loops,
    summary="Replace a Loop whose number of runs is known by the nodes of its runs.",
    is_default=False,
    operators=frozenset(("Loop",)),
)
