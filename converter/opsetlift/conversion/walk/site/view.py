"""What a site knows of its node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import onnx
from onnx import AttributeProto, NodeProto, TypeProto

from opsetlift.conversion.walk.values import ScopeValues
from opsetlift.facts import type_told_by_outputs
from opsetlift.model.arrays import Array
from opsetlift.rulebook.site import Dims, Site
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import FLAGS, Transition
from opsetlift.support.refusal import SiteRefused, Why


class SiteView(Site):
    """The part of a site that only reads."""

    __slots__ = ("_is_edited", "_written", "scope")

    def __init__(self, node: NodeProto, transition: Transition, scope: ScopeValues) -> None:
        self.node = node
        self.transition = transition
        self.scope = scope
        self._is_edited = False
        self._written: set[str] = set()
        """The attributes that the rule has written, as the destination version has them."""

    def refuse(self, why: Why, sentence: str) -> NoReturn:
        """Raise SiteRefused."""
        raise SiteRefused(why, sentence)

    def attribute(self, name: str, default: Any = None, *, is_of_any_kind: bool = False) -> Any:
        """The value of an attribute, checked against the definition of the source version."""
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
        """The definition of the node as rules find it, in the source version."""
        return history.definition(self.transition.domain, self.transition.operator, self.transition.source_version)

    @property
    def _version(self) -> str:
        return f"{self.transition.operator}-{self.transition.source_version}"

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
        if kind == AttributeProto.INT and attribute.name in FLAGS and attribute.i not in (0, 1):
            self.refuse(
                Why.INVALID_MODEL,
                f"the attribute {attribute.name!r} of {self._version} is 0 or 1, not {attribute.i}: runtimes "
                "differ about that",
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
        """The opset that the transition leads to, and of emitted nodes by default."""
        return self.transition.landing_opset

    @property
    def target(self) -> int:
        """The opset of the transition's domain that the whole walk is going to: for the choice between exact forms."""
        return self.scope.target(self.transition.domain)

    def constant_value(self, value: str | int) -> Array | None:
        """The value, if it is the same in every run."""
        name = self._name(value)
        found = self.scope.facts.constant(name)
        if found is None:
            self._refuse_parameter(name)
        return found

    def content(self, value: str | int) -> Array | None:
        """The same, for rules that write the value otherwise and decide nothing by its elements."""
        name = self._name(value)
        found = self.scope.facts.content(name)
        if found is None:
            self._refuse_parameter(name)
        return found

    def holds(self, value: str | int, question: Callable[[Array], bool]) -> bool:
        """Whether a value is the same in every run, and the answer to a question about its elements is yes."""
        name = self._name(value)
        if not self.scope.facts.is_constant(name):
            self._refuse_parameter(name)
        return self.scope.facts.holds(name, question)

    def _refuse_parameter(self, name: str) -> None:
        parameter = self.scope.facts.parameter_behind(name)
        if parameter:
            self.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"the value of {name!r} is the function's parameter {parameter}, which is only known at each call",
            )

    def dtype(self, value: str | int, default: str | None = None) -> str:
        """The dtype of a tensor, or another type; SiteRefused where it is not known and there is no default."""
        name = self._name(value)
        found = self.scope.facts.type_string(name)
        if found is not None:
            return dtype_of_type(found) or found
        if default is None:
            self.refuse(
                Why.DTYPE_UNKNOWN, f"the dtype of {name!r} cannot be inferred, and the conversion depends on it"
            )
        return default

    def type_of(self, value: str | int) -> TypeProto | None:
        """The type of a value with as much of its shape as is known; None where nothing is."""
        return self.scope.facts.type_of(self._name(value))

    def shape(self, value: str | int) -> Dims | None:
        """The shape of a tensor: a number, a symbol or None per dimension; None where the rank is not known."""
        return self.scope.facts.shape(self._name(value))

    def rank(self, value: str | int, *, because: str = "") -> int:
        """The rank. The declared rank of an output counts where it leaves one rank possible for an input."""
        shape = self.shape(value)
        if shape is not None:
            return len(shape)
        facts, name = self.scope.facts, self._name(value)
        imports = {**self.scope.imports, self.transition.domain: self.transition.source_version}
        told = type_told_by_outputs(facts, self.node, imports, name)
        if told is None:
            reason = because or "the conversion depends on it"
            self.refuse(Why.RANK_UNKNOWN, f"the rank of {name!r} cannot be inferred, and {reason}")
        facts.register_type(name, told)
        return len(told.tensor_type.shape.dim)

    def type_inside(self, attribute: str, name: str) -> TypeProto | None:
        """The type of a value in the subgraph that an attribute holds; None where it is not known."""
        scope = self.scope.facts.subgraph_of(next(filter(None, self.node.output)), attribute)
        return None if scope is None else scope.type_of(name)

    @property
    def is_in_subgraph(self) -> bool:
        """Whether the node is in a subgraph."""
        return self.scope.parent is not None

    def computes(self, operator: str, **dtypes: str) -> bool:
        """Whether the runtime that the model is for has a kernel of an operator of this domain."""
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
