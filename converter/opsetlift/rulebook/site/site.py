"""What a rule is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from onnx import NodeProto, TensorProto, TypeProto

from opsetlift.model.arrays import Array
from opsetlift.rulebook.site.operators import Dims, Operators
from opsetlift.specification.history import Transition
from opsetlift.support.refusal import Why


class Site(ABC):
    """A node at one version transition: what a rule reads of it, and may do to it. The walk implements it.

    A `value` names a tensor, or is an input's position. What is unknown raises SiteRefused, unless otherwise stated.
    """

    __slots__ = {
        "node": "The node as it is now. Read it; to edit it, use the methods.",
        "transition": "Operator, domain and the two since-versions.",
    }

    node: NodeProto
    transition: Transition

    # Where the node comes from and goes to.

    @property
    @abstractmethod
    def opset(self) -> int:
        """The opset that the transition leads to, and of emitted nodes by default."""

    @property
    @abstractmethod
    def target(self) -> int:
        """The opset that the whole conversion goes to: lets a rule choose the best form for the final opset."""

    @property
    @abstractmethod
    def is_in_subgraph(self) -> bool:
        """Whether the node is in a subgraph, which may never run: what always fails there is no fault of the model."""

    @abstractmethod
    def computes(self, operator: str, **dtypes: str) -> bool:
        """Whether the runtime has a kernel: `computes("TopK", T="double")`. True without a runtime or data about it."""

    # What is known of the node and its values.

    @property
    @abstractmethod
    def inputs(self) -> list[str]:
        """The names of all inputs, "" for absent ones."""

    @abstractmethod
    def input(self, position: int) -> str:
        """The name of an input; "" where it is absent."""

    @abstractmethod
    def output(self, position: int) -> str:
        """The name of an output; "" where it is absent."""

    @abstractmethod
    def is_read(self, position: int) -> bool:
        """Whether anything reads an output."""

    @abstractmethod
    def attribute(self, name: str, default: Any = None, *, is_of_any_kind: bool = False) -> Any:
        """An attribute's value: int, float, str, list, TensorProto or GraphProto; `default` where the node has none.

        Refuses another kind than the definition's, unless `is_of_any_kind`, a missing required one, and parameters.
        """

    @abstractmethod
    def dtype(self, value: str | int, default: str | None = None) -> str:
        """The dtype of a tensor ("float"), or another type ("seq(tensor(float))"); `default` where it is not known."""

    @abstractmethod
    def shape(self, value: str | int) -> Dims | None:
        """A number, a symbol or None per dimension; None where the rank is not known."""

    @abstractmethod
    def rank(self, value: str | int, *, because: str = "") -> int:
        """The rank of a tensor. Refused where it is not known: `because` says what it is needed for."""

    @abstractmethod
    def type_of(self, value: str | int) -> TypeProto | None:
        """The type with as much of the shape as is known; None where nothing is."""

    @abstractmethod
    def type_inside(self, attribute: str, name: str) -> TypeProto | None:
        """The same of a value in the subgraph that an attribute holds."""

    @abstractmethod
    def constant_value(self, value: str | int) -> Array | None:
        """The value, if it is the same in every run; None otherwise. Refuses a function's parameter."""

    @abstractmethod
    def content(self, value: str | int) -> Array | None:
        """The same, for rules that write the value otherwise and decide nothing by its elements."""

    @abstractmethod
    def holds(self, value: str | int, question: Callable[[Array], bool]) -> bool:
        """Whether a value is constant and a question (a function) about it answers yes: cheaper for weights."""

    @abstractmethod
    def parts(self, value: str | int) -> tuple[str, ...] | None:
        """What replaces a sequence or optional (`scalarize`), mostly its elements; None where it was not replaced."""

    # Edit the node in place.

    @abstractmethod
    def set_attribute(self, name: str, value: Any) -> None:
        """Set or replace an attribute: an int, float, str, array or proto, or a list of one of these kinds."""

    @abstractmethod
    def remove_attribute(self, name: str) -> None:
        """Remove an attribute if the node has it."""

    @abstractmethod
    def set_input(self, position: int, name: str) -> None:
        """Replace or add an input; "" makes it absent, as are those before it that the node does not have."""

    @abstractmethod
    def remove_input(self, position: int) -> None:
        """Remove an input if the node has it; later ones move up."""

    @abstractmethod
    def ask_for_outputs(self, positions: Iterable[int]) -> None:
        """Add the outputs at these positions to the node where they are absent, under new names."""

    @abstractmethod
    def keep_outputs(self, count: int) -> None:
        """Keep the first `count` outputs and remove the others, which nothing may read."""

    # Emit nodes before it, or in its place.

    @property
    @abstractmethod
    def op(self) -> Operators:
        """Emits nodes of the opset that the transition leads to: `site.op.Clip(x, low, high)`."""

    @abstractmethod
    def op_at(self, opset: int, domain: str | None = None) -> Operators:
        """Emits nodes of `opset`, which the walk then converts to the target; by default of the node's domain."""

    @abstractmethod
    def constant(self, value: Any, dtype: str = "", hint: str = "") -> str:
        """Add a constant: an initializer that equal ones share, or in a function a Constant node.

        Args:
            value: An array, or a number, a string or a nested list of either, which need a `dtype`.
            dtype: The dtype; by default that of the array.
            hint: A part of the name; by default "axes" for vectors of int64, which most of these are.
        """

    @abstractmethod
    def folded(self, build: Callable[[], str], hint: str = "constant") -> str:
        """Emit nodes with `build`, or one constant where their result is known; both return its name."""

    # Finish.

    @abstractmethod
    def replace(self, *values: str | None) -> None:
        """Replace the node with values, one per output; None where an output that nothing uses has no counterpart.

        A value that no emitted node computes, or that is named twice, goes through an Identity.
        """

    @abstractmethod
    def become(self, operator: str, *, opset: int | None = None) -> None:
        """Make the node another operator, at `opset` or where the transition leads; it keeps attributes and inputs."""

    @abstractmethod
    def become_initializer(self, tensor: TensorProto) -> bool:
        """Replace the node, which has one output, with an initializer; False in a function, which has none."""

    @abstractmethod
    def scalarize(self, output: int, parts: Sequence[str]) -> None:
        """Replace an output of a type that the destination version lacks with its elements, and remove the node.

        Rules get them by `parts`; other uses are refused. A tuple of a rule's own class may stand for the elements.
        """

    @property
    @abstractmethod
    def is_replaced(self) -> bool:
        """Whether one of the methods above has replaced the node."""

    @abstractmethod
    def rounds(self, ulps: int | None = None, *, fewer_digits: int = 0) -> None:
        """Claim that the rewrite rounds here, by no more than the rule's entry declares, which is the default.

        `fewer_digits`: how many bits less precision than the result a stage has; `ulps` counts units of that stage.
        """

    @abstractmethod
    def refuse(self, why: Why, sentence: str) -> NoReturn:
        """Refuse to convert the node: the kind of obstacle, and what it is, with values, opsets and a way out."""
        raise NotImplementedError
