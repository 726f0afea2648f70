"""Nodes that a function executes: one of the model, or the body that an operator's schema has."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import NodeProto

from opsetlift.evaluator import values
from opsetlift.evaluator.body import Body
from opsetlift.evaluator.errors import Place
from opsetlift.evaluator.gate import Gate
from opsetlift.evaluator.step import Environment, Step
from opsetlift.evaluator.values import Value

Description = tuple[str | None, tuple[int, ...] | None]
"""An input's type and shape, None where it has none."""


def _described(value: Value) -> Description:
    if value is None:
        return None, None
    return values.type_of(value), getattr(value, "shape", None)


class ExpandedStep(Step):
    """A node without a kernel whose schema defines it by a function, which may depend on the inputs' types."""

    def __init__(
        self,
        node: NodeProto,
        place: Place,
        foldable: bool,
        gate: Gate,
        expand: Callable[[tuple[Description, ...]], Body],
    ) -> None:
        super().__init__(node, place, {}, foldable)
        self.gate = gate
        self._expand = expand
        self._bodies: dict[tuple[Description, ...], Body] = {}

    def _compute(self, inputs: Sequence[Value], environment: Environment) -> list[Value]:
        bindings = self.gate.check_inputs(inputs)
        described = tuple(_described(value) for value in inputs)
        if described not in self._bodies:
            self._bodies[described] = self._expand(described)
        results = self._bodies[described].run_function(inputs)
        return self.gate.check_outputs(results, bindings, self.outputs)


class FunctionStep(Step):
    """A call of a model-local function."""

    def __init__(self, node: NodeProto, place: Place, body: Body) -> None:
        super().__init__(node, place, {}, body.foldable)
        self.body = body

    def _compute(self, inputs: Sequence[Value], environment: Environment) -> list[Value]:
        return self.body.run_function(inputs)[: len(self.outputs)]
