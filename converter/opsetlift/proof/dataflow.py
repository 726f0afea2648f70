"""Whether the nodes of a site take its place: they read what the original node read, and define what it defined."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from onnx import GraphProto, NodeProto

from opsetlift.model.def_use import DefUse
from opsetlift.model.scopes import FunctionKey, called_function_key, subgraphs
from opsetlift.proof.scopes import Aligned, ScopePair, describe, names_defined, names_read
from opsetlift.support.protobuf import text_of


def flow_differences(pair: ScopePair, functions: Collection[FunctionKey]) -> Iterator[str]:
    """Where a site of the scope reads, defines or leaves out what it may not; a sentence each."""
    replaced = {name for aligned in pair.aligned if aligned.site and not aligned.after for name in aligned.node.output}
    for name in sorted(pair.trace.added_initializers - replaced):
        if name in pair.mentioned:
            yield f"{pair.path}: the added initializer {name!r} has a name that the original uses"
    for aligned in pair.aligned:
        if aligned.site is None or _fits_plainly(pair, aligned):
            continue
        where = f"{pair.path}: in the place of node {aligned.position} ({describe(aligned.node)})"
        for sentence in _site_differences(pair, aligned, pair.mentioned):
            yield f"{where} {sentence}"
        if called_function_key(aligned.node) not in functions and not _keeps_words(aligned):
            yield f"{where} no node has its doc_string and metadata_props"


def _fits_plainly(pair: ScopePair, aligned: Aligned) -> bool:
    """Whether a site of nodes without subgraphs and metadata shows no difference, found by its names alone."""
    node, index, there = aligned.node, pair.index, pair.result_index
    if aligned.position in index.subgraphs_by_node or node.doc_string or node.metadata_props:
        return False
    if aligned.is_same:
        return True
    readable, outputs = {*index.inputs_by_node[aligned.position], ""}, index.outputs_by_node[aligned.position]
    defined: set[str] = set()
    for position in range(aligned.start, aligned.start + len(aligned.after)):
        if position in there.subgraphs_by_node:
            return False
        if not all(name in readable or name in pair.added_constants for name in there.inputs_by_node[position]):
            return False
        for name in filter(None, there.outputs_by_node[position]):
            if name in defined or (name not in outputs and name in pair.mentioned):
                return False
            defined.add(name)
        readable |= defined
    used, added = pair.used, pair.trace.added_initializers
    return all(name in defined or name in added or name not in used for name in outputs)


def _site_differences(pair: ScopePair, aligned: Aligned, mentioned: Collection[str]) -> Iterator[str]:
    outputs = set(filter(None, aligned.node.output))
    joined = pair.joined(aligned)
    readable = pair.reads(aligned).union(*(names_read(one.node) for one in joined))
    readable.update(name for one in joined for node in one.after for name in node.output)
    inner = _names_inside(aligned.node)
    defined: set[str] = set()
    for node, reads in zip(aligned.after, pair.reads_instead(aligned), strict=True):
        for name in sorted(reads - readable - defined):
            if name not in pair.added_constants:
                yield f"{describe(node)} reads {name!r}, which the original node did not"
        for name in filter(None, node.output):
            if name in defined:
                yield f"{name!r} is defined twice"
            if name not in outputs and name in mentioned:
                yield f"{describe(node)} defines {name!r}, a name that the original uses for something else"
            defined.add(name)
        for name in sorted(_names_inside(node) - inner):
            if name in mentioned:
                yield f"a subgraph of {describe(node)} defines {name!r}, a name that the original uses elsewhere"
    for name in sorted((outputs & pair.used) - defined - pair.trace.added_initializers):
        yield f"nothing defines its output {name!r}, and something reads it"


def _keeps_words(aligned: Aligned) -> bool:
    node = aligned.node
    if not aligned.after or not (node.doc_string or node.metadata_props):
        return True
    return any(
        text_of(other.doc_string) == text_of(node.doc_string)
        and list(other.metadata_props) == list(node.metadata_props)
        for other in aligned.after
    )


def _names_inside(node: NodeProto) -> set[str]:
    """The values that a node's subgraphs define, at any depth."""
    names: set[str] = set()
    for _, graph in subgraphs(node):
        names |= names_defined(graph)
        for inner in graph.node:
            names |= _names_inside(inner)
    return names


def name_clashes(pair: ScopePair) -> Iterator[str]:
    """New names that the result defines where they are visible already."""
    yield from _clashes(pair.path, pair.result_index, set(), pair.mentioned)


def _clashes(path: str, index: DefUse, visible: set[str], mentioned: Collection[str]) -> Iterator[str]:
    container = index.container
    defined = [name for names in index.outputs_by_node for name in names if name and name not in mentioned]
    if isinstance(container, GraphProto):
        names = {info.name for info in container.input} | {tensor.name for tensor in container.initializer}
        defined += names.difference(mentioned)
    here: list[str] = []
    for name in defined:
        if name in visible:
            yield f"{path}: the new name {name!r} is defined where it is visible already"
        else:
            visible.add(name)
            here.append(name)
    for position, graphs in index.subgraphs_by_node.items():
        owner = describe(container.node[position])
        for attribute, graph in graphs:
            inner = index.child(position, attribute, graph)
            yield from _clashes(f"{path}/{owner}.{attribute}", inner, visible, mentioned)
    visible.difference_update(here)
