"""From prepared nodes to a body: every name has one value, which is there before a node reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from opsetlift.evaluator.body import Body, Formal
from opsetlift.evaluator.declared_types import DeclaredTypes
from opsetlift.evaluator.errors import Place, Rejected
from opsetlift.evaluator.step import Step, Subgraph
from opsetlift.model.arrays import Array


def assembled(
    path: tuple[str, ...],
    inputs: Sequence[Formal],
    outputs: Sequence[Formal],
    steps: Sequence[Step],
    initializers: Mapping[str, Callable[[], Array]],
    declared: DeclaredTypes | None = None,
    *,
    strict: bool,
) -> Body:
    """Return the body of a graph, a subgraph or a function.

    Args:
        path: The nodes and functions around it; empty for the main graph, which captures nothing.
        inputs: Its formal inputs.
        outputs: Its formal outputs.
        steps: Its nodes.
        initializers: What loads each initializer, by name.
        declared: What is declared of values in it, where they are to be compared with that.
        strict: False sorts nodes that are not in topological order.

    Raises:
        Rejected: A name has no value or two, nodes depend on one another, or, where strict, are not sorted.
    """
    if len({formal.name for formal in inputs}) != len(inputs):
        raise Rejected("two inputs have the same name", Place(path))
    defined = _defined_names(inputs, initializers, steps)
    captured = {name for step in steps for name in step.uses if name not in defined}
    captured.update(formal.name for formal in outputs if formal.name and formal.name not in defined)
    if not path:
        _reject_dangling(steps, outputs, captured)
    return Body(path, inputs, outputs, _in_order(steps, strict=strict), initializers, sorted(captured), declared)


def _defined_names(inputs: Sequence[Formal], initializers: Mapping[str, object], steps: Sequence[Step]) -> set[str]:
    defined = {formal.name for formal in inputs}.union(initializers)
    for step in steps:
        for name in filter(None, step.outputs):
            if name in defined:
                raise Rejected(f"{name!r} has a value already; a graph assigns each name once", step.place)
            defined.add(name)
    return defined


def _reject_dangling(steps: Sequence[Step], outputs: Sequence[Formal], undefined: set[str]) -> None:
    for step in steps:
        for name in step.uses:
            if name in undefined:
                raise Rejected(f"nothing in the graph gives {name!r} a value", _user_of(step, name))
    for output in outputs:
        if output.name in undefined:
            raise Rejected(f"nothing in the graph gives the output {output.name!r} a value", Place())


def _user_of(step: Step, name: str) -> Place:
    """Return the node that uses `name`: the step's own, or one in its subgraphs."""
    body: Subgraph
    for body in step.bodies.values():
        for inner in body.steps:
            if name in inner.uses and name in body.captured:
                return _user_of(inner, name)
    return step.place


def _in_order(steps: Sequence[Step], *, strict: bool) -> Sequence[Step]:
    """Return the steps in topological order, which graphs must have; only strict=False sorts them."""
    producers = {name: index for index, step in enumerate(steps) for name in step.outputs if name}
    early = next((index for index, step in enumerate(steps) if _read_early(step, index, producers)), None)
    if early is None:
        return steps
    needs = {index: {producers[name] for name in step.uses if name in producers} for index, step in enumerate(steps)}
    try:
        order = list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise Rejected("the nodes depend on one another in a cycle", steps[min(error.args[1])].place) from error
    if strict:
        name = min(_read_early(steps[early], early, producers))
        raise Rejected(f"{name!r} gets its value only later; nodes must be in topological order", steps[early].place)
    return [steps[index] for index in order]


def _read_early(step: Step, index: int, producers: Mapping[str, int]) -> list[str]:
    """Return the names that the step at `index` reads before they have a value."""
    return [name for name in step.uses if producers.get(name, -1) >= index]
