"""What a rule sees of a node and may do to it.

A rule either edits the node in place (attributes, inputs) or emits nodes that take its place. Emitted nodes live at the
far side of the cell, or at any opset that the rule names; the walk takes them on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto

from converter import history
from converter.arrays import Array, tensor_of
from converter.carriers import cast_back_attributes, exact_carrier
from converter.dtypes import dtype_of_type, element_type, numpy_dtype, shape_of_type, tensor_type_proto
from converter.history import Cell
from converter.inlining import inlined
from converter.refusal import SiteRefused, Why

if TYPE_CHECKING:
    from converter.rule import Rule
    from converter.walk import ScopeWalk

__all__ = ["Array", "Dims", "Operators", "Site"]

Dims = list[int | str | None]

AT_TARGET = 0
"""Stands for an opset, of nodes that have been taken to the target before."""


def encode_attribute(attribute: AttributeProto, value: Any) -> None:
    """Write a Python value into an attribute: int, float, str, bytes, array, graph, or a list of one kind.

    An empty list becomes INTS. Raises TypeError for anything else.
    """
    if isinstance(value, (list, tuple)):
        _encode_list(attribute, value)
    elif isinstance(value, (int, numpy.integer)):
        attribute.type, attribute.i = AttributeProto.INT, int(value)
    elif isinstance(value, (float, numpy.floating)):
        attribute.type, attribute.f = AttributeProto.FLOAT, float(value)
    elif isinstance(value, (str, bytes)):
        attribute.type = AttributeProto.STRING
        attribute.s = value.encode() if isinstance(value, str) else value
    elif isinstance(value, numpy.ndarray):
        attribute.type = AttributeProto.TENSOR
        attribute.t.CopyFrom(tensor_of(value))
    elif isinstance(value, TensorProto):
        attribute.type = AttributeProto.TENSOR
        attribute.t.CopyFrom(value)
    elif isinstance(value, GraphProto):
        attribute.type = AttributeProto.GRAPH
        attribute.g.CopyFrom(value)
    elif isinstance(value, TypeProto):
        attribute.type = AttributeProto.TYPE_PROTO
        attribute.tp.CopyFrom(value)
    else:
        raise TypeError(f"no attribute kind for {type(value).__name__}")


def _encode_list(attribute: AttributeProto, values: Sequence[Any]) -> None:
    kinds = set(map(type, values))
    if all(issubclass(kind, (int, numpy.integer)) for kind in kinds):
        attribute.type = AttributeProto.INTS
        attribute.ints.extend(map(int, values))
    elif all(issubclass(kind, (int, float, numpy.number)) for kind in kinds):
        attribute.type = AttributeProto.FLOATS
        attribute.floats.extend(map(float, values))
    elif kinds <= {str, bytes}:
        attribute.type = AttributeProto.STRINGS
        attribute.strings.extend(value.encode() if isinstance(value, str) else value for value in values)
    elif kinds == {GraphProto}:
        attribute.type = AttributeProto.GRAPHS
        attribute.graphs.extend(values)
    else:
        raise TypeError("a list attribute holds values of one kind")


class Operators:
    """Emits nodes as the specification writes them: `op.Clip(x, low, high)` -> the name of its output.

    Inputs are value names, "" (or None) for an absent optional one; attributes are keywords. `outputs=2` gives a tuple
    of two names; `to=` and `dtype=` take dtype names ("float") as well as numbers.
    """

    def __init__(self, site: Site, opset: int, domain: str, sink: list[tuple[NodeProto, int]]) -> None:
        self._site = site
        self._opset = opset
        self._domain = domain
        self._sink = sink

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if operator.startswith("__"):
            raise AttributeError(operator)
        return partial(self._emit, operator)

    def _emit(self, operator: str, *inputs: str | None, outputs: int = 1, **attributes: Any) -> Any:
        node = NodeProto(op_type=operator, domain=self._domain)
        node.input.extend(name or "" for name in inputs)
        node.output.extend(self._site.fresh_name(operator) for _ in range(outputs))
        for name, value in attributes.items():
            if value is not None:
                attribute = node.attribute.add(name=name)
                if name in ("to", "dtype") and isinstance(value, str):
                    # Before opset 6 dtypes are written in words.
                    value = element_type(value) if self._opset >= 6 else value.upper()
                encode_attribute(attribute, value)
        self._sink.append((node, self._opset))
        self._site.scope.register(node, self._opset, self._domain)
        return node.output[0] if outputs == 1 else tuple(node.output)

    def at(self, opset: int) -> Operators:
        """Emits to the same place nodes that are written for another opset."""
        return Operators(self._site, opset, self._domain, self._sink)

    def inline(self, attribute: str, *inputs: str, keep_names: bool = False) -> list[str]:
        """The nodes of one of the site's subgraphs, which have been taken to the target, on `inputs` for its own.

        `keep_names` is for when they stand in a subgraph again, and only once.
        """
        site = self._site
        content = inlined(site.attribute(attribute), inputs, site.fresh_name, keep_names=keep_names)
        site.scope.register_inlined(site, attribute, content)
        self._sink.extend((node, AT_TARGET) for node in content.nodes)
        computed = {name for node in content.nodes for name in node.output}
        results: list[str] = []
        for name in content.outputs:
            is_own = name in computed and name not in results
            results.append(name if is_own else self.Identity(name))
        return results


class Site:
    """A node in its scope, on its way across one cell."""

    __slots__ = ("_is_edited", "cell", "emitted", "inner_crossings", "is_replaced", "node", "rounding", "scope")

    def __init__(self, node: NodeProto, cell: Cell, scope: ScopeWalk) -> None:
        self.node = node
        self.cell = cell
        self.scope = scope
        self.emitted: list[tuple[NodeProto, int]] = []
        """Nodes to stand before (or, if `is_replaced`, instead of) the node, each with the opset it is written for."""
        self.is_replaced = False
        self._is_edited = False
        self.rounding: tuple[int, str] | None = None
        self.inner_crossings: list[tuple[Cell, Rule]] = []
        """What the nodes of emitted subgraphs went through."""

    @property
    def touched(self) -> bool:
        """Whether the rule has done anything."""
        return self._is_edited or self.is_replaced or bool(self.emitted)

    # Refusing

    def refuse(self, why: Why, sentence: str) -> NoReturn:
        """Give up on this site: `sentence` tells a person what stands in the way and, where possible, what to do."""
        raise SiteRefused(why, sentence)

    def rounds(self, ulps: int, because: str) -> None:
        """Say that the rewrite rounds here, and within how many units in the last place of the largest magnitude."""
        self.rounding = (ulps, because)

    # Attributes

    def has_attribute(self, name: str) -> bool:
        """Whether the node sets the attribute, be it by reference."""
        return any(attribute.name == name for attribute in self.node.attribute)

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute's value: int, float, str, list, TensorProto, GraphProto; `default` where the node has none.

        Refuses where it is a reference to a function's parameter (the walk then inlines the function).
        """
        for attribute in self.node.attribute:
            if attribute.name == name:
                return self._decode(attribute)
        return default

    def pop_attribute(self, name: str, default: Any = None) -> Any:
        """`attribute`, and the node loses it."""
        for position, attribute in enumerate(self.node.attribute):
            if attribute.name == name:
                value = self._decode(attribute)
                del self.node.attribute[position]
                self._is_edited = True
                return value
        return default

    def set_attribute(self, name: str, value: Any) -> None:
        """Set an attribute, replacing what it was."""
        self.remove_attribute(name)
        self._is_edited = True
        encode_attribute(self.node.attribute.add(name=name), value)

    def remove_attribute(self, name: str) -> None:
        """Drop an attribute if the node has it, whatever it is."""
        for position, attribute in enumerate(self.node.attribute):
            if attribute.name == name:
                del self.node.attribute[position]
                self._is_edited = True
                return

    def rename_attribute(self, name: str, new_name: str) -> None:
        """Rename an attribute, references included."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                attribute.name = new_name
                self._is_edited = True

    def _decode(self, attribute: AttributeProto) -> Any:
        if attribute.ref_attr_name:
            self.refuse(
                Why.ATTRIBUTE_REFERENCE,
                f"attribute {attribute.name} is the function's parameter {attribute.ref_attr_name}, whose value is "
                "only known at each call",
            )
        if attribute.type == AttributeProto.INTS:
            return list(attribute.ints)
        value = onnx.helper.get_attribute_value(attribute)
        return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value

    # Inputs and outputs

    def input(self, position: int) -> str:
        """The name of an input; "" where it is absent."""
        return self.node.input[position] if position < len(self.node.input) else ""

    def output(self, position: int) -> str:
        """The name of an output; "" where it is not asked for."""
        return self.node.output[position] if position < len(self.node.output) else ""

    @property
    def inputs(self) -> list[str]:
        return list(self.node.input)

    def is_read(self, position: int) -> bool:
        """Whether anything reads an output."""
        name = self.output(position)
        return bool(name) and self.scope.is_read(name)

    def ask_for_outputs(self, positions: Iterable[int]) -> None:
        """Let the node compute these outputs; those that it has not get a name that nobody reads."""
        for position in positions:
            while len(self.node.output) <= position:
                self.node.output.append("")
            if not self.node.output[position]:
                self.node.output[position] = self.scope.unread_name(self)
                self._is_edited = True

    def keep_outputs(self, count: int) -> None:
        """Take the outputs from `count` on away, which nobody may read."""
        assert not any(map(self.is_read, range(count, len(self.node.output))))
        if len(self.node.output) > count:
            del self.node.output[count:]
            self._is_edited = True

    def set_input(self, position: int, name: str) -> None:
        """Give the node another input, absent ones before it being written as ""."""
        while len(self.node.input) <= position:
            self.node.input.append("")
        self._drop(self.node.input[position])
        self.node.input[position] = name
        self._is_edited = True
        self._trim()

    def append_input(self, name: str) -> None:
        """Give the node one more input."""
        self.node.input.append(name)
        self._is_edited = True

    def remove_input(self, position: int) -> None:
        """Take an input away; later ones move up. Nothing happens where it does not exist."""
        if position < len(self.node.input):
            self._drop(self.node.input[position])
            del self.node.input[position]
            self._trim()
            self._is_edited = True

    def _trim(self) -> None:
        while self.node.input and not self.node.input[-1]:
            del self.node.input[-1]

    def _drop(self, name: str) -> None:
        if name:
            self.scope.dropped_uses.append(name)

    def pop_optional_constant_input(self, position: int, *, refuse: Why = Why.INPUT_NOT_CONSTANT) -> Array | None:
        """Take an input away and give its value; None where it is absent.

        Refuses where the value is computed at run time, or can be overridden by the caller.
        """
        name = self.input(position)
        if not name:
            self.remove_input(position)
            return None
        value = self.constant_value(name)
        if value is None:
            reason = (
                "is an initializer that is also a graph input, so that a caller can override it"
                if self.scope.facts.is_initializer(name)
                else "is computed at run time"
            )
            self.refuse(
                refuse, f"input {position} ({name!r}) {reason}, and it has to be an attribute at opset {self.opset}"
            )
        self.remove_input(position)
        return value

    # Facts

    @property
    def opset(self) -> int:
        """The opset at which the node arrives on the far side, and emitted nodes live by default."""
        return self.cell.landing_opset

    def constant_value(self, value: str | int) -> Array | None:
        """The value of an input, by name or position, if it is constant; None otherwise.

        Refuses where it is a function's parameter, and hence constant at each call.
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
        """The dtype of a tensor, by name or input position: "float". Refuses where it is not known."""
        name = self._name(value)
        found = self.scope.facts.type_string(name)
        if found is None:
            self.refuse(Why.DTYPE_UNKNOWN, f"the dtype of {name!r} decides here, and it is not known")
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

    def rank(self, value: str | int, *, because: str = "") -> int:
        """The rank of a tensor. Refuses where it is not known; `because` says what it is needed for."""
        shape = self.shape(value)
        if shape is None:
            reason = because or "it decides here"
            self.refuse(Why.RANK_UNKNOWN, f"the rank of {self._name(value)!r} is not known, and {reason}")
        return len(shape)

    def static_shape(self, value: str | int, *, because: str = "") -> list[int]:
        """The shape of a tensor, all numbers. Refuses where a dimension is not known."""
        name = self._name(value)
        shape = self.shape(name)
        reason = because or "it decides here"
        if shape is None:
            self.refuse(Why.SHAPE_UNKNOWN, f"the shape of {name!r} is not known, and {reason}")
        dims = [dim for dim in shape if isinstance(dim, int)]
        if len(dims) < len(shape):
            shown = ", ".join("?" if dim is None else str(dim) for dim in shape)
            self.refuse(Why.SHAPE_UNKNOWN, f"the shape of {name!r} is only known as [{shown}], and {reason}")
        return dims

    def subgraph_output_shape(self, attribute: str, position: int) -> Dims | None:
        """The shape of an output of one of the node's subgraphs; None where its rank is not known."""
        graph: GraphProto = self.attribute(attribute)
        output = graph.output[position]
        scope = self.scope.facts.subgraph_of(next(filter(None, self.node.output)), attribute)
        return shape_of_type(output.type) if scope is None else scope.shape(output.name)

    def subgraph_input_types(self, attribute: str) -> list[TypeProto]:
        """The types of the inputs of one of the node's subgraphs. Refuses where one is not known."""
        graph: GraphProto = self.attribute(attribute)
        scope = self.scope.facts.subgraph_of(next(filter(None, self.node.output)), attribute)
        types = []
        for info in graph.input:
            found = (scope.type_of(info.name) if scope else None) or info.type
            if not found.WhichOneof("value"):
                self.refuse(Why.DTYPE_UNKNOWN, f"the type of {info.name!r}, an input of {attribute}, is not known")
            types.append(found)
        return types

    def known_shape(self, value: str | int) -> list[int] | None:
        """The shape of a tensor, all numbers; None where a dimension is not known."""
        shape = self.shape(value)
        dims = [dim for dim in shape or () if isinstance(dim, int)]
        return dims if shape is not None and len(dims) == len(shape) else None

    def _name(self, value: str | int) -> str:
        return value if isinstance(value, str) else self.input(value)

    @property
    def target(self) -> int:
        """The opset of the cell's domain that the whole walk is going to: for the choice between exact forms."""
        return self.scope.target(self.cell.domain)

    # Emitting

    @property
    def op(self) -> Operators:
        """Emits nodes at the far side's opset."""
        return self.op_at(self.opset)

    def op_at(self, opset: int) -> Operators:
        """Emits nodes written for `opset`; the walk takes them to the target from there."""
        return Operators(self, opset, self.cell.domain, self.emitted)

    def op_in(self, domain: str, opset: int) -> Operators:
        """Emits nodes of another domain, written for `opset` of it."""
        return Operators(self, opset, domain, self.emitted)

    def emit(self, node: NodeProto, opset: int) -> None:
        """Emit a node that is written already, for `opset` of its domain; its outputs have fresh names."""
        self.scope.register(node, opset, history.canonical_domain(node.domain))
        self.scope.walk_emitted_body(node, opset)
        self.emitted.append((node, opset))

    def declare(self, name: str, dtype: str, shape: Dims | None) -> None:
        """Say the type of an emitted value, where onnx's inference has no way to know it."""
        self.scope.declare(name, dtype, shape)

    # Values in parts: sequences and optionals where the far side has none

    def dissolve(self, output: int, parts: Sequence[str]) -> None:
        """Let an output, which the far side cannot hold, be these values: rules ask for them by `parts`.

        The node is dropped. What reads the output otherwise is refused.
        """
        self.scope.dissolve(self.node.output[output], parts)
        self.is_replaced = True

    def parts(self, value: str | int) -> tuple[str, ...] | None:
        """The values that a value has been dissolved into; None where it is whole."""
        return self.scope.parts(self._name(value))

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the model's node that is being converted."""
        return self.scope.names.fresh(f"{self.scope.base_name}_{hint}")

    def constant(self, array: Array, hint: str = "constant") -> str:
        """The name of a constant value; equal ones share one initializer per scope."""
        return self.scope.constant(self, array, hint)

    def constant_int64(self, values: Sequence[int], hint: str = "axes") -> str:
        """The name of a constant int64 vector."""
        return self.constant(numpy.array(values, dtype=numpy.int64), hint)

    def scalar(self, value: Any, dtype: str, hint: str = "constant") -> str:
        """The name of a constant of rank 0."""
        return self.constant(numpy.array(value, dtype=numpy_dtype(dtype)), hint)

    def folded(self, build: Callable[[], str], hint: str = "constant") -> str:
        """The name of what `build` emits; of a constant, and nothing is emitted, where its value is known.

        Of the values that `build` computes only the returned one may be used.
        """
        start = len(self.emitted)
        name = build()
        value = self.constant_value(name) if len(self.emitted) > start else None
        if value is None:
            return name
        for node, _ in self.emitted[start:]:
            self.scope.dropped_uses.extend(filter(None, node.input))
        del self.emitted[start:]
        return self.constant(value, hint)

    def zero(self, dtype: str) -> str:
        """The name of a constant zero, False or empty string, of rank 0."""
        return self.constant(numpy.array("" if dtype == "string" else 0).astype(numpy_dtype(dtype)), "zero")

    def subgraph(
        self,
        build: Callable[..., Sequence[str]],
        *,
        opset: int | None = None,
        takes: Sequence[tuple[str, Sequence[int | str | None] | None] | TypeProto] = (),
    ) -> GraphProto:
        """A subgraph for an emitted node: `build(op, *inputs)` emits its nodes and returns the output names.

        `takes` has the type of each input, or its dtype and shape. Every output has to be computed in it, not captured:
        an outer value goes through Identity.
        """
        written_for = opset or self.opset
        sink: list[tuple[NodeProto, int]] = []
        types = [one if isinstance(one, TypeProto) else tensor_type_proto(*one) for one in takes]
        inputs = [self.scope.subgraph_input(self, one) for one in types]
        outputs = build(Operators(self, written_for, self.cell.domain, sink), *(info.name for info in inputs))
        return self.scope.finish_subgraph(self, sink, inputs, outputs)

    @property
    def takes_initializers(self) -> bool:
        """Whether the scope is a graph; functions have no initializers."""
        return self.scope.takes_initializers

    def become_initializer(self, tensor: TensorProto) -> None:
        """Let the node's one output be an initializer with the tensor's content, which is not looked at."""
        name = self.node.output[0]
        if name in self.scope.output_names:
            # Not every runtime takes an initializer for an output of a graph.
            self.replace(self.scope.add_initializer(tensor, self.fresh_name("constant")))
            return
        self.scope.add_initializer(tensor, name, self.node.doc_string)
        self.is_replaced = True

    def copy(self, *inputs: str | None, outputs: int | None = None, **changed: Any) -> Any:
        """Emit the same operator with the same attributes on other inputs; keywords change attributes (None drops)."""
        position = len(self.emitted)
        count = outputs or len(self.node.output)
        result = self.op._emit(self.node.op_type, *inputs, outputs=count, **changed)
        copied = self.emitted[position][0]
        copied.attribute.extend(attribute for attribute in self.node.attribute if attribute.name not in changed)
        # Registered again: its facts depend on the attributes that it has just been given.
        self.scope.register(copied, self.opset, self.cell.domain)
        if outputs is None and not all(self.node.output):
            # To ask for an output may mean something, as for a BatchNormalization.
            for absent in [place for place, name in enumerate(self.node.output) if not name]:
                copied.output[absent] = ""
            return tuple(copied.output)
        return result

    def carry(self, dtype: str, *, like: int = 0) -> None:
        """Compute in the wider `dtype`: cast in, the same operator, cast out.

        What travels are the inputs and outputs that share the type variable of input `like`.
        """
        narrow = self.dtype(like)
        definition = history.definition(self.cell.domain, self.node.op_type, self.opset)
        assert definition is not None
        formals = definition.schema.inputs, definition.schema.outputs
        variable = formals[0][min(like, len(formals[0]) - 1)].type_str
        travels = [
            [
                bool(name) and declared[min(position, len(declared) - 1)].type_str == variable
                for position, name in enumerate(names)
            ]
            for declared, names in zip(formals, (self.node.input, self.node.output), strict=True)
        ]
        op = self.op
        wide = [
            op.Cast(name, to=dtype) if cast else name for name, cast in zip(self.node.input, travels[0], strict=True)
        ]
        results = self.copy(*wide)
        results = (results,) if isinstance(results, str) else results
        back = cast_back_attributes(narrow)
        self.replace(
            *(
                op.Cast(name, to=narrow, **back) if cast else name
                for name, cast in zip(results, travels[1], strict=True)
            )
        )

    def carry_if_lost(self, *, like: int = 0) -> None:
        """`carry` in the best exact carrier, if the far side does not take the dtype of input `like` and has one."""
        definition = history.definition(self.cell.domain, self.node.op_type, self.opset)
        if definition is None:
            return
        formals = definition.schema.inputs
        carrier = self.carrier_if_lost(like, formals[min(like, len(formals) - 1)].type_str)
        if carrier is not None:
            self.carry(carrier, like=like)

    def carrier_if_lost(self, value: str | int, variable: str) -> str | None:
        """The best exact carrier for a value, if the operator's type variable does not take its dtype on the far side.

        None also where there is none; the type gate refuses such sites.
        """
        found = self.type_string(value)
        definition = history.definition(self.cell.domain, self.node.op_type, self.opset)
        if found is None or definition is None:
            return None
        allowed, dtype = definition.allowed_types(variable), dtype_of_type(found)
        return None if found in allowed or dtype is None else exact_carrier(dtype, allowed, self.opset)

    # Replacing

    def replace(self, *values: str | None) -> None:
        """Let emitted values take the places of the node's outputs, in order, and drop the node.

        A value that no emitted node computes, or that serves twice, goes through an Identity.
        """
        producers = {name: node for node, _ in self.emitted for name in node.output}
        taken: set[str] = set()
        for output, value in zip(self.node.output, values, strict=False):
            if not output:
                continue
            if not value:
                self.refuse(Why.NO_EQUIVALENT, f"output {output!r} has no counterpart at opset {self.opset}")
            if value not in producers or value in taken:
                node = NodeProto(op_type="Identity", input=[value], output=[output])
                self.emitted.append((node, max(self.opset, 1)))
                continue
            taken.add(value)
            self._rename_emitted(value, output)
        self.is_replaced = True

    def _rename_emitted(self, old: str, new: str) -> None:
        for node, _ in self.emitted:
            for names in (node.input, node.output):
                for position, name in enumerate(names):
                    if name == old:
                        names[position] = new
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    rename_captured(attribute.g, old, new)

    def become(self, operator: str, *, opset: int | None = None) -> None:
        """Let the node be another operator from here on, with the attributes and inputs that it has now."""
        self.node.op_type = operator
        self.emitted.append((self.node, opset or self.opset))
        self.is_replaced = True


def rename_captured(graph: GraphProto, old: str, new: str) -> None:
    """Let a subgraph (and those inside it) read `new` where it read the outer value `old`."""
    for node in graph.node:
        for position, name in enumerate(node.input):
            if name == old:
                node.input[position] = new
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                rename_captured(attribute.g, old, new)
    for output in graph.output:
        if output.name == old:
            output.name = new
