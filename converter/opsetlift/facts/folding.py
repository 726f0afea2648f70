"""Values that are the same in every run: what deterministic nodes compute from constants, or from static shapes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy
from onnx import NodeProto

from opsetlift.evaluator import constant_results, may_read_only_shapes, reads_only_shapes
from opsetlift.facts.compared import has_content_compared
from opsetlift.facts.environment import Environment
from opsetlift.facts.value_types import elements_of
from opsetlift.model.arrays import Array
from opsetlift.model.scopes import called_function_key
from opsetlift.specification import history

_MOST_ELEMENTS = 1 << 20
"""Constants are folded up to this many elements; shapes and axes are small, weights are not looked for."""


def folded(scope: Environment, node: NodeProto, imports: Mapping[str, int]) -> Mapping[str, Array]:
    """The values of a node's outputs by name; none where they may differ between runs, or are large."""
    domain = history.canonical_domain(node.domain)
    if not may_read_only_shapes(domain, node.op_type) and any(
        name and not scope.is_constant(name) for name in node.input[:]
    ):
        return {}  # as for most nodes, whose inputs depend on those of the model
    definition = history.definition(domain, node.op_type, imports.get(domain, 0))
    if definition is None or definition.is_random or definition.takes_subgraphs:
        return {}
    only_shapes = reads_only_shapes(domain, node.op_type, definition.since_version)
    values: list[Array | None] = []
    for name in node.input[:]:
        value = None if not name else _placeholder(scope, name) if only_shapes else scope.content(name)
        if value is None and name:
            return {}
        values.append(value)
    if called_function_key(node) in scope.model.functions or any(one.ref_attr_name for one in node.attribute):
        return {}
    known = [value for value in values if value is not None]
    if sum(value.size for value in known) > _MOST_ELEMENTS:
        return {}
    # A Constant is not asked for its type: inferring the types of the scope asks for its value on the way.
    if node.input and any(elements_of(scope.type_of(output)) > _MOST_ELEMENTS for output in node.output if output):
        return {}
    results = constant_results(node, values, imports, element_limit=_MOST_ELEMENTS)
    found = {
        output: result
        for output, result in zip(node.output, results or (), strict=False)
        if output and isinstance(result, numpy.ndarray) and result.size <= _MOST_ELEMENTS
    }
    if any(map(has_content_compared, found.values())) and not all(has_content_compared(one) for one in known):
        scope.model.note_large_constant()  # which now decides by way of one that is not large
    return found


def _placeholder(scope: Environment, name: str) -> Array | None:
    """An array of the value's static shape that takes no memory, for operators that look at the shape only."""
    shape = scope.shape(name)
    if shape is None or not all(isinstance(dim, int) for dim in shape):
        return None
    return numpy.broadcast_to(numpy.zeros((), numpy.bool_), tuple(int(dim or 0) for dim in shape))
