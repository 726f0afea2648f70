"""The evaluator's core: models, scopes, functions and what it says when something is wrong."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from opsetlift.evaluator import (
    ComputationFailed,
    EvaluationError,
    Evaluator,
    NotExecutable,
    Rejected,
    TooLarge,
    run_node,
)
from opsetlift.evaluator.errors import InputRejected
from opsetlift.evaluator.kernel_step import KernelStep
from opsetlift.evaluator.prepare import prepare_node


def model(text: str, header: str = '<ir_version: 10, opset_import: ["" : 20]>') -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{header}\n{text}")


def run(text: str, header: str = '<ir_version: 10, opset_import: ["" : 20]>', **inputs: object) -> dict[str, object]:
    return Evaluator(model(text, header)).run(inputs)


ONES = numpy.ones((2, 3), dtype=numpy.float32)


# Inputs, outputs, intermediates


def test_outputs_come_in_the_order_of_the_graph() -> None:
    results = run("g (float[2,3] x) => (float[2,3] b, float[2,3] a) { a = Abs(x) b = Neg(x) }", x=ONES)
    assert list(results) == ["b", "a"]
    numpy.testing.assert_array_equal(results["b"], -ONES)


def test_one_evaluator_runs_many_times() -> None:
    evaluator = Evaluator(model("g (float[N] x) => (float[N] y) { y = Neg(x) }"))
    for size in (0, 1, 5):
        x = numpy.arange(size, dtype=numpy.float32)
        numpy.testing.assert_array_equal(evaluator.run({"x": x})["y"], -x)


def test_intermediate_values_can_be_asked_for_alone() -> None:
    evaluator = Evaluator(model("g (float[2,3] x) => (float[2,3] y) { a = Neg(x) y = Abs(a) }"))
    assert list(evaluator.run({"x": ONES}, outputs=["a"])) == ["a"]


def test_only_what_the_wanted_value_needs_is_computed() -> None:
    evaluator = Evaluator(model("g (float[2,3] x, int64[1] s) => (float z) { a = Neg(x) z = Reshape(x, s) }"))
    inputs = {"x": ONES, "s": numpy.array([7])}
    numpy.testing.assert_array_equal(evaluator.run(inputs, outputs=["a"])["a"], -ONES)
    with pytest.raises(EvaluationError):
        evaluator.run(inputs)


def test_folded_values_can_be_asked_for() -> None:
    evaluator = Evaluator(
        model("g (float[1] x) => (float[1] y) <float[1] w = {2}> { a = Neg(w) b = Abs(a) y = Mul(x, b) }")
    )
    results = evaluator.run({"x": numpy.ones(1, numpy.float32)}, outputs=["w", "a", "x", "y"])
    assert {name: value.tolist() for name, value in results.items()} == {"w": [2], "a": [-2], "x": [1], "y": [2]}


def test_an_unknown_name_cannot_be_asked_for() -> None:
    with pytest.raises(Rejected, match="'nowhere'"):
        Evaluator(model("g (float[1] x) => (float[1] y) { y = Neg(x) }")).run({"x": ONES[0, :1]}, outputs=["nowhere"])


@pytest.mark.parametrize(
    ("inputs", "name", "clause"),
    [
        ({}, "x", "not given"),
        ({"x": ONES, "z": ONES}, "z", "no such input"),
        ({"x": ONES.astype(numpy.float64)}, "x", r"tensor\(float\) is declared, tensor\(double\) was given"),
        ({"x": ONES[0]}, "x", r"declared with 2 dimensions, but the array has shape \(3,\)"),
        ({"x": ONES[:, :2]}, "x", "axis 1 is declared as 3, but the array has shape"),
        ({"x": [ONES]}, "x", "list was given"),
        ({"x": None}, "x", "NoneType was given"),
    ],
)
def test_an_input_that_does_not_fit_is_rejected_by_name(inputs: dict[str, object], name: str, clause: str) -> None:
    evaluator = Evaluator(model("g (float[N,3] x) => (float[N,3] y) { y = Neg(x) }"))
    with pytest.raises(InputRejected, match=clause) as caught:
        evaluator.run(inputs)
    assert caught.value.name == name


def test_a_symbolic_dimension_stands_for_one_size_in_all_inputs() -> None:
    evaluator = Evaluator(model("g (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }"))
    with pytest.raises(InputRejected, match="'N', which is 2 elsewhere"):
        evaluator.run({"x": ONES[:, 0], "y": ONES[0]})


def test_text_is_taken_as_numpy_text_bytes_or_objects() -> None:
    evaluator = Evaluator(model("g (string[N] x) => (string[N] y) { y = Identity(x) }"))
    for given in (numpy.array(["a", "é"]), numpy.array(["a", "é"], object), numpy.array([b"a", "é".encode()])):
        assert evaluator.run({"x": given})["y"].tolist() == ["a", "é"]
    with pytest.raises(InputRejected, match="element 1 of a string tensor is a int"):
        evaluator.run({"x": numpy.array(["a", 3], object)})


def test_a_value_of_another_type_than_the_output_declares_is_rejected() -> None:
    wrong = model("g (float[2] x) => (float[2] y) { y = Shape(x) }")
    with pytest.raises(Rejected, match=r"output 'y': tensor\(float\) is declared"):
        Evaluator(wrong).run({"x": ONES[:, 0]})


# Initializers


def test_an_initializer_that_is_an_input_is_a_default() -> None:
    proto = model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    proto.graph.initializer.append(numpy_helper.from_array(numpy.array([1, 2], numpy.float32), "x"))
    evaluator = Evaluator(proto)
    assert evaluator.input_names == []
    assert evaluator.run({})["y"].tolist() == [-1, -2]
    assert evaluator.run({"x": numpy.array([5, 6], numpy.float32)})["y"].tolist() == [-5, -6]


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]], ids=["linear", "by axis"])
def test_sparse_initializers_become_dense(indices: list[object]) -> None:
    proto = model("g () => (float[2,3] y) { y = Identity(w) }")
    proto.graph.sparse_initializer.append(
        helper.make_sparse_tensor(
            numpy_helper.from_array(numpy.array([7, 8], numpy.float32), "w"),
            numpy_helper.from_array(numpy.array(indices, numpy.int64)),
            [2, 3],
        )
    )
    assert Evaluator(proto).run({})["y"].tolist() == [[0, 7, 0], [0, 0, 8]]


def test_external_data_is_read_from_the_base_folder(tmp_path: Path) -> None:
    proto = model("g (float[1] x) => (float[300] y) { y = Mul(x, w) }")
    weight = numpy.arange(300, dtype=numpy.float32)
    proto.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    loaded = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    two = {"x": numpy.array([2], numpy.float32)}
    numpy.testing.assert_array_equal(Evaluator(loaded, base_dir=str(tmp_path)).run(two)["y"], 2 * weight)
    with pytest.raises(NotExecutable, match=r"'w'.*base_dir"):
        Evaluator(loaded).run(two)


@pytest.mark.parametrize("dtype", ["bfloat16", "float8e4m3fn", "float4e2m1", "int4", "uint2", "float16", "complex64"])
def test_initializers_of_every_kind_of_dtype_are_read(dtype: str) -> None:
    proto = model(f"g () => ({dtype}[3] y) {{ y = Identity(w) }}", '<ir_version: 13, opset_import: ["" : 25]>')
    element_type = TensorProto.DataType.Value(dtype.upper())
    array = numpy.array([0, 1, 1]).astype(helper.tensor_dtype_to_np_dtype(element_type))
    proto.graph.initializer.append(numpy_helper.from_array(array, "w"))
    result = Evaluator(proto).run({})["y"]
    assert result.dtype == array.dtype
    assert result.tolist() == array.tolist()


# Prepared once, freed early


def recorded_operators(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on: the operators that kernels execute."""
    executed: list[str] = []
    execute = KernelStep.execute

    def recorded(step: KernelStep, environment: dict[str, object]) -> list[object]:
        executed.append(step.node.op_type)
        return execute(step, environment)

    monkeypatch.setattr(KernelStep, "execute", recorded)
    return executed


def test_constant_nodes_run_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator = Evaluator(
        model("g (float[1] x) => (float[1] y) <float[1] w = {2}> { a = Neg(w) b = Abs(a) y = Mul(x, b) }")
    )
    executed = recorded_operators(monkeypatch)
    for _ in range(3):
        evaluator.run({"x": numpy.ones(1, numpy.float32)})
    assert executed == ["Neg", "Abs", "Mul", "Mul", "Mul"]


def test_random_nodes_run_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """g () => (float[8] y, float[8] z) {
        y = RandomUniform <shape: ints = [8]> ()
        c = Constant <value_float = 0.5> ()
        t = Constant <value = bool {1}> ()
        z = Dropout(y, c, t)
    }"""
    evaluator = Evaluator(model(text))
    executed = recorded_operators(monkeypatch)
    for _ in range(2):
        evaluator.run({})
    assert executed == ["Constant", "Constant", *(["RandomUniform", "Dropout"] * 2)]


def test_a_constant_that_fails_in_a_branch_not_taken_does_no_harm() -> None:
    text = """g (bool c, float[2] x) => (float[2] y) <int64[1] s = {7}, float[2] w = {1, 2}> {
        y = If (c) <then_branch = a () => (float[2] t) { t = Neg(x) },
                    else_branch = b () => (float[2] e) { e = Reshape(w, s) }>
    }"""
    assert run(text, c=numpy.array(True), x=ONES[:, 0])["y"].tolist() == [-1, -1]
    with pytest.raises(EvaluationError, match=r"Reshape-19 .*else_branch"):
        run(text, c=numpy.array(False), x=ONES[:, 0])


@pytest.mark.slow
def test_values_are_freed_after_their_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[int] = []
    references: list[weakref.ref[object]] = []
    execute = KernelStep.execute

    def recorded(step: KernelStep, environment: dict[str, object]) -> list[object]:
        results = execute(step, environment)
        references.extend(weakref.ref(result) for result in results)
        gc.collect()
        alive.append(sum(reference() is not None for reference in references))
        return results

    monkeypatch.setattr(KernelStep, "execute", recorded)
    run("g (float[2,3] x) => (float[2,3] y) { a = Neg(x) b = Exp(a) c = Neg(b) d = Exp(c) y = Neg(d) }", x=ONES)
    assert max(alive) == 2


# What a run before found legal


def test_a_node_is_judged_again_where_its_inputs_have_other_types() -> None:
    step = prepare_node(helper.make_node("Add", ["a", "b"], ["c"]), {"": 14}, strict=True, iteration_limit=None)
    for _ in range(2):
        assert step.compute([ONES, ONES], {})[0].dtype == numpy.float32
    with pytest.raises(Rejected, match=r"input 'B' \(1\) is tensor\(double\), but T is tensor\(float\) already"):
        step.compute([ONES, ONES.astype(numpy.float64)], {})
    with pytest.raises(Rejected, match=r"is tensor\(bool\); this version takes"):
        step.compute([ONES > 0, ONES > 0], {})
    with pytest.raises(Rejected, match=r"is seq\(tensor\(float\)\); this version takes"):
        step.compute([[ONES], [ONES]], {})


def test_what_a_kernel_gives_is_judged_in_every_run(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [ONES, ONES, ONES.astype(numpy.float64)]
    kernel = lambda call, x: given.pop(0)  # noqa: E731
    monkeypatch.setattr("opsetlift.evaluator.prepare.find_kernel", lambda *key: kernel)
    evaluator = Evaluator(model("g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }"))
    for _ in range(2):
        evaluator.run({"x": ONES})
    with pytest.raises(ComputationFailed, match=r"output 'Y' \(0\) is tensor\(double\), but T is tensor\(float\)"):
        evaluator.run({"x": ONES})


@pytest.mark.parametrize("values", [ONES.T, numpy.frombuffer(bytes(25), numpy.uint8)[1:].view(numpy.float32)])
def test_kernels_get_aligned_arrays_in_c_order_in_every_run(
    values: numpy.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[numpy.ndarray] = []
    kernel = lambda call, x: given.append(x) or x  # noqa: E731
    monkeypatch.setattr("opsetlift.evaluator.prepare.find_kernel", lambda *key: kernel)
    step = prepare_node(helper.make_node("Neg", ["x"], ["y"]), {"": 13}, strict=True, iteration_limit=None)
    for _ in range(3):
        step.compute([values], {})
    assert all(x.flags.c_contiguous and x.flags.aligned for x in given)
    assert (given[2] == values).all()


def test_the_limit_on_elements_holds_in_every_run() -> None:
    text = "g (float[N] x) => (float[M] y) { y = Concat <axis = 0> (x, x) }"
    evaluator = Evaluator(model(text), element_limit=6)
    for _ in range(2):
        evaluator.run({"x": ONES[0]})
    with pytest.raises(TooLarge):
        evaluator.run({"x": ONES.reshape(-1)})


# Subgraphs


def test_subgraphs_see_the_scopes_around_them() -> None:
    text = """g (bool c, float[1] x) => (float[1] y) {
        a = Neg(x)
        y = If (c) <
            then_branch = outer () => (float[1] t) {
                b = Abs(x)
                t = If (c) <then_branch = inner () => (float[1] u) { u = Add(a, b) },
                            else_branch = never () => (float[1] v) { v = Identity(a) }>
            },
            else_branch = other () => (float[1] e) { e = Identity(a) }>
    }"""
    x = numpy.array([3], numpy.float32)
    assert run(text, c=numpy.array(True), x=x)["y"].tolist() == [0]
    assert run(text, c=numpy.array(False), x=x)["y"].tolist() == [-3]


def test_an_error_in_a_subgraph_names_the_way_to_it() -> None:
    text = """g (bool c, float[2] x, int64[1] s) => (float y) {
        [outer] y = If (c) <then_branch = a () => (float t) { [inner] t = Reshape(x, s) },
                    else_branch = b () => (float e) { e = Identity(x) }>
    }"""
    with pytest.raises(EvaluationError) as caught:
        run(text, c=numpy.array(True), x=ONES[:, 0], s=numpy.array([7]))
    place = caught.value.place
    assert (place.path, place.node, place.operator, place.since_version) == (
        ("If 'outer' then_branch",),
        "inner",
        "Reshape",
        19,
    )


def test_a_loop_can_be_limited() -> None:
    text = """g () => (int64 n) <int64 zero = {0}, bool yes = {1}> {
        n = Loop ("", yes, zero) <body = b (int64 i, bool c, int64 before) => (bool d, int64 after) {
            d = Identity(c) after = Add(before, i)
        }>
    }"""
    with pytest.raises(NotExecutable, match="more than 10 iterations"):
        Evaluator(model(text), iteration_limit=10).run({})


# Functions

FUNCTIONS = '<ir_version: 10, opset_import: ["" : 20, "local" : 1]>'


def test_a_function_runs_at_its_own_opset() -> None:
    # ReduceSum takes its axes as an attribute up to opset 12 and as an input from 13 on.
    text = """g (float[2,3] x) => (float[2] y) { y = local.rows(x) }
        <domain: "local", opset_import: ["" : 11]>
        rows (x) => (y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }"""
    assert run(text, FUNCTIONS, x=ONES)["y"].tolist() == [3, 3]


def test_function_attributes_are_given_or_default() -> None:
    text = """g (float[2,3] x) => (float[2,3] y, float[2,3] z) {
            y = local.leak <slope = 0.5> (x)  z = local.leak(x)
        }
        <domain: "local", opset_import: ["" : 20]>
        leak <slope: float = 0.25> (x) => (y) { y = LeakyRelu <alpha: float = @slope> (x) }"""
    results = run(text, FUNCTIONS, x=-ONES)
    assert results["y"][0, 0] == -0.5
    assert results["z"][0, 0] == -0.25


def test_an_attribute_that_the_call_leaves_out_is_left_out_inside() -> None:
    text = """g (float[2,3] x) => (float[2,3] y) { y = local.leak(x) }
        <domain: "local", opset_import: ["" : 20]>
        leak <slope> (x) => (y) { y = LeakyRelu <alpha: float = @slope> (x) }"""
    default = numpy.float32(0.01)
    assert run(text, FUNCTIONS, x=-ONES)["y"][0, 0] == -default


def test_functions_call_functions_and_pass_attributes_on() -> None:
    text = """g (float[2,3] x) => (float[2,3] y) { y = local.outer <a = 0.5> (x) }
        <domain: "local", opset_import: ["" : 20, "local" : 1]>
        outer <a> (x) => (y) { y = local.inner <slope: float = @a> (x) }
        <domain: "local", opset_import: ["" : 20]>
        inner <slope> (x) => (y) {
            c = Constant <value_float: float = @slope> ()
            y = Mul(x, c)
        }"""
    assert run(text, FUNCTIONS, x=ONES)["y"][0, 0] == 0.5


def test_references_to_function_attributes_reach_subgraphs() -> None:
    text = """g (bool c, float[2,3] x) => (float[2,3] y) { y = local.maybe <a = 0.5> (c, x) }
        <domain: "local", opset_import: ["" : 20]>
        maybe <a> (c, x) => (y) {
            y = If (c) <then_branch = t () => (float[2,3] p) { p = LeakyRelu <alpha: float = @a> (x) },
                        else_branch = e () => (float[2,3] q) { q = Identity(x) }>
        }"""
    assert run(text, FUNCTIONS, c=numpy.array(True), x=-ONES)["y"][0, 0] == -0.5


def test_function_inputs_left_out_are_absent_inside() -> None:
    text = """g (float[3] x) => (float[3] y) { y = local.limit(x) }
        <domain: "local", opset_import: ["" : 20]>
        limit (x, low, high) => (y) { y = Clip(x, low, high) }"""
    x = numpy.array([-5, 0, 5], numpy.float32)
    assert run(text, FUNCTIONS, x=x)["y"].tolist() == [-5, 0, 5]


def test_overloads_are_told_apart() -> None:
    proto = model(
        """g (float[2,3] x) => (float[2,3] y) { a = local.f(x) y = local.f(a) }
        <domain: "local", opset_import: ["" : 20], overload: "one">
        f (x) => (y) { y = Neg(x) }
        <domain: "local", opset_import: ["" : 20], overload: "two">
        f (x) => (y) { y = Add(x, x) }""",
        FUNCTIONS,
    )
    for node, overload in zip(proto.graph.node, ("one", "two"), strict=True):
        node.overload = overload
    assert Evaluator(proto).run({"x": ONES})["y"][0, 0] == -2


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        (
            """g (float[1] x) => (float[1] y) { y = local.f(x) }
            <domain: "local", opset_import: ["local" : 1]> f (x) => (y) { y = local.f(x) }""",
            "calls itself",
        ),
        (
            """g (float[1] x) => (float[1] y) { y = local.f <b = 1> (x) }
            <domain: "local", opset_import: ["" : 20]> f <a> (x) => (y) { y = Neg(x) }""",
            "no attribute 'b'",
        ),
        (
            """g (float[1] x) => (float[1] y) { y = local.f(x, x) }
            <domain: "local", opset_import: ["" : 20]> f (x) => (y) { y = Neg(x) }""",
            "has 1 inputs, the node names 2",
        ),
        (
            """g (float[1] x) => (float[1] y) { y = local.f(x) }
            <domain: "local", opset_import: ["" : 20]> f (x) => (y) { y = Neg(z) }""",
            "gives 'z' a value",
        ),
        (
            """g (float[1] x) => (float[1] y) { y = local.f(x) }
            <domain: "local", opset_import: ["other" : 1]> f (x) => (y) { y = Neg(x) }""",
            "ai.onnx is not imported",
        ),
    ],
    ids=["recursion", "unknown attribute", "too many inputs", "dangling", "missing import"],
)
def test_broken_functions_are_rejected(text: str, clause: str) -> None:
    with pytest.raises(Rejected, match=clause):
        run(text, FUNCTIONS, x=ONES[0, :1])


# Broken graphs


@pytest.mark.parametrize(
    ("nodes", "clause"),
    [
        ("y = Neg(z)", r"Neg-13 node 'Neg#0': nothing in the graph gives 'z' a value"),
        ("a = Neg(x) a = Abs(x) y = Neg(a)", r"Abs-13 node 'Abs#1': 'a' has a value already"),
        ("a = Add(x, b) b = Neg(a) y = Neg(b)", "depend on one another in a cycle"),
        ("y = Neg(a) a = Abs(x)", r"Neg-13 .*'a' gets its value only later"),
        ("a = Neg(x)", "gives the output 'y' a value"),
        ("y = NoSuch(x)", "ai.onnx has no such operator"),
        ("y = Gelu(x)", "opset 19 has no such operator; it came with 20"),
        ("y = elsewhere.Neg(x)", "domain elsewhere is not imported"),
    ],
    ids=["dangling", "assigned twice", "cycle", "not sorted", "no output", "unknown", "not introduced", "no import"],
)
def test_broken_graphs_are_rejected_with_the_reason(nodes: str, clause: str) -> None:
    with pytest.raises(Rejected, match=clause):
        Evaluator(
            model(f"g (float[1] x) => (float[1] y) {{ {nodes} }}", '<ir_version: 9, opset_import: ["" : 19]>'),
        )


def test_a_dangling_name_in_a_subgraph_is_reported_where_it_is_used() -> None:
    text = """g (bool c, float[1] x) => (float[1] y) {
        [outer] y = If (c) <then_branch = a () => (float[1] t) { t = Neg(x) },
                    else_branch = b () => (float[1] e) { [inner] e = Neg(z) }>
    }"""
    with pytest.raises(Rejected, match=r"Neg-13 node 'inner' in If 'outer' else_branch: .*'z'"):
        Evaluator(model(text))


def test_nodes_out_of_order_are_sorted_where_not_strict() -> None:
    proto = model("g (float[1] x) => (float[1] y) { y = Neg(a) a = Exp(b) b = Abs(x) }")
    assert Evaluator(proto, strict=False).run({"x": numpy.zeros(1, numpy.float32)})["y"].tolist() == [-1]


@pytest.mark.parametrize(
    ("header", "node", "clause"),
    [
        (
            '<ir_version: 10, opset_import: ["" : 20, "com.example" : 1]>',
            "com.example.Op",
            "cannot execute operators of this domain",
        ),
        ('<ir_version: 10, opset_import: ["" : 4000]>', "Neg", "knows ai.onnx up to opset"),
    ],
    ids=["foreign operator", "future opset"],
)
def test_what_cannot_be_judged_is_not_executable_rather_than_rejected(header: str, node: str, clause: str) -> None:
    with pytest.raises(NotExecutable, match=clause):
        Evaluator(model(f"g (float[1] x) => (float[1] y) {{ y = {node}(x) }}", header))


def test_models_from_before_opset_imports_are_at_opset_1() -> None:
    node = helper.make_node("Dropout", ["x"], ["y"], is_test=1)
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]), helper.make_tensor_value_info("y", 1, [2])
    proto = helper.make_model(helper.make_graph([node], "g", [value[0]], [value[1]]), ir_version=1)
    del proto.opset_import[:]
    assert Evaluator(proto).run({"x": numpy.ones(2, numpy.float32)})["y"].tolist() == [1, 1]


# One node


def test_run_node_executes_a_node_by_itself() -> None:
    node = helper.make_node("Clip", ["x", "", "high"], ["y"])
    x, high = numpy.array([-9, 9], numpy.float32), numpy.array(1, numpy.float32)
    (result,) = run_node(node, [x, None, high], {"": 13})
    assert result.tolist() == [-9, 1]


def test_run_node_wants_a_value_per_input_name() -> None:
    with pytest.raises(EvaluationError, match="2 inputs are named, 1 were given"):
        run_node(helper.make_node("Sub", ["x", "y"], ["z"]), [ONES], {"": 13})


def test_run_node_gives_none_for_an_output_without_name() -> None:
    node = helper.make_node("Split", ["x"], ["", "b"], num_outputs=2)
    absent, second = run_node(node, [ONES], {"": 18})
    assert absent is None
    assert second.shape == (1, 3)
