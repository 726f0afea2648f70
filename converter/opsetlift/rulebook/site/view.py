"""What a rule sees of a node."""

from __future__ import annotations

from typing import Any, NoReturn

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TypeProto

from opsetlift.facts import type_told_by_outputs
from opsetlift.model.arrays import Array
from opsetlift.rulebook.site.scope import SiteScope
from opsetlift.specification import history
from opsetlift.specification.carriers import exact_carrier
from opsetlift.specification.dtypes import dtype_name, dtype_of_type, element_type, shape_of_type
from opsetlift.specification.history import Transition
from opsetlift.support.refusal import SiteRefused, Why

Dims = list[int | str | None]
"""A number, a symbol or None per dimension."""


class SiteView:
    """A node in its scope at one transition, and what is known of its values. Nothing here changes the node.

    Values are named by their name or by the position of an input. What a rule needs and is not known ends in a refusal
    (SiteRefused): methods that return None or a default instead say so.
    """

    __slots__ = ("_is_edited", "_written", "node", "scope", "transition")

    def __init__(self, node: NodeProto, transition: Transition, scope: SiteScope) -> None:
        self.node = node
        self.transition = transition
        self.scope = scope
        self._is_edited = False
        self._written: set[str] = set()
        """The attributes that the rule has written, as the far side has them."""

    def refuse(self, why: Why, sentence: str) -> NoReturn:
        """Refuse to convert this node.

        Args:
            why: The kind of obstacle.
            sentence: The obstacle and, where possible, what to do about it, for a person. It names values and opsets.

        Raises:
            SiteRefused: Always.
        """
        raise SiteRefused(why, sentence)

    def has_attribute(self, name: str) -> bool:
        """Whether the node sets an attribute, also where it refers to a parameter of the function around it."""
        return any(attribute.name == name for attribute in self.node.attribute)

    def attribute(self, name: str, default: Any = None, *, is_of_any_kind: bool = False) -> Any:
        """An attribute's value: int, float, str, list, TensorProto or GraphProto.

        Args:
            name: The attribute.
            default: What to return where the node does not set it.
            is_of_any_kind: Accept another kind than the one that the definition on the near side gives.

        Raises:
            SiteRefused: It refers to a function's parameter (the walk then inlines the function); it is of another
                kind; or the definition requires it and the node has none.
        """
        for attribute in self.node.attribute:
            if attribute.name == name:
                return self._decode(attribute, is_of_any_kind=is_of_any_kind)
        if default is None:
            self._check_absent(name)
        return default

    def _check_absent(self, name: str) -> None:
        definition = self._definition
        if definition is not None and name in definition.required_attributes:
            self.refuse(Why.INVALID_MODEL, f"the attribute {name!r} is missing, which {self._version} requires")

    @property
    def _definition(self) -> history.Definition | None:
        """The definition of the node as rules find it, on the near side of the transition."""
        return history.definition(self.transition.domain, self.transition.operator, self.transition.near)

    @property
    def _version(self) -> str:
        return f"{self.transition.operator}-{self.transition.near}"

    def dtype_attribute(self, name: str, default: str = "") -> str:
        """The dtype that an attribute names, by number or, as before opset 6, in words.

        Args:
            name: The attribute.
            default: What to return where the node does not set it.

        Raises:
            SiteRefused: onnx has no such dtype.
        """
        value = self.attribute(name, is_of_any_kind=True)
        if value is None:
            return default
        try:
            if isinstance(value, (int, str)):
                return dtype_name(element_type(value) if isinstance(value, str) else value)
        except ValueError:
            pass
        raise SiteRefused(Why.INVALID_MODEL, f"the attribute {name!r} is {value!r}, which is not an ONNX dtype")

    def _decode(self, attribute: AttributeProto, *, is_of_any_kind: bool = False) -> Any:
        if attribute.ref_attr_name:
            self.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"attribute {attribute.name} is the function's parameter {attribute.ref_attr_name}, whose value is "
                "only known at each call",
            )
        definition = self._definition
        kind = definition.attribute_kinds.get(attribute.name) if definition is not None else None
        if kind is not None and kind != attribute.type and not is_of_any_kind and attribute.name not in self._written:
            kinds = AttributeProto.AttributeType
            self.refuse(
                Why.INVALID_MODEL,
                f"the attribute {attribute.name!r} is {kinds.Name(attribute.type)}, and {self._version} takes "
                f"{kinds.Name(kind)}",
            )
        if attribute.type == AttributeProto.INTS:
            return list(attribute.ints)
        value = onnx.helper.get_attribute_value(attribute)
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value

    def input(self, position: int) -> str:
        """The name of an input; "" where it is absent."""
        return self.node.input[position] if position < len(self.node.input) else ""

    def output(self, position: int) -> str:
        """The name of an output; "" where it is not asked for."""
        return self.node.output[position] if position < len(self.node.output) else ""

    @property
    def inputs(self) -> list[str]:
        """The names of all inputs, "" for absent ones."""
        return list(self.node.input)

    def is_read(self, position: int) -> bool:
        """Whether anything reads an output."""
        name = self.output(position)
        return bool(name) and self.scope.is_read(name)

    @property
    def opset(self) -> int:
        """The opset at which the node arrives on the far side, and emitted nodes live by default."""
        return self.transition.landing_opset

    @property
    def target(self) -> int:
        """The opset of the transition's domain that the whole walk is going to: for the choice between exact forms."""
        return self.scope.target(self.transition.domain)

    @property
    def takes_initializers(self) -> bool:
        """Whether the scope is a graph; functions have no initializers."""
        return self.scope.takes_initializers

    def constant_value(self, value: str | int) -> Array | None:
        """The value, if it is the same in every run; None otherwise.

        Args:
            value: A name, or the position of an input.

        Raises:
            SiteRefused: It is a function's parameter: constant, but another one at each call.
        """
        name = self._name(value)
        found = self.scope.facts.constant(name)
        parameter = self.scope.facts.parameter_behind(name) if found is None else ""
        if parameter:
            self.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"the value of {name!r} is the function's parameter {parameter}, which is only known at each call",
            )
        return found

    def dtype(self, value: str | int) -> str:
        """The dtype of a tensor: "float".

        Args:
            value: A name, or the position of an input.

        Raises:
            SiteRefused: It cannot be inferred.
        """
        name = self._name(value)
        found = self.scope.facts.type_string(name)
        if found is None:
            self.refuse(
                Why.DTYPE_UNKNOWN, f"the dtype of {name!r} cannot be inferred, and the conversion depends on it"
            )
        return dtype_of_type(found) or found

    def type_string(self, value: str | int) -> str | None:
        """The type of a value as the schemas spell it ("seq(tensor(float))"); None where it is not known."""
        return self.scope.facts.type_string(self._name(value))

    def type_of(self, value: str | int) -> TypeProto | None:
        """The type of a value with as much of its shape as is known; None where nothing is."""
        return self.scope.facts.type_of(self._name(value))

    def shape(self, value: str | int) -> Dims | None:
        """The shape of a tensor: a number, a symbol or None per dimension; None where the rank is not known."""
        return self.scope.facts.shape(self._name(value))

    def known_shape(self, value: str | int) -> list[int] | None:
        """The shape of a tensor, all numbers; None where a dimension is not known."""
        shape = self.shape(value)
        dims = [dim for dim in shape or () if isinstance(dim, int)]
        return dims if shape is not None and len(dims) == len(shape) else None

    def static_shape(self, value: str | int, *, because: str = "") -> list[int]:
        """The shape of a tensor, all numbers.

        Args:
            value: A name, or the position of an input.
            because: What the shape is needed for, for the refusal.

        Raises:
            SiteRefused: A dimension or the rank is not known.
        """
        name = self._name(value)
        shape = self.shape(name)
        reason = because or "the conversion depends on it"
        if shape is None:
            self.refuse(Why.SHAPE_UNKNOWN, f"the shape of {name!r} cannot be inferred, and {reason}")
        dims = [dim for dim in shape if isinstance(dim, int)]
        if len(dims) < len(shape):
            shown = ", ".join("?" if dim is None else str(dim) for dim in shape)
            self.refuse(Why.SHAPE_UNKNOWN, f"the shape of {name!r} is only known as [{shown}], and {reason}")
        return dims

    def rank(self, value: str | int, *, because: str = "") -> int:
        """The rank of a tensor. The declared rank of an output counts where it leaves one rank possible for an input.

        Args:
            value: A name, or the position of an input.
            because: What the rank is needed for, for the refusal.

        Raises:
            SiteRefused: It is not known.
        """
        shape = self.shape(value)
        if shape is not None:
            return len(shape)
        facts, name = self.scope.facts, self._name(value)
        imports = {**self.scope.imports, self.transition.domain: self.transition.near}
        told = type_told_by_outputs(facts, self.node, imports, name)
        if told is None:
            reason = because or "the conversion depends on it"
            self.refuse(Why.RANK_UNKNOWN, f"the rank of {name!r} cannot be inferred, and {reason}")
        facts.register_type(name, told)
        return len(told.tensor_type.shape.dim)

    def subgraph_output_shape(self, attribute: str, position: int) -> Dims | None:
        """The shape of an output of one of the node's subgraphs; None where its rank is not known.

        Args:
            attribute: The attribute that holds the subgraph.
            position: The output's.
        """
        graph: GraphProto = self.attribute(attribute)
        output = graph.output[position]
        scope = self.scope.facts.subgraph_of(next(filter(None, self.node.output)), attribute)
        return shape_of_type(output.type) if scope is None else scope.shape(output.name)

    def subgraph_input_types(self, attribute: str) -> list[TypeProto]:
        """The types of the inputs of one of the node's subgraphs.

        Args:
            attribute: The attribute that holds the subgraph.

        Raises:
            SiteRefused: One is not known.
        """
        graph: GraphProto = self.attribute(attribute)
        scope = self.scope.facts.subgraph_of(next(filter(None, self.node.output)), attribute)
        types = []
        for info in graph.input:
            found = (scope.type_of(info.name) if scope else None) or info.type
            if not found.WhichOneof("value"):
                self.refuse(Why.DTYPE_UNKNOWN, f"the type of {info.name!r}, an input of {attribute}, is not known")
            types.append(found)
        return types

    def wider_type_if_lost(self, value: str | int, variable: str) -> str | None:
        """The best exact wider type for a value, if the type variable does not take its dtype on the far side.

        None also where there is none; the type gate refuses such sites.
        """
        found = self.type_string(value)
        definition = history.definition(self.transition.domain, self.node.op_type, self.opset)
        if found is None or definition is None:
            return None
        allowed, dtype = definition.allowed_types(variable), dtype_of_type(found)
        return None if found in allowed or dtype is None else exact_carrier(dtype, allowed, self.opset)

    def computes(self, operator: str, **dtypes: str) -> bool:
        """Whether the runtime that the model is for has a kernel of an operator of this domain.

        Args:
            operator: The operator's name.
            dtypes: By type variable: `T="double"`.

        Returns:
            True also where the model is for no runtime, or nothing is known of its kernels.
        """
        return self.scope.computes(self.transition.domain, operator, dtypes)

    def parts(self, value: str | int) -> tuple[str, ...] | None:
        """The elements that replace a sequence or optional; None where it is whole."""
        return self.scope.parts(self._name(value))

    def _name(self, value: str | int) -> str:
        if isinstance(value, str):
            return value
        name = self.input(value)
        definition = self._definition
        if not name and definition is not None and not self._is_edited and definition.requires_input(value):
            self.refuse(Why.INVALID_MODEL, f"input {value} is missing, which {self._version} requires")
        return name
