"""Operators without a kernel are executed by their schema's function, where it has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from onnx import helper

from opsetlift.evaluator import Evaluator, NotExecutable, Rejected, prepare, run_node
from opsetlift.evaluator.schema_functions import function_opsets
from opsetlift.specification.history import definition
from testing.cases import Case, node_cases
from testing.comparison import mismatch

FLOATS = numpy.array([-2, 0, 3], dtype=numpy.float32)


def without_kernels(monkeypatch: pytest.MonkeyPatch, *operators: str) -> None:
    """From now on: no kernels for `operators`."""
    found: Callable[..., Any] = prepare.find_kernel
    monkeypatch.setattr(
        prepare, "find_kernel", lambda domain, name, since: None if name in operators else found(domain, name, since)
    )


def has_function(case: Case) -> bool:
    """Whether the case is a single node that its schema defines by a function."""
    node = case.model.graph.node[0]
    opset = next(entry.version for entry in case.model.opset_import if entry.domain == node.domain)
    found = definition(node.domain, node.op_type, opset)
    return len(case.model.graph.node) == 1 and found is not None and bool(function_opsets(found.schema))


FUNCTION_CASES = [case for case in node_cases() if has_function(case) and "bernoulli" not in case.name]


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("operator", sorted({case.operator for case in FUNCTION_CASES}))
def test_the_function_does_what_the_tests_of_the_operator_expect(
    operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_kernels(monkeypatch, operator)
    wrong = {}
    for case in FUNCTION_CASES:
        if case.operator == operator:
            results = list(Evaluator(case.model).run(case.inputs()).values())
            wrong[case.name] = mismatch(results, case.expected(), rtol=max(case.rtol, 2**-9), atol=max(case.atol, 1e-6))
    assert {name: found for name, found in wrong.items() if found} == {}


def test_what_the_schema_forbids_is_rejected_before_the_function_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    without_kernels(monkeypatch, "Relu")
    assert run_node(helper.make_node("Relu", ["x"], ["y"]), [FLOATS], {"": 18})[0].tolist() == [0, 0, 3]
    with pytest.raises(Rejected, match=r"Relu-14 .*tensor\(bool\)"):
        run_node(helper.make_node("Relu", ["x"], ["y"]), [FLOATS > 0], {"": 18})


def test_attributes_and_their_defaults_reach_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    without_kernels(monkeypatch, "LeakyRelu")
    for attributes, expected in (({}, 0.01), ({"alpha": 0.5}, 0.5)):
        node = helper.make_node("LeakyRelu", ["x"], ["y"], **attributes)
        assert run_node(node, [FLOATS], {"": 16})[0][0] == numpy.float32(-2) * numpy.float32(expected)


def test_without_kernel_and_function_an_operator_is_not_executable(monkeypatch: pytest.MonkeyPatch) -> None:
    without_kernels(monkeypatch, "Add")
    with pytest.raises(NotExecutable, match=r"Add-13 .*no kernel for this version"):
        run_node(helper.make_node("Add", ["x", "x"], ["y"]), [FLOATS, FLOATS], {"": 13})
