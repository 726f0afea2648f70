"""Keys of the bodies of nodes, made from the innermost outwards, so that each body is read once.

Bodies of the same key are the same on both sides but for the names of values and nodes. A body that reads values of the
scopes around lists them; the key of what holds the body says which these are.

A name that several scopes have could relate what a key tells apart, so that bodies with such names have no key. Nor
have those whose nodes with bodies of their own became something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onnx import AttributeProto, GraphProto, NodeProto, ValueInfoProto

from opsetlift.model.def_use import DefUse
from opsetlift.proof.scopes import Aligned, ScopePair
from opsetlift.proof.signature import Key, Numbering, digest, tensor_key
from opsetlift.proof.sites import Facts
from opsetlift.proof.type_numbers import TypeNumbers
from opsetlift.specification.history import canonical_domain

GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)


class Captured(NamedTuple):
    """A value of a scope around that a body reads."""

    name: str
    in_original: bool
    in_result: bool


class Body(NamedTuple):
    """A body of both models."""

    number: int
    """The same for equal ones."""
    captured: Sequence[Captured]


class NoKey(Exception):
    """It takes a site object to tell."""


class BodyKeys:
    """The keys of all bodies of a conversion.

    Args:
        pairs: All scopes of both models, each before those inside.
        facts: What is known of the original's values.
        types: The numbers of types and parts of keys.
    """

    def __init__(self, pairs: Sequence[ScopePair], facts: Facts, types: TypeNumbers) -> None:
        self._facts = facts
        self._types = types
        self._bodies: dict[tuple[int, int, str], Body] = {}
        inner = [pair for pair in pairs if pair.parent is not None]
        self._ambiguous = _names_of_several(pairs) if inner else set()
        for pair in reversed(inner):
            try:
                self._bodies[id(pair.parent), pair.position, pair.attribute] = self._body(pair)
            except NoKey:
                continue

    def of(self, pair: ScopePair, aligned: Aligned) -> list[tuple[str, Body]]:
        """The bodies of a node, by attribute. Raises NoKey, also where the result has others than these."""
        graphs = pair.index.subgraphs_by_node.get(aligned.position, ())
        there = pair.result_index.subgraphs_by_node
        others = [there.get(position, ()) for position in range(aligned.start, aligned.start + len(aligned.after))]
        if not graphs:
            if any(others):
                raise NoKey
            return []
        names = [name for name, _ in graphs]
        is_converted = aligned.site is not None and aligned.site.with_converted_bodies is not None
        if len(others) != 1 or [name for name, _ in others[0]] != names or is_converted:
            raise NoKey
        found = [self._bodies.get((id(pair), aligned.position, name)) for name in names]
        return [(name, _known(body)) for name, body in zip(names, found, strict=True)]

    def _body(self, pair: ScopePair) -> Body:
        original, result = pair.original, pair.result
        if pair.problem or pair.in_parts or not isinstance(original, GraphProto) or not isinstance(result, GraphProto):
            raise NoKey
        names = _Names(pair, self._ambiguous)
        nodes: list[Key] = []
        for aligned in pair.aligned:
            node = names.node(pair.index, aligned.position, aligned.node, 0)
            after = [names.node(pair.result_index, at, one, 1) for at, one in enumerate(aligned.after, aligned.start)]
            bodies = [(name, body.number, names.captured(body)) for name, body in self.of(pair, aligned)]
            nodes.append((node, tuple(after), tuple(bodies)))
        sides = tuple(names.graph(graph, side) for side, graph in enumerate((original, result)))
        own = self._facts.own_types(pair.path)
        known = tuple(
            self._types.number(own.get(info.name) or self._facts.type_of(pair.path, info.name))
            for info in original.output
        )
        return Body(self._types.part(("body", tuple(nodes), sides, known, names.definitions())), names.from_around())


class _Names:
    """The names of one body, numbered by the order in which they are first seen."""

    def __init__(self, pair: ScopePair, ambiguous: set[str]) -> None:
        self._indexes = pair.index, pair.result_index
        self._ambiguous = ambiguous
        self._number = Numbering()
        self._used: tuple[dict[str, None], dict[str, None]] = ({}, {})

    def node(self, index: DefUse, position: int, node: NodeProto, side: int) -> Key:
        inputs, outputs = index.inputs_by_node[position], index.outputs_by_node[position]
        self._used[side].update(dict.fromkeys(inputs))
        return *node_head(node), self._number.all(inputs), self._number.all(outputs)

    def captured(self, body: Body) -> Key:
        for one in body.captured:
            for side, reads in enumerate((one.in_original, one.in_result)):
                if reads:
                    self._used[side][one.name] = None
        return self._number.all(one.name for one in body.captured)

    def graph(self, graph: GraphProto, side: int) -> Key:
        """What a graph says beside its nodes."""
        sparse = graph.sparse_initializer
        return (
            self._declared(graph.input, side),
            tuple((self._own(tensor.name, side), tensor_key(tensor)) for tensor in graph.initializer),
            tuple((self._own(one.values.name, side), digest(one.SerializeToString())) for one in sparse),
            self._declared(graph.output, side),
            self._declared(graph.value_info, side),
        )

    def _declared(self, infos: Iterable[ValueInfoProto], side: int) -> Key:
        found = []
        for info in infos:
            if info.doc_string or info.metadata_props:
                raise NoKey
            found.append((self._own(info.name, side), info.type.SerializeToString(deterministic=True)))
        return tuple(found)

    def _own(self, name: str, side: int) -> int:
        """The number of a name that the body must define itself."""
        if not self._indexes[side].defines(name):
            raise NoKey
        return self._number(name)

    def definitions(self) -> Key:
        """For each name by its number on which sides the body defines it, and on which it reads it from around."""
        found: list[Key] = []
        for name in self._number.names():
            defined = [index.defines(name) for index in self._indexes]
            read = [name in used and not is_own for used, is_own in zip(self._used, defined, strict=True)]
            if any(defined) and (any(read) or name in self._ambiguous):
                raise NoKey
            found.append((*defined, *read))
        return tuple(found)

    def from_around(self) -> list[Captured]:
        """The values of scopes around, in the order of their numbers."""
        own = (name for name in self._number.names() if not any(index.defines(name) for index in self._indexes))
        return [Captured(name, *(name in used for used in self._used)) for name in own]


def node_head(node: NodeProto) -> Key:
    """What a node is but for its values and bodies. Raises NoKey where an attribute stands for one of a call."""
    attributes: list[Key | str] = []
    for attribute in node.attribute[:]:
        if attribute.ref_attr_name:
            raise NoKey
        if attribute.type in GRAPHS:
            attributes.append(attribute.name)
        else:
            attributes.append(("", digest(attribute.SerializeToString(deterministic=True))))
    return canonical_domain(node.domain), node.op_type, node.overload, tuple(attributes)


def _known(body: Body | None) -> Body:
    if body is None:
        raise NoKey
    return body


def _names_of_several(pairs: Iterable[ScopePair]) -> set[str]:
    """The names that more than one scope defines, on either side."""
    owners: dict[str, int] = {}
    found: set[str] = set()
    for pair in pairs:
        for index in (pair.index, pair.result_index):
            names: Iterable[str] = (*index.inputs, *index.initializers, *index.positions)
            found.update(name for name in names if owners.setdefault(name, id(pair)) != id(pair))
    return found
