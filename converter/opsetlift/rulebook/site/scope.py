"""What a site asks of the scope that its node is in. The walk implements it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from opsetlift.facts import ScopeFacts
from opsetlift.model.arrays import Array
from opsetlift.model.inlining import Inlined
from opsetlift.specification.history import Transition

AT_TARGET = 0
"""The opset of emitted nodes that have been taken to the target before."""

Emitted = list[tuple[NodeProto, int]]
"""Nodes that a rule has emitted, in order, each with the opset that it is written for."""


class SiteScope(Protocol):
    """The scope (graph, subgraph or function body) of a site: its facts, its names, and what a rule may add to it."""

    facts: ScopeFacts
    imports: Mapping[str, int]
    """The opsets that the scope imports, by domain."""

    @property
    def takes_initializers(self) -> bool:
        """Whether the scope is a graph; functions have no initializers."""

    @property
    def output_names(self) -> frozenset[str]:
        """The outputs of the graph."""

    def target(self, domain: str) -> int:
        """The opset to which the conversion takes `domain`."""

    def computes(self, domain: str, operator: str, dtypes: Mapping[str, str]) -> bool:
        """Whether the runtime has a kernel of an operator for these dtypes, as far as is known."""

    def is_read(self, name: str) -> bool:
        """Whether anything reads a value of the original; of a new one it is assumed."""

    def parts(self, name: str) -> tuple[str, ...] | None:
        """The elements that stand for a value, here or further out; None where it stands for itself."""

    def scalarize(self, name: str, parts: Sequence[str]) -> None:
        """Let the elements of a value stand for it."""

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the node that is being converted."""

    def unread_name(self) -> str:
        """A new name for an output that nothing reads."""

    def shared_constant(self, array: Array, hint: str) -> str:
        """The name of an initializer with this value; equal ones share one. Only graphs have initializers."""

    def discard(self, names: Iterable[str]) -> None:
        """Take note that emitted nodes which read these values are not needed after all."""

    def add_initializer(self, tensor: TensorProto, name: str, doc_string: str = "") -> str:
        """Give the graph an initializer with the tensor's content; returns its name."""

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Let the facts of an emitted node's outputs be known."""

    def register_inlined(
        self, node: NodeProto, attribute: str, content: Inlined, emitted: Emitted, *, as_nodes: bool
    ) -> None:
        """Take over the initializers of a subgraph that is inlined, and let the types of its values be known.

        Args:
            node: The node that has the subgraph.
            attribute: The attribute that holds the subgraph.
            content: What was inlined.
            emitted: Where initializers go that become Constant nodes.
            as_nodes: Whether small initializers become nodes; all do where the scope is a function.
        """

    def declare(self, name: str, dtype: str, shape: Sequence[int | str | None] | None) -> None:
        """Let the type of an emitted value be known."""

    def subgraph_input(self, kind: TypeProto) -> ValueInfoProto:
        """An input for a subgraph of emitted nodes."""

    def walk_emitted_body(self, node: NodeProto, opset: int) -> None:
        """Take the subgraphs of an emitted node, written for `opset`, to the target."""

    def finish_subgraph(
        self,
        node: NodeProto,
        transition: Transition,
        emitted: Emitted,
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[str],
    ) -> GraphProto:
        """A subgraph of nodes that the rule for `node` emitted at a transition, taken to the target already."""
