"""Fallbacks and refusals for OpenVINO, from models in the repositories of other projects; proven to be equal."""

from __future__ import annotations

import pytest

from opsetlift import ConversionRefused, convert
from testing.conversion import model
from tests.test_fallbacks import converted, operators
from tests.test_fallbacks_for_other_runtimes import refused

OLD, MIDDLE, NEW = RELEASES = ("openvino==2021.4", "openvino==2022.3", "openvino==2026.4")


def of_com_microsoft(text: str, runtime: str) -> None:
    """Convert a model with operators of com.microsoft."""
    convert(model(f'<ir_version: 7, opset_import: ["": 13, "com.microsoft": 1]> {text}'), target=runtime)


class TestComMicrosoft:
    @pytest.mark.parametrize(("runtime", "operator"), [(OLD, "Attention"), (MIDDLE, "MultiHeadAttention")])
    def test_operators_that_a_release_lacks_are_refused(self, runtime: str, operator: str) -> None:
        text = (
            f"g (float[2,3,4] x, float[4,12] w, float[12] b) => (float y) {{ y = com.microsoft.{operator}(x, w, b) }}"
        )
        with pytest.raises(ConversionRefused, match=f"has no {operator} of com.microsoft"):
            of_com_microsoft(text, runtime)

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    @pytest.mark.parametrize(
        ("attributes", "inputs", "because"),
        [
            ("", "x, w", "without a bias"),
            (", scale = 0.3", "x, w, b", "does not scale"),
            (", mask_filter_value = -1.0", "x, w, b", "mask_filter_value"),
        ],
    )
    def test_nodes_are_told_by_attributes_and_how_many_inputs_they_have(
        self, runtime: str, attributes: str, inputs: str, because: str
    ) -> None:
        node = f"y = com.microsoft.Attention <num_heads = 2{attributes}> ({inputs})"
        text = f"g (float[2,3,4] x, float[4,12] w, float[12] b) => (float[2,3,4] y) {{ {node} }}"
        with pytest.raises(ConversionRefused, match=because):
            of_com_microsoft(text, runtime)

    @pytest.mark.parametrize("attributes", ["", ", mask_filter_value = -10000.0"])
    def test_other_nodes_of_the_operator_stay(self, attributes: str) -> None:
        node = f"y = com.microsoft.Attention <num_heads = 2{attributes}> (x, w, b)"
        of_com_microsoft(f"g (float[2,3,4] x, float[4,12] w, float[12] b) => (float[2,3,4] y) {{ {node} }}", NEW)

    @pytest.mark.parametrize(("heads", "bias"), [(2, "b"), (1, "b"), (4, '""')])
    def test_attention_with_a_bias_is_refused_where_there_are_as_many_heads_as_steps(
        self, heads: int, bias: str
    ) -> None:
        def attention(steps: int) -> str:
            shape, node = f"float[1,{steps},8]", f"MultiHeadAttention <num_heads = {heads}> (x, x, x, {bias})"
            return f"g ({shape} x, float[24] b) => ({shape} y) {{ y = com.microsoft.{node} }}"

        of_com_microsoft(attention(3), NEW)
        if heads == 1 or bias == '""':
            of_com_microsoft(attention(heads), NEW)
        else:
            with pytest.raises(ConversionRefused, match="as long as there are heads"):
                of_com_microsoft(attention(heads), NEW)


@pytest.mark.parametrize("computed", ["uint8[4,1,8] b", "uint8[4] z"])
def test_weights_of_few_bits_that_are_computed_are_refused(computed: str) -> None:
    numbers = f"{{{', '.join(map(str, range(32)))}}}"
    constants = [f"uint8[4,1,8] b = {numbers}", "float[4] s = {1, 2, 3, 4}", "uint8[4] z = {1, 2, 3, 4}"]
    node = "MatMulNBits <K = 16, N = 4, bits = 4, block_size = 16> (x, b, s, z)"

    def product(inputs: str, kept: list[str]) -> str:
        return f"g ({inputs}) => (float[2,4] y) <{', '.join(kept)}> {{ y = com.microsoft.{node} }}"

    of_com_microsoft(product("float[2,16] x", constants), NEW)
    left = [one for one in constants if not one.startswith(computed)]
    with pytest.raises(ConversionRefused, match="only constant"):
        of_com_microsoft(product(f"float[2,16] x, {computed}", left), NEW)


class TestQuantizedConcat:
    """OpenVINO from 2022.3 on crashes where it merges what is between two quantizations behind a Concat."""

    CONSTANTS = "<float s = {0.5}, uint8 z = {100}, float[4] c = {1, 2, 3, 4}, int64[2] h = {2, 4}>"

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    @pytest.mark.parametrize(
        ("joined", "between"),
        [
            ("q", "n = Add (d, c)"),
            ("q", "n = BatchNormalization (d, c, c, c, c)"),
            ("q", "a = Mul (d, c) n = Sub (a, c)"),
            ("q", "r = Reshape (d, h) n = Mul (r, c)"),
            ("p", "n = Add (d, c)"),
        ],
    )
    def test_is_quantized_again_by_arithmetic(self, runtime: str, joined: str, between: str) -> None:
        nodes = (
            f"{joined} = Concat <axis = 1> (x, y) {'q = Relu (p)' if joined == 'p' else ''} "
            f"i = QuantizeLinear (q, s, z) d = DequantizeLinear (i, s, z) {between} o = QuantizeLinear (n, s, z)"
        )
        text = f"g (float[2,2] x, float[2,2] y) => (uint8[2,4] o) {self.CONSTANTS} {{ {nodes} }}"
        assert operators(converted(text, runtime)).count("QuantizeLinear") == 1

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    def test_stays_behind_other_operators(self, runtime: str) -> None:
        nodes = (
            "i = QuantizeLinear (x, s, z) d = DequantizeLinear (i, s, z) n = Add (d, c) o = QuantizeLinear (n, s, z)"
        )
        text = f"g (float[2,4] x) => (uint8[2,4] o) {self.CONSTANTS} {{ {nodes} }}"
        assert operators(converted(text, runtime)).count("QuantizeLinear") == 2

    def test_whose_quantized_values_are_read_is_quantized_by_arithmetic(self) -> None:
        nodes = "q = Concat <axis = 1> (x, y) i = QuantizeLinear (q, s, z) o = Transpose (i)"
        text = f"g (float[2,2] x, float[2,2] y) => (uint8[4,2] o) {self.CONSTANTS} {{ {nodes} }}"
        assert "QuantizeLinear" not in operators(converted(text, MIDDLE))
        assert "QuantizeLinear" in operators(converted(text, NEW))


class TestPadsOfConvTranspose:
    """OpenVINO up to 2022.3 leaves out those of auto_pad, and puts an odd one on the other side."""

    @pytest.mark.parametrize("runtime", [OLD, MIDDLE])
    @pytest.mark.parametrize(
        ("attributes", "pads"),
        [
            ('auto_pad = "SAME_UPPER"', [0, 0, 1, 1]),
            ('auto_pad = "SAME_LOWER"', [1, 1, 0, 0]),
            ("output_shape = [4, 4]", [1, 1, 0, 0]),
            ('output_shape = [4, 4], auto_pad = "SAME_UPPER"', [0, 0, 1, 1]),
        ],
    )
    def test_are_written_out(self, runtime: str, attributes: str, pads: list[int]) -> None:
        node = f"y = ConvTranspose <{attributes}, strides = [2, 2]> (x, w)"
        text = f"g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[1,1,3,3] w = {{1,2,3,4,5,6,7,8,9}}> {{ {node} }}"
        (found,) = converted(text, runtime, opset=11).graph.node
        assert {one.name: list(one.ints) for one in found.attribute}["pads"] == pads

    def test_beyond_what_the_kernel_covers_are_zeros_behind_the_output(self) -> None:
        node = "y = ConvTranspose <output_shape = [4, 6], strides = [2, 2]> (x, w)"
        text = f"g (float[1,1,2,2] x) => (float[1,1,4,6] y) <float[1,1,3,3] w = {{1,2,3,4,5,6,7,8,9}}> {{ {node} }}"
        (found,) = converted(text, MIDDLE, opset=11).graph.node
        numbers = {one.name: list(one.ints) for one in found.attribute}
        assert (numbers["pads"], numbers["output_padding"]) == ([1, 0, 0, 0], [0, 1])

    @pytest.mark.parametrize("runtime", RELEASES)
    def test_stay_where_output_shape_cuts_nothing_off(self, runtime: str) -> None:
        node = "y = ConvTranspose <output_shape = [9, 5], strides = [2, 2]> (x, w)"
        text = f"g (float[1,1,2,2] x) => (float[1,1,9,5] y) <float[1,1,3,3] w = {{1,2,3,4,5,6,7,8,9}}> {{ {node} }}"
        (found,) = converted(text, runtime, opset=11).graph.node
        assert "output_shape" in {one.name for one in found.attribute}

    def test_stay_where_the_release_knows_them(self) -> None:
        node = 'y = ConvTranspose <auto_pad = "SAME_UPPER", strides = [2]> (x, w)'
        text = f"g (float[1,1,5] x) => (float[1,1,10] y) <float[1,1,3] w = {{1,2,3}}> {{ {node} }}"
        (found,) = converted(text, NEW, opset=11).graph.node
        assert "auto_pad" in {one.name for one in found.attribute}


class TestGatherElements:
    @pytest.mark.parametrize("runtime", RELEASES)
    def test_gets_data_as_long_as_the_indices_along_other_axes(self, runtime: str) -> None:
        text = "g (float[3,4] x, int64[2,3] i) => (float[2,3] y) { y = GatherElements <axis = 0> (x, i) }"
        assert operators(converted(text, runtime)) == ["Gather", "GatherElements"]

    def test_stays_where_only_its_own_axis_differs(self) -> None:
        text = "g (float[3,4] x, int64[2,4] i) => (float[2,4] y) { y = GatherElements <axis = 0> (x, i) }"
        assert operators(converted(text, OLD)) == ["GatherElements"]

    def test_is_kept_apart_from_a_slice_that_2026_leaves_out(self) -> None:
        text = (
            "g (float[3,4] x, int64[2,3] i) => (float[2,3] y) <int64[1] s = {0}, int64[1] e = {3}, int64[1] a = {1}> "
            "{ d = Slice (x, s, e, a) y = GatherElements <axis = 0> (d, i) }"
        )
        assert operators(converted(text, NEW)) == ["Slice", "Max", "GatherElements"]


class TestFractionsOfOutputs:
    @pytest.mark.parametrize("number", [2, 3, 5, 12])
    def test_are_dropped_before_the_cast(self, number: int) -> None:
        text = f"g (float[4] x) => (y) {{ y = Cast <to = {number}> (x) }}"
        dtype = {2: "uint8", 3: "int8", 5: "int16", 12: "uint32"}[number]
        assert "Floor" in operators(converted(text.replace("(y)", f"({dtype}[4] y)"), OLD))

    def test_of_values_that_nodes_read_need_no_care(self) -> None:
        text = "g (float[4] x) => (float[4] y) { t = Cast <to = 3> (x) y = Cast <to = 1> (t) }"
        assert "Floor" not in operators(converted(text, OLD))


class TestScalars:
    """Some models give vectors of one element where operators state scalars."""

    @pytest.mark.parametrize("runtime", [OLD, MIDDLE])
    def test_the_axis_of_cum_sum_becomes_one(self, runtime: str) -> None:
        found = converted("g (float[3,4] x) => (float[3,4] y) <int64[1] a = {1}> { y = CumSum (x, a) }", runtime)
        assert [list(one.dims) for one in found.graph.initializer] == [[]]

    def test_the_value_of_pad_becomes_one(self) -> None:
        text = "g (float[2] x) => (float[4] y) <int64[2] p = {1, 1}, float[1] v = {2}> { y = Pad (x, p, v) }"
        found = converted(text, OLD)
        assert [] in [list(one.dims) for one in found.graph.initializer]

    def test_a_vector_k_of_trilu_is_compared_with(self) -> None:
        text = "g (float[3,3] x) => (float[3,3] y) <int64[1] k = {1}> { r = Relu (x) y = Trilu (r, k) }"
        assert operators(converted(text, MIDDLE, opset=14)) == ["Relu", "Where"]


class TestInputsThatAreKeptWhole:
    """OpenVINO 2022.3 ends where all of an input of the model is kept, and both old ones lose it in a Dropout."""

    def test_by_where_become_identity(self) -> None:
        text = "g (float[2] x) => (float[2] y) <bool[2] k = {1, 1}, float z = {0}> { y = Where (k, x, z) }"
        assert operators(converted(text, MIDDLE)) == ["Identity"]

    def test_by_where_in_another_shape_are_expanded(self) -> None:
        text = "g (float[2] x) => (float[3,2] y) <bool[3,1] k = {0, 0, 0}, float z = {0}> { y = Where (k, z, x) }"
        assert operators(converted(text, MIDDLE)) == ["Expand"]

    @pytest.mark.parametrize(("k", "expected"), [(-1, "Where"), (2, "Identity")])
    def test_by_trilu_depend_on_k(self, k: int, expected: str) -> None:
        text = f"g (float[3,3] x) => (float[3,3] y) <int64 k = {{{k}}}> {{ y = Trilu <upper = 0> (x, k) }}"
        assert operators(converted(text, MIDDLE, opset=14)) == [expected]

    @pytest.mark.parametrize("runtime", [OLD, MIDDLE])
    def test_by_dropout_become_identity(self, runtime: str) -> None:
        text = "g (float[2] x) => (float[2] y) { y = Dropout (x) }"
        assert operators(converted(text, runtime)) == ["Identity"]

    def test_behind_other_nodes_stay(self) -> None:
        text = "g (float[3,3] x) => (float[3,3] y) { r = Relu (x) y = Trilu (r) }"
        assert operators(converted(text, MIDDLE, opset=14)) == ["Relu", "Trilu"]


class TestAxesOfSqueeze:
    def test_that_are_computed_are_not_taken_for_none(self) -> None:
        text = "g (float[1,3,1,5] x, int64[1] a) => (float[A,B,C] y) { y = Squeeze (x, a) }"
        assert operators(converted(text, MIDDLE))[-1] == "Reshape"
        refused(text, OLD, because="computed axes", opset=13)

    def test_of_an_empty_list_are_an_attribute(self) -> None:
        text = "g (float[3,1,5,1] x) => (float[A,B,C,D] y) <int64[0] a = {}> { y = Squeeze (x, a) }"
        assert converted(text, OLD).opset_import[0].version < 13


class TestBoxes:
    BOXES = "g (float[1,6,4] b, float[1,2,6] s) => (int64[n,3] y) <int64 m = {3}, float i = {0.5}, float t = {0.1}>"

    def test_are_refused_where_their_number_is_the_most_possible(self) -> None:
        refused(f"{self.BOXES} {{ y = NonMaxSuppression (b, s, m, i, t) }}", OLD, because="as many rows")
        refused(f"{self.BOXES} {{ k = NonMaxSuppression (b, s, m, i, t) y = Neg (k) }}", MIDDLE, because="as many rows")

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    def test_stay_where_nothing_reads_them(self, runtime: str) -> None:
        text = f"{self.BOXES} {{ y = NonMaxSuppression (b, s, m, i, t) }}"
        assert operators(converted(text, runtime)) == ["NonMaxSuppression"]

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    @pytest.mark.parametrize("overlap", ['""', "z"])
    def test_that_do_not_overlap_may_be_left_out(self, runtime: str, overlap: str) -> None:
        text = self.BOXES.replace("t = {0.1}", "t = {0.1}, float z = {0}")
        node = f"y = NonMaxSuppression (b, s, m, {overlap}, t)"
        refused(f"{text} {{ {node} }}", runtime, because="do not overlap")

    def test_of_negative_scores_may_be_left_out(self) -> None:
        refused(f"{self.BOXES} {{ y = NonMaxSuppression (b, s, m, i) }}", MIDDLE, because="negative scores")


class TestResize:
    @pytest.mark.parametrize("runtime", [OLD, MIDDLE])
    def test_of_other_than_spatial_axes_is_a_gather(self, runtime: str) -> None:
        node = 'y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, "", z)'
        text = f"g (float[1,2,4,3] x) => (float[1,4,8,3] y) <float[4] z = {{1, 2, 2, 1}}> {{ {node} }}"
        assert "Resize" not in operators(converted(text, runtime))

    @pytest.mark.parametrize("attributes", ["antialias = 1", 'keep_aspect_ratio_policy = "not_larger"'])
    def test_as_of_opset_18_is_written_out(self, attributes: str) -> None:
        node = f'y = Resize <mode = "linear", {attributes}> (x, "", "", z)'
        text = f"g (float[1,1,4,8] x) => (float[A,B,C,D] y) <int64[4] z = {{1, 1, 2, 4}}> {{ {node} }}"
        assert "Resize" not in operators(converted(text, NEW, opset=18))

    def test_of_images_stays(self) -> None:
        node = 'y = Resize <mode = "linear", coordinate_transformation_mode = "asymmetric"> (x, "", z)'
        text = f"g (float[1,3,4,4] x) => (float[1,3,8,8] y) <float[4] z = {{1, 1, 2, 2}}> {{ {node} }}"
        assert operators(converted(text, OLD)) == ["Resize"]


class TestQuantized:
    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    @pytest.mark.parametrize(("count", "scales", "zeros"), [(2, "0.1, 0.2", "0, 1"), (1, "0.1", "1")])
    def test_convolutions_by_vectors_of_scales_are_written_out(
        self, runtime: str, count: int, scales: str, zeros: str
    ) -> None:
        weights = f"int8[2,1,1,1] w = {{3, -4}}, int8[{count}] wz = {{{zeros}}}"
        others = "float xs = {0.1}, uint8 xz = {3}, float ys = {0.2}, uint8 yz = {5}"
        node = "y = QLinearConv (x, xs, xz, w, ws, wz, ys, yz)"
        constants = f"{weights}, float[{count}] ws = {{{scales}}}, {others}"
        text = f"g (uint8[1,1,2,2] x) => (uint8[1,2,2,2] y) <{constants}> {{ {node} }}"
        assert "QLinearConv" not in operators(converted(text, runtime))

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    def test_products_of_a_scale_by_column_are_written_out(self, runtime: str) -> None:
        b = "uint8[2,2] b = {3, 4, 5, 6}, float[2] bs = {0.1, 0.2}, uint8[2] bz = {0, 1}"
        others = "float s = {0.1}, uint8 z = {3}"
        text = f"g (uint8[1,2] a) => (uint8[1,2] y) <{b}, {others}> {{ y = QLinearMatMul (a, s, z, b, bs, bz, s, z) }}"
        assert "QLinearMatMul" not in operators(converted(text, runtime))


class TestReductionsBehindAReshape:
    """OpenVINO 2022.3 moves a Reshape that adds an axis of one element behind a reduction, and takes wrong axes."""

    @pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"])
    @pytest.mark.parametrize("dtype", ["float", "int64"])
    def test_read_the_max_of_what_it_gives(self, operator: str, dtype: str) -> None:
        nodes = f"r = Reshape (x, s) y = {operator} <axes = [0], keepdims = 1> (r)"
        text = f"g ({dtype}[2,3] x) => ({dtype}[1,3,1] y) <int64[3] s = {{2, 3, 1}}> {{ {nodes} }}"
        found = operators(converted(text, MIDDLE, opset=12))
        assert found[-1] == operator
        assert found[-2] in ("Max", "Where", "Cast")

    def test_stay_where_no_axis_has_one_element(self) -> None:
        nodes = "r = Reshape (x, s) y = ReduceMax <axes = [0]> (r)"
        text = f"g (float[6] x) => (float[1,3] y) <int64[2] s = {{2, 3}}> {{ {nodes} }}"
        assert operators(converted(text, MIDDLE, opset=12)) == ["Reshape", "ReduceMax"]


class TestSumsBehindReductions:
    """OpenVINO 2022.3 and 2026.4 take a constant along the second axis of what was reduced along the wrong axis."""

    @pytest.mark.parametrize("runtime", [MIDDLE, NEW])
    @pytest.mark.parametrize(("axes", "is_kept"), [("", False), ("= {2}", False), ("= {1}", True)])
    def test_are_written_otherwise_unless_the_second_axis_is_known_to_be_reduced(
        self, runtime: str, axes: str, is_kept: bool
    ) -> None:
        given, constants = ("", f"int64[1] a {axes}, ") if axes else (", int64[1] a", "")
        text = f"g (float[2,3,4] x{given}) => (float[A,B,C] y) <{constants}float[3,1] b = {{1, 2, 3}}> "
        found = operators(converted(text + "{ r = ReduceSum (x, a) y = Add (r, b) }", runtime))
        assert ("Add" in found) is is_kept


class TestConstants:
    def test_of_double_are_summed_before_2026_would_hang(self) -> None:
        nodes = "c = Add (a, b) d = Add (c, a) z = Add (d, x)"
        text = f"g (double[2] x) => (double[2] z) <double[2] a = {{1, 2}}, double[2] b = {{3, 4}}> {{ {nodes} }}"
        assert operators(converted(text, NEW)) == ["Add"]

    @pytest.mark.parametrize("runtime", RELEASES)
    def test_of_uint32_are_cast(self, runtime: str) -> None:
        text = "g (float[2] x) => (float[2] z) <uint32[2] a = {1, 2}> { y = Cast <to = 1> (a) z = Add (x, y) }"
        assert operators(converted(text, runtime)) == ["Add"]


class TestOtherForms:
    @pytest.mark.parametrize("runtime", RELEASES)
    def test_windows_behind_the_input_are_left_out(self, runtime: str) -> None:
        node = "y = MaxPool <ceil_mode = 1, kernel_shape = [2, 2], strides = [3, 3]> (x)"
        (found,) = converted(f"g (float[1,1,6,6] x) => (float[1,1,2,2] y) {{ {node} }}", runtime, opset=12).graph.node
        assert "ceil_mode" not in {one.name for one in found.attribute}

    @pytest.mark.parametrize("runtime", RELEASES)
    def test_vectors_are_normalized_with_a_channel_axis(self, runtime: str) -> None:
        ones = ", ".join(f"float[1] {name} = {{2}}" for name in "sbmv")
        text = f"g (float[5] x) => (float[5] y) <{ones}> {{ y = BatchNormalization (x, s, b, m, v) }}"
        assert operators(converted(text, runtime, opset=9)) == ["Unsqueeze", "BatchNormalization", "Squeeze"]

    @pytest.mark.parametrize("runtime", RELEASES)
    def test_shrink_with_a_negative_bound_is_compared(self, runtime: str) -> None:
        text = "g (float[4] x) => (float[4] y) { y = Shrink <lambd = -0.5, bias = 0.25> (x) }"
        assert "Shrink" not in operators(converted(text, runtime))

    def test_a_transform_along_a_named_axis_is_one_of_opset_19(self) -> None:
        text = 'g (float[1,4,4,1] x) => (float[1,4,4,2] y) <int64 a = {2}> { y = DFT (x, "", a) }'
        found = converted(text, NEW, opset=20)
        assert found.opset_import[0].version < 20

    def test_aligned_corners_of_a_grid_are_computed(self) -> None:
        text = "g (float[2,2,3] t) => (float[2,1,4,2] y) <int64[4] s = {2, 3, 1, 4}>"
        assert "AffineGrid" not in operators(
            converted(f"{text} {{ y = AffineGrid <align_corners = 1> (t, s) }}", NEW, opset=20)
        )

    def test_volumes_are_sampled_by_gather(self) -> None:
        text = "g (float[1,1,3,2,2] x, float[1,2,2,2,3] g) => (float[1,1,2,2,2] y) { y = GridSample (x, g) }"
        assert "GridSample" not in operators(converted(text, NEW, opset=20))

    @pytest.mark.parametrize("runtime", RELEASES)
    def test_regions_without_a_number_of_samples_are_refused(self, runtime: str) -> None:
        text = "g (float[2,1,8,8] x, float[3,4] r, int64[3] b) => (float[3,1,1,1] y) { y = RoiAlign (x, r, b) }"
        refused(text, runtime, because="RoiAlign", opset=16)

    def test_branches_within_branches_that_read_what_is_around_are_both_computed(self) -> None:
        inner = (
            "o = If (d) <then_branch = t () => (float[2] a) { a = OPERATOR (x) }, "
            "else_branch = e () => (float[2] b) { b = Abs (x) }>"
        )
        first = f"then_branch = u () => (float[2] o) {{ {inner} }}"
        outer = f"y = If (c) <{first}, else_branch = f () => (float[2] q) {{ q = Exp (x) }}>"
        text = f"g (bool c, bool d, float[2] x) => (float[2] y) {{ {outer} }}"
        found = converted(text.replace("OPERATOR", "Neg"), MIDDLE).graph.node[0].attribute[0].g
        assert [node.op_type for node in found.node] == ["Neg", "Abs", "Where"]
        refused(text.replace("OPERATOR", "NonZero"), MIDDLE, because="an If within an If")

    def test_lists_of_loops_that_may_end_early_are_refused(self) -> None:
        nodes = "r = Neg (s) o = Less (i, n) l = Abs (s)"
        body = f"b (int64 i, bool c, float[2] s) => (bool o, float[2] r, float[2] l) {{ {nodes} }}"
        text = "g (float[2] x, int64 n) => (float[2] y, float[k,2] z) <int64 m = {5}, bool t = {1}>"
        text = f"{text} {{ y, z = Loop (m, t, x) <body = {body}> }}"
        refused(text, OLD, because="may end early")
        counted = text.replace(", int64 n)", ")").replace("int64 m = {5}", "int64 m = {5}, int64 n = {2}")
        assert "Loop" not in operators(converted(counted, OLD))

    def test_inputs_without_elements_are_refused(self) -> None:
        text = "g (float[2,0] x, float[0,3] z) => (float[2,3] y) { y = MatMul (x, z) }"
        refused(text, OLD, because="size of 0")

    def test_values_without_elements_are_refused_where_they_are_no_outputs(self) -> None:
        text = "g (float[4] x) => (float[4] y) <int64[1] s = {4}, int64[1] a = {0}>"
        text = f"{text} {{ d = Slice (x, s, s, a) e = Exp (d) y = Concat <axis = 0> (e, x) }}"
        refused(text, OLD, because="without elements|size of 0")

    @pytest.mark.parametrize("runtime", [OLD, MIDDLE])
    @pytest.mark.parametrize(
        "text",
        [
            "g () => (float[2,0] y) <int64[2] s = {2, 0}> { y = ConstantOfShape (s) }",
            "g (float[4] x) => (float[0] y) <int64[1] s = {4}, int64[1] a = {0}> { y = Slice (x, s, s, a) }",
        ],
    )
    def test_outputs_without_elements_are_refused(self, runtime: str, text: str) -> None:
        refused(text, runtime, because="without elements")
