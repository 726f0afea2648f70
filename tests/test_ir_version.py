"""Which IR version a model's opsets came with, and which its content needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy
import onnx
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from opsetlift.model.ir_version import minimum_for_opsets, natural_ir_version, needed_by_content
from testing.small_models import minimum_model, model_of, weighted_model

RELEASED_OPSETS = sorted({row[2] for row in helper.VERSION_TABLE})


@pytest.mark.parametrize("opset", RELEASED_OPSETS)
def test_each_opset_has_the_ir_version_that_onnx_gives_it(opset: int) -> None:
    assert minimum_for_opsets({"": opset}) == helper.find_min_ir_version_for([helper.make_opsetid("", opset)])


def test_opsets_that_no_release_stopped_at_came_with_the_next_one() -> None:
    assert [minimum_for_opsets({"": opset}) for opset in (2, 3, 4)] == [3, 3, 3]


def test_the_newest_opset_is_known() -> None:
    assert minimum_for_opsets({"": onnx.defs.onnx_opset_version()}) == onnx.IR_VERSION


def test_the_domain_that_needs_most_decides() -> None:
    assert minimum_for_opsets({"": 9, "ai.onnx.ml": 5, "com.example": 77}) == 10


def test_domains_without_releases_ask_for_nothing() -> None:
    assert minimum_for_opsets({"com.example": 77}) == 3


def initializer_that_is_an_input(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(numpy.zeros((1, 1), numpy.float32), "x"))


def initializer(model: ModelProto) -> None:
    model.graph.initializer.append(numpy_helper.from_array(numpy.zeros((1, 1), numpy.float32), "w"))


def quantization(model: ModelProto) -> None:
    model.graph.quantization_annotation.add(tensor_name="x")


def sparse_initializer(model: ModelProto) -> None:
    model.graph.sparse_initializer.add().values.name = "s"


def sparse_attribute(model: ModelProto) -> None:
    model.graph.node[0].attribute.add(name="s", type=AttributeProto.SPARSE_TENSOR).sparse_tensor.dims.append(1)


def training(model: ModelProto) -> None:
    model.training_info.add()


def function(model: ModelProto) -> None:
    model.functions.add(name="f", domain="local")


def function_with_defaults(model: ModelProto) -> None:
    model.functions.add(name="f", domain="local").attribute_proto.add(name="axis", type=AttributeProto.INT)


def function_overload(model: ModelProto) -> None:
    model.functions.add(name="f", domain="local", overload="2")


def optional_input(model: ModelProto) -> None:
    model.graph.input.add(name="o").type.optional_type.elem_type.tensor_type.elem_type = TensorProto.FLOAT


def sparse_input(model: ModelProto) -> None:
    model.graph.input.add(name="o").type.sparse_tensor_type.elem_type = TensorProto.FLOAT


def node_metadata(model: ModelProto) -> None:
    model.graph.node[0].metadata_props.add(key="layer", value="1")


def tensor_metadata(model: ModelProto) -> None:
    initializer(model)
    model.graph.initializer[0].metadata_props.add(key="layer", value="1")


def value_metadata(model: ModelProto) -> None:
    model.graph.input[0].metadata_props.add(key="layer", value="1")


def model_metadata(model: ModelProto) -> None:
    model.metadata_props.add(key="author", value="me")


def device_configuration(model: ModelProto) -> None:
    model.graph.node[0].device_configurations.add(configuration_id="gpus")


def metadata_in_a_subgraph(model: ModelProto) -> None:
    branch = model.graph.node[0].attribute.add(name="then_branch", type=AttributeProto.GRAPH).g
    branch.node.add(op_type="Identity").metadata_props.add(key="layer", value="1")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (model_metadata, 3),
        (initializer, 4),
        (quantization, 5),
        (sparse_initializer, 6),
        (sparse_attribute, 6),
        (training, 7),
        (function, 8),
        (optional_input, 8),
        (sparse_input, 8),
        (function_with_defaults, 9),
        (function_overload, 10),
        (node_metadata, 3),
        (tensor_metadata, 4),  # for the initializer that has it
        (value_metadata, 3),
        (metadata_in_a_subgraph, 3),
        (device_configuration, 11),
    ],
)
def test_content_needs_the_version_that_introduced_it(content: Callable[[ModelProto], None], expected: int) -> None:
    model = minimum_model(opset=7)
    content(model)
    assert needed_by_content(model).ir_version == expected
    model.ir_version = onnx.IR_VERSION
    assert natural_ir_version(model) == expected


@pytest.mark.parametrize(("stated", "expected"), [(onnx.IR_VERSION, 4), (4, 4), (3, 3)])
def test_where_callers_may_override_initializers_they_still_may_at_older_opsets(stated: int, expected: int) -> None:
    """Models of IR version 3 list every initializer among the inputs; runtimes take these for constants."""
    model = minimum_model(opset=7)
    initializer_that_is_an_input(model)
    assert needed_by_content(model).ir_version == 3
    model.ir_version = stated
    assert natural_ir_version(model) == expected


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        (TensorProto.FLOAT16, 3),
        (TensorProto.BFLOAT16, 4),
        (TensorProto.FLOAT8E4M3FN, 9),
        (TensorProto.FLOAT8E5M2FNUZ, 9),
        (TensorProto.INT4, 10),
        (TensorProto.UINT4, 10),
        (TensorProto.FLOAT4E2M1, 11),
        (TensorProto.FLOAT8E8M0, 12),
        (TensorProto.INT2, 13),
        (TensorProto.UINT2, 13),
        (TensorProto.FLOAT6E2M3, 14),
    ],
)
def test_dtypes_need_the_version_that_introduced_them(dtype: int, expected: int) -> None:
    model = minimum_model(opset=7)
    model.graph.input[0].type.tensor_type.elem_type = dtype
    assert needed_by_content(model).ir_version == expected
    assert (expected == 3) or "the dtype" in needed_by_content(model).what


def test_the_need_says_what_it_comes_from() -> None:
    assert needed_by_content(weighted_model()).what == "initializer 'w', which is not a graph input"


def test_opsets_raise_the_version_of_an_old_model() -> None:
    model = minimum_model(opset=18)
    model.ir_version = 3
    assert natural_ir_version(model) == 8


def test_a_new_model_at_an_old_opset_comes_down_as_far_as_its_content_allows() -> None:
    model = weighted_model()
    model.opset_import[0].version = 7
    model.ir_version = 10
    assert natural_ir_version(model) == 4


def test_initializers_added_to_an_old_model_raise_its_version() -> None:
    model = model_of([], opset=7, ir_version=3)
    initializer(model)
    assert natural_ir_version(model) == 4


def test_what_needs_more_than_the_opsets_is_found_wherever_it_is() -> None:
    model = minimum_model(opset=13)
    model.ir_version = 10
    assert natural_ir_version(model) == 7
    branch = model.graph.node[0].attribute.add(name="then_branch", type=AttributeProto.GRAPH).g
    branch.node.add(op_type="Constant").attribute.add(
        name="value", type=AttributeProto.TENSOR
    ).t.data_type = TensorProto.INT4
    assert natural_ir_version(model) == 10


def test_functions_need_more_than_an_old_opset() -> None:
    model = minimum_model(opset=13)
    model.ir_version = 8
    function(model)
    assert natural_ir_version(model) == 8
