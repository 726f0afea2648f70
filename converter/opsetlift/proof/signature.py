"""What makes two sites the same: keys that leave out the names of values and nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto

from opsetlift.proof.shapes import Dims
from opsetlift.specification import dtypes
from opsetlift.specification.history import canonical_domain

Key = tuple[Any, ...]

_SHORT = 64


class Numbering:
    """Values by the order in which they are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {"": -1}

    def __call__(self, name: str) -> int:
        """The number of a value; "" has -1."""
        return self._numbers.setdefault(name, len(self._numbers) - 1)

    def names(self) -> list[str]:
        """The values that have a number, in its order, without ""."""
        return [*self._numbers][1:]

    def all(self, names: Iterable[str]) -> Key:
        """The numbers of several values."""
        return tuple(map(self, names))


def node_key(node: NodeProto, number: Numbering) -> Key:
    """What a node computes: its operator, its attributes and how it is connected."""
    return (
        canonical_domain(node.domain),
        node.op_type,
        node.overload,
        number.all(node.input),
        tuple(_attribute_key(attribute, number) for attribute in node.attribute),
        number.all(node.output),
    )


def _attribute_key(attribute: AttributeProto, number: Numbering) -> Key:
    if attribute.type == AttributeProto.GRAPH:
        return attribute.name, _graph_key(attribute.g, number)
    if attribute.type == AttributeProto.GRAPHS:
        return attribute.name, tuple(_graph_key(graph, number) for graph in attribute.graphs)
    if attribute.type == AttributeProto.TENSOR and attribute.t.name:
        return attribute.name, tensor_key(attribute.t)
    return attribute.name, digest(attribute.SerializeToString(deterministic=True))


def _graph_key(graph: GraphProto, number: Numbering) -> Key:
    inside = tuple((number(info.name), info.type.SerializeToString()) for info in graph.value_info)
    return (
        tuple((number(info.name), info.type.SerializeToString()) for info in graph.input),
        tuple((number(tensor.name), tensor_key(tensor)) for tensor in graph.initializer),
        tuple((number(sparse.values.name), digest(sparse.SerializeToString())) for sparse in graph.sparse_initializer),
        tuple(node_key(node, number) for node in graph.node),
        tuple((number(info.name), info.type.SerializeToString()) for info in graph.output),
        *((inside,) if inside else ()),
    )


def tensor_key(tensor: TensorProto) -> bytes:
    """What a tensor holds; its name is left out."""
    nameless = TensorProto()
    nameless.CopyFrom(tensor)
    nameless.ClearField("name")
    return digest(nameless.SerializeToString(deterministic=True))


def array_key(array: NDArray[Any]) -> Key:
    """A value by dtype, shape and content."""
    content = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
    return dtypes.name_of_numpy_dtype(array.dtype), array.shape, digest(content)


def digest(content: bytes) -> bytes:
    """The content itself where it is short, else its SHA-256."""
    return content if len(content) <= _SHORT else hashlib.sha256(content).digest()


def types_key(types: Mapping[str, TypeProto | None], dims: Mapping[str, Dims | None]) -> Key:
    """The types and dimensions of inputs; the symbols of dimensions by the order in which they are first seen."""
    number = Numbering()

    def sizes(name: str) -> Key | None:
        found = dims[name]
        return None if found is None else tuple((number(dim),) if isinstance(dim, str) else dim for dim in found)

    return tuple((None if kind is None else dtypes.type_string(kind), sizes(name)) for name, kind in types.items())


def seed_of(seed: int, key: Key) -> list[int]:
    """The seed of a site's test inputs: it depends on what the site is, not on where it is."""
    content = hashlib.sha256(repr(key).encode()).digest()
    return [seed, *(int.from_bytes(content[start : start + 4], "little") for start in range(0, 16, 4))]
