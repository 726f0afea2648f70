"""Asks a runtime about several cases in one model, which costs little more than one of them.

The nodes of a pack have nothing to do with each other. Where it runs, each case has a verdict of its own; where it does
not, its halves are asked. Where it ended the runtime's process, its cases are asked one by one: each that does so costs
one more start of a process, and not one at each halving.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from onnx import ModelProto

from opsetlift.measuring.cases import Case
from opsetlift.measuring.runner import Answer
from opsetlift.measuring.verdicts import verdict
from opsetlift.model.arrays import Array
from opsetlift.model.scopes import imported_opsets

_MOST_CASES = 32


class Runs(Protocol):
    """What runs a model: a Runner, or what stands for one in a test."""

    def run(self, model: ModelProto, inputs: Mapping[str, Array]) -> Answer:
        """The outputs of a model, or why there are none."""


def verdicts(cases: Sequence[Case], runner: Runs) -> Iterator[tuple[Case, str]]:
    """The verdict on each case."""
    alike: dict[object, list[Case]] = {}
    for case in cases:
        imports = imported_opsets(case.model.opset_import)
        alike.setdefault((*sorted(imports.items()), case.model.ir_version), []).append(case)
    for those in alike.values():
        for start in range(0, len(those), _MOST_CASES):
            yield from _ask(those[start : start + _MOST_CASES], runner)


def _ask(cases: Sequence[Case], runner: Runs) -> Iterator[tuple[Case, str]]:
    if len(cases) == 1:
        yield cases[0], verdict(cases[0], runner.run(cases[0].model, cases[0].inputs))
        return
    answer = runner.run(*_pack(cases))
    if not answer.error:
        for place, case in enumerate(cases):
            prefix = _prefix(place)
            own = {name.removeprefix(prefix): one for name, one in answer.outputs.items() if name.startswith(prefix)}
            said = verdict(case, replace(answer, outputs=own))
            # What is wrong among others may be right alone, where the runtime confuses their outputs.
            yield case, said and verdict(case, runner.run(case.model, case.inputs))
        return
    size = 1 if answer.needs_restart else (len(cases) + 1) // 2
    for start in range(0, len(cases), size):
        yield from _ask(cases[start : start + size], runner)


def _prefix(place: int) -> str:
    return f"p{place}_"


def _pack(cases: Sequence[Case]) -> tuple[ModelProto, dict[str, Array]]:
    packed = ModelProto()
    packed.CopyFrom(cases[0].model)
    packed.ClearField("graph")
    packed.graph.name = "measured"
    inputs: dict[str, Array] = {}
    for place, case in enumerate(cases):
        prefix = _prefix(place)
        graph = case.model.graph
        for node in graph.node:
            copied = packed.graph.node.add()
            copied.CopyFrom(node)
            copied.name = f"{prefix}{node.name}"
            copied.input[:] = [name and prefix + name for name in node.input]
            copied.output[:] = [name and prefix + name for name in node.output]
        for source, copies in (
            (graph.input, packed.graph.input),
            (graph.output, packed.graph.output),
            (graph.initializer, packed.graph.initializer),
        ):
            for one in source:
                copies.add().CopyFrom(one)
                copies[-1].name = prefix + one.name
        for info in packed.graph.input[len(packed.graph.input) - len(graph.input) :]:
            _rename_sizes(info.type.tensor_type.shape.dim, prefix)
        for info in packed.graph.output[len(packed.graph.output) - len(graph.output) :]:
            _rename_sizes(info.type.tensor_type.shape.dim, prefix)
        inputs.update({prefix + name: value for name, value in case.inputs.items()})
    return packed, inputs


def _rename_sizes(dims: Sequence[object], prefix: str) -> None:
    for dim in dims:
        if dim.dim_param:  # type: ignore[attr-defined]
            dim.dim_param = prefix + dim.dim_param  # type: ignore[attr-defined]
