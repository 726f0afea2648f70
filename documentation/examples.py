"""Before and after, out of the rule tests: what they compare as literal texts, so that a test holds each page."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import onnx.parser
from onnx import GraphProto, ModelProto, NodeProto

import opsetlift
from opsetlift.model.scopes import imported_opsets, subgraphs
from opsetlift.reporting.drawing import Drawing, State
from opsetlift.reporting.neighbourhood import Neighbourhood, node_text
from opsetlift.specification.history import canonical_domain, history

TESTS = Path(__file__).parents[1] / "tests" / "rules"

Operator = tuple[str, str]


@dataclass(frozen=True)
class Example:
    """A model before and after a conversion, or one that is refused."""

    test: str
    """The name of the test, which is what it shows."""
    file: str
    before: str
    after: str = ""
    """Empty for a refusal."""
    to: Mapping[str, int] | None = None

    @property
    def caption(self) -> str:
        """What it shows, as a sentence without its end."""
        words = self.test.removeprefix("test_").replace("_", " ")
        return words[:1].upper() + words[1:]

    @cached_property
    def models(self) -> tuple[ModelProto, ...]:
        """Before and, unless it is refused, after."""
        return tuple(onnx.parser.parse_model(text) for text in (self.before, self.after) if text)

    @property
    def opsets(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """Those before, and those that were asked for."""
        before = imported_opsets(self.models[0].opset_import)
        return before, (self.to or {}) if not self.after else imported_opsets(self.models[1].opset_import)

    def operators(self) -> set[Operator]:
        """Those with another definition at the destination."""
        before, after = self.opsets
        found = set()
        for node in _nodes(self.models[0].graph):
            domain = canonical_domain(node.domain)
            known = history(domain, node.op_type)
            if known is None or domain not in before or domain not in after:
                continue
            if known.since_version(before[domain]) != known.since_version(after[domain]):
                found.add((domain, node.op_type))
        return found

    def refusals(self) -> list[str]:
        """What the conversion says, each once; empty where it is not refused."""
        try:
            opsetlift.convert(self.models[0], to=dict(self.to or {}), prove=False)
        except opsetlift.ConversionRefused as refused:
            return list(dict.fromkeys(one.sentence for one in refused.refusals))
        return []

    def drawings(self) -> Iterator[Drawing]:
        """Both sides, with what is only on one of them marked."""
        texts = [[node_text(node) for node in model.graph.node] for model in self.models]
        kinds = [{node.op_type for node in model.graph.node} for model in self.models]
        for side, model in enumerate(self.models):
            other = 1 - side
            gone = State.NEW if side else State.REMOVED

            def state(position: int, side: int = side, other: int = other, gone: State = gone) -> State:
                node = self.models[side].graph.node[position]
                if texts[side][position] in texts[other]:
                    return State.KEPT
                return State.REWRITTEN if node.op_type in kinds[other] else gone

            yield Neighbourhood(model.graph).drawn(("before", "after")[side], range(len(model.graph.node)), state)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for _, inner in subgraphs(node):
            yield from _nodes(inner)


def examples() -> Mapping[Operator, Sequence[Example]]:
    """The examples of each operator, those of the fewest nodes first."""
    found: dict[Operator, list[Example]] = defaultdict(list)
    for path in sorted(TESTS.glob("test_*.py")):
        for example in _of_file(path):
            for operator in sorted(example.operators()):
                found[operator].append(example)
    return {key: sorted(some, key=lambda one: len(one.models[0].graph.node)) for key, some in found.items()}


def _of_file(path: Path) -> Iterator[Example]:
    for function in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                    yield from _of_call(call, call.func.id, function.name, path.name)


def _of_call(call: ast.Call, helper: str, test: str, file: str) -> Iterator[Example]:
    literals = [one.value for one in call.args if isinstance(one, ast.Constant)]
    if len(literals) < 2 or any(keyword.arg != "exact" for keyword in call.keywords):
        return
    before, second = literals[:2]
    if call.args[:2] != [one for one in call.args[:2] if isinstance(one, ast.Constant)] or not isinstance(before, str):
        return
    if helper == "check_rewrite" and isinstance(second, str):
        yield Example(test, file, before, second)
    elif helper == "check_refusal" and isinstance(second, int) and not call.keywords:
        yield Example(test, file, before, to={"": second})
