"""Where two models begin to differ: the first node whose value differs, on inputs for which the outputs do.

Values are paired by the structure of the models, and by their names where names have proven right. From the output that
differs the search goes back along values that differ: the first of them that is computed from values which are the same
is the answer. A value that differs and changes no output, as inside of nodes that one model has fused, is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from onnx import NodeProto

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.model.def_use import uses_of
from opsetlift.model.files import Contents
from opsetlift.model.matching import Matching
from opsetlift.proof.compare import compare
from opsetlift.proof.trial import Sides

_FIRST_VALUES = 32
"""So many values of each model are held at first."""
_FEW_BYTES = 1 << 26
"""While values take no more than that, twice as many are held next time."""


@dataclass(frozen=True)
class FirstDifference:
    """The first value that differs and is the cause of an output that does."""

    value: str
    """Its name in the first model."""
    other: str
    """Its name in the second model."""
    node: str
    """The node of the first model that computes it, as "Relu 'relu_1'"; empty for a constant."""
    other_node: str
    """That of the second model."""
    sentence: str
    """How the values differ."""

    def __str__(self) -> str:
        renamed = f", {self.other!r} in the second model" if self.other != self.value else ""
        value = f"{self.value!r}{renamed}"
        if not self.node:
            return f"the first value that differs is {value}, a constant: {self.sentence}"
        other = "" if self.other_node == self.node else f", {self.other_node or 'a constant'} in the second model"
        return f"the first node whose value differs is {self.node}{other} (value {value}): {self.sentence}"


def first_difference(sides: Sides, inputs: Mapping[str, Any]) -> FirstDifference | None:
    """Find where the sides begin to differ on inputs; None where that cannot be told.

    Nodes in subgraphs and functions are not looked into: the node that runs them is named.

    Raises:
        ModelFileError: External data cannot be read.
    """
    folders = sides.base_dir, sides.base_dir if sides.result_base_dir is None else sides.result_base_dir
    pairs = dict(_pairs(sides, folders))
    try:
        evaluators = [
            Evaluator(model, strict=False, base_dir=folder or None)
            for model, folder in zip((sides.original, sides.result), folders, strict=True)
        ]
        sentences = dict(_differences(evaluators, inputs, list(pairs.items()), sides))
    except EvaluationError:
        return None
    producers = [
        {name: node for node in model.graph.node for name in node.output} for model in (sides.original, sides.result)
    ]
    order = {name: place for place, name in enumerate(pairs)}
    origins = _origins([one for one, _ in sides.outputs], producers[0], pairs, sentences)
    first = min(origins, key=order.__getitem__, default=None)
    if first is None:
        return None
    other = pairs[first]
    return FirstDifference(
        first, other, _named(producers[0].get(first)), _named(producers[1].get(other)), sentences[first]
    )


def _named(node: NodeProto | None) -> str:
    if node is None:
        return ""
    name = node.name or next(filter(None, node.output), "")
    return f"{node.op_type} {name!r}"


def _pairs(sides: Sides, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The values of both models that are the same value, constants first, then in the order of the first model."""
    graphs = [
        Contents(folder).comparable(model).graph
        for model, folder in zip((sides.original, sides.result), folders, strict=True)
    ]
    matching = Matching(*graphs)
    nodes = matching.before.nodes, matching.after.nodes
    constants = [{tensor.name for tensor in graph.initializer} for graph in graphs]
    for one, other in matching.before.partner.items():
        for name, same in zip(nodes[0][one].input, nodes[1][other].input, strict=False):
            if name in constants[0] and same in constants[1]:
                yield name, same
    outputs = dict(sides.outputs)
    for position, node in enumerate(nodes[0]):
        partner = matching.before.partner.get(position)
        there = nodes[1][partner].output if partner is not None else ()
        for index, name in enumerate(node.output):
            if not name:
                continue
            if name in outputs:
                yield name, outputs[name]
            elif index < len(there) and there[index]:
                yield name, there[index]
            elif partner is None and matching.trusts_names and _is_left(matching, name):
                yield name, name


def _is_left(matching: Matching, name: str) -> bool:
    producer = matching.after.producers.get(name)
    return producer is not None and producer not in matching.after.partner


def _differences(
    evaluators: Sequence[Evaluator], inputs: Mapping[str, Any], pairs: Sequence[tuple[str, str]], sides: Sides
) -> Iterator[tuple[str, str]]:
    """The values that differ, and how. Only so many are held at a time as take little memory."""
    start, size = 0, _FIRST_VALUES
    while start < len(pairs):
        part = pairs[start : start + size]
        found = [
            evaluator.run(inputs, list(dict.fromkeys(names)))
            for evaluator, names in zip(evaluators, zip(*part, strict=True), strict=True)
        ]
        for one, other in part:
            verdict = compare(found[0][one], found[1][other], ulps=sides.ulps, tolerance=sides.tolerance)
            if not verdict.equal:
                yield one, verdict.sentence
        start += size
        if sum(value.nbytes for value in found[0].values() if isinstance(value, numpy.ndarray)) <= _FEW_BYTES:
            size *= 2


def _origins(
    outputs: Sequence[str],
    producers: Mapping[str, NodeProto],
    pairs: Mapping[str, str],
    differs: Mapping[str, str],
) -> Iterator[str]:
    """The values that differ, have a part in an output that differs, and are computed from values that do not."""
    waiting = [name for name in outputs if name in differs]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        causes = {one for one in _nearest_paired(name, producers, pairs) if one in differs}
        if not causes:
            yield name
        waiting.extend(causes - seen)
        seen |= causes


def _nearest_paired(name: str, producers: Mapping[str, NodeProto], pairs: Mapping[str, str]) -> Iterator[str]:
    """The values with a partner that a value is computed from, with none between."""
    waiting, seen = [name], {name}
    while waiting:
        node = producers.get(waiting.pop())
        for used in uses_of([node]) if node is not None else ():
            if used not in seen:
                seen.add(used)
                if used in pairs:
                    yield used
                else:
                    waiting.append(used)
