"""What the texts of single versions say of signals, losses, random numbers, optimizers and text, clause by clause."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

import numpy
import pytest
from onnx import TensorProto, helper

from opsetlift.evaluator import NotExecutable, run_node
from tests.evaluator.one_node import assert_gives, assert_rejected, floats, ints, node, scalar, strings
from tests.evaluator.onnxruntime_judge import evaluate


def random(*shape: int, dtype: str = "float32") -> Any:
    return numpy.random.default_rng(0).standard_normal(shape).astype(dtype)


# Signals


def transform_by_definition(x: Any, length: int, sign: int) -> Any:
    """Of the last axis, as the text of DFT-20 writes it."""
    x = numpy.pad(x[..., :length], [(0, 0)] * (x.ndim - 1) + [(0, max(0, length - x.shape[-1]))])
    factors = numpy.exp(sign * 2j * numpy.pi * numpy.outer(numpy.arange(length), numpy.arange(length)) / length)
    return x @ factors


def pairs(values: Any) -> Any:
    return numpy.stack([values.real, values.imag], axis=-1).astype(numpy.float32)


@pytest.mark.parametrize("length", [None, 3, 7])
def test_dft_pads_or_cuts_the_signal_to_its_length(length: int | None) -> None:
    x = random(2, 5, 2)
    given = [] if length is None else [ints(length).reshape(())]
    expected = pairs(transform_by_definition(x[..., 0] + 1j * x[..., 1], length or 5, -1))
    assert_gives(node("DFT", 17, x, *given), expected, rtol=1e-4)
    inverse = pairs(transform_by_definition(x[..., 0] + 1j * x[..., 1], length or 5, 1) / (length or 5))
    assert_gives(node("DFT", 17, x, *given, inverse=1), inverse, rtol=1e-4)


def test_a_one_sided_spectrum_is_half_and_its_inverse_is_real() -> None:
    x = random(1, 6, 1)
    (spectrum,) = evaluate(node("DFT", 20, x, onesided=1))
    assert_gives(node("DFT", 17, x, onesided=1), spectrum)
    full = pairs(transform_by_definition(x[..., 0], 6, -1))
    numpy.testing.assert_allclose(spectrum, full[:, :4], rtol=1e-4, atol=1e-5)
    assert_gives(node("DFT", 20, spectrum, onesided=1, inverse=1), x, rtol=1e-5)
    assert_rejected(node("DFT", 20, random(1, 6, 2), onesided=1), "only real input is supported")
    assert_rejected(node("DFT", 20, x, onesided=1, inverse=1), "only complex input is supported")


def test_the_axis_of_dft_is_an_attribute_before_20_and_never_the_last_one() -> None:
    x = random(3, 4, 2)
    expected = pairs(transform_by_definition((x[..., 0] + 1j * x[..., 1]).T, 3, -1).T)
    assert_gives(node("DFT", 17, x, axis=0), expected, rtol=1e-4)
    assert_gives(node("DFT", 20, x, None, scalar(-3, "int64")), expected, rtol=1e-4)
    for axis in (2, -1, 3):
        assert_rejected(node("DFT", 17, x, axis=axis), "the accepted range is [-r, -2] and [0, r-2]")


def test_stft_takes_the_frame_length_from_window_or_signal() -> None:
    x, window = random(1, 7, 1), floats(1, 2, 1)
    frames = numpy.stack([x[0, start : start + 3, 0] * window for start in (0, 2, 4)])
    expected = pairs(transform_by_definition(frames, 3, -1))[None]
    assert_gives(node("STFT", 17, x, scalar(2, "int64"), window), expected[:, :, :2], rtol=1e-4)
    assert_gives(node("STFT", 17, x, scalar(2, "int64"), window, onesided=0), expected, rtol=1e-4)
    (whole,) = evaluate(node("STFT", 17, x, scalar(1, "int64")))
    assert whole.shape == (1, 1, 4, 2)
    assert_rejected(node("STFT", 17, x, scalar(2, "int64"), window, scalar(4, "int64")), "frame_length 4")
    for step, length in ((0, 3), (-1, 3), (2, 0), (2, 99)):
        case = node("STFT", 17, x, scalar(step, "int64"), None, scalar(length, "int64"))
        assert_rejected(case, f"frame_length {length} and frame_step {step} do not fit a signal")
    assert_rejected(node("STFT", 17, random(1, 7, 2), scalar(2, "int64"), window), "onesided output is not possible")


@pytest.mark.parametrize(("operator", "center"), [("HannWindow", 1), ("HammingWindow", 1), ("BlackmanWindow", 1)])
def test_a_periodic_window_is_a_longer_symmetric_one_cut_short(operator: str, center: int) -> None:
    (periodic,) = evaluate(node(operator, 17, scalar(8, "int64")))
    (symmetric,) = evaluate(node(operator, 17, scalar(9, "int64"), periodic=0))
    numpy.testing.assert_allclose(periodic, symmetric[:8], atol=1e-6)
    numpy.testing.assert_allclose(symmetric, symmetric[::-1], atol=1e-6)
    numpy.testing.assert_allclose(symmetric[4], center, atol=1e-6)
    whole = node(operator, 17, scalar(9, "int64"), periodic=0, output_datatype=TensorProto.UINT8)
    assert evaluate(whole)[0].dtype == numpy.uint8


def test_mel_weights_are_triangles_with_peak_1() -> None:
    sizes = [scalar(value, "int32") for value in (8, 64, 8000)]
    (matrix,) = evaluate(node("MelWeightMatrix", 17, *sizes, scalar(0.0), scalar(4000.0)))
    assert matrix.shape == (33, 8)
    assert (matrix.max(axis=0) == 1).all()
    for column in matrix.T:
        peak = column.argmax()
        assert (numpy.diff(column[: peak + 1]) >= 0).all()
        assert (numpy.diff(column[peak:]) <= 0).all()


# Losses: Example 1 to 3 of the text

SCORES = floats([[1, 2], [2, 2], [3, 2]], [[0, 1], [2, 2], [1, 2]])
TARGET = ints([2, 1], [0, 2])
WEIGHT = floats(0.2, 0.3, 0.1)


def test_the_examples_of_negative_log_likelihood_loss() -> None:
    def loss(*inputs: Any, **attributes: Any) -> Any:
        return node("NegativeLogLikelihoodLoss", 13, SCORES, TARGET, *inputs, **attributes)

    assert_gives(loss(reduction="none"), floats([-3, -2], [0, -2]))
    assert_gives(loss(WEIGHT, reduction="sum"), scalar(-1.1), rtol=1e-6)
    assert_gives(loss(WEIGHT), scalar(-1.1 / 0.7), rtol=1e-6)


def test_ignored_targets_lose_nothing_and_count_nothing() -> None:
    target = ints([2, -7], [0, 2])
    attributes = {"ignore_index": -7}
    case = node("NegativeLogLikelihoodLoss", 13, SCORES, target, reduction="none", **attributes)
    assert_gives(case, floats([-3, 0], [0, -2]))
    assert_gives(node("NegativeLogLikelihoodLoss", 13, SCORES, target, **attributes), scalar(-5 / 3), rtol=1e-6)
    assert_rejected(node("NegativeLogLikelihoodLoss", 13, SCORES, target), "must be in [0, 3)")


def test_cross_entropy_is_the_loss_of_log_softmax() -> None:
    case = node("SoftmaxCrossEntropyLoss", 13, SCORES, TARGET, WEIGHT, outputs=2)
    loss, log_probabilities = evaluate(case)
    assert_gives(node("LogSoftmax", 13, SCORES, axis=1), log_probabilities, rtol=1e-6)
    assert_gives(node("NegativeLogLikelihoodLoss", 13, log_probabilities, TARGET, WEIGHT), loss, rtol=1e-6)


# Random numbers


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes"),
    [
        ("RandomNormal", (), {"shape": [1000], "mean": 3.0, "scale": 2.0}),
        ("RandomUniform", (), {"shape": [1000], "low": 2.0, "high": 4.0}),
        ("RandomNormalLike", (numpy.zeros(1000, numpy.float32),), {"mean": 3.0, "scale": 2.0}),
        ("RandomUniformLike", (numpy.zeros(1000, numpy.float32),), {"low": 2.0, "high": 4.0}),
    ],
)
def test_random_numbers_have_their_distribution_and_depend_on_the_seed(
    operator: str, inputs: Any, attributes: dict[str, Any]
) -> None:
    (first,) = evaluate(node(operator, 13, *inputs, seed=1.0, **attributes))
    assert (evaluate(node(operator, 13, *inputs, seed=1.0, **attributes))[0] == first).all()
    assert (evaluate(node(operator, 13, *inputs, seed=1.5, **attributes))[0] != first).any()
    assert abs(first.mean() - 3) < 0.3
    deviation = 2 if "scale" in attributes else 2 / numpy.sqrt(12)
    assert abs(first.std() / deviation - 1) < 0.2
    half = node(operator, 13, *inputs, dtype=TensorProto.FLOAT16, **attributes)
    assert evaluate(half)[0].dtype == numpy.float16


def test_bernoulli_draws_ones_with_the_given_probabilities() -> None:
    (drawn,) = evaluate(node("Bernoulli", 15, numpy.full(1000, 0.25, numpy.float32), dtype=TensorProto.BOOL, seed=1.0))
    assert 0.2 < drawn.mean() < 0.3
    assert_gives(node("Bernoulli", 15, floats(0, 1)), floats(0, 1))
    assert_rejected(node("Bernoulli", 15, floats(1.5)), "have to be in the range [0, 1]")


def test_multinomial_draws_classes_by_their_weights() -> None:
    logits = numpy.log(floats([1, 3, 0], [0, 0, 5]))
    (drawn,) = evaluate(node("Multinomial", 7, logits, sample_size=1000, seed=2.0, dtype=TensorProto.INT64))
    assert drawn.dtype == numpy.int64
    assert set(drawn[0]) == {0, 1}
    assert 0.7 < drawn[0].mean() < 0.8
    assert (drawn[1] == 2).all()


# Optimizers, with one tensor and with two


def optimized(operator: str, *inputs: Any, **attributes: Any) -> list[Any]:
    names = [f"input{index}" for index in range(len(inputs))]
    count = (len(inputs) - 2) // {"Adagrad": 3, "Adam": 4, "Momentum": 3}[operator]
    outputs = [f"output{index}" for index in range(count * {"Adam": 3}.get(operator, 2))]
    domain = "ai.onnx.preview.training"
    built = helper.make_node(operator, names, outputs, domain=domain, **attributes)
    return run_node(built, list(inputs), {"": 13, domain: 1})


RATE, STEP = scalar(0.1), scalar(2, "int64")
VALUE, GRADIENT, HISTORY, SQUARES = floats(1, -2), floats(0.5, 1), floats(0.25, 3), floats(1, 4)


def test_adagrad_follows_its_pseudo_code() -> None:
    attributes = {"norm_coefficient": 0.5, "decay_factor": 0.25, "epsilon": 0.5}
    new, history = optimized("Adagrad", RATE, STEP, VALUE, GRADIENT, SQUARES, **attributes)
    regularized = 0.5 * VALUE + GRADIENT
    numpy.testing.assert_allclose(history, SQUARES + regularized**2)
    expected = VALUE - 0.1 / 1.5 * regularized / (numpy.sqrt(history) + 0.5)
    numpy.testing.assert_allclose(new, expected, rtol=1e-6)


def test_adam_follows_its_pseudo_code() -> None:
    attributes = {"norm_coefficient_post": 0.25, "alpha": 0.5, "beta": 0.75, "epsilon": 0.5}
    new, average, squares = optimized("Adam", RATE, STEP, VALUE, GRADIENT, HISTORY, SQUARES, **attributes)
    numpy.testing.assert_allclose(average, 0.5 * HISTORY + 0.5 * GRADIENT)
    numpy.testing.assert_allclose(squares, 0.75 * SQUARES + 0.25 * GRADIENT**2)
    rate = 0.1 * numpy.sqrt(1 - 0.75**2) / (1 - 0.5**2)
    expected = 0.75 * (VALUE - rate * average / (numpy.sqrt(squares) + 0.5))
    numpy.testing.assert_allclose(new, expected, rtol=1e-6)


@pytest.mark.parametrize("mode", ["standard", "nesterov"])
@pytest.mark.parametrize("step", [0, 2])
def test_momentum_follows_its_pseudo_code(mode: str, step: int) -> None:
    attributes = {"norm_coefficient": 0.5, "alpha": 0.25, "beta": 0.5, "mode": mode}
    new, velocity = optimized("Momentum", RATE, scalar(step, "int64"), VALUE, GRADIENT, HISTORY, **attributes)
    regularized = 0.5 * VALUE + GRADIENT
    numpy.testing.assert_allclose(velocity, 0.25 * HISTORY + (0.5 if step else 1) * regularized)
    direction = velocity if mode == "standard" else regularized + 0.25 * velocity
    numpy.testing.assert_allclose(new, VALUE - 0.1 * direction, rtol=1e-6)


def test_tensors_optimized_together_are_as_if_alone() -> None:
    other = [value + 1 for value in (VALUE, GRADIENT, SQUARES)]
    both = optimized("Adagrad", RATE, STEP, VALUE, other[0], GRADIENT, other[1], SQUARES, other[2])
    alone = [optimized("Adagrad", RATE, STEP, VALUE, GRADIENT, SQUARES), optimized("Adagrad", RATE, STEP, *other)]
    numpy.testing.assert_array_equal(both, [alone[0][0], alone[1][0], alone[0][1], alone[1][1]])


# Text


def test_stop_words_are_found_in_any_case_unless_told() -> None:
    x = strings("The", "cat", "THE", "end")
    assert_gives(node("StringNormalizer", 10, x, stopwords=["the"]), strings("cat", "end"))
    case = node("StringNormalizer", 10, x, stopwords=["the"], is_case_sensitive=1, case_change_action="UPPER")
    assert_gives(case, strings("THE", "CAT", "THE", "END"))
    assert_gives(node("StringNormalizer", 10, x[None], stopwords=["the", "cat", "end"]), strings([""]))
    assert_rejected(node("StringNormalizer", 10, strings(["a"], ["b"])), "only [C]- and [1, C]-tensors")


def test_splitting_pads_with_empty_strings() -> None:
    parts, counts = evaluate(node("StringSplit", 20, strings("a,b", "", "c"), delimiter=",", outputs=2))
    assert (parts.tolist(), counts.tolist()) == ([["a", "b"], ["", ""], ["c", ""]], [2, 1, 1])
    parts, counts = evaluate(node("StringSplit", 20, strings(" a  b c ", "  "), maxsplit=1, outputs=2))
    assert (parts.tolist(), counts.tolist()) == ([["a", "b c"], ["", ""]], [2, 0])


def test_string_split_rejects_a_delimiter_that_is_no_text() -> None:
    split = node("StringSplit", 20, strings("a,b"), delimiter=b"\xff", outputs=2)
    assert_rejected(split, "is no text")


needs_re2 = pytest.mark.skipif(find_spec("re2") is None, reason="the extra opsetlift[regex] is not installed")


@needs_re2
@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        (r"[[:alpha:]]+\d", "ab1", "é1"),
        (r"a$", "a", "a\n"),
        (r"\Qa.b\E", "a.b", "axb"),
        (r"\s", " ", "\v"),
        (r"a{,2}", "a{,2}", "aa"),
        (r"(?i)ab|c", "AB", "ac"),
        (r"[]^]+", "]^", "a"),
        (r"(?P<x>a)(?<y>b)\x{63}", "abc", "ab"),
        (r"\p{Greek}+", "λόγος", "logos"),
        (r"a(?i)b", "aB", "AB"),
        (r".", "é", "\n"),
    ],
)
def test_patterns_are_those_of_re2(pattern: str, matching: str, other: str) -> None:
    case = node("RegexFullMatch", 20, strings(matching, other), pattern=pattern)
    assert_gives(case, numpy.array([True, False]))


@needs_re2
@pytest.mark.parametrize("pattern", [r"(?=a)", r"(a)\1", r"a++", r"\Z", r"[[:alien:]]", r"a("])
def test_what_re2_does_not_take_is_rejected(pattern: str) -> None:
    assert_rejected(node("RegexFullMatch", 20, strings("a"), pattern=pattern), "valid RE2 syntax")


@needs_re2
@pytest.mark.parametrize("pattern", [rb"\xff", b"\xff"])
def test_a_pattern_that_is_no_utf8_is_rejected(pattern: bytes) -> None:
    x = strings("\xff")
    if pattern == b"\xff":
        assert_rejected(node("RegexFullMatch", 20, x, pattern=pattern), "invalid UTF-8")
    else:
        assert_gives(node("RegexFullMatch", 20, x, pattern=pattern), numpy.array([True]))


def test_without_google_re2_the_node_is_not_executable_and_the_message_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(NotExecutable, match=r"RegexFullMatch-20 node.*pip install 'opsetlift\[regex\]'"):
        evaluate(node("RegexFullMatch", 20, strings("a"), pattern="a"))


def test_skips_join_tokens_that_are_apart() -> None:
    """The example of the text: with 2 skips, the sequence has [94, 12] and [17, 28] among its 2-grams."""
    attributes = {
        "mode": "TF",
        "min_gram_length": 2,
        "max_gram_length": 2,
        "ngram_counts": [0, 0],
        "ngram_indexes": [1, 0, 2],
        "pool_int64s": [94, 12, 17, 28, 94, 17],
    }
    x = ints(94, 17, 36, 12, 28)
    assert_gives(node("TfIdfVectorizer", 9, x, max_skip_count=2, **attributes), floats(1, 1, 1))
    assert_gives(node("TfIdfVectorizer", 9, x, max_skip_count=0, **attributes), floats(0, 0, 1))


def test_modes_weigh_counts_as_the_text_says() -> None:
    attributes = {
        "min_gram_length": 1,
        "max_gram_length": 1,
        "max_skip_count": 3,
        "ngram_counts": [0],
        "ngram_indexes": [1, 0],
        "pool_strings": ["a", "b"],
        "weights": [0.5, 3.0],
    }
    x = strings(["a", "a", "b"], ["c", "a", "a"])
    for mode, expected in (("TF", [[1, 2], [0, 2]]), ("IDF", [[3, 0.5], [0, 0.5]]), ("TFIDF", [[3, 1], [0, 1]])):
        assert_gives(node("TfIdfVectorizer", 9, x, mode=mode, **attributes), numpy.array(expected, numpy.float32))
    assert_rejected(node("TfIdfVectorizer", 9, ints(1), mode="TF", **attributes), "must be a string tensor")
