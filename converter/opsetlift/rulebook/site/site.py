"""What a rule may put in the place of a node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto

from opsetlift.model.arrays import Array
from opsetlift.model.inlining import rename_captured
from opsetlift.rulebook.rule import UndeclaredRounding
from opsetlift.rulebook.site.editing import EditableSite
from opsetlift.rulebook.site.operators import Operators
from opsetlift.rulebook.site.view import Dims
from opsetlift.specification import history
from opsetlift.specification.carriers import carriers_of, cast_back_attributes
from opsetlift.specification.dtypes import numpy_dtype, tensor_type, tensor_type_proto
from opsetlift.specification.history import Transition
from opsetlift.support.refusal import Why

if TYPE_CHECKING:
    from opsetlift.rulebook.rule import Rule
    from opsetlift.rulebook.site.host import SiteHost


class Site(EditableSite):
    """A node in its scope, on its way across one transition: what rules are given."""

    __slots__ = ("emitted", "inner_crossings", "is_replaced", "rounding", "rule")

    def __init__(self, node: NodeProto, transition: Transition, scope: SiteHost) -> None:
        super().__init__(node, transition, scope)
        self.emitted: list[tuple[NodeProto, int]] = []
        """Nodes to stand before (or, if `is_replaced`, instead of) the node, each with the opset it is written for."""
        self.is_replaced = False
        self.rule: Rule | None = None
        """The rule that the site is given to."""
        self.rounding: int | None = None
        """The bound that the rule has claimed for this site, in ULPs."""
        self.inner_crossings: list[tuple[Transition, Rule]] = []
        """What the nodes of emitted subgraphs went through."""

    @property
    def touched(self) -> bool:
        """Whether the rule has done anything."""
        return self._is_edited or self.is_replaced or bool(self.emitted)

    def rounds(self, ulps: int | None = None, *, fewer_digits: int = 0) -> None:
        """Say that the rewrite rounds here.

        Args:
            ulps: The bound; by default the one that the rule's entry declares.
            fewer_digits: By how many binary digits a stage is narrower than the result: the bound counts its units.

        Raises:
            UndeclaredRounding: The entry (`rounding(...)`) declares no rounding, or not as much.
        """
        rule = self.rule
        if rule is None or not rule.ulps:
            raise UndeclaredRounding("the rule rounds here, and its entry in the rule book does not declare it")
        claimed = rule.ulps if ulps is None else ulps
        if claimed > rule.ulps or fewer_digits > rule.fewer_digits:
            raise UndeclaredRounding(
                f"the rule claims {claimed} ULP of a stage with {fewer_digits} fewer digits, and its entry in the rule "
                f"book declares {rule.ulps} and {rule.fewer_digits}"
            )
        self.rounding = claimed << fewer_digits

    @property
    def op(self) -> Operators:
        """Emits nodes at the far side's opset."""
        return self.op_at(self.opset)

    def op_at(self, opset: int) -> Operators:
        """Emits nodes written for `opset`; the walk takes them to the target from there."""
        return Operators(self, opset, self.transition.domain, self.emitted)

    def op_in(self, domain: str, opset: int) -> Operators:
        """Emits nodes of another domain, written for `opset` of it."""
        return Operators(self, opset, domain, self.emitted)

    def copy(self, *inputs: str | None, outputs: int | None = None, **changed: Any) -> Any:
        """Emit the same operator with the same attributes on other inputs; keywords change attributes (None drops)."""
        position = len(self.emitted)
        count = outputs or len(self.node.output)
        result = self.op._emit(self.node.op_type, *inputs, outputs=count, **changed)
        copied = self.emitted[position][0]
        copied.attribute.extend(attribute for attribute in self.node.attribute if attribute.name not in changed)
        # Registered again: its facts depend on the attributes that it has just been given.
        self.scope.register(copied, self.opset, self.transition.domain)
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

    def carry_if_lost(self, *, like: int = 0) -> None:
        """`carry` in the best exact carrier, if the far side does not take the dtype of input `like` and has one."""
        definition = history.definition(self.transition.domain, self.node.op_type, self.opset)
        if definition is None:
            return
        formals = definition.schema.inputs
        carrier = self.carrier_if_lost(like, formals[min(like, len(formals) - 1)].type_str)
        if carrier is not None:
            self.carry(carrier, like=like)

    def carry_to_kernel(self, *, like: int = 0) -> bool:
        """`carry` in the first exact carrier for which the runtime has a kernel; says whether there is one."""
        definition = history.definition(self.transition.domain, self.node.op_type, self.opset)
        assert definition is not None
        formals = definition.schema.inputs
        variable = formals[min(like, len(formals) - 1)].type_str
        allowed = definition.allowed_types(variable)
        for carrier in carriers_of(self.dtype(like)):
            if tensor_type(carrier) in allowed and self.computes(self.node.op_type, **{variable: carrier}):
                self.carry(carrier, like=like)
                return True
        return False

    def emit(self, node: NodeProto, opset: int) -> None:
        """Emit a node that is written already, for `opset` of its domain; its outputs have fresh names."""
        self.scope.register(node, opset, history.canonical_domain(node.domain))
        self.scope.walk_emitted_body(node, opset)
        self.emitted.append((node, opset))

    def declare(self, name: str, dtype: str, shape: Dims | None) -> None:
        """Say the type of an emitted value, where onnx's inference has no way to know it."""
        self.scope.declare(name, dtype, shape)

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
        inputs = [self.scope.subgraph_input(one) for one in types]
        outputs = build(Operators(self, written_for, self.transition.domain, sink), *(info.name for info in inputs))
        return self.scope.finish_subgraph(self, sink, inputs, outputs)

    def fresh_name(self, hint: str) -> str:
        """A name that nothing in the model has, made from that of the model's node that is being converted."""
        return self.scope.fresh_name(hint)

    def constant(self, array: Array, hint: str = "constant") -> str:
        """The name of a constant value; equal ones share one initializer per scope."""
        return self.scope.constant(self, array, hint)

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

    def become_initializer(self, tensor: TensorProto) -> None:
        """Let the node's one output be an initializer with the tensor's content, which is not looked at."""
        name = self.node.output[0]
        if name in self.scope.output_names:
            # Not every runtime takes an initializer for an output of a graph.
            self.replace(self.scope.add_initializer(tensor, self.fresh_name("constant")))
            return
        self.scope.add_initializer(tensor, name, self.node.doc_string)
        self.is_replaced = True

    def dissolve(self, output: int, parts: Sequence[str]) -> None:
        """Let an output, which the far side cannot hold, be these values: rules ask for them by `parts`.

        The node is dropped. What reads the output otherwise is refused.
        """
        self.scope.dissolve(self.node.output[output], parts)
        self.is_replaced = True
