"""The passes on random graphs: nothing changes but the form, and doing it twice changes nothing."""

import numpy
import onnx
import pytest

from opsetlift.evaluator import Evaluator
from opsetlift.pipeline.normalize import normalize
from testing.random_graphs import inputs_of, random_graph

SEEDS_PER_TEST = 25


def is_same(before: numpy.ndarray, after: numpy.ndarray) -> bool:
    """Bit for bit, any NaN for any NaN."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return False
    absent = numpy.isnan(before)
    return numpy.array_equal(absent, numpy.isnan(after)) and before[~absent].tobytes() == after[~absent].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, SEEDS_PER_TEST))
def test_random_graphs_compute_the_same_bits(first: int) -> None:
    saved = 0
    for seed in range(first, first + SEEDS_PER_TEST):
        model, inputs = random_graph(seed), {"x": inputs_of(seed)}
        onnx.checker.check_model(model, full_check=True)
        result = normalize(model, prove=False).model
        onnx.checker.check_model(result, full_check=True)
        expected, found = (Evaluator(one).run(inputs) for one in (model, result))
        different = [name for name in expected if not is_same(expected[name], found[name])]
        assert not different, f"seed {seed}: {different}\n{onnx.printer.to_text(model)}"
        again = normalize(result, prove=False).model
        assert again.SerializeToString(deterministic=True) == result.SerializeToString(deterministic=True), seed
        saved += len(model.graph.node) - len(result.graph.node)
    assert saved > SEEDS_PER_TEST
