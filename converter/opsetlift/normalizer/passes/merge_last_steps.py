"""The last step of what a recurrent network computed is its final state.

RNN, GRU and LSTM in one direction give all steps, and beside them the state after the last one, which is the first one
where they run in reverse. A Gather of that step, after a view without the dimension of directions, becomes a Squeeze of
the state. Sequences of lengths of their own stay: theirs end elsewhere. Exact: the same numbers.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import (
    axes_of,
    become,
    given,
    integers,
    nodes_of,
    sole_producer,
    static_shape,
    takes_vectors,
    vector,
)
from opsetlift.normalizer.rewriting import Context, Pass

_NETWORKS = ("RNN", "GRU", "LSTM")
_VIEWS = ("Squeeze", "Reshape")
_LENGTHS = 4
_AXES_AS_INPUT = 13
_FIRST_BY_SEQUENCE = 7
"""Before, networks were told by an attribute to give all steps."""


def merge_last_steps(graph: gs.Graph, context: Context) -> bool:
    """Read the final state instead of the step that it is."""
    if context.opset() < _FIRST_BY_SEQUENCE or not takes_vectors(context):
        return False
    is_done = False
    for gather in nodes_of(graph, "Gather"):
        view = sole_producer(gather.inputs[0], context, *_VIEWS)
        node = None if view is None else _network(view, context)
        if view is None or node is None or not _takes_last(gather, node, context):
            continue
        state = _state(node, context)
        name = gather.outputs[0].name
        if context.opset() < _AXES_AS_INPUT:
            become(gather, "Squeeze", [state], {"axes": [0]})
        else:
            become(gather, "Squeeze", [state, vector([0], f"{name}_axes", context)])
        context.inherit(gather, view)
        is_done = True
    return is_done


def _network(view: gs.Node, context: Context) -> gs.Node | None:
    """The network in one direction whose steps a view gives without the dimension of directions."""
    steps = view.inputs[0]
    node = steps.inputs[0] if len(steps.inputs) == 1 and not context.is_outer(steps) else None
    if node is None or node.op not in _NETWORKS or node.domain or node.outputs[0] is not steps:
        return None
    if given(node, _LENGTHS) is not None or node.attrs.get("layout", 0):
        return None
    if node.attrs.get("direction", "forward") not in ("forward", "reverse", b"forward", b"reverse"):
        return None
    if view.op == "Squeeze":
        return node if axes_of(view, 1, context) in ([1], [-3]) else None
    shape = static_shape(steps, context)
    if shape is None or len(shape) != 4 or 0 in shape:
        return None
    return node if static_shape(view.outputs[0], context) == [shape[0], *shape[2:]] else None


def _takes_last(gather: gs.Node, node: gs.Node, context: Context) -> bool:
    """Whether a Gather takes the step that the network computes last."""
    if gather.attrs.get("axis", 0) not in (0, -3) or static_shape(gather.inputs[1], context) != []:
        return False
    indices, shape = integers(gather.inputs[1], context), context.shape_of(node.outputs[0])
    size = shape[0] if shape else None
    if not indices:
        return False
    if node.attrs.get("direction", "forward") in ("reverse", b"reverse"):
        return indices[0] == 0 or (isinstance(size, int) and indices[0] == -size)
    return indices[0] == -1 or (isinstance(size, int) and indices[0] == size - 1)


def _state(node: gs.Node, context: Context) -> gs.Tensor:
    """The final state of a network, which becomes an output of it where it was none."""
    if len(node.outputs) > 1 and not node.outputs[1].is_empty():
        return node.outputs[1]
    steps = node.outputs[0]
    state = gs.Variable(context.fresh_name(f"{steps.name}_state"), steps.dtype)
    node.outputs = [steps, state, *list(node.outputs)[2:]]
    return state


PASS = Pass(
    name="merge-last-steps",
    rewrite=merge_last_steps,
    summary="Read the final state of a recurrent network instead of its last step.",
    operators=frozenset(_NETWORKS),
)
