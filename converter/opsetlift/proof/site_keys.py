"""Cheap keys of sites, so that what is like a site before costs one look-up and no site object.

Two nodes of the same key have sites of the same verdict: the key holds everything that the proof of a site reads. It
may tell sites apart that are the same in the end; those meet again under the key of `Site`.

What a key holds: the opsets of both sides; operator, attributes and connections of the original node and of those in
its place; for each value that they read its type, or its content where that is part of the site; the contents of
initializers and constants that rules added; which outputs are used, and their declared sizes; rules and bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from onnx import NodeProto, TensorProto, TypeProto, numpy_helper

from opsetlift.proof.body_keys import GRAPHS, BodyKeys, NoKey, node_head
from opsetlift.proof.scopes import Aligned, ScopePair
from opsetlift.proof.shapes import follows_from
from opsetlift.proof.signature import Key, Numbering, array_key, digest, node_key
from opsetlift.proof.sites import Facts, example_of
from opsetlift.proof.type_numbers import TypeNumbers
from opsetlift.rulebook.rule import Rule
from opsetlift.specification.history import Transition, canonical_domain

_COMPUTED = ("computed",)
"""In place of the content of a value that is computed at run time."""

_NO_KEY = 0
"""In place of the number of a node that takes a site object to tell."""


class SiteKeys:
    """The keys of the sites of one scope.

    Args:
        pair: The scope of the original and its counterpart.
        facts: What is known of the original's values.
        overridable: Initializers of the original that callers may override.
        types: The numbers of types, shared by all scopes.
        bodies: The keys of bodies, shared likewise; without them, nodes with bodies have no key.
    """

    def __init__(
        self,
        pair: ScopePair,
        facts: Facts,
        overridable: Mapping[str, TensorProto],
        types: TypeNumbers,
        bodies: BodyKeys | None = None,
    ) -> None:
        self._pair = pair
        self._facts = facts
        self._overridable = overridable
        self._types = types
        self._bodies = bodies
        self._opsets = types.part((tuple(sorted(pair.source.items())), tuple(sorted(pair.target.items()))))
        self._in_parts = pair.in_parts
        self._inputs_by_node = pair.index.inputs_by_node
        self._outputs_by_node = pair.index.outputs_by_node
        self._nodes: dict[int, int] = {}
        self._read: dict[str, int] = {}
        self._rules: dict[tuple[int, int], int] = {}
        self._constants: dict[str, Key] = {}
        self._numbers: dict[str, int] = {}
        self._kinds: Sequence[int] | None = None

    @cached_property
    def _run_time_values(self) -> Collection[str]:
        return self._facts.run_time_values(self._pair.path)

    @cached_property
    def _own_types(self) -> Mapping[str, TypeProto]:
        return self._facts.own_types(self._pair.path)

    def kind_so_far(self, aligned: Aligned) -> int:
        """The kind of a node, as the facts number them; 0 where it has none, or no types have been asked for yet."""
        return self._kinds[aligned.position] if self._kinds else 0

    @cached_property
    def _plainly_written(self) -> set[str]:
        """Values that the result uses, and that no initializer has taken the place of."""
        return self._pair.used - self._pair.trace.added_initializers

    def of(self, aligned: Aligned) -> Key | None:
        """The key of a node's site; None where it takes a site object to tell.

        That is so for most nodes in functions and some with bodies (`BodyKeys`), where values are in parts, and where
        the result declares types anew.
        """
        inputs, outputs = self._inputs_by_node[aligned.position], self._outputs_by_node[aligned.position]
        if self._in_parts and not self._in_parts.isdisjoint(inputs):
            return None
        if aligned.position in self._pair.index.subgraphs_by_node:
            try:
                return self._with_bodies(aligned, inputs, outputs)
            except NoKey:
                return None
        if self._kinds is None:
            self._kinds = self._facts.kinds(self._pair.path)
        kind = self.kind_so_far(aligned)
        node = self._nodes.get(kind)
        if node is None:
            node = self._node(aligned.node, inputs, outputs)
            if kind:
                self._nodes[kind] = node
        if node == _NO_KEY:
            return None
        connections: tuple[int, ...] = ()
        after: Key | None = ()
        if self._declares_anew(aligned):
            return None
        # All of them distinct, and none omitted, is what most nodes of the same operator have.
        are_distinct = len({"", *inputs, *outputs}) > len(inputs) + len(outputs)
        if not (are_distinct and aligned.is_same):
            names = {name: number for number, name in enumerate(dict.fromkeys(("", *inputs, *outputs)))}
            connections = () if are_distinct else tuple([names[name] for name in (*inputs, *outputs)])
            after = () if aligned.is_same else self._after(aligned.after, {*inputs}, names)
            if after is None:
                return None
        read, site = self._read, aligned.site
        return (
            node,
            connections,
            after,
            tuple([read.get(name) or self._described(name) for name in inputs]),
            () if self._plainly_written.issuperset(outputs) else tuple(map(self._described_output, outputs)),
            tuple([self._rule(transition, rule) for transition, rule in site.applied]) if site else (),
        )

    def _with_bodies(self, aligned: Aligned, inputs: Sequence[str], outputs: Sequence[str]) -> Key:
        """The key of a node with bodies that has the like in its place. Raises NoKey.

        Types are told apart with the names of their open sizes, which those in the bodies may have, too.
        """
        if self._bodies is None or self._in_parts or self._declares_anew(aligned):
            raise NoKey
        bodies = self._bodies.of(self._pair, aligned)
        captured = [one for _, body in bodies for one in body.captured]
        read = dict.fromkeys((*inputs, *(one.name for one in captured if one.in_original)))
        there = self._pair.result_index
        sides = (inputs, outputs), (there.inputs_by_node[aligned.start], there.outputs_by_node[aligned.start])
        read_instead = (*sides[1][0], *(one.name for one in captured if one.in_result))
        added = dict.fromkeys(name for name in read_instead if name and name not in read)
        if not added.keys() <= self._pair.added_constants.keys():
            raise NoKey
        number, site = Numbering(), aligned.site
        return (
            "bodies",
            self._opsets,
            tuple(map(node_head, (aligned.node, *aligned.after))),
            tuple(number.all(names) for side in sides for names in side),
            tuple((name, body.number, number.all(one.name for one in body.captured)) for name, body in bodies),
            tuple((number(name), self._number(name), self._read.get(name) or self._described(name)) for name in read),
            tuple((self._number(name), self._described_output(name)) for name in outputs),
            tuple((number(name), self._constant(name)) for name in added),
            tuple(self._rule(transition, rule) for transition, rule in site.applied) if site else (),
        )

    def _declares_anew(self, aligned: Aligned) -> bool:
        """Whether the result declares anything anew of what stands in the place of a node computes."""
        if not self._pair.declared_anew:
            return False
        return any(self._is_declared_anew(name) for written in aligned.after for name in written.output)

    def _is_declared_anew(self, name: str) -> bool:
        """Whether the result declares what does not follow from what is known of the original's value."""
        info = self._pair.declared_anew.get(name)
        return info is not None and not (
            self._pair.index.defines(name) and follows_from(info.type, self._types.type(self._number(name)))
        )

    def _node(self, node: NodeProto, inputs: Sequence[str], outputs: Sequence[str]) -> int:
        """The number of what a key holds of a node but for its values: operator, opsets, attributes and types."""
        attributes = _attributes(node)
        if attributes is None or not node.op_type:
            return _NO_KEY
        types = self._types.key(tuple(map(self._number, inputs)))
        sizes = tuple([self._types.sizes(self._number(name)) for name in outputs])
        operator = canonical_domain(node.domain), node.op_type, node.overload
        return self._types.part((operator, self._opsets, attributes, types, sizes))

    def _rule(self, transition: Transition, rule: Rule) -> int:
        """The number of a rule at a transition. The trace holds both as long as these keys are made."""
        identity = id(transition), id(rule)
        if identity not in self._rules:
            self._rules[identity] = self._types.part((transition, rule.name, rule.ulps))
        return self._rules[identity]

    def _number(self, name: str) -> int:
        """The number of a value's type."""
        number = self._numbers.get(name)
        if number is None:
            kind = (self._own_types.get(name) or self._facts.type_of(self._pair.path, name)) if name else None
            number = self._numbers[name] = self._types.number(kind)
        return number

    def _described(self, name: str) -> int:
        """The number of what a key holds of the content of a value that the original node reads."""
        is_computed = name in self._run_time_values and name not in self._overridable
        part = self._read[name] = self._types.part(_COMPUTED if is_computed else self._content(name))
        return part

    def _described_output(self, name: str) -> int:
        """The number of what a key holds of a value that the original node computes, but for its type."""
        is_constant = name in self._pair.trace.added_initializers
        return self._types.part((name in self._pair.used, self._constant(name) if is_constant else None))

    def _content(self, name: str) -> Key:
        if not name:
            return ()
        if name in self._overridable:
            example = example_of(self._overridable[name])
            return "overridable", None if example is None else array_key(example)
        if self._types.is_large(self._number(name)):
            return ("large",)
        value = self._facts.constant(self._pair.path, name)
        return _COMPUTED if value is None else ("constant", array_key(value))

    def _after(self, nodes: Sequence[NodeProto], known: set[str], numbers: dict[str, int]) -> Key | None:
        """What stands in the place of a node, with the contents of the constants that it reads."""
        keys: list[Key] = []
        constants: list[Key] = []
        for node in nodes:
            attributes = _attributes(node)
            if attributes is None:
                return None
            inputs, outputs = node.input[:], node.output[:]
            for name in inputs:
                if name and name not in known:
                    if name not in self._pair.added_constants:
                        return None
                    constants.append(self._constant(name))
                    known.add(name)
            known.update(outputs)
            operator = canonical_domain(node.domain), node.op_type, node.overload
            connections = tuple([numbers.setdefault(name, len(numbers)) for name in (*inputs, *outputs)])
            keys.append((*operator, attributes, len(inputs), connections))
        return tuple(keys), tuple(constants)

    def _constant(self, name: str) -> Key:
        """The content of an initializer or a constant node that rules added."""
        if name not in self._constants:
            value = self._pair.added_constants.get(name)
            if value is None:
                self._constants[name] = ("missing",)
            elif isinstance(value, NodeProto):
                outputs = list(value.output)
                self._constants[name] = ("node", outputs.index(name), node_key(value, Numbering()))
            else:
                self._constants[name] = ("tensor", array_key(numpy_helper.to_array(value)))
        return self._constants[name]


def _attributes(node: NodeProto) -> tuple[bytes, ...] | None:
    """The attributes of a node; None where one is a subgraph or stands for an attribute of a call."""
    given = node.attribute[:]
    if not given:
        return ()
    found = []
    for attribute in given:
        if attribute.type in GRAPHS or attribute.ref_attr_name:
            return None
        found.append(digest(attribute.SerializeToString(deterministic=True)))
    return tuple(found)
