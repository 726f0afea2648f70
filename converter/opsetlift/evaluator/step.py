"""One node of a prepared graph: it takes named values from an environment and computes the values of its outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Protocol

from onnx import NodeProto

from opsetlift.evaluator.errors import ComputationFailed, EvaluationError, Place, Rejected
from opsetlift.evaluator.gate import Illegal, WrongOutput
from opsetlift.evaluator.values import Value
from opsetlift.support.internal_error import Fault, InternalError

Environment = dict[str, Value]
"""The values of a scope by name."""

_OF_VALUES = (ValueError, IndexError, ArithmeticError, MemoryError)
"""What numpy raises for values that do not fit together. All else is the fault of a kernel."""


class Subgraph(Protocol):
    """A prepared graph, as the node around it sees it; body.Body implements it."""

    @property
    def captured(self) -> Sequence[str]:
        """The names that it takes from the scopes around it."""

    @property
    def foldable(self) -> bool:
        """Whether it computes the same whenever it runs on the same values."""

    @property
    def has_run(self) -> bool:
        """Whether any run came to it."""

    @property
    def steps(self) -> Sequence[Step]:
        """Its nodes in order."""

    def run(self, arguments: Sequence[Value], outer: Environment, place: Place) -> list[Value]:
        """Run it on inputs by position, with the values of the scopes around it; `place` is the node that does it."""

    def subgraphs_not_run(self) -> Iterator[tuple[Step, str]]:
        """Yield the nodes in it with an attribute whose subgraph no run came to."""


class Step(ABC):
    """One node, ready to run."""

    def __init__(self, node: NodeProto, place: Place, bodies: Mapping[str, Subgraph], foldable: bool) -> None:
        self.node = node
        self.place = place
        self.bodies = bodies
        self.inputs = tuple(node.input)
        self.outputs = tuple(node.output)
        self._read = _reader(self.inputs)
        self.foldable: bool = foldable and all(body.foldable for body in bodies.values())

    @cached_property
    def uses(self) -> tuple[str, ...]:
        """The names that it reads, those that its subgraphs take from around the node included."""
        captured = {name for body in self.bodies.values() for name in body.captured}
        return tuple({*filter(None, self.inputs), *captured})

    def execute(self, environment: Environment) -> Sequence[Value]:
        """Compute the outputs, one value per name.

        Raises:
            EvaluationError: The node cannot be computed.
        """
        return self.compute(self._read(environment), environment)

    def compute(self, inputs: Sequence[Value], environment: Environment) -> Sequence[Value]:
        """Do `execute` on given inputs; `environment` is what subgraphs see."""
        try:
            return self._compute(inputs, environment)
        except Exception as error:
            explained = self._explained(error)
            if explained is error:
                raise
            raise explained from error

    @abstractmethod
    def _compute(self, inputs: Sequence[Value], environment: Environment) -> Sequence[Value]: ...

    def _explained(self, error: Exception) -> Exception:
        """The error to raise instead: one that names the node."""
        match error:
            case EvaluationError():
                if error.place == Place():  # a kernel raised it, which does not know where it is
                    return type(error)(error.clause, self.place)
                return error
            case Illegal():
                return Rejected(str(error), self.place)
            case WrongOutput():
                return ComputationFailed(str(error), self.place)
            case InternalError():
                return error
        if isinstance(error, _OF_VALUES):
            return ComputationFailed(f"{type(error).__name__}: {error}", self.place)
        operator = f"{self.place.operator}-{self.place.since_version}"
        path = " > ".join(self.place.path) or "graph"
        fault = Fault(
            error, f"the kernel of {operator}", "opsetlift.evaluator", self.node.op_type, self.place.node, path
        )
        return InternalError([fault])


def _reader(names: Sequence[str]) -> Callable[[Environment], Sequence[Value]]:
    """Return what reads values by name; absent inputs are None."""
    if len(names) == 1 and names[0]:
        (name,) = names
        return lambda environment: (environment[name],)
    if len(names) > 1 and all(names):
        return itemgetter(*names)
    return lambda environment: [environment[name] if name else None for name in names]
