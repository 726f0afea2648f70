"""Linear models, support vector machines and trees of ai.onnx.ml, which some releases of onnxruntime mix up."""

from __future__ import annotations

from contextlib import suppress

import numpy
import onnx
import pytest
from onnx import helper

from opsetlift import ConversionRefused, ModelFileError, convert
from opsetlift.evaluator import Evaluator
from tests.test_fallbacks import operators

TREE = (
    "nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0], "
    'nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.5, 0.0, 0.0], '
    "nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0]"
)
"""One node and two leaves, 1 and 2."""


def learnt(node: str, outputs: str) -> onnx.ModelProto:
    """A model of one node that reads `x`, three rows of two numbers."""
    return onnx.parser.parse_model(
        f'<ir_version: 7, opset_import: ["": 12, "ai.onnx.ml": 1]> g (float[3,2] x) => ({outputs}) {{ {node} }}'
    )


def regressor(votes: str, targets: int = 3) -> onnx.ModelProto:
    """An ensemble of one tree; `votes` are the targets for which leaf 1 and leaf 2 vote, as "0 12"."""
    nodes = [place + 1 for place, ids in enumerate(votes.split()) for _ in ids]
    ids = [int(one) for one in votes.replace(" ", "")]
    return learnt(
        f"y = ai.onnx.ml.TreeEnsembleRegressor <{TREE}, n_targets = {targets}, target_treeids = {[0] * len(ids)}, "
        f"target_nodeids = {nodes}, target_ids = {ids}, target_weights = {[0.5 + one for one in ids]}> (x)",
        f"float[3,{targets}] y",
    )


def classifier(votes: str, weights: list[float], labels: int, more: str = "") -> onnx.ModelProto:
    """A classifier of one tree; `votes` as above, of classes."""
    nodes = [place + 1 for place, ids in enumerate(votes.split()) for _ in ids]
    ids = [int(one) for one in votes.replace(" ", "")]
    return learnt(
        f"y, s = ai.onnx.ml.TreeEnsembleClassifier <{TREE}, class_treeids = {[0] * len(ids)}, class_nodeids = {nodes}, "
        f"class_ids = {ids}, class_weights = {weights}, classlabels_int64s = {list(range(labels))}{more}> (x)",
        f"int64[3] y, float[3,{labels}] s",
    )


def refusal(model: onnx.ModelProto, runtime: str) -> str:
    with pytest.raises(ConversionRefused) as refused:
        convert(model, target=runtime)
    return str(refused.value)


@pytest.mark.parametrize("runtime", ["onnxruntime==0.4", "onnxruntime==1.2"])
@pytest.mark.parametrize(("votes", "added"), [("0 12", 3), ("012 12", 1), ("01 01", 2)])
def test_targets_without_votes_get_some_of_0(runtime: str, votes: str, added: int) -> None:
    before = regressor(votes)
    conversion = convert(before, target=runtime)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    (node,) = conversion.model.graph.node
    weights = list(helper.get_node_attr_value(node, "target_weights"))
    assert weights.count(0.0) == added
    assert list(helper.get_node_attr_value(node, "target_treeids")) == [0] * len(weights)


@pytest.mark.parametrize(
    ("votes", "runtime"),
    [("012 012", "onnxruntime==1.2"), ("0 12", "onnxruntime==1.3"), ("0 12", "onnxruntime==0.3")],
)
def test_trees_stay_where_all_targets_get_votes_or_need_none(votes: str, runtime: str) -> None:
    before = regressor(votes)
    (node,) = convert(before, target=runtime).model.graph.node
    assert list(node.attribute) == list(before.graph.node[0].attribute)


def test_one_of_two_trees_that_votes_for_all_is_enough() -> None:
    """As LightGBM and XGBoost write several classes: each tree votes for one of them."""
    text = (
        "y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 2, nodes_treeids = [0, 1], nodes_nodeids = [0, 0], "
        'nodes_featureids = [0, 0], nodes_modes = ["LEAF", "LEAF"], nodes_values = [0.0, 0.0], '
        "nodes_truenodeids = [0, 0], nodes_falsenodeids = [0, 0], target_treeids = [0, 1], target_nodeids = [0, 0], "
        "target_ids = [0, 1], target_weights = [0.5, 1.5]> (x)"
    )
    before = learnt(text, "float[3,2] y")
    (node,) = convert(before, target="onnxruntime==1.0").model.graph.node
    assert len(helper.get_node_attr_value(node, "target_weights")) == 2


def test_classes_without_votes_get_some_of_0() -> None:
    before = classifier("0 12", [0.5, 0.25, 0.75], labels=3)
    conversion = convert(before, target="onnxruntime==1.2")
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    (node,) = conversion.model.graph.node
    assert list(helper.get_node_attr_value(node, "class_weights")).count(0.0) == 3
    (node,) = convert(before, target="onnxruntime==1.3").model.graph.node
    assert list(helper.get_node_attr_value(node, "class_weights")).count(0.0) == 0


@pytest.mark.parametrize(
    ("votes", "weights", "more", "last", "sentence"),
    [
        ("01 01", [0.5, 0.25, 0.5, 0.5], "", "1.2", "mixes up class and scores"),
        ("0 0", [0.5, 0.25], ", base_values = [0.5, 0.25]", "1.2", "mixes up class and scores"),
        ("0 0", [0.5, 0.25], ', post_transform = "PROBIT"', "0.4", "computes PROBIT otherwise"),
    ],
)
def test_two_classes_are_refused_where_releases_mix_them_up(
    votes: str, weights: list[float], more: str, last: str, sentence: str
) -> None:
    before = classifier(votes, weights, 2, more)
    assert sentence in refusal(before, f"onnxruntime=={last}")
    assert operators(convert(before, target="onnxruntime==1.30").model) == ["TreeEnsembleClassifier"]


@pytest.mark.parametrize(
    ("weights", "more", "last", "first"),
    [
        ([0.5, 0.25], ', post_transform = "LOGISTIC"', "1.27", "1.28"),
        ([-0.5, 0.25], "", "1.1", "1.2"),
        ([0.5, 0.25], ", base_values = [0.5]", "1.27", "1.28"),
        ([0.5, 0.25], "", "1.26", "1.25"),
    ],
)
def test_one_score_of_two_classes_is_a_target_where_releases_give_another(
    weights: list[float], more: str, last: str, first: str
) -> None:
    before = classifier("0 0", weights, 2, more)
    conversion = convert(before, target=f"onnxruntime=={last}")
    found = operators(conversion.model)
    assert "TreeEnsembleClassifier" not in found
    assert found.count("TreeEnsembleRegressor") == 1
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    assert operators(convert(before, target=f"onnxruntime=={first}").model) == ["TreeEnsembleClassifier"]


@pytest.mark.parametrize(
    ("votes", "weights", "more"),
    [
        ("0 0", [0.5, 0.25], ""),
        ("0 0", [-0.5, 0.25], ', post_transform = "LOGISTIC"'),
        ("0 0", [-0.5, 0.25], ', base_values = [0.5], post_transform = "LOGISTIC"'),
    ],
)
def test_two_classes_as_exporters_write_them_stay_in_all_releases(votes: str, weights: list[float], more: str) -> None:
    before = classifier(votes, weights, 2, more)
    for release in ("0.3", "1.0", "1.2", "1.30"):
        (node,) = convert(before, target=f"onnxruntime=={release}").model.graph.node
        assert list(node.attribute) == list(before.graph.node[0].attribute)


@pytest.mark.parametrize("aggregate", ["MIN", "MAX"])
def test_extremes_of_trees_are_refused_below_0_5(aggregate: str) -> None:
    before = regressor("0 0", targets=1)
    before.graph.node[0].attribute.append(helper.make_attribute("aggregate_function", aggregate))
    assert f"computes {aggregate} otherwise" in refusal(before, "onnxruntime==0.4")
    assert operators(convert(before, target="onnxruntime==0.5").model) == ["TreeEnsembleRegressor"]


LINEAR = (
    "y, s = ai.onnx.ml.LinearClassifier <coefficients = [1.0, -2.0], intercepts = [0.5], classlabels_ints = [0, 1], "
    'post_transform = "{}"> (x)'
)


@pytest.mark.parametrize("runtime", ["onnxruntime==0.3", "onnxruntime==1.10", "onnxruntime==1.26"])
def test_the_logistic_function_of_one_score_is_computed_in_steps(runtime: str) -> None:
    before = learnt(LINEAR.format("LOGISTIC"), "int64[3] y, float[3,2] s")
    conversion = convert(before, target=runtime)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    assert "Sigmoid" in operators(conversion.model)
    rows = numpy.array([[0, 1], [2, 0.5], [-1, -1]], numpy.float32)
    one, other = (Evaluator(model).run({"x": rows}) for model in (before, conversion.model))
    numpy.testing.assert_allclose(one["s"], other["s"], rtol=1e-6)
    assert operators(convert(before, target="onnxruntime==1.27").model) == ["LinearClassifier"]


def test_probit_of_one_score_is_refused_everywhere() -> None:
    before = learnt(LINEAR.format("PROBIT"), "int64[3] y, float[3,2] s")
    for release in ("0.5", "1.10", "1.32"):
        assert "leaves one of two scores as it is in memory" in refusal(before, f"onnxruntime=={release}")


SUPPORT_VECTORS = (
    'y, s = ai.onnx.ml.SVMClassifier <kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0], rho = [0.25], '
    "vectors_per_class = [1, 1], support_vectors = [1.0, 2.0, -1.0, 0.5], coefficients = [0.5, -0.75], "
    "classlabels_ints = [0, 1]{}> (x)"
)


@pytest.mark.parametrize(
    ("more", "release", "sentence"),
    [
        (', post_transform = "PROBIT"', "1.32", "leaves one of two scores as it is in memory"),
        (', post_transform = "PROBIT", prob_a = [1.0], prob_b = [0.5]', "0.4", "computes PROBIT otherwise"),
    ],
)
def test_support_vector_machines_with_probit_are_refused(more: str, release: str, sentence: str) -> None:
    before = learnt(SUPPORT_VECTORS.format(more), "int64[3] y, float[3,2] s")
    assert sentence in refusal(before, f"onnxruntime=={release}")


@pytest.mark.parametrize(("more", "last"), [("", "0.4"), (', post_transform = "LOGISTIC"', "1.26")])
def test_support_vector_machines_of_two_classes_are_computed_in_steps(more: str, last: str) -> None:
    before = learnt(SUPPORT_VECTORS.format(more), "int64[3] y, float[3,2] s")
    found = convert(before, target=f"onnxruntime=={last}")
    assert found.certificate is not None
    assert found.certificate.is_proven
    assert "Exp" in operators(found.model)
    following = {"0.4": "0.5", "1.26": "1.27"}[last]
    assert operators(convert(before, target=f"onnxruntime=={following}").model) == ["SVMClassifier"]


def test_support_vector_machines_without_support_vectors() -> None:
    node = (
        'y, s = ai.onnx.ml.SVMClassifier <kernel_type = "LINEAR", rho = [0.25], classlabels_ints = [0, 1, 2], '
        "coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> (x)"
    )
    before = learnt(node, "int64[3] y, float[3,3] s")
    assert operators(convert(before, target="onnxruntime==1.2").model) == ["MatMul", "Add", "ArgMax"]
    assert operators(convert(before, target="onnxruntime==1.3").model) == ["SVMClassifier"]


@pytest.mark.parametrize("release", ["1.2", "1.10", "1.13", "1.14"])
def test_floats_for_floats_are_gathered_below_1_15(release: str) -> None:
    node = "y = ai.onnx.ml.LabelEncoder <keys_floats = [0.0, 1.0], values_floats = [5.0, 6.5], default_float = 0.5> (x)"
    before = learnt(node, "float[3,2] y")
    before.opset_import[1].version = 2
    assert operators(convert(before, target=f"onnxruntime=={release}").model) == ["LabelEncoder", "Gather"]
    assert operators(convert(before, target="onnxruntime==1.15").model) == ["LabelEncoder"]


def test_a_false_shape_behind_an_operator_of_another_domain_is_corrected() -> None:
    """As skl2onnx declares what PLSRegression gives after a Normalizer."""
    text = """<ir_version: 7, opset_import: ["": 14, "ai.onnx.ml": 1]> g (float[N,4] x) => (float[N,4] y)
        <float[4,1] w = {1, 2, 3, 4}, float[1] b = {2}>
        { v = ai.onnx.ml.Normalizer <norm = "L1"> (x) z = MatMul (v, w) y = Add (z, b) }"""
    before = onnx.parser.parse_model(text)
    conversion = convert(before, target="onnxruntime==1.4")
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven
    dims = conversion.model.graph.output[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == ["N", 1]


def test_opencv_takes_no_texts() -> None:
    text = """<ir_version: 7, opset_import: ["": 11]> g (float[2,2] x) => (float[2,2] y, string[2,2] z)
        <string[2,2] labels = {"a", "b", "c", "d"}> { y = Relu (x) z = Transpose (labels) }"""
    before = onnx.parser.parse_model(text)
    for release in ("4.14", "5.0"):
        assert "string" in refusal(before, f"opencv=={release}")


@pytest.mark.parametrize(
    "runtime", ["openvino==2021.4", "opencv==4.5", "opencv==4.14", "onnxruntime==1.4", "mnn", "tract"]
)
@pytest.mark.parametrize(
    "node",
    [
        "y = GatherElements <axis = 1> (x, k)",
        "y = Gather <axis = 1> (x, k)",
        "y = LpNormalization (x)",
        "y = LogSoftmax (x)",
        "y = ReduceSum (x)",
    ],
)
def test_axes_of_unknown_ranks_are_no_faults_of_ours(runtime: str, node: str) -> None:
    """Scripts export models in which neither rank nor shape is known."""
    text = f'<ir_version: 7, opset_import: ["": 13]> g (float x, int64 k) => (float y) {{ {node} }}'
    before = onnx.parser.parse_model(text)
    for is_known in (True, False):
        if not is_known:
            for info in (*before.graph.input, *before.graph.output):
                info.type.tensor_type.ClearField("shape")
        with suppress(ConversionRefused, ModelFileError):  # one clear sentence, and no InternalError
            convert(before, target=runtime)


def test_open_sizes_of_a_kernel_are_no_fault_of_ours() -> None:
    text = """<ir_version: 7, opset_import: ["": 10]>
        g (uint8[N,C,H,W] x, float s, uint8 z, uint8[M,C,K,L] w, float t, uint8 v, float u, uint8 p) => (uint8 y)
        { y = QLinearConv (x, s, z, w, t, v, u, p) }"""
    before = onnx.parser.parse_model(text)
    before.graph.output[0].type.tensor_type.ClearField("shape")
    for runtime in ("openvino==2026.4", "opencv==4.14", "tract", "mnn"):
        with suppress(ConversionRefused, ModelFileError):
            convert(before, target=runtime)


ROWS = numpy.array([[0, 0.5], [2, 0.25], [-1, 1], [numpy.nan, numpy.nan], [0.5, -3]], numpy.float32)
RUNTIMES_WITHOUT = ["openvino==2021.4", "openvino==2022.3", "openvino==2026.4", "opencv==5.0"]
BRANCHES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def in_steps(before: onnx.ModelProto, runtime: str, rows: numpy.ndarray = ROWS) -> list[str]:
    """The operators of a model without those of ai.onnx.ml, proven, and compared on rows."""
    found = convert(before, target=runtime, fix_shapes={"x": list(rows.shape)})
    assert found.certificate is not None
    assert found.certificate.is_proven
    assert not any(node.domain for node in found.model.graph.node)
    one, other = (Evaluator(model).run({"x": rows}) for model in (before, found.model))
    for name, value in one.items():
        numpy.testing.assert_allclose(other[name], value, rtol=1e-5, atol=1e-6)
    return operators(found.model)


def rows_of(node: str, outputs: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 7, opset_import: ["": 13, "ai.onnx.ml": 1]> g (float[N,2] x) => ({outputs}) {{ {node} }}'
    )


@pytest.mark.parametrize("mode", BRANCHES)
@pytest.mark.parametrize("missing", ["", ", nodes_missing_value_tracks_true = [1, 0, 1, 0, 0, 0, 0]"])
def test_trees_become_comparisons_and_products(mode: str, missing: str) -> None:
    """Three branches and four leaves, and a tree that is a leaf; missing values take either branch."""
    other = BRANCHES[(BRANCHES.index(mode) + 1) % len(BRANCHES)]
    node = f"""y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 2, nodes_treeids = [0, 0, 0, 0, 0, 0, 0, 1],
        nodes_nodeids = [0, 1, 2, 3, 4, 5, 6, 0], nodes_featureids = [0, 1, 0, 0, 0, 0, 0, 0],
        nodes_modes = ["{mode}", "{other}", "{mode}", "LEAF", "LEAF", "LEAF", "LEAF", "LEAF"],
        nodes_values = [0.5, 0.25, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0], nodes_truenodeids = [1, 3, 5, 0, 0, 0, 0, 0],
        nodes_falsenodeids = [2, 4, 6, 0, 0, 0, 0, 0]{missing.replace("0, 0]", "0, 0, 0]")},
        target_treeids = [0, 0, 0, 0, 0, 1], target_nodeids = [3, 4, 5, 6, 6, 0], target_ids = [0, 1, 0, 0, 1, 1],
        target_weights = [1.0, 2.0, 4.0, 8.0, 16.0, 0.5], base_values = [0.25, -0.25]> (x)"""
    before = rows_of(node, "float[N,2] y")
    for runtime in RUNTIMES_WITHOUT:
        found = in_steps(before, runtime)
        assert found.count("MatMul") == 2
        assert "TreeEnsembleRegressor" not in found


@pytest.mark.parametrize(("votes", "labels"), [("0 0", 2), ("01 01", 2), ("0 12", 3)])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("weight", [0.75, -0.75])
def test_classifying_trees_become_comparisons_and_products(
    votes: str, labels: int, transform: str, weight: float
) -> None:
    weights = [weight if not place % 2 else 0.25 for place in range(len(votes.replace(" ", "")))]
    before = classifier(votes, weights, labels, f', post_transform = "{transform}"')
    before.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    for info in before.graph.output:
        info.type.tensor_type.shape.dim[0].dim_param = "N"
    for runtime in ("openvino==2022.3", "opencv==5.0"):
        assert "MatMul" in in_steps(before, runtime)


def test_averages_of_trees_are_divided() -> None:
    before = regressor("01 01", targets=2)
    before.graph.node[0].attribute.append(helper.make_attribute("aggregate_function", "AVERAGE"))
    assert in_steps(before, "openvino==2022.3", ROWS[:3])[-1] == "Div"


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ('aggregate_function = "MAX"', "has no TreeEnsembleRegressor"),
        ('post_transform = "PROBIT"', "has no TreeEnsembleRegressor"),
    ],
)
def test_trees_that_are_no_sums_are_refused(more: str, sentence: str) -> None:
    before = regressor("0 0", targets=1)
    name, value = more.split(" = ")
    before.graph.node[0].attribute.append(helper.make_attribute(name, value.strip('"')))
    assert sentence in refusal(before, "openvino==2022.3")


@pytest.mark.parametrize(
    ("holds", "fails", "sentence"),
    [
        ([1, 3, 0, 0], [2, 2, 0, 0], "a node of a tree is the child of two others"),
        ([1, 3, 0, 0], [1, 2, 0, 0], "a node of a tree is the child of two others"),
        ([1, 0, 0, 0], [2, 3, 0, 0], "a tree must have exactly one root"),
    ],
)
def test_what_is_no_tree_is_refused(holds: list[int], fails: list[int], sentence: str) -> None:
    node = f"""y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0, 0, 0],
        nodes_nodeids = [0, 1, 2, 3], nodes_featureids = [0, 0, 0, 0], nodes_values = [0.5, 0.25, 0.0, 0.0],
        nodes_modes = ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF"], nodes_truenodeids = {holds},
        nodes_falsenodeids = {fails}, target_treeids = [0, 0], target_nodeids = [2, 3], target_ids = [0, 0],
        target_weights = [1.0, 2.0]> (x)"""
    assert sentence in refusal(learnt(node, "float[3,1] y"), "openvino==2022.3")


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (
            'y = ai.onnx.ml.SVMRegressor <kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0], rho = [0.25], '
            "n_supports = 2, support_vectors = [1.0, 2.0, -1.0], coefficients = [0.5, -0.75]> (x)",
            "3 values do not fit 2 support vectors",
        ),
        (
            'y = ai.onnx.ml.SVMRegressor <kernel_type = "LINEAR", n_supports = 0, coefficients = [0.5, -0.75]> (x)',
            "rho must have 1 elements, not 0",
        ),
        (
            'l, y = ai.onnx.ml.SVMClassifier <kernel_type = "LINEAR", rho = [0.25], coefficients = [0.5, -0.75, 1.0], '
            "classlabels_ints = [0, 1]> (x)",
            "3 coefficients do not fit 2 classes",
        ),
        (
            'l, y = ai.onnx.ml.SVMClassifier <kernel_type = "LINEAR", rho = [0.25], coefficients = [0.5, -0.75, 1.0], '
            "vectors_per_class = [1, 1], support_vectors = [1.0, 2.0, 3.0, 4.0], classlabels_ints = [0, 1]> (x)",
            "3 coefficients do not fit 2 classes",
        ),
        ("y = ai.onnx.ml.Imputer <imputed_value_int64s = [3]> (x)", "imputed_value_floats should be defined for float"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(node: str, sentence: str) -> None:
    outputs = "int64[3] l, float y" if node.startswith("l") else "float y"
    before = learnt(node, outputs)
    before.graph.output[-1].type.tensor_type.ClearField("shape")
    assert sentence in refusal(before, "openvino==2022.3")


def test_trees_that_take_too_much_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsetlift_rules.helpers.tree_products._MOST_ELEMENTS", 1)
    assert "the trees would take more than 64 MiB" in refusal(regressor("0 0", targets=1), "openvino==2022.3")


def test_many_trees_are_computed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opsetlift_rules.helpers.tree_products._ELEMENTS_OF_A_PART", 3)
    node = f"""y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0, 0, 1, 1, 1],
        nodes_nodeids = [0, 1, 2, 0, 1, 2], nodes_featureids = [0, 0, 0, 1, 0, 0],
        nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"],
        nodes_values = [0.5, 0.0, 0.0, 0.25, 0.0, 0.0], nodes_truenodeids = [1, 0, 0, 1, 0, 0],
        nodes_falsenodeids = [2, 0, 0, 2, 0, 0], target_treeids = {[0, 0, 1, 1]}, target_nodeids = [1, 2, 1, 2],
        target_ids = [0, 0, 0, 0], target_weights = [1.0, 2.0, 4.0, 8.0]> (x)"""
    assert in_steps(rows_of(node, "float[N,1] y"), "openvino==2022.3").count("MatMul") == 4


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("one_class", [0, 1])
def test_kernels_of_support_vectors_become_products(kernel: str, one_class: int) -> None:
    node = (
        f'y = ai.onnx.ml.SVMRegressor <kernel_type = "{kernel}", kernel_params = [0.5, 0.25, 3.0], rho = [0.25], '
        "n_supports = 2, support_vectors = [1.0, 2.0, -1.0, 0.5], coefficients = [0.5, -0.875], "
        f"one_class = {one_class}> (x)"
    )
    before = rows_of(node, "float[N,1] y")
    for runtime in ("openvino==2022.3", "opencv==5.0"):
        assert "MatMul" in in_steps(before, runtime, ROWS[:3])


def test_three_classes_of_support_vectors_vote_by_pairs() -> None:
    node = (
        'y, s = ai.onnx.ml.SVMClassifier <kernel_type = "LINEAR", rho = [0.25, -0.5, 0.125], '
        "vectors_per_class = [1, 2, 1], support_vectors = [1.0, 2.0, -1.0, 0.5, 0.25, 0.75, 2.0, -2.0], "
        "coefficients = [0.5, -0.75, 1.0, -0.25, 0.125, 0.375, -1.5, 0.625], classlabels_ints = [5, 7, 9]> (x)"
    )
    before = rows_of(node, "int64[N] y, float[N,3] s")
    for runtime in ("openvino==2022.3", "opencv==5.0"):
        assert "ArgMax" in in_steps(before, runtime, ROWS[:3])


def test_probabilities_of_support_vectors_are_refused() -> None:
    before = learnt(SUPPORT_VECTORS.format(", prob_a = [1.0], prob_b = [0.5]"), "int64[3] y, float[3,2] s")
    assert "has no SVMClassifier" in refusal(before, "openvino==2022.3")


@pytest.mark.parametrize("replaced", ["", ", replaced_value_float = 0.5"])
def test_imputer_becomes_a_where(replaced: str) -> None:
    # Without the attribute, NaN is not what is replaced: its default is 0.
    before = rows_of(f"y = ai.onnx.ml.Imputer <imputed_value_floats = [3.0, 4.0]{replaced}> (x)", "float[N,2] y")
    for runtime in ("openvino==2022.3", "opencv==5.0"):
        assert "Imputer" not in in_steps(before, runtime)
    nan = rows_of("y = ai.onnx.ml.Imputer <imputed_value_floats = [3.0]> (x)", "float[N,2] y")
    nan.graph.node[0].attribute.append(helper.make_attribute("replaced_value_float", float("nan")))
    assert in_steps(nan, "openvino==2022.3")[-1] == "Where"


def test_one_hot_encoder_becomes_a_comparison() -> None:
    before = rows_of("y = ai.onnx.ml.OneHotEncoder <cats_int64s = [0, 2, -1], zeros = 1> (x)", "float[N,2,3] y")
    for runtime in ("openvino==2022.3", "opencv==5.0"):
        assert in_steps(before, runtime, ROWS[:3])[-1] == "Equal"


def test_label_encoder_compares_where_there_is_none() -> None:
    node = (
        "y = ai.onnx.ml.LabelEncoder <keys_floats = [0.5, -1.0], values_floats = [5.0, 6.5], default_float = 0.5> (x)"
    )
    before = rows_of(node, "float[N,2] y")
    before.opset_import[1].version = 2
    for runtime in ("openvino==2021.4", "openvino==2022.3", "opencv==5.0"):
        assert "Gather" in in_steps(before, runtime, ROWS[:3])


def test_columns_of_a_vector_are_gathered_from_it() -> None:
    """As skl2onnx looks labels up."""
    text = """<ir_version: 7, opset_import: ["": 13, "ai.onnx.ml": 1]> g (float[3,2] x) => (int64[1,3] y)
        <int32[2] labels = {5, 7}>
        { i = ArgMax <axis = 1> (x) z = ai.onnx.ml.ArrayFeatureExtractor (labels, i) y = Cast <to = 7> (z) }"""
    before = onnx.parser.parse_model(text)
    for runtime in ("opencv==5.0", "openvino==2022.3"):
        found = convert(before, target=runtime)
        assert found.certificate is not None
        assert found.certificate.is_proven
        assert "Gather" in operators(found.model)
        # OpenVINO 2022.3 finds the first of equal numbers with an axis behind only.
        assert operators(found.model).count("Unsqueeze") == (runtime == "openvino==2022.3")


@pytest.mark.parametrize("votes", ["0 0", "0 12"])
def test_votes_of_a_tenth_are_a_tie_at_one_half_for_doubles_as_well(votes: str) -> None:
    """Ten trees that are leaves and one with a branch; the fifth of a tie of floats is above one half in double."""
    labels = 2 if votes == "0 0" else 3
    before = classifier(votes, [0.1, *[0.2] * (len(votes.replace(" ", "")) - 1)], labels)
    before.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    node = before.graph.node[0]
    more = {"treeids": range(1, 5), "nodeids": [0] * 4, "ids": [0] * 4, "weights": [0.1] * 4}
    for attribute in node.attribute:
        name = attribute.name.removeprefix("class_")
        if attribute.name.startswith("class_"):
            (attribute.floats if name == "weights" else attribute.ints).extend(more[name])
        elif attribute.name == "nodes_treeids":
            attribute.ints.extend(range(1, 5))
        elif attribute.name == "nodes_modes":
            attribute.strings.extend([b"LEAF"] * 4)
        elif attribute.name.startswith("nodes_"):
            (attribute.floats if attribute.floats else attribute.ints).extend([0] * 4)
    found = convert(before, target="openvino==2026.4")
    assert found.certificate is not None
    assert found.certificate.is_proven
    rows = ROWS[:3].astype(numpy.float64)
    one, other = (Evaluator(model).run({"x": rows}) for model in (before, found.model))
    assert one["y"].tolist() == other["y"].tolist()
    if labels == 2:
        assert one["y"].tolist() == [0, 0, 1]
