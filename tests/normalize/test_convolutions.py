"""What becomes part of a convolution, or of a product of matrices."""

import pytest

from opsetlift.pipeline.normalize import normalize
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

PADS = "merge-pads-into-convolutions"
BIASES = "merge-biases"
W = "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"


def padded(pads: str, pad: str = "Pad(x, p)", conv: str = "Conv(a, w)", constants: str = "") -> str:
    """A Conv of a Pad of an image."""
    return f"""g (float[1,1,3,3] x) => (float[] y) <int64[8] p = {{{pads}}}, {W}{constants}> {{
        a = {pad} y = {conv}
    }}"""


def test_zeros_around_the_image_are_the_convolutions_own() -> None:
    after = f"g (float[1,1,3,3] x) => (float[] y) <{W}> {{ y = Conv<pads = [1, 2, 3, 0]>(x, w) }}"
    check_rewrite(PADS, padded("0, 0, 1, 2, 0, 0, 3, 0"), after)
    before = padded("0, 0, 1, 1, 0, 0, 3, 0", conv="Conv<pads = [0, 1, 0, 0]>(a, w)")
    check_rewrite(PADS, before, after)


def test_pads_that_are_an_attribute() -> None:
    before = (
        f"g (float[1,1,3,3] x) => (float[] y) <{W}> {{ a = Pad<pads = [0, 0, 0, 1, 0, 0, 0, 1]>(x) y = Conv(a, w) }}"
    )
    after = f"g (float[1,1,3,3] x) => (float[] y) <{W}> {{ y = Conv<pads = [0, 1, 0, 1]>(x, w) }}"
    check_rewrite(PADS, before, after, opset=9)


@pytest.mark.parametrize(
    "graph",
    [
        padded("0, 0, -1, 0, 0, 0, 0, 1"),
        padded("1, 0, 0, 0, 0, 0, 0, 0"),
        padded("0, 0, 1, 0, 0, 0, 0, 0", pad="Pad(x, p, v)", constants=", float v = {1}"),
        padded("0, 0, 1, 0, 0, 0, 0, 0", pad='Pad<mode = "edge">(x, p)'),
        padded("0, 0, 1, 0, 0, 0, 0, 0", conv='Conv<auto_pad = "SAME_UPPER">(a, w)'),
        padded("0, 0, 1, 0, 0, 0, 0, 0").replace("3,3] x)", "3,3] x, float[2,1,2,2] w)"),  # weights of the caller
    ],
)
def test_other_pads_stay(graph: str) -> None:
    check_unchanged(PADS, graph)


_PADDED_POOL = """g (float[1,1,3,3] x) => (float[] y, float[] z) <int64[8] p = {0, 0, 1, 0, 0, 0, 1, 0}, W> {
    a = Pad(x, p) y = AveragePool<kernel_shape = [2, 2], count_include_pad = 1>(a) z = Conv(a, w)
}""".replace("W", W)


def test_all_readers_of_a_pad_take_it() -> None:
    after = f"""g (float[1,1,3,3] x) => (float[] y, float[] z) <{W}> {{
        y = AveragePool<kernel_shape = [2, 2], count_include_pad = 1, pads = [1, 0, 1, 0]>(x)
        z = Conv<pads = [1, 0, 1, 0]>(x, w)
    }}"""
    check_rewrite(PADS, _PADDED_POOL, after)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (", count_include_pad = 1", "", "the pool would not count the padding"),
        ("count_include_pad = 1", "count_include_pad = 1, ceil_mode = 1", "the last windows are cut off otherwise"),
        ("{0, 0, 1,", "{0, 0, 2,", "a window would be padding alone"),
        ("z = Conv(a, w)", "z = Neg(a)", "something else reads it, too"),
    ],
)
def test_a_pad_stays_where_one_reader_does_not_take_it(old: str, new: str, why: str) -> None:
    check_unchanged(PADS, _PADDED_POOL.replace(old, new))


@pytest.mark.parametrize("bias", ["float[2,1,1] b = {1, -2}", "float b = {3}", "float[1,2,1,1] b = {1, -2}"])
@pytest.mark.parametrize("conv", ["Conv(x, w)", "Conv(x, w, c)", "ConvTranspose(x, v, c)"])
def test_a_constant_per_channel_is_a_bias(conv: str, bias: str) -> None:
    constants = f"{W}, float[1,2,2,2] v = {{1, 2, 3, 4, 5, 6, 7, 8}}, float[2] c = {{0.5, 1}}, {bias}"
    graph = f"g (float[1,1,3,3] x) => (float[] y) <{constants}> {{ a = {conv} y = Add(b, a) }}"
    assert len(rewritten(BIASES, text_model(graph)).model.graph.node) == 1


@pytest.mark.parametrize("bias", ["float[2] b = {1, -2}", "float[1,1,1,1,1] b = {3}"])
def test_a_constant_along_other_axes_stays_an_add(bias: str) -> None:
    check_unchanged(BIASES, f"g (float[1,1,3,3] x) => (float[] y) <{W}, {bias}> {{ a = Conv(x, w) y = Add(b, a) }}")


STATISTICS = "float[2] s = {2, 3}, float[2] b = {1, -1}, float[2] m = {0.5, 0.25}, float[2] v = {1, 4}"
BATCH_NORMALIZATION = "merge-batch-normalization"


@pytest.mark.parametrize(
    ("node", "inputs", "weights"),
    [
        ("Conv(x, w)", "float[1,1,3,3] x", "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        ("Conv(x, w, b)", "float[1,1,3,3] x", "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        ("ConvTranspose(x, w)", "float[1,1,3,3] x", "float[1,2,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        ("ConvTranspose<group = 2>(x, w, b)", "float[1,2,3,3] x", "float[2,1,2,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
        (
            "Gemm<transB = 1, alpha = 0.5, beta = 2.0>(x, w, b)",
            "float[3,4] x",
            "float[2,4] w = {1, 2, 3, 4, 5, 6, 7, 8}",
        ),
        ("Gemm(x, w)", "float[3,4] x", "float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}"),
    ],
)
def test_batch_normalization_becomes_part_of_the_weights(node: str, inputs: str, weights: str) -> None:
    before = (
        f"g ({inputs}) => (float[] y) <{weights}, {STATISTICS}> {{ a = {node} y = BatchNormalization(a, s, b, m, v) }}"
    )
    result = rewritten(BATCH_NORMALIZATION, text_model(before)).model
    assert len(result.graph.node) == 1
    assert result.graph.output[0].name == result.graph.node[0].output[0] == "y"


@pytest.mark.parametrize(
    "change",
    [
        ("=> (float[] y)", "=> (float[] y, float[] a)"),  # what is normalised is an output
        ("(float[1,1,3,3] x)", "(float[1,1,3,3] x, float[2] m)"),  # statistics of the caller
        ("BatchNormalization(a", "BatchNormalization<epsilon = 1.0>(q"),
    ],
)
def test_batch_normalization_of_something_else_stays(change: tuple[str, str]) -> None:
    before = f"""g (float[1,1,3,3] x) => (float[] y) <float[2,1,1,1] w = {{1, 2}}, {STATISTICS}> {{
        a = Conv(x, w) q = Exp(a) y = BatchNormalization(a, s, b, m, v)
    }}""".replace(*change)
    result = normalize(text_model(before), passes=[BATCH_NORMALIZATION]).model
    assert "BatchNormalization" in [node.op_type for node in result.graph.node]


def test_a_normalisation_that_trains_stays() -> None:
    graph = f"""g (float[1,1,3,3] x) => (float[] y) <float[2,1,1,1] w = {{1, 2}}, {STATISTICS}> {{
        a = Conv(x, w) y, mean, var, saved_mean, saved_var = BatchNormalization(a, s, b, m, v)
    }}"""
    check_unchanged(BATCH_NORMALIZATION, graph, opset=9)


def test_weights_that_would_not_be_finite_stay() -> None:
    graph = f"""g (float[1,1,3,3] x) => (float[] y) <float[2,1,1,1] w = {{1e38, 2}}, {STATISTICS}> {{
        a = Conv(x, w) y = BatchNormalization(a, s, b, m, v)
    }}"""
    check_unchanged(BATCH_NORMALIZATION, graph.replace("s = {2, 3}", "s = {20, 3}"))
