"""Mutation testing: that mutants are what they say, that the proof lets none through, and that one would be seen."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import pytest

from benchmarks.mutants.examples import ROOT, Collector, Coverage, Example
from benchmarks.mutants.inputs import Inputs
from benchmarks.mutants.judge import difference, judged
from benchmarks.mutants.operators import diff, mutants_of, sampled
from benchmarks.mutants.run import examples_for
from benchmarks.mutants.subjects import Kernels, Rules
from testing.conversion import model

SOURCE = '''"""What is written for people stays."""

TABLE = [
    Step("Clip", 6, 11, up=move_bounds_to_inputs, down=unchanged, because="11 has inputs"),
]


def rule(site: Site) -> None:
    """The same here."""
    if site.rank(0) < 2 and not site.has_attribute("x"):
        site.refuse(Why.NO_EQUIVALENT, "a sentence")
    site.replace(op.Sub(one, other, axis=-1))
'''


def ids_of(tmp_path: Path, source: str = SOURCE) -> list[str]:
    (tmp_path / "module.py").write_text(source)
    mutants_of.cache_clear()
    return [one.id for one in mutants_of(tmp_path, "module.py")]


@pytest.mark.parametrize(
    "expected",
    [
        "module.py:4 up='move_bounds_to_inputs' -> unchanged",
        "module.py:4 '11' -> '12'",
        "module.py:10 '<' -> '<='",
        "module.py:10 'and' -> 'or'",
        "module.py:10 'not site.has_attribute('x')' -> 'site.has_attribute('x')'",
        "module.py:10 if 'site.rank(0) < 2 and (not site.has_attribute('x'))' -> if False",
        "module.py:11 drop 'site.refuse(Why.NO_EQUIVALENT, 'a sentence')'",
        "module.py:12 '-1' -> '1'",
        "module.py:12 Sub -> Add",
        "module.py:12 Sub(...) without 'axis=-1'",
        "module.py:12 'op.Sub(one, other, axis=-1)' -> 'op.Sub(other, one, axis=-1)'",
    ],
)
def test_conditions_constants_operands_attributes_and_statements_are_changed(tmp_path: Path, expected: str) -> None:
    assert expected in ids_of(tmp_path)


def test_each_mutant_has_a_name_of_its_own_and_is_a_program_that_differs(tmp_path: Path) -> None:
    ids = ids_of(tmp_path)
    assert len(ids) == len(set(ids)) > 25
    assert not any("sentence" in one and "drop" not in one for one in ids), "what people read is left alone"
    unchanged = ast.unparse(ast.parse(SOURCE))
    for index in range(len(ids)):
        mutants_of.cache_clear()
        changed = mutants_of(tmp_path, "module.py")[index].tree()
        compile(changed, "module.py", "exec")
        assert ast.unparse(changed) != unchanged, ids[index]


def test_a_mutant_can_be_shown_as_a_difference_of_two_lines(tmp_path: Path) -> None:
    ids = ids_of(tmp_path)
    chosen = mutants_of(tmp_path, "module.py")[ids.index("module.py:12 Sub -> Add")]
    before, after = diff(tmp_path, chosen).splitlines()
    assert before == "-    site.replace(op.Sub(one, other, axis=-1))"
    assert after == "+    site.replace(op.Add(one, other, axis=-1))"


def test_a_sample_is_the_same_for_the_same_seed_and_reaches_every_module(tmp_path: Path) -> None:
    for name in ("first.py", "second.py"):
        (tmp_path / name).write_text(SOURCE)
    mutants_of.cache_clear()
    found = [one for name in ("first.py", "second.py") for one in mutants_of(tmp_path, name)]
    chosen = [one.id for one in sampled(found, 10, seed=1)]
    assert chosen == [one.id for one in sampled(found, 10, seed=1)] != [one.id for one in sampled(found, 10, seed=2)]
    assert [sum(one.startswith(name) for one in chosen) for name in ("first", "second")] == [5, 5]


def test_helpers_of_rules_are_changed_too_and_their_constants_are_exercised_where_they_are_imported() -> None:
    helper, rules = "rules/opsetlift_rules/helpers/dtype_groups.py", "rules/opsetlift_rules/unique.py"
    assert {helper, rules} <= set(Rules().paths)
    lines = (ROOT / rules).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "in FLOATING" in text)
    changed = next(one for one in mutants_of(ROOT, helper) if "FLOATING" in one.names)
    assert examples_for(changed, Coverage(by_line={rules: {line: [3]}})) == [3]


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ([0.0], [-0.0], True),
        ([numpy.nan], [-numpy.nan], False),
        ([numpy.inf], [numpy.inf], False),
        ([numpy.inf], [3e38], True),
        ([1.0], [1.0 + 2**-22], False),
        ([1.0], [1.001], True),
    ],
)
def test_the_judge_tells_values_apart(one: list[float], other: list[float], differ: bool) -> None:
    arrays = [numpy.array(values, numpy.float32) for values in (one, other)]
    assert bool(difference(*arrays, 0)) is differ


def test_examples_of_kernels_are_small_whatever_sizes_are_drawn() -> None:
    header = '<ir_version: 9, opset_import: ["": 20]>'
    filled = model(f"{header} g (int64[2] s) => (float[N, M] y) {{ y = ConstantOfShape (s) }}")
    runs = Kernels()._runs(Example("ConstantOfShape", filled.SerializeToString()))
    sizes = [run.results[0].size for run in runs if run.results is not None]
    assert len(sizes) < len(runs)  # some were refused
    assert 0 < max(sizes) <= 1 << 20

    large = model(f"{header} g (float[200, 200] x) => (float[200, 200] y) {{ y = Identity (x) }}")
    collector = Collector(Kernels.folder)
    Kernels()._trace(collector, Example("Identity", large.SerializeToString()))
    assert collector.examples == []


def test_the_judge_draws_what_a_model_declares_and_never_what_the_proof_draws() -> None:
    declared = (
        '<ir_version: 8, opset_import: ["": 18]> g (float[N, 3] x, int64[N] i) => (float[N, 3] y) { y = Neg (x) }'
    )
    drawn = [values for values, _ in zip(Inputs(model(declared), 0), range(200), strict=False)]
    assert all(one["x"].shape[1:] == (3,) and one["x"].shape[0] == one["i"].shape[0] for one in drawn)
    values = numpy.concatenate([one["x"].reshape(-1) for one in drawn])
    assert all(bool(found.any()) for found in (numpy.isnan(values), numpy.isinf(values), numpy.abs(values) > 1e30))
    source = (ROOT / "benchmarks/mutants/inputs.py").read_text() + (ROOT / "benchmarks/mutants/judge.py").read_text()
    assert "opsetlift.proof" not in source


@pytest.mark.parametrize("dtype", ["float", "float16", "bfloat16", "double", "int8", "uint64", "bool", "string"])
def test_the_judge_draws_scalars_of_every_dtype(dtype: str) -> None:
    declared = f'<ir_version: 8, opset_import: ["": 18]> g ({dtype} x) => ({dtype} y) {{ y = Identity (x) }}'
    for values, _ in zip(Inputs(model(declared), 0), range(100), strict=False):
        assert numpy.shape(values["x"]) == ()


def one_node(node: str, opset: int) -> onnx.ModelProto:
    return model(f'<ir_version: 8, opset_import: ["": {opset}]> g (float[N] x) => (float[N] y) {{ y = {node} }}')


@pytest.mark.parametrize(("node", "differs"), [("Clip (x)", False), ("Identity (x)", True)])
def test_the_judge_is_onnxruntime_where_it_takes_both_models(node: str, differs: bool) -> None:
    original = one_node("Clip (x)", 12)
    found = judged(original, one_node(node, 13), one_node("Clip (x)", 13))
    assert found is not None
    assert (found.executor, bool(found.difference)) == ("onnxruntime", differs)


@pytest.mark.parametrize(("declared", "differs"), [("4", False), ("N", True)])
def test_inputs_that_give_another_shape_than_the_original_declares_are_no_evidence(
    declared: str, differs: bool
) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[1] x, int64[1] size) => (float[%s] y) { %s }'
    original = model(text % (declared, "y = Expand (x, size)"))
    other = model(text % (declared, "four = Constant <value = int64[1] {4}> () y = Expand (x, four)"))
    shipped = [{"x": numpy.ones(1, numpy.float32), "size": numpy.array([size])} for size in (4, 2)]
    found = judged(original, other, original, shipped=shipped)
    assert found is not None
    assert bool(found.difference) is differs, found.difference


@pytest.mark.parametrize(("ulps", "differs"), [(0, True), (8, False)])
def test_overflow_half_way_is_held_against_exact_rules_only(ulps: int, differs: bool) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { %s }'
    original = model(text % "a = Mul (x, x) y = Sqrt (a)")
    wider = model(text % "w = Cast <to = 11> (x) a = Mul (w, w) r = Sqrt (a) y = Cast <to = 1> (r)")
    shipped = [{"x": numpy.array([3e38, 4.0], numpy.float32)}]
    found = judged(original, wider, original, shipped=shipped, ulps=ulps)
    assert found is not None
    assert bool(found.difference) is differs, found.difference


@pytest.mark.parametrize(("ulps", "differs"), [(0, True), (8, False)])
def test_overflow_half_way_beside_an_infinity_is_held_against_exact_rules_only(ulps: int, differs: bool) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x, float[2] s) => (float[2] y) { %s }'
    original = model(text % "a = Mul (x, s) y = Div (a, s)")
    wider = model(
        text % "w = Cast <to = 11> (x) t = Cast <to = 11> (s) a = Mul (w, t) r = Div (a, t) y = Cast <to = 1> (r)"
    )
    shipped = [{"x": numpy.array([3e38, numpy.inf], numpy.float32), "s": numpy.array([9, 1], numpy.float32)}]
    found = judged(original, wider, original, shipped=shipped, ulps=ulps)
    assert found is not None
    assert bool(found.difference) is differs, found.difference


@pytest.mark.parametrize(
    ("node", "differs"),
    [("y = Max (zero, x)", False), ("z = Abs (x) m = Neg (z) y = Max (m, zero)", True), ("y = Neg (x)", True)],
    ids=["the same operands", "others", "no Max"],
)
def test_which_of_two_zeros_max_gives_is_held_against_nobody(node: str, differs: bool) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) <float[2] zero = {0, 0}> { %s }'
    original = model(text % "y = Max (x, zero)")
    found = judged(original, model(text % node), original, shipped=[{"x": numpy.array([-0.0, -1.0], numpy.float32)}])
    assert found is not None
    assert bool(found.difference) is differs, found.difference


@pytest.mark.parametrize(("node", "differs"), [('Resize <mode="cubic"> (x, , s)', False), ("Resize (x, , s)", True)])
def test_what_the_reference_implementation_alone_shows_is_held_against_nobody(node: str, differs: bool) -> None:
    """Where scales enlarge, antialias changes nothing, but onnx.reference gives the largest double for -inf with it."""
    text = '<ir_version: 8, opset_import: ["": 18]> g (double[4] x) => (double[6] y) <float[1] s = {1.5}> { y = %s }'
    original = model(text % 'Resize <mode="cubic", antialias=1> (x, , s)')
    shipped = [{"x": numpy.array([-numpy.inf, 1, 2, 3])}]
    found = judged(original, model(text % node), None, shipped=shipped)
    assert found is not None
    assert (found.executor, bool(found.difference)) == ("onnx.reference", differs), found


def test_what_is_drawn_at_random_is_held_against_nobody() -> None:
    original = one_node("RandomUniformLike (x)", 13)
    found = judged(original, one_node("RandomUniformLike <high = 1.0> (x)", 13), original)
    assert found is None or not found.difference


@pytest.mark.parametrize(("value", "differs"), [(numpy.nan, False), (3.0, True)])
def test_what_the_specification_leaves_open_is_held_against_nobody(value: float, differs: bool) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[1] x) => (int32[1] y) { %s }'
    original = model(text % "y = Cast <to = 6> (x)")
    other = model(
        text % "m = Constant <value = float {7}> () n = IsNaN (x) t = Greater (x, m) s = Neg (x) "
        "o = Or (n, t) w = Where (o, m, s) y = Cast <to = 6> (w)"
    )
    found = judged(original, other, original, shipped=[{"x": numpy.array([value], numpy.float32)}], enough=1)
    assert found is None or bool(found.difference) is differs


def run_mutants(tmp_path: Path, *arguments: str) -> tuple[int, list[dict[str, object]]]:
    """The exit status of the command, and its trials: of mutants of the rules of Clip, on the models of their tests."""
    results = tmp_path / "trials.json"
    command = [
        sys.executable,
        "-m",
        "benchmarks.mutants",
        "--only",
        "rules/opsetlift_rules/clip",
        "--jobs",
        "1",
        "--json",
        str(results),
    ]
    command += ["--tests", "tests/rules/test_clip.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert results.exists(), done.stderr
    return done.returncode, json.loads(results.read_text())


@pytest.mark.slow
def test_no_mutant_of_a_sample_survives_the_proof(tmp_path: Path) -> None:
    status, trials = run_mutants(tmp_path, "--sample", "14", "--seed", "4", "--examples", "2")
    outcomes = [one["outcome"] for one in trials]
    assert status == 0, [one for one in trials if one["outcome"] == "survived"]
    assert len(outcomes) == 14
    assert outcomes.count("killed by proof") >= 2, outcomes


@pytest.mark.slow
def test_a_mutant_that_nobody_tries_to_refute_is_reported_as_a_survivor(tmp_path: Path) -> None:
    arguments = ("--mutant", "Max(site.input(0), low)' -> 'site.input(0)", "--examples", "2")
    status, trials = run_mutants(tmp_path, *arguments)
    assert (status, [one["outcome"] for one in trials]) == (0, ["killed by proof"])
    status, trials = run_mutants(tmp_path, *arguments, "--without-proof")
    assert (status, [one["outcome"] for one in trials]) == (1, ["survived"])
