"""What is known of tensors while passes edit: what has been worked out stays, and the model is copied once."""

from __future__ import annotations

import numpy
import onnx_graphsurgeon as gs
import pytest
from onnx import NodeProto

from opsetlift.evaluator import Evaluator
from opsetlift.facts import ModelFacts
from opsetlift.normalizer.bridge import to_graph
from opsetlift.normalizer.facts import graph_facts
from opsetlift.normalizer.model_state import ModelState
from opsetlift.specification import dtypes
from testing.conversion import model
from tests.normalize.rewriting import rewritten, text_model

OPSETS = {"": 17}


def _state(text: str, *, functions: str = "") -> ModelState:
    return ModelState(to_graph(text_model(text, functions=functions)))


def _tensor(state: ModelState, name: str) -> gs.Tensor:
    return state.graph.tensors()[name]


def _add(state: ModelState, operator: str, inputs: list[gs.Tensor], **attributes: object) -> gs.Variable:
    """A new node, as after a pass; gives its output."""
    output = gs.Variable(f"new_{operator}")
    state.graph.nodes.append(gs.Node(operator, attrs=attributes, inputs=inputs, outputs=[output]))
    state.facts.graph_has_changed(state.graph.nodes[-1:])
    return output


@pytest.fixture
def no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make copies of the model fail."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the model is copied")

    monkeypatch.setattr(graph_facts, "to_model", fail)


def test_what_depends_on_the_inputs_is_no_constant_and_no_copy_is_needed_to_tell(no_copy: None) -> None:
    state = _state("g (float[2, 3] x) => (float[2, 3] y) <float one = {1}> { a = Add(x, one) y = Relu(a) }")
    assert state.facts.constant(_tensor(state, "y"), OPSETS, lambda node: True) is None


def test_a_static_shape_is_a_constant_though_the_tensor_depends_on_the_inputs() -> None:
    state = _state("g (float[2, 3] x) => (int64[2] y) { a = Relu(x) y = Shape(a) }")
    found = state.facts.constant(_tensor(state, "y"), OPSETS, lambda node: True)
    assert found is not None
    assert found.tolist() == [2, 3]


def test_what_comes_to_read_constants_only_is_one() -> None:
    state = _state("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    y = _tensor(state, "y")
    assert state.facts.constant(y, OPSETS, lambda node: True) is None
    y.inputs[0].inputs[0] = gs.Constant("one", numpy.ones(2, numpy.float32))
    state.facts.forget_nodes()
    found = state.facts.constant(y, OPSETS, lambda node: True)
    assert found is not None
    assert found.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("operator", "attributes", "shape"),
    [("Relu", {}, (2, 3)), ("Transpose", {"perm": [1, 0]}, (3, 2)), ("Flatten", {"axis": 0}, (1, 6))],
)
def test_types_of_new_nodes_follow_from_those_known_before_without_another_copy(
    monkeypatch: pytest.MonkeyPatch, operator: str, attributes: dict[str, object], shape: tuple[int, ...]
) -> None:
    state = _state("g (float[2, 3] x) => (float y) { a = Neg(x) y = ReduceSum<keepdims = 0>(a) }")
    assert state.facts.shape_of(_tensor(state, "a")) == (2, 3)
    new = _add(state, operator, [_tensor(state, "a")], **attributes)
    state.facts.renew()
    monkeypatch.setattr(graph_facts, "to_model", None)
    assert state.facts.shape_of(new) == shape
    assert state.facts.dtype_of(new) == "float"


def test_a_new_reshape_is_inferred_from_the_value_of_its_target() -> None:
    state = _state("g (float[2, 3] x) => (float[2, 3] y) { y = Neg(x) }")
    assert state.facts.shape_of(_tensor(state, "y")) == (2, 3)
    new = _add(state, "Reshape", [_tensor(state, "y"), gs.Constant("target", numpy.array([3, -1]))])
    state.facts.renew()
    assert state.facts.shape_of(new) == (3, 2)


def test_types_that_leave_something_open_are_worked_out_anew() -> None:
    state = _state("g (float[n, 3] x, float[2, 3] z) => (float[n, 3] y) { y = Neg(x) }")
    y = _tensor(state, "y")
    assert state.facts.shape_of(y) == ("n", 3)
    y.inputs[0].inputs[0] = state.graph.inputs[1]
    state.facts.graph_has_changed(y.inputs)
    state.facts.renew()
    assert state.facts.shape_of(y) == (2, 3)


def _first_of(state: ModelState, operator: str) -> gs.Node:
    return next(node for node in state.graph.nodes if node.op == operator)


_CHAIN = """g (float[n, 4] x, float[2, 4] z) => (float[n, 4] y) {
    a = Neg(x) m = ReduceMean<axes = [-1]>(a) b = Sub(a, m) c = Relu(b) y = Abs(c)
}"""


def test_nodes_after_a_change_that_changes_no_type_are_not_inferred_again(monkeypatch: pytest.MonkeyPatch) -> None:
    state = _state(_CHAIN)
    assert state.facts.shape_of(_tensor(state, "y")) == ("n", 4)
    inferred: list[str] = []
    infer = graph_facts.inferred_types

    def counted(model: ModelFacts, node: NodeProto, *arguments: object) -> object:
        inferred.append(node.op_type)
        return infer(model, node, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(graph_facts, "inferred_types", counted)
    monkeypatch.setattr(graph_facts, "to_model", None)
    mean = _first_of(state, "ReduceMean")
    mean.attrs["axes"] = [1]
    state.facts.graph_has_changed([mean])
    state.facts.renew()
    assert [state.facts.shape_of(_tensor(state, name)) for name in "mby"] == [("n", 1), ("n", 4), ("n", 4)]
    assert inferred == ["ReduceMean"]


@pytest.mark.parametrize("edited", ["Neg", "Sub"])
def test_what_follows_from_an_improved_type_is_inferred_anew(edited: str) -> None:
    state = _state(_CHAIN)
    assert state.facts.shape_of(_tensor(state, "y")) == ("n", 4)
    node = _first_of(state, edited)
    node.inputs = [state.graph.inputs[1]] * len(node.inputs)
    state.facts.graph_has_changed([node])
    state.facts.renew()
    assert state.facts.shape_of(_tensor(state, "y")) == (2, 4)
    assert state.facts.shape_of(_tensor(state, "m")) == ((2, 1) if edited == "Neg" else ("n", 1))


def test_shapes_that_depend_on_an_improved_size_are_inferred_anew() -> None:
    state = _state(
        """g (float[n, 4] x, float[2, 4] z) => (float[k, l] y) <int64[1] four = {4}> {
        a = Neg(x) s = Shape<end = 1>(a) t = Concat<axis = 0>(four, s) y = Reshape(z, t)
    }"""
    )
    assert state.facts.shape_of(_tensor(state, "y")) != (4, 2)
    node = _first_of(state, "Neg")
    node.inputs[0] = state.graph.inputs[1]
    state.facts.graph_has_changed([node])
    state.facts.renew()
    assert state.facts.shape_of(_tensor(state, "y")) == (4, 2)


def test_a_shape_that_depends_on_what_has_become_a_constant_is_inferred_anew() -> None:
    state = _state("g (float[2, 4] x, int64[2] t) => (float[k, l] y) { u = Neg(t) y = Reshape(x, u) }")
    y, u = _tensor(state, "y"), _tensor(state, "u")
    assert state.facts.shape_of(y) not in [None, (4, 2)]
    node = u.inputs[0]
    node.outputs.clear()
    u.to_constant(numpy.array([4, 2]))
    state.graph.nodes.remove(node)
    state.facts.graph_has_changed([])
    state.facts.renew()
    assert state.facts.shape_of(y) == (4, 2)


def test_sizes_that_an_inference_names_are_not_kept_for_another_one() -> None:
    state = _state(
        """g (bool[n] p, bool[n] q) => (int64[1, k] y, int64[1, l] z) {
        a = NonZero(p) b = NonZero(q) y = Neg(a) z = Neg(b)
    }"""
    )
    names = ("y", "z")
    before = [state.facts.shape_of(_tensor(state, name)) for name in names]
    assert all(shape is not None for shape in before)
    new = _add(state, "NonZero", [state.graph.inputs[1]])
    state.graph.nodes.insert(0, state.graph.nodes.pop())
    last = _add(state, "Neg", [new])
    state.facts.renew()
    shapes = [state.facts.shape_of(tensor) for tensor in (*(_tensor(state, name) for name in names), last)]
    sizes = [shape[1] for shape in shapes if shape is not None and shape[1] is not None]
    assert len(set(sizes)) == len(sizes), "different sizes have the same name"


def test_nothing_stays_known_after_passes_that_keep_to_no_rules() -> None:
    state = _state("g (float[2, 3] x, float[5] z) => (float[2, 3] y) { y = Neg(x) }")
    y = _tensor(state, "y")
    assert state.facts.shape_of(y) == (2, 3)
    y.inputs[0].inputs[0] = state.graph.inputs[1]
    state.facts.forget_everything()
    assert state.facts.shape_of(y) == (5,)


def test_a_wrong_declaration_is_no_fact() -> None:
    state = _state("g (float[2, 3] x) => (float[7] y) <float[9] a> { a = Neg(x) y = Relu(a) }")
    assert state.facts.shape_of(_tensor(state, "a")) == (2, 3)
    assert state.facts.shape_of(_tensor(state, "y")) == (2, 3)


def test_new_calls_of_functions_are_what_the_function_makes_of_them() -> None:
    state = _state(
        "g (float[2, 3] x) => (float[4, 3] y) { y = local.Double(x) }",
        functions='<opset_import: ["" : 17], domain: "local"> Double (a) => (b) { b = Concat<axis = 0>(a, a) }',
    )
    y = _tensor(state, "y")
    assert state.facts.shape_of(y) == (4, 3)
    output = gs.Variable("new")
    state.graph.nodes.append(gs.Node("Double", domain="local", inputs=[y], outputs=[output]))
    state.facts.graph_has_changed(state.graph.nodes[-1:])
    state.facts.renew()
    assert state.facts.shape_of(output) == (8, 3)


@pytest.mark.parametrize("call", ["ai.onnx.ml.Binarizer(x)", "other.f(x)"])
def test_a_function_with_the_name_of_an_operator_is_no_such_operator(call: str) -> None:
    source = model(
        f"""<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3, "other" : 1]>
        g (float[2, 3] x) => (int64[2] y) {{ a = {call} y = Shape(a) }}
        <domain: "ai.onnx.ml", opset_import: ["" : 17]> Binarizer (a) => (b) {{ b = Transpose(a) }}
        <domain: "other", opset_import: ["" : 17, "ai.onnx.ml" : 3]> f (a) => (b) {{ b = ai.onnx.ml.Binarizer(a) }}"""
    )
    state = ModelState(to_graph(source))
    assert state.facts.shape_of(_tensor(state, "a")) in [(3, 2), None]


@pytest.mark.parametrize(
    ("body", "dtype"),
    [
        ("b = Constant<value_ints: ints = @many>()", "int64"),
        ("b = Transpose<perm: ints = @many>(a)", "float"),
        ("b = ReduceMax<axes = [0], keepdims: int = @one>(a)", "float"),
        ("b = Cast<to: int = @one>(a)", None),
        ("b = EyeLike<dtype: int = @one>(a)", None),
        ("b = If(c) <then_branch = t () => (d) { d = ReduceMax<keepdims: int = @one>(a) }, "
         "else_branch = e () => (d) { d = ReduceMin<keepdims: int = @one>(a) }>", "float"),
    ],
)  # fmt: skip
def test_what_a_parameter_of_a_function_stands_for_is_not_known(body: str, dtype: str | None) -> None:
    call = "g (float[2, 3] x, bool k) => (float[m] y) { y = local.f<many = [1, 0], one = 1>(x, k) }"
    function = f"""<domain: "local", opset_import: ["" : 17]>
        f<many, one> (a, c) => (b, e) {{ {body} e = Constant<value_ints = [1, 2]>() }}"""
    state = _state(call, functions=function)
    result, constant = state.graph.functions[0].outputs
    for _ in range(2):
        assert state.facts.shape_of(result) is None
        assert state.facts.dtype_of(result) == dtype
        assert state.facts.shape_of(constant) == (2,)
        state.facts.graph_has_changed([])
        state.facts.renew()


@pytest.mark.parametrize(
    ("dtype", "sizes"), [("bool", (1, 1)), ("uint8", (44, 1)), ("int32", (300, 1)), ("float", (300, 1))]
)
def test_sizes_do_not_pass_through_casts_that_change_them(dtype: str, sizes: tuple[int, ...]) -> None:
    state = _state(
        f"""g (float[300, 1] x, float[1, 1] one) => (float[m, n] y) {{
            s = Shape(x) c = Cast<to = {dtypes.element_type(dtype)}>(s) t = Cast<to = 7>(c) y = Expand(one, t)
        }}"""
    )
    assert state.facts.shape_of(_tensor(state, "y")) == sizes


@pytest.mark.parametrize("opset", [1, 7, 9, 11])
@pytest.mark.parametrize(
    ("node", "shape", "expected"),
    [
        ("Unsqueeze <axes = [-1]>", "2, 3", [2, 3, 1]),
        ("Unsqueeze <axes = [-2, 0]>", "2, 3", [1, 2, 1, 3]),
        ("Squeeze <axes = [-1]>", "2, 1", [2]),
        ("Squeeze <axes = [2, 0]>", "1, 2, 1", [2]),
        ("Slice <axes = [-1], starts = [0], ends = [1]>", "2, 3", [2, 1]),
    ],
)
@pytest.mark.parametrize("is_undeclared", [False, True])
def test_axes_that_onnx_infers_wrongly_are_inferred_rightly(
    opset: int, node: str, shape: str, expected: list[int], is_undeclared: bool
) -> None:
    if node.startswith("Slice") and opset > 9:
        return  # whose axes are an input
    source = text_model(f"g (float[{shape}] x) => (float[] y) {{ a = {node} (x) y = Relu(a) }}", opset=opset, ir=4)
    facts = ModelFacts(source, is_undeclared=is_undeclared).graph
    assert facts.shape("a") == expected


@pytest.mark.parametrize("is_undeclared", [False, True])
@pytest.mark.parametrize(("operator", "opset"), [("MaxPool", 12), ("MaxPool", 22), ("AveragePool", 19), ("LpPool", 18)])
@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("kernel_shape = [1], strides = [2], ceil_mode = 1", 1),
        ('kernel_shape = [1], strides = [3], ceil_mode = 1, auto_pad = "VALID"', 1),
        ("kernel_shape = [2], strides = [3], ceil_mode = 1, pads = [1, 1]", 1),
        ("kernel_shape = [2], strides = [1], ceil_mode = 1, pads = [0, 1]", 2),
        ("kernel_shape = [1], strides = [1], ceil_mode = 1, pads = [0, 2]", 2),
    ],
)
def test_windows_that_start_in_the_end_pads_are_not_counted(
    window: str, expected: int, operator: str, opset: int, is_undeclared: bool
) -> None:
    source = text_model(
        f"g (float[1, 1, 2] x) => (float[] y) {{ a = {operator} <{window}> (x) y = Relu(a) }}", opset=opset, ir=4
    )
    assert ModelFacts(source, is_undeclared=is_undeclared).graph.shape("a") == [1, 1, expected]
    x = numpy.ones((1, 1, 2), numpy.float32)
    assert Evaluator(source).run({"x": x})["y"].shape == (1, 1, expected)


def test_where_not_even_the_rank_is_known_they_leave_the_dtype() -> None:
    source = text_model("g (float[] x) => (float[] y) { a = Unsqueeze <axes = [-1]> (x) y = Relu(a) }", opset=9, ir=4)
    facts = ModelFacts(source, is_undeclared=True).graph
    assert facts.type_string("a") == "tensor(float)"
    assert facts.shape("a") is None


@pytest.mark.parametrize("axis", [-1, -2])
def test_no_axis_is_written_that_an_exporter_did_not_mean(axis: int) -> None:
    source = text_model(
        f"g (float[2, 3] x) => (float[A, B, C] y) {{ a = Unsqueeze <axes = [{axis}]> (x) y = Relu(a) }}",
        opset=9,
        ir=4,
    )
    (unsqueeze, _) = rewritten("canonical-axes", source).model.graph.node
    assert unsqueeze.attribute[0].ints[:] == [axis + 3]


def test_the_inference_of_the_whole_is_not_believed_on_a_way_that_sizes_took() -> None:
    state = _state(
        """g (float[5, 2] x, float[2] w) => (float y) {
            s = Shape(x) b = Cast <to = 9> (s) i = Cast <to = 7> (b) e = Expand(w, i) y = ReduceSum <keepdims = 0> (e)
        }"""
    )
    assert state.facts.shape_of(_tensor(state, "e")) == (1, 2)
