"""What a site asks of the scope that its node stands in. The walk implements it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from opsetlift.facts import ScopeFacts
from opsetlift.model.arrays import Array

if TYPE_CHECKING:
    from opsetlift.model.inlining import Inlined
    from opsetlift.rulebook.site.site import Site


class SiteHost(Protocol):
    """The scope (graph, subgraph or function body) of a site: its facts, its names, and what a rule may add to it."""

    facts: ScopeFacts
    imports: Mapping[str, int]
    """The opsets that the scope imports, by domain."""
    dropped_uses: list[str]
    """Names that lost a use: what computes them goes where nothing else reads it."""

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

    def dissolve(self, name: str, parts: Sequence[str]) -> None:
        """Let the elements of a value stand for it."""

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the node that is being converted."""

    def unread_name(self) -> str:
        """A new name for an output that nothing reads."""

    def constant(self, site: Site, array: Array, hint: str) -> str:
        """The name of a constant: a shared initializer, or in a function, which has none, a Constant node."""

    def add_initializer(self, tensor: TensorProto, name: str, doc_string: str = "") -> str:
        """Give the graph an initializer with the tensor's content; returns its name."""

    def register(self, node: NodeProto, opset: int, domain: str) -> None:
        """Let the facts of an emitted node's outputs be known."""

    def register_inlined(
        self, site: Site, attribute: str, content: Inlined, sink: list[tuple[NodeProto, int]] | None = None
    ) -> None:
        """Take over the initializers of a subgraph that is taken apart, and let the types of its values be known."""

    def declare(self, name: str, dtype: str, shape: Sequence[int | str | None] | None) -> None:
        """Let the type of an emitted value be known."""

    def subgraph_input(self, kind: TypeProto) -> ValueInfoProto:
        """An input for a subgraph of emitted nodes."""

    def walk_emitted_body(self, node: NodeProto, opset: int) -> None:
        """Take the subgraphs of an emitted node, written for `opset`, to the target."""

    def finish_subgraph(
        self,
        site: Site,
        sink: Sequence[tuple[NodeProto, int]],
        inputs: Sequence[ValueInfoProto],
        outputs: Sequence[str],
    ) -> GraphProto:
        """A subgraph of emitted nodes, taken to the target already."""
