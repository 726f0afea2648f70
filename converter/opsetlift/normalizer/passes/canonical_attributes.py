"""One way to write attributes: in alphabetical order, without those equal to their default.

A default is left out where the schema in force declares just that value: to the bit, of the same type, and where onnx
infers the same types and shapes without it. It takes an absent `onesided` of STFT for 0, and where it infers through
the body of an operator (MeanVarianceNormalization) it fails without the default. A call's attributes stay, as a
function may tell absence from its default. What optimizers of the first opsets left behind goes with them:
`consumed_inputs`, where the schema does not ask for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
from onnx.defs import OpSchema

from opsetlift.normalizer.rewriting import Context, Pass
from opsetlift.specification import history

_LEGACY = "consumed_inputs"

_NEEDED_TO_INFER = {("", "STFT"): {"onesided"}}
"""Defaults, by domain and operator, without which onnx infers other shapes."""

_ANY_VALUE = object()
"""A default that is equal to every value."""


def canonical_attributes(graph: gs.Graph, context: Context) -> bool:
    """Leave out defaults and leftovers, and put the rest in order."""
    is_done = False
    for node in graph.nodes:
        if not node.attrs:
            continue
        schema = context.schema(node)
        if schema is None:
            continue
        defaults = _defaults(schema)
        kept = [
            name
            for name in sorted(node.attrs)
            if name not in defaults or not _is_default(node.attrs[name], defaults[name])
        ]
        if kept != list(node.attrs):
            node.attrs = {name: node.attrs[name] for name in kept}
            is_done = True
    return is_done


@lru_cache(maxsize=1024)
def _defaults(schema: OpSchema) -> Mapping[str, Any]:
    """What the absence of attributes says, by name, to onnx's inference, too; onnx makes each anew whenever asked."""
    definition = history.definition(schema.domain, schema.name, schema.since_version)
    needed = _NEEDED_TO_INFER.get((schema.domain, schema.name), set())
    if definition is not None and definition.infers_through_body:
        needed = set(schema.attributes)
    optional = {
        name: declared for name, declared in schema.attributes.items() if not declared.required and name not in needed
    }
    defaults = {name: declared.default_value for name, declared in optional.items()}
    known = {name: onnx.helper.get_attribute_value(default) for name, default in defaults.items() if default.name}
    return {**known, _LEGACY: _ANY_VALUE} if _LEGACY in optional else known


def _is_default(value: Any, known: Any) -> bool:
    if known is _ANY_VALUE:
        return True
    if isinstance(value, float):
        return isinstance(known, float) and numpy.float32(value).tobytes() == numpy.float32(known).tobytes()
    if isinstance(value, str):
        return isinstance(known, bytes) and value.encode() == known
    if isinstance(value, int):
        return isinstance(known, int) and value == known
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return isinstance(known, list) and value == known and all(isinstance(item, int) for item in known)
    return False


PASS = Pass(
    name="canonical-attributes",
    rewrite=canonical_attributes,
    summary="Omit attributes equal to their default, and consumed_inputs; sort the rest.",
)
