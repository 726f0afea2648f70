"""Measuring a runtime: what `opsetlift measure` finds out about one whose limits are known."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
from onnx import ModelProto, NodeProto

from opsetlift.cli import main
from opsetlift.evaluator import Evaluator
from opsetlift.facts import ModelFacts, has_late_windows
from opsetlift.measuring import Journal, Runner, RunnerFault, all_cases, as_toml, measure
from opsetlift.measuring.cases import Case
from opsetlift.measuring.contributed import lacking
from opsetlift.measuring.features import Feature, features_of
from opsetlift.measuring.learning import Answered
from opsetlift.measuring.packs import verdicts
from opsetlift.measuring.profile import Key, Profile, without_failing_producers
from opsetlift.measuring.runner import Answer
from opsetlift.model.scopes import imported_opsets
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.specification.history import definition
from opsetlift.targets import Target, has_kernel, node_objection
from opsetlift.targets.reading import read_runtime
from testing.conversion import model as parsed
from tests.legacy.profiles import merged_forms, merged_kernels

OPERATORS = ("Neg", "Clip", "Reshape", "Softmax", "MaxPool")
NEWEST = 15


def model_of(text: str, opset: int) -> ModelProto:
    """A graph in ONNX's textual form at an opset."""
    return parsed(f'<ir_version: 7, opset_import: ["": {opset}]> small {text}')


Limit = Callable[[NodeProto, ModelFacts], bool]


class Limited:
    """A runtime that is the evaluator, up to an opset, without what some limits say."""

    def __init__(self, limits: Mapping[str, Limit], wrong: Mapping[str, Limit]) -> None:
        self._limits, self._wrong = limits, wrong
        self.models = 0

    def run(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray]) -> Answer:
        self.models += 1
        if imported_opsets(model.opset_import).get("", 0) > NEWEST or model.ir_version > 8:
            return Answer(error="too new")
        if any(node.domain == "com.microsoft" for node in model.graph.node):
            return Answer(error="no such operator")
        facts = ModelFacts(model)
        for node in model.graph.node:
            if node.op_type in self._limits and self._limits[node.op_type](node, facts):
                return Answer(error="not implemented")
        outputs = Evaluator(model, strict=False).run(inputs)
        for node in model.graph.node:
            if node.op_type in self._wrong and self._wrong[node.op_type](node, facts):
                outputs = {name: value + 1 for name, value in outputs.items()}
        return Answer(outputs)


def _dtype(node: NodeProto, facts: ModelFacts) -> str | None:
    return dtype_of_type(facts.graph.type_string(node.input[0]) or "")


def _attribute(node: NodeProto, name: str) -> int:
    return next((one.i for one in node.attribute if one.name == name), 0)


def _clips_what_relu_gives(node: NodeProto, facts: ModelFacts) -> bool:
    before = facts.graph.producer(node.input[0])
    has_minimum = len(node.input) > 1 and node.input[1] != ""
    return before is not None and before.op_type == "Relu" and len(node.input) > 0 and not has_minimum


def _infers_a_size_with_allowzero(node: NodeProto, facts: ModelFacts) -> bool:
    shape = facts.graph.constant(node.input[1]) if len(node.input) > 1 else None
    return _attribute(node, "allowzero") == 1 and shape is not None and -1 in shape


def _is_below_13(node: NodeProto, facts: ModelFacts) -> bool:
    return imported_opsets(facts.model.opset_import)[""] < 13


def _merges_two_factors_with_relu(node: NodeProto, facts: ModelFacts) -> bool:
    before = facts.graph.producer(node.input[0])
    return before is not None and before.op_type == "Gemm" and len(list(filter(None, before.input))) == 2


LIMITS: dict[str, Limit] = {
    "Neg": lambda node, facts: _dtype(node, facts) == "int64",
    "Clip": _clips_what_relu_gives,
    "Reshape": _infers_a_size_with_allowzero,
    "MaxPool": lambda node, facts: _attribute(node, "ceil_mode") == 1,
}
WRONG: dict[str, Limit] = {"Softmax": _is_below_13}


@pytest.fixture(scope="module")
def runtime() -> Limited:
    return Limited(LIMITS, WRONG)


@pytest.fixture(scope="module")
def cases() -> list[tuple[Key, list]]:
    return [(key, list(those)) for key, those in all_cases(OPERATORS)]


@pytest.fixture(scope="module")
def profile(runtime: Limited, cases: list[tuple[Key, list]]) -> Profile:
    return measure(cases, runtime, Journal(None))


@pytest.fixture(scope="module")
def target(profile: Profile) -> Target:
    return read_runtime("limited", as_toml(profile, "Limited", "1.0")).targets[0]


def objection(target: Target, text: str, opset: int = NEWEST) -> str:
    """What a target objects to in the last node of a graph."""
    model = model_of(text, opset)
    facts = ModelFacts(model).graph
    return node_objection(model.graph.node[-1], opset, facts, target)


@pytest.mark.slow
def test_opsets_and_ir_versions_are_those_that_load(target: Target) -> None:
    assert target.opsets[""].last == NEWEST
    assert target.ir_versions.last == 8
    assert target.is_measured


@pytest.mark.slow
def test_a_dtype_without_a_kernel_is_found(target: Target) -> None:
    assert has_kernel("", "Neg", 13, {"T": "int32"}, target)
    assert not has_kernel("", "Neg", 13, {"T": "int64"}, target)


@pytest.mark.slow
def test_a_version_that_is_computed_wrongly_has_no_kernel(target: Target) -> None:
    assert not has_kernel("", "Softmax", 11, {"T": "float"}, target)
    assert has_kernel("", "Softmax", 13, {"T": "float"}, target)


@pytest.mark.slow
def test_a_flag_that_does_not_run_becomes_a_form(target: Target) -> None:
    pool = "(float[1,1,5,5] x) => (float[1,1,a,b] y) {{ y = MaxPool <kernel_shape = [2, 2], ceil_mode = {}> (x) }}"
    assert "ceil_mode = 1" in objection(target, pool.format(1))
    assert not objection(target, pool.format(0))


@pytest.mark.slow
def test_a_chain_that_does_not_run_becomes_a_form(target: Target) -> None:
    after = "(float[2] x, float high) => (float[2] y) {{ z = {} (x) y = Clip (z, , high) }}"
    assert "the result of a Relu" in objection(target, after.format("Relu"))
    assert not objection(target, after.format("Neg"))
    with_minimum = "(float[2] x, float low) => (float[2] y) { z = Relu (x) y = Clip (z, low) }"
    assert not objection(target, with_minimum)


def _behind(operator: str, verdict: str) -> Answered:
    case = Case(("", "Neg", 13), 13, ModelProto(), {}, {}, {}, frozenset([Feature("after", value=operator)]))
    return Answered(case, verdict)


@pytest.mark.parametrize(("failing", "is_blamed"), [(8, True), (5, True), (4, False)])
def test_an_operator_behind_which_most_others_fail_is_the_one_that_fails(failing: int, *, is_blamed: bool) -> None:
    answers: dict[Key, list[Answered]] = {
        ("", f"Operator{number}", 13): [_behind("Mul", "differs" if number < failing else ""), _behind("Relu", "")]
        for number in range(8)
    }
    answers["", "Clip", 13] = [_behind("Relu", "differs"), _behind("Relu", "")]
    left = without_failing_producers(answers)
    assert len(left["", "Operator0", 13]) == (1 if is_blamed else 2)
    assert len(left["", "Operator7", 13]) == (1 if failing == 8 else 2)
    assert len(left["", "Clip", 13]) == 2


@pytest.mark.slow
def test_a_gemm_without_c_that_fails_before_a_relu_becomes_a_form() -> None:
    limited = Limited({"Relu": _merges_two_factors_with_relu}, {})
    profile = measure([(key, list(those)) for key, those in all_cases(["Gemm"])], limited, Journal(None))
    target = read_runtime("limited", as_toml(profile, "Limited", "1.0")).targets[0]
    text = "(float[2,3] x, float[3,2] w) => (float[2,2] y) { y = Gemm (x, w) }"
    assert "no input C" in objection(target, text)
    assert not objection(target, "(float[2,3] x, float[3,2] w, float[2] c) => (float[2,2] y) { y = Gemm (x, w, c) }")


@pytest.mark.slow
def test_two_things_that_do_not_run_together_become_a_form_of_both(target: Target) -> None:
    reshape = "(float[2,3] x) => (float[a] y) <int64[1] shape = {{{}}}> {{ y = Reshape <allowzero = {}> (x, shape) }}"
    assert "allowzero = 1" in objection(target, reshape.format(-1, 1))
    assert not objection(target, reshape.format(6, 1))
    assert not objection(target, reshape.format(-1, 0))


@pytest.mark.slow
def test_what_is_computed_is_not_objected_to(target: Target, runtime: Limited, cases: list[tuple[Key, list]]) -> None:
    refused = [
        case
        for key, those in cases
        for case in those
        if imported_opsets(case.model.opset_import)[""] <= NEWEST
        and not runtime.run(case.model, case.inputs).error
        and key[1] != "Softmax"
        and any(
            node_objection(node, case.opset, ModelFacts(case.model).graph, target)
            for node in case.model.graph.node
            if node.name == "measured"
        )
    ]
    assert not refused


def test_a_function_that_does_not_run_at_later_opsets_becomes_a_form() -> None:
    def is_expanded_into_what_it_does_not_know(node: NodeProto, facts: ModelFacts) -> bool:
        return imported_opsets(facts.model.opset_import)[""] >= 9 and _dtype(node, facts) == "double"

    runtime = Limited({"Softplus": is_expanded_into_what_it_does_not_know}, {})
    found = measure(all_cases(["Softplus"]), runtime, Journal(None))
    target = read_runtime("device", as_toml(found, "device", "1.0")).find("1.0")
    assert target is not None
    text = "(DTYPE[3] x) => (DTYPE[3] y) { y = Softplus (x) }"
    assert objection(target, text.replace("DTYPE", "double"), 8) == ""
    assert objection(target, text.replace("DTYPE", "float"), 15) == ""
    assert "opset 9 or later" in objection(target, text.replace("DTYPE", "double"), 15)
    assert has_kernel("", "Softplus", 8, {"T": "double"}, target)


class WithoutTruthValuesAsInputs(Limited):
    """A runtime that computes with truth values, but takes no inputs of them."""

    def run(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray]) -> Answer:
        if any(value.dtype == bool for value in inputs.values()):
            return Answer(error="no such inputs")
        return super().run(model, inputs)


@pytest.mark.slow
def test_truth_values_are_tried_as_results_of_comparisons_too() -> None:
    found = measure(list(all_cases(["Not"])), WithoutTruthValuesAsInputs({}, {}), Journal(None))
    target = read_runtime("limited", as_toml(found, "Limited", "1.0")).targets[0]
    assert has_kernel("", "Not", 1, {"T": "bool"}, target)
    assert target.input_dtypes_refused == {"bool"}
    assert not objection(target, "(float[2] x) => (bool[2] y) { z = Greater (x, x) y = Not (z) }")


@pytest.mark.slow
def test_a_runtime_that_takes_inputs_of_all_dtypes_is_said_to_refuse_none(target: Target) -> None:
    assert not target.input_dtypes_refused


@pytest.mark.slow
def test_a_dtype_is_not_blamed_for_axes_that_have_to_be_constant() -> None:
    def takes_constant_axes(node: NodeProto, facts: ModelFacts) -> bool:
        return facts.graph.constant(node.input[1]) is None

    runtime = Limited({"Unsqueeze": takes_constant_axes}, {})
    found = measure([(key, those) for key, those in all_cases(["Unsqueeze"]) if key[2] == 13], runtime, Journal(None))
    target = read_runtime("limited", as_toml(found, "Limited", "1.0")).targets[0]
    assert has_kernel("", "Unsqueeze", 13, {"T": "int64"}, target)
    computed = "(int64[2] x, int64[1] a) => (int64[b,c] y) { y = Unsqueeze (x, a) }"
    assert objection(target, computed)


class FailsNowAndThen(Limited):
    """A runtime that gives other values for one of four inputs, whatever the model says."""

    def run(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray]) -> Answer:
        answer = super().run(model, inputs)
        is_measured = len(inputs) > 1 or any(value.size > 3 for value in inputs.values())
        if is_measured and not answer.error and any(zlib.crc32(one.tobytes()) % 4 == 0 for one in inputs.values()):
            return Answer({name: value + 1 for name, value in answer.outputs.items()})
        return answer


@pytest.mark.slow
def test_operators_that_fail_for_no_reason_that_is_told_are_named() -> None:
    chosen = [(key, those) for key, those in all_cases(["Softmax"]) if key[2] == 13]
    found = measure(chosen, FailsNowAndThen({}, {}), Journal(None))
    quirks = read_runtime("limited", as_toml(found, "Limited", "1.0")).targets[0].quirks
    assert [one.text.endswith("compute: Softmax.") for one in quirks] == [True]


@pytest.mark.slow
def test_operators_all_of_whose_failures_are_told_are_not_named(target: Target) -> None:
    assert not target.quirks


def _gives_what_no_node_computes(node: NodeProto, facts: ModelFacts) -> bool:
    return any(info.name not in facts.graph.index.positions for info in facts.model.graph.output)


@pytest.mark.parametrize("cut", [False, True], ids=["all of them", "none that no node computes"])
def test_outputs_that_no_node_computes_are_asked_for(cut: bool, cases: list[tuple[Key, list]]) -> None:
    runtime = Limited({"Neg": _gives_what_no_node_computes} if cut else {}, {})
    found = measure([one for one in cases if one[0][1] == "Neg"], runtime, Journal(None))
    target = read_runtime("limited", as_toml(found, "Limited", "1.0")).targets[0]
    assert target.takes_inputs_as_outputs is not cut
    assert target.takes_initializers_as_outputs is not cut


@pytest.mark.parametrize(
    ("limit", "takes"),
    [(lambda node, facts: True, True), (lambda node, facts: bool(facts.model.graph.initializer), False)],
    ids=["without Scan", "without initializers in Scan"],
)
def test_what_subgraphs_may_read_is_not_told_by_a_runtime_without_them(
    limit: Limit, takes: bool, cases: list[tuple[Key, list]]
) -> None:
    runtime = Limited({"Scan": limit}, {})
    found = measure([one for one in cases if one[0][1] == "Neg"], runtime, Journal(None))
    target = read_runtime("limited", as_toml(found, "Limited", "1.0")).targets[0]
    assert target.takes_captured_initializers is takes
    assert target.takes_unnamed_dimensions


@pytest.mark.slow
def test_an_interrupted_measurement_goes_on(tmp_path: Path, cases: list[tuple[Key, list]]) -> None:
    journal, chosen = tmp_path / "answers.jsonl", [one for one in cases if one[0][1] == "Neg"]
    first = Limited(LIMITS, WRONG)
    whole = measure(chosen, first, Journal(journal))
    lines = journal.read_text().splitlines()
    journal.write_text("\n".join(lines[:-2]) + "\n" + lines[-1][:10])
    second = Limited(LIMITS, WRONG)
    assert as_toml(measure(chosen, second, Journal(journal)), "x", "1") == as_toml(whole, "x", "1")
    assert second.models < first.models


def test_features_are_what_forms_state() -> None:
    model = model_of(
        """(float[N,3,4,4] x) => (float[N,3,a,b] y) {
            y = MaxPool <kernel_shape = [2, 2], pads = [0, 0, 1, 1], strides = [1, 1]> (x)
        }""",
        12,
    )
    node, facts = model.graph.node[0], ModelFacts(model).graph
    found = {(one.key, one.name, one.value) for one in features_of(node, definition("", "MaxPool", 12), facts)[0]}
    assert {
        ("uneven", "pads", None),
        ("given", "strides", None),
        ("attributes", "ceil_mode", 0),
        ("ranks", "X", 4),
        ("open_inputs", "X", None),
        ("absent", "dilations", None),
    } <= found


RUNNER = """
import json, sys, numpy, onnx
from opsetlift.evaluator import Evaluator

def answer(model, inputs, outputs):
    loaded = onnx.load(model)
    if any(node.op_type == "Abs" for node in loaded.graph.node):
        {on_abs}
    with open(outputs, "wb") as file:
        numpy.savez(file, **Evaluator(loaded).run(dict(numpy.load(inputs))))

if len(sys.argv) > 1:
    answer(*sys.argv[1:])
    sys.exit()
for line in sys.stdin:
    print("a line that a library prints")
    try:
        answer(**json.loads(line))
        print(json.dumps({{"ok": True}}), flush=True)
    except ValueError as error:
        print(json.dumps({{"error": str(error)}}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_persistent", [False, True])
@pytest.mark.parametrize(
    ("on_abs", "words"),
    [
        ("raise ValueError('no Abs')", "no Abs"),
        ("import os; os.abort()", "signal 6"),
        ("import time; time.sleep(60)", "no answer after"),
    ],
)
def test_a_runner_that_fails_crashes_or_hangs_answers(
    tmp_path: Path, on_abs: str, words: str, is_persistent: bool
) -> None:
    script = tmp_path / "runner.py"
    script.write_text(RUNNER.format(on_abs=on_abs))
    inputs = {"x": numpy.array([-1, 2], numpy.float32)}
    with Runner(
        f"{sys.executable} {script}", is_persistent=is_persistent, timeout=8 if "sleep" in on_abs else 60
    ) as runner:
        refused = runner.run(model_of("(float[2] x) => (float[2] y) { y = Abs (x) }", 13), inputs)
        assert words in refused.error
        right = runner.run(model_of("(float[2] x) => (float[2] y) { y = Neg (x) }", 13), inputs)
        assert right.error == ""
        assert right.outputs["y"].tolist() == [1, -2]


def test_a_case_that_ends_the_process_costs_one_start_more_and_not_one_at_each_halving() -> None:
    class Crashing:
        starts = 0

        def run(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray]) -> Answer:
            if any(value.dtype == numpy.int8 for value in inputs.values()):
                self.starts += 1
                return Answer(error="ended by signal 11", needs_restart=True)
            return Answer(Evaluator(model, strict=False).run(inputs))

    cases = [case for _, those in all_cases(["Neg"]) for case in those][:32]
    crashes = sum(case.dtypes.get("T") == "int8" for case in cases)
    assert crashes > 0
    runner = Crashing()
    found = {case.identity: said for case, said in verdicts(cases, runner)}
    packs = len({(case.opset, case.model.ir_version) for case in cases})
    assert crashes < runner.starts <= crashes + packs
    assert sum(bool(said) for said in found.values()) == crashes


def test_a_command_that_does_not_exist_is_said_in_one_sentence(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["measure", "--runner", "no-such-command", "--version", "1.0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "no-such-command cannot be started" in said.err
    assert "Traceback" not in said.err


@pytest.mark.slow
def test_a_command_that_runs_nothing_is_said_in_one_sentence(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["measure", "--runner", f"{sys.executable} -c 1/0", "--name", "x", "--version", "1.0"]) == 1
    assert "it runs no model at any opset: ZeroDivisionError" in capsys.readouterr().err


def test_a_runner_is_needed() -> None:
    with pytest.raises(RunnerFault, match="empty command"):
        Runner("  ")


def test_profiles_of_releases_are_merged_and_say_nothing_of_other_releases() -> None:
    known = {"Neg-6": {"1.0": ["T: float"], "1.1": ["any"]}, "Abs-6": {"1.0": ["any"], "1.1": []}}
    profiles = {"1.1": {"kernels": {"operators": {"Neg-6": ["T: float int32"]}}, "form": [{"operator": "Neg"}]}}
    found = merged_kernels(known, profiles, ["1.0", "1.1", "1.2"])
    assert found["Neg-6"] == {"1.0": ["T: float"], "1.1": ["T: float int32"], "1.2": ["any"]}
    assert found["Abs-6"] == known["Abs-6"], "which the new profile did not try"
    forms = [{"operator": "Neg", "text": "a", "versions": ["1.0", "1.1"]}]
    merged = merged_forms(forms, {"1.1": {"form": [{"operator": "Neg", "text": "b", "source": "measured"}]}})
    assert merged == [
        {"operator": "Neg", "text": "a", "versions": ["1.0"]},
        {"operator": "Neg", "text": "b", "versions": ["1.1"]},
    ]


@pytest.mark.parametrize("content", [b"\x08\x0a\xbc\x00", b"5\n", b"notes\n", b'{"a": 1}\n'])
def test_a_file_that_is_no_journal_stays_as_it_is(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.write_bytes(content)
    assert main(["measure", "--runner", "true", "--journal", str(other)]) == 1
    assert "does not belong to a journal" in capsys.readouterr().err
    assert other.read_bytes() == content


def test_a_device_is_no_journal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--runner", "true", "--journal", "/dev/zero"]) == 1
    assert "not a regular file" in capsys.readouterr().err


def test_a_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_bytes(b'["a", "yes"]\n["b", "n["c", "yes"]\n["')
    assert len(Journal(journal)) == 1


def test_a_runner_with_an_open_quote_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["measure", "--runner", "'x"]) == 1
    assert "cannot be split into words" in capsys.readouterr().err


class WithoutDomainsOfOthers(Limited):
    """A runtime that has Gelu and quantization to 8 bits beside ONNX's operators."""

    def run(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray]) -> Answer:
        (node,) = model.graph.node
        if node.op_type == "Gelu":
            return Answer(
                {"y": Evaluator(model_of("(float[2,4] x) => (float[2,4] y) { y = Gelu (x) }", 20)).run(inputs)["y"]}
            )
        if node.op_type != "QuantizeLinear" or model.graph.initializer[1].data_type in (4, 5):
            return Answer(error="not implemented")
        model.opset_import[0].version = 21
        node.domain = ""
        return Answer(Evaluator(model).run(inputs))


class LosesOutputs(Limited):
    """A runtime without the outputs of nodes with several, and without those of DequantizeLinear that Gather reads."""

    def run(self, model: ModelProto, inputs: Mapping[str, numpy.ndarray]) -> Answer:
        answer = super().run(model, inputs)
        read = {name for node in model.graph.node for name in node.input}
        several = [name for node in model.graph.node if len(node.output) > 1 for name in node.output]
        dequantized = [node.output[0] for node in model.graph.node if node.op_type == "DequantizeLinear"]
        lost = {*several, *(name for name in dequantized if name in read and self._gathers(model, name))}
        return replace(answer, outputs={name: one for name, one in answer.outputs.items() if name not in lost})

    def _gathers(self, model: ModelProto, name: str) -> bool:
        return any(node.op_type == "Gather" and name in node.input for node in model.graph.node)


def test_outputs_that_are_lost_are_kept_apart(cases: list[tuple[Key, list]]) -> None:
    found = measure(cases[:1], LosesOutputs({}, {}), Journal(None))
    target = read_runtime("device", as_toml(found, "device", "1.0")).find("1.0")
    assert target is not None
    assert not target.takes_outputs_beside_others
    assert target.outputs_lost_where_read == {"DequantizeLinear"}


def test_operators_of_other_domains_are_asked_for_by_dtype() -> None:
    found = set(lacking(WithoutDomainsOfOthers({}, {}).run, 11, 6))
    assert {"QuantizeLinear of int16", "QuantizeLinear of uint16", "DequantizeLinear", "QLinearAdd"} <= found
    assert not {"Gelu", "QuantizeLinear", "QuantizeLinear of uint8"} & found


def test_operators_of_other_domains_that_are_lacking_are_written_down(profile: Profile) -> None:
    lacking_all = replace(profile, contributed_lacking=["Gelu", "QuantizeLinear of int16"])
    target = read_runtime("device", as_toml(lacking_all, "device", "1.0")).find("1.0")
    assert target is not None
    assert {"com.microsoft.Gelu", "com.microsoft.QuantizeLinear of int16"} <= target.operators_lacking


def test_poolings_whose_last_window_starts_in_the_pads_become_a_form() -> None:
    def counts_late_windows(node: NodeProto, facts: ModelFacts) -> bool:
        return has_late_windows(node, facts.graph.shape(node.input[0]))

    found = measure(all_cases(["MaxPool"]), Limited({}, {"MaxPool": counts_late_windows}), Journal(None))
    target = read_runtime("device", as_toml(found, "device", "1.0")).find("1.0")
    assert target is not None
    text = """(float[1,1,SIZE,SIZE] x) => (float[1,1,A,B] y) {
        y = MaxPool <kernel_shape = [3, 3], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1> (x)
    }"""
    assert "starts in the end pads" in objection(target, text.replace("SIZE", "5"), 12)
    assert objection(target, text.replace("SIZE", "6"), 12) == ""


def test_operators_of_traditional_models_are_tried_in_each_dtype() -> None:
    runtime = Limited({"SVMClassifier": lambda node, facts: _dtype(node, facts) == "double"}, {})
    found = measure(all_cases(["SVMClassifier"]), runtime, Journal(None))
    target = read_runtime("device", as_toml(found, "device", "1.0")).find("1.0")
    assert target is not None
    assert [has_kernel("ai.onnx.ml", "SVMClassifier", 1, {"T1": dtype}, target) for dtype in ("float", "double")] == [
        True,
        False,
    ]
