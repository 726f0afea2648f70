"""Models that are not sound, by readable names: what makes each, and words of the sentence that it must get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper

from testing.small_models import minimum_model, model_of, nested_model, weighted_model
from tests.bad_files import Bad

MODELS: dict[str, Bad] = {}


def bad_model(words: str) -> Callable[[Callable[[], ModelProto]], None]:
    """A maker of a model, written as protobuf."""

    def register(make: Callable[[], ModelProto]) -> None:
        def write(folder: Path) -> None:
            (folder / "in.onnx").write_bytes(make().SerializeToString())

        MODELS[make.__name__] = Bad(write, words)

    return register


@bad_model("the file may be truncated")
def truncated_between_fields() -> ModelProto:
    model = minimum_model()
    model.ClearField("opset_import")
    return model


@bad_model("holds no graph")
def no_graph() -> ModelProto:
    model = minimum_model()
    model.ClearField("graph")
    return model


@bad_model("states no IR version")
def no_ir_version() -> ModelProto:
    model = minimum_model()
    model.ClearField("ir_version")
    return model


@bad_model("IR version 2")
def ir_version_before_opsets() -> ModelProto:
    return model_of([helper.make_node("ReduceMin", ["x"], ["y"])], ir_version=2)


@bad_model("IR version 99")
def ir_version_of_the_future() -> ModelProto:
    return model_of([helper.make_node("ReduceMin", ["x"], ["y"])], ir_version=99)


@bad_model("imports opset 0 of ai.onnx")
def opset_zero() -> ModelProto:
    return minimum_model(opset=0)


@bad_model("imports opset -3 of ai.onnx")
def negative_opset() -> ModelProto:
    return minimum_model(opset=-3)


@bad_model("imports opset 99 of ai.onnx")
def opset_of_the_future() -> ModelProto:
    return minimum_model(opset=99)


@bad_model("imports opset 77 of ai.onnx.ml")
def ml_opset_of_the_future() -> ModelProto:
    model = minimum_model()
    model.opset_import.add(domain="ai.onnx.ml", version=77)
    return model


@bad_model("domain com.example, which is not imported")
def domain_not_imported() -> ModelProto:
    return model_of([helper.make_node("Fancy", ["x"], ["y"], domain="com.example")])


@bad_model("domain ai.onnx, which is not imported")
def only_another_domain_imported() -> ModelProto:
    model = minimum_model()
    model.opset_import[0].domain = "com.example"
    return model


@bad_model("ReduceMin 'smallest' in graph reads 'gone', which nothing computes")
def dangling_input() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].input[0] = "gone"
    return model


@bad_model("form a cycle: first -> second -> first")
def cyclic_nodes() -> ModelProto:
    first = helper.make_node("Min", ["x", "q"], ["p"], name="first")
    second = helper.make_node("Abs", ["p"], ["q"], name="second")
    return model_of([first, second, helper.make_node("Neg", ["p"], ["y"])])


@bad_model("form a cycle: eats -> eats")
def node_that_reads_its_own_output() -> ModelProto:
    return model_of([helper.make_node("Min", ["x", "y"], ["y"], name="eats")])


@bad_model("form a cycle: if0 -> if0")
def subgraph_that_reads_what_its_node_computes() -> ModelProto:
    model = nested_model(1)
    model.graph.node[0].attribute[0].g.node[0].input[0] = model.graph.node[0].output[0]
    return model


@bad_model("computes 'y', which is already defined")
def value_computed_twice() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["y"]), helper.make_node("Neg", ["x"], ["y"])])


@bad_model("computes 'y', which is already defined")
def value_computed_twice_by_one_node() -> ModelProto:
    return model_of([helper.make_node("Split", ["x"], ["y", "y"], num_outputs=2)])


@bad_model("computes 'x', which is already defined")
def input_computed_anew() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["x"])], outputs=["x"])


@bad_model("two inputs named 'x'")
def two_inputs_of_one_name() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["y"])], inputs=["x", "x"])


@bad_model("two initializers named 'w'")
def two_initializers_of_one_name() -> ModelProto:
    model = weighted_model()
    model.graph.initializer.append(model.graph.initializer[0])
    return model


@bad_model("an initializer without a name")
def initializer_without_a_name() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].name = ""
    return model


@bad_model("an output 'y' that nothing computes")
def output_that_nothing_computes() -> ModelProto:
    return model_of([helper.make_node("Abs", ["x"], ["z"])])


@bad_model("names no operator")
def node_without_an_operator() -> ModelProto:
    return model_of([helper.make_node("", ["x"], ["y"])])


@bad_model("attribute 'axes' of ReduceMin 'smallest' in graph is there twice")
def attribute_twice() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute.append(model.graph.node[0].attribute[0])
    return model


@bad_model("attribute 'axes' of ReduceMin 'smallest' in graph has no type")
def attribute_without_a_type() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute[0].ClearField("type")
    return model


@bad_model("attribute 'value' of Constant 'y' in graph has no value")
def attribute_without_a_value() -> ModelProto:
    node = helper.make_node("Constant", [], ["y"])
    node.attribute.add(name="value", type=AttributeProto.TENSOR)
    return model_of([node])


@bad_model("an attribute without a name")
def attribute_without_a_name() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute[0].ClearField("name")
    return model


@bad_model("but is not inside a function")
def attribute_reference_outside_a_function() -> ModelProto:
    model = minimum_model()
    model.graph.node[0].attribute[0].CopyFrom(AttributeProto(name="axes", ref_attr_name="a", type=AttributeProto.INTS))
    return model


def _function(name: str, nodes: list[onnx.NodeProto], **options: list[str]) -> onnx.FunctionProto:
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["a"], ["b"], nodes, opsets, **options)


def _calling(*functions: onnx.FunctionProto) -> ModelProto:
    call = helper.make_node(functions[0].name, ["x"], ["y"], domain="local")
    model = model_of([call], functions=functions, ir_version=8)
    model.opset_import.add(domain="local", version=1)
    return model


@bad_model("functions call each other in a circle: F -> G -> F")
def recursive_functions() -> ModelProto:
    first = _function("F", [helper.make_node("G", ["a"], ["b"], domain="local")])
    return _calling(first, _function("G", [helper.make_node("F", ["a"], ["b"], domain="local")]))


@bad_model("two functions 'local:F'")
def two_functions_of_one_name() -> ModelProto:
    function = _function("F", [helper.make_node("Abs", ["a"], ["b"])])
    return _calling(function, function)


@bad_model("in function:local:F reads 'x', which nothing computes")
def function_that_reads_a_graph_value() -> ModelProto:
    return _calling(_function("F", [helper.make_node("Min", ["a", "x"], ["b"])]))


@bad_model("refers to 'beta', which the function does not have")
def function_that_refers_to_a_missing_attribute() -> ModelProto:
    node = helper.make_node("Elu", ["a"], ["b"])
    node.attribute.add(name="alpha", ref_attr_name="beta", type=AttributeProto.FLOAT)
    return _calling(_function("F", [node], attributes=["alpha"]))


@bad_model("function 'F' imports no opset")
def function_without_imports() -> ModelProto:
    model = _calling(_function("F", [helper.make_node("Abs", ["a"], ["b"])]))
    model.functions[0].ClearField("opset_import")
    return model


@bad_model("graph input 'x' has no type")
def input_without_a_type() -> ModelProto:
    model = minimum_model()
    model.graph.input[0].ClearField("type")
    return model


@bad_model("value 'm' in graph has a dtype that onnx does not know")
def inner_value_of_an_unknown_dtype() -> ModelProto:
    model = weighted_model()
    model.graph.value_info.append(helper.make_tensor_value_info("m", 99, [2, 3]))
    return model


@bad_model("value 'x' in graph has a dtype that onnx does not know")
def input_of_an_unknown_dtype() -> ModelProto:
    model = minimum_model()
    model.graph.input[0].type.tensor_type.elem_type = 99
    return model


@bad_model("holds 20 bytes of data, and its shape [2, 3] of float takes 24")
def too_few_bytes() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:20]
    return model


@bad_model("negative dimension: [-2, -3]")
def negative_dimensions() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].dims[:] = [-2, -3]
    return model


@bad_model("more elements than can exist")
def absurd_dimensions() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].dims[:] = [2**62, 2**62]
    return model


@bad_model("more bytes than can exist")
def absurd_bytes() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].dims[:] = [2**62]
    return model


@bad_model("no dtype that onnx knows: 99")
def tensor_of_an_unknown_dtype() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].data_type = 99
    return model


@bad_model("no dtype that onnx knows: 0")
def tensor_of_no_dtype() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].data_type = 0
    return model


@bad_model("holds no data for its 6 elements")
def tensor_without_data() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].ClearField("raw_data")
    return model


@bad_model("holds its data twice, in raw_data and in float_data")
def data_twice() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].float_data.extend([0.0] * 6)
    return model


@bad_model("keeps its float elements in int64_data")
def data_in_the_wrong_field() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].ClearField("raw_data")
    model.graph.initializer[0].int64_data.extend([0] * 6)
    return model


@bad_model("strings in raw_data")
def strings_as_raw_data() -> ModelProto:
    model = weighted_model()
    model.graph.initializer[0].data_type = TensorProto.STRING
    return model


@bad_model("holds 2 entries in int64_data, and its shape [3] asks for 3")
def constant_attribute_with_too_few_elements() -> ModelProto:
    value = TensorProto(data_type=TensorProto.INT64, dims=[3], int64_data=[1, 2])
    return model_of([helper.make_node("Constant", [], ["y"], value=value)])


@bad_model("has no dtype that onnx knows: 29")
def constant_of_an_unknown_dtype() -> ModelProto:
    value = helper.make_tensor("k", TensorProto.FLOAT, [2], [1.0, 2.0])
    value.data_type = 29  # type: ignore[assignment]
    nodes = [helper.make_node("Constant", [], ["k"], value=value), helper.make_node("Add", ["x", "k"], ["y"])]
    return model_of(nodes)


@bad_model("EyeLike 'y' in graph leaves out the input 'input', which EyeLike requires")
def required_input_left_out() -> ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 22]> g (int32[4,5] x) => (float[4,5] y) { y = EyeLike <dtype = 1> ("") }'
    )


@bad_model("EyeLike 'c' in function:my:inner leaves out the input 'input', which EyeLike requires")
def required_input_left_out_by_a_caller() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 22, "my": 1]>
        g (int32[4,5] x) => (float[4,5] y) { y = my.outer (x) }
        <domain: "my", opset_import: ["": 22, "my": 1]> outer (a, b) => (c) { c = my.inner (b) }
        <domain: "my", opset_import: ["": 22]> inner (a) => (c) { c = EyeLike <dtype = 1> (a) }"""
    )


@bad_model("attribute 'axis' of LayerNormalization 'y' in graph is 2147483648, outside of -65536 to 65536")
def axis_beyond_all_dimensions() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18]> g (float[3,4] x, float[4] w) => (float[3,4] y, float[3,1] m)
        { y, m = LayerNormalization <axis = 2147483648> (x, w) }"""
    )


@bad_model("attribute 'equation' of Einsum 'y' in graph is b'@', which is no equation")
def equation_without_letters() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13]> g (float x) => (float y) { y = Einsum <equation = "@"> (x) }"""
    )


@bad_model("attribute 'equation' of Einsum 'y' in graph is b'..', which is no equation")
def equation_with_two_dots() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13]> g (float x) => (float y) { y = Einsum <equation = ".."> (x) }"""
    )


@bad_model("attribute 'equation' of Einsum 'y' in graph is b'a.', which is no equation")
def equation_with_a_dot_behind_a_letter() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13]> g (float[2] x) => (float y) { y = Einsum <equation = "a."> (x) }"""
    )


@bad_model("attribute 'text' of Inner 'y' in graph is b'-a', which is no equation")
def equation_that_functions_hand_on() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13, "own": 1]> g (float[2] x) => (float y)
        { y = own.Inner <text = "-a"> (x) }
        <domain: "own", opset_import: ["": 13]> Sum <form> (a) => (b) { b = Einsum <equation: string = @form> (a) }
        <domain: "own", opset_import: ["": 13, "own": 1]> Inner <text> (a) => (b)
        { b = own.Sum <form: string = @text> (a) }"""
    )


@bad_model("attribute 'count' of function 'own:Rows' is -7, outside of 0 to 65536 by default")
def fewer_batch_dimensions_than_none_by_default() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13, "own": 1]> g (float[2,2] x, int64[2,2] i) => (float[2] y)
        { y = own.Rows (x, i) }
        <domain: "own", opset_import: ["": 13]> Rows <count: int = -7> (a, i) => (b)
        { b = GatherND <batch_dims: int = @count> (a, i) }"""
    )


@bad_model("attribute 'count' of Rows 'y' in graph is -7, outside of 0 to 65536")
def fewer_batch_dimensions_than_none_by_a_call() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13, "own": 1]> g (bool c, float[2,2] x, int64[2,2] i) => (float[2] y)
        { y = own.Rows <count = -7> (c, x, i) }
        <domain: "own", opset_import: ["": 13]> Rows <count> (c, a, i) => (b)
        { b = If (c) <then_branch = t () => (float[2] d) { d = GatherND <batch_dims: int = @count> (a, i) },
        else_branch = e () => (float[2] f) { f = GatherND <batch_dims: int = @count> (a, i) }> }"""
    )


@bad_model("attribute 'batch_dims' of GatherND 'y' in graph is -7, outside of 0 to 65536")
def fewer_batch_dimensions_than_none() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 13]> g (float[2,2] x, int64[2,2] i) => (float[2] y)
        { y = GatherND <batch_dims = -7> (x, i) }"""
    )


@bad_model("attribute 'num_outputs' of Split 'a' in graph is 1, and the node has 2 outputs")
def more_outputs_than_are_counted() -> ModelProto:
    return onnx.parser.parse_model(
        """<ir_version: 10, opset_import: ["": 18]> g (float[6] x) => (float[3] a, float[3] b)
        { a, b = Split <num_outputs = 1> (x) }"""
    )


def sparse_model(indices: Sequence[int], shape: Sequence[int], of_indices: Sequence[int]) -> ModelProto:
    """The smallest of an input beside a sparse initializer of 4 elements."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] z)
        { y = ReduceMin <axes = [0]> (x) z = Add (y, s) }"""
    )
    count = of_indices[0]
    values = helper.make_tensor("s", TensorProto.FLOAT, [count], [1.0] * count)
    places = TensorProto(data_type=TensorProto.INT64, dims=of_indices, int64_data=indices)
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, shape))
    return model


@bad_model("sparse tensor 's' has indices outside of [4], or not in order")
def sparse_tensor_with_an_index_beyond_the_end() -> ModelProto:
    return sparse_model([9], [4], [1])


@bad_model("sparse tensor 's' has indices outside of [4], or not in order")
def sparse_tensor_with_an_index_twice() -> ModelProto:
    return sparse_model([1, 1], [4], [2])


@bad_model("sparse tensor 's' has indices outside of [2, 2], or not in order")
def sparse_tensor_with_an_index_beyond_a_row() -> ModelProto:
    return sparse_model([0, 2], [2, 2], [1, 2])


@bad_model("sparse tensor 's' has indices of int64 [2, 2], not of int64 [2] or [2, 1]")
def sparse_tensor_with_indices_for_more_axes() -> ModelProto:
    return sparse_model([0, 0, 1, 1], [4], [2, 2])


@bad_model("tensor 's' has a negative dimension")
def sparse_tensor_with_a_negative_dimension() -> ModelProto:
    return sparse_model([0], [-4], [1])
