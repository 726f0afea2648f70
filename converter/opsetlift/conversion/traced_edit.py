"""Changes to a converted model after the walk, noted in its trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import NodeProto

from opsetlift.model.scopes import Container, subgraph_path, subgraphs
from opsetlift.rulebook.trace import AppliedRules, ConversionTrace, SiteTrace

Edit = Callable[[NodeProto, AppliedRules], Sequence[NodeProto] | None]
"""Returns the nodes that replace one, among them that node itself, edited; None where it stays as it is. Adds the rules
that were applied to what it inserts."""


class TracedEdit:
    """Edits every node of scopes and of the subgraphs in them; each node that is changed becomes a site."""

    def __init__(self, trace: ConversionTrace, edit: Edit) -> None:
        self._trace = trace
        self._edit = edit

    def run(self, path: str, original: Container, container: Container) -> None:
        """Edit a scope that the original has, too."""
        found = self._trace.scopes.get(path)
        traced = {site.index: site for site in found.sites} if found else {}
        nodes: list[NodeProto] = []
        sites: list[SiteTrace] = []
        is_changed = False
        position = 0
        for index, before in enumerate(original.node):
            site = traced.get(index)
            stop = site.stop if site else position + 1
            present = [container.node[at] for at in range(position, stop)]
            position = stop
            start = len(nodes)
            applied = list(site.applied) if site else []
            is_site = site is not None
            converted = site.with_converted_bodies if site else None
            if converted is not None:
                # The traces of its bodies are about this form of them.
                self._descend(path, index, before, converted, [converted])
            unchanged = None
            if converted is None and before.attribute and self._trace.rounds_below(f"{path}/{index}:"):
                unchanged = list(map(_copy, present))
            for node in present:
                edited = self._edit(node, applied)
                if edited is None:
                    if site is not None and site.with_converted_bodies is not None:
                        self._run_subgraphs_untraced(node)
                    elif node.attribute:
                        self._descend(path, index, before, node, present)
                    nodes.append(node)
                else:
                    nodes += edited
                    is_changed = is_site = True
                    if unchanged is not None and len(unchanged) == 1:
                        converted = unchanged[0]
            if is_site:
                sites.append(SiteTrace(index, start, len(nodes), applied, converted))
        if is_changed:
            self._trace.scope(path).sites[:] = sites
            _put_in_place(container, nodes)

    def _descend(self, path: str, index: int, before: NodeProto, node: NodeProto, present: Sequence[NodeProto]) -> None:
        """Into subgraphs: with a trace of their own, or as part of the site that the node belongs to."""
        same = [other for other in present if (other.op_type, other.domain) == (before.op_type, before.domain)]
        originals = dict(subgraphs(before)) if len(same) == 1 and same[0] is node else {}
        for name, graph in subgraphs(node):
            if name in originals:
                self.run(subgraph_path(path, index, before, name), originals[name], graph)
            else:
                self.run_untraced(graph)

    def run_untraced(self, container: Container) -> None:
        """Edit where some site around answers for all that is changed."""
        nodes: list[NodeProto] = []
        is_changed = False
        for node in container.node:
            edited = self._edit(node, [])
            if edited is None:
                self._run_subgraphs_untraced(node)
                nodes.append(node)
            else:
                nodes += edited
                is_changed = True
        if is_changed:
            _put_in_place(container, nodes)

    def _run_subgraphs_untraced(self, node: NodeProto) -> None:
        for _, graph in subgraphs(node):
            self.run_untraced(graph)


def _copy(node: NodeProto) -> NodeProto:
    copy = NodeProto()
    copy.CopyFrom(node)
    return copy


def _put_in_place(container: Container, nodes: Sequence[NodeProto]) -> None:
    del container.node[:]
    container.node.extend(nodes)
