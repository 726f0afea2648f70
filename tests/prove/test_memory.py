"""What one evaluation may allocate: numbers in inputs may ask for any size."""

import resource
import tracemalloc

import numpy
import onnx
import pytest

from opsetlift.evaluator import Evaluator, TooLarge
from opsetlift.proof import prove_models
from tests.prove.conversions import conversion, model

FAR = 2**31 - 3


@pytest.mark.parametrize(
    ("inputs", "node", "opset"),
    [
        ("float[0] i, int64 n, float[2] v", "y = OneHot (i, n, v)", 11),
        ("int64 zero, int64 n, int64 one", "y = Range (zero, n, one)", 11),
        ("float zero, float n, float one", "y = Range (zero, n, one)", 11),
        ("int64[1] n", "y = ConstantOfShape (n)", 11),
        ("float[1] x, int64[1] n", "y = Expand (x, n)", 13),
        ("float[1] x, int64[1] n", "y = Tile (x, n)", 13),
        ("float[1] x, int64[2] n", "y = Pad (x, n)", 13),
        ("float[1] x, int64[2] n", 'y = Pad <mode = "edge"> (x, n)', 13),
        ("float[1] x, int64[1] n", "y = CenterCropPad (x, n)", 18),
        ("float[1] x, float[1] n", "y = Upsample (x, n)", 9),
        ("float[1] x, float[1] n", 'y = Resize <mode = "linear"> (x, , n)', 13),
        ("float[1] x, int64[1] n", "y = Resize (x, , , n)", 13),
        ("int64 n", "y = HannWindow (n)", 17),
        ("float[1, 1, 1] x, int64 n", "y = DFT (x, n)", 17),
        (
            "int64 one, int64 n, int64 rate, float zero, float high",
            "y = MelWeightMatrix (one, n, rate, zero, high)",
            17,
        ),
    ],
)
def test_a_number_may_not_ask_for_more_than_the_limit(inputs: str, node: str, opset: int) -> None:
    executed = model(f"g ({inputs}) => (y) {{ {node} }}", opset)
    evaluator = Evaluator(executed, element_limit=1 << 20)
    values = {}
    for one in executed.graph.input:
        kind = one.type.tensor_type
        number = {"n": FAR, "zero": 0, "rate": 16000, "high": 8000}.get(one.name, 1)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        values[one.name] = numpy.full([dim.dim_value for dim in kind.shape.dim], number, dtype)
    tracemalloc.start()
    try:
        with pytest.raises(TooLarge):
            evaluator.run(values)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_a_proof_stays_small_where_a_number_sizes_only_what_lies_between() -> None:
    text = "g (float[0] i, int64 n, float[2] v) => (float[A, B] y) { y = OneHot (i, n, v) }"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    conversion(text, text, (9, 11)).prove()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4 << 20, "in KiB"


@pytest.mark.slow
def test_a_result_that_grows_where_the_original_does_not_says_nothing_there() -> None:
    one = model("g (int64 n) => (int64[1] y) { s = Constant <value_ints = [1]> () y = Reshape (n, s) }", 13)
    other = model(
        """g (int64 n) => (int64[1] y) { zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
        s = Constant <value_ints = [1]> () r = Range (zero, n, one) k = Shape (r) t = Sub (k, k)
        m = Reshape (n, s) y = Add (t, m) }""",
        13,
    )
    found = prove_models(one, other)
    assert found.agrees, found.sentence
    assert found.rejected
