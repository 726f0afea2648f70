"""What is attached to graphsurgeon's objects: everything of a model that they have no place for.

It stays with a node or a tensor wherever a rewrite moves it, and goes when that goes. It refers to the protobufs that
were imported and copies none of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import onnx_graphsurgeon as gs
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorAnnotation, ValueInfoProto

from opsetlift.normalizer.graphs import graphsurgeon_internals
from opsetlift.normalizer.graphs.stored import Stored

Declared = tuple[Any, tuple[int | str | None, ...] | None, str]
"""Dtype, shape and kind of a tensor, as graphsurgeon holds them."""


@dataclass(slots=True)
class NodeMetadata:
    """A node's protobuf, and its attributes as they were imported: a value that is still the same is written as it was.

    Where a node stands for several others `notes_of` has the others by id, whose doc strings and metadata it takes on.
    """

    proto: NodeProto
    attributes: dict[str, tuple[Any, AttributeProto]] = field(default_factory=dict)
    notes_of: dict[int, NodeProto] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    """The inputs of the protobuf as a list, and its outputs below: protobuf makes a new one whenever it is asked."""
    outputs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TensorMetadata:
    """What a tensor was declared as, where its values are stored, and the value of an input that may be left out."""

    declared: Declared | None = None
    stored: Stored | None = None
    default: Stored | None = None


@dataclass
class AnnotationMetadata:
    """A quantization annotation, and the tensors that it names."""

    proto: TensorAnnotation
    tensor: gs.Tensor
    parameters: dict[str, gs.Tensor]


@dataclass
class GraphMetadata:
    """The protobuf of a graph or of a function, and what graphsurgeon's graphs do not list."""

    proto: GraphProto | FunctionProto
    model: ModelProto | None = None
    """The model, where this is its main graph."""
    initializers: list[gs.Tensor] = field(default_factory=list)
    """In order, used or not; of inputs that may be left out, too."""
    inputs: list[tuple[gs.Tensor, ValueInfoProto]] = field(default_factory=list)
    outputs: list[tuple[gs.Tensor, ValueInfoProto]] = field(default_factory=list)
    value_info: list[tuple[gs.Tensor, ValueInfoProto]] = field(default_factory=list)
    annotations: list[AnnotationMetadata] = field(default_factory=list)
    attributes: dict[str, tuple[Any, AttributeProto]] = field(default_factory=dict)
    """The defaults of a function's attributes."""


def attach(owner: gs.Node | gs.Tensor | gs.Graph, metadata: NodeMetadata | TensorMetadata | GraphMetadata) -> None:
    """Attach metadata to one of graphsurgeon's objects."""
    graphsurgeon_internals.attach(owner, metadata)


def metadata_of_node(node: gs.Node) -> NodeMetadata | None:
    """The metadata of a node; None for one that was not imported."""
    found: NodeMetadata | None = graphsurgeon_internals.attached(node)
    return found


def metadata_of_tensor(tensor: gs.Tensor) -> TensorMetadata | None:
    """The metadata of a tensor; None for a new one."""
    found: TensorMetadata | None = graphsurgeon_internals.attached(tensor)
    return found


def metadata_of_graph(graph: gs.Graph) -> GraphMetadata | None:
    """The metadata of a graph or a function; None for one that the bridge did not make."""
    found: GraphMetadata | None = graphsurgeon_internals.attached(graph)
    return found


def declared(tensor: gs.Variable) -> Declared:
    """Dtype, shape and kind that a variable has now."""
    shape = None if tensor.shape is None else tuple(tensor.shape)
    return tensor.dtype, shape, getattr(tensor, "type", "tensor_type")
