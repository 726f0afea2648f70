"""Attributes with values at which onnx's shape inference ends the process, or never ends."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set

import onnx
from onnx import AttributeProto

from opsetlift.model.scopes import FunctionKey, called_function_key, function_key, imported_opsets, subgraphs_within
from opsetlift.specification.history import definition

_MOST_DIMENSIONS = 1 << 16

_COUNT_OF_OUTPUTS = "num_outputs"

_NUMBERS: Mapping[str, tuple[int, int]] = {
    "axis": (-_MOST_DIMENSIONS, _MOST_DIMENSIONS),
    "batch_dims": (0, _MOST_DIMENSIONS),
    _COUNT_OF_OUTPUTS: (0, _MOST_DIMENSIONS),
}
"""Attributes with the least and the greatest number that they may be."""

_TERM = rb"[A-Za-z ]*(?:\. *\. *\.[A-Za-z ]*)?"

_TEXTS: Mapping[str, re.Pattern[bytes]] = {
    "equation": re.compile(rb"%b(?:,%b)*(?:- *>%b)?" % (_TERM, _TERM, _TERM)),
}
"""Attributes with the text that they may be: of other equations, whitespace included, the inference never ends."""

BOUNDED = frozenset({*_NUMBERS, *_TEXTS})
"""The names of attributes that some values are refused for."""

Bound = tuple[str, int]
"""What a value has to fit: an attribute of an operator by its name, and how many outputs the node has."""

BoundedParameters = Mapping[FunctionKey, Mapping[str, Set[Bound]]]
"""For functions that hand attributes on to bounded ones, the parameters with what their values have to fit."""


def bounded_parameters(model: onnx.ModelProto) -> BoundedParameters:
    """What the parameters of a model's functions have to fit, which hand them on to nodes or to other functions."""
    handed_on = [
        (function_key(function), imported_opsets(function.opset_import), node, attribute)
        for function in model.functions
        for graph in (function, *subgraphs_within(function))
        for node in graph.node
        for attribute in node.attribute
        if attribute.ref_attr_name
    ]
    found: dict[FunctionKey, dict[str, set[Bound]]] = {}
    changed = True
    while changed:
        changed = False
        for caller, imports, node, attribute in handed_on:
            if bounds := bounds_of(called_function_key(node), imports, attribute.name, len(node.output), found):
                known = found.setdefault(caller, {}).setdefault(attribute.ref_attr_name, set())
                changed |= not bounds <= known
                known |= bounds
    return found


def bounds_of(
    key: FunctionKey, imports: Mapping[str, int], attribute: str, outputs: int, parameters: BoundedParameters
) -> Set[Bound]:
    """What an attribute of a node has to fit, which is one of an operator, a parameter of a function, or of both."""
    handed_on = parameters.get(key, {}).get(attribute, frozenset())
    if attribute not in BOUNDED:
        return handed_on
    domain, operator, _ = key
    found = definition(domain, operator, imports.get(domain, 0))
    is_known = found is not None and attribute in found.schema.attributes
    return handed_on | {(attribute, outputs)} if is_known else handed_on


def fault_of_value(attribute: AttributeProto, bounds: Set[Bound]) -> str:
    """What is wrong with a value that has to fit `bounds`; "" where nothing is."""
    return next(filter(None, (_fault(attribute, *bound) for bound in sorted(bounds))), "")


def _fault(attribute: AttributeProto, bounded: str, outputs: int) -> str:
    if bounded in _TEXTS:
        return "" if _TEXTS[bounded].fullmatch(attribute.s) else f"is {attribute.s!r}, which is no equation"
    if attribute.type != AttributeProto.INT:
        return ""
    if bounded == _COUNT_OF_OUTPUTS:
        return "" if attribute.i >= outputs else f"is {attribute.i}, and the node has {outputs} outputs"
    least, most = _NUMBERS[bounded]
    return "" if least <= attribute.i <= most else f"is {attribute.i}, outside of {least} to {most}"
