"""Legal nodes of the tensor operators, drawn at random: the operator's version decides attributes and inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import strategies as st

from tests.evaluator.onnxruntime_judge import OneNode

Draw = Callable[[st.SearchStrategy[Any]], Any]

MOVED = ("float32", "float64", "int32", "int64", "bool", "uint8", "float16", "object")
"""Dtypes for operators that move elements without looking at them."""

FLOATS = ("float32", "float64")


def shapes(draw: Draw, least_rank: int = 0, greatest_rank: int = 4, least: int = 0, greatest: int = 4) -> list[int]:
    return draw(st.lists(st.integers(least, greatest), min_size=least_rank, max_size=greatest_rank))


def distinct(draw: Draw, shape: list[int], dtypes: tuple[str, ...] = MOVED) -> Any:
    """A tensor whose elements tell where they came from, as far as the dtype can."""
    values = numpy.arange(1, math.prod(shape) + 1).reshape(shape)
    dtype = draw(st.sampled_from(dtypes))
    if dtype == "object":
        return numpy.array([f"t{value}" for value in values.reshape(-1)], object).reshape(shape)
    return numpy.asarray(values % 2 if dtype == "bool" else values, dtype)


def numbers(draw: Draw, shape: list[int], dtype: str = "float32", special: bool = False) -> Any:
    """A tensor of small random numbers; `special` adds NaN, infinities and -0.0 to floats."""
    seed = draw(st.integers(0, 2**16))
    generator = numpy.random.default_rng(seed)
    values = generator.integers(-20, 21, shape).astype(dtype)
    if dtype.startswith("float"):
        values = (values / 4).astype(dtype)
        if special:
            chosen = generator.choice([numpy.nan, numpy.inf, -numpy.inf, -0.0], shape)
            values = numpy.where(generator.random(shape) < 0.15, chosen, values).astype(dtype)
    return values


def ints(values: Any) -> Any:
    return numpy.array(values, numpy.int64)


def axis(draw: Draw, rank: int, negative: bool) -> int:
    return draw(st.integers(-rank if negative else 0, rank - 1))


def as_input_or_attribute(case: OneNode, since: int, **lists: Any) -> OneNode:
    """Lists that are attributes before the opset `since` and inputs, in this order, from it on; None is left out."""
    if case.opset >= since:
        extra = [None if values is None else ints(values) for values in lists.values()]
        while extra and extra[-1] is None:
            extra.pop()
        return OneNode(case.operator, case.opset, [*case.inputs, *extra], case.attributes, case.output_count)
    given = {name: list(values) for name, values in lists.items() if values is not None}
    return OneNode(case.operator, case.opset, case.inputs, {**case.attributes, **given}, case.output_count)


@st.composite
def reshape(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, least=1)
    data = distinct(draw, shape)
    target = list(draw(st.permutations(shape)))
    if len(target) > 1 and draw(st.booleans()):
        target = [target[0] * target[1], *target[2:]]
    target = [
        0 if index < len(shape) and size == shape[index] and draw(st.booleans()) else size
        for index, size in enumerate(target)
    ]
    if target and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    return as_input_or_attribute(OneNode("Reshape", opset, [data]), 5, shape=target)


@st.composite
def squeeze(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, greatest=2)
    ones = [index for index, size in enumerate(shape) if size == 1]
    # An empty list is left out: see the disagreements.
    chosen = draw(st.one_of(st.none(), st.lists(st.sampled_from(ones), min_size=1, unique=True))) if ones else None
    if chosen and opset >= 11 and draw(st.booleans()):
        chosen = [index - len(shape) for index in chosen]
    return as_input_or_attribute(OneNode("Squeeze", opset, [distinct(draw, shape)]), 13, axes=chosen)


@st.composite
def unsqueeze(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, greatest_rank=3)
    count = draw(st.integers(1, 3))
    rank = len(shape) + count
    axes = draw(st.lists(st.integers(0, rank - 1), min_size=count, max_size=count, unique=True))
    if opset >= 11 and draw(st.booleans()):
        axes = [index - rank for index in axes]
    return as_input_or_attribute(OneNode("Unsqueeze", opset, [distinct(draw, shape)]), 13, axes=axes)


@st.composite
def flatten(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, least_rank=1)
    position = draw(st.integers(-len(shape) if opset >= 11 else 0, len(shape)))
    return OneNode("Flatten", opset, [distinct(draw, shape, ("float32",))], {"axis": position})


@st.composite
def transpose(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw)
    permutation = draw(st.one_of(st.none(), st.permutations(range(len(shape)))))
    attributes = {} if not permutation else {"perm": list(permutation)}
    return OneNode("Transpose", opset, [distinct(draw, shape)], attributes)


@st.composite
def expand(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw)
    target = [draw(st.integers(0, 4)) if size == 1 else draw(st.sampled_from([1, size])) for size in shape]
    target = [*shapes(draw, greatest_rank=2), *target]
    return OneNode("Expand", opset, [distinct(draw, shape), ints(target)])


@st.composite
def tile(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, least_rank=1)
    repeats = [draw(st.integers(0, 3)) for _ in shape]
    return OneNode("Tile", opset, [distinct(draw, shape), ints(repeats)])


@st.composite
def concat(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, least_rank=1)
    along = axis(draw, len(shape), opset >= 11)
    dtype = (draw(st.sampled_from(MOVED)),)
    tensors = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(0, 3))
        tensors.append(
            distinct(draw, [size if index == along % len(shape) else n for index, n in enumerate(shape)], dtype)
        )
    return OneNode("Concat", opset, tensors, {"axis": along})


@st.composite
def split(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, least_rank=1)
    along = axis(draw, len(shape), opset >= 11)
    count = draw(st.integers(1, 3))
    lengths: list[int] | None = [draw(st.integers(0, 3)) for _ in range(count)]
    attributes = {"axis": along}
    total = sum(lengths or ())
    if draw(st.booleans()):
        size = draw(st.integers(1, 3))
        lengths, total = None, size * count
        if opset >= 18:
            attributes["num_outputs"] = count
            total -= draw(st.integers(0, size - 1))
    shape[along % len(shape)] = total
    case = OneNode("Split", opset, [distinct(draw, shape)], attributes, count)
    return as_input_or_attribute(case, 13, split=lengths)


@st.composite
def slice_(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, least_rank=1)
    axes = draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    bounds = st.integers(-6, 6) | st.sampled_from([-(2**31), 2**31 - 1])
    starts, ends = ([draw(bounds) for _ in axes] for _ in range(2))
    data = distinct(draw, shape)
    if opset < 10:
        attributes: dict[str, Any] = {"starts": starts, "ends": ends}
        if axes != list(range(len(axes))) or draw(st.booleans()):
            attributes["axes"] = axes
        return OneNode("Slice", opset, [data], attributes)
    steps = [draw(st.integers(-3, 3).filter(bool)) for _ in axes]
    if opset >= 11 and draw(st.booleans()):
        axes = [index - len(shape) for index in axes]
    dtype = draw(st.sampled_from([numpy.int32, numpy.int64]))
    extra = [numpy.array(values, dtype) for values in (starts, ends, axes, steps)]
    return OneNode("Slice", opset, [data, *extra[: draw(st.sampled_from([3, 4]))]])


@st.composite
def pad(draw: Draw, opset: int) -> OneNode:
    modes = ["constant", "edge", "reflect", "wrap"][: 4 if opset >= 19 else 3]
    mode = draw(st.sampled_from(modes))
    shape = shapes(draw, least_rank=1, least=2)
    attributes: dict[str, Any] = {"mode": mode}
    axes = list(range(len(shape)))
    with_axes = opset >= 18 and draw(st.booleans())
    if with_axes:
        axes = draw(st.lists(st.sampled_from(axes), min_size=1, unique=True))
    most = 1 if mode in ("reflect", "wrap") else 3
    pads = [draw(st.integers(-1 if mode == "constant" else 0, most)) for _ in range(2 * len(axes))]
    if opset < 11:
        data = distinct(draw, shape, ("float32", "float64"))
        attributes.update(pads=pads, value=draw(st.sampled_from([0.0, 2.5])))
        return OneNode("Pad", opset, [data], attributes)
    data = distinct(draw, shape, ("float32", "float64", "int32", "int64", "uint8"))
    value = draw(st.sampled_from([None, numpy.array(3, data.dtype)]))
    inputs = [data, ints(pads), value]
    if with_axes:
        inputs.append(ints([index - draw(st.sampled_from([0, len(shape)])) for index in axes]))
    return OneNode("Pad", opset, inputs, attributes)


@st.composite
def depth_to_space(draw: Draw, opset: int) -> OneNode:
    block = draw(st.integers(1, 3))
    n, c, h, w = shapes(draw, 4, 4, least=1, greatest=3)
    attributes: dict[str, Any] = {"blocksize": block}
    if opset >= 11:
        attributes["mode"] = draw(st.sampled_from(["DCR", "CRD"]))
    return OneNode("DepthToSpace", opset, [distinct(draw, [n, c * block * block, h, w], FLOATS)], attributes)


@st.composite
def space_to_depth(draw: Draw, opset: int) -> OneNode:
    block = draw(st.integers(1, 3))
    n, c, h, w = shapes(draw, 4, 4, least=1, greatest=3)
    return OneNode("SpaceToDepth", opset, [distinct(draw, [n, c, h * block, w * block], FLOATS)], {"blocksize": block})


@st.composite
def reverse_sequence(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 2, 4, least=1)
    batch_axis = draw(st.integers(0, 1))
    lengths = [draw(st.integers(0, shape[1 - batch_axis])) for _ in range(shape[batch_axis])]
    attributes = {"batch_axis": batch_axis, "time_axis": 1 - batch_axis}
    return OneNode("ReverseSequence", opset, [distinct(draw, shape), ints(lengths)], attributes)


@st.composite
def trilu(draw: Draw, opset: int) -> OneNode:
    data = distinct(draw, shapes(draw, 2), ("float32", "float64", "int64", "bool"))
    k = draw(st.none() | st.integers(-6, 6))
    return OneNode("Trilu", opset, [data, None if k is None else ints(k)], {"upper": draw(st.integers(0, 1))})


@st.composite
def range_(draw: Draw, opset: int) -> OneNode:
    dtype = draw(st.sampled_from(["int16", "int32", "int64", "float32", "float64"]))
    # Quarters are exact in every order of computation: see the disagreements.
    unit = 1 if dtype.startswith("int") else 4
    start, limit = (draw(st.integers(-40, 40)) / unit for _ in range(2))
    delta = draw(st.integers(-12, 12).filter(bool)) / unit
    return OneNode("Range", opset, [numpy.array(value, dtype) for value in (start, limit, delta)])


@st.composite
def one_hot(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3)
    depth = draw(st.integers(1, 4))
    indices = numbers(draw, shape, "int64") % 11 - (5 if opset >= 11 else 0)
    off_on = numpy.array([2, 5], draw(st.sampled_from(["float32", "int64"])))
    axes = st.integers(-len(shape) - 1, len(shape)) if opset >= 11 else st.integers(-1, len(shape))
    return OneNode("OneHot", opset, [indices, ints([depth]), off_on], {"axis": draw(axes)})


@st.composite
def center_crop_pad(draw: Draw, opset: int) -> OneNode:
    shape = shapes(draw, 1, 3)
    axes = draw(st.none() | st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True))
    target = [draw(st.integers(0, 6)) for _ in (shape if axes is None else axes)]
    data = numbers(draw, shape)
    return OneNode("CenterCropPad", opset, [data, ints(target)], {} if axes is None else {"axes": axes})
