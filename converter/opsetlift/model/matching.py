"""Which nodes of two scopes are the same node: by what they compute, and by the names of what they compute.

Nodes are paired from the inputs on: two nodes that read the same values by the same operator with the same attributes
are the same. Then from the outputs on, in the same way: nodes that are the only ones to give what the same nodes read.
Where no such pair is left, nodes of the same operator that compute a value of the same name are paired, or values of
one name are taken for the same, if names have proven right so far: other exporters number them anew. Where they have
not, nodes of the same operator that share an input are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from onnx import AttributeProto, GraphProto, NodeProto, SparseTensorProto, TensorProto

from opsetlift.model.def_use import uses_of
from opsetlift.model.scopes import Container
from opsetlift.specification.history import canonical_domain

Token = tuple[object, ...]
"""Stands for a value; values of both sides with one token are the same."""

_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_FEW = 4
"""So few pairs say nothing about names."""
_MOST_ROUNDS = 64


class Side:
    """The nodes of one scope, and the tokens of the values in it."""

    def __init__(self, scope: Container, outer: Side | None = None) -> None:
        self.scope = scope
        self.nodes: Sequence[NodeProto] = scope.node[:]
        self.partner: dict[int, int] = {}
        """The position of the same node on the other side, by position."""
        self.reads = [_read(node) for node in self.nodes]
        self.operators = [(canonical_domain(one.domain), one.op_type, one.overload) for one in self.nodes]
        self.producers = {name: position for position, node in enumerate(self.nodes) for name in node.output if name}
        self._tokens: dict[str, Token] = {"": ()}
        self._outer = outer
        self._readers: dict[str, list[int]] = {}
        for position, names in enumerate(self.reads):
            for name in dict.fromkeys(names):
                self._readers.setdefault(name, []).append(position)
        outputs = [one if isinstance(one, str) else one.name for one in scope.output]
        self._outputs = {name: place for place, name in enumerate(outputs)}
        self.numbers: dict[int, int] = {}
        """A number for each pair, by position, the same on both sides."""
        self._attributes: dict[int, tuple[tuple[str, bytes], ...]] = {}

    def token(self, name: str) -> Token | None:
        """What stands for a value, here or in a scope around; None where it is not known yet."""
        found = self._tokens.get(name)
        if found is None and self._outer is not None and name not in self.producers:
            return self._outer.token(name)
        return found

    def tell(self, name: str, token: Token) -> list[int]:
        """Let a token stand for a value; returns the nodes that read it."""
        if name in self._tokens:
            return []
        self._tokens[name] = token
        return self._readers.get(name, [])

    def forget(self, position: int) -> None:
        """Let nothing stand for what a node computes: a constant of another content may be the same node."""
        for name in self.nodes[position].output:
            if name:
                self._tokens.pop(name, None)

    def tokens(self, position: int) -> list[Token | None]:
        """The tokens of what a node reads."""
        return [self.token(name) for name in self.reads[position]]

    def key(self, position: int) -> Token | None:
        """What a node computes; None where something that it reads is not known yet."""
        tokens = self.tokens(position)
        return None if None in tokens else (self.operators[position], self.attributes(position), tuple(tokens))

    def attributes(self, position: int) -> tuple[tuple[str, bytes], ...]:
        """The attributes of a node in a form that can be compared, without what the names in subgraphs are."""
        if position not in self._attributes:
            self._attributes[position] = tuple(
                sorted((one.name, attribute_key(one)) for one in self.nodes[position].attribute)
            )
        return self._attributes[position]

    def uses(self, position: int) -> Token | None:
        """Who reads what a node computes: partners of nodes, and outputs; None where a reader has no partner yet."""
        found: set[Token] = set()
        for index, name in enumerate(self.nodes[position].output):
            if name in self._outputs:
                found.add(("output", self._outputs[name], index))
            for reader in self._readers.get(name, ()) if name else ():
                if reader not in self.numbers:
                    return None
                inputs = self.nodes[reader].input
                places = [place for place, one in enumerate(inputs) if one == name] or [-1]
                found.update(("node", self.numbers[reader], place, index) for place in places)
        return tuple(sorted(found, key=repr)) or None

    def sources(self, position: int) -> list[int]:
        """The nodes that compute what a node reads."""
        return [self.producers[name] for name in self.reads[position] if name in self.producers]

    def ends(self) -> list[int]:
        """The nodes that compute outputs of the scope."""
        return [self.producers[name] for name in self._outputs if name in self.producers]

    def unpaired(self) -> list[int]:
        """The nodes that have no partner."""
        return [position for position in range(len(self.nodes)) if position not in self.partner]


def _read(node: NodeProto) -> list[str]:
    captured = sorted(set(uses_of([node]))) if any(one.type in _GRAPHS for one in node.attribute) else []
    return [*node.input, *(name for name in captured if name and name not in node.input)]


def attribute_key(attribute: AttributeProto) -> bytes:
    """What an attribute says; of a subgraph how many nodes it has, as the nodes in it are compared by themselves."""
    if attribute.type in _GRAPHS:
        return f"{len(attribute.graphs) or 1}".encode()
    copied = AttributeProto()
    copied.CopyFrom(attribute)
    copied.ClearField("doc_string")
    return bytes(copied.SerializeToString(deterministic=True))


class Matching:
    """Pairs the nodes of two scopes.

    Args:
        before: One scope; its tensors hold their contents in a comparable form.
        after: The other one.
        outer: The pairs of the scopes around them.
    """

    def __init__(self, before: Container, after: Container, outer: Matching | None = None) -> None:
        self.before: Side = Side(before, outer.before if outer else None)
        self.after: Side = Side(after, outer.after if outer else None)
        self._sides = (self.before, self.after)
        self._first: dict[Token, tuple[int, int]] = {}
        self._ready: list[set[int]] = [set(range(len(side.nodes))) for side in self._sides]
        self._tell_inputs()
        self._tell_constants()
        self._run()

    def _run(self) -> None:
        self._pair_what_computes_the_same()
        self._pair_what_is_used_alike()
        self._pair_what_computes_the_same()
        self.trusts_names = self._names_are_right()
        """Whether values of one name are the same value, as far as nodes show that are the same without it."""
        if self.trusts_names:
            self._pair_by_name()
            self._pair_what_computes_the_same()
        for _ in range(_MOST_ROUNDS):
            if not self._pair_by_shared_inputs():
                break
            self._pair_what_computes_the_same()
        if not self.trusts_names:
            self._pair_by_name()
        self._pair_by_reader()

    def _tell(self, name: str, other: str, token: Token) -> None:
        for ready, side, one in zip(self._ready, self._sides, (name, other), strict=True):
            ready.update(side.tell(one, token))

    def _tell_inputs(self) -> None:
        names = [[one if isinstance(one, str) else one.name for one in side.scope.input] for side in self._sides]
        common = set(names[0]) & set(names[1])
        for name in common:
            self._tell(name, name, ("input", name))
        left = [[name for name in one if name not in common] for one in names]
        for name, other in zip(*left, strict=False):
            self._tell(name, other, ("input", name))

    def _tell_constants(self) -> None:
        """Constants of one name are the same value, which may have changed; others are told by their contents."""
        contents = [dict(_constants(side.scope)) for side in self._sides]
        for name in contents[0].keys() & contents[1].keys():
            self._tell(name, name, ("constant", name))
        for ready, side, found in zip(self._ready, self._sides, contents, strict=True):
            for name, content in found.items():
                ready.update(side.tell(name, ("content", content)))

    def _pair(self, one: int, other: int) -> None:
        self.before.numbers[one] = self.after.numbers[other] = one
        self.before.partner[one] = other
        self.after.partner[other] = one
        outputs = self.before.nodes[one].output, self.after.nodes[other].output
        for index, (name, same) in enumerate(zip(*outputs, strict=False)):
            if name and same:
                self._tell(name, same, ("node", one, index))

    def _pair_what_computes_the_same(self) -> None:
        waiting: list[dict[Token, list[int]]] = [{}, {}]
        while any(self._ready):
            keys: dict[Token, None] = {}
            for number, side in enumerate(self._sides):
                for position in sorted(self._ready[number] - side.partner.keys()):
                    key = side.key(position)
                    if key is not None and position not in waiting[number].setdefault(key, []):
                        waiting[number][key].append(position)
                        keys[key] = None
                self._ready[number] = set()
            for key in keys:
                lists = [
                    [one for one in found.get(key, ()) if one not in side.partner]
                    for found, side in zip(waiting, self._sides, strict=True)
                ]
                for one, other in _in_pairs(self, *lists):
                    self._pair(one, other)
                    self._first.setdefault(key, (one, other))
                self._tell_duplicates(key, waiting)

    def _pair_what_is_used_alike(self) -> None:
        """Pair nodes that are the only ones of their kind to give what the same nodes read, from the outputs on."""
        waiting = [set(side.ends()) for side in self._sides]
        for side, found in zip(self._sides, waiting, strict=True):
            found.update(source for position in side.partner for source in side.sources(position))
        while all(waiting):
            keys: list[dict[Token, list[int]]] = [{}, {}]
            for side, found, by_key in zip(self._sides, waiting, keys, strict=True):
                for position in found - side.partner.keys():
                    if (uses := side.uses(position)) is not None:
                        by_key.setdefault((side.operators[position], side.attributes(position), uses), []).append(
                            position
                        )
            waiting = [set(), set()]
            for key in sorted(keys[0].keys() & keys[1].keys(), key=lambda key: keys[0][key]):
                own, theirs = keys[0][key], keys[1][key]
                if len(own) == len(theirs) == 1:
                    self._pair(own[0], theirs[0])
                    waiting[0].update(self.before.sources(own[0]))
                    waiting[1].update(self.after.sources(theirs[0]))

    def _pair_by_reader(self) -> None:
        """Pair nodes of one operator that give the same input of nodes that are the same; else that is one value."""
        waiting = list(self.before.partner.items())
        for one, other in waiting:
            for name, same in zip(self.before.reads[one], self.after.reads[other], strict=False):
                own, theirs = self.before.producers.get(name), self.after.producers.get(same)
                if own is None or theirs is None or own in self.before.partner or theirs in self.after.partner:
                    continue
                if self.before.operators[own] == self.after.operators[theirs]:
                    self.before.forget(own)
                    self.after.forget(theirs)
                    self._pair(own, theirs)
                    waiting.append((own, theirs))
                elif self.before.token(name) is None and self.after.token(same) is None:
                    self._tell(name, same, ("read", one, name))

    def _tell_duplicates(self, key: Token, waiting: Sequence[Mapping[Token, list[int]]]) -> None:
        """A node that computes what a pair computes gives the same values, though it has no partner."""
        if key not in self._first:
            return
        position, _ = self._first[key]
        for number, side in enumerate(self._sides):
            duplicates = (one for one in waiting[number].get(key, ()) if one not in side.partner)
            for index, name in ((at, name) for one in duplicates for at, name in enumerate(side.nodes[one].output)):
                if name:
                    self._ready[number].update(side.tell(name, ("node", position, index)))

    def _names_are_right(self) -> bool:
        pairs = self.before.partner.items()
        same = sum(self.before.nodes[one].output[:1] == self.after.nodes[other].output[:1] for one, other in pairs)
        return len(pairs) < _FEW or same * 2 >= len(pairs)

    def _pair_by_name(self) -> None:
        for name_of in (_outputs_of, _name_of):
            there = _by_name(self.after, name_of)
            for name, one in _by_name(self.before, name_of).items():
                other = there.get(name)
                if other is not None and self.before.operators[one] == self.after.operators[other]:
                    self._pair(one, other)
        for name in self.before.producers.keys() & self.after.producers.keys():
            if self.before.token(name) is None and self.after.token(name) is None:
                self._tell(name, name, ("value", name))

    def _pair_by_shared_inputs(self) -> bool:
        """Pair nodes of one operator that share most of what they read; returns whether there was such a pair."""
        index: dict[Token, list[int]] = {}
        for position in self.after.unpaired():
            for place, token in enumerate(self.after.tokens(position)):
                if token:
                    index.setdefault((self.after.operators[position], place, token), []).append(position)
        is_found = False
        for position in self.before.unpaired():
            shared: dict[int, int] = {}
            for place, token in enumerate(self.before.tokens(position)):
                for other in index.get((self.before.operators[position], place, token), ()) if token else ():
                    if other not in self.after.partner:
                        shared[other] = shared.get(other, 0) + 1
            if shared:
                self._pair(position, max(shared, key=lambda other: (shared[other], -other)))
                is_found = True
        return is_found


def _in_pairs(matching: Matching, before: list[int], after: list[int]) -> Iterator[tuple[int, int]]:
    """Nodes that compute the same: those of one name first, then in order."""
    names = {tuple(matching.after.nodes[other].output): other for other in after}
    left, taken = [], set()
    for one in before:
        other = names.get(tuple(matching.before.nodes[one].output))
        if other is None or other in taken:
            left.append(one)
        else:
            taken.add(other)
            yield one, other
    yield from zip(left, (other for other in after if other not in taken), strict=False)


def _outputs_of(node: NodeProto) -> str:
    return next(filter(None, node.output), "")


def _name_of(node: NodeProto) -> str:
    return node.name


def _by_name(side: Side, name_of: Callable[[NodeProto], str]) -> dict[str, int]:
    """The nodes without a partner by a name, where it is that of one of them only."""
    found: dict[str, list[int]] = {}
    for position in side.unpaired():
        found.setdefault(name_of(side.nodes[position]), []).append(position)
    return {name: positions[0] for name, positions in found.items() if name and len(positions) == 1}


def _constants(scope: Container) -> Iterable[tuple[str, bytes]]:
    """Initializers and the outputs of Constant nodes, with their contents."""
    if isinstance(scope, GraphProto):
        for tensor in scope.initializer:
            yield tensor.name, content_of(tensor)
        for sparse in scope.sparse_initializer:
            yield sparse.values.name, content_of(sparse)
    for node in scope.node:
        if node.op_type == "Constant" and not node.domain and len(node.attribute) == 1 and node.output:
            attribute = node.attribute[0]
            if not attribute.ref_attr_name:
                one = attribute.t if attribute.type == AttributeProto.TENSOR else attribute
                yield node.output[0], content_of(one)


def content_of(constant: TensorProto | SparseTensorProto | AttributeProto) -> bytes:
    """What a constant holds, without its name."""
    copied = type(constant)()
    copied.CopyFrom(constant)
    if isinstance(copied, SparseTensorProto):
        copied.values.ClearField("name")
    else:
        copied.ClearField("name")
        copied.ClearField("doc_string")
    return bytes(copied.SerializeToString(deterministic=True))
