"""Inputs for models, drawn without the proof's test inputs: what judges it must not share its blind spots.

What a model has been seen to take is where the next input begins: one input of it gets other values, or all sizes
change. Shipped inputs, where a test has some, come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy
import onnx
from onnx import helper

Values = dict[str, Any]

_SIZES = (1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 0, 17)
_WORDS = ("", "a", "A", "b", "ab", "Zebra", "é", "日本", " ", "10", "-0.0", "NaN", "true", "1e3", "-7", "a b c")


class Inputs:
    """Values for the inputs of a model that have no default, one set after the other."""

    def __init__(self, model: onnx.ModelProto, seed: int, shipped: Sequence[Values] = ()) -> None:
        initialized = {tensor.name for tensor in model.graph.initializer}
        initialized |= {tensor.values.name for tensor in model.graph.sparse_initializer}
        self._types = {info.name: info.type for info in model.graph.input if info.name not in initialized}
        self._random = numpy.random.default_rng([seed, len(self._types)])
        self._shipped = [one for one in shipped if one.keys() == self._types.keys()]
        self._taken: list[Values] = []

    def take(self, values: Values) -> None:
        """Note that the model takes these."""
        self._taken.append(values)
        if len(self._taken) > 24:
            del self._taken[int(self._random.integers(len(self._taken) - 1))]

    def __iter__(self) -> Iterator[Values]:
        yield from self._shipped
        if not self._types:
            yield {}
            return
        while True:
            if self._taken and self._random.random() < 0.75:
                yield self._varied(self._one_of(self._taken))
            else:
                yield self._anew()

    def _one_of(self, options: Sequence[Any]) -> Any:
        return options[int(self._random.integers(len(options)))]

    def _varied(self, values: Values) -> Values:
        names = [name for name in values if isinstance(values[name], numpy.ndarray)]
        if not names:
            return self._anew()
        changed = dict(values)
        count = 1 + int(self._random.integers(len(names))) if self._random.random() < 0.5 else 1
        for name in self._random.permutation(names)[:count]:
            before = values[name]
            if self._random.random() < 0.2 and before.size:
                changed[name] = before.reshape(-1)[self._random.permutation(before.size)].reshape(before.shape)
            else:
                changed[name] = self._tensor(before.dtype, before.shape, list(values.values()))
        return changed

    def _anew(self) -> Values:
        sizes: dict[str, int] = {}
        bias = self._one_of(_SIZES[:8])
        values: Values = {}
        for name, kind in self._types.items():
            values[name] = self._value(kind, sizes, bias, list(values.values()))
        return values

    def _value(self, kind: onnx.TypeProto, sizes: dict[str, int], bias: int, others: Sequence[Any]) -> Any:
        match kind.WhichOneof("value"):
            case "sequence_type":
                inner = kind.sequence_type.elem_type
                return [self._value(inner, sizes, bias, others) for _ in range(int(self._random.integers(1, 4)))]
            case "optional_type":
                if self._random.random() < 0.3:
                    return None
                return self._value(kind.optional_type.elem_type, sizes, bias, others)
            case "tensor_type":
                dtype = numpy.dtype(helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type))
                return self._tensor(dtype, self._shape(kind.tensor_type, sizes, bias), others)
        raise NotDrawn(kind.WhichOneof("value"))

    def _shape(self, kind: onnx.TypeProto.Tensor, sizes: dict[str, int], bias: int) -> tuple[int, ...]:
        def size() -> int:
            return bias if self._random.random() < 0.5 else self._one_of(_SIZES)

        if not kind.HasField("shape"):
            return tuple(size() for _ in range(int(self._random.integers(0, 5))))
        shape = []
        for dim in kind.shape.dim:
            if dim.HasField("dim_value"):
                shape.append(dim.dim_value)
            elif dim.dim_param:
                shape.append(sizes.setdefault(dim.dim_param, size()))
            else:
                shape.append(size())
        return tuple(shape)

    def _tensor(self, dtype: numpy.dtype[Any], shape: tuple[int, ...], others: Sequence[Any]) -> Any:
        random = self._random
        if dtype.kind in "OUS":
            texts = numpy.empty(shape, object)
            texts[...] = numpy.array(_WORDS, object)[random.integers(len(_WORDS), size=shape)]
            return texts
        if dtype.kind == "b":
            return random.random(shape) < self._one_of([0.0, 0.5, 0.5, 0.5, 1.0])
        if dtype.kind == "c":
            part = numpy.dtype(f"f{dtype.itemsize // 2}")
            return (self._tensor(part, shape, others) + 1j * self._tensor(part, shape, others)).astype(dtype)
        with numpy.errstate(all="ignore"):
            if dtype.kind in "iu" or "int" in dtype.name:
                return self._integers(dtype, shape, others)
            return numpy.asarray(self._floats(dtype, shape)).astype(dtype)

    def _integers(self, dtype: numpy.dtype[Any], shape: tuple[int, ...], others: Sequence[Any]) -> Any:
        random = self._random
        limits = ml_dtypes.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        count = int(numpy.prod(shape))
        sizes = [size for one in others if isinstance(one, numpy.ndarray) for size in one.shape]
        match int(random.integers(10)):
            case 0:
                values = random.integers(0, 3, size=shape)
            case 1:
                values = random.integers(-3, 4, size=shape)
            case 2:
                values = numpy.arange(count)
            case 3:
                values = random.permutation(count)
            case 4:
                values = numpy.full(shape, int(random.integers(-4, 5)))
            case 5 if sizes:
                values = numpy.resize(sizes, count)
            case 6:
                values = random.integers(max(low, -(2**62)), min(high, 2**62), size=shape, endpoint=True)
            case 7:
                near = [low, low + 1, high - 1, high, 0, 1, 2**24 + 1, 2**53 + 1, -(2**24) - 1, 127, 128, 255, 256]
                fitting = numpy.array([one for one in near if low <= one <= high], object)
                chosen = numpy.asarray(fitting[random.integers(len(fitting), size=shape)])
                return chosen.astype(dtype).reshape(shape)
            case _:
                values = random.integers(1, 12, size=shape)
        clipped = numpy.clip(numpy.asarray(values), max(low, -(2**63)), min(high, 2**63 - 1))
        return clipped.reshape(shape).astype(dtype)

    def _floats(self, dtype: numpy.dtype[Any], shape: tuple[int, ...]) -> Any:
        random = self._random
        limits = ml_dtypes.finfo(dtype)
        normal = random.standard_normal(shape)
        match int(random.integers(12)):
            case 0 | 1:
                return normal
            case 2:
                return random.random(shape)
            case 3:
                return normal * 100
            case 4:
                return random.integers(-4, 5, size=shape)
            case 5:
                return random.integers(-8, 9, size=shape) / 2
            case 6:
                return normal * 1e-3
            case 7:
                return numpy.abs(normal) + 0.5
            case 8:
                return normal * float(limits.max) / 8
        special = [0.0, -0.0, 1.0, -1.0, numpy.nan, numpy.inf, -numpy.inf, float(limits.max), float(limits.min)]
        special += [float(limits.smallest_subnormal), float(limits.tiny), 0.5, -0.5, 1.5, 2.5, 1 + float(limits.eps)]
        chosen = numpy.array(special)[random.integers(len(special), size=shape)]
        return numpy.where(random.random(shape) < self._one_of([0.1, 0.5, 1.0]), chosen, normal * 3)


class NotDrawn(Exception):
    """An input is of a type that is not drawn: a map, say."""


def shipped_as_bytes(values: Mapping[str, Any]) -> dict[str, bytes] | None:
    """Tensors as bytes; None where something else is among them."""
    if not all(isinstance(value, numpy.ndarray) for value in values.values()):
        return None
    return {name: onnx.numpy_helper.from_array(value).SerializeToString() for name, value in values.items()}


def shipped_from_bytes(values: Mapping[str, bytes]) -> Values:
    """The inverse."""
    return {name: onnx.numpy_helper.to_array(onnx.TensorProto.FromString(data)) for name, data in values.items()}
