"""The operators of ai.onnx.ml on labels, categories and maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy

from opsetlift.evaluator.kernels.ml_scores import label_array, one_of
from opsetlift.evaluator.kernels.registry import Call, kernel
from opsetlift.model.arrays import Array

_DOMAIN = "ai.onnx.ml"


@kernel("CastMap", since=(1,), domain=_DOMAIN)
def cast_map(call: Call, x: Mapping[int, Any]) -> Array:
    """CastMap-1: The values of a map, in the order of its int64 keys.

    The output is [1, C], as onnxruntime has it; the text does not say. It is float32, int64 or strings, by cast_to.
    Where map_form is SPARSE, max_map is its length, and keys are positions.
    """
    form, cast_to = call.attributes["map_form"], call.attributes["cast_to"]
    if form not in ("DENSE", "SPARSE"):
        call.fail(f"map_form must be DENSE or SPARSE, not {form!r}")
    if cast_to not in ("TO_FLOAT", "TO_STRING", "TO_INT64"):
        call.fail(f"cast_to must be TO_FLOAT, TO_STRING or TO_INT64, not {cast_to!r}")
    keys = sorted(x)
    casts: dict[str, Callable[[Any], Any]] = {"TO_FLOAT": float, "TO_STRING": _text, "TO_INT64": _integer}
    cast = casts[cast_to]
    dtype: Any = {"TO_FLOAT": numpy.float32, "TO_STRING": object, "TO_INT64": numpy.int64}[cast_to]
    values = numpy.array([cast(x[key]) for key in keys], dtype=dtype)
    if form == "DENSE":
        return values.reshape(1, -1)
    length = call.attributes["max_map"]
    if keys and not (keys[0] >= 0 and keys[-1] < length):
        call.fail(f"a key cannot exceed max_map - 1, {length - 1}, nor be negative")
    result = numpy.full((1, length), "" if dtype is object else 0, dtype)
    result[0, keys] = values
    return result


def _text(value: Any) -> str:
    """A float has six decimals, as in onnxruntime; the text does not say."""
    return value if isinstance(value, str) else f"{float(value):f}"


def _integer(value: Any) -> int:
    return int(float(value))


@kernel("CategoryMapper", since=(1,), domain=_DOMAIN)
def category_mapper(call: Call, x: Array) -> Array:
    """CategoryMapper-1: int64 for strings [*shape], or strings for int64."""
    strings = call.attributes.get("cats_strings") or []
    integers = call.attributes.get("cats_int64s") or []
    if len(strings) != len(integers):
        call.fail("cats_strings and cats_int64s must have the same length")
    if x.dtype == object:
        return _looked_up(x, strings, numpy.array(integers, numpy.int64), call.attributes["default_int64"])
    return _looked_up(x, integers, numpy.array(strings, object), call.attributes["default_string"])


@kernel("LabelEncoder", since=(1,), domain=_DOMAIN)
def label_encoder_of_classes(call: Call, x: Array) -> Array:
    """LabelEncoder-1: The index of each string, or the string at each index."""
    classes = call.attributes.get("classes_strings") or []
    places = list(range(len(classes)))
    if x.dtype == object:
        return _looked_up(x, classes, numpy.array(places, numpy.int64), call.attributes["default_int64"])
    return _looked_up(x, places, numpy.array(classes, object), call.attributes["default_string"])


@kernel("LabelEncoder", since=(2,), domain=_DOMAIN)
def label_encoder_of_lists(call: Call, x: Array) -> Array:
    """LabelEncoder-2: The value of each key, in x [*shape].

    "Bit-wise comparison is used so even a float NaN can be mapped"; -0 is 0 as in every onnxruntime and in ONNX's
    reference. Of repeated keys the last counts, as 4 puts in words.
    """
    keys_name, keys = one_of(call, "keys_strings", "keys_int64s", "keys_floats")
    values_name, values = one_of(call, "values_strings", "values_int64s", "values_floats")
    _check_keys(call, keys_name.removeprefix("keys_"), x, keys, values)
    kind = values_name.removeprefix("values_").removesuffix("s")
    replies = numpy.array(values, {"string": object, "int64": numpy.int64, "float": numpy.float32}[kind])
    default = call.attributes[f"default_{kind}"]
    return _looked_up(x, keys, replies, default)


@kernel("LabelEncoder", since=(4,), domain=_DOMAIN)
def label_encoder_by_value(call: Call, x: Array) -> Array:
    """LabelEncoder-4: The value of each key, in x [*shape], from lists or tensors."""
    names = ("strings", "int64s", "floats", "tensor")
    keys_name, keys = one_of(call, *(f"keys_{name}" for name in names))
    values_name, values = one_of(call, *(f"values_{name}" for name in names))
    _check_keys(call, keys_name.removeprefix("keys_"), x, keys, values)
    kind = values_name.removeprefix("values_").removesuffix("s")
    dtypes: dict[str, Any] = {"string": object, "int64": numpy.int64, "float": numpy.float32}
    replies = numpy.asarray(values, dtypes.get(kind)).reshape(-1)
    tensor = call.attributes.get("default_tensor")
    if tensor is not None:
        if tensor.size != 1 or tensor.dtype != replies.dtype:
            call.fail("default_tensor must be one value of the type of values_*")
        default = tensor.reshape(-1)[0]
    elif replies.dtype == object:
        default = call.attributes["default_string"]
    else:
        default = call.attributes["default_int64" if replies.dtype.kind == "i" else "default_float"]
    return _looked_up(x, keys, replies, default)


def _check_keys(call: Call, kind: str, x: Array, keys: Any, values: Any) -> None:
    if len(keys) != len(values):
        call.fail(f"keys_{kind} and the values must have the same length, not {len(keys)} and {len(values)}")
    expected = {"strings": object, "int64s": numpy.int64, "floats": numpy.float32}.get(kind)
    if x.dtype != (keys.dtype if expected is None else expected):
        call.fail(f"the input must have the element type of keys_{kind}")


def _looked_up(x: Array, keys: Any, replies: Array, default: Any) -> Array:
    """For each element the reply to its key, of repeated keys the last one's; NaN is equal to NaN."""
    fallback = numpy.empty(1, replies.dtype)
    fallback[0] = default
    if x.dtype == object:
        places = {key: place for place, key in enumerate(keys)}
        found = numpy.array([places.get(element, len(replies)) for element in x.reshape(-1)], numpy.int64)
    else:
        distinct, first = numpy.unique(numpy.asarray(keys, x.dtype)[::-1], return_index=True)
        flat = x.reshape(-1)
        candidates = numpy.searchsorted(distinct, flat)
        inside = candidates < distinct.size
        candidates = numpy.where(inside, candidates, 0)
        if distinct.size:
            near = distinct[candidates]
            same = inside & ((near == flat) | ((near != near) & (flat != flat)))
            found = numpy.where(same, len(replies) - 1 - first[candidates], len(replies))
        else:
            found = numpy.full(flat.shape, len(replies))
    return numpy.concatenate([replies, fallback])[found].reshape(x.shape)


@kernel("DictVectorizer", since=(1,), domain=_DOMAIN)
def dict_vectorizer(call: Call, x: Mapping[Any, Any]) -> Array:
    """DictVectorizer-1: The values of a map, in the order of the vocabulary.

    The output is [vocabulary], of the dtype of the values; 0 or the empty string where the map has no such key.
    """
    _, vocabulary = one_of(call, "int64_vocabulary", "string_vocabulary")
    unknown = set(x).difference(vocabulary)
    if unknown:
        call.fail(f"all keys of the input must be in the vocabulary, {next(iter(unknown))!r} is not")
    values = numpy.array(list(x.values()))
    is_text = values.dtype.kind in "OU"
    result = numpy.full(len(vocabulary), "" if is_text else 0, object if is_text else values.dtype)
    for place, key in enumerate(vocabulary):
        if key in x:
            result[place] = x[key]
    return result


@kernel("ZipMap", since=(1,), domain=_DOMAIN)
def zip_map(call: Call, x: Array) -> list[dict[Any, Any]]:
    """ZipMap-1: A map of labels to scores for each row of float32 [N, labels]."""
    _, keys = one_of(call, "classlabels_int64s", "classlabels_strings")
    if x.ndim not in (1, 2) or x.shape[-1] != len(keys):
        call.fail(f"there must be as many columns as keys, {len(keys)}, the input is {list(x.shape)}")
    labels = label_array(keys).tolist()
    return [dict(zip(labels, row, strict=True)) for row in x.reshape(-1, len(keys))]
