"""Prepared graphs and how they run: a body is a list of steps over an environment of named values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, NoReturn

import numpy
from onnx import NodeProto

from opsetlift.evaluator import values
from opsetlift.evaluator.errors import ComputationFailed, EvaluationError, NotExecutable, Place, Rejected, TooLarge
from opsetlift.evaluator.gate import Gate, Illegal, WrongOutput
from opsetlift.evaluator.kernels.registry import Kernel
from opsetlift.evaluator.values import Array, Value
from opsetlift.support.internal_error import Fault, InternalError

Environment = dict[str, Value]

_open_results: ContextVar[list[str] | None] = ContextVar("_open_results", default=None)


@contextmanager
def open_results() -> Iterator[list[str]]:
    """What the nodes that run inside of the context compute that the specification does not define: "divides ..."."""
    found: list[str] = []
    token = _open_results.set(found)
    try:
        yield found
    finally:
        _open_results.reset(token)


_OF_VALUES = (ValueError, IndexError, ArithmeticError, MemoryError)
"""What numpy raises for values that do not fit together. All else is the fault of a kernel."""


class Step(ABC):
    """One node, ready to run."""

    def __init__(self, node: NodeProto, place: Place, bodies: Mapping[str, Body], foldable: bool) -> None:
        self.node = node
        self.place = place
        self.bodies = bodies
        self.inputs = tuple(node.input)
        self.outputs = tuple(node.output)
        self.foldable: bool = foldable and all(body.foldable for body in bodies.values())

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """The names that it reads, those that its subgraphs take from around the node included."""
        captured = {name for body in self.bodies.values() for name in body.captured}
        return tuple({*filter(None, self.inputs), *captured})

    def execute(self, environment: Environment) -> Sequence[Value]:
        """The values of the outputs, one per name; EvaluationError where the node cannot be computed."""
        return self.compute([environment[name] if name else None for name in self.inputs], environment)

    def compute(self, inputs: list[Value], environment: Environment) -> Sequence[Value]:
        """`execute` on given inputs; `environment` is what subgraphs see."""
        try:
            return self._compute(inputs, environment)
        except EvaluationError as error:
            if error.place == Place():  # a kernel said so, which does not know where it is
                raise type(error)(error.clause, self.place) from error
            raise
        except Illegal as error:
            raise Rejected(str(error), self.place) from error
        except WrongOutput as error:
            raise ComputationFailed(str(error), self.place) from error
        except _OF_VALUES as error:
            raise ComputationFailed(f"{type(error).__name__}: {error}", self.place) from error
        except InternalError:
            raise
        except Exception as error:
            operator = f"{self.place.operator}-{self.place.since_version}"
            path = " > ".join(self.place.path) or "graph"
            what = f"the kernel of {operator}"
            fault = Fault(error, what, "opsetlift.evaluator", self.node.op_type, self.place.node, path)
            raise InternalError([fault]) from error

    @abstractmethod
    def _compute(self, inputs: list[Value], environment: Environment) -> Sequence[Value]: ...


class NodeCall:
    """One execution of a node, as its kernel sees it: implements registry.Call."""

    __slots__ = (
        "_environment",
        "_iterations",
        "_step",
        "attributes",
        "node",
        "output_count",
        "since_version",
        "strict",
    )

    def __init__(self, step: KernelStep, environment: Environment) -> None:
        self._step = step
        self._environment = environment
        self._iterations = 0
        self.node = step.node
        self.since_version = step.place.since_version
        self.attributes = step.attributes
        self.output_count = step.output_count
        self.strict = step.strict

    def run_subgraph(self, attribute: str, inputs: Sequence[Value]) -> list[Value]:
        """Execute the subgraph in `attribute` on `inputs`; it sees the outer scopes' values."""
        limit = self._step.iteration_limit
        if limit is not None and self._iterations >= limit:
            raise NotExecutable(f"more than {limit} iterations", self._step.place)
        self._iterations += 1
        return self._step.bodies[attribute].run(inputs, self._environment, self._step.place)

    def reserve(self, count: int) -> None:
        """Say that an array of `count` elements is about to be made; TooLarge where that is more than allowed."""
        limit = self._step.element_limit
        if limit is not None and count > limit:
            raise TooLarge(f"a value of {count} elements, where at most {limit} are allowed", self._step.place)

    def leave_open(self, reason: str) -> None:
        """Record that the specification does not define the result."""
        found = _open_results.get()
        if found is not None:
            found.append(reason)

    def fail(self, clause: str) -> NoReturn:
        """Reject the node: `clause` is the broken rule of the text."""
        raise Rejected(clause, self._step.place)

    def fail_if_strict(self, clause: str) -> None:
        """`fail` under strict=True."""
        if self.strict:
            self.fail(clause)


class KernelStep(Step):
    """A node that a kernel executes, behind the gate of its definition."""

    def __init__(
        self,
        node: NodeProto,
        place: Place,
        bodies: Mapping[str, Body],
        foldable: bool,
        *,
        gate: Gate,
        kernel: Kernel,
        attributes: Mapping[str, Any],
        strict: bool,
        iteration_limit: int | None,
        element_limit: int | None,
    ) -> None:
        super().__init__(node, place, bodies, foldable)
        self.gate = gate
        self.kernel = kernel
        self.attributes = attributes
        self.strict = strict
        self.iteration_limit = iteration_limit
        self.element_limit = element_limit
        self.output_count = max((index for index, name in enumerate(self.outputs, 1) if name), default=0)
        self._call = NodeCall(self, {})
        """Every execution's, where no subgraph looks at the environment."""
        self._has_all_outputs = all(self.outputs)
        self._taken: Signature | None = None
        self._given: Signature | None = None
        """The dtypes of inputs that the gate has let pass, and of the outputs that it let pass for them."""

    def _compute(self, inputs: list[Value], environment: Environment) -> Sequence[Value]:
        bindings = None
        taken = _signature(inputs)
        if taken is None or taken != self._taken:
            bindings = self.gate.check_inputs(inputs)
            self._taken, self._given = taken, None
        laid_out = map(values.in_c_order, inputs)
        result = self.kernel(NodeCall(self, environment) if self.bodies else self._call, *laid_out)
        results: tuple[Value, ...] = result if type(result) is tuple else (result,)
        if self.element_limit is not None:
            for value in results:
                if isinstance(value, numpy.ndarray) and value.size > self.element_limit:
                    self._call.reserve(value.size)  # which may be a view that takes no memory yet
        given = _signature(results)
        if given is not None and given == self._given:
            return results
        if bindings is None:
            bindings = self.gate.check_inputs(inputs)
        checked = self.gate.check_outputs(results, bindings, self.outputs, strict=self.strict)
        if self._has_all_outputs and len(results) == len(self.outputs):
            self._given = given
        return checked


Signature = tuple[numpy.dtype[Any], ...]
_ARRAYS = frozenset((numpy.ndarray,))
_dtype_of = attrgetter("dtype")


def _signature(some: Sequence[Value]) -> Signature | None:
    """All that the gate looks at, of values that are all arrays."""
    return tuple(map(_dtype_of, some)) if _ARRAYS.issuperset(map(type, some)) else None


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

    def _compute(self, inputs: list[Value], environment: Environment) -> list[Value]:
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

    def _compute(self, inputs: list[Value], environment: Environment) -> list[Value]:
        return self.body.run_function(inputs)[: len(self.outputs)]


@dataclass(frozen=True, slots=True)
class Formal:
    """A formal input or output of a body, with its type where one is declared."""

    name: str
    type_string: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What running a body for some outputs takes."""

    outputs: tuple[str, ...]
    steps: tuple[Step, ...]
    releases: tuple[tuple[str, ...], ...]
    """Per step: the names whose last use it is."""
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
    ) -> None:
        self.path = path
        self.inputs = tuple(inputs)
        self.outputs = tuple(formal.name for formal in outputs)
        self._output_types = {formal.name: formal.type_string for formal in outputs if formal.type_string}
        self.captured = tuple(captured)
        self.foldable: bool = all(step.foldable for step in steps)
        self.steps = tuple(steps)
        self._initializers = initializers
        self._input_names = frozenset(formal.name for formal in inputs)
        self._plans: dict[tuple[str, ...] | None, Plan] = {}
        self._defaults: Environment = {}
        self._has_run = False

    def subgraphs_not_run(self) -> Iterator[tuple[Step, str]]:
        """The nodes with a subgraph that no run has come to, each with that attribute; left out are nodes of which
        every input is a constant, as these decide alike in every run."""
        plan = self.plan()
        for step in plan.steps:
            if step.bodies and not plan.constants.keys() >= set(filter(None, step.inputs)):
                for attribute, body in step.bodies.items():
                    if body._has_run:
                        yield from body.subgraphs_not_run()
                    else:
                        yield step, attribute

    @property
    def value_names(self) -> Iterable[str]:
        """Every name that the body itself gives a value."""
        yield from self._input_names
        yield from self._initializers
        for step in self.steps:
            yield from filter(None, step.outputs)

    def plan(self, outputs: Sequence[str] | None = None) -> Plan:
        """How to compute `outputs`: only what they need; None: the body's outputs, running every node."""
        key = None if outputs is None else tuple(outputs)
        if key not in self._plans:
            self._plans[key] = self._make_plan(key)
        return self._plans[key]

    def _make_plan(self, outputs: tuple[str, ...] | None) -> Plan:
        wanted = self.outputs if outputs is None else outputs
        steps = self.steps if outputs is None else _needed(self.steps, outputs)
        known: Environment = {}
        left = []
        for step in steps:
            if not (step.foldable and all(self._is_constant(name, known) for name in step.uses)):
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
            if undefined:  # each run is to report it
                left.append(step)
                continue
            known.update(zip(step.outputs, results, strict=False))
        used = {name for step in left for name in step.uses}.union(wanted)
        for name in used:
            if self._is_constant(name, known):
                self._load(name, known)
        return Plan(wanted, tuple(left), _releases(left, wanted), {name: known[name] for name in used if name in known})

    def _is_constant(self, name: str, known: Environment) -> bool:
        return name in known or (name in self._initializers and name not in self._input_names)

    def _load(self, name: str, environment: Environment) -> None:
        if name not in environment:
            environment[name] = self._initializers[name]()

    def default(self, name: str) -> Value:
        """The initializer of an input that the caller leaves out; None where it has none."""
        if name not in self._initializers:
            return None
        self._load(name, self._defaults)
        return self._defaults[name]

    def has_default(self, name: str) -> bool:
        """Whether the input `name` may be left out."""
        return name in self._initializers

    def run(self, arguments: Sequence[Value], outer: Environment, place: Place) -> list[Value]:
        """As a subgraph: inputs by position; names that it does not define come from the scope around it."""
        formals: Sequence[Formal] = self.inputs
        if len(arguments) < len(formals):  # up to IR version 3 initializers were listed as inputs, too
            formals = [formal for formal in formals if formal.name not in self._initializers]
        if len(arguments) != len(formals):
            raise Rejected(f"the subgraph has {len(formals)} inputs, the operator passes {len(arguments)}", place)
        self._has_run = True
        environment = {name: outer[name] for name in self.captured}
        for formal, value in zip(formals, arguments, strict=True):
            if formal.type_string is not None:
                try:
                    value = values.as_type(value, formal.type_string)
                except ValueError as error:
                    raise Rejected(f"subgraph input {formal.name!r}: {error}", Place(self.path)) from error
            environment[formal.name] = value
        for formal in self.inputs:
            if formal.name not in environment:
                environment[formal.name] = self.default(formal.name)
        return self.execute(environment, self.plan())

    def run_function(self, arguments: Sequence[Value]) -> list[Value]:
        """As a function body: inputs by position, those left out are absent."""
        absent = [None] * (len(self.inputs) - len(arguments))
        names = (formal.name for formal in self.inputs)
        return self.execute(dict(zip(names, [*arguments, *absent], strict=True)), self.plan())

    def execute(self, environment: Environment, plan: Plan) -> list[Value]:
        """Run a plan's steps on an environment that holds inputs and captured values, which it uses up."""
        environment.update(plan.constants)
        for step, releases in zip(plan.steps, plan.releases, strict=True):
            for name, value in zip(step.outputs, step.execute(environment), strict=False):
                environment[name] = value
            for name in releases:
                environment.pop(name, None)
        return [self._checked_output(name, environment[name]) if name else None for name in plan.outputs]

    def _checked_output(self, name: str, value: Value) -> Value:
        declared = self._output_types.get(name)
        if declared is None:
            return value
        try:
            return values.as_type(value, declared)
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
