"""Strict execution of a model, or of a node, at its own opset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from onnx import ModelProto, NodeProto, ValueInfoProto

from opsetlift.evaluator import values
from opsetlift.evaluator.declared_types import Checked, check_shape
from opsetlift.evaluator.errors import EvaluationError, InputRejected, Rejected
from opsetlift.evaluator.many_runs import around_a_run
from opsetlift.evaluator.open_results import OpenResults, open_results
from opsetlift.evaluator.prepare import prepare_model, prepare_node
from opsetlift.evaluator.values import Value
from opsetlift.specification import dtypes


class Evaluator:
    """A model prepared once, to be run many times.

    Args:
        model: The model.
        strict: False lets pass what exporters commonly did against the text: negative axes before they existed, nodes
            out of order, deprecated operators. Types, counts and attributes are checked all the same.
        base_dir: The folder of the model's external data.
        iteration_limit: A node that runs its subgraph more often ends in NotExecutable.
        element_limit: A value of more elements ends in TooLarge.
        checked: What of the type that a graph or subgraph declares of a value is compared with what it computes; None
            compares nothing but the inputs of the model, and the dtypes of inputs and outputs.

    Raises:
        Rejected: The model is illegal.
        NotExecutable: The model needs what this evaluator lacks.
    """

    def __init__(
        self,
        model: ModelProto,
        *,
        strict: bool = True,
        base_dir: str | None = None,
        iteration_limit: int | None = None,
        element_limit: int | None = None,
        checked: Checked | None = None,
    ) -> None:
        self._body = prepare_model(
            model,
            strict=strict,
            base_dir=base_dir,
            iteration_limit=iteration_limit,
            element_limit=element_limit,
            checked=checked,
        )
        self._inputs = {info.name: _DeclaredInput(info) for info in model.graph.input}
        self.open_results = OpenResults()
        """What the last run computed that the specification does not define."""

    @property
    def input_names(self) -> list[str]:
        """The inputs that the caller must give: those without an initializer."""
        return [name for name in self._inputs if not self._body.has_default(name)]

    @property
    def output_names(self) -> list[str]:
        """The outputs of the model."""
        return list(self._body.outputs)

    @property
    def subgraphs_not_run(self) -> list[tuple[NodeProto, str]]:
        """The nodes, functions left aside, with an attribute whose subgraph did not run so far and could have."""
        return [(step.node, attribute) for step, attribute in self._body.subgraphs_not_run()]

    def run(
        self,
        inputs: Mapping[str, Any],
        outputs: Sequence[str] | None = None,
        *,
        instead: str = "",
        also: Sequence[str] = (),
    ) -> dict[str, Value]:
        """Compute the model's outputs, or just the values called `outputs`, which may be intermediate.

        Args:
            inputs: A value for each input without an initializer, by name; arrays, lists for sequences, None for
                empty optionals.
            outputs: Names of values; None for the outputs of the model.
            instead: The one of `OTHER_VALUES` to take for what the specification does not define; empty for the
                evaluator's own choice.
            also: Names of further values of the graph.

        Returns:
            The values by name; sequences as lists, empty optionals as None.

        Raises:
            InputRejected: An input is missing, unknown, or not of the declared type or shape.
            EvaluationError: A node cannot be computed.
        """
        environment = self._checked(inputs)
        unknown = set(outputs).difference(self._body.value_names) if outputs else None
        if unknown:
            raise Rejected(f"nothing in the graph is called {min(unknown)!r}")
        with around_a_run(), open_results(instead) as self.open_results:
            plan = self._body.plan(outputs, also)
            results = dict(zip(plan.outputs, self._body.execute(environment, plan), strict=True))
        return {name: values.plain(value) for name, value in results.items()}

    def _checked(self, inputs: Mapping[str, Any]) -> dict[str, Value]:
        for name in inputs:
            if name not in self._inputs:
                raise InputRejected(name, f"the model has no such input; it has {', '.join(self._inputs) or 'none'}")
        environment: dict[str, Value] = {}
        sizes: dict[str, int] = {}
        for name, declared in self._inputs.items():
            if name in inputs:
                environment[name] = declared.checked(inputs[name], sizes)
            elif self._body.has_default(name):
                environment[name] = declared.checked(self._body.default(name), sizes)
            else:
                raise InputRejected(name, "it is not given")
        return environment


class _DeclaredInput:
    """An input of a model as it is declared, read once for all runs."""

    def __init__(self, info: ValueInfoProto) -> None:
        self._name = info.name
        self._type = info.type
        self._type_string = dtypes.type_string(info.type)
        dtype = dtypes.dtype_of_type(self._type_string or "")
        self._dtype = dtypes.numpy_dtype(dtype) if dtype is not None and dtype != "string" else None
        """That of the arrays that need no look at their elements; None for all else."""
        self._dims = dtypes.shape_of_type(info.type)
        """What is declared of each dimension: a size, a symbol or nothing; None where the rank is not declared."""

    def checked(self, value: Any, sizes: dict[str, int]) -> Value:
        """The value for a run, with the type that is declared.

        Args:
            value: As the caller gave it.
            sizes: What the symbolic dimensions stand for, as far as inputs before this one tell.

        Raises:
            InputRejected: It is not of the declared type or shape.
        """
        is_plain = self._dtype is not None and isinstance(value, numpy.ndarray)
        if is_plain and value.dtype == self._dtype and self._fits(value.shape, sizes):
            return value
        try:
            if self._type_string is not None:
                value = values.as_type(value, self._type_string)
            check_shape(self._type, value, sizes)
        except ValueError as error:
            raise InputRejected(self._name, str(error)) from error
        return value

    def _fits(self, shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
        """Whether a shape is as declared, and no size of a symbol is new."""
        if self._dims is None:
            return True
        return len(self._dims) == len(shape) and all(
            declared is None or size == (sizes.get(declared) if isinstance(declared, str) else declared)
            for declared, size in zip(self._dims, shape, strict=True)
        )


def run_node(
    node: NodeProto,
    inputs: Sequence[Value],
    opset_imports: Mapping[str, int],
    *,
    strict: bool = True,
    iteration_limit: int | None = None,
    element_limit: int | None = None,
) -> list[Value]:
    """Execute one node.

    Args:
        node: The node; its subgraphs see nothing around it.
        inputs: A value per input name, None where it is absent; `values.Optional` for an optional type,
            `values.Sequence` for an empty sequence.
        opset_imports: The opset of each domain.
        strict: As for Evaluator.
        iteration_limit: As for Evaluator.
        element_limit: As for Evaluator.

    Returns:
        A value per output name, None where the name is empty.

    Raises:
        EvaluationError: The node is illegal or cannot be computed.
    """
    step = prepare_node(
        node, opset_imports, strict=strict, iteration_limit=iteration_limit, element_limit=element_limit
    )
    if len(inputs) != len(step.inputs):
        raise EvaluationError(f"{len(step.inputs)} inputs are named, {len(inputs)} were given", step.place)
    arrays = [
        value if value is None or isinstance(value, (list, dict, values.Optional)) else numpy.asarray(value)
        for value in inputs
    ]
    with around_a_run():
        return list(step.compute(arrays, {}))
