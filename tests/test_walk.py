"""The engine: what it changes, and what it leaves exactly as it was."""

from __future__ import annotations

from collections import Counter

import numpy
import onnx
import pytest
from onnx import TensorProto, helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from opsetlift.model.def_use import DefUse
from opsetlift.model.names import Names
from opsetlift.support.refusal import Why
from testing.conversion import check_refusal, model, normalised

TWO_MEANS = """
    <ir_version: 8, opset_import: ["": 13]>
    g (float[N, 4] x) => (float[N, 1] y, float[1, 4] z) {
        r = Relu (x)
        y = ReduceMean <axes = [1]> (r)
        z = ReduceMean <axes = [0]> (r)
    }
"""


def lifted(text: str, to: int) -> onnx.ModelProto:
    return convert(model(text), to=to).model


def test_only_nodes_that_a_rule_changed_differ_byte_for_byte():
    source = model(TWO_MEANS)
    source.graph.node[0].doc_string = "kept"
    result = convert(source, to=18).model
    assert result.graph.node[0].SerializeToString() == source.graph.node[0].SerializeToString()
    assert result.graph.node[1].SerializeToString() != source.graph.node[1].SerializeToString()


def test_the_model_that_was_given_stays_as_it_is():
    source = model(TWO_MEANS)
    before = source.SerializeToString()
    convert(source, to=18)
    assert source.SerializeToString() == before


def test_unknown_fields_survive():
    source = model(TWO_MEANS)
    unknown = b"\xfa\x3f\x03abc"  # field 1023, which no onnx.proto has
    nodes = [node.SerializeToString() + unknown for node in source.graph.node]
    for node, data in zip(source.graph.node, nodes, strict=True):
        node.ParseFromString(data)
    result = convert(source, to=18).model
    assert all(unknown in node.SerializeToString() for node in result.graph.node)


def test_metadata_and_doc_strings_go_on_what_replaces_a_node():
    source = model('<ir_version: 10, opset_import: ["": 20]> g (bool[3] x) => (bool[1] y) { y = ReduceMin (x) }')
    node = source.graph.node[0]
    node.name, node.doc_string = "least", "why"
    node.metadata_props.add(key="origin", value="layer 1")
    result = convert(source, to=18).model
    assert len(result.graph.node) == 3
    assert {one.doc_string for one in result.graph.node} == {"why"}
    assert {one.metadata_props[0].value for one in result.graph.node} == {"layer 1"}
    assert result.graph.node[-1].name == "least"
    assert len({one.name for one in result.graph.node}) == 3


def test_new_names_clash_with_nothing():
    text = """
        <ir_version: 8, opset_import: ["": 13]>
        g (float[2] y_axes) => (float[1] y) <float y_axes_1 = {1}> {
            s = Add (y_axes, y_axes_1)
            y = ReduceMean <axes = [0]> (s)
        }
    """
    result = lifted(text, 18)
    assert result.graph.node[1].input[1] == "y_axes_2"


def test_equal_axes_share_one_constant():
    text = """
        <ir_version: 8, opset_import: ["": 13]>
        g (float[2, 3] x) => (float[2, 1] a, float[2, 1] b, float[1, 3] c) {
            a = ReduceMean <axes = [1]> (x)
            b = ReduceMin <axes = [1]> (x)
            c = ReduceMin <axes = [0]> (x)
        }
    """
    result = lifted(text, 18)
    first, second, third = (node.input[1] for node in result.graph.node)
    assert first == second != third
    assert len(result.graph.initializer) == 2


def test_axes_constants_that_nothing_uses_any_more_go_with_the_input():
    up = convert(model(TWO_MEANS), to=18).model
    down = convert(up, to=13).model
    assert normalised(down) == normalised(model(TWO_MEANS))


def test_a_shared_initializer_stays_for_its_other_use():
    text = """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[2, 3] x) => (float[2, 1] y, int64[1] z) <int64[1] axes = {1}> {
            y = ReduceMin (x, axes)
            z = Neg (axes)
        }
    """
    result = lifted(text, 17)
    assert [tensor.name for tensor in result.graph.initializer] == ["axes"]


def test_an_initializer_that_a_caller_can_override_is_not_constant():
    text = """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[2, 3] x, int64[1] axes = {1}) => (float[A, B] y) { y = ReduceMin (x, axes) }
    """
    source = model(text)
    assert source.graph.initializer
    result = convert(source, to=17).model
    assert [value.name for value in result.graph.input] == ["x", "axes"]
    x = numpy.array([[1, 2, 3], [4, 5, 0]], numpy.float32)
    by_default = Evaluator(result).run({"x": x})["y"]
    overridden = Evaluator(result).run({"x": x, "axes": numpy.array([0])})["y"]
    assert by_default.tolist() == [[1], [0]]
    assert overridden.tolist() == [[1, 2, 0]]


def test_initializers_of_ir_version_3_models_stay_among_the_inputs():
    text = """
        <ir_version: 3, opset_import: ["": 7]>
        g (float[2, 3] x, float[3] w = {1, 2, 3}) => (float[2, 1] y) { s = Add (x, w) y = ReduceMean <axes = [1]> (s) }
    """
    result = lifted(text, 18)
    assert [value.name for value in result.graph.input] == ["x", "w"]
    assert result.ir_version >= 8


SUBGRAPH = """
    <ir_version: 8, opset_import: ["": 18]>
    g (bool c, float[2, 3] x) => (float[2, 1] y) <int64[1] axes = {1}> {
        r = Relu (x)
        y = If (c) <
            then_branch = t () => (float[2, 1] a) {
                a = If (c) <
                    then_branch = tt () => (float[2, 1] aa) { aa = ReduceMin (r, axes) },
                    else_branch = te () => (float[2, 1] ab) { ab = ReduceMean (r, axes) }
                >
            },
            else_branch = e () => (float[2, 1] b) { b = ReduceMean (r, axes) }
        >
    }
"""


def test_subgraphs_of_any_depth_find_constants_of_outer_scopes():
    result = lifted(SUBGRAPH, 13)
    outer = result.graph.node[1]
    inner = outer.attribute[0].g.node[0]
    assert [attribute.g.node[0].attribute[0].ints[0] for attribute in inner.attribute] == [1, 1]
    assert not result.graph.initializer


def test_every_refusal_of_the_model_is_collected_with_its_place():
    text = """
        <ir_version: 8, opset_import: ["": 18]>
        g (bool c, bfloat16[2] x) => (bfloat16[1] y, bfloat16[1] z) {
            y = ReduceMin (x)
            z = If (c) <
                then_branch = t () => (bfloat16[1] a) { a = ReduceMin (x) },
                else_branch = e () => (bfloat16[1] b) { b = ReduceMean (x) }
            >
        }
    """
    with pytest.raises(ConversionRefused) as caught:
        convert(model(text), to=12)
    places = [(refusal.path, refusal.operator, refusal.node) for refusal in caught.value.refusals]
    assert ("graph", "ReduceMin", "y") in places
    assert ("graph/1:If.then_branch", "ReduceMin", "a") in places
    assert ("graph/1:If.else_branch", "ReduceMean", "b") in places
    assert all(refusal.why is Why.DTYPE_NOT_AVAILABLE for refusal in caught.value.refusals)
    assert "no operator of opset 12 accepts bfloat16" in str(caught.value)


FUNCTIONS = """
    <ir_version: 8, opset_import: ["": 13, "local": 1]>
    g (float[2, 3] x) => (float[2, 1] y, float[1, 3] z) {
        y = local.least <axes = [1]> (x)
        z = local.least <axes = [0]> (x)
    }
    <domain: "local", opset_import: ["": 13]>
    least <axes> (x) => (y) { y = ReduceMin <axes: ints = @axes> (x) }
"""


def test_a_function_with_an_attribute_reference_gets_a_copy_per_call():
    result = lifted(FUNCTIONS, 18)
    assert [node.op_type for node in result.graph.node] == ["least_1", "least_2"]
    assert [function.name for function in result.functions] == ["least_1", "least_2"]
    assert [entry.version for function in result.functions for entry in function.opset_import] == [18, 18]
    onnx.checker.check_model(result, full_check=True)


def test_a_function_that_needs_no_copy_is_converted_in_place():
    text = """
        <ir_version: 8, opset_import: ["": 13, "local": 1]>
        g (float[2, 3] x) => (float[2, 1] y) { y = local.least (x) }
        <domain: "local", opset_import: ["": 13]>
        least (x) => (y) { y = ReduceMin <axes = [1]> (x) }
    """
    result = lifted(text, 18)
    assert [function.name for function in result.functions] == ["least"]
    assert [node.op_type for node in result.functions[0].node] == ["Constant", "ReduceMin"]


def test_a_function_with_opset_imports_of_its_own_is_converted_from_those():
    text = """
        <ir_version: 8, opset_import: ["": 18, "local": 1]>
        g (float[2, 3] x) => (float[2, 1] y) { y = local.least (x) }
        <domain: "local", opset_import: ["": 13]>
        least (x) => (y) { y = ReduceMin <axes = [1]> (x) }
    """
    result = lifted(text, 18)
    assert [node.op_type for node in result.functions[0].node] == ["Constant", "ReduceMin"]


def test_types_in_a_function_are_those_of_its_calls():
    text = """
        <ir_version: 10, opset_import: ["": 20, "local": 1]>
        g (float[2, 3] x, bool[2] b) => (float[1, 1] y, bool[1] z) {
            y = local.least (x)
            z = local.least (b)
        }
        <domain: "local", opset_import: ["": 20]>
        least (x) => (y) { y = ReduceMin (x) }
    """
    result = lifted(text, 18)
    assert sorted(len(function.node) for function in result.functions) == [1, 3]


NESTED_FUNCTIONS = """
    <ir_version: 8, opset_import: ["": 13, "local": 1]>
    g (float[2, 3] x) => (float[A, B] y, float[C, D] z) {
        y = local.outer (x)
        z = local.outer <axes = [0]> (x)
    }
    <domain: "local", opset_import: ["": 13, "local": 1]>
    least <axes: ints = [1]> (x) => (y) { y = ReduceMin <axes: ints = @axes> (x) }
    <domain: "local", opset_import: ["": 13, "local": 1]>
    outer <axes> (x) => (y) { y = local.least <axes: ints = @axes> (x) }
"""


def test_a_parameter_handed_on_to_an_inner_function_is_bound_by_the_outer_call():
    result = lifted(NESTED_FUNCTIONS, 18)
    outputs = Evaluator(result).run({"x": numpy.arange(6, dtype=numpy.float32).reshape(2, 3)})
    assert outputs["y"].tolist() == [[0], [3]]
    assert outputs["z"].tolist() == [[0, 1, 2]]
    assert not any(function.attribute or function.attribute_proto for function in result.functions)


IMPORTS = 'opset_import: ["": 14, "local": 1]'
OUTER = "outer (x, k) => (y) { y = local.upper (x, k) }"


@pytest.mark.parametrize(("first", "functions"), [("upper", ""), ("outer", f'<domain: "local", {IMPORTS}> {OUTER}')])
def test_an_input_that_a_call_leaves_out_is_left_out_in_the_copy_for_that_call(first, functions):
    text = f"""
        <ir_version: 8, {IMPORTS}>
        g (float[2, 2] x, int64 k) => (float[2, 2] y, float[2, 2] z) {{
            y = local.{first} (x)
            z = local.upper (x, k)
        }}
        <domain: "local", {IMPORTS}>
        upper (x, k) => (y) {{ y = Trilu (x, k) }}
        {functions}
    """
    result = convert(model(text), to=13)
    assert result.certificate.is_proven
    outputs = Evaluator(result.model).run({"x": numpy.ones((2, 2), numpy.float32), "k": numpy.array(1)})
    assert outputs["y"].tolist() == [[1, 1], [0, 1]]
    assert outputs["z"].tolist() == [[0, 1], [0, 0]]


def test_a_body_made_for_attributes_is_made_for_those_of_each_call():
    text = """
        <ir_version: 8, opset_import: ["": 12, "local": 1]>
        g (float[2, 2] x, int64[2] t) => (float[A] y, float z) {
            y = local.loss <reduction = "none"> (x, t)
            z = local.loss <reduction = "sum"> (x, t)
        }
        <domain: "local", opset_import: ["": 12]>
        loss <reduction> (x, t) => (y) { y = NegativeLogLikelihoodLoss <reduction: string = @reduction> (x, t) }
    """
    result = lifted(text, 11)
    inputs = {"x": numpy.array([[1, 2], [3, 4]], numpy.float32), "t": numpy.array([0, 1])}
    outputs = Evaluator(result).run(inputs)
    assert outputs["y"].tolist() == [-1, -4]
    assert outputs["z"].tolist() == -5


def test_nodes_of_custom_domains_are_left_alone_even_with_a_familiar_name():
    text = """
        <ir_version: 8, opset_import: ["": 13, "com.example": 1]>
        g (float[2, 3] x) => (float[2, 1] y) { y = com.example.ReduceMin <axes = [1]> (x) }
    """
    source = model(text)
    result = convert(source, to=18, prove=False, check=False).model
    assert result.graph.node[0].SerializeToString() == source.graph.node[0].SerializeToString()


def test_a_blank_last_input_stays_where_the_rule_had_nothing_to_take_away():
    text = """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[N] x, int64[2] pads) => (float[M] y) { y = Pad (x, pads, "") }
    """
    result = convert(model(text), to=13)
    assert list(result.model.graph.node[0].input) == ["x", "pads", ""]
    assert result.certificate.is_proven


def test_of_the_nodes_that_compute_several_outputs_one_takes_over_the_name():
    text = """
        <ir_version: 6, opset_import: ["": 11]>
        g (float[2, 6] x) => (float[2, 3] least, int64[2, 3] places) <int64[1] k = {3}> {
            [smallest] least, places = TopK <largest = 0> (x, k)
        }
    """
    names = [node.name for node in lifted(text, 10).graph.node]
    assert len(set(names)) == len(names) > 2
    assert names.count("smallest") == 1


def test_facts_of_copied_nodes_do_not_depend_on_how_the_domain_is_spelt():
    spelt = "ai.onnx.ReduceMax"
    text = """
        <ir_version: 10, opset_import: ["": 20]>
        g (bool[2, 3] x, int64[1] axes) => (bool[A, B] y) { y = %s (x, axes) }
    """
    result = convert(model(text % spelt), to=7, prove=False, check=False).model
    named = {node.op_type for node in result.graph.node}
    assert named == {node.op_type for node in lifted(text % "ReduceMax", 7).graph.node}


def test_an_operator_that_the_opset_does_not_have_is_refused_by_name():
    refusal = check_refusal(
        '<ir_version: 3, opset_import: ["": 7]> g (float[2] x) => (float[2] y) { y = Mish (x) }',
        9,
        Why.UNKNOWN_OPERATOR,
        "Mish",
        "introduced in 18",
    )
    assert refusal.operator == "Mish"


def test_going_nowhere_changes_nothing_but_an_ir_version_higher_than_needed():
    source = model(TWO_MEANS)
    result = convert(source, to=13).model
    assert (source.ir_version, result.ir_version) == (8, 7)
    result.ir_version = source.ir_version
    assert result.SerializeToString() == source.SerializeToString()


def test_quantization_annotations_and_value_info_stay():
    source = model(TWO_MEANS)
    source.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, ["N", 4]))
    annotation = source.graph.quantization_annotation.add(tensor_name="r")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    result = convert(source, to=18).model
    assert result.graph.value_info == source.graph.value_info
    assert result.graph.quantization_annotation == source.graph.quantization_annotation


def test_external_data_is_neither_read_nor_lost(tmp_path):
    source = model('<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[1] y) { y = ReduceMean (x) }')
    tensor = source.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=[2])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    numpy.ones(2, numpy.float32).tofile(tmp_path / "weights.bin")
    onnx.save(source, tmp_path / "model.onnx")
    result = convert(tmp_path / "model.onnx", to=18).model
    assert result.graph.initializer[0] == tensor


def test_inputs_of_a_loop_body_without_types_are_typed_by_the_loop():
    text = """
        <ir_version: 10, opset_import: ["": 18]>
        g (float[2] x, int64 n) => (float[2] y) <bool c = {1}> {
            y = Loop (n, c, x) <body = b (int64 i, bool k, float[2] v) => (bool k2, float[2] w) {
                k2 = Identity (k)
                w = Add (v, v)
            }>
        }
    """
    source = model(text)
    for info in source.graph.node[0].attribute[0].g.input:
        info.ClearField("type")
    result = convert(source, to=13).model
    assert result.graph.node[0].op_type == "Loop"


def test_dead_constants_are_found_with_one_index_per_scope(monkeypatch: pytest.MonkeyPatch):
    blocks = "\n".join(
        f"""
        a{n} = Constant <value_ints = [1]> ()
        m{n} = ReduceMean (x, a{n})
        y{n} = If (c) <then_branch = t () => (float[N, 1] p) {{ p = Neg (m{n}) }},
                       else_branch = e () => (float[N, 1] q) {{ q = Abs (m{n}) }}>"""
        for n in range(20)
    )
    names = ", ".join(f"y{n}" for n in range(20))
    text = f"""
        <ir_version: 8, opset_import: ["": 18]>
        g (float[N, 4] x, bool c) => (float[N, 20] y) {{ {blocks}
            y = Concat <axis = 1> ({names})
        }}"""
    read: list[str] = []
    of_graph = DefUse.__init__

    def counted(index: DefUse, container: onnx.GraphProto) -> None:
        read.append(container.name)
        of_graph(index, container)

    monkeypatch.setattr(DefUse, "__init__", counted)
    result = convert(model(text), to=13, prove=False).model
    assert [node.op_type for node in result.graph.node] == ["ReduceMean", "If"] * 20 + ["Concat"]
    assert Counter(Counter(read).values()) == {40: 2, 2: 1}, "an index per scope, and one per edited scope"


def test_what_only_dropped_nodes_read_is_dropped_with_them():
    result = lifted(
        """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[N, 4] x) => (float[N, 1] y, float[N, 1] z) <int64[1] one = {1}, int64[1] two = {2}> {
            minus = Sub (one, two)
            same = Identity (minus)
            kept = Neg (two)
            y = ReduceMean (x, same)
            w = Cast <to = 1> (kept)
            m = ReduceMax (x, minus)
            z = Mul (m, w)
        }
        """,
        13,
    )
    assert [node.op_type for node in result.graph.node] == ["Neg", "ReduceMean", "Cast", "ReduceMax", "Mul"]
    assert [tensor.name for tensor in result.graph.initializer] == ["two"]


def test_the_names_of_a_model_are_collected_once_for_all_its_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[DefUse] = []
    collect = DefUse.names

    def counted(self: DefUse) -> set[str]:
        collected.append(self)
        return collect(self)

    monkeypatch.setattr(DefUse, "names", counted)
    names = Names(model(TWO_MEANS))
    walks = [names.renewed() for _ in range(3)]
    given = [[walk.fresh("r") for _ in range(20)] for walk in walks]
    assert given[0] == given[1] == given[2] == [f"r_{number}" for number in range(1, 21)]
    assert len(collected) == 1


def test_many_new_names_of_one_kind_are_found_without_trying_all_that_were_given(monkeypatch: pytest.MonkeyPatch):
    names = Names(model(TWO_MEANS))
    tried: list[str] = []
    is_taken = Names._is_taken

    def counted(self: Names, name: str) -> bool:
        tried.append(name)
        return is_taken(self, name)

    monkeypatch.setattr(Names, "_is_taken", counted)
    given = [names.fresh("r") for _ in range(100)]
    assert given == [f"r_{number}" for number in range(1, 101)]
    assert len(tried) <= 202
