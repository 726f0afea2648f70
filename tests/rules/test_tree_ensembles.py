"""Ensembles of trees between the opsets of ai.onnx.ml."""

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_refusal

DOMAIN = "ai.onnx.ml"
TYPES = {"float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "int64": TensorProto.INT64}
TYPES.update({"float16": TensorProto.FLOAT16, "string": TensorProto.STRING})

# Two trees: x0 <= 0.5 ? (x1 > -1 ? leaf : leaf) : leaf, and x1 != 2 ? leaf : leaf.
NODES = {
    "nodes_treeids": [0, 0, 0, 0, 0, 1, 1, 1],
    "nodes_nodeids": [0, 1, 2, 3, 4, 0, 1, 2],
    "nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_NEQ", "LEAF", "LEAF"],
    "nodes_featureids": [0, 1, 0, 0, 0, 1, 0, 0],
    "nodes_values": [0.5, -1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 2, 0, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [4, 3, 0, 0, 0, 2, 0, 0],
    "nodes_missing_value_tracks_true": [1, 0, 0, 0, 0, 0, 0, 0],
}
LEAVES = [(0, 2), (0, 3), (0, 4), (1, 1), (1, 2)]


def votes(prefix, per_leaf):
    """Every leaf votes for each of the targets in `per_leaf`, with a weight of its own."""
    columns = [(tree, node, target) for tree, node in LEAVES for target in per_leaf]
    weights = [0.25 * number - 1.5 for number in range(len(columns))]
    names = ("treeids", "nodeids", "ids")
    found = {f"{prefix}_{name}": list(column) for name, column in zip(names, zip(*columns, strict=True), strict=True)}
    return {**found, f"{prefix}_weights": weights}


def ensemble(operator, ml, x="float", outputs=(("y", "float"),), **attributes):
    """A model of one node; attributes that are None are left out."""
    given = {name: value for name, value in attributes.items() if value is not None}
    node = helper.make_node(operator, ["x"], [name for name, _ in outputs], domain=DOMAIN, **given)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TYPES[x], ["N", 2])],
        [helper.make_tensor_value_info(name, TYPES[kind], None) for name, kind in outputs],
    )
    imports = [helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, ml)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def operators(model, to):
    conversion = convert(model, to={DOMAIN: to})
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return [node.op_type for node in conversion.model.graph.node]


def written_as_runtimes_read(found, transform):
    """Whether a transform is an operator where onnxruntime takes it for another of TreeEnsemble."""
    operator = {"SOFTMAX": "Softmax", "LOGISTIC": "Sigmoid"}.get(transform, "TreeEnsemble")
    return "TreeEnsemble" in found and operator in found


def doubles(values):
    return helper.make_tensor("t", TensorProto.DOUBLE, [len(values)], values)


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("x", ["float", "double", "int64"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("base", [None, [0.5], [0.5, -2.0]])
def test_regressors_become_tree_ensembles(x, aggregate, base):
    targets = len(base or [0, 0])
    model = ensemble(
        "TreeEnsembleRegressor", 3, x, n_targets=targets, aggregate_function=aggregate, base_values=base,
        **NODES, **votes("target", range(targets)),
    )  # fmt: skip
    assert "TreeEnsemble" in operators(model, 5)


def test_a_plain_regressor_becomes_one_node():
    model = ensemble("TreeEnsembleRegressor", 1, n_targets=1, **NODES, **votes("target", [0]))
    assert operators(model, 5) == ["TreeEnsemble"]


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("labels", [{"classlabels_int64s": [7, -2, 5]}, {"classlabels_strings": ["a", "b", "c"]}])
def test_classifiers_of_many_classes_become_tree_ensembles(transform, labels):
    kind = "string" if "classlabels_strings" in labels else "int64"
    model = ensemble(
        "TreeEnsembleClassifier", 3, "float", (("y", kind), ("z", "float")), post_transform=transform,
        base_values=[0.5, 0.0, 1.0], **labels, **NODES, **votes("class", [0, 1, 2]),
    )  # fmt: skip
    assert written_as_runtimes_read(operators(model, 5), transform)


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("base", [None, [0.25]])
def test_classifiers_with_one_score_for_two_classes_become_tree_ensembles(transform, sign, base):
    given = votes("class", [0])
    given["class_weights"] = [abs(weight) * (1 if place else sign) / 4 for place, weight in enumerate([1, 2, 0, 1, 2])]
    model = ensemble(
        "TreeEnsembleClassifier", 3, "float", (("y", "int64"), ("z", "float")), post_transform=transform,
        base_values=base, classlabels_int64s=[3, 9], **NODES, **given,
    )  # fmt: skip
    assert written_as_runtimes_read(operators(model, 5), transform)


def test_a_tree_that_is_a_leaf_stays_one():
    nodes = {name: [values[2]] for name, values in NODES.items()} | {"nodes_nodeids": [0]}
    leaf = {"target_treeids": [0], "target_nodeids": [0], "target_ids": [0], "target_weights": [2.5]}
    assert operators(ensemble("TreeEnsembleRegressor", 3, n_targets=1, **nodes, **leaf), 5) == ["TreeEnsemble"]


def test_doubles_that_are_floats_become_lists_below_3():
    nodes = {name: value for name, value in NODES.items() if name != "nodes_values"}
    given = votes("target", [0])
    weights = given.pop("target_weights")
    model = ensemble(
        "TreeEnsembleRegressor", 3, "double", n_targets=1, nodes_values_as_tensor=doubles(NODES["nodes_values"]),
        target_weights_as_tensor=doubles(weights), nodes_hitrates_as_tensor=doubles([1.0] * 8), **nodes, **given,
    )  # fmt: skip
    assert operators(model, 1) == ["TreeEnsembleRegressor"]
    assert operators(model, 5) == ["TreeEnsemble", "Cast"]
    uneven = [*NODES["nodes_values"][:-1], 0.1]
    model.graph.node[0].attribute.remove(next(a for a in model.graph.node[0].attribute if "values_as" in a.name))
    model.graph.node[0].attribute.append(helper.make_attribute("nodes_values_as_tensor", doubles(uneven)))
    with pytest.raises(Exception, match="floats do not hold these doubles"):
        convert(model, to={DOMAIN: 1})


def test_leaves_without_votes_take_no_part_in_a_minimum():
    given = {name: values[:-1] for name, values in votes("target", [0]).items()}
    model = ensemble("TreeEnsembleRegressor", 3, n_targets=1, aggregate_function="MIN", **NODES, **given)
    check_refused(model, 5, "skips leaves")


def check_refused(model, to, *words):
    check_refusal(onnx.printer.to_text(model), to, Why.NO_EQUIVALENT, *words, domain=DOMAIN)


def new_ensemble(x="float", **changed):
    """x0 in {1, 2.5, -3} ? leaf : (x1 < 0 ? leaf : leaf), and a leaf alone."""
    dtype = {"float": numpy.float32, "double": numpy.float64, "float16": numpy.float16}[x]

    def tensor(values):
        return onnx.numpy_helper.from_array(numpy.array(values, dtype))

    attributes = {
        "n_targets": 2,
        "tree_roots": [0, 2],
        "nodes_modes": onnx.numpy_helper.from_array(numpy.array([6, 1, 0], numpy.uint8)),
        "nodes_featureids": [0, 1, 0],
        "nodes_splits": tensor([0.0, 0.0, 0.0]),
        "nodes_truenodeids": [0, 1, 3],
        "nodes_trueleafs": [1, 1, 1],
        "nodes_falsenodeids": [1, 2, 3],
        "nodes_falseleafs": [0, 1, 1],
        "nodes_missing_value_tracks_true": [0, 1, 0],
        "leaf_targetids": [0, 1, 0, 1],
        "leaf_weights": tensor([1.5, -2.0, 0.25, 3.0]),
        "membership_values": tensor([1.0, 2.5, -3.0]),
        **changed,
    }
    return ensemble("TreeEnsemble", 5, x, (("y", x),), **attributes)


@pytest.mark.quick_share(9)
@pytest.mark.parametrize("aggregate", [0, 1, 2, 3])
@pytest.mark.parametrize("transform", [0, 1, 2])
@pytest.mark.parametrize("to", [4, 3, 1])
def test_tree_ensembles_become_regressors_below_5(aggregate, transform, to):
    model = new_ensemble(aggregate_function=aggregate, post_transform=transform)
    assert operators(model, to) == ["TreeEnsembleRegressor"]


def test_narrow_floats_are_computed_in_float_below_5():
    assert operators(new_ensemble("float16"), 3) == ["Cast", "TreeEnsembleRegressor", "Cast"]


def test_an_empty_set_has_no_member():
    nan = numpy.array([float("nan"), 7.0], numpy.float32)
    model = new_ensemble(
        nodes_modes=onnx.numpy_helper.from_array(numpy.array([6, 6, 0], numpy.uint8)),
        membership_values=onnx.numpy_helper.from_array(nan),
    )
    assert operators(model, 3) == ["TreeEnsembleRegressor"]


def test_doubles_are_refused_below_5():
    check_refused(new_ensemble("double"), 4, "compute in double")


def test_regressors_come_back_as_they_went():
    model = ensemble("TreeEnsembleRegressor", 3, n_targets=1, **NODES, **votes("target", [0]))
    there = convert(model, to={DOMAIN: 5}).model
    back = convert(there, to={DOMAIN: 3}).model
    (node,), (original,) = back.graph.node, model.graph.node
    assert node.op_type == original.op_type
    assert len(node.attribute) >= len(original.attribute)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_onnxruntime_computes_the_same_before_and_after(transform):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = ensemble(
        "TreeEnsembleClassifier", 3, "float", (("y", "int64"), ("z", "float")), post_transform=transform,
        classlabels_int64s=[7, -2, 5], **NODES, **votes("class", [0, 1, 2]),
    )  # fmt: skip
    x = numpy.array([[0, 0], [1, 1], [0.5, -1], [numpy.nan, 2], [2, numpy.nan]], numpy.float32)
    before, after = (
        onnxruntime.InferenceSession(one.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
        for one in (model, convert(model, to={DOMAIN: 5}).model)
    )
    numpy.testing.assert_array_equal(after[0], before[0])
    numpy.testing.assert_allclose(after[1], before[1], rtol=1e-6)
