"""Negative sizes in declared shapes, as Paddle2ONNX writes them for open dimensions: read as onnxruntime reads them."""

from __future__ import annotations

import numpy
import onnx
import onnx.parser
import pytest
from onnx import ModelProto

from opsetlift import ConversionRefused, convert, normalize, prove_models
from opsetlift.evaluator import Evaluator

X = numpy.arange(24, dtype=numpy.float32).reshape(2, 3, 4)


def with_negative_sizes(result: str, nodes: str) -> ModelProto:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 13]> g (float[N, M, 4] x) => ({result} y) {{ {nodes} }}"""
    )
    for dim, size in zip(model.graph.input[0].type.tensor_type.shape.dim, (-1, -1), strict=False):
        dim.dim_value = size
    return model


COMPUTED = {
    "joined, which onnx rejects": ("float[A, B, C]", "y = Concat <axis = 0> (x, x)"),
    "the last largest, sliced below 12, where onnx's inference ends the process": (
        "int64[A, B, C]",
        "y = ArgMax <axis = 1, select_last_index = 1> (x)",
    ),
    "the product of two sizes, which is 1": ("int64[2]", "f = Flatten <axis = 2> (x) y = Shape (f)"),
    "a reshape to it": ("float[A, B]", "f = Flatten <axis = 2> (x) s = Shape (f) y = Reshape (x, s)"),
    "sizes as they are declared": ("int64[3]", "y = Shape (x)"),
}


@pytest.mark.parametrize("what", COMPUTED)
@pytest.mark.parametrize("opset", [8, 11, 18])
def test_they_are_open(what: str, opset: int) -> None:
    model = with_negative_sizes(*COMPUTED[what])
    result = convert(model, to=opset)
    assert "dimensions with negative sizes were treated as open, as onnxruntime does" in result.report.notes
    assert result.certificate is not None
    assert result.certificate.is_proven
    expected = Evaluator(model).run({"x": X})["y"]
    for found in (result.model, normalize(model, prove=False).model):
        assert numpy.array_equal(Evaluator(found).run({"x": X})["y"], expected)
    assert prove_models(model, result.model).is_equal


def test_a_runtime_that_needs_sizes_gets_them() -> None:
    model = with_negative_sizes("float[A, B, C]", "y = Relu (x)")
    with pytest.raises(ConversionRefused, match=r"has the shape \[\?, \?, 4\].* accepts only fixed sizes"):
        convert(model, target="opencv==4.14")
    fixed = convert(model, target="opencv==4.14", fix_shapes={"x": (1, 3, 4)}).model
    assert [dim.dim_value for dim in fixed.graph.input[0].type.tensor_type.shape.dim] == [1, 3, 4]


def test_those_of_sequences_and_subgraphs_are_open() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> g (bool c, seq(float[N]) s) => (seq(float[M]) y) {
            y = If (c) <then_branch = t () => (seq(float[K]) p) { p = Identity (s) },
                        else_branch = e () => (seq(float[K]) q) { q = Identity (s) }>
        }"""
    )
    branch = model.graph.node[0].attribute[0].g
    for info in (model.graph.input[1], branch.output[0]):
        info.type.sequence_type.elem_type.tensor_type.shape.dim[0].dim_value = -7
    found = convert(model, to=18).model
    assert b"dim_value: -7" not in str(found).encode()
