"""The values inside two models that test inputs are to move, and the numbers that they are compared with there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from opsetlift.model.def_use import uses_of
from opsetlift.model.files import is_external
from opsetlift.proof.inputs import Case
from opsetlift.proof.model_numbers import MOST_ELEMENTS, numbers_in_tensor, numbers_of_differences
from opsetlift.proof.regions import Region
from opsetlift.proof.trial import Trial
from opsetlift.specification import dtypes

Number = tuple[str, float]
"""A number, after the dtype that a value has to have to be compared with it."""

_Numbers = dict[str, dict[Number, None]]
"""Those of some values, by name."""

_LOOKED_AT, _MOST_OF_A_CASE = 64, 3
"""So many different numbers, among the first ones of an input for which a region differs, are taken."""

_FIRST = 3
"""They come behind so many numbers that stand in the region."""

_MOST_FOLLOWED = 64
"""So many nodes are followed from where models differ."""


@dataclass(frozen=True)
class Inside:
    """Values inside two models, by name, each with the numbers that it may be compared with or looked up by."""

    original: Sequence[tuple[str, Sequence[Number]]] = ()
    result: Sequence[tuple[str, Sequence[Number]]] = ()

    @property
    def names(self) -> tuple[Sequence[str], Sequence[str]]:
        """The names on either side."""
        return [name for name, _ in self.original], [name for name, _ in self.result]

    @property
    def numbers(self) -> Sequence[Sequence[Number]]:
        """The numbers for each value, the original's first."""
        return [numbers for _, numbers in (*self.original, *self.result)]


@dataclass
class Differences:
    """The regions in which two models were found to differ."""

    _found: dict[str, tuple[Region, Case | None]] = field(default_factory=dict)

    def note(self, region: Region, trial: Trial) -> None:
        """Note what came of a region; a wider one of the same value that is equal counts instead."""
        name = region.outputs[0][1]
        if trial.counterexample:
            self._found.setdefault(name, (region, trial.different_case))
        else:
            self._found.pop(name, None)

    def inside(self, original: ModelProto, result: ModelProto) -> Inside:
        """The values in them, and what is computed from these."""
        held: tuple[_Numbers, _Numbers] = ({}, {})
        for region, case in self._found.values():
            _add_region(held, region)
            for name, value in case.values.items() if case is not None else ():
                numbers = _first_numbers(value)
                for side in held:
                    if name in side:
                        most_promising, others = [*side[name]][:_FIRST], [*side[name]][_FIRST:]
                        side[name] = dict.fromkeys([*most_promising, *numbers, *others])
        for side, model, which in zip(held, (original, result), (0, 1), strict=True):
            ends = {pair[which] for region, _ in self._found.values() for pair in region.outputs}
            _add(side, _in_nodes(_computed_from(model.graph, ends), model.graph, ()))
        sides = zip(held, map(_values_in, (original.graph, result.graph)), strict=True)
        return Inside(*([(name, list(side[name])) for name in side if name in known] for side, known in sides))


def inside_of(region: Region) -> Inside:
    """All values in a region."""
    held: tuple[_Numbers, _Numbers] = ({}, {})
    _add_region(held, region)
    return Inside(*([(name, list(numbers)) for name, numbers in side.items()] for side in held))


def _add_region(held: tuple[_Numbers, _Numbers], region: Region) -> None:
    differences = numbers_of_differences(region.original, region.result)
    for side, part in zip(held, (region.original, region.result), strict=True):
        _add(side, _in_nodes(part.graph.node, part.graph, differences))


def _add(held: _Numbers, found: Iterable[tuple[str, list[Number]]]) -> None:
    for name, numbers in found:
        held.setdefault(name, {}).update(dict.fromkeys(numbers))


def _first_numbers(value: Any) -> list[Number]:
    """The first different numbers in a tensor."""
    if not isinstance(value, numpy.ndarray) or value.dtype.kind in "OUbc" or not value.size:
        return []
    dtype = dtypes.name_of_numpy_dtype(value.dtype)
    numbers = dict.fromkeys(value.reshape(-1)[:_LOOKED_AT].astype(numpy.float64).tolist())
    return [(dtype, one) for one in numbers if math.isfinite(one)][:_MOST_OF_A_CASE]


def _computed_from(graph: GraphProto, names: Set[str]) -> Iterator[NodeProto]:
    """The first nodes that read some values, or what is computed from them."""
    known = set(names)
    found = (node for node in graph.node if not known.isdisjoint(uses_of([node])))
    for node in islice(found, _MOST_FOLLOWED):
        known.update(node.output)
        yield node


def _values_in(graph: GraphProto) -> set[str]:
    return {info.name for info in graph.input}.union(*(node.output for node in graph.node))


def _in_nodes(
    nodes: Iterable[NodeProto], graph: GraphProto, differences: Sequence[float]
) -> Iterator[tuple[str, list[Number]]]:
    """The values that nodes of a graph read or compute, and the numbers in constants beside them and in attributes.

    `differences` are where tables differ, which integers may lead to, and what is there.
    """
    constants = dict(_constants(graph))
    for node in nodes:
        beside = [("float", one.f) for one in node.attribute if one.type == AttributeProto.FLOAT]
        for tensor in (constants[name] for name in uses_of([node]) if name in constants):
            dtype = dtypes.dtype_name(tensor.data_type) or ""
            if math.prod(tensor.dims) > MOST_ELEMENTS:
                beside += [(one, number) for number in differences for one in dict.fromkeys((dtype, "int64", "int32"))]
            else:
                beside += [(dtype, one) for one in numbers_in_tensor(tensor)]
        for name in dict.fromkeys(node.input):
            if name and name not in constants:
                yield name, beside
        for name in node.output:
            if name and name not in constants:
                yield name, []


def _constants(graph: GraphProto) -> Iterator[tuple[str, TensorProto]]:
    for tensor in graph.initializer:
        if not is_external(tensor):
            yield tensor.name, tensor
    for node in graph.node:
        if node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].name == "value":
            yield node.output[0], node.attribute[0].t
