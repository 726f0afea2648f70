"""All that is used of onnx-graphsurgeon beside its documented API: its version is capped at what this is tested with.

- Construction. A constructor sets each attribute by a method that first asks for links that are not there yet, and
  catches the error: that takes most of the time where a model has thousands of nodes. Here an object gets what a blank
  one of its kind holds, and links of its own.
- Links. The lists of a node's tensors and of a tensor's nodes update each other, and look for what they remove by name.
  Here exactly one side changes, and objects are told apart by identity.
- The values of a constant before they are read, and objects attached to nodes, tensors and graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, TypeAlias

import numpy
import onnx_graphsurgeon as gs
from numpy.typing import NDArray
from onnx import AttributeProto
from onnx_graphsurgeon.ir.tensor import LazyValues as LazyValues
from onnx_graphsurgeon.ir.tensor import SparseValues as SparseValues
from onnx_graphsurgeon.logger import G_LOGGER
from onnx_graphsurgeon.util import misc

HeldValues: TypeAlias = NDArray[Any] | LazyValues
"""The values of a constant: an array, or what reads one when it is asked to."""

held_values: Callable[[gs.Constant], HeldValues] = attrgetter("_values")
"""The values of a constant as it holds them; nothing is read. Both forms have `nbytes`, `shape` and `dtype`."""

_BLANK_VARIABLE = vars(gs.Variable(""))
_BLANK_CONSTANT = vars(gs.Constant("", numpy.empty(0)))
_BLANK_NODE = vars(gs.Node(""))

# Construction


def new_variable(name: str) -> gs.Variable:
    """The same as `gs.Variable(name)`."""
    result = gs.Variable.__new__(gs.Variable)
    fields = vars(result)
    fields.update(_BLANK_VARIABLE)
    fields["name"] = name
    _link(result, fields)
    return result


def new_constant(name: str, values: HeldValues) -> gs.Constant:
    """The same as `gs.Constant(name, values)`."""
    result = gs.Constant.__new__(gs.Constant)
    fields = vars(result)
    fields.update(_BLANK_CONSTANT)
    fields["name"] = name
    fields["_values"] = values
    _link(result, fields)
    return result


def new_node(
    op: str,
    name: str,
    attributes: dict[str, Any],
    inputs: Sequence[gs.Tensor],
    outputs: Sequence[gs.Tensor],
    domain: str | None,
) -> gs.Node:
    """The same as `gs.Node(op, name, attributes, inputs, outputs, domain)`."""
    result = gs.Node.__new__(gs.Node)
    fields = vars(result)
    fields.update(_BLANK_NODE, op=op, name=name, attrs=attributes, domain=domain)
    _link(result, fields, inputs, outputs)
    return result


def _link(
    owner: gs.Node | gs.Tensor, fields: dict[str, Any], inputs: Sequence[Any] = (), outputs: Sequence[Any] = ()
) -> None:
    fields["inputs"] = _links(owner, "outputs", inputs)
    fields["outputs"] = _links(owner, "inputs", outputs)


def _links(owner: gs.Node | gs.Tensor, back: str, others: Sequence[Any]) -> misc.SynchronizedList:
    """The same as `SynchronizedList(owner, back, others)`."""
    links = misc.SynchronizedList.__new__(misc.SynchronizedList)
    links.parent_obj = owner
    links.field_name = back
    list.extend(links, others)
    for other in others:
        list.append(getattr(other, back), owner)
    return links


# Links


def remove_links(node: gs.Node) -> None:
    """Let a node read and compute nothing, and remove it, by identity, from the lists of its tensors."""
    for tensor in node.inputs:
        _remove(tensor.outputs, node)
    for tensor in node.outputs:
        _remove(tensor.inputs, node)
    list.clear(node.inputs)
    list.clear(node.outputs)


def _remove(nodes: list[gs.Node], node: gs.Node) -> None:
    for index, one in enumerate(nodes):
        if one is node:
            list.__delitem__(nodes, index)
            return


def rebuild_links(tensors: Iterable[gs.Tensor], nodes: Iterable[gs.Node]) -> None:
    """Rebuild the lists of nodes of `tensors`, among which is whatever `nodes` read and compute, from `nodes`."""
    clear, append = list.clear, list.append
    for tensor in tensors:
        clear(tensor.outputs)
        clear(tensor.inputs)
    for node in nodes:
        for tensor in node.inputs:
            append(tensor.outputs, node)
        for tensor in node.outputs:
            append(tensor.inputs, node)


def merge_subgraph_functions(graph: gs.Graph) -> None:
    """Let the subgraphs of a graph list the functions of the graph."""
    graph._merge_subgraph_functions()


# Attached objects

_ATTACHMENT = "opsetlift_metadata"


def attach(owner: gs.Node | gs.Tensor | gs.Graph, attachment: object) -> None:
    """Attach an object to a node, a tensor or a graph, in the place of what was attached before."""
    vars(owner)[_ATTACHMENT] = attachment


def attached(owner: gs.Node | gs.Tensor | gs.Graph) -> Any:
    """The attached object; None where there is none."""
    # By `vars`, as a graph that is asked for an attribute that it does not have prints an error.
    return vars(owner).get(_ATTACHMENT)


# Attributes


def attribute_type_of(onnx_type: int) -> Any:
    """What `gs.Node.AttributeRef` holds for a number of AttributeProto.AttributeType."""
    return misc.convert_from_onnx_attr_type(onnx_type)


def onnx_attribute_type_of(attribute_type: Any) -> AttributeProto.AttributeType:
    """The number of AttributeProto.AttributeType for what `gs.Node.AttributeRef` holds."""
    found: AttributeProto.AttributeType = misc.convert_to_onnx_attr_type(attribute_type)
    return found


# Pattern matching


@contextmanager
def ready_for_matching(graph: gs.Graph, inner_nodes: Sequence[gs.Node]) -> Iterator[None]:
    """Prepare a graph for `gs.GraphPattern.match_all`; `inner_nodes` are those of its subgraphs.

    graphsurgeon compares the `id` of nodes, which it gives only to those of the graph itself, and prints a message for
    each node that does not match.
    """
    for number, node in enumerate(inner_nodes, len(graph.nodes)):
        node.id = number
    try:
        with G_LOGGER.suppress(G_LOGGER.ERROR):
            yield
    finally:
        for node in inner_nodes:
            del node.id
