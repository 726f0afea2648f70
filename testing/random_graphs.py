"""Random graphs of what passes look for: moves, views, arithmetic with neutral and other constants, repetitions."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
_MOST_ELEMENTS = 500
_FOREVER = numpy.iinfo(numpy.int64).max

Shape = list[int]


@dataclass
class Builder:
    """A graph while it is drawn: its nodes, and what values there are to go on from, with their shapes."""

    draw: random.Random
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)

    def constant(self, values: object, dtype: type[numpy.generic] = numpy.int64) -> str:
        """A constant, now as an initializer, now as a node."""
        name = f"c{len(self.nodes)}_{len(self.initializers)}"
        tensor = numpy_helper.from_array(numpy.array(values, dtype=dtype), name)
        if self.draw.random() < 0.5:
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def add(self, operator: str, inputs: list[str], shape: Shape, **attributes: Any) -> None:
        """A node whose output has this shape."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        self.shapes[name] = shape

    def alike(self, shape: Shape) -> str:
        """A value of just this shape."""
        return self.draw.choice([name for name, other in self.shapes.items() if other == shape])


def _transpose(b: Builder, x: str, shape: Shape) -> None:
    permutation = list(range(len(shape)))
    b.draw.shuffle(permutation)
    b.add("Transpose", [x], [shape[axis] for axis in permutation], perm=permutation)


def _reshape(b: Builder, x: str, shape: Shape) -> None:
    left = prod(shape)
    sizes: list[int] = []
    while left > 1 and len(sizes) < 4:
        sizes.append(b.draw.choice([size for size in range(1, left + 1) if left % size == 0]))
        left //= sizes[-1]
    sizes.append(left)
    target = list(sizes)
    if b.draw.random() < 0.5:
        target[b.draw.randrange(len(target))] = -1
    copied = [size == known for size, known in zip(target, shape, strict=False)]
    target = [
        0 if same and b.draw.random() < 0.5 else size for same, size in zip(copied, target, strict=False)
    ] + target[len(copied) :]
    b.add("Reshape", [x, b.constant(target)], sizes)


def _reshape_like(b: Builder, x: str, shape: Shape) -> None:
    b.nodes.append(helper.make_node("Shape", [x], [f"{x}_shape_{len(b.nodes)}"]))
    b.add("Reshape", [b.alike(shape), b.nodes[-1].output[0]], shape)


def _unsqueeze(b: Builder, x: str, shape: Shape) -> None:
    axis = b.draw.randint(0, len(shape))
    given = axis if b.draw.random() < 0.5 else axis - len(shape) - 1
    b.add("Unsqueeze", [x, b.constant([given])], [*shape[:axis], 1, *shape[axis:]])


def _squeeze(b: Builder, x: str, shape: Shape) -> None:
    axes = [axis for axis, size in enumerate(shape) if size == 1][:2]
    if axes:
        kept = [size for axis, size in enumerate(shape) if axis not in axes]
        b.add("Squeeze", [x, b.constant([axis - len(shape) for axis in axes])], kept)


def _flatten(b: Builder, x: str, shape: Shape) -> None:
    axis = b.draw.randint(0, len(shape))
    b.add("Flatten", [x], [prod(shape[:axis]), prod(shape[axis:])], axis=axis)


def _slice(b: Builder, x: str, shape: Shape) -> None:
    axis, start = b.draw.randrange(len(shape)), b.draw.choice([0, 0, 1])
    end = b.draw.choice([shape[axis], _FOREVER, shape[axis] - 1])
    size = max(0, min(end, shape[axis]) - start)
    if size:
        bounds = [b.constant([one]) for one in (start, end, axis)]
        b.add("Slice", [x, *bounds], [*shape[:axis], size, *shape[axis + 1 :]])


def _concat(b: Builder, x: str, shape: Shape) -> None:
    axis = b.draw.randrange(len(shape))
    parts = [x, *(b.alike(shape) for _ in range(b.draw.randint(0, 2)))]
    b.add("Concat", parts, [*shape[:axis], shape[axis] * len(parts), *shape[axis + 1 :]], axis=axis - len(shape))


def _pad(b: Builder, x: str, shape: Shape) -> None:
    pads = [b.draw.choice([0, 0, 0, 1]) for _ in range(2 * len(shape))]
    padded = [size + pads[axis] + pads[axis + len(shape)] for axis, size in enumerate(shape)]
    b.add("Pad", [x, b.constant(pads), b.constant(b.draw.choice([0.0, -0.0]), numpy.float32)], padded)


def _gather(b: Builder, x: str, shape: Shape) -> None:
    axis = b.draw.randrange(len(shape))
    indices = list(range(shape[axis]))
    if b.draw.random() < 0.4:
        b.draw.shuffle(indices)
    b.add("Gather", [x, b.constant(indices)], shape, axis=axis)


def _expand(b: Builder, x: str, shape: Shape) -> None:
    more = b.draw.choice([0, 0, 1])
    b.add("Expand", [x, b.constant([1] * more + [b.draw.choice([1, size]) for size in shape])], [1] * more + shape)


def _unary(b: Builder, x: str, shape: Shape) -> None:
    b.add(b.draw.choice(["Neg", "Abs", "Relu", "Floor", "Ceil", "Tanh", "Identity", "Dropout", "Sum"]), [x], shape)


def _cast(b: Builder, x: str, shape: Shape) -> None:
    b.add("Cast", [x], shape, to=b.draw.choice([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16]))
    b.add("Cast", [next(reversed(b.shapes))], shape, to=TensorProto.FLOAT)
    del b.shapes[b.nodes[-2].output[0]]


def _binary(b: Builder, x: str, shape: Shape) -> None:
    operator = b.draw.choice(["Add", "Sub", "Mul", "Div", "Max", "Min"])
    operands = [x, b.constant(b.draw.choice([0.0, -0.0, 1.0, 2.0, -3.0]), numpy.float32)]
    if b.draw.random() < 0.3:
        operands = [x, b.alike(shape)]
    b.draw.shuffle(operands)
    b.add(operator, operands, shape)


def _reduce(b: Builder, x: str, shape: Shape) -> None:
    axis, keeps = b.draw.randrange(len(shape)), b.draw.choice([0, 1])
    b.add("ReduceMax", [x], shape[:axis] + [1] * keeps + shape[axis + 1 :], axes=[axis], keepdims=keeps)


def _split(b: Builder, x: str, shape: Shape) -> None:
    axis = b.draw.randrange(len(shape))
    if shape[axis] > 1:
        sizes = [1, shape[axis] - 1]
        outputs = [f"v{len(b.nodes)}_{part}" for part in (0, 1)]
        b.nodes.append(helper.make_node("Split", [x, b.constant(sizes)], outputs, axis=axis))
        for output, size in zip(outputs, sizes, strict=True):
            b.shapes[output] = [*shape[:axis], size, *shape[axis + 1 :]]


_ANY_RANK: list[Callable[[Builder, str, Shape], None]] = [
    *(
        _reshape,
        _reshape,
        _reshape_like,
        _unsqueeze,
        _squeeze,
        _flatten,
        _expand,
        _unary,
        _unary,
        _cast,
        _binary,
        _binary,
    )
]
_RANK_1_UP: list[Callable[[Builder, str, Shape], None]] = [
    *(_transpose, _transpose, _slice, _slice, _concat, _pad, _gather, _reduce, _split)
]


def random_graph(seed: int) -> onnx.ModelProto:
    """The model of a seed: one input `x` of floats, some of whose sizes may be open, and up to five outputs."""
    draw = random.Random(seed)
    shape = [draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(1, 4))]
    builder = Builder(draw, shapes={"x": shape})
    for _ in range(draw.randint(4, 14)):
        names = list(builder.shapes)
        name = names[-1] if draw.random() < 0.7 else draw.choice(names)
        known = builder.shapes[name]
        if prod(known) > _MOST_ELEMENTS or len(known) > 6:
            break
        draw.choice(_ANY_RANK + _RANK_1_UP if known else _ANY_RANK)(builder, name, known)
    names = list(builder.shapes)[1:] or ["x"]
    outputs = [names[-1], *draw.sample(names[:-1], min(len(names) - 1, draw.randint(0, 4)))]
    sizes: list[int | str] = [f"d{axis}" if draw.random() < 0.3 else size for axis, size in enumerate(shape)]
    graph = helper.make_graph(
        builder.nodes,
        f"random_{seed}",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)],
        [_open_output(name, builder.shapes[name]) for name in outputs],
        builder.initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def _open_output(name: str, shape: Shape) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{axis}" for axis in range(len(shape))])


def inputs_of(seed: int) -> NDArray[numpy.float32]:
    """Special values of the shape that the model of a seed is drawn for."""
    draw = random.Random(seed)
    shape = [draw.choice([1, 2, 3, 4]) for _ in range(draw.randint(1, 4))]
    special = numpy.array([0.0, -0.0, 1, -1, numpy.nan, numpy.inf, -numpy.inf, 2.5, 1e-40, 6], numpy.float32)
    return numpy.random.default_rng(seed).choice(special, shape)
