"""Shapes that the texts of ai.onnx.ml give and onnx's inference leaves open."""

from __future__ import annotations

import numpy
import onnx.parser
import onnxruntime
import pytest

import opsetlift
from opsetlift.facts import ModelFacts

_HEAD = '<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 1]>\nmodel (float[N, 2] x) => ({outputs}) {{ {node} }}'

_TREE = """nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0],
    nodes_values = [0.5, 0.0, 0.0],
    nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
    nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0]"""

_SVM = """kernel_type = "LINEAR", kernel_params = [0.5, 0.0, 3.0], coefficients = [1.0, -1.0], rho = [0.1],
    support_vectors = [1.0, 2.0, 3.0, 4.0]"""

NODES = {
    "Imputer": "y = ai.onnx.ml.Imputer <imputed_value_floats = [1.0, 2.0], replaced_value_float = 0.0> (x)",
    "LinearClassifier": """label, y = ai.onnx.ml.LinearClassifier
        <coefficients = [1.0, 2.0, -1.0, -2.0], intercepts = [0.0, 0.5], classlabels_ints = [0, 1]> (x)""",
    "LinearRegressor": "y = ai.onnx.ml.LinearRegressor <coefficients = [1.0, 2.0, 3.0, 4.0], targets = 2> (x)",
    "Normalizer": 'y = ai.onnx.ml.Normalizer <norm = "L2"> (x)',
    "SVMRegressor": f"y = ai.onnx.ml.SVMRegressor <{_SVM}, n_supports = 2> (x)",
    "Scaler": "y = ai.onnx.ml.Scaler <offset = [1.0, 2.0], scale = [1.0, 2.0]> (x)",
    "TreeEnsembleRegressor": f"""y = ai.onnx.ml.TreeEnsembleRegressor <{_TREE}, n_targets = 2, target_treeids = [0, 0],
        target_nodeids = [1, 2], target_ids = [0, 1], target_weights = [1.0, 2.0]> (x)""",
    "TreeEnsembleClassifier": f"""label, y = ai.onnx.ml.TreeEnsembleClassifier <{_TREE}, class_treeids = [0, 0],
        class_nodeids = [1, 2], class_ids = [0, 1], class_weights = [1.0, 2.0], classlabels_int64s = [3, 5]> (x)""",
}


@pytest.mark.parametrize("operator", NODES)
def test_the_shapes_are_those_that_onnxruntime_computes(operator: str) -> None:
    outputs = "int64[A] label, float[B, C] y" if "label" in NODES[operator] else "float[B, C] y"
    model = onnx.parser.parse_model(_HEAD.format(outputs=outputs, node=NODES[operator]))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [info.name for info in model.graph.output]
    rows = 3
    computed = dict(zip(names, session.run(names, {"x": numpy.ones((rows, 2), numpy.float32)}), strict=True))

    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    facts = ModelFacts(model).graph
    for name, value in computed.items():
        shape = facts.shape(name)
        assert shape is not None
        assert len(shape) == value.ndim
        assert all(size in (None, "N", actual) for size, actual in zip(shape, value.shape, strict=True))
        assert shape[0] == "N"
        assert value.shape[0] == rows


@pytest.mark.parametrize("labels", ["classlabels_ints = [3, 5]", 'classlabels_strings = ["a", "b"]'])
@pytest.mark.parametrize("sizes", ["N", "4"])
def test_a_classifier_without_intercepts_has_a_score_for_each_class(sizes: str, labels: str) -> None:
    """onnx's inference counts the intercepts."""
    text = f"""<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml" : 1]> g (float[{sizes}, 2] x) => (float[A, B] z) {{
        label, y = ai.onnx.ml.LinearClassifier <coefficients = [1.0, 2.0, -1.0, -2.0], {labels}> (x)
        z = Neg (y) }}"""
    facts = ModelFacts(onnx.parser.parse_model(text)).graph
    assert [facts.shape(name) for name in ("y", "z")] == [[int(sizes) if sizes.isdigit() else sizes, 2]] * 2


def test_what_reads_a_forest_is_converted_below_11() -> None:
    chosen = "i = Constant <value = int64[1, 1] {0}> () z = GatherElements <axis = 1> (y, i)"
    node = f"{NODES['TreeEnsembleRegressor']} {chosen}"
    model = onnx.parser.parse_model(_HEAD.format(outputs="float[B, C] z", node=node))
    result = opsetlift.convert(model, to=10).model
    assert "GatherElements" not in {one.op_type for one in result.graph.node}


def test_a_rank_that_is_not_2_leaves_the_shape_open() -> None:
    text = _HEAD.replace("float[N, 2]", "float[2]").format(outputs="float[B, C] y", node=NODES["LinearRegressor"])
    model = onnx.parser.parse_model(text)
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert ModelFacts(model).graph.shape("y") is None


PIPELINE = """<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 1]>
    pipeline (float[3, 2] x) => (float[3, 2] y) {
        scaled = ai.onnx.ml.Scaler <offset = [0.5, 0.25], scale = [2.0, -3.0]> (x)
        normal = ai.onnx.ml.Normalizer <norm = "L2"> (scaled)
        y = ai.onnx.ml.Binarizer <threshold = 0.0> (normal)
    }"""


@pytest.mark.parametrize("rewrite", ["convert", "normalize"])
def test_onnxruntime_does_not_learn_that_a_normalizer_may_work_in_the_memory_of_its_input(rewrite: str) -> None:
    """Its Normalizer loses signs there."""
    model = onnx.parser.parse_model(PIPELINE)
    result = opsetlift.convert(model, to=13) if rewrite == "convert" else opsetlift.normalize(model)
    assert "normal" not in {info.name for info in result.model.graph.value_info}
    x = numpy.array([[1.0, 2.0], [-3.0, 1.0], [0.0, -1.0]], numpy.float32)
    before, after = (onnxruntime.InferenceSession(one.SerializeToString()) for one in (model, result.model))
    assert (after.run(None, {"x": x})[0] == before.run(None, {"x": x})[0]).all()


def test_what_was_inferred_before_is_declared_without_sizes_that_inference_named() -> None:
    """Compress has no inference below 11."""
    text = """<ir_version: 8, opset_import: ["" : 13]> g (float[N, 2] x, bool[M] chosen) => (float y) {
        kept = Compress <axis = 0> (x, chosen) y = ReduceMax <keepdims = 0> (kept) }"""
    result = opsetlift.convert(onnx.parser.parse_model(text), to=9).model
    (info,) = result.graph.value_info
    assert info.name == "kept"
    assert [size.dim_value or size.dim_param for size in info.type.tensor_type.shape.dim] == ["", 2]


CUT = """<ir_version: 5, opset_import: ["" : OPSET]> g (float[N, 5] x) => (float[M, 5] y)
    <int64[1] start = {0}, int64[1] end = {-1}, int64[1] axes = {0}> {
        cut = Slice (x, start, end, axes) y = Neg (cut) }"""


@pytest.mark.parametrize("opset", [10, 11])
def test_what_is_cut_along_an_open_axis_has_another_size(opset: int) -> None:
    """onnx's inference of Slice-10 gives it the name of the whole size."""
    rows, columns = ModelFacts(onnx.parser.parse_model(CUT.replace("OPSET", str(opset)))).graph.shape("cut") or (
        None,
        0,
    )
    assert (rows != "N", columns) == (True, 5)


def test_runtimes_are_told_so_at_10() -> None:
    """onnxruntime ends in an error where it takes the memory of another value of the whole size for it."""
    result = opsetlift.convert(onnx.parser.parse_model(CUT.replace("OPSET", "11")), to=10).model
    (info,) = result.graph.value_info
    assert info.name == "cut"
    assert [size.dim_value or size.dim_param for size in info.type.tensor_type.shape.dim] == ["cut_size_0", 5]
    assert not opsetlift.convert(onnx.parser.parse_model(CUT.replace("OPSET", "13")), to=11).model.graph.value_info


def test_a_size_that_is_cut_is_not_taken_for_the_whole_one() -> None:
    """The Expand was removed, and the proof undid that."""
    text = """<ir_version: 5, opset_import: ["" : 10]> g (float[N] x, float[N] z) => (float[K] y)
        <int64[1] start = {0}, int64[1] end = {1}> {
            one = Slice (x, start, end) shape = Shape (z) y = Expand (one, shape) }"""
    result = opsetlift.normalize(onnx.parser.parse_model(text))
    assert [node.op_type for node in result.model.graph.node] == ["Slice", "Shape", "Expand"]
    assert not result.report.undone


@pytest.mark.parametrize(
    ("opset", "node"),
    [
        (9, "z = Upsample (x, s)"),
        (10, "z = Resize (x, s)"),
        (13, "z = Resize (x, , s)"),
        (18, "z = Resize <axes = [2, 3]> (x, , t)"),
    ],
)
def test_sizes_of_what_is_resampled_by_fractions_are_those_that_runtimes_compute(opset: int, node: str) -> None:
    """Six times the float next to 7/6 is 7 in float, and less in double, as onnx's inference has it."""
    model = onnx.parser.parse_model(f"""<ir_version: 7, opset_import: ["" : {opset}]>
        g (float[1,1,6,5] x) => (float[A,B,C,D] y)
        <float[4] s = {{1, 1, 1.1666666, 1.5}}, float[2] t = {{1.1666666, 1.5}}> {{ {node} y = Abs (z) }}""")
    given = numpy.zeros((1, 1, 6, 5), numpy.float32)
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": given})
    assert found.shape == (1, 1, 7, 7)
    assert ModelFacts(model).graph.shape("z") == [*found.shape]
    doubled = onnx.shape_inference.infer_shapes(model).graph.value_info[0].type.tensor_type.shape.dim[2].dim_value
    assert doubled == 6, "onnx infers the right size now: wrongly_inferred_scales.py can go"


@pytest.mark.parametrize("scale", [numpy.nan, numpy.inf, -1.5, 1e30])
def test_sizes_by_scales_that_give_none_stay_unknown(scale: float) -> None:
    model = onnx.parser.parse_model("""<ir_version: 7, opset_import: ["" : 9]>
        g (float[1,1,6,5] x) => (float[A,B,C,D] y) <float[4] s = {1, 1, 1, 1}> { z = Upsample (x, s) y = Abs (z) }""")
    scales = numpy.array([1, 1, scale, scale], numpy.float32)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(scales, "s"))
    assert not any(isinstance(size, int) for size in (ModelFacts(model).graph.shape("z") or [])[2:])


@pytest.mark.parametrize(
    ("node", "frequencies"),
    [
        ("STFT (x, step, w)", 9),
        ("STFT (x, step, , length)", 7),
        ("STFT <onesided = 0> (x, step, w)", 16),
        ("STFT (x, step, , computed)", None),
    ],
)
def test_a_spectrum_has_the_frequencies_that_runtimes_compute(node: str, frequencies: int | None) -> None:
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[1,128,1] x, int64 n) => (float[A,B,C,D] y) <int64 step = {{8}}, int64 length = {{12}},
        float[16] w = {{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}}> {{
        computed = Add (n, length) z = {node} y = Abs (z) }}""")
    given = {"x": numpy.zeros((1, 128, 1), numpy.float32), "n": numpy.array(0, numpy.int64)}
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)
    known = (ModelFacts(model).graph.shape("z") or [None] * 3)[2]
    assert known == frequencies or (frequencies is None and not isinstance(known, int))
    assert frequencies in (None, found.shape[2])
    if node == "STFT (x, step, w)":
        inferred = onnx.shape_inference.infer_shapes(model).graph.value_info[-1].type.tensor_type.shape
        assert inferred.dim[2].dim_value == 16, "onnx infers the right size now: wrongly_inferred_spectra.py can go"
