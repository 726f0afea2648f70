"""One way to write attributes, axes, names and types; and nothing that nothing needs."""

import onnx
import pytest

from opsetlift.pipeline.normalize import normalize
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model


def test_defaults_go_and_the_rest_is_in_order() -> None:
    before = (
        "g (float[1,2,4,4] x) => (float[] y) { y = MaxPool<strides = [2, 2], ceil_mode = 0, "
        "kernel_shape = [2, 2], storage_order = 0>(x) }"
    )
    after = "g (float[1,2,4,4] x) => (float[] y) { y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }"
    check_rewrite("canonical-attributes", before, after)


def test_the_default_of_the_opset_in_force_counts() -> None:
    graph = "g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1>(x) }"
    check_rewrite("canonical-attributes", graph, graph.replace("<axis = 1>", ""), opset=12)
    check_unchanged("canonical-attributes", graph, opset=13)


def test_a_default_is_a_default_to_the_bit() -> None:
    head = "g (float[2] x) => (float[2] y)"
    check_rewrite(
        "canonical-attributes", f"{head} {{ y = LeakyRelu<alpha = 0.01>(x) }}", f"{head} {{ y = LeakyRelu(x) }}"
    )
    check_unchanged("canonical-attributes", f"{head} {{ y = LeakyRelu<alpha = 0.010001>(x) }}")


def test_required_attributes_stay() -> None:
    check_unchanged("canonical-attributes", "g (float[2] x) => (float[2] y) { y = Concat<axis = 0>(x) }")


def test_attributes_of_calls_stay() -> None:
    function = (
        '<domain: "local", opset_import: ["" : 17]> f <b: float = 0.01, a> (x) => (y) { y = '
        "LeakyRelu<alpha: float = @b>(x) }"
    )
    graph = "g (float[2] x) => (float[2] y) { y = local.f<b = 0.01, a = 1>(x) }"
    check_unchanged("canonical-attributes", graph, functions=function)


def test_consumed_inputs_go_where_nobody_asks_for_them() -> None:
    graph = "g (float[2] x) => (float[2] y) { y = Neg<consumed_inputs = [0]>(x) }"
    check_rewrite("canonical-attributes", graph, graph.replace("<consumed_inputs = [0]>", ""), opset=5)
    graph = """g (float[1,1] x, float[1] s) => (float[1,1] y) {
        y = BatchNormalization<consumed_inputs = [0, 0, 0, 1, 1], is_test = 1>(x, s, s, s, s)
    }"""
    check_unchanged("canonical-attributes", graph, opset=5)


@pytest.mark.parametrize(
    ("before", "after", "opset"),
    [
        ("Softmax<axis = -1>(x)", "Softmax<axis = 2>(x)", 17),
        ("Concat<axis = -3>(x, x)", "Concat<axis = 0>(x, x)", 17),
        ("ReduceMax<axes = [-1, 0]>(x)", "ReduceMax<axes = [0, 2]>(x)", 17),
        ("Unsqueeze<axes = [-1]>(x)", "Unsqueeze<axes = [3]>(x)", 11),
        ("Flatten<axis = -1>(x)", "Flatten<axis = 2>(x)", 17),
        ("ArgMax<axis = -2>(x)", "ArgMax<axis = 1>(x)", 17),
    ],
)
def test_axes_count_from_the_front(before: str, after: str, opset: int) -> None:
    head = f"g (float[2,3,4] x) => ({'int64' if 'ArgMax' in before else 'float'}[] y)"
    check_rewrite("canonical-axes", f"{head} {{ y = {before} }}", f"{head} {{ y = {after} }}", opset=opset)


def test_axes_that_others_read_stay_as_they_are() -> None:
    before = "g (float[2,3] x) => (float[] y, int64[1] z) <int64[1] a = {-1}> { y = ReduceSum(x, a) z = Neg(a) }"
    after = (
        "g (float[2,3] x) => (float[] y, int64[1] z) <int64[1] a = {-1}, int64[1] y_axes = {1}> { y "
        "= ReduceSum(x, y_axes) z = Neg(a) }"
    )
    check_rewrite("canonical-axes", before, after)


def test_axes_of_an_unknown_rank_stay() -> None:
    check_unchanged("canonical-axes", "g (float[] x) => (float[] y) { y = Softmax<axis = -1>(x) }")


@pytest.mark.parametrize("attributes", ["", "<saturate = 0>"])
def test_a_dtype_that_is_known_is_named(attributes: str) -> None:
    head = "g (float[3] x, float16[N] like) => (float16[3] y)"
    after = f"Cast<{attributes[1:-1] + ', ' if attributes else ''}to = 10>(x)"
    check_rewrite(
        "canonical-casts", f"{head} {{ y = CastLike {attributes} (x, like) }}", f"{head} {{ y = {after} }}", opset=21
    )


def test_a_dtype_that_is_not_known_stays_where_it_comes_from() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "f": 1]>
        g (float[3] x, float16[2] a, double[2] b) => (float16[3] y, double[3] z) { y = f.like (x, a) z = f.like (x, b) }
        <domain: "f", opset_import: ["": 17]> like (v, w) => (r) { r = CastLike (v, w) }""")
    (node,) = normalize(model, passes=["canonical-casts"]).model.functions[0].node
    assert node.op_type == "CastLike"


def test_nodes_are_named_for_what_they_compute() -> None:
    model = text_model("g (float[2] x) => (float[2] y) { [b] a = Neg(x) b = Abs(a) [b] c = Exp(b) y = Log(c) }")
    result = rewritten("name-nodes", model).model
    assert [node.name for node in result.graph.node] == ["b", "b_1", "c", "y"]


def test_inner_values_get_types_and_the_interface_keeps_its_own() -> None:
    model = text_model("g (float[N,3] x) => (float[A,B] y) { a = Transpose(x) y = Neg(a) }")
    result = rewritten("infer-shapes", model).model
    (info,) = result.graph.value_info
    assert info == onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [3, "N"])
    assert list(result.graph.output) == list(model.graph.output)


def test_doubles_get_types_too_and_are_counted() -> None:
    result = rewritten("infer-shapes", text_model("g (double[2] x) => (double[2] y) { a = Abs(x) y = Neg(a) }"))
    (info,) = result.model.graph.value_info
    assert info == onnx.helper.make_tensor_value_info("a", onnx.TensorProto.DOUBLE, [2])
    assert [one.changes for one in result.report.passes] == [1]


def test_a_stale_declaration_is_mended() -> None:
    model = text_model("g (float[N,3] x) => (float[A,B] y) { a = Transpose(x) y = Neg(a) }")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [7, 7]))
    (info,) = normalize(model, passes=["infer-shapes"], check=False).model.graph.value_info
    assert info == onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [3, "N"])


def test_what_nothing_needs_goes() -> None:
    functions = """<domain: "local", opset_import: ["" : 17]> f (x) => (y) { y = Neg(x) }
    <domain: "local", opset_import: ["" : 17]> h (x) => (y) { y = Abs(x) }"""
    before = (
        "g (float[2] x, float[2] unused) => (float[2] y) <float[2] c = {1, 2}> { d = Add(x, c) e = "
        "local.h(d) y = local.f(x) }"
    )
    result = rewritten("remove-unused", text_model(before, functions=functions)).model
    assert [node.op_type for node in result.graph.node] == ["f"]
    assert [function.name for function in result.functions] == ["f"]
    assert [info.name for info in result.graph.input] == ["x", "unused"]
    assert not result.graph.initializer


def test_a_declared_size_that_nothing_contradicts_stays() -> None:
    model = text_model("g (float[N,3] x) => (float[A,B] y) { a = Transpose(x) y = Neg(a) }")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [None, 7]))
    (info,) = normalize(model, passes=["infer-shapes"]).model.graph.value_info
    assert info == onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [3, 7])
