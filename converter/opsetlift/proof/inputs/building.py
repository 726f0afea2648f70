"""Values for all inputs at once: a layout says of which shapes, and strategies say how they are filled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from onnx import TypeProto

from opsetlift.proof.inputs.cases import Case, Input
from opsetlift.proof.inputs.filling import (
    BROAD,
    CONTROLLING,
    FOR_FLOATS,
    GENTLE,
    SPECIAL,
    ValuePool,
    draw,
    draw_controlling,
    in_words,
)
from opsetlift.proof.inputs.layouts import Layout
from opsetlift.proof.limits import is_floating
from opsetlift.proof.shapes import Shape
from opsetlift.specification import dtypes

EXAMPLE = "example"

MIXED = "a mixture"
"""Each input that holds data is filled by a strategy of its own."""

EACH_ITS_OWN = (SPECIAL, "integral", "random", "ties", "sprinkled", "ones")

EACH_ITS_OWN_ROUNDING = ("positive", "negative", "ones", "wide positive")

ControlStrategies = Mapping[str, str]
"""The fill strategy of each input that controls shapes."""


@dataclass
class AcceptedStrategies:
    """The fill strategies of the last input that the original accepted."""

    data: str = GENTLE[0]
    controls: ControlStrategies = field(default_factory=dict)
    found: bool = False
    """Whether it accepted any."""


class CaseBuilder:
    """Builds cases, and holds which inputs control shapes and what their strategies are.

    Args:
        inputs: The inputs to generate values for.
        rng: Chooses the values.
        rounding: The comparison is one within a bound, for which mixed signs are out of place.
    """

    def __init__(self, inputs: Sequence[Input], rng: numpy.random.Generator, *, rounding: bool) -> None:
        self.inputs = inputs
        self.rng = rng
        self.rounding = rounding
        self.controls: set[str] = {one.name for one in inputs if one.controls_shapes or one.may_control_shapes}
        """The inputs that are treated as controlling shapes: it grows when an output's size depends on one."""
        self.pools = {
            one.name: ValuePool(one.dtype, rng)
            for one in inputs
            if one.dtype is not None and one.type.HasField("tensor_type") and one.name not in self.controls
        }
        """The special values for each input that holds data."""
        self.least_length = 0
        """Sequences have so many elements at least."""
        examples = [EXAMPLE] if any(one.example is not None for one in inputs) else []
        self.control_strategies = (*examples, *CONTROLLING)

    def case(
        self,
        layout: Layout,
        data: str,
        controls: ControlStrategies,
        label: str = "",
        filled: Mapping[str, Any] | None = None,
    ) -> Case:
        """Values for all inputs.

        Args:
            layout: The shapes.
            data: The fill strategy of inputs that hold data.
            controls: The fill strategies of those that control shapes.
            label: What the case is called instead of by the strategy for data.
            filled: Values that are used as they are.
        """
        values: dict[str, Any] = dict(filled or {})
        sizes = next((shape for name, shape in layout.shapes.items() if name not in self.controls), ())
        for one in self.inputs:
            if one.name not in values:
                values[one.name] = self._value(one, layout.shapes[one.name], sizes, data, controls.get(one.name, ""))
        used = " and ".join(dict.fromkeys(controls.values()))
        suffix = f"{used} in what controls shapes" if controls else ""
        return Case.of(layout.label, ", ".join(filter(None, [label or in_words(data), suffix])), values)

    def strategies_for(self, name: str, strategies: Sequence[str]) -> list[str]:
        """Those of some control strategies that make sense for the dtype of an input."""
        dtype = next(one.dtype for one in self.inputs if one.name == name)
        is_float = dtype is not None and dtype not in ("string", "bool") and is_floating(dtypes.numpy_dtype(dtype))
        return [one for one in strategies if is_float or one not in FOR_FLOATS]

    def mixture(self, strategies: Mapping[str, Sequence[str]]) -> ControlStrategies:
        """One strategy for each input, chosen from several."""
        return {name: found[int(self.rng.integers(len(found)))] for name, found in strategies.items()}

    def _value(self, one: Input, shape: Shape, sizes: Shape, data: str, control: str) -> Any:
        if control == EXAMPLE:
            if one.example is not None and one.example.shape == shape:
                return one.example
            control = CONTROLLING[0]
        if data == MIXED:
            strategies = EACH_ITS_OWN_ROUNDING if self.rounding else EACH_ITS_OWN
            data = strategies[int(self.rng.integers(len(strategies)))]
        if data == SPECIAL and one.name in self.pools and not control:
            return self.pools[one.name].take(shape)
        return self._value_of_type(one.type, shape, sizes, data, control)

    def _value_of_type(self, kind: TypeProto, shape: Shape, sizes: Shape, data: str, control: str) -> Any:
        rng = self.rng
        match kind.WhichOneof("value"):
            case "sequence_type":
                length = int(rng.integers(0, 4)) if data in BROAD else 2
                inner = kind.sequence_type.elem_type
                count = max(length, self.least_length)
                return [self._value_of_type(inner, shape, sizes, data, control) for _ in range(count)]
            case "optional_type":
                if data in ("zeros", "fractions"):
                    return None
                return self._value_of_type(kind.optional_type.elem_type, shape, sizes, data, control)
            case "map_type":
                keys = draw("ascending", dtypes.dtype_name(kind.map_type.key_type), (3,), rng).tolist()
                return {key: self._value_of_type(kind.map_type.value_type, (), sizes, data, control) for key in keys}
        dtype = dtypes.dtype_name(kind.tensor_type.elem_type)
        if control and dtype not in ("bool", "string"):
            return draw_controlling(control, dtype, shape, sizes, rng)
        return draw(data, dtype, shape, rng)
