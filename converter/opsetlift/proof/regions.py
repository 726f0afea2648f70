"""The differences of two models of the same inputs, cut out as small pairs of models, each to be proven by itself.

For each value of the result that is not met by its counterpart in the original at once (`SharedValues`) a region holds
what computes it on both sides. Values that both sides have are the inputs of a region, and any numbers are tried for
them. Only what the original computes before the value in question is cut at, so that no region relies on itself: where
all regions are equal, the models compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from itertools import islice
from typing import NamedTuple

from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TypeProto, ValueInfoProto

from opsetlift.evaluator import EvaluationError
from opsetlift.facts import MADE_UP, ModelFacts, ScopeFacts, merged
from opsetlift.model.arrays import Array, tensor_of
from opsetlift.model.files import ModelFileError
from opsetlift.model.scopes import function_key, overrides_operator
from opsetlift.proof.folded_constants import folded
from opsetlift.proof.shapes import dims_of, may_be_sizes
from opsetlift.proof.signature import Key, Numbering, node_key, types_key
from opsetlift.proof.value_classes import Class, ClassedModel, SharedValues, is_computed, is_constant
from opsetlift.specification.dtypes import type_string

_LARGEST = 64
"""Nodes of a side above which a region is too large to be tried instead of the whole."""

_MOST_OPEN = 6
"""After so many values that are not proven by a region, it is left to the whole."""

_MOST_WIDENINGS = 24
"""So often a region is widened at most."""

_MOST_ON_SIZES = 1 << 11
"""The same of nodes that compute with sizes alone: they cost little, and no number that is drawn gets lost in them."""


@dataclass(frozen=True)
class Region:
    """What computes some values in both models, as two models of the same inputs."""

    original: ModelProto
    result: ModelProto
    outputs: Sequence[tuple[str, str]]
    """The names of each value that is compared, the original's first."""
    key: Key = ()
    """What both compute, and of what; names are left out, and so are opsets and what functions do."""


@dataclass(frozen=True)
class Regions:
    """All differences of two models, and how they were met."""

    same: int
    """How many nodes of the result are the same in the original, and read the same."""
    distinct: int
    """How many regions were proven; those that differ in names only count once."""
    count: int
    """How many there are."""


_IR_VERSION = 4
"""Since this one, initializers need not be inputs."""


class _CannotTell(Exception):
    """The models can be compared as a whole only."""


class Verdict(Enum):
    """What is known of a region."""

    EQUAL = 1
    OPEN = 2
    """Nothing, or that shapes differ where sizes are not those that the model computes: a wider region may tell."""
    DIFFERENT = 3
    """Values differ: that they do not in a wider region, of which few inputs reach them, would prove nothing."""


def regions_of(
    original: ModelProto,
    result: ModelProto,
    base_dir: str,
    prove: Callable[[Region], Verdict],
    opaque: Set[str] = frozenset(),
) -> Regions | None:
    """Prove all regions in which the result differs from the original.

    A region that is not equal for any sizes may be so for those that the model computes: it is widened by what
    computes its inputs, until it is too large.

    Args:
        original: The model before.
        result: The model after, of the same inputs and outputs. No node of either draws random numbers.
        base_dir: The folder of the external data of both.
        prove: Executes a region.
        opaque: The outputs of nodes that cannot be executed. No region that is proven holds one of them.

    Returns:
        The regions; None where one of them was not proven, so that only the whole can be compared. The first of those
        that were not are executed all the same, as what differs there is to be looked for in the whole.
    """
    sides = ClassedModel(original, base_dir, opaque), ClassedModel(result, base_dir, opaque)
    facts = [ModelFacts(side.model, base_dir).graph for side in sides]
    if sides[0].opsets != sides[1].opsets or sides[0].index.inputs != sides[1].index.inputs:
        return None
    if not _mean_the_same_functions(original, result):
        return None
    try:
        shared = SharedValues(*sides, _folded(*sides, facts[0]))
        cutter = _Cutter(*sides, shared, facts)
        verdicts: dict[Key, Verdict] = {}
        left_open = 0
        for names in shared.obligations:
            left_open += not _is_met(cutter.regions(names), verdicts, prove)
            if left_open >= _MOST_OPEN:
                return None
    except (EvaluationError, ModelFileError):
        return None
    if left_open:
        return None
    distinct = sum(one is Verdict.EQUAL for one in verdicts.values())
    return Regions(shared.same, distinct, len(shared.obligations))


def _is_met(regions: Iterator[Region], verdicts: dict[Key, Verdict], prove: Callable[[Region], Verdict]) -> bool:
    """Whether one of some regions, each wider than the last, is equal before values differ in one."""
    try:
        for region in islice(regions, _MOST_WIDENINGS):
            if region.key not in verdicts:
                verdicts[region.key] = prove(region)
            if verdicts[region.key] is not Verdict.OPEN:
                return verdicts[region.key] is Verdict.EQUAL
    except _CannotTell:
        pass
    return False


def _mean_the_same_functions(original: ModelProto, result: ModelProto) -> bool:
    """Whether equal calls call the same, those in bodies and in other functions included."""
    before, after = (
        {function_key(one): one.SerializeToString(deterministic=True) for one in model.functions}
        for model in (original, result)
    )
    dropped = [one for one in original.functions if function_key(one) not in after]
    return after.items() <= before.items() and not any(map(overrides_operator, dropped))


def _folded(original: ClassedModel, result: ClassedModel, facts: ScopeFacts) -> dict[str, Array]:
    """What the original computes from constants alone, above all of values that the result holds."""
    held = [name for name, one in result.classes.items() if is_constant(one)]
    held += [result.index.outputs_by_node[at][0] for at in range(result.size) if result.constant(at) is not None]
    return folded(original, facts, held)


@dataclass(frozen=True)
class _Cone:
    """What computes some values."""

    names: Sequence[str]
    """The values."""
    positions: Sequence[int]
    """Of the nodes, in order."""
    ends: Sequence[str]
    """What it begins with: inputs and initializers of the model, and what was cut at."""


_Cones = tuple[_Cone, _Cone]
"""Of the original and of the result."""


class _Cut(NamedTuple):
    cones: _Cones
    inputs: Mapping[Class, ValueInfoProto]


def _cone(side: ClassedModel, names: Sequence[str], is_cut: Callable[[Class], bool], most: int) -> _Cone:
    """What computes some values, cut at others. Raises _CannotTell where it has more than `most` nodes."""
    index = side.index
    positions: set[int] = set()
    on_sizes = 0
    ends: dict[str, None] = {}
    seen = {"", *names}
    pending = [(name, False) for name in names]
    while pending:
        name, may_be_cut = pending.pop()
        position = index.positions.get(name)
        if position is None or (may_be_cut and (name in side.folded or is_cut(side.classes.get(name, ())))):
            ends[name] = None
        elif position not in positions:
            positions.add(position)
            on_sizes += position in side.on_sizes
            if len(positions) - on_sizes > most or on_sizes > max(most, _MOST_ON_SIZES):
                raise _CannotTell
            reads = [one for one in dict.fromkeys(index.reads(position)) if one not in seen]
            seen.update(reads)
            pending += [(one, True) for one in reversed(reads)]
    return _Cone(names, sorted(positions), list(ends))


class _Cutter:
    """Cuts regions out of two models."""

    def __init__(
        self, original: ClassedModel, result: ClassedModel, shared: SharedValues, facts: Sequence[ScopeFacts]
    ) -> None:
        self._sides = original, result
        self._shared = shared
        self._names_in_result = {one: name for name, one in result.classes.items()}
        self._facts = facts
        self._types: dict[Class, TypeProto] = {}

    def regions(self, names: Sequence[str]) -> Iterator[Region]:
        """What computes some values on both sides, wider and wider.

        Sizes are computed inside where that is not too much: what they are the sizes of is known there.

        Raises:
            _CannotTell: It cannot be made any wider.
        """
        ranks, classes = self._shared.ranks, self._sides[0].classes
        limit = min(ranks[classes[name]] for name in names)
        widened: set[Class] = set()

        def is_cut(one: Class) -> bool:
            is_known = is_computed(one) and one in self._names_in_result
            return is_known and ranks[one] < limit and one not in widened

        while True:
            try:
                cut = self._cut(names, lambda one: is_cut(one) and (self._is_opaque(one) or not self._holds_sizes(one)))
            except _CannotTell:
                cut = self._cut(names, is_cut)
            outputs = zip(*(cone.names for cone in cut.cones), strict=True)
            before, after = (_model(side, cone, cut.inputs) for side, cone in zip(self._sides, cut.cones, strict=True))
            yield Region(before, after, [*outputs], self._key(cut))
            wider = [one for one in cut.inputs if is_cut(one) and not self._is_opaque(one)]
            if not wider:
                raise _CannotTell
            widened.update(wider)

    def _is_opaque(self, one: Class) -> bool:
        """Whether a node computes values of a class that cannot be executed: it would make no region that runs."""
        return self._sides[0].is_opaque(self._shared.ranks[one])

    def _holds_sizes(self, one: Class) -> bool:
        """Whether values of a class may be sizes, or are computed from them alone, as a scale is that is a root."""
        return self._shared.ranks[one] in self._sides[0].on_sizes or may_be_sizes(self._type_of(one))

    def _type_of(self, one: Class) -> TypeProto:
        """What is known of the values of a class; often more in the result, where sizes are constants."""
        if one not in self._types:
            names = self._shared.names[one], self._names_in_result.get(one, "")
            known, other = (facts.type_of(name) for facts, name in zip(self._facts, names, strict=True))
            self._types[one] = kind = TypeProto()
            if known is not None:
                kind.CopyFrom(known)
                merged(kind, _without_made_up(other) if other is not None else None)
        return self._types[one]

    def _cut(self, names: Sequence[str], is_cut: Callable[[Class], bool]) -> _Cut:
        """What computes some values on both sides, and the inputs of both. Raises _CannotTell."""
        original, result = self._sides
        inside: set[Class] = set()

        def is_cut_here(one: Class) -> bool:
            return one not in inside and is_cut(one)

        while True:
            after = _cone(result, names, is_cut_here, _LARGEST)
            after = replace(after, names=[*names, *self._known_within(after, names)])
            others = [self._shared.names[result.classes[name]] for name in after.names[len(names) :]]
            cones = _cone(original, [*names, *others], is_cut_here, _LARGEST), after
            inputs, unusable = self._inputs(cones)
            if not unusable:
                return _Cut(cones, inputs)
            if unusable & inside or not all(map(is_cut, unusable)):
                raise _CannotTell
            inside |= unusable

    def _known_within(self, cone: _Cone, names: Sequence[str]) -> Iterator[str]:
        """Values of the result on the way to others that the original computes, too, and may reject there."""
        result = self._sides[1]
        for position in cone.positions:
            for name in result.index.outputs_by_node[position]:
                if name not in names and name and is_computed(result.classes[name]):
                    yield name

    def _inputs(self, cones: _Cones) -> tuple[Mapping[Class, ValueInfoProto], set[Class]]:
        """The values that are inputs of both sides, and those among them that cannot be."""
        inputs: dict[Class, ValueInfoProto] = {}
        unusable: set[Class] = set()
        ends = [(side, name) for side, cone in zip(self._sides, cones, strict=True) for name in cone.ends]
        for side, name in ends:
            one = side.classes[name]
            if is_constant(one):
                continue
            if one not in inputs:
                inputs[one] = ValueInfoProto(name=self._shared.names[one], type=self._type_of(one))
            info = inputs[one]
            if type_string(info.type) is None or (name != info.name and not info.type.HasField("tensor_type")):
                unusable.add(one)
        names = {info.name: one for one, info in inputs.items()}
        for side, cone in zip(self._sides, cones, strict=True):
            defined = [name for at in cone.positions for name in side.index.outputs_by_node[at]]
            defined += [name for name in cone.ends if is_constant(side.classes[name])]
            defined += [name for name, _ in _aliases(side, cone, inputs)]
            unusable.update(names[name] for name in defined if name in names)
        return inputs, unusable

    def _key(self, cut: _Cut) -> Key:
        number = Numbering()
        types = {info.name: info.type for info in cut.inputs.values()}
        number.all(types)
        parts: list[Key] = []
        for side, cone in zip(self._sides, cut.cones, strict=True):
            constants = [(number(name), side.classes[name]) for name in cone.ends if is_constant(side.classes[name])]
            aliases = [number.all(pair) for pair in _aliases(side, cone, cut.inputs)]
            nodes = [node_key(side.nodes[position], number) for position in cone.positions]
            parts.append((tuple(constants), tuple(aliases), tuple(nodes), number.all(cone.names)))
        dims = {name: dims_of(kind) for name, kind in types.items()}
        return types_key(types, dims), *parts


def _without_made_up(kind: TypeProto) -> TypeProto:
    """A type without the names of sizes that inference made up: in another model they stand for something else."""
    known = TypeProto()
    known.CopyFrom(kind)
    for dim in known.tensor_type.shape.dim if known.tensor_type.HasField("shape") else ():
        if dim.dim_param.startswith(MADE_UP):
            dim.Clear()
    return known


def _aliases(side: ClassedModel, cone: _Cone, inputs: Mapping[Class, ValueInfoProto]) -> list[tuple[str, str]]:
    """The names by which a side reads inputs that are called otherwise, with what they are called."""
    called = ((name, inputs[side.classes[name]].name) for name in cone.ends if side.classes[name] in inputs)
    return [(name, other) for name, other in called if name != other]


def _model(side: ClassedModel, cone: _Cone, inputs: Mapping[Class, ValueInfoProto]) -> ModelProto:
    graph = GraphProto(name="region", input=inputs.values())
    graph.node.extend(NodeProto(op_type="Identity", input=[of], output=[to]) for to, of in _aliases(side, cone, inputs))
    graph.node.extend(side.nodes[position] for position in cone.positions)
    graph.output.extend(ValueInfoProto(name=name) for name in cone.names)
    for name in cone.ends:
        if is_constant(side.classes[name]):
            folded = side.folded.get(name)
            tensor = side.index.initializers[name] if folded is None else tensor_of(folded, name)
            held = graph.sparse_initializer if isinstance(tensor, SparseTensorProto) else graph.initializer
            held.append(tensor)
    model = ModelProto(ir_version=max(side.model.ir_version, _IR_VERSION), graph=graph)
    model.opset_import.extend(side.model.opset_import)
    model.functions.extend(side.model.functions)
    return model
