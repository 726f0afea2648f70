"""Prepared graphs and how they run: a body is a list of steps over an environment of named values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from opsetlift.evaluator import values
from opsetlift.evaluator.declared_types import DeclaredTypes
from opsetlift.evaluator.errors import EvaluationError, Place, Rejected
from opsetlift.evaluator.open_results import inner_scope, open_results
from opsetlift.evaluator.step import Environment, Step
from opsetlift.evaluator.values import Value
from opsetlift.model.arrays import Array


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal input or output of a body, with its type where one is declared."""

    name: str
    type_string: str | None
    plain_dtype: numpy.dtype[Any] | None = field(init=False)
    """The dtype of arrays that are of this type whatever they hold."""

    def __post_init__(self) -> None:
        dtype = None if self.type_string is None else values.plain_dtype(self.type_string)
        object.__setattr__(self, "plain_dtype", dtype)

    def given(self, value: Value) -> Value:
        """Give a value the declared type. Raises ValueError where it has another one."""
        is_plain = type(value) is numpy.ndarray and value.dtype is self.plain_dtype
        return value if is_plain or self.type_string is None else values.as_type(value, self.type_string)


@dataclass(frozen=True, slots=True)
class Plan:
    """What it takes to run a body for some outputs."""

    outputs: tuple[str, ...]
    timeline: tuple[tuple[Step, tuple[str, ...], tuple[str, ...]], ...]
    """Each step with the names whose last use it is, and those of its outputs that are compared with declarations."""
    constants: Mapping[str, Value]


class Body:
    """A graph, a subgraph or a function body: its interface, its steps in order, its initializers."""

    def __init__(
        self,
        path: tuple[str, ...],
        inputs: Sequence[Formal],
        outputs: Sequence[Formal],
        steps: Sequence[Step],
        initializers: Mapping[str, Callable[[], Array]],
        captured: Sequence[str],
        declared: DeclaredTypes | None = None,
    ) -> None:
        self.path = path
        self.inputs = tuple(inputs)
        self.outputs = tuple(formal.name for formal in outputs)
        self._formal_outputs = {formal.name: formal for formal in outputs if formal.type_string}
        self.captured = tuple(captured)
        self.foldable: bool = all(step.foldable for step in steps)
        self.steps = tuple(steps)
        self._initializers = initializers
        self._input_names = frozenset(formal.name for formal in inputs)
        self._plans: dict[tuple[tuple[str, ...] | None, tuple[str, ...]], Plan] = {}
        self._defaults: Environment = {}
        self._declared = declared or None
        self.has_run = False

    def subgraphs_not_run(self) -> Iterator[tuple[Step, str]]:
        """Yield the nodes with a subgraph that no run came to, each with that attribute.

        Nodes whose inputs are all constants are left out: they decide alike in every run.
        """
        plan = self.plan()
        for step, _, _ in plan.timeline:
            if step.bodies and not plan.constants.keys() >= set(filter(None, step.inputs)):
                for attribute, body in step.bodies.items():
                    if body.has_run:
                        yield from body.subgraphs_not_run()
                    else:
                        yield step, attribute

    @property
    def value_names(self) -> Iterable[str]:
        """The names that the body itself gives a value."""
        yield from self._input_names
        yield from self._initializers
        for step in self.steps:
            yield from filter(None, step.outputs)

    def plan(self, outputs: Sequence[str] | None = None, also: Sequence[str] = ()) -> Plan:
        """Return how to compute `outputs`, with the nodes that they need; None: the body's outputs, with every node.

        Values called `also` are kept beside those.
        """
        key = None if outputs is None else tuple(outputs), tuple(also)
        if key not in self._plans:
            self._plans[key] = self._make_plan(*key)
        return self._plans[key]

    def _make_plan(self, outputs: tuple[str, ...] | None, also: tuple[str, ...]) -> Plan:
        wanted = (*(self.outputs if outputs is None else outputs), *also)
        steps = self.steps if outputs is None else _needed(self.steps, outputs)
        known: Environment = {}
        left = []
        for step in steps:
            is_constant = step.foldable and all(self._is_constant(name, known) for name in step.uses)
            if not is_constant or self._is_compared(step):  # each run compares it
                left.append(step)
                continue
            for name in step.uses:
                self._load(name, known)
            try:
                with open_results() as undefined:
                    results = step.execute(known)
            except EvaluationError:  # it may never be reached; where it is, it fails again, then with reason
                left.append(step)
                continue
            if undefined:  # each run reports it
                left.append(step)
                continue
            known.update(zip(step.outputs, results, strict=False))
        used = {name for step in left for name in step.uses}.union(wanted)
        for name in used:
            if self._is_constant(name, known):
                self._load(name, known)
        compared = [tuple(filter(self._is_declared, step.outputs)) for step in left]
        timeline = tuple(zip(left, _releases(left, wanted), compared, strict=True))
        return Plan(wanted, timeline, {name: known[name] for name in used if name in known})

    def _is_compared(self, step: Step) -> bool:
        return any(map(self._is_declared, step.outputs))

    def _is_declared(self, name: str) -> bool:
        return self._declared is not None and name in self._declared

    def _is_constant(self, name: str, known: Environment) -> bool:
        return name in known or (name in self._initializers and name not in self._input_names)

    def _load(self, name: str, environment: Environment) -> None:
        if name not in environment:
            environment[name] = self._initializers[name]()

    def default(self, name: str) -> Value:
        """Return the initializer of an input that the caller leaves out; None where it has none."""
        if name not in self._initializers:
            return None
        self._load(name, self._defaults)
        return self._defaults[name]

    def has_default(self, name: str) -> bool:
        """Return whether the input `name` may be left out."""
        return name in self._initializers

    def run(self, arguments: Sequence[Value], outer: Environment, place: Place) -> list[Value]:
        """Run it as a subgraph.

        Args:
            arguments: The inputs by position.
            outer: The values of the scopes around it, of which it takes those that it captures.
            place: The node that runs it, for errors.

        Raises:
            Rejected: The number or a type of the inputs is not what the subgraph declares.
            EvaluationError: A node in it cannot be computed.
        """
        environment = {name: outer[name] for name in self.captured}
        self._bind(arguments, environment, place)
        self.has_run = True
        if self._declared is None:
            return self.execute(environment, self.plan())
        with inner_scope():
            return self.execute(environment, self.plan())

    def _bind(self, arguments: Sequence[Value], environment: Environment, place: Place) -> None:
        """Put the inputs of a subgraph into its environment."""
        formals: Sequence[Formal] = self.inputs
        if len(arguments) < len(formals):  # up to IR version 3 initializers were listed as inputs, too
            formals = [formal for formal in formals if formal.name not in self._initializers]
        if len(arguments) != len(formals):
            raise Rejected(f"the subgraph has {len(formals)} inputs, the operator passes {len(arguments)}", place)
        for formal, value in zip(formals, arguments, strict=True):
            try:
                environment[formal.name] = formal.given(value)
            except ValueError as error:
                raise Rejected(f"subgraph input {formal.name!r}: {error}", Place(self.path)) from error
        for formal in self.inputs:
            if formal.name not in environment:
                environment[formal.name] = self.default(formal.name)

    def run_function(self, arguments: Sequence[Value]) -> list[Value]:
        """Run it as a function body on inputs by position; those left out are absent."""
        absent = [None] * (len(self.inputs) - len(arguments))
        names = (formal.name for formal in self.inputs)
        return self.execute(dict(zip(names, [*arguments, *absent], strict=True)), self.plan())

    def execute(self, environment: Environment, plan: Plan) -> list[Value]:
        """Run a plan's steps on an environment that holds inputs and captured values, which it uses up."""
        environment.update(plan.constants)
        if self._declared is not None:
            self._declared.compare(environment)
        for step, releases, compared in plan.timeline:
            results = step.execute(environment)
            if len(results) == 1:
                environment[step.outputs[0]] = results[0]
            else:
                environment.update(zip(step.outputs, results, strict=False))
            if compared and self._declared is not None:
                self._declared.compare(environment, compared)
            for name in releases:
                environment.pop(name, None)
        return [self._checked_output(name, environment[name]) if name else None for name in plan.outputs]

    def _checked_output(self, name: str, value: Value) -> Value:
        formal = self._formal_outputs.get(name)
        if formal is None:
            return value
        try:
            return formal.given(value)
        except ValueError as error:
            raise Rejected(f"output {name!r}: {error}", Place(self.path)) from error


def _needed(steps: Sequence[Step], outputs: Iterable[str]) -> list[Step]:
    wanted = set(outputs)
    needed = []
    for step in reversed(steps):
        if wanted.intersection(step.outputs):
            needed.append(step)
            wanted.update(step.uses)
    return needed[::-1]


def _releases(steps: Sequence[Step], outputs: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    kept = set(outputs)
    releases = []
    for step in reversed(steps):
        last = [name for name in {*step.uses, *step.outputs} if name not in kept]
        kept.update(last)
        releases.append(tuple(last))
    return tuple(reversed(releases))
