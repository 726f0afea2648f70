"""The trace of a conversion: which node of the original became which nodes of the result, through which rules.

The walk writes it, the proof checks it: what no trace entry claims must be the same, byte for byte, on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import onnx

from converter.history import Cell
from converter.rule import Rule

GRAPH_PATH = "graph"


def function_path(function: onnx.FunctionProto) -> str:
    """The path of a function body's scope: "function:domain:name" (and ":overload")."""
    return ":".join(filter(None, ["function", function.domain, function.name, function.overload]))


def subgraph_path(path: str, index: int, node: onnx.NodeProto, attribute: str) -> str:
    """The path of the scope in a node's attribute; `index` is the node's position in the original scope."""
    return f"{path}/{index}:{node.name or node.op_type}.{attribute}"


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """The subgraphs of a node by attribute name; those of a GRAPHS attribute are numbered ("name[0]")."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            for number, graph in enumerate(attribute.graphs):
                yield f"{attribute.name}[{number}]", graph


@dataclass
class SiteTrace:
    """A node of the original scope that was changed, and the nodes that stand in its place in the result."""

    index: int
    """Its position among the original scope's nodes."""
    start: int
    stop: int
    """The half-open range of positions in the result scope's nodes that took its place; empty where it was dropped."""
    crossings: list[tuple[Cell, Rule]]
    """The rules that changed it or nodes that they emitted, in order."""

    @property
    def ulps(self) -> int:
        """The sum of the rounding bounds of its rules; 0 where all of them are exact."""
        return sum(rule.ulps for _, rule in self.crossings)


@dataclass
class ScopeTrace:
    """What happened in one scope. Nodes that no site names keep their order and their bytes."""

    sites: list[SiteTrace] = field(default_factory=list)
    added_initializers: set[str] = field(default_factory=set)
    dropped_initializers: set[str] = field(default_factory=set)
    declared_values: set[str] = field(default_factory=set)
    """Values that have a type in value_info since the older definitions there infer none."""


@dataclass
class ConversionTrace:
    """What happened in each scope, by the scope's path in the original."""

    scopes: dict[str, ScopeTrace] = field(default_factory=dict)
    added_functions: set[str] = field(default_factory=set)
    """Paths of functions that only the result has: copies for single calls, each of which is a site."""
    dropped_functions: set[str] = field(default_factory=set)
    """Paths of functions that only the original has; every call of them is a site."""

    def scope(self, path: str) -> ScopeTrace:
        """The trace of a scope, made on first use."""
        return self.scopes.setdefault(path, ScopeTrace())

    def add_site(self, path: str, index: int) -> None:
        """Claim a node of the original that was changed before the walk began, and stayed one node."""
        scope = self.scope(path)
        if any(site.index == index for site in scope.sites):
            return
        shift = sum(site.stop - site.start - 1 for site in scope.sites if site.index < index)
        scope.sites.append(SiteTrace(index, index + shift, index + shift + 1, []))
        scope.sites.sort(key=lambda site: site.index)
