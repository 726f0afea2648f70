"""Outputs that cannot vary, whatever the inputs hold: that they did not is then no weakness of the test inputs."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy
from onnx import ModelProto, NodeProto, TypeProto, helper

from opsetlift.evaluator import EvaluationError, Evaluator, keeps_form, reads_no_elements
from opsetlift.proof.diversity import codes
from opsetlift.proof.inputs import Case, Enough, Input, InputGenerator
from opsetlift.proof.shapes import MOST_DRAWN, dims_of
from opsetlift.proof.trial import ITERATIONS
from opsetlift.specification.history import canonical_domain, definition

_LOOKED_AT = 256
"""So many elements of each output are compared."""

_MOST_CASES = 64

_ANY_SIZE = "any size"


def cannot_vary(original: ModelProto, inputs: Sequence[Input], seed: Sequence[int], *, lenient: bool) -> bool:
    """Whether the outputs of a site's original are what they are by the form or the sizes of its inputs alone."""
    return follow_from_form(original, inputs) or _vary_at_other_sizes(original, inputs, seed, lenient=lenient)


def follow_from_form(model: ModelProto, inputs: Sequence[Input]) -> bool:
    """Whether no element of an input is read on the way to an output: what counts is their number, say.

    Of optionals the presence is no form that is given: it is drawn.
    """
    opsets = {canonical_domain(entry.domain): entry.version for entry in model.opset_import}
    followed = {"", *(tensor.name for tensor in model.graph.initializer)} - {info.name for info in model.graph.input}
    given = followed | {tensor.name for tensor in model.graph.initializer}
    given |= {one.name for one in inputs if not one.type.HasField("optional_type")}
    for node in model.graph.node:
        if not given.issuperset(node.input):
            continue
        if (followed.issuperset(node.input) and _is_determined(node, opsets)) or _is_declared(
            reads_no_elements, node, opsets
        ):
            followed.update(node.output)
            given.update(node.output)
        elif _is_declared(keeps_form, node, opsets):
            given.update(node.output)
    return followed.issuperset(info.name for info in model.graph.output)


def _is_determined(node: NodeProto, opsets: Mapping[str, int]) -> bool:
    """Whether what a node gives follows from what its inputs are: it draws no random numbers and runs no subgraph."""
    domain = canonical_domain(node.domain)
    found = definition(domain, node.op_type, opsets.get(domain, 0))
    return found is not None and not found.is_random and not found.takes_subgraphs


def _is_declared(property_of: Callable[[str, str, int], bool], node: NodeProto, opsets: Mapping[str, int]) -> bool:
    domain = canonical_domain(node.domain)
    found = definition(domain, node.op_type, opsets.get(domain, 0))
    return found is not None and property_of(domain, node.op_type, found.since_version)


def _vary_at_other_sizes(model: ModelProto, inputs: Sequence[Input], seed: Sequence[int], *, lenient: bool) -> bool:
    """Whether the same fill strategies make the outputs vary where sizes of 1 are larger.

    Along an axis of size 1, the first element is the largest, whatever it is.
    """
    opened = [replace(one, type=_opened(one.type)) for one in inputs]
    if opened == list(inputs):
        return False
    try:
        evaluator = Evaluator(model, strict=not lenient, iteration_limit=ITERATIONS, element_limit=MOST_DRAWN)
    except EvaluationError:
        return False
    found: dict[str, set[Hashable]] = {}

    def attempt(case: Case) -> list[Any] | None:
        try:
            outputs = evaluator.run(case.values)
        except EvaluationError:
            return None
        for name, value in outputs.items():
            if isinstance(value, numpy.ndarray):
                found.setdefault(name, set()).update(codes(value.flat[:_LOOKED_AT]))
        if any(len(values) > 1 for values in found.values()):
            raise Enough
        return [numpy.shape(value) if isinstance(value, numpy.ndarray) else None for value in outputs.values()]

    InputGenerator(opened, seed, limit=_MOST_CASES).run(attempt)
    return any(len(values) > 1 for values in found.values())


def _opened(kind: TypeProto) -> TypeProto:
    dims = dims_of(kind)
    if kind.WhichOneof("value") != "tensor_type" or dims is None or 1 not in dims:
        return kind
    return helper.make_tensor_type_proto(
        kind.tensor_type.elem_type, [_ANY_SIZE if size == 1 else size for size in dims]
    )
