"""docs/evaluator.md says what the registered kernels are."""

from __future__ import annotations

import inspect
from collections import defaultdict
from pathlib import Path

import pytest

from opsetlift.evaluator.kernels.registry import Kernel, all_kernels
from opsetlift.evaluator.table import execution, table
from opsetlift.specification.contributed import contributed_definition
from opsetlift.specification.experimental import experimental_operators
from opsetlift.specification.history import definition, histories

DOCUMENT = Path(__file__).parents[2] / "docs" / "evaluator.md"


def test_the_document_is_what_would_be_generated() -> None:
    assert DOCUMENT.read_text() == table(), "run python -m opsetlift.evaluator.table"


def test_kernels_are_declared_for_definitions_that_exist() -> None:
    wrong = []
    for key in all_kernels():
        operator = histories().get((key.domain, key.operator))
        found = operator and operator.definitions.get(key.since_version)
        experiment, _ = experimental_operators().get(key.operator, (None, 0))
        found = found or contributed_definition(key.domain, key.operator)
        if not found and (experiment is None or key.since_version != experiment.since_version):
            wrong.append(key)
    assert wrong == []


def test_docstrings_of_kernels_begin_with_the_operators_and_versions_whose_text_they_implement() -> None:
    versions: dict[tuple[Kernel, str], list[int]] = defaultdict(list)
    for key, kernel in all_kernels().items():
        versions[kernel, key.operator].append(key.since_version)
    wrong = []
    for (kernel, operator), since in versions.items():
        head = (inspect.getdoc(kernel) or "").partition(":")[0]
        clause = f"{operator}-{', '.join(map(str, sorted(since)))}"
        if clause not in head.split(" and "):
            wrong.append(f"{kernel.__module__}.{kernel.__name__}: {clause}")
    assert wrong == []


@pytest.mark.parametrize(
    ("operator", "opset", "expected"),
    [
        ("Softmax", 11, "own: softmax"),
        ("Upsample", 10, "own: resize, deprecated: only where not strict"),
    ],
)
def test_each_definition_has_one_way_to_be_executed(operator: str, opset: int, expected: str) -> None:
    found = definition("", operator, opset)
    assert found is not None
    assert execution("", operator, found) == expected
