"""ONNX's own tests moved to other opsets: the same nodes under other definitions, legal there or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import onnx
from onnx import ModelProto

from opsetlift.evaluator import Evaluator, Rejected
from testing.cases import Case
from testing.comparison import mismatch
from tests.evaluator.verdict import all_nodes, inferred_types, objection, opset_of, schemas, since_version, versions_at


@dataclass(frozen=True)
class Restamped:
    """A case whose model imports one domain at another opset, so that some operator has another version there."""

    case: Case
    model: ModelProto
    objection: str | None
    """Why the schemas forbid it; None where they allow it."""

    @property
    def definition(self) -> str:
        """The first node's operator and the since-version that it has now: "Softmax-11"."""
        node = self.model.graph.node[0]
        return f"{node.op_type}-{since_version(node.domain, node.op_type, opset_of(self.model, node.domain))}"

    @cached_property
    def results(self) -> list[Any] | Rejected:
        """The outputs for the case's first inputs, or how the evaluator rejects the model."""
        try:
            return list(Evaluator(self.model).run(self.case.inputs()).values())
        except Rejected as error:
            return error

    def difference(self, expected: list[Any]) -> str | None:
        """How the results differ from `expected`."""
        return mismatch(self.results, expected, rtol=self.case.rtol, atol=self.case.atol)


def restamped(case: Case) -> Iterator[Restamped]:
    """The case at each opset at which its nodes have versions that they have at no nearer one."""
    opsets = {entry.domain: entry.version for entry in case.model.opset_import}
    types = inferred_types(case.model)
    seen = {versions_at(case.model, opsets)}
    for domain in sorted({node.domain for node in all_nodes(case.model.graph)}):
        nodes = [node for node in all_nodes(case.model.graph) if node.domain == domain]
        starts = {version for node in nodes for version in schemas(domain, node.op_type)}
        starts.update(start - 1 for start in list(starts) if start > 1)
        for opset in sorted(starts, key=lambda start: abs(start - opsets[domain])):
            versions = versions_at(case.model, {**opsets, domain: opset})
            if versions in seen:
                continue
            seen.add(versions)
            model = onnx.ModelProto()
            model.CopyFrom(case.model)
            for entry in model.opset_import:
                if entry.domain == domain:
                    entry.version = opset
            yield Restamped(case, model, objection(model, types))
