"""What a model computes from constants alone, executed once: it is a constant like any other."""

from __future__ import annotations

from collections.abc import Iterable, Set

import numpy
from onnx import GraphProto, ModelProto, SparseTensorProto, ValueInfoProto

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.facts import ModelFacts, ScopeFacts
from opsetlift.model.arrays import Array
from opsetlift.model.files import ModelFileError
from opsetlift.proof.shapes import MOST_DRAWN, elements
from opsetlift.proof.trial import ITERATIONS
from opsetlift.proof.value_classes import ClassedModel

_MOST_FOLDED = 1 << 18
"""Elements of a value that is computed beforehand: what is larger is made from weights, and stays as it is."""

_IR_VERSION = 4
"""Since this one, initializers need not be inputs."""


def folded(model: ClassedModel, facts: ScopeFacts, held: Iterable[str] = ()) -> dict[str, Array]:
    """What a model computes from constants alone: the small values that other nodes or callers read, and those `held`.

    Where the specification leaves open what they are, and where they cannot be computed, the latter alone are given.

    Raises:
        EvaluationError: A value that is to be `held` cannot be computed.
        ModelFileError: External data cannot be read.
    """
    varying = model.varying()
    found, _ = _computed(model, [name for name in held if name not in varying and model.is_computed(name)])
    try:
        others, are_defined = _computed(model, _read_by_varying(model, varying, facts))
    except EvaluationError:
        return found
    return others | found if are_defined else found


def folded_tensors(model: ModelProto, base_dir: str) -> list[Array]:
    """The same of a model by itself; nothing where it cannot be told."""
    try:
        found = folded(ClassedModel(model, base_dir), ModelFacts(model, base_dir).graph)
    except (EvaluationError, ModelFileError):
        return []
    return list(found.values())


def _read_by_varying(model: ClassedModel, varying: Set[str], facts: ScopeFacts) -> list[str]:
    index = model.index
    nodes = (at for at, names in enumerate(index.outputs_by_node) if not varying.isdisjoint(names))
    ends = dict.fromkeys(name for at in nodes for name in index.reads(at))
    ends.update((info.name, None) for info in model.model.graph.output)
    return [name for name in ends if name not in varying and model.is_computed(name) and _is_small(facts.shape(name))]


def _is_small(dims: Iterable[int | str | None] | None) -> bool:
    return dims is None or elements([size for size in dims if isinstance(size, int)]) <= _MOST_FOLDED


def _computed(model: ClassedModel, names: list[str]) -> tuple[dict[str, Array], bool]:
    """The tensors among some values, and whether all of them are defined."""
    if not names:
        return {}, True
    index = model.index
    positions: set[int] = set()
    initializers: dict[str, None] = {}
    pending = list(names)
    while pending:
        name = pending.pop()
        position = index.positions.get(name)
        if position is None:
            if name not in index.initializers:
                raise ModelFileError(f"nothing computes {name!r} before it is read")
            initializers[name] = None
        elif position not in positions:
            positions.add(position)
            pending += filter(None, index.reads(position))
    graph = GraphProto(name="constants", output=[ValueInfoProto(name=name) for name in names])
    graph.node.extend(model.nodes[at] for at in sorted(positions))
    for tensor in map(index.initializers.__getitem__, initializers):
        held = graph.sparse_initializer if isinstance(tensor, SparseTensorProto) else graph.initializer
        held.append(tensor)
    part = ModelProto(ir_version=max(model.model.ir_version, _IR_VERSION), graph=graph)
    part.opset_import.extend(model.model.opset_import)
    part.functions.extend(model.model.functions)
    evaluator = Evaluator(part, base_dir=model.base_dir or None, iteration_limit=ITERATIONS, element_limit=MOST_DRAWN)
    values = evaluator.run({})
    opened = evaluator.open_results
    tensors = {name: value for name, value in values.items() if isinstance(value, numpy.ndarray)}
    return tensors, not (opened.values or opened.faults)
