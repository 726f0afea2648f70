"""The scopes of an original and of its conversion, side by side, and the names in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from operator import eq
from typing import NamedTuple

from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from opsetlift.model.def_use import DefUse, uses_of
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    function_key,
    function_path,
    imported_opsets,
    subgraph_path,
    subgraphs,
    subgraphs_within,
)
from opsetlift.proof.shapes import dims_of
from opsetlift.rulebook.trace import ConversionTrace, ScopeTrace, SiteTrace
from opsetlift.specification.history import canonical_domain, definition


def names_read(node: NodeProto) -> set[str]:
    """The values that a node takes from its scope: its inputs, and what its subgraphs capture."""
    names = set(filter(None, node.input[:]))
    return names if not node.attribute else set(uses_of([node])) - {""}


def names_defined(graph: GraphProto) -> set[str]:
    """The values that a graph itself defines, without those of its subgraphs."""
    names = {info.name for info in graph.input}
    names.update(tensor.name for tensor in graph.initializer)
    names.update(sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        names.update(filter(None, node.output))
    return names


class Aligned(NamedTuple):
    """A node of the original scope and what stands in its place in the result."""

    position: int
    """Of the node among those of the original's scope."""
    node: NodeProto
    after: Sequence[NodeProto]
    start: int
    """The position of the first of these among the nodes of the result's scope."""
    site: SiteTrace | None
    """None where the trace claims nothing, so that `after` is to be the very same node."""
    is_same: bool
    """Whether `after` is the same node, byte for byte."""


class ScopePair:
    """A scope of the original and its counterpart, with the traces of all scopes by path."""

    def __init__(
        self,
        path: str,
        original: Container,
        result: Container,
        opsets: tuple[Mapping[str, int], Mapping[str, int]],
        traces: Mapping[str, ScopeTrace],
        *,
        parent: ScopePair | None = None,
        in_site: bool = False,
        position: int = -1,
        attribute: str = "",
        indexes: tuple[DefUse, DefUse] | None = None,
    ) -> None:
        self.path = path
        self.position = position
        """That of the node around it among those of the original's scope, of a subgraph."""
        self.attribute = attribute
        """The attribute of that node."""
        self.original = original
        self.result = result
        self.source, self.target = opsets
        self.trace = traces.get(path) or ScopeTrace()
        self.parent = parent
        self.in_site = in_site
        """Whether it belongs to a node that a rule changed, so that the rule may have changed anything in it."""
        self.index, self.result_index = indexes or (DefUse(original), DefUse(result))
        """The definitions and uses of the original, and those of the result."""
        self.aligned: list[Aligned] = []
        self.problem = ""
        """Why the nodes could not be aligned by the trace; empty where they are."""
        self._traces = traces
        try:
            self._check_leading_copies(result.node[: max(0, self.trace.leading_copies)])
            self.aligned = list(_align(original.node[:], result.node[:], self.trace))
        except ValueError as error:
            self.problem = str(error)
        else:
            equal = [-1] * self.trace.leading_copies
            equal += [one.position if one.is_same else -1 for one in self.aligned for _ in one.after]
            self.result_index.take_over(self.index, equal)

    def _check_leading_copies(self, leading: Sequence[NodeProto]) -> None:
        are_copies = all((one.domain, one.op_type) == ("", "Identity") for one in leading)
        if len(leading) != self.trace.leading_copies or not are_copies:
            raise ValueError("the trace takes other nodes for copies before all others")
        if not all(self.used.isdisjoint(one.output) for one in leading):
            raise ValueError("copies have been put before all other nodes, and something reads them")

    @property
    def root(self) -> ScopePair:
        """The graph or the function around it."""
        return self.parent.root if self.parent else self

    def reads(self, aligned: Aligned) -> set[str]:
        """The values that a node of the original takes from its scope."""
        return {*filter(None, self.index.reads(aligned.position))}

    def reads_instead(self, aligned: Aligned) -> list[set[str]]:
        """The values that each of the nodes in its place takes from the result's scope."""
        positions = range(aligned.start, aligned.start + len(aligned.after))
        return [{*filter(None, self.result_index.reads(position))} for position in positions]

    @cached_property
    def used(self) -> set[str]:
        """The values that something in the result's scope reads."""
        return self.result_index.names_used()

    @cached_property
    def declared_anew(self) -> Mapping[str, ValueInfoProto]:
        """What the result says of values in value_info or as outputs of a subgraph, and the original does not.

        A size whose name stands nowhere else is open: the name says nothing of it.
        """
        before, after = ([*getattr(one, "value_info", ())] for one in (self.original, self.result))
        if self.parent is not None:
            before += self.original.output
            after += (info for info in self.result.output if info.name in self.trace.declared_values)
        if not after:
            return {}
        known = {info.name: info for info in before}
        anew = [info for info in after if info.name not in known or info.type != known[info.name].type]
        return {info.name: _without(self.root.names_of_single_sizes, info) for info in anew}

    @cached_property
    def names_of_single_sizes(self) -> frozenset[str]:
        """The names of sizes that stand once in the result's graph and in the subgraphs in it."""
        graphs = [self.result, *subgraphs_within(self.result)] if isinstance(self.result, GraphProto) else []
        infos = (info for graph in graphs for info in (*graph.input, *graph.output, *graph.value_info))
        counts = Counter(size for info in infos for size in dims_of(info.type) or () if isinstance(size, str))
        return frozenset(name for name, count in counts.items() if count == 1)

    @cached_property
    def in_parts(self) -> frozenset[str]:
        """The values that the result has in parts only, here and in the scopes around."""
        return (self.parent.in_parts if self.parent else frozenset()) | self.trace.scalarized

    @cached_property
    def mentioned(self) -> set[str]:
        """Every value name in the original's graph or function around the scope, at any depth."""
        return self.parent.mentioned if self.parent else self.index.names()

    @cached_property
    def added_constants(self) -> Mapping[str, TensorProto | NodeProto]:
        """What rules may share among sites: added initializers and constant nodes, here and in the scopes around."""
        constants = dict(self.parent.added_constants) if self.parent else {}
        if isinstance(self.result, GraphProto) and self.trace.added_initializers:
            added = self.trace.added_initializers
            constants.update({tensor.name: tensor for tensor in self.result.initializer if tensor.name in added})
        for aligned in self.aligned:
            if aligned.site is not None:
                nodes = (node for node in aligned.after if self._is_constant(node))
                constants.update({name: node for node in nodes for name in node.output})
        return constants

    def joined(self, aligned: Aligned) -> list[Aligned]:
        """The sites that compute what a node reads and the result has in parts only, here or further out, in order."""
        if not self.in_parts:
            return []
        found: dict[int, Aligned] = {}
        for name in sorted(self.reads(aligned)):
            for one in self._computing(name):
                found[id(one)] = one
        return list(found.values())

    def _computing(self, name: str) -> list[Aligned]:
        """The sites that a scalarized value comes from; none where the result has it."""
        if name not in self.trace.scalarized:
            return self.parent._computing(name) if self.parent else []
        producer = next(one for one in self.aligned if name in one.node.output)
        return [*self.joined(producer), producer]

    def _is_constant(self, node: NodeProto) -> bool:
        """Whether a node is a constant by its form."""
        if node.input or any(subgraphs(node)):
            return False
        domain = canonical_domain(node.domain)
        found = definition(domain, node.op_type, self.target.get(domain, 0))
        return found is not None and not found.is_random

    def children(self, aligned: Aligned) -> Iterator[ScopePair]:
        """The pairs of subgraphs of a node, where the result still has them."""
        node, site = aligned.node, aligned.site
        positions = [
            position
            for position, other in enumerate(aligned.after, aligned.start)
            if other.op_type == node.op_type and other.domain == node.domain
        ]
        converted = site.with_converted_bodies if site is not None else None
        if converted is not None:
            counterparts = {name: (graph, DefUse(graph)) for name, graph in subgraphs(converted)}
        elif len(positions) == 1:
            index, position = self.result_index, positions[0]
            there = index.subgraphs_by_node.get(position, ())
            counterparts = {name: (graph, index.child(position, name, graph)) for name, graph in there}
        else:
            counterparts = {}
        for name, graph in self.index.subgraphs_by_node.get(aligned.position, ()):
            if name in counterparts:
                counterpart, result_index = counterparts[name]
                yield ScopePair(
                    subgraph_path(self.path, aligned.position, node, name),
                    graph,
                    counterpart,
                    (self.source, self.target),
                    self._traces,
                    parent=self,
                    in_site=self.in_site or (site is not None and converted is None),
                    position=aligned.position,
                    attribute=name,
                    indexes=(self.index.child(aligned.position, name, graph), result_index),
                )


def _align(nodes: Sequence[NodeProto], results: Sequence[NodeProto], trace: ScopeTrace) -> Iterator[Aligned]:
    sites: dict[int, SiteTrace] = {}
    for site in trace.sites:
        if site.index in sites:
            raise ValueError(f"the trace names node {site.index} twice")
        if not 0 <= site.index < len(nodes):
            raise ValueError(f"the trace names node {site.index}, and the original has {len(nodes)}")
        sites[site.index] = site
    index, position = 0, trace.leading_copies
    for at in (*sorted(sites), len(nodes)):
        end = position + at - index
        if end > len(results):
            index += len(results) - position
            raise ValueError(f"the result has nothing in place of node {index} ({describe(nodes[index])})")
        yield from _aligned_one_by_one(index, nodes[index:at], position, results[position:end])
        index, position = at, end
        found = sites.get(at)
        if found is None:
            continue
        node, after = nodes[at], results[found.start : found.stop]
        if found.start != position or not found.start <= found.stop <= len(results):
            raise ValueError(
                f"the trace puts {describe(node)} at nodes {found.start} to {found.stop}, but it is at {position}"
            )
        yield Aligned(at, node, after, found.start, found, len(after) == 1 and _is_same(node, after[0]))
        index, position = at + 1, found.stop
    if position < len(results):
        raise ValueError(f"nodes have been added that no site claims, the first of them {describe(results[position])}")


def _aligned_one_by_one(
    index: int, nodes: Sequence[NodeProto], start: int, results: Sequence[NodeProto]
) -> Iterator[Aligned]:
    """Nodes from `index` on that no site claims, each beside the one in its place, from `start` on."""
    shift = start - index
    contents = (map(NodeProto.SerializeToString, side) for side in (nodes, results))
    rows = zip(nodes, results, map(eq, *contents), strict=True)
    for position, (node, result, is_same) in enumerate(rows, index):
        yield Aligned(position, node, [result], position + shift, None, is_same or _is_same(node, result))


def _without(names: frozenset[str], info: ValueInfoProto) -> ValueInfoProto:
    """The same, with sizes of these names left open."""
    if names.isdisjoint(dim.dim_param for dim in info.type.tensor_type.shape.dim):
        return info
    bare = ValueInfoProto()
    bare.CopyFrom(info)
    for dim in bare.type.tensor_type.shape.dim:
        if dim.dim_param in names:
            dim.Clear()
    return bare


def _is_same(node: NodeProto, other: NodeProto) -> bool:
    same: bool = node.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True)
    return same


def describe(node: NodeProto) -> str:
    """A node for people: its operator, and its name or first output."""
    return f"{node.op_type} {node.name or next(filter(None, node.output), '')!r}"


def paired_scopes(
    original: ModelProto, result: ModelProto, trace: ConversionTrace, index: DefUse | None = None
) -> Iterator[ScopePair]:
    """Every pair of scopes: the graph, functions that both have, training graphs, and the subgraphs in them.

    `index` is that of the original's graph, where somebody has it already.
    """
    opsets = imported_opsets(original.opset_import), imported_opsets(result.opset_import)
    indexes = index or DefUse(original.graph), DefUse(result.graph)
    yield from _with_subgraphs(
        ScopePair(GRAPH_PATH, original.graph, result.graph, opsets, trace.scopes, indexes=indexes)
    )
    functions = {function_key(function): function for function in result.functions}
    for function in original.functions:
        counterpart = functions.get(function_key(function))
        if counterpart is not None:
            own = imported_opsets(function.opset_import), imported_opsets(counterpart.opset_import)
            yield from _with_subgraphs(ScopePair(function_path(function), function, counterpart, own, trace.scopes))
    for number, (one, other) in enumerate(zip(original.training_info, result.training_info, strict=False)):
        for name in ("initialization", "algorithm"):
            path = f"training_info[{number}].{name}"
            pair = ScopePair(path, getattr(one, name), getattr(other, name), opsets, trace.scopes)
            yield from _with_subgraphs(pair)


def _with_subgraphs(pair: ScopePair) -> Iterator[ScopePair]:
    yield pair
    if pair.aligned:
        for position in pair.index.subgraphs_by_node:
            for child in pair.children(pair.aligned[position]):
                yield from _with_subgraphs(child)


def original_paths(original: ModelProto) -> set[str]:
    """The paths of all scopes of a model."""
    paths: set[str] = set()

    def visit(path: str, container: Container) -> None:
        paths.add(path)
        for index, node in enumerate(container.node):
            for name, graph in subgraphs(node):
                visit(subgraph_path(path, index, node, name), graph)

    visit(GRAPH_PATH, original.graph)
    for function in original.functions:
        visit(function_path(function), function)
    return paths
