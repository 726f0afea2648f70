"""Legal nodes of signal processing, losses and text, drawn at random."""

from __future__ import annotations

from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.tensor_strategies import Draw, axis, ints, numbers, shapes
from tests.evaluator.window_strategies import maybe


@st.composite
def dft(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(["float32", "float64"]))
    shape = [*draw(st.lists(st.integers(1, 5), min_size=2, max_size=3)), draw(st.integers(1, 2))]
    attributes: dict[str, Any] = {}
    if shape[-1] == 2:
        maybe(draw, attributes, inverse=1)
    else:
        maybe(draw, attributes, onesided=1)
    chosen = axis(draw, len(shape) - 1, False)
    inputs: list[Any] = [numbers(draw, shape, dtype), None]
    if draw(st.booleans()):
        inputs[1] = ints(draw(st.integers(1, 6)))
    if opset < 20:
        attributes["axis"] = chosen
        return OneNode("DFT", opset, inputs if inputs[1] is not None else inputs[:1], attributes)
    return OneNode("DFT", opset, [*inputs, ints(chosen)], attributes)


@st.composite
def stft(draw: Draw, opset: int) -> OneNode:
    length = draw(st.integers(1, 5))
    onesided = draw(st.integers(0, 1))
    signal = numbers(draw, [draw(st.integers(1, 2)), length + draw(st.integers(0, 5)), 1 if onesided else 2])
    window = numbers(draw, [length]) if draw(st.booleans()) else None
    inputs = [signal, ints(draw(st.integers(1, 3))), window, ints(length)]
    return OneNode("STFT", opset, inputs, {"onesided": onesided})


def window(operator: str) -> Any:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        attributes: dict[str, Any] = {}
        maybe(draw, attributes, periodic=0, output_datatype=draw(st.sampled_from([1, 11])))
        return OneNode(operator, opset, [ints(draw(st.integers(2, 12)))], attributes)

    return strategy


@st.composite
def mel_weight_matrix(draw: Draw, opset: int) -> OneNode:
    bands, length = draw(st.integers(1, 8)), draw(st.sampled_from([8, 16, 64]))
    edges = [numpy.array(value, numpy.float32) for value in (draw(st.sampled_from([0, 20])), 4000)]
    return OneNode("MelWeightMatrix", opset, [ints(bands), ints(length), ints(8192), *edges])


def loss(operator: str) -> Any:
    @st.composite
    def strategy(draw: Draw, opset: int) -> OneNode:
        classes = draw(st.integers(1, 4))
        size, more = draw(st.integers(1, 3)), draw(st.lists(st.integers(1, 3), max_size=2))
        scores = numbers(draw, [size, classes, *more])
        generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
        target = generator.integers(0, classes, [size, *more])
        attributes: dict[str, Any] = {"reduction": draw(st.sampled_from(["none", "sum", "mean"]))}
        if draw(st.booleans()):
            attributes["ignore_index"] = -1
            target.reshape(-1)[1:] = numpy.where(generator.random(target.size - 1) < 0.3, -1, target.reshape(-1)[1:])
        weights = [numpy.abs(numbers(draw, [classes])) + numpy.float32(0.5)] if draw(st.booleans()) else []
        outputs = draw(st.integers(1, 2)) if operator == "SoftmaxCrossEntropyLoss" else 1
        return OneNode(operator, opset, [scores, target, *weights], attributes, outputs)

    return strategy


WORDS = ("", "a", "A", "ab", "B b", " c ", "d,e", ",", "Éé", "a,,b", "the  end")


def words(draw: Draw, shape: list[int]) -> Any:
    drawn = draw(st.lists(st.sampled_from(WORDS), min_size=int(numpy.prod(shape)), max_size=int(numpy.prod(shape))))
    result = numpy.empty(len(drawn), object)
    result[:] = drawn
    return result.reshape(shape)


@st.composite
def string_normalizer(draw: Draw, opset: int) -> OneNode:
    x = words(draw, draw(st.sampled_from([[3], [1, 3], [1]])))
    attributes: dict[str, Any] = {"locale": "C.UTF-8"}
    maybe(draw, attributes, stopwords=["a", "Éé"], is_case_sensitive=1)
    maybe(draw, attributes, case_change_action=draw(st.sampled_from(["LOWER", "UPPER"])))
    return OneNode("StringNormalizer", opset, [x], attributes)


@st.composite
def string_concat(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, greatest_rank=2, least=1, greatest=2)
    other = [draw(st.sampled_from([1, size])) for size in shape]
    return OneNode("StringConcat", opset, [words(draw, shape), words(draw, other)])


@st.composite
def string_split(draw: Draw, opset: int) -> OneNode:
    attributes: dict[str, Any] = {}
    maybe(draw, attributes, delimiter=draw(st.sampled_from([",", "", "a"])), maxsplit=draw(st.integers(0, 2)))
    return OneNode("StringSplit", opset, [words(draw, shapes(draw, 1, 2, 1, 3))], attributes, 2)


@st.composite
def regex_full_match(draw: Draw, opset: int) -> OneNode:
    pattern = st.sampled_from(
        [r"a*", r"[[:alpha:]]+", r"\s*\w\s*", r"(?i)AB", r".*,.*", r"a|b|", r"[^a]+", r"\Qd,e\E", "c$"]
    )
    return OneNode("RegexFullMatch", opset, [words(draw, shapes(draw, 1, 2, 1, 3))], {"pattern": draw(pattern)})


@st.composite
def tf_idf_vectorizer(draw: Draw, opset: int) -> OneNode:
    """A pool of two 1-grams and two 2-grams over the numbers 0 to 3."""
    pool = [*draw(st.lists(st.integers(0, 3), min_size=2, max_size=2, unique=True))]
    pairs = draw(st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=2, max_size=2, unique=True))
    shortest = draw(st.integers(1, 2))
    attributes: dict[str, Any] = {
        "mode": draw(st.sampled_from(["TF", "IDF", "TFIDF"])),
        "ngram_counts": [0, 2],
        "ngram_indexes": list(draw(st.permutations(range(4)))),
        "min_gram_length": shortest,
        "max_gram_length": draw(st.integers(shortest, 2)),
        "max_skip_count": draw(st.integers(0, 2)),
        "pool_int64s": [*pool, *(token for pair in pairs for token in pair)],
    }
    maybe(draw, attributes, weights=[0.5, 2.0, 3.0, 0.25])
    shape = draw(st.sampled_from([[6], [2, 5]]))
    generator = numpy.random.default_rng(draw(st.integers(0, 2**16)))
    return OneNode("TfIdfVectorizer", opset, [generator.integers(0, 5, shape)], attributes)
