"""ONNX's own tests: reproduced at their own opset, and at every other judged and computed by the version in force."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy
import pytest
from onnx import ModelProto

from opsetlift.evaluator import EvaluationError, Evaluator, NotExecutable, Rejected
from testing.cases import Case, folder_cases, light_cases, node_cases, read_light_case
from testing.comparison import mismatch
from tests.evaluator.restamped import Restamped, restamped

NOT_EXECUTABLE = {
    "test_gradient_of_add": "Gradient differentiates the graph around it",
    "test_gradient_of_add_and_mul": "Gradient differentiates the graph around it",
}
"""Cases whose outputs are not computed -> why."""

RANDOM = re.compile(r"test_bernoulli")
"""Cases whose expected outputs are numbers that numpy happened to draw."""

ILLEGAL = {
    "test_operator_add_size1_broadcast": "Add-6: [2, 1] is no contiguous part of [2, 3]",
    "test_operator_add_size1_singleton_broadcast": "Add-6: [1, 3] is no contiguous part of [2, 3]",
    "test_log_softmax_lastdim": "LogSoftmax-1 has no negative axes",
    "test_GLU": "Split-2 has no negative axes",
}
"""Cases that old exporters wrote against the text of their opset; strict=False takes them."""

ROUNDED_ONCE = {"test_attention_4d_causal_fp16_expanded": 2**-9}
"""Cases that expect each step of Softmax rounded to float16; it is rounded once -> two units in the last place."""


def by_operator(cases: tuple[Case, ...]) -> Mapping[str, list[Case]]:
    groups: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        groups[case.operator].append(case)
    return groups


NODE_CASES = by_operator(node_cases())
ALL_CASES = by_operator((*node_cases(), *folder_cases()))


def failure(case: Case, *, strict: bool = True) -> str | None:
    """What is wrong with the outputs for the case's data sets."""
    try:
        evaluator = Evaluator(case.model, strict=strict)
        for index in range(len(case.data_sets)):
            results = list(evaluator.run(case.inputs(index)).values())
            rtol = ROUNDED_ONCE.get(case.name, case.rtol)
            wrong = mismatch(results, case.expected(index), rtol=rtol, atol=case.atol)
            if wrong:
                return wrong
    except EvaluationError as error:
        return f"{type(error).__name__}: {error}"
    return None


EQUAL_CLASSES = "light_squeezenet"
"""Its logits are about 1e10, where neighbours are 1024 apart: only a BLAS that sums every column of a product in one
order leaves them equal to the last bit, and Softmax anything but one class."""


def is_excepted(case: Case) -> bool:
    return case.name in {*NOT_EXECUTABLE, *ILLEGAL} or RANDOM.match(case.name) is not None


@pytest.mark.slow
@pytest.mark.parametrize("operator", sorted(ALL_CASES))
def test_onnx_s_expected_outputs_are_reproduced(operator: str) -> None:
    cases = [case for case in ALL_CASES[operator] if not is_excepted(case)]
    assert {case.name: wrong for case in cases if (wrong := failure(case))} == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(light_cases().keys() - {EQUAL_CLASSES}))
def test_the_outputs_of_networks_are_reproduced(name: str) -> None:
    assert failure(read_light_case(light_cases()[name])) is None


def test_a_network_whose_classes_have_equal_weights_finds_them_equal() -> None:
    case = read_light_case(light_cases()[EQUAL_CLASSES])
    softmax = case.model.graph.node[-1]
    assert softmax.op_type == "Softmax"
    logits = Evaluator(case.model).run(case.inputs(), [softmax.input[0]])[softmax.input[0]]
    (expected,) = case.expected()
    assert numpy.ptp(expected) == 0
    assert numpy.ptp(logits) <= 1e-5 * numpy.abs(logits).max()


def test_at_most_ten_legal_cases_are_not_reproduced() -> None:
    assert len(NOT_EXECUTABLE) + sum(bool(RANDOM.match(case.name)) for case in node_cases()) <= 10


@pytest.mark.parametrize("name", NOT_EXECUTABLE)
def test_what_is_not_executable_says_so(name: str) -> None:
    (case,) = (case for case in (*node_cases(), *folder_cases()) if case.name == name)
    with pytest.raises(NotExecutable):
        Evaluator(case.model).run(case.inputs())


def test_random_cases_draw_legal_numbers() -> None:
    cases = [case for case in node_cases() if RANDOM.match(case.name)]
    assert cases
    for case in cases:
        (result,) = Evaluator(case.model).run(case.inputs()).values()
        (expected,) = case.expected()
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert set(numpy.unique(result)) <= {0, 1}


@pytest.mark.parametrize("name", sorted(ILLEGAL))
def test_what_breaks_the_text_runs_only_where_not_strict(name: str) -> None:
    (case,) = (case for case in folder_cases() if case.name == name)
    assert "Rejected" in (failure(case) or "")
    assert failure(case, strict=False) is None


# At other opsets

FORBIDDEN_BY_TEXT = {
    "no meaning for negative": """ArgMax-1 ArgMin-1 Compress-9 Concat-1 Concat-4 Flatten-1 Flatten-9 Gather-1 Hardmax-1
        LogSoftmax-1 OneHot-9 Slice-10 Softmax-1""",
    "without broadcast=1 both shapes must be equal": """Add-1 Add-6 And-1 Div-1 Div-6 Equal-1 Greater-1 Less-1 Mul-1
        Mul-6 Or-1 Pow-1 Sub-1 Sub-6 Xor-1""",
    "without broadcast, C must have the shape": "Gemm-1 Gemm-6",
    "is neither [1] nor the channels": "PRelu-1 PRelu-6",
    "cannot be broadcast to the input's": "PRelu-7 PRelu-9 PRelu-16",
    "axes must be a 1-D tensor": "Unsqueeze-23 Unsqueeze-24 Unsqueeze-25",
    "this version has bilinear, nearest, bicubic": "GridSample-16",
    "this version takes 2": "GridSample-16",
    "this version has constant, reflect, edge": "Pad-11 Pad-13 Pad-18",
    "'half_pixel_symmetric'; this version has": "Resize-13 Resize-18",
    "this version has none, add, mul": "ScatterElements-16 ScatterND-16",
    "floating-point inputs need fmod=1": "Mod-10 Mod-13",
    "scale must be a scalar": "DequantizeLinear-10 QuantizeLinear-10",
    "either the input `split` or the attribute `num_outputs`": "Split-18",
    "is a list, none of whose names may be empty": """Scan-9 Scan-11 Scan-16 Scan-19 Scan-21 Scan-23 Scan-24
        Scan-25""",
}
"""Part of a clause -> the definitions whose text has it, of models that their schemas let pass."""

OTHER_MEANING = {
    "the input is coerced to two dimensions": "Hardmax-1 Hardmax-11 LogSoftmax-1 LogSoftmax-11 Softmax-1 Softmax-11",
    "is_test=0 is the default, and means training": "BatchNormalization-6 Dropout-1 Dropout-6",
    "indices count no position from the end": "OneHot-9",
}
"""Why a node gives another result than at the opset that its test was written for -> the definitions in force."""

ONNXRUNTIME_DIFFERS = {
    "it masks by the least float, ONNX's tests by -inf": "Attention-24 Attention-25",
    "it places elements by the shape inferred without output_shape, ONNX's tests by output_shape": """MaxUnpool-9
        MaxUnpool-11""",
    "it counts negative indices from the end before version 11": "OneHot-9",
    "it rounds a fractional target length down, ONNX's tests do not": "Resize-13 Resize-18",
}
"""Why onnxruntime gives another result than the evaluator, which has the text or ONNX's tests on its side -> where."""

ONNXRUNTIME_AGREES_SINCE = {"Attention-25": (1, 32)}
"""Of these the definitions that a release of onnxruntime computes as the evaluator does -> that release."""


def pairs(table: Mapping[str, str]) -> set[tuple[str, str]]:
    return {(key, definition) for key, definitions in table.items() for definition in definitions.split()}


@pytest.fixture(scope="module")
def at_other_opsets() -> tuple[Restamped, ...]:
    """Thousands of models with their results, which take long to make and much memory: only for as long as needed."""
    cases = (case for cases in ALL_CASES.values() for case in cases if not is_excepted(case))
    return tuple(one for case in cases for one in restamped(case))


def accepted(models: tuple[Restamped, ...]) -> Iterator[Restamped]:
    return (one for one in models if isinstance(one.results, list))


@pytest.mark.slow
def test_restamped_models_are_accepted_where_schemas_allow_them_and_rejected_where_they_or_the_text_forbid_them(
    at_other_opsets: tuple[Restamped, ...],
) -> None:
    assert [(one.case.name, one.objection) for one in accepted(at_other_opsets) if one.objection] == []
    rejected = [one for one in at_other_opsets if isinstance(one.results, Rejected) and not one.objection]
    found = set()
    for one in rejected:
        error = one.results
        place = f"{error.place.operator}-{error.place.since_version}"
        found.add((next((part for part in FORBIDDEN_BY_TEXT if part in error.clause), error.clause), place))
    assert sorted(found) == sorted(pairs(FORBIDDEN_BY_TEXT))


def onnxruntime_outputs(onnxruntime: Any, one: Restamped) -> list[Any] | None:
    """What onnxruntime computes; None where it has no kernel or its Python interface not the dtype."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    model = ModelProto()
    model.CopyFrom(one.model)
    model.ir_version = min(model.ir_version, 10)
    feeds = {name: numpy.asarray(v) if isinstance(v, numpy.generic) else v for name, v in one.case.inputs().items()}
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        outputs: list[Any] = session.run(None, feeds)
    except Exception:  # one of dozens of kinds
        return None
    return outputs


@pytest.mark.slow
def test_restamped_nodes_agree_with_onnxruntime(
    at_other_opsets: tuple[Restamped, ...],
) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    from tests.evaluator.disagreements import release

    differing, compared = set(), 0
    for one in accepted(at_other_opsets):
        if len(one.model.graph.node) > 1 or "training_dropout" in one.case.name:
            continue
        # Its Python interface gives the dtypes that numpy lacks as integers.
        foreign = any(isinstance(value, numpy.ndarray) and value.dtype.isbuiltin != 1 for value in one.results)
        outputs = None if foreign else onnxruntime_outputs(onnxruntime, one)
        if outputs is not None:
            compared += 1
            wrong = mismatch(one.results, outputs, rtol=one.case.rtol, atol=max(one.case.atol, 1e-5))
            differing |= {one.definition} if wrong else set()
    assert compared > 1000
    corrected = {definition for definition, since in ONNXRUNTIME_AGREES_SINCE.items() if release() >= since}
    assert differing == {definition for _, definition in pairs(ONNXRUNTIME_DIFFERS)} - corrected


@pytest.mark.slow
def test_restamped_nodes_mean_what_their_version_means(
    at_other_opsets: tuple[Restamped, ...],
) -> None:
    compared = (one for one in accepted(at_other_opsets) if one.case.name not in ROUNDED_ONCE)
    differing = {one.definition for one in compared if one.difference(one.case.expected())}
    assert sorted(differing) == sorted(definition for _, definition in pairs(OTHER_MEANING))
