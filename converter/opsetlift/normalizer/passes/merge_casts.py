"""A cast that loses nothing goes, where another cast follows, or the question whether a number is NaN or infinite.

Cast(Cast(x, B), C) is Cast(x, C) where every value of x's dtype A is one of B, so that both casts to C see the same
number. From floats to integers results are defined within the range of C only, but from integers of A they wrap, so
where B holds floats and A integers, C holds floats, too, or all of A. Strings stay out of it. IsInf and IsNaN say the
same of x and of Cast(x, B), where they take x at all; PyTorch asks IsInf of doubles only.
"""

from __future__ import annotations

import onnx_graphsurgeon as gs

from opsetlift.normalizer.helpers.editing import nodes_of, producer_for
from opsetlift.normalizer.rewriting import Context, Pass

_HOLDS_ALL_OF = {
    "bool": "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float double",
    "int8": "int16 int32 int64 float16 bfloat16 float double",
    "uint8": "int16 uint16 int32 uint32 int64 uint64 float16 bfloat16 float double",
    "int16": "int32 int64 float double",
    "uint16": "int32 uint32 int64 uint64 float double",
    "int32": "int64 double",
    "uint32": "int64 uint64 double",
    "float16": "float double",
    "bfloat16": "float double",
    "float": "double",
}
_FLOATS = frozenset(("float16", "bfloat16", "float", "double"))
_WHOLE = frozenset(("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"))


_QUESTIONS = ("IsInf", "IsNaN")


def merge_casts(graph: gs.Graph, context: Context) -> bool:
    """Let a node read what the lossless cast before it reads."""
    is_done = False
    readers = ("Cast", *_QUESTIONS)
    for node in nodes_of(graph, *readers):
        first = producer_for(node.inputs[0], context, readers, ("Cast",))
        if first is None:
            continue
        types = [context.dtype_of(tensor) for tensor in (first.inputs[0], node.inputs[0], node.outputs[0])]
        if None in types:
            continue
        source, through, target = map(str, types)
        if node.op == "Cast":
            is_same = _is_lossless(source, through, target)
        else:
            is_same = _asks_the_same(node, source, through, context)
        if is_same:
            node.inputs[0] = first.inputs[0]
            context.inherit(node, first)
            is_done = True
    return is_done


def _is_lossless(source: str, through: str, target: str) -> bool:
    if target not in _FLOATS | _WHOLE or through not in _HOLDS_ALL_OF.get(source, "").split():
        return False
    if source in _WHOLE and through in _FLOATS and target in _WHOLE:
        return target == source or target in _HOLDS_ALL_OF[source].split()
    return True


def _asks_the_same(node: gs.Node, source: str, through: str, context: Context) -> bool:
    """Whether IsInf or IsNaN takes floats of the source's dtype, all of which the other dtype holds."""
    schema = context.schema(node)
    if schema is None or source not in _FLOATS or through not in _HOLDS_ALL_OF.get(source, "").split():
        return False
    return f"tensor({source})" in schema.type_constraints[0].allowed_type_strs


PASS = Pass(
    name="merge-casts",
    rewrite=merge_casts,
    summary="Remove a cast to a dtype that holds every value when another cast, IsInf or IsNaN follows.",
    operators=frozenset(("Cast",)),
)
