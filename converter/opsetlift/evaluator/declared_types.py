"""The types that models declare of values, compared with the values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy
from onnx import TypeProto, ValueInfoProto

from opsetlift.evaluator import values
from opsetlift.evaluator.open_results import report_false_declaration, sizes_of_symbols
from opsetlift.evaluator.values import Value
from opsetlift.model.arrays import Array
from opsetlift.specification import dtypes

Dims = list[int | str | None]

Checked = Callable[[ValueInfoProto], TypeProto | None]
"""What of a declared type is compared with the value; None where nothing is."""


class DeclaredTypes:
    """What a graph declares of values in it, to be compared with each that it computes."""

    def __init__(self, infos: Iterable[ValueInfoProto], checked: Checked) -> None:
        self._types: dict[str, list[_Declared]] = {}
        for info in infos:
            kind = checked(info)
            spelling = None if kind is None else dtypes.type_string(kind)
            if kind is not None and spelling is not None:
                self._types.setdefault(info.name, []).append(_Declared(kind, spelling))

    def __bool__(self) -> bool:
        return bool(self._types)

    def __contains__(self, name: str) -> bool:
        return name in self._types

    def compare(self, computed: Mapping[str, Value], names: Iterable[str] | None = None) -> None:
        """Report values that are not as they are declared: those called `names`, all of them declared, or any."""
        for name in self._types if names is None else names:
            value = computed.get(name)
            if value is not None:
                for declared in self._types[name]:
                    declared.compare(name, value)


class _Declared:
    """One declaration, read once: bodies of Loops compare each value of each iteration."""

    def __init__(self, kind: TypeProto, spelling: str) -> None:
        self._kind = kind
        self._spelling = spelling
        dtype = dtypes.dtype_of_type(spelling)
        self._dims = None if dtype is None else dtypes.shape_of_type(kind)
        # Of text the elements are looked at, too.
        is_plain = dtype not in (None, "string") and self._dims is not None
        self._dtype = dtypes.numpy_dtype(str(dtype)) if is_plain else None
        self._shape = None if self._dims is None else tuple(self._dims)

    def compare(self, name: str, value: Value) -> None:
        """Report a value that is not as it is declared."""
        if type(value) is numpy.ndarray and value.dtype is self._dtype and value.shape == self._shape:
            return
        try:
            value = values.as_type(value, self._spelling)
            if type(value) is numpy.ndarray:
                _check_dims(self._dims, value, sizes_of_symbols())
            else:
                check_shape(self._kind, value, sizes_of_symbols())
        except ValueError as error:
            report_false_declaration(f"declares {name!r} falsely: {error}")


def check_shape(declared: TypeProto, value: Value, sizes: dict[str, int]) -> None:
    """Refuse a value without the declared shape; `sizes` holds what the symbolic dimensions stand for.

    Raises:
        ValueError: The shape is another one.
    """
    kind = declared.WhichOneof("value")
    if kind == "optional_type":
        if value.element is not None:
            check_shape(declared.optional_type.elem_type, value.element, sizes)
    elif kind == "sequence_type":
        for element in value:
            check_shape(declared.sequence_type.elem_type, element, {})
    elif kind == "tensor_type":
        _check_dims(dtypes.shape_of_type(declared), value, sizes)


def _check_dims(dims: Dims | None, value: Array, sizes: dict[str, int]) -> None:
    if dims is None:
        return
    if len(dims) != value.ndim:
        raise ValueError(f"it is declared with {len(dims)} dimensions, but the array has shape {value.shape}")
    for axis, (dim, size) in enumerate(zip(dims, value.shape, strict=True)):
        if dim is None or dim == size:
            continue
        expected = sizes.setdefault(dim, size) if isinstance(dim, str) else dim
        if size != expected:
            declared = f"{dim!r}, which is {expected} elsewhere" if isinstance(dim, str) else str(expected)
            raise ValueError(f"axis {axis} is declared as {declared}, but the array has shape {value.shape}")
