"""Our own faults: they are called that, name the rule and the node, and do not hide what else is in the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
import onnx
import pytest
from onnx import AttributeProto, ModelProto

from opsetlift import ConversionRefused, InternalError, Why, convert, normalize, reach
from opsetlift.cli import main
from opsetlift.evaluator import Evaluator
from opsetlift.evaluator.errors import ComputationFailed
from opsetlift.facts import ModelFacts
from opsetlift.facts.inference import inferred_types
from opsetlift.model.files import ModelFileError
from opsetlift.normalizer import Pass, PassFailed
from opsetlift.normalizer.undoing import Fault as PassFault
from opsetlift.rulebook.book import RuleBook
from opsetlift.rulebook.rule import Rule, Step, refused, unchanged
from opsetlift.rulebook.site import Site
from opsetlift.specification.history import Transition
from opsetlift.support.internal_error import Fault
from testing.conversion import model as model_of

TEXT = """<ir_version: 8, opset_import: ["": 13]> agraph (float[2,3] x, int64[1] k) => (float[2,1] y, float[2,3] z) {
    [smallest] y = ReduceMin <axes = [1]> (x)
    [sums] z = CumSum (x, k)
}"""
IN_A_BRANCH = """<ir_version: 8, opset_import: ["": 13]> agraph (float[2,3] x, bool c) => (float[2,1] y) {
    [choice] y = If (c) <
        then_branch = g1 () => (float[2,1] a) { [inner] a = ReduceMin <axes = [1]> (x) },
        else_branch = g2 () => (float[2,1] b) { [other] b = ReduceMin <axes = [1]> (x) }
    >
}"""


def raises(error: BaseException) -> Callable[[Site], None]:
    def axes_are_forgotten(site: Site) -> None:
        raise error

    return axes_are_forgotten


def book(rule: Callable[[Site], None] | Rule, *others: Step, name: str = "opsetlift_rules.made_up") -> RuleBook:
    module = ModuleType(name)
    module.STEPS = [  # type: ignore[attr-defined]
        Step("ReduceMin", 13, 18, up=rule, down=unchanged),
        Step("ReduceMin", 11, 12, up=unchanged, down=refused(Why.NO_EQUIVALENT, "it is cold there")),
        *others,
    ]
    return RuleBook([module])


def failed(text: str, rule_book: RuleBook, to: int = 18, **options: Any) -> InternalError:
    with pytest.raises(InternalError) as caught:
        convert(model_of(text), to=to, rule_book=rule_book, **options)
    return caught.value


@pytest.mark.parametrize(
    "error",
    [KeyError("axes"), IndexError("out of range"), AttributeError("x"), TypeError("y"), ValueError("z"), OSError("w")],
    ids=lambda error: type(error).__name__,
)
def test_an_error_in_a_rule_is_our_fault(error: Exception) -> None:
    found = failed(TEXT, book(raises(error)))
    (fault,) = found.faults
    assert (fault.operator, fault.node, fault.path, fault.transition) == (
        "ReduceMin",
        "smallest",
        "graph",
        "ReduceMin 13→18",
    )
    assert fault.package == "OpsetLift"
    assert found.__cause__ is fault.error is error
    for word in ("'axes are forgotten' of opsetlift_rules.made_up", "'smallest' in graph", type(error).__name__):
        assert word in str(found)


def test_every_failure_and_every_refusal_is_reported() -> None:
    refusing = Step("CumSum", 11, 14, up=refused(Why.NO_EQUIVALENT, "no sums today"), down=unchanged)
    found = failed(TEXT, book(raises(KeyError("axes")), refusing))
    assert [refusal.node for refusal in found.refusals] == ["sums"]
    branches = failed(IN_A_BRANCH, book(raises(KeyError("axes"))))
    assert [fault.path for fault in branches.faults] == ["graph/0:choice.then_branch", "graph/0:choice.else_branch"]


@pytest.mark.slow
def test_rules_of_others_are_named_by_their_package() -> None:
    # pytest stands for a package that registers rules.
    found = failed(TEXT, book(raises(KeyError("axes")), name="pytest"))
    assert found.faults[0].package == "pytest"
    assert Fault(KeyError(), "", "no_such_module.rules").package == "no_such_module"


def test_errors_about_files_and_memory_are_no_faults() -> None:
    with pytest.raises(MemoryError):
        convert(model_of(TEXT), to=18, rule_book=book(raises(MemoryError())))


EINSUM = 'c = Einsum <equation = "bij,bjk->bik"> (a, b)'
IN_EINSUM = "'b' stands for 3 and for 2"
CONTRADICTIONS = {
    "Einsum": (
        13,
        11,
        "(float[3,3,4] a, float[2,4,5] b) => (float[I,J,K] c)",
        EINSUM,
        "",
        IN_EINSUM,
    ),
    "Einsum in a branch": (
        13,
        11,
        "(bool p, float[3,3,4] a, float[2,4,5] b, float[I,J,K] d) => (float[I,J,K] y)",
        f"y = If (p) <then_branch = t () => (float[I,J,K] c) {{ {EINSUM} }}, "
        "else_branch = e () => (float[I,J,K] s) { s = Identity (d) }>",
        "",
        IN_EINSUM,
    ),
    "Einsum in a function": (
        13,
        11,
        "(float[3,3,4] x, float[2,4,5] w) => (float[I,J,K] y)",
        "y = own.product (x, w)",
        f'<domain: "own", opset_import: ["": 13]> product (a, b) => (c) {{ {EINSUM} }}',
        IN_EINSUM,
    ),
    "LayerNormalization": (
        17,
        16,
        "(float[3,4,5] a, float[2] b) => (float[I,J,K] c)",
        "c = LayerNormalization (a, b)",
        "",
        "Scale [2] must be unidirectional broadcastable to X",
    ),
    "GroupNormalization": (
        21,
        17,
        "(float[1,4,5,5] a, float[3] b) => (float[I,J,K,L] c)",
        "c = GroupNormalization <num_groups = 3> (a, b, b)",
        "",
        "num_groups 3 must be a divisor of the number of channels",
    ),
}


@pytest.mark.parametrize("case", CONTRADICTIONS)
def test_sizes_that_contradict_each_other_are_the_fault_of_the_model_although_onnx_accepts_it(case: str) -> None:
    """onnx infers no contradiction from such a node, and finds one in what takes its place."""
    opset, target, signature, node, function, objection = CONTRADICTIONS[case]
    imports = f'["": {opset}, "own": 1]' if function else f'["": {opset}]'
    model = onnx.parser.parse_model(f"<ir_version: 8, opset_import: {imports}> g {signature} {{ {node} }} {function}")
    onnx.checker.check_model(model, full_check=True)
    with pytest.raises(ConversionRefused) as caught:
        convert(model, to=target)
    (refusal,) = caught.value.refusals
    assert refusal.why is Why.INVALID_MODEL
    assert (refusal.operator, refusal.node) == (case.split()[0], "c")
    assert objection in refusal.sentence


def test_reach_does_not_call_it_a_refusal() -> None:
    with pytest.raises(InternalError):
        reach(model_of(TEXT), targets=[], rule_book=book(raises(KeyError("axes"))))


class TestMalformedNodes:
    """What rules read is checked where they read it, so that the model gets the blame, and a sentence."""

    def malformed(self, change: Callable[[ModelProto], object], *words: str, text: str = TEXT, to: int = 18) -> None:
        model = model_of(text)
        change(model)
        with pytest.raises(ConversionRefused) as caught:
            convert(model, to=to, prove=False)
        (refusal,) = caught.value.refusals
        assert refusal.why is Why.INVALID_MODEL
        for word in words:
            assert word in refusal.sentence, refusal.sentence

    def test_an_attribute_of_another_kind(self) -> None:
        def change(model: ModelProto) -> None:
            (attribute,) = model.graph.node[0].attribute
            attribute.CopyFrom(onnx.helper.make_attribute("axes", 1.5))

        self.malformed(change, "'axes' is FLOAT", "ReduceMin-13 takes INTS")

    def test_a_required_attribute_that_is_missing(self) -> None:
        text = """<ir_version: 8, opset_import: ["": 8]> agraph (float[1,1,2,2] x) => (float[1,1,4,4] y) {
            [larger] y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)
        }"""
        self.malformed(
            lambda model: model.graph.node[0].attribute.pop(), "'scales' is missing", "Upsample-7", text=text, to=9
        )

    def test_what_only_inference_finds(self) -> None:
        """An axis outside the range is no matter of schemas."""
        text = """<ir_version: 8, opset_import: ["": 12]> agraph (float[2,3] x) => (float[N,M] y) {
            [soft] y = Softmax <axis = 7> (x)
        }"""
        self.malformed(lambda model: None, "axis", text=text, to=13)


class TestTheCommandLine:
    @pytest.fixture
    def workplace(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        onnx.save(model_of(TEXT), "in.onnx")
        refusing = Step("CumSum", 11, 14, up=refused(Why.NO_EQUIVALENT, "no sums today"), down=unchanged)
        faulty = book(raises(KeyError("axes")), refusing)
        monkeypatch.setattr(import_module("opsetlift.pipeline.stages"), "default_rule_book", lambda: faulty)
        return tmp_path

    def test_a_fault_has_a_status_of_its_own_and_says_what_to_send(
        self, workplace: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 70
        told = capsys.readouterr()
        assert told.out == ""
        paragraph, besides, refusal = told.err.splitlines()
        for word in ("axes are forgotten", "'smallest'", "KeyError", "--version", "OPSETLIFT_TRACEBACK=1", "weights"):
            assert word in paragraph
        assert "Traceback" not in told.err
        assert "cannot be converted" in besides
        assert "no sums today" in refusal
        assert [path.name for path in workplace.iterdir()] == ["in.onnx"]

    def test_the_traceback_comes_when_it_is_asked_for(
        self, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPSETLIFT_TRACEBACK", "1")
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 70
        assert "in axes_are_forgotten" in capsys.readouterr().err

    def test_json_says_the_same(self, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--json"]) == 70
        document = json.loads(capsys.readouterr().out)
        assert document["status"] == "internal error"
        assert [fault["node"] for fault in document["faults"]] == ["smallest"]
        assert [refusal["node"] for refusal in document["refusals"]] == ["sums"]

    @pytest.mark.parametrize("command", ["convert", "normalize", "prove", "reach", "explain"])
    def test_whatever_fails_unexpectedly_is_a_fault(
        self, command: str, workplace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*arguments: object, **options: object) -> None:
            raise ZeroDivisionError("of nothing")

        targets = {
            "convert": ("opsetlift.cli.conversion", "run", ["in.onnx", "out.onnx", "--to", "18"]),
            "normalize": ("opsetlift.normalizer", "chosen_passes", ["in.onnx", "out.onnx"]),
            "prove": ("opsetlift.cli.proving", "opened", ["in.onnx", "in.onnx"]),
            "reach": ("opsetlift.cli.reaching", "reach_of", ["in.onnx"]),
            "explain": ("opsetlift.cli.pages", "explain_operator", ["Add"]),
        }
        module, name, arguments = targets[command]
        monkeypatch.setattr(import_module(module), name, fail)
        assert main([command, *arguments]) == 70
        (paragraph,) = capsys.readouterr().err.splitlines()
        assert "ZeroDivisionError: of nothing" in paragraph
        assert "report" in paragraph

    def test_a_malformed_node_is_unusable_input(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        model = model_of(TEXT)
        model.graph.node[0].attribute[0].CopyFrom(AttributeProto(name="axes", type=AttributeProto.FLOAT, f=1))
        onnx.save(model, "in.onnx")
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18"]) == 1
        (sentence,) = capsys.readouterr().err.splitlines()
        assert "the attribute 'axes' is FLOAT" in sentence


def test_the_transition_of_a_rule_tells_its_module() -> None:
    rule_book = book(raises(KeyError("axes")))
    transition = Transition("", "ReduceMin", 13, 18, True)
    rule = rule_book.rule(transition)
    assert rule is not None
    assert rule_book.module_of(transition, rule) == "opsetlift_rules.made_up"


class TestTheRestOfThePackage:
    """Kernels and passes of our own are named; what is somebody else's stays theirs."""

    def run_with(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        def kernel(call: object, *inputs: object) -> None:
            raise error

        monkeypatch.setattr(import_module("opsetlift.evaluator.prepare"), "find_kernel", lambda *key: kernel)
        Evaluator(model_of(TEXT)).run({"x": numpy.zeros((2, 3), numpy.float32), "k": numpy.array([0])})

    @pytest.mark.parametrize("error", [KeyError("mode"), AttributeError("x"), AssertionError(), TypeError()], ids=repr)
    def test_a_kernel_that_fails_is_named(self, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(InternalError, match="the kernel of ReduceMin-13 failed at ReduceMin 'smallest' in graph"):
            self.run_with(error, monkeypatch)

    @pytest.mark.parametrize("error", [ValueError("shapes"), IndexError("axis"), ZeroDivisionError("by 0")], ids=repr)
    def test_values_that_do_not_fit_together_are_no_fault(
        self, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(ComputationFailed):
            self.run_with(error, monkeypatch)

    def test_a_pass_of_our_own_that_fails_is_undone_and_one_of_others_fails_loudly(self) -> None:
        def rewrite(graph: object, context: object) -> None:
            raise KeyError("what")

        one = Pass("made-up", rewrite, "It fails.")
        with pytest.raises(PassFailed, match="pass made-up: failed with KeyError"):
            normalize(model_of(TEXT), [one])
        rewrite.__module__ = "opsetlift.normalizer.passes.made_up"
        (undone,) = normalize(model_of(TEXT), [one]).report.undone
        assert (undone.name, undone.fault) == ("made-up", PassFault.FAILED)

    def test_inference_does_not_hide_our_errors(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*arguments: object) -> None:
            raise KeyError("a bug of ours")

        monkeypatch.setattr(import_module("opsetlift.facts.inference"), "with_axes_inferred_rightly", fail)
        node = model_of(TEXT).graph.node[0]
        facts = ModelFacts(model_of(TEXT))
        with pytest.raises(KeyError, match="a bug of ours"):
            inferred_types(facts, node, facts.graph.imports, facts.graph.type_of)


NEVER_RUN = {
    "results of a branch": (
        """<ir_version: 7, opset_import: ["": 12]> g (float[2] x, bool c) => (float[2] y, float[2] z) {
            y, z = If (c) <then_branch = t () => (float[2] a) { a = Abs (x) },
                else_branch = e () => (float[2] b) { b = Neg (x) }>
        }""",
        6,
        "the subgraph must have 2 outputs, not 1",
    ),
    "sizes that inference only sees later": (
        """<ir_version: 4, opset_import: ["": 9]> g (float[1,4] x) => (float[1,2] y) {
            a = Slice <axes = [1], ends = [-2], starts = [-1]> (x)  b = Slice <axes = [1], ends = [4], starts = [2]> (x)
            y = Add (a, b)
        }""",
        11,
        "cannot be broadcast to one shape",
    ),
}


@pytest.mark.parametrize("case", NEVER_RUN)
def test_what_nothing_can_run_is_the_fault_of_the_model_where_a_rule_fails_on_it(case: str) -> None:
    text, to, words = NEVER_RUN[case]
    with pytest.raises(ConversionRefused) as raised:
        convert(onnx.parser.parse_model(text), to=to)
    (refusal,) = raised.value.refusals
    assert refusal.why is Why.INVALID_MODEL
    assert words in refusal.sentence


def test_an_attribute_that_names_no_dtype_leaves_the_type_unknown() -> None:
    text = """<ir_version: 7, opset_import: ["": 12]> g (float[2] x) => (float[2] y) {
        s = SequenceEmpty <dtype = -1> ()  t = SequenceInsert (s, x)  k = Constant <value = int64 {0}> ()
        y = SequenceAt (t, k)
    }"""
    model = onnx.parser.parse_model(text)
    assert ModelFacts(model).graph.type_string("s") is None
    with pytest.raises(ModelFileError, match="Invalid tensor data type -1"):
        convert(model, to=13)


def test_an_output_that_the_operator_does_not_have_has_no_dtype() -> None:
    text = """<ir_version: 10, opset_import: ["": 22]> g (float[1,1,4,4] x) => (float[1,1,2,2] y) {
        y, more = LpPool <dilations = [2, 2], kernel_shape = [2, 2]> (x)
    }"""
    result = convert(onnx.parser.parse_model(text), to=4)
    assert "1 unproven" in str(result)
