"""Text below the introductions of its operators."""

import pytest

from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite

POOL = "ngram_counts = [0, 2, 6], ngram_indexes = [1, 0, 3, 2, 4], pool_int64s = [5, 2, 5, 2, 2, 2, 1, 2, 5]"


def test_one_gram_is_compared_with_each_token_below_9():
    check_rewrite(
        """<ir_version: 4, opset_import: ["": 9]> g (int64[N, C] x) => (float[N, 2] y) {
            y = TfIdfVectorizer <mode = "TF", max_gram_length = 1, min_gram_length = 1, max_skip_count = 3,
                ngram_counts = [0], ngram_indexes = [1, 0], pool_int64s = [5, 2]> (x)
        }""",
        """<ir_version: 3, opset_import: ["": 8]> g (int64[N, C] x) => (float[N, 2] y)
        <int64[1,1,2] y_tokens = {5, 2}, float[2,2] y_weights = {0, 1, 1, 0}> {
            y_Unsqueeze = Unsqueeze <axes: ints = [2]> (x)
            y_Equal = Equal (y_Unsqueeze, y_tokens)
            y_Cast = Cast <to: int = 1> (y_Equal)
            y_ReduceSum = ReduceSum <keepdims: int = 0, axes: ints = [1]> (y_Cast)
            y = MatMul (y_ReduceSum, y_weights)
        }""",
    )


@pytest.mark.quick_share(18)
@pytest.mark.parametrize("shape", ["N, C", "C", "2, 0", "1", "3, 2"])
@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_n_grams_with_skips_are_counted_below_9(shape, mode, dtype):
    rank = 1 + shape.count(",")
    check_converts(
        f"""<ir_version: 4, opset_import: ["": 9]> g ({dtype}[{shape}] x) => (float[{", ".join("UV"[:rank])}] y) {{
            y = TfIdfVectorizer <mode = "{mode}", max_gram_length = 3, min_gram_length = 1, max_skip_count = 2,
                weights = [2.0, 3.0, 0.5, 1.5, 7.0], {POOL}> (x)
        }}""",
        7,
        exact=True,
    )


def test_strings_are_not_looked_up_below_9():
    check_refusal(
        """<ir_version: 4, opset_import: ["": 9]> g (string[C] x) => (float[1] y) {
            y = TfIdfVectorizer <mode = "TF", max_gram_length = 1, min_gram_length = 1, max_skip_count = 0,
                ngram_counts = [0], ngram_indexes = [0], pool_strings = ["a"]> (x)
        }""",
        8,
        Why.NO_EQUIVALENT,
        "strings",
    )


@pytest.mark.parametrize(
    ("node", "opset", "word"),
    [
        ("StringNormalizer (x)", 10, "case"),
        ("StringConcat (x, x)", 20, "joins"),
        ('RegexFullMatch <pattern = "a+"> (x)', 20, "pattern"),
    ],
)
def test_strings_are_opaque_below_the_operators_that_look_into_them(node, opset, word):
    kind = "bool" if "Regex" in node else "string"
    text = f'<ir_version: 9, opset_import: ["": {opset}]> g (string[N] x) => ({kind}[M] y) {{ y = {node} }}'
    check_refusal(text, opset - 1, Why.NO_EQUIVALENT, word)


def test_constant_strings_are_joined_by_the_conversion():
    check_rewrite(
        """<ir_version: 9, opset_import: ["": 20]> g () => (string[2] y)
        <string[2] a = {"one", ""}, string b = {"!"}> { y = StringConcat (a, b) }""",
        """<ir_version: 9, opset_import: ["": 19]> g () => (string[2] y)
        <string[2] y_constant = {"one!", "!"}> { y = Identity (y_constant) }""",
    )
