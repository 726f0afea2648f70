"""One way to write attributes: in alphabetical order, without those that say what their absence says.

A default is left out where the schema in force declares just that value: to the bit, of the same type. A call's
attributes stay, as a function may tell absence from its default. What optimizers of the first opsets left behind goes
with them: `consumed_inputs`, where the schema does not ask for it.
"""

from __future__ import annotations

from typing import Any

import numpy
import onnx
import onnx_graphsurgeon as gs
from onnx.defs import OpSchema

from converter.normalize.rewriting import Context, Pass

_LEGACY = "consumed_inputs"


def canonical_attributes(graph: gs.Graph, context: Context) -> None:
    """Leave out defaults and leftovers, and put the rest in order."""
    for node in graph.nodes:
        if not node.attrs:
            continue
        schema = context.schema(node)
        if schema is None:
            continue
        declared = schema.attributes
        kept = {
            name: value
            for name, value in sorted(node.attrs.items())
            if name not in declared or not _says_nothing(value, declared[name])
        }
        if list(kept) != list(node.attrs):
            node.attrs = kept


def _says_nothing(value: Any, declared: OpSchema.Attribute) -> bool:
    if declared.name == _LEGACY:
        return not declared.required
    default = declared.default_value
    if declared.required or not default.name:
        return False
    known = onnx.helper.get_attribute_value(default)
    if isinstance(value, float):
        return isinstance(known, float) and numpy.float32(value).tobytes() == numpy.float32(known).tobytes()
    if isinstance(value, str):
        return isinstance(known, bytes) and value.encode() == known
    if isinstance(value, int):
        return isinstance(known, int) and value == known
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return default.type == onnx.AttributeProto.INTS and value == list(known)
    return False


PASS = Pass(
    name="canonical-attributes",
    rewrite=canonical_attributes,
    summary="Attributes that say what their absence says go, and so does consumed_inputs; the rest is in order.",
)
