"""Legal nodes of the operators that read, write or choose by position, drawn at random."""

from __future__ import annotations

import math
from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode
from tests.evaluator.tensor_strategies import Draw, as_input_or_attribute, axis, distinct, ints, numbers, shapes


@st.composite
def gather(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3, least=1)
    along = axis(draw, len(shape), True)
    size = shape[along]
    indices = numbers(draw, shapes(draw, 0, 2), "int64") % (2 * size) - size
    indices = numpy.asarray(indices if opset >= 11 else indices % size, draw(st.sampled_from(["int32", "int64"])))
    return OneNode("Gather", opset, [distinct(draw, shape), indices], {"axis": along})


@st.composite
def gather_elements(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3, least=1)
    along = axis(draw, len(shape), True)
    size = shape[along]
    limits = [6 if index == along % len(shape) else n for index, n in enumerate(shape)]
    indices = numbers(draw, [draw(st.integers(0, limit)) for limit in limits], "int64") % (2 * size) - size
    return OneNode("GatherElements", opset, [distinct(draw, shape), indices], {"axis": along})


@st.composite
def gather_nd(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 4, least=1)
    batch_dimensions = draw(st.integers(0, len(shape) - 1)) if opset >= 12 else 0
    length = draw(st.integers(1, len(shape) - batch_dimensions))
    outer = [*shape[:batch_dimensions], *shapes(draw, 0, 2, least=1)]
    sizes = ints(shape[batch_dimensions : batch_dimensions + length])
    indices = numbers(draw, [*outer, length], "int64") % (2 * sizes) - sizes
    attributes = {"batch_dims": batch_dimensions} if opset >= 12 else {}
    return OneNode("GatherND", opset, [distinct(draw, shape), indices], attributes)


@st.composite
def scatter_elements(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3, least=1)
    along = axis(draw, len(shape), True)
    reductions = ["none"] + ["add", "mul"] * (opset >= 16) + ["max", "min"] * (opset >= 18)
    reduction = draw(st.sampled_from(reductions))
    extents = [draw(st.integers(1, n)) for n in shape]
    size, extent = shape[along], extents[along]
    generator = numpy.random.default_rng(draw(st.integers(0, 999)))
    if reduction == "none":
        others = extents[:along] + extents[along % len(shape) + 1 :]
        orders = generator.permuted(numpy.broadcast_to(numpy.arange(size), [*others, size]), axis=-1)
        indices = numpy.moveaxis(orders[..., :extent], -1, along)
    else:
        indices = generator.integers(0, size, extents)
    indices = numpy.where(generator.random(extents) < 0.3, indices - size, indices)
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64"]))
    inputs = [numbers(draw, shape, dtype), indices, numbers(draw, extents, dtype)]
    attributes: dict[str, Any] = {"axis": along}
    if opset >= 16:
        attributes["reduction"] = reduction
    return OneNode("ScatterElements" if opset >= 11 else "Scatter", opset, inputs, attributes)


@st.composite
def scatter_nd(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3, least=1)
    length = draw(st.integers(1, len(shape)))
    reductions = ["none"] + ["add", "mul"] * (opset >= 16) + ["max", "min"] * (opset >= 18)
    reduction = draw(st.sampled_from(reductions))
    places = math.prod(shape[:length])
    generator = numpy.random.default_rng(draw(st.integers(0, 999)))
    count = draw(st.integers(1, places))
    flat = generator.choice(places, count, replace=reduction != "none")
    indices = numpy.stack(numpy.unravel_index(flat, shape[:length]), axis=-1).astype(numpy.int64)
    dtype = draw(st.sampled_from(["float32", "float64", "int32", "int64"]))
    inputs = [numbers(draw, shape, dtype), indices, numbers(draw, [count, *shape[length:]], dtype)]
    return OneNode("ScatterND", opset, inputs, {"reduction": reduction} if opset >= 16 else {})


@st.composite
def tensor_scatter(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 3, 4, least=1)
    along = draw(st.integers(1, len(shape) - 1))
    extent = draw(st.integers(1, shape[along]))
    circular = draw(st.booleans())
    most = shape[along] - (1 if circular else extent)
    starts = [draw(st.integers(0, most)) for _ in range(shape[0])]
    update = [extent if index == along else n for index, n in enumerate(shape)]
    inputs = [numbers(draw, shape), numbers(draw, update), draw(st.sampled_from([None, ints(starts)]))]
    attributes = {"axis": along - len(shape), "mode": "circular" if circular else "linear"}
    return OneNode("TensorScatter", opset, inputs, attributes)


@st.composite
def compress(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3)
    along = draw(st.none() | st.integers(-len(shape) if opset >= 11 else 0, len(shape) - 1))
    longest = math.prod(shape) if along is None else shape[along]
    condition = numpy.array(draw(st.lists(st.booleans(), max_size=longest)), bool)
    return OneNode("Compress", opset, [distinct(draw, shape), condition], {} if along is None else {"axis": along})


@st.composite
def non_zero(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(["float32", "int32", "int64", "bool", "uint8"]))
    return OneNode("NonZero", opset, [(numbers(draw, shapes(draw, 1), "int32") % 3 % 2).astype(dtype)])


@st.composite
def unique(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3, least=1)
    dtype = draw(st.sampled_from(["float32", "int64", "int8", "float64", "object"]))
    data = numbers(draw, shape, "int64") % 3
    data = (
        numpy.array([f"{value}" for value in data.reshape(-1)], object).reshape(shape)
        if dtype == "object"
        else data.astype(dtype)
    )
    attributes = {"sorted": draw(st.integers(0, 1))}
    if draw(st.booleans()):
        attributes["axis"] = axis(draw, len(shape), True)
    return OneNode("Unique", opset, [data], attributes, 4)


@st.composite
def top_k(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3, least=1, greatest=6)
    along = axis(draw, len(shape), opset >= 11)
    k = draw(st.integers(1, shape[along]))
    dtypes = ["float32", "float64", "int32", "int64"] if opset >= 11 else ["float32", "float64"]
    data = (numbers(draw, shape, "int64") % 5 - 2).astype(draw(st.sampled_from(dtypes)))
    attributes = {"axis": along}
    if opset >= 11:
        attributes["largest"] = draw(st.integers(0, 1))
    return (
        as_input_or_attribute(OneNode("TopK", opset, [data], attributes, 2), 10, k=[k])
        if opset >= 10
        else OneNode("TopK", opset, [data], {**attributes, "k": k}, 2)
    )


@st.composite
def non_max_suppression(draw: Draw, opset: int) -> OneNode:
    batches, classes, count = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 6))
    boxes = abs(numbers(draw, [batches, count, 4]))
    # Thresholds are no multiples of the scores' unit: see the disagreements.
    inputs = [
        boxes,
        numbers(draw, [batches, classes, count]),
        ints([draw(st.integers(0, 4))]),
        numpy.array([draw(st.sampled_from([0.0, 0.3, 0.7]))], numpy.float32),
        numpy.array([draw(st.sampled_from([-10.1, 0.1]))], numpy.float32),
    ]
    return OneNode("NonMaxSuppression", opset, inputs, {"center_point_box": draw(st.integers(0, 1))})
