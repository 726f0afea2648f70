"""LabelEncoder of ai.onnx.ml.

LabelEncoder  2: classes_strings -> keys_* and values_* of three types · 4: +tensors of five types, +default_tensor
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from onnx import numpy_helper

from opsetlift.rulebook.rule import Fallback, Step, unchanged
from opsetlift.rulebook.site import Array, Site, has_attribute
from opsetlift.specification.dtypes import name_of_numpy_dtype
from opsetlift.support.refusal import Why
from opsetlift_rules.helpers import opsets

_DOMAIN = "ai.onnx.ml"
_NAMES = {"string": "strings", "int64": "int64s", "float": "floats"}
_DTYPES: dict[str, Any] = {"string": object, "int64": numpy.int64, "float": numpy.float32}


@dataclass(frozen=True)
class Table:
    """The mapping of the node: the i-th key to the i-th value, everything else to `default`, an array of one value."""

    keys: Array
    values: Array
    default: Array

    def without_repetitions(self) -> Table:
        """The table with only the last of repeated keys, as 4 defines it."""
        places = {_identity(key): place for place, key in enumerate(self.keys.tolist())}
        kept = sorted(places.values())
        return Table(self.keys[kept], self.values[kept], self.default)

    @property
    def replies(self) -> Array:
        """The values and, after them, the default."""
        return numpy.concatenate([self.values, self.default])


def _identity(key: Any) -> Any:
    return "NaN" if key != key else key


def _table(site: Site) -> Table:
    """The table of version 2 or 4."""
    keys = _column(site, "keys")
    values = _column(site, "values")
    if len(keys) != len(values):
        site.refuse(Why.INVALID_MODEL, f"the node has {len(keys)} keys but {len(values)} values")
    given = site.attribute("default_tensor")
    if given is not None:
        default = _array(given).reshape(1)
    elif values.dtype == object:
        default = numpy.array([site.attribute("default_string", "_Unused")], object)
    else:
        name, fallback = ("default_int64", -1) if values.dtype.kind == "i" else ("default_float", -0.0)
        default = numpy.array([site.attribute(name, fallback)], values.dtype)
    return Table(keys, values, default)


def _column(site: Site, prefix: str) -> Array:
    tensor = site.attribute(f"{prefix}_tensor")
    if tensor is not None:
        return _array(tensor).reshape(-1)
    lists = {dtype: found for dtype, name in _NAMES.items() if (found := site.attribute(f"{prefix}_{name}"))}
    if len(lists) != 1:
        site.refuse(Why.INVALID_MODEL, f"exactly one of the attributes {prefix}_* must be set")
    ((dtype, found),) = lists.items()
    texts = [item.decode("utf-8") if isinstance(item, bytes) else item for item in found]
    return numpy.array(texts, _DTYPES[dtype])


def _array(tensor: Any) -> Array:
    array = numpy.asarray(numpy_helper.to_array(tensor))
    if array.dtype.kind not in "SU" and array.dtype != object:
        return array
    return numpy.array(
        [one.decode("utf-8") if isinstance(one, bytes) else str(one) for one in array.reshape(-1)], object
    )


def _emit(site: Site, table: Table, value: str) -> str:
    """Emit LabelEncoder-2 (or 4, for the types of 2)."""
    kinds = name_of_numpy_dtype(table.keys.dtype), name_of_numpy_dtype(table.values.dtype)
    attributes = {
        f"keys_{_NAMES[kinds[0]]}": table.keys.tolist(),
        f"values_{_NAMES[kinds[1]]}": table.values.tolist(),
        f"default_{kinds[1]}": table.default.tolist()[0],
    }
    return str(site.op.LabelEncoder(value, **attributes))


# 1 and 2


def replace_classes_with_keys(site: Site) -> None:
    """Write classes_strings of LabelEncoder-1 as the keys and values of LabelEncoder-2."""
    classes = [one.decode("utf-8") for one in site.attribute("classes_strings", [])]
    if not classes:
        site.refuse(
            Why.INVALID_MODEL, "the attribute classes_strings is empty: the node maps everything to its default"
        )
    texts, numbers = numpy.array(classes, object), numpy.arange(len(classes), dtype=numpy.int64)
    if site.dtype(0) == "string":
        table = Table(texts, numbers, numpy.array([site.attribute("default_int64", -1)], numpy.int64))
    else:
        table = Table(numbers, texts, numpy.array([site.attribute("default_string", "_Unused")], object))
    site.replace(_emit(site, table.without_repetitions(), site.input(0)))


def replace_keys_with_classes(site: Site) -> None:
    """Write the keys and values of LabelEncoder-2 for LabelEncoder-1 or CategoryMapper.

    LabelEncoder-1 takes strings and the numbers 0, 1, 2...; CategoryMapper any int64. Other types are gathered by the
    number of their key.
    """
    table = _table(site).without_repetitions()
    kinds = name_of_numpy_dtype(table.keys.dtype), name_of_numpy_dtype(table.values.dtype)
    if set(kinds) == {"string", "int64"}:
        _map_numbers_and_text(site, table, *kinds)
    elif kinds[0] == "string":
        numbers = site.op.LabelEncoder(
            site.input(0), classes_strings=table.keys.tolist(), default_int64=len(table.keys)
        )
        site.replace(_reply(site, table, numbers))
    else:
        site.replace(_compared(site, table))


def _map_numbers_and_text(site: Site, table: Table, key: str, value: str) -> None:
    numbers, texts = (table.values, table.keys) if value == "int64" else (table.keys, table.values)
    default = {f"default_{value}": table.default.tolist()[0]}
    order = numpy.argsort(numbers, kind="stable")
    if numpy.array_equal(numbers[order], numpy.arange(len(numbers))):
        site.replace(site.op.LabelEncoder(site.input(0), classes_strings=texts[order].tolist(), **default))
    else:
        attributes = {"cats_strings": texts.tolist(), "cats_int64s": numbers.tolist(), **default}
        site.replace(site.op.CategoryMapper(site.input(0), **attributes))


def _reply(site: Site, table: Table, numbers: str) -> str:
    """Gather the values by their numbers; the number after the last selects the default."""
    # No index is negative.
    return str(
        site.op_at(opsets.NON_NEGATIVE_INDICES, "").Gather(
            site.constant(table.replies, hint="replies"), numbers, axis=0
        )
    )


def _compared(site: Site, table: Table) -> str:
    """Compare each element with each key: at most one of the distinct keys is equal."""
    keys = table.keys
    if keys.dtype.kind == "f":
        if numpy.isnan(keys).any():
            site.refuse(
                Why.NO_EQUIVALENT,
                (
                    f"a key is NaN, and at opset {site.opset} numbers are found by comparison only, which never "
                    "finds NaN"
                ),
            )
        keys, first = numpy.unique(keys, return_index=True)
        table = Table(keys, table.values[first], table.default)
    op, last = site.op_at(opsets.AXES_AS_INPUTS, ""), site.constant([-1], "int64", "last")
    is_key = op.Cast(op.Equal(op.Unsqueeze(site.input(0), last), site.constant(keys, hint="keys")), to="int64")
    count = len(keys)
    offsets = op.Mul(is_key, site.constant(numpy.arange(count, dtype=numpy.int64) - count, hint="offsets"))
    numbers = op.Add(op.ReduceSum(offsets, last, keepdims=0), site.constant(count, "int64", "count"))
    return _reply(site, table, numbers)


# 2 and 4


def gather_values_by_key_number(site: Site) -> None:
    """Encode keys as numbers in a type that the runtime supports, and gather the values by them.

    Where it supports none, numbers are compared with all keys.
    """
    table = _table(site)
    key = name_of_numpy_dtype(table.keys.dtype)
    count = len(table.keys)
    # A float holds such numbers.
    number = next((one for one in ("int64", "float") if site.computes("LabelEncoder", T1=key, T2=one)), "")
    if number and count < 2**24 and name_of_numpy_dtype(table.values.dtype) != number:
        numbers = Table(table.keys, numpy.arange(count).astype(_DTYPES[number]), numpy.array([count], _DTYPES[number]))
        encoded = _emit(site, numbers, site.input(0))
        site.replace(
            _reply(
                site, table, encoded if number == "int64" else site.op_at(opsets.BFLOAT16, "").Cast(encoded, to="int64")
            )
        )
    elif not number and key != "string" and not site.computes("LabelEncoder", T1=key):
        site.replace(_compared(site, table.without_repetitions()))


def convert_tensors_to_lists(site: Site) -> None:
    """Write the tensors of LabelEncoder-4 as the lists of LabelEncoder-2.

    Integers are cast to int64; double keys are compared, double values gathered by number. A NaN key gets nodes of its
    own: version 2 allows it, but onnxruntime does not find it.
    """
    before = _table(site)
    table = before.without_repetitions()
    if table.keys.dtype == numpy.float64:
        site.replace(_compared(site, table))
        return
    value, narrow = site.input(0), name_of_numpy_dtype(table.values.dtype)
    if table.keys.dtype.kind == "i" and table.keys.dtype != numpy.int64:
        value = site.op_at(opsets.BFLOAT16, "").Cast(value, to="int64")
    table = _in_lists(table)
    if narrow == "double":
        numbers = Table(table.keys, numpy.arange(len(table.keys)), numpy.array([len(table.keys)]))
        site.replace(_reply(site, table, _encoded(site, numbers, value)))
        return
    has_tensors = any(has_attribute(site, f"{name}_tensor") for name in ("keys", "values", "default"))
    if not has_tensors and len(table.keys) == len(before.keys) and _reply_to_nan(table) is None:
        return
    encoded = _encoded(site, table, value)
    site.replace(site.op_at(opsets.BFLOAT16, "").Cast(encoded, to=narrow) if narrow in ("int32", "int16") else encoded)


def _reply_to_nan(table: Table) -> Array | None:
    if table.keys.dtype.kind != "f" or not numpy.isnan(table.keys).any():
        return None
    (place,) = numpy.flatnonzero(numpy.isnan(table.keys))
    return numpy.asarray(table.values[place])


def _encoded(site: Site, table: Table, value: str) -> str:
    encoded, reply = _emit(site, table, value), _reply_to_nan(table)
    if reply is None:
        return encoded
    op = site.op_at(opsets.BFLOAT16, "")
    return str(op.Where(op.IsNaN(value), site.constant(reply, hint="reply"), encoded))


def _in_lists(table: Table) -> Table:
    def widened(array: Array) -> Array:
        return array.astype(numpy.int64) if array.dtype.kind == "i" else array

    return Table(widened(table.keys), widened(table.values), widened(table.default))


_BY_VALUE = (
    "2 compares bit by bit, so that NaN can be mapped; onnxruntime and ONNX's reference treat 0 and -0 "
    "as equal at every version"
)

STEPS = [
    Step("LabelEncoder", 1, 2, up=replace_classes_with_keys, down=replace_keys_with_classes, domain=_DOMAIN),
    Step("LabelEncoder", 2, 4, up=unchanged, down=convert_tensors_to_lists, domain=_DOMAIN, because=_BY_VALUE),
]

FALLBACKS = [
    Fallback("LabelEncoder", gather_values_by_key_number, domain=_DOMAIN),
]
