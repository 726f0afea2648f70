"""What rides along with graphsurgeon's objects: everything of a model that they have no place for.

It hangs on the objects themselves, as an attribute, so that it stays with a node or a tensor wherever a rewrite moves
it, and goes when that goes. It refers to the protobufs that were imported and copies none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import onnx_graphsurgeon as gs
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorAnnotation, ValueInfoProto

from opsetlift.normalizer.stored import Stored

_ATTRIBUTE = "carried"

Declared = tuple[Any, tuple[int | str | None, ...] | None, str]
"""Dtype, shape and kind of a tensor, as graphsurgeon holds them."""


@dataclass(slots=True)
class CarriedNode:
    """A node's protobuf, and its attributes as they were imported: a value that is still the same is written as it was.

    Where a node stands for several others `notes_of` has the others by id, whose doc strings and metadata it takes on.
    """

    proto: NodeProto
    attributes: dict[str, tuple[Any, AttributeProto]] = field(default_factory=dict)
    notes_of: dict[int, NodeProto] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    """Those of the protobuf, as its outputs, at hand."""
    outputs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CarriedTensor:
    """What a tensor was declared as, where its values are stored, and the value of an input that may be left out."""

    declared: Declared | None = None
    stored: Stored | None = None
    default: Stored | None = None


@dataclass
class CarriedAnnotation:
    """A quantization annotation, and the tensors that it names."""

    proto: TensorAnnotation
    tensor: gs.Tensor
    parameters: dict[str, gs.Tensor]


@dataclass
class CarriedGraph:
    """The protobuf of a graph or of a function, and what graphsurgeon's graphs do not list."""

    proto: GraphProto | FunctionProto
    model: ModelProto | None = None
    """The model, where this is its main graph."""
    initializers: list[gs.Tensor] = field(default_factory=list)
    """In order, used or not; of inputs that may be left out, too."""
    inputs: list[tuple[gs.Tensor, ValueInfoProto]] = field(default_factory=list)
    outputs: list[tuple[gs.Tensor, ValueInfoProto]] = field(default_factory=list)
    value_info: list[tuple[gs.Tensor, ValueInfoProto]] = field(default_factory=list)
    annotations: list[CarriedAnnotation] = field(default_factory=list)
    attributes: dict[str, tuple[Any, AttributeProto]] = field(default_factory=dict)
    """The defaults of a function's attributes."""


def carry(carrier: gs.Node | gs.Tensor | gs.Graph, carried: CarriedNode | CarriedTensor | CarriedGraph) -> None:
    """Hang something on one of graphsurgeon's objects."""
    vars(carrier)[_ATTRIBUTE] = carried


def carried_node(node: gs.Node) -> CarriedNode | None:
    """What rides along with a node; None for a new one."""
    found: CarriedNode | None = getattr(node, _ATTRIBUTE, None)
    return found


def carried_tensor(tensor: gs.Tensor) -> CarriedTensor | None:
    """What rides along with a tensor; None for a new one."""
    found: CarriedTensor | None = getattr(tensor, _ATTRIBUTE, None)
    return found


def carried_graph(graph: gs.Graph) -> CarriedGraph | None:
    """What rides along with a graph or a function; None for one that the bridge did not make."""
    # A graph that is asked for an attribute that it does not have prints an error.
    found: CarriedGraph | None = vars(graph).get(_ATTRIBUTE)
    return found


def declared(tensor: gs.Variable) -> Declared:
    """What a variable says of itself now."""
    shape = None if tensor.shape is None else tuple(tensor.shape)
    return tensor.dtype, shape, getattr(tensor, "type", "tensor_type")
