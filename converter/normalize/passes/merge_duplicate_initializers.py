"""Constants with the same dtype, shape and bits become one.

Those in files beside the model are not read, and so not compared. A constant that says something of its own, in a doc
string, metadata or a quantization annotation, stays; and so does one that is an output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from hashlib import blake2b

import onnx_graphsurgeon as gs
from onnx import TensorProto

from converter.normalize.rewriting import Context, Pass
from converter.normalize.stored import stored_values


def merge_duplicate_initializers(graph: gs.Graph, context: Context) -> None:
    """Let what reads a repeated constant read the first one."""
    alike: dict[Hashable, list[gs.Constant]] = defaultdict(list)
    for constant in _own_constants(graph, context):
        alike[(str(constant.dtype), tuple(constant.shape))].append(constant)
    for group in alike.values():
        if len(group) < 2:
            continue
        # Digests, as the contents of all weights of one shape may be more than memory holds twice.
        first_of: dict[bytes, gs.Constant] = {}
        for constant in group:
            content = _content(constant)
            if content is None:
                continue
            first = first_of.setdefault(blake2b(content).digest(), constant)
            if first is not constant and not _says_something(constant) and _content(first) == content:
                _replace(constant, first, context)


def _own_constants(graph: gs.Graph, context: Context) -> Iterator[gs.Constant]:
    seen: set[int] = set()
    for node in graph.nodes:
        for tensor in node.inputs:
            if isinstance(tensor, gs.Constant) and id(tensor) not in seen and not context.is_outer(tensor):
                seen.add(id(tensor))
                yield tensor


def _replace(constant: gs.Constant, first: gs.Constant, context: Context) -> None:
    consumers = {id(node): node for node in constant.outputs}
    by_nodes = sum(tensor is constant for node in consumers.values() for tensor in node.inputs)
    if by_nodes == context.uses(constant):
        context.replace_uses(constant, first)


def _content(constant: gs.Constant) -> bytes | None:
    """The bits; None for text, and where they are not in the model."""
    stored = stored_values(constant)
    tensor = getattr(stored, "tensor", None)
    if isinstance(tensor, TensorProto) and tensor.data_location == TensorProto.EXTERNAL:
        return None
    if constant.dtype == object:
        return None
    if isinstance(tensor, TensorProto) and tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    return bytes(constant.values.tobytes())


def _says_something(constant: gs.Constant) -> bool:
    tensor = getattr(stored_values(constant), "tensor", None)
    return tensor is not None and bool(getattr(tensor, "doc_string", "") or list(getattr(tensor, "metadata_props", ())))


PASS = Pass(
    name="merge-duplicate-initializers",
    rewrite=merge_duplicate_initializers,
    summary="Initializers with the same dtype, shape and bits become one.",
)
