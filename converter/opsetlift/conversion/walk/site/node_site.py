"""The site that the walk gives to rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from onnx import AttributeProto, NodeProto, TensorProto

from opsetlift.conversion.walk.site.editing import EditableSite
from opsetlift.conversion.walk.site.operators import Emitter
from opsetlift.conversion.walk.values import Emitted, ScopeValues
from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.inlining import rename_captured
from opsetlift.rulebook.rounding import EXACT, RoundingBound
from opsetlift.specification import history
from opsetlift.specification.dtypes import numpy_dtype
from opsetlift.specification.history import Transition
from opsetlift.support.refusal import Why


class NodeSite(EditableSite):
    """A node of a scope at one transition: beside what rules are given, what the walk asks after a rule has run."""

    __slots__ = ("_bound", "_emitted", "_is_replaced", "_rounding")

    def __init__(
        self, node: NodeProto, transition: Transition, scope: ScopeValues, bound: RoundingBound = EXACT
    ) -> None:
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
        """Claim that the rewrite rounds here."""
        self._rounding = self._bound.claim(ulps, fewer_digits)

    @property
    def op(self) -> Emitter:
        """Emits nodes of the opset that the transition leads to."""
        return self.op_at(self.opset)

    def op_at(self, opset: int, domain: str | None = None) -> Emitter:
        """Emits nodes written for `opset`."""
        return Emitter(self, opset, self.transition.domain if domain is None else domain, self._emitted)

    def constant(self, value: Any, dtype: str = "", hint: str = "") -> str:
        """Add a constant."""
        if not dtype and not isinstance(value, (numpy.ndarray, numpy.generic)):
            raise TypeError(f"a constant of {type(value).__name__} needs a dtype")
        array: Array = numpy.array(value, dtype=numpy_dtype(dtype)) if dtype else numpy.asarray(value)
        hint = hint or ("axes" if array.dtype == numpy.int64 and array.ndim else "constant")
        if self.scope.takes_initializers:
            return self.scope.shared_constant(array, hint)
        # Below 9 a Constant is a float; its own transitions say what becomes of the others.
        opset = self.opset if self.transition.domain == history.AI_ONNX else self.scope.imports.get(history.AI_ONNX, 1)
        return str(self.op_at(max(opset, 9), history.AI_ONNX).Constant(value=tensor_of(array)))

    def folded(self, build: Callable[[], str], hint: str = "constant") -> str:
        """Emit nodes, or one constant where their result is known."""
        start = len(self._emitted)
        name = build()
        value = self.content(name) if len(self._emitted) > start else None
        if value is None:
            return name
        for node, _ in self._emitted[start:]:
            self.scope.discard(filter(None, node.input))
        del self._emitted[start:]
        return self.constant(value, hint=hint)

    def replace(self, *values: str | None) -> None:
        """Replace the node's outputs with values, and remove the node."""
        producers = {name: node for node, _ in self._emitted for name in node.output}
        taken: set[str] = set()
        for position, (output, value) in enumerate(zip(self.node.output, values, strict=False)):
            if not output or (not value and (not self.is_read(position) or self.scope.parts(output) is not None)):
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
        """Make the node another operator."""
        self.node.op_type = operator
        self._emitted.append((self.node, opset or self.opset))
        self._is_replaced = True

    def become_initializer(self, tensor: TensorProto) -> bool:
        """Replace the node with an initializer. The tensor's content is not read."""
        if not self.scope.takes_initializers:
            return False
        name = self.node.output[0]
        if name in self.scope.output_names:
            # Not every runtime takes an initializer for an output of a graph.
            self.replace(self.scope.add_initializer(tensor, self.scope.fresh_name("constant")))
        else:
            self.scope.add_initializer(tensor, name, self.node.doc_string)
            self._is_replaced = True
        return True

    def scalarize(self, output: int, parts: Sequence[str]) -> None:
        """Replace an output with its elements."""
        self.scope.scalarize(self.node.output[output], parts)
        self._is_replaced = True
