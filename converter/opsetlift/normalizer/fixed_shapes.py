"""Fixed input shapes: sizes for the open dimensions of a model, everywhere in it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral

from onnx import GraphProto, ModelProto, TypeProto, ValueInfoProto

from opsetlift.model.scopes import subgraphs
from opsetlift.support.arguments import of_kind, whole_number
from opsetlift.support.errors import OpsetLiftError

Shapes = Mapping[str, int | Sequence[int]]
"""A size for a symbol ("batch": 1), or a shape for an input ("x": (1, 3, 224, 224)); one number for rank 1."""


class ShapeFault(OpsetLiftError, ValueError):
    """A shape that the model does not have or cannot take; the message is one sentence."""


def with_fixed_shapes(model: ModelProto, shapes: Shapes) -> ModelProto:
    """A copy of a model with sizes for open dimensions; a symbol is replaced everywhere.

    Raises:
        ShapeFault: A name is neither a symbol nor an input, or a size contradicts what is declared.
        TypeError: A size is not a whole number.
    """
    fixed = ModelProto()
    fixed.CopyFrom(model)
    inputs = {info.name: info for info in fixed.graph.input}
    symbols = set(_symbols(fixed.graph))
    sizes: dict[str, int] = {}
    for name, value in shapes.items():
        of_kind(name, str, "each key of fix_shapes", "the name of a dimension or an input")
        numbers = _whole_numbers(name, value)
        if name in inputs:
            _fix_input(inputs[name], numbers, sizes)
        elif len(numbers) != 1 and name in symbols:
            raise ShapeFault(f"{name!r} is a dimension and takes one size, not {_shown(numbers)}")
        elif name in symbols:
            _bind(sizes, name, numbers[0])
        else:
            raise ShapeFault(_unknown(name, "dimension" if isinstance(value, Integral) else "input", symbols, inputs))
    for info in _infos(fixed.graph):
        _replace_symbols(info.type, sizes)
    return fixed


def _whole_numbers(name: str, value: object) -> tuple[int, ...]:
    """The sizes that are given for a name, numpy's numbers and arrays included."""
    given = list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
    numbers = [whole_number(one, f"each size of {name!r}") for one in given]
    if any(size >= 1 << 63 for size in numbers):
        raise ShapeFault(f"{name!r} cannot have a size of more than 63 bits")
    return tuple(numbers)


def _bind(sizes: dict[str, int], symbol: str, size: int) -> None:
    if size < 0:
        raise ShapeFault(f"dimension {symbol!r} cannot have size {size}")
    if sizes.setdefault(symbol, size) != size:
        raise ShapeFault(f"dimension {symbol!r} cannot be both {sizes[symbol]} and {size}")


def _fix_input(info: ValueInfoProto, shape: Sequence[int], sizes: dict[str, int]) -> None:
    declared = info.type.tensor_type
    if not info.type.HasField("tensor_type"):
        raise ShapeFault(f"input {info.name!r} is not a tensor and has no shape")
    if not declared.HasField("shape"):
        declared.shape.SetInParent()
        for _ in shape:
            declared.shape.dim.add()
    if len(declared.shape.dim) != len(shape):
        raise ShapeFault(
            f"input {info.name!r} has rank {len(declared.shape.dim)}, and {_shown(shape)} has rank {len(shape)}"
        )
    for dim, size in zip(declared.shape.dim, shape, strict=True):
        if dim.HasField("dim_value") and dim.dim_value != size:
            raise ShapeFault(f"input {info.name!r} declares size {dim.dim_value} where {_shown(shape)} has {size}")
        if size < 0:
            raise ShapeFault(f"input {info.name!r} cannot have shape {_shown(shape)}")
        if dim.dim_param:
            _bind(sizes, dim.dim_param, size)
        else:
            dim.dim_value = size


def _shown(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) or "a scalar"


def _unknown(name: str, kind: str, known: object, others: object) -> str:
    names = sorted({*known, *others})  # type: ignore[misc]
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(map(repr, names)) or 'no open dimensions'}"
    return f"the model has no {kind} {name!r}; {hint}"


def _infos(graph: GraphProto) -> Iterator[ValueInfoProto]:
    for infos in (graph.input, graph.output, graph.value_info):
        yield from infos
    for node in graph.node:
        for _, subgraph in subgraphs(node):
            yield from _infos(subgraph)


def _symbols(graph: GraphProto) -> Iterator[str]:
    for info in _infos(graph):
        yield from _symbols_of(info.type)


def _symbols_of(kind: TypeProto) -> Iterator[str]:
    match kind.WhichOneof("value"):
        case "tensor_type":
            yield from (dim.dim_param for dim in kind.tensor_type.shape.dim if dim.dim_param)
        case "sequence_type":
            yield from _symbols_of(kind.sequence_type.elem_type)
        case "optional_type":
            yield from _symbols_of(kind.optional_type.elem_type)


def _replace_symbols(kind: TypeProto, sizes: Mapping[str, int]) -> None:
    match kind.WhichOneof("value"):
        case "tensor_type":
            for dim in kind.tensor_type.shape.dim:
                if dim.dim_param in sizes:
                    dim.dim_value = sizes[dim.dim_param]
        case "sequence_type":
            _replace_symbols(kind.sequence_type.elem_type, sizes)
        case "optional_type":
            _replace_symbols(kind.optional_type.elem_type, sizes)
