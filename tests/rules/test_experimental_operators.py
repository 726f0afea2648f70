"""Operators that had no version, as old exporters wrote them."""

from types import ModuleType

import onnx
import pytest

from opsetlift import convert
from opsetlift.evaluator import Evaluator
from opsetlift.facts import ModelFacts
from opsetlift.rulebook.book import RuleBook, RuleBookError, default_rule_book
from opsetlift.rulebook.rule import ExperimentalOperator, unchanged
from opsetlift.specification.experimental import experimental_operators
from opsetlift.support.refusal import Why
from testing.conversion import check_converts, check_refusal, check_rewrite, model


def text(node, opset=7, x="float[1, 2, 3, 4] x", y="float[A, B, C, D] y"):
    return f'<ir_version: 3, opset_import: ["": {opset}]> g ({x}) => ({y}) {{ y = {node} }}'


def test_affine_is_a_product_and_a_sum():
    check_rewrite(
        text("Affine <alpha = 2.0, beta = -1.0> (x)"),
        """<ir_version: 4, opset_import: ["": 9]> g (float[1, 2, 3, 4] x) => (float[A, B, C, D] y)
        <float y_factor = {2}, float y_beta = {-1}> { y_Mul = Mul (x, y_factor) y = Add (y_Mul, y_beta) }""",
    )


def test_thresholded_relu_gets_its_version():
    check_rewrite(
        text("ThresholdedRelu <alpha = 0.5> (x)"),
        """<ir_version: 5, opset_import: ["": 10]> g (float[1, 2, 3, 4] x) => (float[A, B, C, D] y)
        { y = ThresholdedRelu <alpha = 0.5> (x) }""",
    )


def test_dynamic_slice_becomes_slice():
    given = "float[N, 4] x, int64[1] s, int64[1] e, int64[1] a"
    check_rewrite(
        text("DynamicSlice (x, s, e, a)", x=given, y="float[A, B] y"),
        f'<ir_version: 5, opset_import: ["": 10]> g ({given}) => (float[A, B] y) {{ y = Slice (x, s, e, a) }}',
    )


def normalization(operator, opset=13, scale="float", x="float", outputs="y"):
    return (
        f'<ir_version: 7, opset_import: ["": {opset}]> g ({x}[N, 3, 4] x, {scale}[4] s, {scale}[4] b) => '
        f"({scale}[N, 3, 4] y{', float[N, 3, 1] i' if 'i' in outputs else ''}) {{ {outputs} = {operator} }}"
    )


def test_layer_normalization_of_onnxruntime_is_that_of_17():
    node = "LayerNormalization <axis = -1, epsilon = 0.01> (x, s, b)"
    check_rewrite(normalization(node), normalization(node, opset=17).replace("ir_version: 7", "ir_version: 8"))


def test_simplified_layer_normalization_of_onnxruntime_is_a_normalization_by_the_root_mean_square():
    before = normalization("SimplifiedLayerNormalization <epsilon = 0.01> (x, s)", opset=21)
    after = normalization("RMSNormalization <epsilon = 0.01> (x, s)", opset=23)
    check_rewrite(before, after.replace("ir_version: 7", "ir_version: 11"))


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("to", [28, 17, 15, 13, 9, 7])
@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize(
    "node",
    [
        "LayerNormalization (x, s)",
        "LayerNormalization <axis = 1> (x, z, z)",
        "LayerNormalization <axis = -1, stash_type = 1> (x, s, b)",
        "SimplifiedLayerNormalization <axis = -1> (x, s)",
    ],
)
def test_normalizations_of_onnxruntime_are_written_at_every_target(node, dtype, to):
    text = normalization(node, scale=dtype, x=dtype).replace(") => (", f", {dtype}[3, 4] z) => (", 1)
    converted = check_converts(text, to)
    assert "LayerNormalization" not in {one.op_type for one in converted.graph.node} or to >= 17


def test_what_follows_a_normalization_of_onnxruntime_knows_its_shape():
    before = """<ir_version: 7, opset_import: ["": 13]> g (float[N, 3, 4] x, float[4] s) => (float[A, B, C] y)
        { l, m = LayerNormalization <axis = 1> (x, s) y = Add (l, m) }"""
    facts = ModelFacts(model(before))
    assert [facts.graph.shape(name) for name in "lmy"] == [["N", 3, 4], ["N", 1, 1], ["N", 3, 4]]


def test_what_follows_a_crop_knows_its_shape():
    cropped = text("Crop <border = [1, 0, 1, 2]> (x)").replace("{ y", "{ c").replace("}", "y = Relu (c) }")
    facts = ModelFacts(model(cropped))
    assert facts.graph.shape("c") == [1, 2, 1, 2]


@pytest.mark.parametrize(
    ("node", "x", "scale", "words"),
    [
        ("LayerNormalization (x, s)", "float16", "float", ["float16", "rounds otherwise"]),
        ("LayerNormalization (x, s)", "double", "double", ["double", "rounds otherwise"]),
        ("SimplifiedLayerNormalization (x, s)", "float16", "float", ["float16", "rounds otherwise"]),
    ],
)
def test_normalizations_that_onnxruntime_rounds_otherwise_are_refused(node, x, scale, words):
    check_refusal(normalization(node, x=x, scale=scale), 17, Why.NO_EQUIVALENT, *words)


def test_the_reciprocal_root_of_simplified_layer_normalization_is_refused():
    text = normalization("SimplifiedLayerNormalization (x, s)", outputs="y, i")
    check_refusal(text, 23, Why.NO_EQUIVALENT, "reciprocal of the root")


NODES = {
    "Affine": "Affine <alpha = 0.3> (x)",
    "Scale": "Scale <scale = 0.3> (x)",
    "Scale by 1": "Scale (x)",
    "ScaledTanh": "ScaledTanh <alpha = 1.7, beta = 0.6> (x)",
    "ParametricSoftplus": "ParametricSoftplus <alpha = 0.3, beta = 2.0> (x)",
    "ThresholdedRelu": "ThresholdedRelu <alpha = 0.3> (x)",
    "ThresholdedRelu without alpha": "ThresholdedRelu (x)",
    "ImageScaler": "ImageScaler <scale = 0.1, bias = [0.5, -0.25]> (x)",
    "ImageScaler without bias": "ImageScaler <scale = 0.1> (x)",
    "Crop borders": "Crop <border = [1, 0, 1, 2]> (x)",
    "Crop to a size": "Crop <border = [1, 1, 9, 9], scale = [2, 2]> (x)",
}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("to", [28, 13, 9, 6])
@pytest.mark.parametrize("dtype", ["float", "float16", "double"])
@pytest.mark.parametrize("node", NODES.values(), ids=NODES.keys())
def test_experiments_on_images_are_lowered_at_every_target(node, dtype, to):
    check_converts(text(node, x=f"{dtype}[1, 2, 3, 4] x", y=f"{dtype}[A, B, C, D] y"), to)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [28, 11, 9])
@pytest.mark.parametrize("dtype", [1, 6, 7, 9])
@pytest.mark.parametrize(
    ("attributes", "given"),
    [
        ("shape = [2, 3]", ""),
        ("value = 2.5", "x"),
        ("extra_shape = [2, 1]", "x"),
        ("input_as_shape = 1", "s"),
        ("input_as_shape = 1, extra_shape = [3], value = -1.0", "s"),
    ],
)
def test_constant_fill_becomes_constant_of_shape(attributes, given, dtype, to):
    name = {1: "float", 6: "int32", 7: "int64", 9: "bool"}[dtype]
    node = f"ConstantFill <{attributes}, dtype = {dtype}> ({given})"
    check_converts(text(node, x="float[N, 2] x, int64[2] s", y=f"{name}[] y"), to, exact=True)


@pytest.mark.parametrize(
    ("attributes", "given"),
    [("shape = [2, 3]", ""), ("", "x"), ("extra_shape = [2]", "z"), ("input_as_shape = 1", "s")],
)
def test_given_values_are_a_constant(attributes, given):
    node = f"GivenTensorFill <values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], {attributes}> ({given})".replace(", >", ">")
    before = (
        '<ir_version: 3, opset_import: ["": 7]> g (float[2, 3] x, float[3] z) => (float[A, B] y) '
        f"<int64[2] s = {{3, 2}}> {{ y = {node} }}"
    )
    converted = check_converts(before, 9, exact=True)
    assert [one.op_type for one in converted.graph.node] == ["Identity"]


@pytest.mark.parametrize("to", [9, 28, 5])
@pytest.mark.parametrize(
    ("node", "words"),
    [
        ('ATen <operator = "embedding"> (x)', ["ATen"]),
        ("GRUUnit (x, x, x, x)", ["gates"]),
        ("MeanVarianceNormalization <across_channels = 1> (x)", ["axes"]),
        ("ScaledTanh <alpha = 1.0> (x)", ["beta"]),
        ("ParametricSoftplus <beta = 1.0> (x)", ["alpha"]),
    ],
)
def test_what_was_never_written_down_is_refused_by_name(node, words, to):
    check_refusal(text(node), to, Why.NO_EQUIVALENT, *words)


def test_what_follows_an_experiment_knows_its_dtype():
    before = """<ir_version: 3, opset_import: ["": 7]> g (float16[N] x) => (float16[N] y)
        { a = Affine <alpha = 2.0> (x) b = Scale <scale = 0.5> (a) y = Relu (b) }"""
    check_converts(before, 13)


def test_an_experiment_is_none_any_more_from_10_on():
    check_refusal(text("Affine (x)", opset=11), 13, Why.UNKNOWN_OPERATOR, "no operator Affine")


def test_the_evaluator_takes_experiments_only_where_not_strict():
    affine = model(text("Affine (x)"))
    inputs = {"x": onnx.numpy_helper.to_array(onnx.helper.make_tensor("x", 1, [1, 2, 3, 4], [0.0] * 24))}
    assert Evaluator(affine, strict=False).run(inputs)["y"].shape == (1, 2, 3, 4)
    with pytest.raises(Exception, match="experiment"):
        Evaluator(affine).run(inputs)


def test_every_experiment_has_a_rule():
    book = default_rule_book()
    assert [name for name in experimental_operators() if not book.experimental("", name, 1)] == []


def test_experiments_are_proven_by_the_certificate():
    certificate = convert(model(text("Affine (x)")), to=9).certificate
    (site,) = certificate.sites
    assert site.cases > 0
    assert site.rules == ["experimental Affine: replace with mul and add"]


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        (ExperimentalOperator("Relu", lowered=unchanged), "Relu was not experimental"),
        (ExperimentalOperator("Affine", until=9, lowered=unchanged), "until opset 9"),
    ],
)
def test_what_was_no_experiment_cannot_be_declared(experiment, message):
    module = ModuleType("third_party")
    module.EXPERIMENTAL_OPERATORS = [experiment]
    with pytest.raises(RuleBookError, match=message):
        RuleBook([module])


def test_an_experiment_is_declared_once():
    modules = [ModuleType("one"), ModuleType("two")]
    for module in modules:
        module.EXPERIMENTAL_OPERATORS = [ExperimentalOperator("Affine", lowered=unchanged)]
    with pytest.raises(RuleBookError, match="declared twice"):
        RuleBook(modules)
