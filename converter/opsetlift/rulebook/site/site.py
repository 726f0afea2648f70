"""What a rule may put in the place of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto

from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.inlining import rename_captured
from opsetlift.rulebook.site.editing import EditableSite
from opsetlift.rulebook.site.operators import Operators
from opsetlift.rulebook.site.rounding import EXACT, RoundingBound
from opsetlift.rulebook.site.scope import Emitted, SiteScope
from opsetlift.rulebook.site.view import Dims
from opsetlift.specification import history
from opsetlift.specification.carriers import carriers_of, cast_back_attributes
from opsetlift.specification.dtypes import numpy_dtype, tensor_type, tensor_type_proto
from opsetlift.specification.history import Transition
from opsetlift.support.refusal import Why


class Site(EditableSite):
    """A node in its scope at one transition: what rules are given."""

    __slots__ = ("_bound", "_emitted", "_is_replaced", "_rounding")

    def __init__(self, node: NodeProto, transition: Transition, scope: SiteScope, bound: RoundingBound = EXACT) -> None:
        super().__init__(node, transition, scope)
        self._bound = bound
        self._emitted: Emitted = []
        self._is_replaced = False
        self._rounding: int | None = None

    @property
    def emitted(self) -> Sequence[tuple[NodeProto, int]]:
        """The nodes that come before the node, or replace it (`is_replaced`), each with the opset it is written for."""
        return self._emitted

    @property
    def is_replaced(self) -> bool:
        """Whether what was emitted takes the place of the node."""
        return self._is_replaced

    @property
    def rounding(self) -> int | None:
        """The bound that the rule has claimed for this site, in ULPs; None where it has claimed none."""
        return self._rounding

    @property
    def touched(self) -> bool:
        """Whether the rule has done anything."""
        return self._is_edited or self._is_replaced or bool(self._emitted)

    def rounds(self, ulps: int | None = None, *, fewer_digits: int = 0) -> None:
        """Say that the rewrite rounds here.

        Args:
            ulps: The bound; by default the one that the rule's entry declares.
            fewer_digits: By how many binary digits a stage is narrower than the result: the bound counts its units.

        Raises:
            UndeclaredRounding: The entry (`rounding(...)`) declares no rounding, or not as much.
        """
        self._rounding = self._bound.claim(ulps, fewer_digits)

    @property
    def op(self) -> Operators:
        """Emits nodes at the far side's opset."""
        return self.op_at(self.opset)

    def op_at(self, opset: int) -> Operators:
        """Emits nodes written for `opset`; the walk takes them to the target from there."""
        return Operators(self, opset, self.transition.domain, self._emitted)

    def op_in(self, domain: str, opset: int) -> Operators:
        """Emits nodes of another domain, written for `opset` of it."""
        return Operators(self, opset, domain, self._emitted)

    def copy(self, *inputs: str | None, outputs: int | None = None, **changed: Any) -> Any:
        """Emit the same operator with the same attributes on other inputs.

        Args:
            inputs: The names of the values; "" or None for an optional one that is absent.
            outputs: How many outputs it has; by default those of the node, absent ones included.
            changed: Attributes with other values, by name; one that is None is left out.

        Returns:
            The name of the output; of several, a tuple.
        """
        position = len(self._emitted)
        count = outputs or len(self.node.output)
        result = self.op.emit(self.node.op_type, *inputs, outputs=count, **changed)
        copied = self._emitted[position][0]
        copied.attribute.extend(attribute for attribute in self.node.attribute if attribute.name not in changed)
        # Registered again: its facts depend on the attributes that it has just been given.
        self.scope.register(copied, self.opset, self.transition.domain)
        if outputs is None and not all(self.node.output):
            # To ask for an output may mean something, as for a BatchNormalization.
            for absent in [place for place, name in enumerate(self.node.output) if not name]:
                copied.output[absent] = ""
            return tuple(copied.output)
        return result

    def widen(self, dtype: str, *, like: int = 0) -> None:
        """Replace the node with casts to a wider dtype, the same operator, and casts back.

        Args:
            dtype: The wider dtype.
            like: The position of an input: cast are the inputs and outputs that share its type variable.
        """
        narrow = self.dtype(like)
        definition = history.definition(self.transition.domain, self.node.op_type, self.opset)
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

    def widen_if_lost(self, *, like: int = 0) -> None:
        """`widen` to the best exact wider type, where the far side does not accept the dtype of an input and has one.

        Args:
            like: The position of the input.
        """
        definition = history.definition(self.transition.domain, self.node.op_type, self.opset)
        if definition is None:
            return
        formals = definition.schema.inputs
        carrier = self.wider_type_if_lost(like, formals[min(like, len(formals) - 1)].type_str)
        if carrier is not None:
            self.widen(carrier, like=like)

    def widen_to_kernel(self, *, like: int = 0) -> bool:
        """`widen` to the first exact wider type for which the runtime has a kernel.

        Args:
            like: The position of the input whose dtype is widened.

        Returns:
            Whether there is such a type; without one nothing happens.
        """
        definition = history.definition(self.transition.domain, self.node.op_type, self.opset)
        assert definition is not None
        formals = definition.schema.inputs
        variable = formals[min(like, len(formals) - 1)].type_str
        allowed = definition.allowed_types(variable)
        for carrier in carriers_of(self.dtype(like)):
            if tensor_type(carrier) in allowed and self.computes(self.node.op_type, **{variable: carrier}):
                self.widen(carrier, like=like)
                return True
        return False

    def preview(self, node: NodeProto, opset: int) -> None:
        """Make the facts known of a node that may be emitted later; its outputs have fresh names."""
        self.scope.register(node, opset, history.canonical_domain(node.domain))

    def emit(self, node: NodeProto, opset: int) -> None:
        """Emit a node that is written already, for `opset` of its domain; its outputs have fresh names."""
        self.preview(node, opset)
        self.scope.walk_emitted_body(node, opset)
        self._emitted.append((node, opset))

    def declare(self, name: str, dtype: str, shape: Dims | None) -> None:
        """Declare the type of an emitted value, where onnx's inference cannot know it.

        Args:
            name: The value.
            dtype: Its dtype: "float".
            shape: A number, a symbol or None per dimension; None where the rank is not known.
        """
        self.scope.declare(name, dtype, shape)

    def subgraph(
        self,
        build: Callable[..., Sequence[str]],
        *,
        opset: int | None = None,
        takes: Sequence[tuple[str, Sequence[int | str | None] | None] | TypeProto] = (),
    ) -> GraphProto:
        """Build a subgraph for a node that is emitted afterwards.

        Args:
            build: Called as `build(op, *inputs)` with the names of the inputs: emits the nodes and returns the names of
                the outputs. Each output must be computed in the subgraph; an outer value goes through Identity.
            opset: The opset that the nodes are written for; by default that of the far side.
            takes: For each input its type, or its dtype and shape.

        Returns:
            The subgraph, converted to the target.
        """
        written_for = opset or self.opset
        emitted: Emitted = []
        types = [one if isinstance(one, TypeProto) else tensor_type_proto(*one) for one in takes]
        inputs = [self.scope.subgraph_input(one) for one in types]
        outputs = build(Operators(self, written_for, self.transition.domain, emitted), *(info.name for info in inputs))
        return self.scope.finish_subgraph(self.node, self.transition, emitted, inputs, outputs)

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the model's node that is being converted."""
        return self.scope.fresh_name(hint)

    def constant(self, array: Array, hint: str = "constant") -> str:
        """Add a constant: an initializer that equal ones share, or in a function a Constant node.

        Args:
            array: The value.
            hint: A part of the name.

        Returns:
            The name.
        """
        if self.scope.takes_initializers:
            return self.scope.shared_constant(array, hint)
        # Below 9 a Constant is a float; its own transitions say what becomes of the others.
        opset = self.opset if self.transition.domain == history.AI_ONNX else self.scope.imports.get(history.AI_ONNX, 1)
        return str(self.op_in(history.AI_ONNX, max(opset, 9)).Constant(value=tensor_of(array)))

    def constant_int64(self, values: Sequence[int], hint: str = "axes") -> str:
        """The name of a constant int64 vector."""
        return self.constant(numpy.array(values, dtype=numpy.int64), hint)

    def scalar(self, value: Any, dtype: str, hint: str = "constant") -> str:
        """The name of a constant of rank 0."""
        return self.constant(numpy.array(value, dtype=numpy_dtype(dtype)), hint)

    def zero(self, dtype: str) -> str:
        """The name of a constant zero, False or empty string, of rank 0."""
        return self.constant(numpy.array("" if dtype == "string" else 0).astype(numpy_dtype(dtype)), "zero")

    def folded(self, build: Callable[[], str], hint: str = "constant") -> str:
        """Emit nodes, or one constant where their result is known.

        Args:
            build: Emits the nodes and returns the name of the result, the only value of them that may be used.
            hint: A part of the constant's name.

        Returns:
            The name of the result.
        """
        start = len(self._emitted)
        name = build()
        value = self.constant_value(name) if len(self._emitted) > start else None
        if value is None:
            return name
        for node, _ in self._emitted[start:]:
            self.scope.discard(filter(None, node.input))
        del self._emitted[start:]
        return self.constant(value, hint)

    def replace(self, *values: str | None) -> None:
        """Replace the node's outputs with values, and remove the node.

        Args:
            values: A name for each output, in order; None where there is no counterpart. A value that no emitted node
                computes, or that is named twice, goes through an Identity.

        Raises:
            SiteRefused: An output that is used has no counterpart.
        """
        producers = {name: node for node, _ in self._emitted for name in node.output}
        taken: set[str] = set()
        for output, value in zip(self.node.output, values, strict=False):
            if not output:
                continue
            if not value:
                self.refuse(Why.NO_EQUIVALENT, f"output {output!r} has no counterpart at opset {self.opset}")
            if value not in producers or value in taken:
                node = NodeProto(op_type="Identity", input=[value], output=[output])
                self._emitted.append((node, max(self.opset, 1)))
                continue
            taken.add(value)
            self._rename_emitted(value, output)
        self._is_replaced = True

    def _rename_emitted(self, old: str, new: str) -> None:
        for node, _ in self._emitted:
            for names in (node.input, node.output):
                for position, name in enumerate(names):
                    if name == old:
                        names[position] = new
            for attribute in node.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    rename_captured(attribute.g, old, new)

    def become(self, operator: str, *, opset: int | None = None) -> None:
        """Make the node another operator, with the attributes and inputs that it has now.

        Args:
            operator: The operator's name.
            opset: The opset that the node is written for then; by default that of the far side.
        """
        self.node.op_type = operator
        self._emitted.append((self.node, opset or self.opset))
        self._is_replaced = True

    def become_initializer(self, tensor: TensorProto) -> None:
        """Replace the node, which has one output, with an initializer. The tensor's content is not read."""
        name = self.node.output[0]
        if name in self.scope.output_names:
            # Not every runtime takes an initializer for an output of a graph.
            self.replace(self.scope.add_initializer(tensor, self.fresh_name("constant")))
            return
        self.scope.add_initializer(tensor, name, self.node.doc_string)
        self._is_replaced = True

    def scalarize(self, output: int, parts: Sequence[str]) -> None:
        """Replace an output of a type that the far side lacks with its elements, and remove the node.

        Rules ask for the elements with `parts`; a node that uses the output otherwise is refused.

        Args:
            output: The position of the output.
            parts: The names of the elements.
        """
        self.scope.scalarize(self.node.output[output], parts)
        self._is_replaced = True
