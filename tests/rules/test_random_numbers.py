"""Random numbers across their versions: the distribution stays."""

import numpy
import pytest

from opsetlift import convert
from opsetlift.evaluator import Evaluator
from opsetlift.support.refusal import Why
from testing.conversion import check_refusal, model

PROBABILITIES = numpy.array([0, 0.25, 0.5, 1], numpy.float32)


def test_bernoulli_compares_uniform_numbers_with_the_probabilities_below_15():
    original = model(
        '<ir_version: 8, opset_import: ["": 15]> g (float[N] x) => (bool[N] y) '
        "{ y = Bernoulli <dtype = 9, seed = 3.0> (x) }"
    )
    converted = convert(original, to=14).model
    assert [node.op_type for node in converted.graph.node] == ["RandomUniformLike", "Cast", "Less", "Cast"]
    assert [a.f for a in converted.graph.node[0].attribute if a.name == "seed"] == [3.0]
    inputs = {"x": numpy.tile(PROBABILITIES, 5000)}
    drawn = Evaluator(converted).run(inputs)["y"].reshape(-1, 4).mean(axis=0)
    numpy.testing.assert_allclose(drawn, PROBABILITIES, atol=0.05)


@pytest.mark.parametrize("operator", ["RandomNormal", "RandomUniform"])
def test_bfloat16_is_a_rounded_float_below_22(operator):
    original = model(
        f'<ir_version: 10, opset_import: ["": 22]> g () => (bfloat16[3] y) '
        f"{{ y = {operator} <dtype = 16, shape = [3], seed = 1.0> () }}"
    )
    conversion = convert(original, to=21)
    assert [node.op_type for node in conversion.model.graph.node] == [operator, "Cast"]
    (one,), (other,) = (list(Evaluator(m).run({}).values()) for m in (original, conversion.model))
    numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("operator", ["RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"])
def test_bfloat16_is_given_as_float_below_22(operator):
    kind, attributes = ("int32", "sample_size = 4, ") if operator == "Multinomial" else ("bfloat16", "")
    original = model(
        f'<ir_version: 10, opset_import: ["": 22]> g (bfloat16[2, 4] x) => ({kind}[2, 4] y) '
        f"{{ y = {operator} <{attributes}seed = 1.0> (x) }}"
    )
    converted = convert(original, to=21).model
    inputs = {"x": numpy.tile(PROBABILITIES, (2, 1)).astype("bfloat16")}
    (one,), (other,) = (list(Evaluator(m).run(inputs).values()) for m in (original, converted))
    assert one.dtype == other.dtype
    numpy.testing.assert_array_equal(one, other)


def test_classes_are_not_drawn_below_7():
    check_refusal(
        '<ir_version: 3, opset_import: ["": 7]> g (float[1, 3] x) => (int32[1, 1] y) { y = Multinomial (x) }',
        6,
        Why.NO_EQUIVALENT,
        "resolution",
    )
