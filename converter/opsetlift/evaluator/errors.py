"""Why an evaluation stopped: each error names the node, the operator's version and the clause."""

from __future__ import annotations

from dataclasses import dataclass

from opsetlift.specification.history import display_domain


@dataclass(frozen=True)
class Place:
    """Where in a model: a node in the graph, subgraph or function body that `path` leads to."""

    path: tuple[str, ...] = ()
    """The nodes with subgraphs and the functions around the node, outermost first; empty in the main graph."""
    node: str = ""
    """The node's name, or its operator and position where it has none; empty for a whole graph."""
    domain: str = ""
    operator: str = ""
    since_version: int = 0
    """0 where no definition is in force, or none of onnx's (functions)."""

    def __str__(self) -> str:
        operator = f"{display_domain(self.domain)}.{self.operator}" if self.domain else self.operator
        if self.since_version:
            operator += f"-{self.since_version}"
        node = f"node {self.node!r}" if self.node else ""
        where = f"in {' > '.join(self.path)}" if self.path else ""
        return " ".join(part for part in (operator, node, where) if part) or "model"


class EvaluationError(Exception):
    """A model could not be evaluated: `place` says where, `clause` which rule or limit stopped it."""

    def __init__(self, clause: str, place: Place | None = None) -> None:
        self.clause = clause
        self.place = place or Place()
        super().__init__(f"{self.place}: {clause}")


class Rejected(EvaluationError):
    """The model is illegal at its opset, by the schema or by the operator's text."""


class InputRejected(EvaluationError):
    """The caller's input `name` does not fit what the model declares."""

    def __init__(self, name: str, clause: str) -> None:
        self.name = name
        super().__init__(f"input {name!r}: {clause}")


class NotExecutable(EvaluationError):
    """The model may be legal, but this evaluator cannot run it: no kernel, no data, an opset it does not know."""


class TooLarge(EvaluationError):
    """A value has more elements than the caller allows. Of the model itself it says nothing."""


class ComputationFailed(EvaluationError):
    """A kernel gave up on values that passed the schema: shapes that do not fit together, or a fault of the kernel."""
