"""`dtypes={"int64": "int32"}`: what changes, what keeps its dtype and why, and how near the results are."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.parser import parse_model

from opsetlift import ConversionRefused, convert
from opsetlift.cli import main
from opsetlift.conversion.dtype_policy import DtypePolicy, UnusableDtypes, apply, dtype_that_would_do, dtypes_from
from opsetlift.conversion.retyping import changed_type
from opsetlift.evaluator import Evaluator
from opsetlift.facts import ModelFacts
from opsetlift.model.files import ModelFileError, check_model
from opsetlift.pipeline.convert import Conversion
from opsetlift.pipeline.verification import verify
from opsetlift.proof import Certificate, Outcome, prove_dtypes
from testing.cases import node_cases

NARROW = {"int64": "int32"}
SINGLE = {"double": "float"}


def changed(text: str, dtypes: dict[str, str], interface: str = "keep", to: int | None = None) -> Conversion:
    """A model in other dtypes, valid, and proven to give nearly the same."""
    conversion = convert(parse_model(text), dtypes=dtypes, dtype_interface=interface, to=to)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return conversion


def dtypes_of(model: ModelProto) -> dict[str, str | None]:
    return {name: spelt for name, spelt in _types(model).items() if spelt}


def _types(model: ModelProto) -> dict[str, str | None]:
    facts = ModelFacts(model)
    names = [output for node in model.graph.node for output in node.output]
    given = [info.name for info in model.graph.input] + [tensor.name for tensor in model.graph.initializer]
    return {name: facts.graph.type_string(name) for name in (*given, *names)}


def operators(model: ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


class TestBorders:
    TEXT = """
        <ir_version: 8, opset_import: ["": 17]>
        g (int64[2,N] x) => (int64[M] y)
        <int64[1] w = {5}, int64[1] flat = {-1}>
        { a = Add (x, w)  r = Reshape (a, flat)  y = Mul (r, w) }
    """

    def test_inputs_and_outputs_keep_their_dtypes_behind_casts(self) -> None:
        result = changed(self.TEXT, NARROW).model
        assert operators(result) == ["Cast", "Add", "Reshape", "Mul", "Cast"]
        found = dtypes_of(result)
        assert (found["x"], found["a"], found["r"], found["y"]) == (
            "tensor(int64)",
            "tensor(int32)",
            "tensor(int32)",
            "tensor(int64)",
        )

    def test_inputs_and_outputs_change_where_that_is_wanted(self) -> None:
        result = changed(self.TEXT, NARROW, "change").model
        assert operators(result) == ["Add", "Reshape", "Mul"]
        assert [info.name for info in (*result.graph.input, *result.graph.output)] == ["x", "y"]
        assert dtypes_of(result)["x"] == dtypes_of(result)["y"] == "tensor(int32)"

    def test_what_the_schema_wants_in_the_old_dtype_stays(self) -> None:
        conversion = changed(self.TEXT, NARROW)
        assert dtypes_of(conversion.model)["flat"] == "tensor(int64)"
        assert conversion.report.dtypes is not None
        assert conversion.report.dtypes.kept == ("Reshape has no int32 for 'shape'",)
        assert not conversion.report.dtypes.is_exact

    def test_an_output_that_is_an_input_is_left_alone(self) -> None:
        text = '<ir_version: 8, opset_import: ["": 17]> g (double[2] x) => (double[2] y) { y = Identity (x) }'
        assert operators(changed(text, SINGLE).model) == ["Cast", "Identity", "Cast"]
        assert operators(changed(text, SINGLE, "change").model) == ["Identity"]

    def test_a_model_that_has_none_of_it_is_what_it_was(self) -> None:
        text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
        conversion = changed(text, SINGLE)
        assert conversion.model == parse_model(text)
        assert conversion.report.dtypes is not None
        assert "nothing to change" in conversion.report.dtypes.sentence


class TestConstants:
    def test_one_that_is_read_in_both_dtypes_exists_twice(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[4] x) => (int64[4] y, int64[2,2] z)
            <int64[2] w = {2, 2}>
            {
                n = Constant <value_ints = [2]> ()
                z = Reshape (x, w)  h = Gather (x, w)  t = Tile (h, n)  y = Add (t, t)
            }
        """
        result = changed(text, NARROW).model
        found = dtypes_of(result)
        assert (found["w"], found["w_int32"]) == ("tensor(int64)", "tensor(int32)")
        assert found["n"] == "tensor(int64)"

    def test_one_that_does_not_fit_keeps_its_node_as_it_was(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (float[6] x) => (float[K] y)
            <int64[1] from = {2}, int64[1] end = {9223372036854775807}>
            { y = Slice (x, from, end) }
        """
        conversion = changed(text, NARROW)
        assert conversion.model.graph == parse_model(text).graph
        assert conversion.report.dtypes is not None
        assert "9223372036854775807" in conversion.report.dtypes.kept[0]

    def test_floats_beyond_the_range_become_the_largest_in_it(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (float[2,4] x, bool[2,4] b) => (float[2,4] y)
            <float low = {-3.4e38}>
            { r = Relu (x)  w = Where (b, r, low)  s = Softmax (w)  y = Sqrt (s) }
        """
        conversion = changed(text, {"float": "float16"})
        (tensor,) = conversion.model.graph.initializer
        assert numpy_helper.to_array(tensor) == numpy.float16(-65504)
        assert conversion.report.dtypes is not None
        assert conversion.report.dtypes.clamped == {"low": pytest.approx(3.4e38)}
        masked = {"x": numpy.ones((2, 4), numpy.float32), "b": numpy.zeros((2, 4), numpy.bool_)}
        numpy.testing.assert_allclose(Evaluator(conversion.model).run(masked)["y"], 0.5)

    def test_of_all_kinds_are_written_in_the_new_dtype(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[2] x) => (int64[2] y) {
                a = Constant <value = int64[2] {3, 4}> ()
                b = Constant <value_ints = [5, 6]> ()
                c = Constant <value_int = 7> ()
                ab = Add (a, b)  abc = Add (ab, c)  y = Add (abc, x)
            }
        """
        result = changed(text, NARROW).model
        assert {dtypes_of(result)[name] for name in ("a", "b", "c", "abc")} == {"tensor(int32)"}

    def test_defaults_of_inputs_can_be_overridden_and_stay(self) -> None:
        text = """
            <ir_version: 3, opset_import: ["": 8]>
            g (double[2] x, double[2] w = {1.5, 2.5}) => (double[2] y) { y = Mul (x, w) }
        """
        kept = changed(text, SINGLE).model
        assert dtypes_of(kept)["w"] == "tensor(double)"
        assert kept.ir_version == 3
        other = changed(text, SINGLE, "change").model
        assert dtypes_of(other)["w"] == "tensor(float)"
        assert other.graph.initializer[0].data_type == TensorProto.FLOAT

    def test_external_data_is_read(self, tmp_path: Path) -> None:
        weights = numpy.arange(4096, dtype=numpy.float64)
        model = helper.make_model(
            helper.make_graph(
                [helper.make_node("Add", ["x", "w"], ["y"])],
                "g",
                [helper.make_tensor_value_info("x", TensorProto.DOUBLE, [4096])],
                [helper.make_tensor_value_info("y", TensorProto.DOUBLE, [4096])],
                [numpy_helper.from_array(weights, "w")],
            ),
            opset_imports=[helper.make_opsetid("", 17)],
            ir_version=8,
        )
        onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
        conversion = convert(tmp_path / "m.onnx", dtypes=SINGLE)
        (found,) = conversion.model.graph.initializer
        numpy.testing.assert_array_equal(numpy_helper.to_array(found), weights.astype(numpy.float32))
        assert conversion.certificate is not None
        assert conversion.certificate.is_proven


class TestAttributes:
    @pytest.mark.parametrize(
        "node",
        [
            "Cast <to = 7> (x)",
            "EyeLike <dtype = 7> (x)",
            "CastLike (x, like)",
            "ConstantOfShape <value = int64[1] {3}> (shape)",
        ],
    )
    def test_that_name_the_dtype_of_an_output_change(self, node: str) -> None:
        text = f"""
            <ir_version: 8, opset_import: ["": 17]>
            g (float[2,2] x) => (int64[2,2] y)
            <int64[2] shape = {{2, 2}}, int64 like = {{0}}>
            {{ v = {node}  y = Neg (v) }}
        """
        assert dtypes_of(changed(text, NARROW).model)["v"] == "tensor(int32)"

    def test_a_default_that_names_the_dtype_is_written_out(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g () => (float[2] y) { v = RandomUniform <shape = [2]> ()  s = SequenceEmpty ()  y = Relu (v) }
        """
        model, _ = apply(parse_model(text), DtypePolicy.of({"float": "double"}))
        check_model(model)
        assert dtypes_of(model)["v"] == "tensor(double)"
        assert dtypes_of(model)["s"] == "seq(tensor(double))"

    def test_numbers_that_name_no_dtype_stay(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[1,7] x) => (int64[1,1] i) { y = Neg (x)  i = ArgMax <axis = 1> (y) }
        """
        result = changed(text, NARROW).model
        assert dtypes_of(result)["i"] == "tensor(int64)"
        assert next(node for node in result.graph.node if node.op_type == "ArgMax").attribute[0].i == 1


class TestSubgraphs:
    LOOP = """
        <ir_version: 8, opset_import: ["": 17]>
        g (int64 n, int64[2] x, int64[2] outer) => (int64[2] last, int64[K,2] all)
        <bool go = {1}, int64 one = {1}>
        {
            start = Neg (x)
            last, all = Loop (n, go, start) <
                body = b (int64 i, bool c, int64[2] s) => (bool c2, int64[2] s2, int64[2] o) {
                    c2 = Identity (c)
                    j = Add (i, one)
                    t = Add (s, outer)
                    s2 = Mul (t, j)
                    o = Identity (s)
                }
            >
        }
    """

    @pytest.mark.parametrize("interface", ["keep", "change"])
    def test_states_change_and_the_iteration_number_does_not(self, interface: str) -> None:
        result = changed(self.LOOP, NARROW, interface).model
        body = next(node for node in result.graph.node if node.op_type == "Loop").attribute[0].g
        kinds = [info.type.tensor_type.elem_type for info in (*body.input, *body.output)]
        whole, truth, new = TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32
        assert kinds == [whole, truth, new, truth, new, new]

    def test_a_loop_that_starts_with_what_does_not_fit_is_kept(self) -> None:
        text = self.LOOP.replace("start = Neg (x)", "").replace(
            "int64 one = {1}", "int64 one = {1}, int64[2] start = {0, 4294967296}"
        )
        result = changed(text, NARROW).model
        body = next(node for node in result.graph.node if node.op_type == "Loop").attribute[0].g
        assert {info.type.tensor_type.elem_type for info in body.input} == {TensorProto.INT64, TensorProto.BOOL}

    def test_branches_agree(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (bool b, double[2] x) => (double[2] y) {
                r = Relu (x)
                y = If (b) <
                    then_branch = t () => (double[2] p) { p = Identity (r) },
                    else_branch = e () => (double[2] q) <double[2] q = {1, 2}> { }
                >
            }
        """
        result = changed(text, SINGLE).model
        node = next(node for node in result.graph.node if node.op_type == "If")
        assert {graph.g.output[0].type.tensor_type.elem_type for graph in node.attribute} == {TensorProto.FLOAT}

    def test_scans(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (double[2] start, double[3,2] x) => (double[2] last, double[3,2] all) {
                last, all = Scan <
                    num_scan_inputs = 1,
                    body = b (double[2] s, double[2] e) => (double[2] t, double[2] o) { t = Add (s, e)  o = Mul (s, t) }
                > (start, x)
            }
        """
        result = changed(text, SINGLE).model
        assert operators(result) == ["Cast", "Cast", "Scan", "Cast", "Cast"]


class TestFunctions:
    def test_change_for_all_their_calls(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17, "local": 1]>
            g (double[2] x) => (double[2] y) { a = local.f (x)  y = local.outer (a) }
            <domain: "local", opset_import: ["": 17, "local": 1]>
            outer (a) => (o) { b = local.f (a)  o = Neg (b) }
            <domain: "local", opset_import: ["": 17]>
            f (a) => (o) { k = Constant <value = double {2.5}> ()  o = Mul (a, k) }
        """
        result = changed(text, SINGLE).model
        assert [function.name for function in result.functions] == ["outer", "f"]
        assert result.functions[1].node[0].attribute[0].t.data_type == TensorProto.FLOAT
        assert operators(result) == ["Cast", "f", "outer", "Cast"]

    def test_for_callers_of_several_dtypes_are_copied(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17, "local": 1]>
            g (int64[2] x, float[2] z) => (int64[2] y, float[2] w) { y = local.f (x)  w = local.f (z) }
            <domain: "local", opset_import: ["": 17]>
            f (a) => (o) { s = Shape (a)  r = Reshape (a, s)  o = Add (r, r) }
        """
        result = changed(text, NARROW).model
        assert len(result.functions) == 2

    def test_with_parameters_that_name_dtypes(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17, "local": 1]>
            g (float[2] x) => (int64[2] y, float[2] w) { y = local.f <kind = 7> (x)  w = local.f <kind = 1> (x) }
            <domain: "local", opset_import: ["": 17]>
            f <kind> (a) => (o) { b = Cast <to : int = @kind> (a)  o = Add (b, b) }
        """
        found = dtypes_of(changed(text, NARROW).model)
        assert found["y_int32"] == "tensor(int32)"
        assert found["w"] == "tensor(float)"

    def test_outputs_that_stay_are_cast_in_the_body(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17, "local": 1]>
            g (float[N] x) => (int64[1] y) { s = local.f (x)  y = Neg (s) }
            <domain: "local", opset_import: ["": 17]>
            f (a) => (o) { o = Shape (a) }
        """
        result = changed(text, NARROW).model
        assert [node.op_type for node in result.functions[0].node] == ["Shape", "Cast"]


class TestOtherValues:
    def test_tensors_without_elements(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[0,3] x) => (int64[0,3] y) <int64[0] none = {}> {
                e = Constant <value_ints = [0]> ()  n = Neg (x)  z = Concat <axis = 0> (none, e)  y = Add (n, z)
            }
        """
        changed(text, NARROW)

    def test_inputs_that_are_left_out(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (double[4] x) => (double[4] y) <double top = {2}> { y = Clip (x, , top) }
        """
        result = changed(text, SINGLE).model
        assert list(next(node for node in result.graph.node if node.op_type == "Clip").input)[1] == ""

    def test_sequences_change_as_a_whole(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[2] x) => (int64[2] y) <int64 first = {0}> {
                s = SequenceConstruct (x, x)  y = SequenceAt (s, first)
            }
        """
        assert dtypes_of(changed(text, NARROW).model)["s"] == "seq(tensor(int32))"

    @pytest.mark.parametrize("interface", ["keep", "change"])
    @pytest.mark.parametrize(
        "graph",
        [
            pytest.param(
                "g (int64[2] x, int32[2] x_int32) => (int64[2] y, int32[2] y_int32)"
                "{ y = Neg (x)  y_int32 = Neg (x_int32) }",
                id="names that are taken",
            ),
            pytest.param(
                "g (int64[2] x, float[2] f) => (int64[2] w, int64[2] y, float[1,2] r) <int64[2] w = {1, 2}>"
                "{ y = Add (x, w)  r = Reshape (f, w) }",
                id="a constant that is an output",
            ),
            pytest.param("g (int64[2] x) => (int64[2] x, int64[2] y) { y = Neg (x) }", id="an input that is an output"),
            pytest.param(
                "g (bool b, int64[2] x) => (int64[2] y) <int64[2] w = {1, 2}> { a = Add (x, w)  y = If (b) <"
                "then_branch = t () => (int64[2] p) { s = Shape (a)  e = Expand (a, s)  p = If (b) <"
                "then_branch = u () => (int64[2] q) { q = Add (a, e) },"
                "else_branch = v () => (int64[2] r) { h = Reshape (a, s)  r = Sub (h, w) }> },"
                "else_branch = e () => (int64[2] z) { z = Identity (x) }> }",
                id="values captured from two scopes around",
            ),
            pytest.param(
                "g (int64[4] x) => (int64[2] y) <int64[1] k = {2}> { v, i = TopK (x, k)  y = Add (v, i) }",
                id="outputs of both dtypes that meet",
            ),
            pytest.param(
                "g (int64[2] x) => (int64[2] y) { o = Optional (x)  y = OptionalGetElement (o) }", id="optionals"
            ),
            pytest.param(
                "g (seq(int64[2]) s, int64[2] z) => (int64[2] y) <int64 i = {0}>"
                "{ n = Neg (z)  q = SequenceInsert (s, n)  x = SequenceAt (q, i)  y = Neg (x) }",
                id="a sequence that comes in",
            ),
            pytest.param(
                "g (int64 x) => (int64 y) <bool t = {1}, int64 top = {20}, int64 two = {2}> { y = Loop (, t, x) <"
                "body = b (int64 i, bool c, int64 s) => (bool d, int64 r)"
                "{ m = Mul (s, two)  r = Add (m, i)  d = Less (r, top) }> }",
                id="a loop without a trip count",
            ),
            pytest.param(
                "g (int64[3] x, bool[3] c) => (int64[3] y) <int64 big = {9223372036854775807}, int64 m = {7}>"
                "{ w = Where (c, x, big)  v = Mod (w, m)  y = Add (v, x) }",
                id="what is computed from a number beyond the range",
            ),
        ],
    )
    def test_are_equal_after_the_change(self, graph: str, interface: str) -> None:
        changed(f'<ir_version: 8, opset_import: ["": 17]> {graph}', NARROW, interface)

    def test_below_opset_6_cast_names_its_dtype(self) -> None:
        text = '<ir_version: 3, opset_import: ["": 5]> g (double[2] x) => (double[2] y) { y = Relu (x) }'
        result = changed(text, SINGLE).model
        assert [node.attribute[0].s for node in result.graph.node if node.op_type == "Cast"] == [b"FLOAT", b"DOUBLE"]

    def test_a_sequence_that_would_need_a_cast_is_refused(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[2] x) => (seq(int64[2]) y) { y = SequenceConstruct (x, x) }
        """
        with pytest.raises(ConversionRefused, match="no Cast"):
            convert(parse_model(text), dtypes=NARROW)

    def test_operators_of_unknown_domains_keep_theirs(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17, "vendor": 1]>
            g (int64[2] x) => (int64[2] y) { a = Neg (x)  b = vendor.Secret (a)  y = Add (a, b) }
        """
        model, changes = apply(parse_model(text), DtypePolicy.of(NARROW))
        node = next(node for node in model.graph.node if node.op_type == "Secret")
        cast = next(one for one in model.graph.node if node.input[0] in one.output)
        assert (cast.op_type, cast.attribute[0].i) == ("Cast", TensorProto.INT64)
        assert "there is no information on the dtypes that Secret takes" in changes.kept

    def test_keys_in_attributes_hold_a_node_to_its_dtype(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 4]>
            g (int64[2] x) => (float[2] y) {
                a = Neg (x)
                y = ai.onnx.ml.LabelEncoder <keys_int64s = [1, 2], values_floats = [0.5, 1.5]> (a)
            }
        """
        result = changed(text, NARROW).model
        node = next(node for node in result.graph.node if node.op_type == "LabelEncoder")
        assert dtypes_of(result)[node.input[0]] == "tensor(int64)"

    def test_a_model_with_training_info_is_refused(self) -> None:
        model = parse_model(TestBorders.TEXT)
        model.training_info.add()
        with pytest.raises(ConversionRefused, match="training"):
            apply(model, DtypePolicy.of(NARROW))


class TestOpsets:
    def test_dtypes_change_before_the_opset_does(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 13]>
            g (bfloat16[2] x) => (bfloat16[2] y) { y = Relu (x) }
        """
        with pytest.raises(ConversionRefused):
            convert(parse_model(text), to=11)
        result = changed(text, {"bfloat16": "float"}, "change", to=11).model
        assert result.opset_import[0].version == 11
        assert dtypes_of(result)["y"] == "tensor(float)"

    def test_with_rules_on_the_way(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 18]>
            g (double[2,3] x) => (double[2] y) <int64[1] axes = {1}> { y = ReduceMax <keepdims = 0> (x, axes) }
        """
        conversion = changed(text, SINGLE, to=13)
        assert operators(conversion.model) == ["Cast", "ReduceMax", "Cast"]
        assert conversion.certificate is not None
        assert conversion.certificate.sites


class TestProof:
    def test_says_how_near_the_results_are(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (double[3] x) => (double[3] y) { e = Exp (x)  y = Sin (e) }
        """
        certificate = changed(text, SINGLE).certificate
        assert certificate is not None
        assert certificate.dtypes is not None
        assert 0 < certificate.dtypes.worst < certificate.dtypes.tolerance < 1e-3
        assert "not exact" in certificate.summary()

    def test_inputs_on_which_the_range_is_left_say_nothing(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (int64[3] x) => (int64[3] y) <int64 k = {65536}> { o = Abs (x)  p = Mul (k, k)  y = Add (o, p) }
        """
        certificate = convert(parse_model(text), dtypes=NARROW).certificate
        assert certificate is not None
        assert certificate.dtypes is not None
        assert certificate.dtypes.outcome is Outcome.UNPROVEN
        assert "leaves the range" in certificate.dtypes.sentence

    def test_sums_that_cancel_and_single_numbers_are_no_difference(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (float x) => (float y) <float k = {0.33333333}> { a = Mul (x, k)  b = Mul (k, x)  y = Sub (a, b) }
        """
        changed(text, {"float": "float16"})

    def test_an_index_that_comes_out_otherwise_proves_nothing_and_refutes_nothing(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (float[64] x) => (int64 y) { z = Sub (x, x)  y = ArgMax <axis = 0, keepdims = 0> (z) }
        """
        before = parse_model(text)
        after = parse_model(text.replace("keepdims = 0", "keepdims = 0, select_last_index = 1"))
        proof = prove_dtypes(before, before, after, {"float": "float16"}, interface="keep")
        assert proof.outcome is Outcome.UNPROVEN
        assert "output 'y'" in proof.sentence

    def test_refutes_another_model(self) -> None:
        before = parse_model('<ir_version: 8, opset_import: ["": 17]> g (double[2] x) => (double[2] y) { y = Sin (x) }')
        after = parse_model('<ir_version: 8, opset_import: ["": 17]> g (double[2] x) => (double[2] y) { y = Cos (x) }')
        proof = prove_dtypes(before, before, after, SINGLE, interface="keep")
        assert proof.outcome is Outcome.DIFFERENT

    def test_inputs_of_more_elements_than_memory_may_hold_are_not_drawn(self) -> None:
        text = """
            <ir_version: 8, opset_import: ["": 17]>
            g (double[400000, 1000] x) => (double[400000, 1000] y) { y = Neg (x) }
        """
        proof = prove_dtypes(parse_model(text), parse_model(text), parse_model(text), SINGLE, interface="keep")
        assert proof.outcome is Outcome.UNPROVEN
        assert proof.sentence == "the inputs have 400,000,000 elements, and inputs are drawn up to 134,217,728"

    def test_can_be_run_again_from_its_certificate(self) -> None:
        source = parse_model(TestSubgraphs.LOOP)
        conversion = convert(source, dtypes=NARROW, to=18)
        assert conversion.certificate is not None
        read = Certificate.from_json(conversion.certificate.to_json())
        again = verify(read, source, conversion.model)
        assert again.dtypes == conversion.certificate.dtypes
        assert again.to_json() == conversion.certificate.to_json()


class TestWhatIsAskedFor:
    @pytest.mark.parametrize(
        "dtypes",
        [
            {"int64": "float"},
            {"uint8": "int32"},
            {"float": "float"},
            {"string": "int64"},
            {"double": "float", "float": "float16"},
        ],
    )
    def test_has_to_make_sense(self, dtypes: dict[str, str]) -> None:
        with pytest.raises(UnusableDtypes):
            DtypePolicy.of(dtypes)

    def test_unknown_names_suggest_the_nearest(self) -> None:
        with pytest.raises(UnusableDtypes, match="did you mean int64"):
            DtypePolicy.of({"integer64": "int32"})

    def test_is_spelt_with_onnx_or_numpy_names(self) -> None:
        assert dtypes_from(["int64=int32", "float64=float32"]) == {"int64": "int32", "double": "float"}
        with pytest.raises(UnusableDtypes, match="takes FROM=TO"):
            dtypes_from(["int64"])
        with pytest.raises(UnusableDtypes, match="both"):
            dtypes_from(["int64=int32", "int64=uint32"])

    def test_cannot_be_exact(self) -> None:
        with pytest.raises(UnusableDtypes, match="never exact"):
            convert(parse_model(TestBorders.TEXT), dtypes=NARROW, exact=True)

    @pytest.mark.parametrize(
        ("refused", "found"), [("int64", "int32"), ("double", "float"), ("bfloat16", "float"), ("string", "")]
    )
    def test_could_be_what_a_runtime_lacks(self, refused: str, found: str) -> None:
        assert dtype_that_would_do(refused, frozenset()) == found

    def test_on_the_command_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        onnx.save(parse_model(TestBorders.TEXT), tmp_path / "in.onnx")
        files = [str(tmp_path / "in.onnx"), str(tmp_path / "out.onnx")]
        assert main(["convert", *files, "--dtype", "int64=int32"]) == 0
        said = capsys.readouterr().out
        assert "not exact" in said
        assert "Constants were checked against the range of int32" in said
        assert "Reshape has no int32" in said
        assert main(["convert", *files, "--dtype", "int64=int32", "--force", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["report"]["dtypes"]["is_exact"] is False
        assert document["certificate"]["request"]["dtypes"] == NARROW
        assert main(["convert", *files, "--dtype", "int64=float", "--force"]) == 1
        assert main(["convert", *files, "--dtype", "int64=int32", "--dtype-interface", "none", "--force"]) == 1
        assert main(["convert", *files, "--to", "18", "--dtype-interface", "change", "--force"]) == 1


@pytest.mark.quick_share(6)
@pytest.mark.parametrize("name", ["control_loop_opset11", "lstm_tagger_opset9", "reductions_basic_opset18"])
def test_onnxruntime_computes_the_same_with_int32(name: str, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    folder = Path(__file__).parents[1] / "examples" / "models" / name
    onnx.save(convert(folder / "model.onnx", dtypes=NARROW, to=13).model, tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    recorded = numpy.load(folder / "expected.npz")
    found = session.run(None, dict(numpy.load(folder / "inputs.npz")))
    for result, expected in zip(found, recorded.files, strict=True):
        numpy.testing.assert_allclose(result, recorded[expected], rtol=1e-3, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("interface", ["keep", "change"])
def test_every_node_test_stays_valid_in_other_dtypes(interface: str, part: int) -> None:
    """A fourth of onnx's own node tests with all pairs at once, or refused since a sequence has no Cast."""
    policy = DtypePolicy.of({"int64": "int32", "float": "float16", "double": "float16"}, interface)
    tried = 0
    reasons: set[str] = set()
    for case in node_cases()[part::40]:
        try:
            check_model(case.model)
            retyped, changes = apply(case.model, policy)
        except ModelFileError:
            continue
        except ConversionRefused as refused:
            reasons.update(refusal.sentence for refusal in refused.refusals)
            continue
        check_model(retyped)
        tried += bool(changes.values)
        types = [
            {info.name: info.type for info in (*model.graph.input, *model.graph.output)}
            for model in (case.model, retyped)
        ]
        if interface == "keep":
            assert types[0] == types[1]
        else:
            spelt = ModelFacts(retyped).graph.type_string
            assert not any(changed_type(spelt(name), policy.changes) for name in types[1])
    assert tried
    assert all("become seq(" in reason or "does not import" in reason for reason in reasons), reasons
