"""Operators of domains beside ONNX's own, and what they stand for in ONNX's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy
from onnx import NodeProto, helper

from opsetlift.model.arrays import Array, tensor_of
from opsetlift.specification.dtypes import dtype_of_type, numpy_dtype


class NotWritten(Exception):
    """A node that its definition cannot write: something is not known of it, or another operator would be needed."""


@dataclass(frozen=True)
class ContributedOperator:
    """An operator of a domain beside ONNX's own, for runtimes that lack it."""

    operator: str
    written: Callable[[Body], str]
    """Writes what a node computes, and returns the name of the result. Raises NotWritten."""
    domain: str = field(default="com.microsoft", kw_only=True)


class Values(Protocol):
    """What is known of the values of a graph."""

    def type_string(self, name: str) -> str | None:
        """The type as onnx writes it, "tensor(float)"; None where it is not known."""

    def shape(self, name: str) -> Sequence[int | str | None] | None:
        """The sizes as far as they are known; None where not even their number is."""

    def constant(self, name: str) -> Array | None:
        """The value, if it is the same in every run; None otherwise."""


class Body:
    """A node, and the nodes that stand for it.

    Args:
        node: The node.
        values: What is known of the graph that it is in.
        opset: The opset of ai.onnx for which it is written.
        fresh: Gives names that are free.
    """

    def __init__(self, node: NodeProto, values: Values, opset: int, fresh: Callable[[str], str]) -> None:
        self.node = node
        self.opset = opset
        self.nodes: list[NodeProto] = []
        self._values = values
        self._fresh = fresh
        self._attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}

    def input(self, place: int) -> str:
        """The name of an input; "" where it is absent."""
        return self.node.input[place] if place < len(self.node.input) else ""

    def is_read(self, place: int) -> bool:
        """Whether the node gives an output that has a name."""
        return place < len(self.node.output) and bool(self.node.output[place])

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, texts as str, or `default`."""
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def given(self, *names: str) -> dict[str, Any]:
        """Those of the attributes that the node has."""
        return {name: self.attribute(name) for name in names if name in self._attributes}

    def require(self, condition: bool) -> None:
        """Raise NotWritten unless a condition holds."""
        if not condition:
            raise NotWritten

    def dtype(self, place: int) -> str:
        """The dtype of an input. Raises NotWritten where it is not known."""
        found = self._values.type_string(self.input(place)) if self.input(place) else None
        dtype = dtype_of_type(found) if found else None
        if dtype is None:
            raise NotWritten
        return dtype

    def rank(self, place: int) -> int:
        """The number of axes of an input. Raises NotWritten where it is not known."""
        shape = self._values.shape(self.input(place)) if self.input(place) else None
        if shape is None:
            raise NotWritten
        return len(shape)

    def scalar(self, place: int) -> str:
        """The name of an input of one number, without axes; "" where it is absent.

        Raises NotWritten where it may have several numbers.
        """
        name, value = self.input(place), self.value(place)
        shape = self._values.shape(name) if name else []
        if not name or shape is None or not len(shape):
            self.require(shape is not None)
            return name
        if value is None or value.size != 1:
            raise NotWritten
        return self.constant(value.reshape(()))

    def value(self, place: int) -> Array | None:
        """The value of an input that is a constant; None where it is absent, or computed."""
        return self._values.constant(self.input(place)) if self.input(place) else None

    def constant(self, value: Array | float, dtype: str = "") -> str:
        """A constant, of `dtype` if that is given."""
        array = numpy.asarray(value, numpy_dtype(dtype) if dtype else None)
        return str(self.Constant(value=tensor_of(array)))

    def finish(self, result: str) -> None:
        """Give the result the name of the node's first output, and the nodes what is said of theirs."""
        for node in self.nodes:
            node.output[:] = [self.node.output[0] if name == result else name for name in node.output]
            node.input[:] = [self.node.output[0] if name == result else name for name in node.input]
        last = self.nodes[-1]
        last.name, last.doc_string = self.node.name, self.node.doc_string

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        """Write a node of an operator of ai.onnx: `body.Add(a, b)` returns the name of its output, or names."""
        if not operator[:1].isupper():
            raise AttributeError(operator)

        def write(*inputs: str, outputs: int = 1, **attributes: Any) -> str | list[str]:
            base = self.node.output[0] or self.node.op_type
            names = [self._fresh(f"{base}_{operator}") for _ in range(outputs)]
            read = list(inputs)
            while read and not read[-1]:
                read.pop()
            self.nodes.append(helper.make_node(operator, read, names, **attributes))
            return names[0] if outputs == 1 else names

        return write
