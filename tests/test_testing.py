"""`opsetlift.testing`: the assertion, and the pytest plugin in a run of its own."""

from __future__ import annotations

import re
from importlib.metadata import entry_points

import numpy
import pytest

from opsetlift.testing import assert_equivalent
from tests.prove.conversions import model

pytest_plugins = ["pytester"]

ONE = "g (float[N] x) => (float[N] y) { a = Relu (x) y = Exp (a) }"
OTHER = "g (float[N] x) => (float[N] y) { a = Abs (x) y = Exp (a) }"


def test_equal_models_pass_and_the_result_is_given() -> None:
    twice = model(ONE.replace("y = Exp (a)", "b = Identity (a) y = Exp (b)"), 13)
    assert assert_equivalent(model(ONE, 13), twice.SerializeToString()).runs >= 3


def test_a_difference_is_an_assertion_with_the_first_node_that_differs() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_equivalent(model(ONE, 13), model(OTHER, 13))
    first, second = str(caught.value).splitlines()
    assert re.match(r"the models are different: .*output 'y' ", first)
    assert second.startswith(
        "the first node whose value differs is Relu 'a', Abs 'a' in the second model (value 'a'): "
    )


def test_bounds_are_those_of_prove_models() -> None:
    rounded = model("g (float[N] x) => (float[N] y) { a = Exp (x) b = Log (a) y = Exp (b) }", 13)
    plain = model("g (float[N] x) => (float[N] y) { y = Exp (x) }", 13)
    inputs = {"x": numpy.linspace(0.1, 3, 40, dtype="float32")}
    with pytest.raises(AssertionError):
        assert_equivalent(plain, rounded, inputs=inputs)
    assert_equivalent(plain, rounded, inputs=inputs, rtol=1e-5)


def test_what_proves_too_little_does_not_pass_unless_that_is_accepted() -> None:
    constant = model(
        "g (float[N] x) => (float[N] y) <float zero = {0}> { m = Mul (x, zero) t = Abs (m) y = Equal (x, t) }", 13
    )
    constant = model("g (bool[N] x) => (bool[N] y) { n = Not (x) y = And (x, n) }", 13)
    with pytest.raises(AssertionError, match="the models are weakly proven: "):
        assert_equivalent(constant, constant)
    assert_equivalent(constant, constant, accept_weak=True)


def test_models_that_do_not_run_do_not_pass() -> None:
    own = model('<ir_version: 8, opset_import: ["": 13, "own": 1]> g (float[N] x) => (float[N] y) { y = own.F (x) }')
    with pytest.raises(AssertionError, match="the models are unproven: "):
        assert_equivalent(own, own, accept_weak=True)


@pytest.fixture
def arguments(pytester: pytest.Pytester) -> list[str]:
    """The plugin is found by its entry point where the package is installed with it."""
    pytester.makepyfile(
        models=f"""
        from onnx.parser import parse_model
        def model(text):
            return parse_model('<ir_version: 8, opset_import: ["": 13]> ' + text)
        ONE, OTHER = {ONE!r}, {OTHER!r}
        """
    )
    is_installed = any(one.value == "opsetlift.testing.plugin" for one in entry_points(group="pytest11"))
    return [] if is_installed else ["-p", "opsetlift.testing.plugin"]


def test_the_fixture_passes_and_fails_tests(pytester: pytest.Pytester, arguments: list[str]) -> None:
    pytester.makepyfile(
        """
        from models import ONE, OTHER, model
        def test_same(assert_equivalent):
            assert_equivalent(model(ONE), model(ONE))
        def test_other(assert_equivalent):
            assert_equivalent(model(ONE), model(OTHER), rtol=1e-3)
        """
    )
    found = pytester.runpytest(*arguments, "-p", "no:cacheprovider")
    found.assert_outcomes(passed=1, failed=1)
    found.stdout.fnmatch_lines(
        ["*AssertionError: the models are different: *", "*the first node whose value differs is Relu 'a'*"]
    )
    assert "assertions.py" not in found.stdout.str(), "the trace ends in the test"


def test_the_options_decide_what_the_fixture_draws(pytester: pytest.Pytester, arguments: list[str]) -> None:
    pytester.makepyfile(
        """
        from models import ONE, model
        def test_runs(assert_equivalent):
            assert assert_equivalent(model(ONE), model(ONE)).runs >= 9
            assert assert_equivalent.keywords == {"seed": 7, "runs": 9}
        """
    )
    options = ["--opsetlift-seed", "7", "--opsetlift-runs", "9"]
    pytester.runpytest(*arguments, *options).assert_outcomes(passed=1)
    found = pytester.runpytest(*arguments, "--help")
    found.stdout.fnmatch_lines(["opsetlift:", "*--opsetlift-seed=N*"])


@pytest.mark.slow
def test_the_plugin_imports_neither_onnx_nor_numpy_before_the_fixture_is_used(
    pytester: pytest.Pytester, arguments: list[str]
) -> None:
    pytester.makepyfile(
        """
        import sys
        def test_nothing():
            assert not {"onnx", "numpy", "opsetlift.proof"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=1)
