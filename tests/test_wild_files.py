"""Files as old exporters wrote them, against the letter of their opset: taken where runtimes take them, and noted."""

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from opsetlift import convert, normalize, prove_models
from opsetlift.evaluator import Evaluator
from opsetlift.model.files import ModelFileError

pytestmark = pytest.mark.slow

RELU = [helper.make_node("Relu", ["x"], ["y"])]
RESHAPE = [
    helper.make_node("Constant", [], ["s"], value=helper.make_tensor("v", TensorProto.INT64, [2], [-1, 2])),
    helper.make_node("Reshape", ["x", "s"], ["y"]),
]


def file(nodes, *imports):
    """A model of these nodes that imports (domain, opset) pairs, in order."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["A", "B"])],
    )
    model = onnx.ModelProto(ir_version=4, graph=graph)
    for domain, opset in imports:
        model.opset_import.add(domain=domain, version=opset)
    return model


def converted(model, to):
    conversion = convert(model, to=to)
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return conversion


@pytest.mark.parametrize(
    ("imports", "taken"),
    [
        ([("", 7), ("", 9)], "9"),
        ([("", 9), ("", 7)], "7"),
        ([("", 7), ("ai.onnx", 8)], "8"),
    ],
)
def test_of_conflicting_imports_the_last_one_counts(imports, taken):
    conversion = converted(file(RELU, *imports), 11)
    assert [entry.version for entry in conversion.model.opset_import] == [11]
    assert any(f"the last one, {taken}, was used" in note for note in conversion.report.notes)


def test_what_a_conversion_takes_is_proven_as_a_whole_too():
    conflicting = file(RELU, ("", 7), ("", 9))
    assert prove_models(conflicting, converted(conflicting, 11).model).is_equal


def test_an_import_that_is_repeated_is_written_once():
    conversion = converted(file(RELU, ("", 7), ("", 7)), 11)
    assert [(entry.domain, entry.version) for entry in conversion.model.opset_import] == [("", 11)]
    assert not any("imports" in note for note in conversion.report.notes)


@pytest.mark.parametrize("spelling", ["", "ai.onnx"])
def test_nodes_may_spell_out_the_default_domain(spelling):
    node = helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")
    conversion = converted(file([node], (spelling, 7)), 11)
    assert [one.domain for one in conversion.model.graph.node] == [""]
    assert any("'ai.onnx'" in note for note in conversion.report.notes)


def test_nodes_in_subgraphs_may_spell_out_the_default_domain():
    inner = helper.make_node("Relu", ["x"], ["z"], domain="ai.onnx")
    branch = helper.make_graph([inner], "b", [], [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["N", 4])])
    condition = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("v", TensorProto.BOOL, [], [True]))
    choice = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    conversion = converted(file([condition, choice], ("", 11)), 13)
    (node,) = (attribute.g.node[0] for attribute in conversion.model.graph.node[1].attribute[:1])
    assert node.domain == ""


@pytest.mark.parametrize("to", [8, 5, 9, 11, 28])
def test_constants_before_9_may_hold_integers(to):
    conversion = converted(file(RESHAPE, ("", 7)), to)
    onnx.checker.check_model(conversion.model, full_check=True)
    assert "Constant gives no int64 at opset 7; it was read as that of 9" in conversion.report.notes


def test_constants_that_are_what_their_opset_gives_are_not_noted():
    nodes = [helper.make_node("Constant", [], ["c"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [2.0]))]
    conversion = converted(file([*nodes, helper.make_node("Add", ["x", "c"], ["y"])], ("", 7)), 13)
    assert conversion.report.notes == ()


def test_the_evaluator_takes_integers_in_old_constants_only_where_not_strict():
    model, inputs = (
        file(RESHAPE, ("", 7)),
        {"x": onnx.numpy_helper.to_array(helper.make_tensor("x", 1, [1, 4], [0.0] * 4))},
    )
    assert Evaluator(model, strict=False).run(inputs)["y"].shape == (2, 2)
    with pytest.raises(Exception, match="this version has"):
        Evaluator(model).run(inputs)


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Softmax", ["x"], ["y"], axis=-1),
        helper.make_node("Concat", ["x", "x"], ["y"], axis=-1),
        helper.make_node("ReduceSum", ["x"], ["y"], axes=[-1]),
        helper.make_node("ArgMax", ["x"], ["a"], axis=-1),
        helper.make_node("Flatten", ["x"], ["y"], axis=-1),
    ],
    ids=lambda node: node.op_type,
)
@pytest.mark.parametrize("to", [11, 13, 28])
def test_axes_before_11_may_be_negative(node, to):
    nodes = [node] if "y" in node.output else [node, helper.make_node("Relu", ["x"], ["y"])]
    converted(file(nodes, ("", 9)), to)


def test_a_model_without_any_import_is_turned_down_as_runtimes_do():
    with pytest.raises(ModelFileError, match="imports no opset"):
        convert(file(RELU), to=11)


def test_a_missing_import_is_added_where_every_opset_says_the_same():
    text = (
        '<ir_version: 4, opset_import: ["": 9]> g (float[N, 2] x) => (float[N, 2] y) '
        "{ s = ai.onnx.ml.Scaler <offset = [1.0, 2.0], scale = [3.0, 4.0]> (x) y = Relu (s) }"
    )
    model = onnx.parser.parse_model(text)
    conversion = convert(model, to=13)
    assert conversion.certificate.is_proven
    assert {entry.domain: entry.version for entry in conversion.model.opset_import} == {"": 13, "ai.onnx.ml": 1}
    assert any("does not import ai.onnx.ml" in note for note in conversion.report.notes)
    assert len(model.opset_import) == 1


def test_an_output_without_a_type_is_declared_as_it_is_computed():
    model = onnx.parser.parse_model(
        '<ir_version: 4, opset_import: ["": 9]> g (float[N, 2] x) => (float[N, 2] y, int64[2] d) '
        "{ y = Relu (x) d = Shape (y) }"
    )
    given = onnx.ModelProto()
    given.CopyFrom(model)
    for info in given.graph.output:
        info.ClearField("type")
    before = given.SerializeToString()
    conversion = convert(given, to=13)
    assert conversion.certificate.is_proven
    assert [info.type for info in conversion.model.graph.output] == [info.type for info in model.graph.output]
    assert sum("had no type" in note for note in conversion.report.notes) == 2
    assert normalize(given).model.graph.output[0].type == model.graph.output[0].type
    assert given.SerializeToString() == before


def test_an_output_of_which_nobody_knows_the_type_is_turned_down():
    model = onnx.parser.parse_model(
        '<ir_version: 4, opset_import: ["": 9, "mine": 1]> g (float[N] x) => (float[N] y) { y = mine.F (x) }'
    )
    model.graph.output[0].ClearField("type")
    with pytest.raises(ModelFileError, match="graph output 'y' has no type"):
        convert(model, to=13)


@pytest.mark.parametrize(
    ("node", "domain"),
    [("com.microsoft.FastGelu (x)", "com.microsoft"), ("ai.onnx.preview.training.Made_up (x)", "")],
)
def test_the_domain_of_onnxruntime_is_imported_where_that_was_left_out(node, domain):
    text = f'<ir_version: 4, opset_import: ["": 9]> g (float[N, 2] x) => (float[N, 2] y) {{ g = {node} y = Relu (g) }}'
    model = onnx.parser.parse_model(text)
    if not domain:
        with pytest.raises(ModelFileError, match="which is not imported"):
            convert(model, to=13)
        return
    conversion = convert(model, to=13)
    assert {entry.domain: entry.version for entry in conversion.model.opset_import} == {"": 13, domain: 1}
    assert any(f"does not import {domain}" in note for note in conversion.report.notes)


def test_initializers_among_the_inputs_of_a_branch_are_no_inputs():
    text = (
        '<ir_version: 3, opset_import: ["": 8]> g (bool c, float[2] x) => (float[2] y) { y = If (c) < '
        "then_branch = t (float[2] w) => (float[2] a) <float[2] w = {1.0, 2.0}> { a = Add (x, w) }, "
        "else_branch = e () => (float[2] b) { b = Neg (x) }> }"
    )
    model = onnx.parser.parse_model(text)
    branch = model.graph.node[0].attribute[0].g
    if not branch.input:
        branch.input.add().CopyFrom(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    conversion = convert(model, to=13)
    assert conversion.certificate.is_proven
    assert not conversion.model.graph.node[0].attribute[0].g.input
    assert any("were treated as constants" in note for note in conversion.report.notes)
    onnx.checker.check_model(conversion.model, full_check=True)


def test_a_missing_import_is_not_guessed_where_opsets_differ():
    text = (
        '<ir_version: 4, opset_import: ["": 9]> g (int64[N] x) => (string[N] y) '
        '{ y = ai.onnx.ml.LabelEncoder <classes_strings = ["a"]> (x) }'
    )
    with pytest.raises(ModelFileError, match=r"ai\.onnx\.ml, which is not imported"):
        convert(onnx.parser.parse_model(text), to=13)


def test_an_operator_of_a_domain_that_is_not_imported_is_turned_down():
    with pytest.raises(ModelFileError, match=r"ai\.onnx, which is not imported"):
        convert(file(RELU, ("ai.onnx.ml", 1)), to=11)


BINARIZED = """<ir_version: 3, opset_import: ["ai.onnx.ml": 1]> g (float[N, 2] x)
    => (int64[N] label, float[N, 2] scores) {
    label, scores = ai.onnx.ml.TreeEnsembleClassifier <
        class_ids = [0, 0], class_nodeids = [1, 2], class_treeids = [0, 0], class_weights = [0.25, 0.75],
        classlabels_int64s = [0, 1], nodes_falsenodeids = [2, 0, 0], nodes_featureids = [0, 0, 0],
        nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_nodeids = [0, 1, 2], nodes_treeids = [0, 0, 0],
        nodes_truenodeids = [1, 0, 0], nodes_values = [0.5, 0.0, 0.0], post_transform = "LOGISTIC">(x)
}"""


@pytest.mark.parametrize(("to", "imported"), [({"ai.onnx.ml": 5}, 21), ({"": 23, "ai.onnx.ml": 5}, 23)])
def test_a_model_of_another_domain_alone_imports_ai_onnx_where_its_operators_are_needed(to, imported):
    result = converted(onnx.parser.parse_model(BINARIZED), to).model
    assert {entry.domain: entry.version for entry in result.opset_import} == {"ai.onnx.ml": 5, "": imported}


def test_a_model_of_another_domain_alone_imports_nothing_that_it_does_not_need():
    result = converted(onnx.parser.parse_model(BINARIZED), {"ai.onnx.ml": 3}).model
    assert [entry.domain for entry in result.opset_import] == ["ai.onnx.ml"]


def test_an_output_that_is_declared_with_a_false_shape_is_noted_and_left_as_it_is():
    model = onnx.parser.parse_model(
        """<ir_version: 7, opset_import: ["": 12]> g (double[N, 6] x) => (double[N, 6] y)
        <double[6, 1] w = {1, 2, 3, 4, 5, 6}, double[1] b = {1}> { p = MatMul (x, w) y = Add (p, b) }"""
    )
    conversion = converted(model, 15)
    assert any("declares a shape that differs from the inferred one" in note for note in conversion.report.notes)
    assert conversion.model.graph.output == model.graph.output
