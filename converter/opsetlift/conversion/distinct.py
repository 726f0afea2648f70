"""A model with one node of each kind: what dry runs find of it holds for all nodes of the kind.

Exported models repeat their blocks. Nodes are of one kind where they are equal in all that rules and runtimes can ask
of them (`walk/equal_sites.py`), and so are the nodes that compute their inputs, as far back as any runtime looks and
once more, as these may be written otherwise before. Around one node of each kind stay those before it, what its
constants are computed from, and a reader of each output that is read; other values become inputs. What is known of
values is that of the whole model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from opsetlift.conversion.walk import WalkState, kinds_of_nodes
from opsetlift.facts import Asked, ModelFacts
from opsetlift.model.files import copy_without
from opsetlift.model.ir_version import came_with_ir_version
from opsetlift.model.scopes import GRAPH_PATH
from opsetlift.rulebook.book import RuleBook
from opsetlift.specification.dtypes import dtype_of_type
from opsetlift.support.refusal import Refusal


def called(node: NodeProto) -> str:
    """What refusals call a node."""
    return node.name or next(iter(filter(None, node.output)), node.op_type)


class PartUndecided(Exception):
    """What was found of a part of a model does not tell what holds for the whole.

    Args:
        is_refused: Whether a node is refused that stands for its kind: then something is refused in the whole.
    """

    def __init__(self, *, is_refused: bool = False) -> None:
        super().__init__()
        self.is_refused = is_refused


@dataclass(frozen=True)
class Reduced:
    """A part of a model."""

    facts: ModelFacts
    """Those of the part, with what is known of the whole."""
    positions: Sequence[int]
    """By node: its position in the whole."""
    counts: Sequence[int]
    """By node: for how many of its kind it stands, itself included; 0 where it is only there for others."""
    kinds: Sequence[Hashable]
    """By node."""

    @property
    def model(self) -> ModelProto:
        """The part as a model."""
        return self.facts.model

    def positions_refused(self, refusals: Iterable[Refusal]) -> set[int] | None:
        """Where in the whole model the refused nodes are that stand for their kinds.

        None where something else is refused: what is around these nodes is incomplete, so that it may be wrongly so.
        """
        found: set[int] = set()
        for named in map(self._named, refusals):
            if len(named) != 1:
                return None
            found.update(named)
        standing = {one for one in found if self.counts[one]}
        kinds = {self.kinds[one] for one in standing}
        if any(self.kinds[one] not in kinds for one in found):
            return None
        return {self.positions[one] for one in standing}

    def refuses(self, refusals: Iterable[Refusal]) -> bool:
        """Whether one of the refused nodes stands for its kind."""
        return any(len(named) == 1 and self.counts[named[0]] for named in map(self._named, refusals))

    def _named(self, refusal: Refusal) -> Sequence[int]:
        return self._by_name.get(refusal.origin or refusal.node, ()) if refusal.path == GRAPH_PATH else ()

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for position, node in enumerate(self.model.graph.node):
            found.setdefault(called(node), []).append(position)
        return found


class Kinds:
    """The kinds of nodes of a model.

    Args:
        facts: Those of the model.
        rule_book: The rules that are going to be applied.
    """

    def __init__(self, facts: ModelFacts, rule_book: RuleBook) -> None:
        self._facts = facts
        self._index = facts.graph.index
        self._own = kinds_of_nodes(WalkState(facts.model, facts.model, {}, rule_book, facts=facts))
        self._producers = [[self._producer(name) for name in names] for names in self._index.inputs_by_node]
        self._depth, self._kinds = 0, self._refined(0)

    def at(self, depth: int) -> Kinds:
        """The kinds of nodes where so many nodes before a node decide on it."""
        other = copy(self)
        other._depth, other._kinds = depth, self._refined(depth)
        return other

    def _producer(self, name: str) -> int | str:
        """The position of the node that computes a value, or what else gives it."""
        if name in self._index.positions:
            return self._index.positions[name]
        return "input" if name in self._index.inputs else "constant" if name else ""

    def _refined(self, depth: int) -> Sequence[Hashable]:
        """Kinds that differ where those of the nodes before differ."""
        kinds = own = self._own
        for _ in range(depth):
            numbers: dict[Hashable, int] = {}
            kinds = [
                numbers.setdefault(
                    (one, tuple(kinds[each] if isinstance(each, int) else each for each in producers)), len(numbers)
                )
                for one, producers in zip(own, self._producers, strict=True)
            ]
        return kinds

    def facts_of_all(self) -> ModelFacts:
        """The facts of the whole model, with the kind of each node."""
        facts, tables = self._facts, self._facts.tables
        graph = replace(tables.graph, kinds_in_whole=dict(enumerate(self._kinds)))
        return ModelFacts(facts.model, facts.base_dir, tables=replace(tables, graph=graph))

    def nodes_like(self, positions: Iterable[int]) -> list[int]:
        """All nodes of the kinds of some."""
        wanted = {self._kinds[position] for position in positions}
        return [position for position, kind in enumerate(self._kinds) if kind in wanted]

    def told_apart_by_large_constants(self, part: Reduced) -> set[int]:
        """The nodes that may not be of one kind after all, as walks asked for the content of large constants."""
        asked = {place: one for place, one in part.facts.tables.asked_by_nodes.items() if part.counts[place] > 1}
        places: dict[Hashable, list[int]] = {part.kinds[place]: [] for place in asked}
        for position, kind in enumerate(self._kinds):
            if kind in places:
                places[kind].append(position)
        apart: set[int] = set()
        for place, questions in asked.items():
            alike = places[part.kinds[place]]
            if not all(self._is_answered_alike(one, part.positions[place], alike) for one in questions):
                apart.update(alike)
        return apart

    def _is_answered_alike(self, asked: Asked | None, position: int, alike: Iterable[int]) -> bool:
        """Whether what was asked about an input of the node at a position has that answer for other nodes, too."""
        names = self._index.inputs_by_node
        if asked is None or asked.name not in names[position]:
            return False
        place, facts = names[position].index(asked.name), self._facts.graph
        return all(facts.holds(names[one][place], asked.question) == asked.answer for one in alike)

    def reduced(self, whole: Collection[int] = (), *, others: bool = True) -> Reduced:
        """The model with one node of each kind, and with those at some positions in any case.

        Args:
            whole: Positions of nodes that stand for themselves alone.
            others: Whether the other kinds are wanted, too.
        """
        weights = dict.fromkeys(whole, 1)
        if others:
            counts = Counter(self._kinds)
            first = {kind: position for position, kind in reversed(list(enumerate(self._kinds)))}
            in_full = {self._kinds[position] for position in whole}
            weights.update({position: counts[kind] for kind, position in first.items() if kind not in in_full})
        positions = sorted(self._with_context(weights))
        part = self._part(positions)
        # The others lack some of the nodes that decide on them.
        standing = {place: self._kinds[one] for place, one in enumerate(positions) if one in weights}
        part.tables.graph.kinds_in_whole = standing
        return Reduced(
            part,
            positions,
            [weights.get(position, 0) for position in positions],
            [self._kinds[position] for position in positions],
        )

    def _with_context(self, chosen: Iterable[int]) -> set[int]:
        kept = set(chosen)
        added = kept
        for _ in range(self._depth):
            added = {each for one in added for each in self._producers[one] if isinstance(each, int)} - kept
            kept |= added
        index = self._index
        read = {name for one in kept for name in index.inputs_by_node[one]}
        read.update(info.name for info in self._facts.model.graph.output)
        computed = {name for one in kept for name in index.outputs_by_node[one]}
        lacking = computed - read
        for position, names in enumerate(index.inputs_by_node):
            if not lacking.isdisjoint(names):
                kept.add(position)
                lacking.difference_update(names)
        return self._with_constants(kept)

    def _with_constants(self, kept: set[int]) -> set[int]:
        """Add the nodes that compute constants from others, or may do so."""
        varying = self._facts.graph.run_time_values()
        pending = list(kept)
        while pending:
            names = self._index.inputs_by_node[pending.pop()]
            found = {self._index.positions[one] for one in names if one not in varying and one in self._index.positions}
            pending += found - kept
            kept |= found
        return kept

    def _part(self, positions: Sequence[int]) -> ModelFacts:
        source, index, facts = self._facts.model, self._index, self._facts
        model = ModelProto()
        copy_without(source, model, except_for=["graph"])
        left_out = ["node", "initializer", "value_info", "output"]
        copy_without(source.graph, model.graph, except_for=left_out)
        graph = model.graph
        graph.node.extend(source.graph.node[position] for position in positions)
        computed = {name for position in positions for name in index.outputs_by_node[position]}
        read = {name for position in positions for name in index.inputs_by_node[position] if name}
        graph.initializer.extend(one for one in source.graph.initializer if self._stays(one.name, read))
        graph.value_info.extend(one for one in source.graph.value_info if one.name in computed)
        graph.output.extend(
            one for one in source.graph.output if one.name in computed or one.name not in index.positions
        )
        cut = frozenset(name for name in read - computed if name in index.positions)
        for name in sorted(cut):
            _add_input(graph, name, facts)
        result = ModelFacts(model, facts.base_dir)
        result.adopt(facts, cut, positions)
        return result

    def _stays(self, name: str, read: Collection[str]) -> bool:
        """Whether an initializer stays: what nothing reads may matter, too."""
        return name in read or not self._index.use_count(name)


def _add_input(graph: GraphProto, name: str, facts: ModelFacts) -> None:
    info = ValueInfoProto(name=name)
    known = facts.graph.type_of(name)
    if known is not None:
        info.type.CopyFrom(known)
    graph.input.append(info)


def is_reducible(facts: ModelFacts) -> bool:
    """Whether a model can be reduced: it has no functions, subgraphs and dtypes of later IR versions."""
    model = facts.model
    is_plain = not (model.functions or model.training_info or facts.graph.index.subgraphs_by_node)
    possible = facts.possible_types
    if not is_plain or possible is None:
        return False
    dtypes = [dtype_of_type(one) for one in possible]
    return not any(dtype is None or came_with_ir_version(dtype) for dtype in dtypes)
