"""The structural difference of two models: versions, interface, constants, and regions of nodes that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto

from opsetlift.model.files import Contents
from opsetlift.model.matching import Matching, Token, content_of
from opsetlift.model.scopes import (
    GRAPH_PATH,
    Container,
    function_key,
    function_path,
    imported_opsets,
    subgraph_path,
    subgraphs,
)
from opsetlift.reporting.neighbourhood import attribute_text, name_of, node_text, tensor_text
from opsetlift.specification.dtypes import shape_of_type, type_string
from opsetlift.specification.history import display_domain
from opsetlift.support.text import counted

SCHEMA_VERSION = 1
"""Of the document that `diff --json` prints; reporting/difference.schema.json describes it."""


@dataclass(frozen=True)
class ChangedNode:
    """A node that both models have, and that differs."""

    before: int
    after: int
    differences: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The differences without the values in them."""
        return tuple(sorted(one.partition(":")[0] for one in self.differences))


@dataclass
class Region:
    """Nodes that hang together and differ."""

    removed: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    changed: list[ChangedNode] = field(default_factory=list)


@dataclass
class ScopeDifference:
    """How one scope differs in two models."""

    path: str
    before: Container
    after: Container
    regions: Sequence[Region]
    sentences: Sequence[str]
    """On inputs, outputs and constants."""
    same_nodes: int
    renamed_values: int
    """Of nodes that are the same, how many values have another name."""

    def signature(self, region: Region) -> tuple[object, ...]:
        """What regions of the same kind share: the operators, and how nodes changed."""
        return (
            tuple(sorted(operator_of(self.before.node[one]) for one in region.removed)),
            tuple(sorted(operator_of(self.after.node[one]) for one in region.added)),
            tuple(sorted((operator_of(self.before.node[one.before]), one.kinds) for one in region.changed)),
        )


@dataclass
class ModelDifference:
    """How two models differ in structure. Names inside, doc strings and metadata do not count."""

    before: ModelProto
    after: ModelProto
    sentences: Sequence[str]
    """On versions and functions."""
    scopes: Sequence[ScopeDifference]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs."""
        return not self.sentences and not any(one.regions or one.sentences for one in self.scopes)

    @property
    def counts(self) -> dict[str, int]:
        """How many nodes are the same, changed, removed and added."""
        regions = [region for scope in self.scopes for region in scope.regions]
        return {
            "same": sum(one.same_nodes for one in self.scopes),
            "changed": sum(len(one.changed) for one in regions),
            "removed": sum(len(one.removed) for one in regions),
            "added": sum(len(one.added) for one in regions),
        }

    @property
    def renamed_values(self) -> int:
        """How many values of nodes that are the same have another name."""
        return sum(one.renamed_values for one in self.scopes)

    def kinds(self) -> list[list[tuple[ScopeDifference, Region]]]:
        """The regions, those of the same kind together, most frequent first."""
        found: dict[tuple[object, ...], list[tuple[ScopeDifference, Region]]] = {}
        for scope in self.scopes:
            for region in scope.regions:
                found.setdefault(scope.signature(region), []).append((scope, region))
        return sorted(found.values(), key=len, reverse=True)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "same": self.is_same,
            "nodes": self.counts,
            "renamed_values": self.renamed_values,
            "differences": list(self.sentences),
            "scopes": [_scope_as_dict(one) for one in self.scopes if one.regions or one.sentences],
        }


def operator_of(node: NodeProto) -> str:
    """The operator of a node with its domain, where that is not the default one."""
    domain = display_domain(node.domain)
    return node.op_type if domain == "ai.onnx" else f"{domain}.{node.op_type}"


def _scope_as_dict(scope: ScopeDifference) -> dict[str, Any]:
    return {
        "path": scope.path,
        "differences": list(scope.sentences),
        "regions": [
            {
                "removed": [_node_as_dict(scope.before.node[one]) for one in region.removed],
                "added": [_node_as_dict(scope.after.node[one]) for one in region.added],
                "changed": [
                    {**_node_as_dict(scope.after.node[one.after]), "differences": list(one.differences)}
                    for one in region.changed
                ],
            }
            for region in scope.regions
        ],
    }


def _node_as_dict(node: NodeProto) -> dict[str, str]:
    return {"operator": operator_of(node), "name": name_of(node), "text": node_text(node)}


def difference_of(
    before: ModelProto, after: ModelProto, *, base_dir: str = "", other_dir: str | None = None
) -> ModelDifference:
    """Compare the structure of two models, matched by names and structure.

    Args:
        before: One model.
        after: The other one.
        base_dir: The folder of the first model's external data.
        other_dir: That of the second one's; by default the same.

    Raises:
        ModelFileError: External data cannot be read.
    """
    contents = Contents(base_dir)
    others = contents if other_dir in (None, base_dir) else Contents(other_dir or "")
    one, other = contents.comparable(before), others.comparable(after)
    # Tensors are compared by their contents, and shown as the models hold them.
    scopes = list(_scopes(GRAPH_PATH, one.graph, other.graph, before.graph, after.graph, None))
    own = {function_key(function): function for function in before.functions}
    theirs = {function_key(function): function for function in after.functions}
    comparable = [{function_key(one): one for one in model.functions} for model in (one, other)]
    for key in own.keys() & theirs.keys():
        path = function_path(own[key])
        scopes += _scopes(path, comparable[0][key], comparable[1][key], own[key], theirs[key], None)
    sentences = [*_versions(before, after), *_functions(own, theirs)]
    return ModelDifference(before, after, sentences, scopes)


def _versions(before: ModelProto, after: ModelProto) -> Iterator[str]:
    opsets = [imported_opsets(model.opset_import) for model in (before, after)]
    for domain in sorted(opsets[0].keys() | opsets[1].keys()):
        one, other = opsets[0].get(domain), opsets[1].get(domain)
        if one != other:
            yield f"opset of {display_domain(domain)}: {one or 'not imported'} → {other or 'not imported'}"
    if before.ir_version != after.ir_version:
        yield f"IR version: {before.ir_version} → {after.ir_version}"


def _functions(own: Mapping[Any, FunctionProto], theirs: Mapping[Any, FunctionProto]) -> Iterator[str]:
    for key in sorted(own.keys() - theirs.keys()):
        yield f"removed: {function_path(own[key])}"
    for key in sorted(theirs.keys() - own.keys()):
        yield f"added: {function_path(theirs[key])}"


def _scopes(
    path: str, one: Container, other: Container, before: Container, after: Container, outer: Matching | None
) -> Iterator[ScopeDifference]:
    matching = Matching(one, other, outer)
    changed = dict(_changed_nodes(matching))
    yield ScopeDifference(
        path,
        before,
        after,
        _regions(matching, changed),
        [*_interface(before, after), *_constants(one, other, before, after)],
        len(matching.before.partner) - len(changed),
        _renamed(matching),
    )
    for position, partner in matching.before.partner.items():
        node = before.node[position]
        if any(subgraphs(node)):
            places = (one, position), (other, partner), (before, position), (after, partner)
            own, theirs, shown, shown_after = (dict(subgraphs(side.node[at])) for side, at in places)
            for name in own.keys() & theirs.keys():
                inner = subgraph_path(path, position, node, name)
                yield from _scopes(inner, own[name], theirs[name], shown[name], shown_after[name], matching)


def _changed_nodes(matching: Matching) -> Iterator[tuple[int, ChangedNode]]:
    for position, partner in matching.before.partner.items():
        if found := tuple(_node_differences(matching, position, partner)):
            yield position, ChangedNode(position, partner, found)


def _node_differences(matching: Matching, position: int, partner: int) -> Iterator[str]:
    one, other = matching.before.nodes[position], matching.after.nodes[partner]
    if matching.before.attributes(position) != matching.after.attributes(partner):
        own = {attribute.name: attribute for attribute in one.attribute}
        theirs = {attribute.name: attribute for attribute in other.attribute}
        keys = dict(matching.before.attributes(position)), dict(matching.after.attributes(partner))
        for name in sorted(own.keys() | theirs.keys()):
            if name not in theirs:
                yield f"attribute {name} removed: {attribute_text(own[name])}"
            elif name not in own:
                yield f"attribute {name} added: {attribute_text(theirs[name])}"
            elif keys[0][name] != keys[1][name]:
                yield f"attribute {name} changed: {attribute_text(own[name])} → {attribute_text(theirs[name])}"
    tokens = matching.before.tokens(position), matching.after.tokens(partner)
    if tokens[0] != tokens[1]:
        inputs = len(one.input), len(other.input)
        for index in range(max(inputs)):
            if index >= inputs[1]:
                yield f"input {index} removed: {one.input[index]!r}"
            elif index >= inputs[0]:
                yield f"input {index} added: {other.input[index]!r}"
            elif tokens[0][index] is None or tokens[0][index] != tokens[1][index]:
                yield f"input {index} changed: {one.input[index]!r} → {other.input[index]!r}"
    elif None in tokens[0]:
        yield "inputs computed otherwise"
    if len(one.output) != len(other.output):
        yield f"outputs: {len(one.output)} → {len(other.output)}"


def _renamed(matching: Matching) -> int:
    return sum(
        name != other
        for position, partner in matching.before.partner.items()
        for name, other in zip(
            matching.before.nodes[position].output, matching.after.nodes[partner].output, strict=False
        )
    )


def _interface(before: Container, after: Container) -> Iterator[str]:
    for what, one, other in (("input", before.input, after.input), ("output", before.output, after.output)):
        kinds: list[dict[str, str]] = [
            {value if isinstance(value, str) else value.name: _type_of(value) for value in side}
            for side in (one, other)
        ]
        for name in kinds[0]:
            if name not in kinds[1]:
                yield f"{what} {name!r} removed: {kinds[0][name]}"
            elif kinds[0][name] != kinds[1][name]:
                yield f"{what} {name!r} changed: {kinds[0][name]} → {kinds[1][name]}"
        for name in kinds[1]:
            if name not in kinds[0]:
                yield f"{what} {name!r} added: {kinds[1][name]}"
        if kinds[0].keys() == kinds[1].keys() and list(kinds[0]) != list(kinds[1]):
            yield f"{what}s in another order: {', '.join(kinds[1])}"


def _type_of(value: onnx.ValueInfoProto | str) -> str:
    """The type of an input or output with its sizes."""
    if isinstance(value, str):
        return "any type"
    return shown_type(value.type)


def shown_type(kind: onnx.TypeProto) -> str:
    """A type with its sizes, "float[N, 3]"."""
    spelt = type_string(kind) or "unknown type"
    if kind.WhichOneof("value") != "tensor_type":
        return spelt
    element = spelt.removeprefix("tensor(").removesuffix(")")
    if not kind.tensor_type.HasField("shape"):
        return f"{element}, any shape"
    sizes = ["?" if one is None else str(one) for one in shape_of_type(kind) or ()]
    return f"{element}[{', '.join(sizes)}]"


def _constants(one: Container, other: Container, before: Container, after: Container) -> Iterator[str]:
    """Initializers; `one` and `other` hold comparable contents."""
    if not all(isinstance(side, GraphProto) for side in (one, other, before, after)):
        return
    contents, shown = [], []
    for side in (one, other):
        contents.append({name: content_of(tensor) for name, tensor in _initializers(side)})
    for side in (before, after):
        shown.append(dict(_initializers(side)))
    others: dict[bytes, list[str]] = {}
    for name, content in contents[1].items():
        if name not in contents[0]:
            others.setdefault(content, []).append(name)
    renamed = set()
    for name, content in contents[0].items():
        if name in contents[1]:
            if content != contents[1][name]:
                texts = tensor_text(shown[0][name]), tensor_text(shown[1][name])
                arrow = f"{texts[0]} → {texts[1]}" if texts[0] != texts[1] else f"other values, {texts[0]}"
                yield f"constant {name!r} changed: {arrow}"
        elif others.get(content):
            renamed.add(others[content].pop(0))
        else:
            yield f"constant {name!r} removed: {tensor_text(shown[0][name])}"
    for name in contents[1]:
        if name not in contents[0] and name not in renamed:
            yield f"constant {name!r} added: {tensor_text(shown[1][name])}"


def _initializers(graph: Any) -> Iterator[tuple[str, Any]]:
    yield from ((one.name, one) for one in graph.initializer)
    yield from ((one.values.name, one) for one in graph.sparse_initializer)


def _regions(matching: Matching, changed: Mapping[int, ChangedNode]) -> list[Region]:
    """The nodes that differ, those together that are connected on either side."""
    roots: dict[Token, Token] = {}

    def find(key: Token) -> Token:
        while roots.setdefault(key, key) != key:
            roots[key] = roots[roots[key]]
            key = roots[key]
        return key

    sides = matching.before, matching.after
    own = set(matching.before.unpaired()) | changed.keys()
    theirs = set(matching.after.unpaired()) | {one.after for one in changed.values()}
    for number, (side, differing) in enumerate(zip(sides, (own, theirs), strict=True)):
        for position in sorted(differing):
            find((number, position))
            for name in side.reads[position]:
                producer = side.producers.get(name)
                if producer in differing:
                    roots[find((number, producer))] = find((number, position))
    for one in changed.values():
        roots[find((0, one.before))] = find((1, one.after))
    given = {matching.after.token(name): at for name, at in matching.after.producers.items() if at in theirs}
    for name, position in matching.before.producers.items():
        other = given.get(matching.before.token(name))
        if position in own and other is not None and matching.before.token(name) is not None:
            roots[find((0, position))] = find((1, other))
    regions: dict[Token, Region] = {}
    for position in sorted(own):
        region = regions.setdefault(find((0, position)), Region())
        if position in changed:
            region.changed.append(changed[position])
        else:
            region.removed.append(position)
    for position in sorted(theirs - matching.after.partner.keys()):
        regions.setdefault(find((1, position)), Region()).added.append(position)
    return list(regions.values())


def summary_of(found: ModelDifference) -> str:
    """One line: how many nodes are the same, and how many differ."""
    counts = found.counts
    shown = [f"{counted(counts['same'], 'node')} the same", f"{counts['changed']:,} changed"]
    shown += [f"{counts['removed']:,} removed", f"{counts['added']:,} added"]
    if found.renamed_values:
        shown.append(f"{counted(found.renamed_values, 'value')} renamed")
    return ", ".join(shown)


_MOST_NAMED = 4


def region_heading(scope: ScopeDifference, region: Region) -> str:
    """What a region is about, in one line."""
    changed = {kind for one in region.changed for kind in one.kinds}
    if not region.removed and not region.added and len(region.changed) == 1:
        return f"{operator_of(scope.before.node[region.changed[0].before])}: {', '.join(sorted(changed))}"
    before = [operator_of(scope.before.node[one]) for one in (*region.removed, *(one.before for one in region.changed))]
    after = [operator_of(scope.after.node[one]) for one in (*region.added, *(one.after for one in region.changed))]
    if not after:
        return f"{_named(before)} removed"
    return f"{_named(before)} → {_named(after)}" if before else f"{_named(after)} added"


def _named(operators: Sequence[str]) -> str:
    counts = Counter(operators).most_common()
    named = [name if count == 1 else f"{count} {name}" for name, count in counts[:_MOST_NAMED]]
    return " + ".join([*named, *(["others"] if len(counts) > _MOST_NAMED else [])])
