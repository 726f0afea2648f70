"""Sizes for open dimensions: symbols everywhere, shapes of inputs, and what contradicts the model."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from opsetlift.normalizer import ShapeFault
from opsetlift.normalizer.fixed_shapes import with_fixed_shapes
from opsetlift.pipeline.normalize import normalize
from tests.normalize.rewriting import text_model

SOURCE = """g (float[batch, 3, w] x, int64[batch] n) => (float[batch, s] y, int64[batch] m) <float[batch, k] a> {
    shape = Shape(x) a = Flatten(x) y = Identity(a) m = Neg(n)
}"""


def dimensions(model: Any, name: str) -> list[int | str]:
    infos = {info.name: info for info in (*model.graph.input, *model.graph.output, *model.graph.value_info)}
    return [dim.dim_param or dim.dim_value for dim in infos[name].type.tensor_type.shape.dim]


def test_a_symbol_is_replaced_wherever_it_stands() -> None:
    source = text_model(SOURCE)
    fixed = with_fixed_shapes(source, {"batch": 2})
    found = {name: dimensions(fixed, name) for name in ("x", "n", "y", "m", "a")}
    assert found == {"x": [2, 3, "w"], "n": [2], "y": [2, "s"], "m": [2], "a": [2, "k"]}
    assert dimensions(source, "x") == ["batch", 3, "w"]


def test_the_shape_of_an_input_binds_its_symbols() -> None:
    fixed = with_fixed_shapes(text_model(SOURCE), {"x": (4, 3, 5)})
    assert (dimensions(fixed, "x"), dimensions(fixed, "n")) == ([4, 3, 5], [4])


def test_one_number_is_the_shape_of_an_input_of_rank_one() -> None:
    assert dimensions(with_fixed_shapes(text_model(SOURCE), {"n": 7}), "x") == [7, 3, "w"]


def test_numbers_of_numpy_are_numbers() -> None:
    fixed = with_fixed_shapes(text_model(SOURCE), {"w": numpy.int64(5), "n": numpy.array([7])})  # type: ignore[dict-item]
    assert dimensions(fixed, "x") == [7, 3, 5]


def test_sizes_of_outputs_that_become_known_are_declared() -> None:
    model = normalize(text_model(SOURCE), fix_shapes={"batch": 2, "w": 5}).model
    assert dimensions(model, "y") == [2, 15]
    open_output = text_model("g (float[batch, 3] x) => (float[?, ?] y) { y = Transpose(x) }")
    assert dimensions(normalize(open_output, fix_shapes={"batch": 2}).model, "y") == [3, 2]


def test_shapes_that_are_fixed_are_folded() -> None:
    source = text_model(
        """g (float[batch, 3] x) => (float[?] y) <int64[1] minus = {-1}> {
            s = Shape(x) p = ReduceProd<keepdims = 0>(s) q = Unsqueeze(p, zero) y = Reshape(x, q) }"""
    )
    source.graph.initializer.add(name="zero", data_type=7, dims=[1], int64_data=[0])
    model = normalize(source, fix_shapes={"batch": 4}).model
    assert [node.op_type for node in model.graph.node] == ["Reshape"]


@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        ({"bach": 2}, "no dimension 'bach'; did you mean 'batch'"),
        ({"z": (1, 2)}, "no input 'z'"),
        ({"x": (1, 3)}, "'x' has rank 3, and 1x3 has rank 2"),
        ({"x": (1, 4, 5)}, "declares size 3 where 1x4x5 has 4"),
        ({"x": (1, 3, 5), "batch": 2}, "'batch' cannot be both 1 and 2"),
        ({"batch": -1}, "cannot have size -1"),
        ({"batch": (1, 2)}, "'batch' is a dimension and takes one size, not 1x2"),
        ({"batch": 1 << 63}, "more than 63 bits"),
    ],
)
def test_what_contradicts_the_model_is_refused(shapes: Any, sentence: str) -> None:
    with pytest.raises(ShapeFault, match=sentence):
        normalize(text_model(SOURCE), fix_shapes=shapes)


@pytest.mark.parametrize("shapes", [{"batch": "2"}, {"batch": True}, {"x": (1.0, 3, 5)}, {"x": ("1", 3, 5)}])
def test_sizes_that_are_no_whole_numbers_are_a_type_error(shapes: Any) -> None:
    with pytest.raises(TypeError, match="must be an integer, not"):
        normalize(text_model(SOURCE), fix_shapes=shapes)
