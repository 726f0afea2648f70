"""Rewrites as a pattern and what to put in its place, on graphsurgeon's pattern matching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import onnx_graphsurgeon as gs

from opsetlift.normalizer.graphs.graphsurgeon_internals import ready_for_matching
from opsetlift.normalizer.graphs.traversal import nodes_in
from opsetlift.normalizer.rewriting import Context, Pass

Replacement = Callable[[gs.Graph, gs.PatternMapping, Context], Sequence[gs.Tensor] | None]
"""Adds nodes to the graph, and gives a tensor for each of the match's outputs; None leaves the match as it is."""


@dataclass(frozen=True)
class Pattern:
    """A `gs.GraphPattern` and what replaces each match.

    `replacement(graph, match, context)` reads `match.inputs`, `match.outputs`, `match.constants` and
    `match.get("name of a node of the pattern")`, and builds on with `graph.layer(...)`. The nodes that it adds take on
    the doc strings and the metadata of those that they replace. Matches do not overlap, and none is taken whose inner
    values something else reads.
    """

    name: str
    pattern: gs.GraphPattern
    replacement: Replacement
    summary: str = ""
    is_default: bool = True
    ulps: int = 0
    """How far results may move, in units in the last place of a result's largest magnitude."""

    def as_pass(self) -> Pass:
        """The pattern as a pass."""
        return Pass(self.name, self.rewrite, self.summary, self.is_default, self.ulps)

    def rewrite(self, graph: gs.Graph, context: Context) -> None:
        """Replace each match in a graph."""
        outer = set(map(id, graph.nodes))
        with ready_for_matching(graph, [node for node in nodes_in(graph) if id(node) not in outer]):
            matches = self.pattern.match_all(graph)
        taken: set[int] = set()
        replaced: dict[int, gs.Tensor] = {}
        for match in matches:
            # What a match reads may have been replaced since it was found.
            for index, tensor in enumerate(match.inputs):
                while id(tensor) in replaced:
                    tensor = match.inputs[index] = replaced[id(tensor)]
            nodes = list(_matched_nodes(match))
            is_free = taken.isdisjoint(map(id, nodes)) and not _is_read_elsewhere(match, nodes, context)
            if is_free:
                pairs = self._replace(graph, match, nodes, context)
                replaced.update({id(output): result for output, result in pairs if not context.is_output(output)})
                taken.update(map(id, nodes) if pairs else ())

    def _replace(
        self, graph: gs.Graph, match: gs.PatternMapping, nodes: list[gs.Node], context: Context
    ) -> list[tuple[gs.Tensor, gs.Tensor]]:
        """Replace a match; gives each of its outputs with its replacement."""
        before = set(map(id, graph.nodes))
        # They change while uses are replaced.
        outputs = list(match.outputs)
        results = self.replacement(graph, match, context)
        if results is None:
            return []
        if len(results) != len(outputs):
            raise ValueError(f"the replacement gives {len(results)} tensors for the pattern's {len(outputs)} outputs")
        for node in graph.nodes:
            if id(node) not in before:
                context.inherit(node, *nodes)
        for output, result in zip(outputs, results, strict=True):
            if not context.replace_uses(output, result):
                raise ValueError(f"{result.name!r} cannot replace {output.name!r}, whose name must stay")
        return list(zip(outputs, results, strict=True))


def _matched_nodes(match: gs.PatternMapping) -> Iterator[gs.Node]:
    if match.onnx_node is not None:
        yield match.onnx_node
    for inner in match.values():
        yield from _matched_nodes(inner)


def _is_read_elsewhere(match: gs.PatternMapping, nodes: Sequence[gs.Node], context: Context) -> bool:
    """Whether the outputs of other graphs name inner values: graphsurgeon checks those of this graph alone."""
    ends = set(map(id, match.outputs))
    return any(
        id(tensor) not in ends and context.is_output(tensor) for node in nodes for tensor in node.outputs if tensor.name
    )
