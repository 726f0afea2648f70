"""Constant nodes and initializers, and constants that are computed ahead."""

import numpy
import onnx
import pytest
from onnx import numpy_helper

from opsetlift.pipeline.normalize import normalize
from tests.normalize.rewriting import check_rewrite, check_unchanged, rewritten, text_model

PASS = "constants-as-initializers"


def test_constants_become_initializers_where_a_graph_can_have_some() -> None:
    check_rewrite(
        PASS,
        "g (float[2] x) => (float[2] y) { c = Constant<value = float[2] {1, 2}>() y = Add(x, c) }",
        "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { y = Add(x, c) }",
    )


def test_plain_numbers_are_float_and_int64() -> None:
    before = """g (float[2] x) => (float[2] y, int64[2] z) {
        f = Constant<value_float = 0.5>() i = Constant<value_ints = [1, 2]>() y = Add(x, f) z = Neg(i)
    }"""
    after = (
        "g (float[2] x) => (float[2] y, int64[2] z) <float f = {0.5}, int64[2] i = {1, 2}> { y = Add(x, f) z = Neg(i) }"
    )
    check_rewrite(PASS, before, after)


def test_a_constant_output_stays_a_node() -> None:
    check_unchanged(PASS, "g () => (float[2] y) { y = Constant<value = float[2] {1, 2}>() }")


def test_before_ir_version_4_an_initializer_would_be_an_input() -> None:
    graph = "g (float[2] x) => (float[2] y) { c = Constant<value = float[2] {1, 2}>() y = Add(x, c) }"
    check_unchanged(PASS, graph, opset=8, ir=3)


def test_function_bodies_have_no_initializers() -> None:
    function = (
        '<domain: "local", opset_import: ["" : 17]> f (x) => (y) { c = Constant<value_float = 1.0>() y = Add(x, c) }'
    )
    check_unchanged(PASS, "g (float[2] x) => (float[2] y) { y = local.f(x) }", functions=function)


def test_subgraphs_get_initializers_of_their_own() -> None:
    before = """g (bool c, float x) => (float y) {
        y = If (c) <
            then_branch = t () => (float u) { k = Constant<value_float = 1.0>() u = Add(x, k) },
            else_branch = e () => (float v) { k = Constant<value_float = 2.0>() v = Add(x, k) }
        >
    }"""
    after = """g (bool c, float x) => (float y) {
        y = If (c) <
            then_branch = t () => (float u) <float k = {1}> { u = Add(x, k) },
            else_branch = e () => (float v) <float k = {2}> { v = Add(x, k) }
        >
    }"""
    check_rewrite(PASS, before, after)


def test_constants_of_graphs_before_ir_version_4_are_nodes() -> None:
    before = """g (float[4] x) => (float[2,2] y) {
        a = Constant<value = float[2] {1, 2}>() b = Constant<value = float[2] {3, 4}>() c = Concat<axis = 0>(a, b)
        d = Add(x, c) y = Reshape<shape = [2, 2]>(d)
    }"""
    after = """g (float[4] x) => (float[2,2] y) {
        c = Constant<value: tensor = float[4] {1, 2, 3, 4}>() d = Add(x, c) y = Reshape<shape = [2, 2]>(d)
    }"""
    check_rewrite(("fold-constants", "initializers-as-constants"), before, after, opset=4, ir=3)


def test_what_constants_alone_decide_is_computed_ahead() -> None:
    before = """g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> {
        c = Mul(a, b) d = Add(c, a) y = Add(x, d)
    }"""
    check_rewrite("fold-constants", before, "g (float[2] x) => (float[2] y) <float[2] d = {4, 10}> { y = Add(x, d) }")


def test_the_size_of_a_static_shape_is_constant() -> None:
    before = (
        "g (float[2,3] x) => (int64[2] s, int64 n, int64[1] e) { s = Shape(x) n = Size(x) e = Shape<start = 1>(x) }"
    )
    after = """g (float[2,3] x) => (int64[2] s, int64 n, int64[1] e) {
        s = Constant<value: tensor = int64[2] {2, 3}>()
        n = Constant<value: tensor = int64 {6}>()
        e = Constant<value: tensor = int64[1] {3}>()
    }"""
    check_rewrite("fold-constants", before, after)


def test_an_open_size_is_not_constant() -> None:
    check_unchanged("fold-constants", "g (float[N,3] x) => (int64[2] s) { s = Shape(x) }")


def test_a_declaration_of_an_inner_value_is_not_believed() -> None:
    model = text_model("g (float[N] x) => (int64[1] s) { a = Neg(x) s = Shape(a) }")
    model.graph.value_info.append(onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [7]))
    assert [node.op_type for node in normalize(model, passes=["fold-constants"]).model.graph.node] == ["Neg", "Shape"]


def test_an_overridable_input_is_not_constant() -> None:
    check_unchanged(
        "fold-constants", "g (float[2] x, float c) => (float[2] y) <float c = {1}> { d = Neg(c) y = Add(x, d) }"
    )


def test_what_is_random_is_left_to_the_run() -> None:
    model = text_model("g (float[2] x) => (float[2] y) { r = RandomNormal<shape = [2]>() y = Add(x, r) }")
    assert len(normalize(model, passes=["fold-constants"], prove=False).model.graph.node) == 2


def test_files_do_not_grow_by_zeros() -> None:
    model = text_model("g (float x) => (float[4000] y) <int64[1] n = {4000}> { z = ConstantOfShape(n) y = Add(x, z) }")
    small = normalize(model, passes=["fold-constants"], size_limit=100).model
    assert [node.op_type for node in small.graph.node] == ["ConstantOfShape", "Add"]
    large = normalize(model, passes=["fold-constants"], size_limit=16000).model
    assert numpy_helper.to_array(large.graph.initializer[0]).tobytes() == numpy.zeros(4000, numpy.float32).tobytes()


def test_what_takes_no_more_room_than_before_is_written_whatever_its_size() -> None:
    model = text_model("g (float[2] x) => (float[2] y) <float[2] a = {1, 2}> { b = Neg(a) y = Add(x, b) }")
    assert len(normalize(model, passes=["fold-constants"], size_limit=0).model.graph.node) == 1


def test_quantized_weights_stay_quantized() -> None:
    check_unchanged(
        "fold-constants",
        """g (float[2] x) => (float[2] y) <int8[2] w = {1, 2}, float s = {0.5}> {
            d = DequantizeLinear(w, s) y = Mul(x, d)
        }""",
    )
    check_unchanged(
        "fold-constants",
        """g (float[2,3] x) => (float[2,2] y) <int8[2,3] w = {1, 2, 3, 4, 5, 6}, float s = {0.5}> {
            d = DequantizeLinear(w, s) t = Transpose(d) y = MatMul(x, t)
        }""",
    )


@pytest.mark.parametrize(
    ("constants", "node"),
    [
        ("int64 a = {5}, int64 b = {0}", "c = Div(a, b)"),
        ("int64 a = {-9223372036854775808}, int64 b = {-1}", "c = Div(a, b)"),
        ("int64 a = {5}, int64 b = {0}", "c = Mod(a, b)"),
        ("int64 a = {2}, int64 b = {-1}", "c = Pow(a, b)"),
        ("int64 a = {3}, int64 b = {60}", "c = Pow(a, b)"),
        ("float a = {1e30}", "c = Cast<to = 7>(a)"),
        ("float a = {nan}", "c = Cast<to = 7>(a)"),
        ("float a = {9.223372e18}", "c = Cast<to = 6>(a)"),
        ("float a = {-0.0}", "c = Relu(a)"),
        ("float a = {-0.0}, float b = {0.0}", "c = Max(a, b)"),
        ("float a = {-0.0}, float b = {0.0}", "c = Clip(a, b)"),
        ("float[2] a = {-0.0, 0.0}", "c = ReduceMin(a)"),
        ("float a = {-0.0}, float b = {0.0}", "c = Clip(a, , b)"),
    ],
)
def test_what_the_specification_leaves_open_is_left_to_the_run(constants: str, node: str) -> None:
    dtype = "int64" if "to = 7" in node or "int64" in constants else "int32" if "to = 6" in node else "float"
    model = text_model(f"g ({dtype}[2] x) => ({dtype}[2] y) <{constants}> {{ {node} y = Add(x, c) }}")
    assert len(normalize(model, passes=["fold-constants"], prove=False).model.graph.node) == 2


def test_what_follows_from_something_left_open_is_left_to_the_run_too() -> None:
    model = text_model(
        "g (int64[2] x) => (int64[2] y) <float a = {nan}> { b = Cast<to = 7>(a) c = Abs(b) d = Neg(c) y = Add(x, d) }"
    )
    assert len(normalize(model, passes=["fold-constants"], prove=False).model.graph.node) == 4


@pytest.mark.parametrize(
    ("constants", "node"),
    [
        ("int64 a = {-9223372036854775808}, int64 b = {1}", "c = Div(a, b)"),
        ("int64 a = {3}, int64 b = {20}", "c = Pow(a, b)"),
        ("float a = {-2147483648.0}", "c = Cast<to = 7>(a)"),
        ("float a = {-0.5}", "c = Cast<to = 7>(a)"),
        ("bool a = {1}", "c = Cast<to = 7>(a)"),
    ],
)
def test_what_it_defines_is_folded(constants: str, node: str) -> None:
    model = text_model(f"g (int64[2] x) => (int64[2] y) <{constants}> {{ {node} y = Add(x, c) }}")
    assert len(rewritten("fold-constants", model).model.graph.node) == 1


def test_what_is_far_too_large_is_not_even_computed() -> None:
    model = text_model(
        "g (float[1] x) => (float[n] y) <int64[1] n = {100000000000}, float[1] k = {1}> { t = Tile(k, n) y = Neg(t) }"
    )
    assert len(normalize(model, passes=["fold-constants"], prove=False).model.graph.node) == 2


def test_function_bodies_are_folded_into_constant_nodes() -> None:
    function = """<domain: "local", opset_import: ["" : 17]> f (x) => (y) {
        c = Constant<value_float = 1.0>() d = Neg(c) y = Add(x, d)
    }"""
    model = text_model("g (float[2] x) => (float[2] y) { y = local.f(x) }", functions=function)
    result = rewritten("fold-constants", model).model
    assert [node.op_type for node in result.functions[0].node] == ["Constant", "Add"]


def test_bits_survive_in_every_dtype() -> None:
    for dtype in (
        onnx.TensorProto.BFLOAT16,
        onnx.TensorProto.FLOAT8E4M3FN,
        onnx.TensorProto.INT4,
        onnx.TensorProto.BOOL,
    ):
        tensor = onnx.helper.make_tensor("c", dtype, [3], [1, 0, 1])
        node = onnx.helper.make_node("Constant", [], ["c"], value=tensor)
        output = onnx.helper.make_tensor_value_info("y", dtype, [3])
        final = onnx.helper.make_node("Identity", ["c"], ["y"])
        graph = onnx.helper.make_graph([node, final], "g", [], [output])
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
        result = rewritten((PASS, "fold-constants"), model).model
        assert len(result.graph.node) == 1
        assert numpy_helper.to_array(result.graph.node[0].attribute[0].t).tolist() == [1, 0, 1]


def test_a_large_constant_that_something_else_reads_is_not_written_twice() -> None:
    graph = (
        "g (float[2] x) => (float[2] y, float[2] z) <float[2] a = {1, 2}> { b = Neg(a) y = Add(x, b) z = Mul(x, a) }"
    )
    assert len(normalize(text_model(graph), passes=["fold-constants"], size_limit=0).model.graph.node) == 3


def test_an_attribute_of_the_call_is_no_constant() -> None:
    function = """<domain: "local", opset_import: ["" : 17]> f <k> (x) => (y) {
        c = Constant<value_float: float = @k>() d = Neg(c) y = Add(x, d)
    }"""
    graph = "g (float[2] x) => (float[2] y, float[2] z) { y = local.f<k = 1.0>(x) z = local.f<k = 2.0>(x) }"
    check_unchanged("fold-constants", graph, functions=function)
