"""The numbers and texts in a model's constants and attributes: where a node compares, it is with these."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import TypeVar

import numpy
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.files import all_tensors, is_external
from opsetlift.model.scopes import subgraphs_within
from opsetlift.proof.limits import is_floating
from opsetlift.proof.pattern_texts import near_pattern

MOST_ELEMENTS = 16
"""Constants with more elements are weights or tables, of whose numbers only those count that one model has alone."""

MOST_LISTED = 1024
"""So many numbers of each list in an attribute are tried as they stand there."""

MOST_IN_TABLES = 1024
"""Of constants with more elements than that all numbers are left out."""

MOST_PLACES = 3
"""So many places are taken from each pair of tables that differ."""

MOST_VALUES = 12
"""So many numbers that are in such places are taken."""

MOST_DERIVED = 6
"""So many sums, differences, products and quotients of the first numbers are taken."""

MOST_APART = 4
"""The distances between so many numbers are looked at."""

LEAST_APART, MUCH_APART = 2.0**-12, 2.0**-4
"""Those between these tell at sizes that are tried nowhere else and can be."""

MOST_DIMENSIONS, USUAL_SIZES, MOST_SIZES_HELD = 8, range(2, 65), 10
"""Of constants with so many elements at most, numbers in this range may be sizes; so many are taken."""

LEAST_BOUND, MOST_BOUNDS = 16, 4
"""Smaller sizes are usual ones; so many bounds of sizes are taken."""

_LISTS_OF_CONSTANTS = {"value_ints": "int64", "value_floats": "float32"}
"""Attributes of a Constant that hold tables, with their dtypes."""

Found = TypeVar("Found", float, str)


def numbers_of(
    models: Sequence[ModelProto], most: int, *, in_tables: bool = False, computed: Sequence[Sequence[Array]] = ((), ())
) -> list[float]:
    """The distinct finite numbers in two models: first those that only one of them has, as a difference is there.

    With `in_tables` those follow that one model alone has in tables. `computed` is what each model computes from
    constants alone.
    """

    def numbers(most: int) -> list[list[float]]:
        return [
            [*_numbers(model, most), *(one for array in arrays if array.size <= most for one in _finite(array))]
            for model, arrays in zip(models, computed, strict=True)
        ]

    found = _distinct(numbers(MOST_ELEMENTS))
    if in_tables and len(found) < most:
        found += _of_one_alone(numbers(MOST_IN_TABLES))
    return list(dict.fromkeys(found))[:most]


def lists_of(models: Sequence[ModelProto]) -> list[tuple[float | str, ...]]:
    """The distinct lists of several finite numbers or texts in constants and attributes, as they stand there."""
    found: dict[tuple[float | str, ...], None] = {}
    for model in models:
        # Sequences that data is searched for are attributes; tensors are as long as weights.
        lists = [_list_in(attribute)[:MOST_LISTED] for _, attribute in _attributes_of(model)]
        tensors = (_in_tensor(tensor, MOST_ELEMENTS) for tensor in all_tensors(model) if not is_external(tensor))
        for one in (*lists, *tensors):
            texts = (each.decode(errors="replace") if isinstance(each, bytes) else each for each in one)
            listed = tuple(each for each in texts if isinstance(each, str) or math.isfinite(each))
            if len(listed) > 1:
                found[listed] = None
    return list(found)


def numbers_of_differences(
    one: ModelProto, other: ModelProto, computed: Sequence[Sequence[Array]] = ((), ())
) -> list[float]:
    """Where tables of two models differ, each of which has one of the same kind, and what is there.

    An index may lead there, and data may be compared with what is there. `computed` are further tables of each model.
    """
    before, after = map(_tables, (one, other), computed)
    places: dict[int, None] = {}
    values: dict[float, None] = {}
    for kind in filter(after.__contains__, before):
        for pair in zip(before[kind], after[kind], strict=False):
            if pair[0].SerializeToString() != pair[1].SerializeToString():
                arrays = [_array_of(table) for table in pair]
                where = numpy.argwhere(arrays[0] != arrays[1])[:MOST_PLACES]
                places.update(dict.fromkeys(where.reshape(-1).tolist()))
                values.update(dict.fromkeys(one for array in arrays for one in _finite(array[tuple(where.T)])))
    return [*places, *list(values)[:MOST_VALUES]]


def _finite(values: Array) -> list[float]:
    """The numbers that are compared as such; none of texts, truth values and complex numbers."""
    if values.dtype.kind in "OSUbc":
        return []
    if values.dtype.kind in "iu" or (values.dtype.kind == "V" and not is_floating(values.dtype)):
        return [int(one) for one in values.reshape(-1)]
    return [one for one in map(float, values.reshape(-1)) if math.isfinite(one)]


def _tables(
    model: ModelProto, computed: Sequence[Array]
) -> dict[tuple[int | str, ...], list[TensorProto | AttributeProto]]:
    """Tensors by dtype and shape, lists in attributes by operator, name and length."""
    found: dict[tuple[int | str, ...], list[TensorProto | AttributeProto]] = {}
    for tensor in all_tensors(model):
        if not is_external(tensor) and math.prod(tensor.dims) > 1:
            found.setdefault((tensor.data_type, *tensor.dims), []).append(tensor)
    for array in computed:
        if array.size > 1:
            tensor = tensor_of(array)
            found.setdefault((tensor.data_type, *tensor.dims), []).append(tensor)
    for node, attribute in _attributes_of(model):
        length = len(_list_in(attribute))
        if length > 1 and node.op_type == "Constant" and attribute.name in _LISTS_OF_CONSTANTS:
            # The same table may be a tensor in the other model.
            tensor = numpy_helper.from_array(numpy.array(_list_in(attribute), _LISTS_OF_CONSTANTS[attribute.name]))
            found.setdefault((tensor.data_type, length), []).append(tensor)
        elif length > 1:
            found.setdefault((node.op_type, attribute.name, length), []).append(attribute)
    return found


def _array_of(table: TensorProto | AttributeProto) -> Array:
    return numpy_helper.to_array(table) if isinstance(table, TensorProto) else numpy.array(_list_in(table))


def _attributes_of(model: ModelProto) -> Iterator[tuple[NodeProto, AttributeProto]]:
    containers = [model.graph, *model.functions]
    containers += [graph for container in containers for graph in subgraphs_within(container)]
    for container in containers:
        for node in container.node:
            for attribute in node.attribute:
                yield node, attribute


def _list_in(attribute: AttributeProto) -> Sequence[float | bytes]:
    found: Sequence[float | bytes] = attribute.ints or attribute.floats or attribute.strings
    return found


def derived_from(numbers: Sequence[float]) -> list[float]:
    """What arithmetic makes of two of the first numbers: what an input becomes may be compared, and not the input."""
    found: dict[float, None] = {}
    for one, other in permutations(numbers[:3], 2):
        found.update(dict.fromkeys([one - other, one + other, one * other]))
        if other:
            found[one / other] = None
    return [one for one in found if math.isfinite(one) and one not in numbers][:MOST_DERIVED]


def sizes_that_tell(numbers: Sequence[float]) -> list[int]:
    """Where the products of a size with two numbers are 1 apart: scales that are nearly the same give another size."""
    apart = [abs(one - other) for one, other in combinations(numbers[:MOST_APART], 2)]
    return list(dict.fromkeys(math.ceil(1 / one) for one in sorted(apart) if LEAST_APART <= one < MUCH_APART))


def sizes_held(models: Sequence[ModelProto]) -> list[int]:
    """The whole numbers in shapes, the most frequent first: an export may have kept sizes that it declares open."""
    found = Counter(
        int(one)
        for model in models
        for one in _numbers(model, MOST_DIMENSIONS)
        if isinstance(one, int) and one in USUAL_SIZES
    )
    return [one for one, _ in found.most_common(MOST_SIZES_HELD)]


def sizes_that_bound(numbers: Sequence[float]) -> list[int]:
    """The first whole numbers, and one more: one of the models may slice, pad or compare sizes to them."""
    whole = dict.fromkeys(abs(int(one)) for one in numbers if one == int(one) and abs(one) >= LEAST_BOUND)
    return [size for number in list(whole)[:MOST_BOUNDS] for size in (number, number + 1)]


def _numbers(model: ModelProto, limit: int) -> list[float]:
    return [one for one in _in_model(model, limit) if not isinstance(one, bytes) and math.isfinite(one)]


def texts_of(models: Sequence[ModelProto], most: int) -> list[str]:
    """The distinct texts in two models, first those that only one of them has, and what patterns among them match."""
    found = _distinct([_texts(model, MOST_ELEMENTS) for model in models])
    found += _of_one_alone([_texts(model, MOST_IN_TABLES) for model in models])
    texts = list(dict.fromkeys(found))[:most]
    return list(dict.fromkeys([*texts, *(near for text in texts for near in near_pattern(text))]))


def _texts(model: ModelProto, limit: int) -> list[str]:
    return [one.decode(errors="replace") for one in _in_model(model, limit) if isinstance(one, bytes)]


def _of_one_alone(sides: Sequence[Sequence[Found]]) -> list[Found]:
    alone = set(sides[0]).symmetric_difference(*sides[1:])
    return [one for one in _distinct(sides) if one in alone]


def _distinct(sides: Sequence[Sequence[Found]]) -> list[Found]:
    shared = set(sides[0]).intersection(*sides[1:])
    every = dict.fromkeys(one for side in sides for one in side)
    return sorted(every, key=lambda one: one in shared)


def _in_model(model: ModelProto, limit: int) -> Iterator[float | bytes]:
    yield from _in_graph(model.graph, limit)
    for function in model.functions:
        yield from _in_nodes(function.node, limit)


def _in_graph(graph: GraphProto, limit: int) -> Iterator[float | bytes]:
    for tensor in graph.initializer:
        yield from _in_tensor(tensor, limit)
    yield from _in_nodes(graph.node, limit)


def _in_nodes(nodes: Iterable[NodeProto], limit: int) -> Iterator[float | bytes]:
    for node in nodes:
        for attribute in node.attribute:
            yield from _in_attribute(attribute, limit)


def _in_attribute(attribute: AttributeProto, limit: int) -> Iterator[float | bytes]:
    match attribute.type:
        case AttributeProto.FLOAT:
            yield attribute.f
        case AttributeProto.INT:
            yield attribute.i
        case AttributeProto.FLOATS:
            yield from attribute.floats[:limit]
        case AttributeProto.INTS:
            yield from attribute.ints[:limit]
        case AttributeProto.STRING:
            yield attribute.s
        case AttributeProto.STRINGS:
            yield from attribute.strings[:limit]
        case AttributeProto.TENSOR:
            yield from _in_tensor(attribute.t, limit)
        case AttributeProto.GRAPH:
            yield from _in_graph(attribute.g, limit)


def numbers_in_tensor(tensor: TensorProto) -> list[float]:
    """The finite numbers in a small constant."""
    found = _in_tensor(tensor, MOST_ELEMENTS)
    return [one for one in found if not isinstance(one, bytes) and math.isfinite(one)]


def _in_tensor(tensor: TensorProto, limit: int) -> Iterator[float | bytes]:
    if tensor.data_location == TensorProto.EXTERNAL or math.prod(tensor.dims) > limit:
        return
    if tensor.data_type == TensorProto.STRING:
        yield from tensor.string_data
    if tensor.data_type not in (TensorProto.STRING, TensorProto.UNDEFINED):
        yield from _finite(numpy_helper.to_array(tensor))
