"""Constants with the same dtype, shape and bits become one.

Of those in files as much is read as it takes to tell them apart, mostly their first bytes. A constant that says
something of its own, in a doc string, metadata or a quantization annotation, stays; and so does one that is an output.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import onnx_graphsurgeon as gs
from onnx import TensorProto

from opsetlift.model.files import ExternalData, ModelFileError, is_external
from opsetlift.normalizer.graphs.attached_metadata import metadata_of_tensor
from opsetlift.normalizer.graphs.graphsurgeon_internals import held_values
from opsetlift.normalizer.graphs.stored import stored_values
from opsetlift.normalizer.rewriting import Context, Pass


def merge_duplicate_initializers(graph: gs.Graph, context: Context) -> bool:
    """Let what reads a repeated constant read the first one."""
    is_done = False
    for first, *others in _repeated(graph, context):
        for constant in others:
            if not _is_documented(constant) and _content(first) == _content(constant):
                is_done |= _replace(constant, first, context)
    return is_done


def _repeated(graph: gs.Graph, context: Context) -> Iterator[Sequence[gs.Constant]]:
    """Constants of one dtype and shape that start alike and, where they are longer, have the same digest."""
    for alike in _groups(_own_constants(graph, context), _kind):
        for group in _groups(alike, _start):
            is_short = held_values(group[0]).nbytes <= _LENGTH_OF_START
            yield from [group] if is_short else _groups(group, _digest)


def _groups(
    constants: Iterable[gs.Constant], key: Callable[[gs.Constant], Hashable]
) -> Iterator[Sequence[gs.Constant]]:
    """Those that have the same key in common, and it is not None; in order, without those that are alone."""
    groups: dict[Hashable, list[gs.Constant]] = defaultdict(list)
    for constant in constants:
        groups[key(constant)].append(constant)
    groups.pop(None, None)
    return (group for group in groups.values() if len(group) > 1)


def _kind(constant: gs.Constant) -> Hashable:
    return (constant.dtype, tuple(constant.shape))


_LENGTH_OF_START = 64


def _start(constant: gs.Constant) -> bytes | None:
    """The first bytes, which tell most constants apart."""
    content = _content(constant, _LENGTH_OF_START)
    return None if content is None else content[:_LENGTH_OF_START]


def _digest(constant: gs.Constant) -> bytes | None:
    """A digest, as the contents of all weights of one shape may be more than memory holds twice."""
    content = _content(constant)
    return None if content is None else blake2b(content).digest()


def _own_constants(graph: gs.Graph, context: Context) -> Iterator[gs.Constant]:
    seen: set[int] = set()
    for node in graph.nodes:
        for tensor in node.inputs:
            if isinstance(tensor, gs.Constant) and id(tensor) not in seen and not context.is_outer(tensor):
                seen.add(id(tensor))
                yield tensor


def _replace(constant: gs.Constant, first: gs.Constant, context: Context) -> bool:
    consumers = {id(node): node for node in constant.outputs}
    by_nodes = sum(tensor is constant for node in consumers.values() for tensor in node.inputs)
    return by_nodes == context.uses(constant) and context.replace_uses(constant, first)


def _content(constant: gs.Constant, most: int | None = None) -> bytes | None:
    """The bits, of which those in a file can be asked for so many bytes; None for text, and what cannot be read."""
    if constant.dtype == object:
        return None
    stored = stored_values(constant)
    tensor, base_dir = getattr(stored, "tensor", None), getattr(stored, "base_dir", "")
    if isinstance(tensor, TensorProto) and is_external(tensor):
        try:
            return ExternalData(Path(base_dir)).read(tensor, most) if base_dir else None
        except ModelFileError:
            return None
    if isinstance(tensor, TensorProto) and tensor.HasField("raw_data"):
        return bytes(tensor.raw_data)
    return bytes(constant.values.tobytes())


def _is_documented(constant: gs.Constant) -> bool:
    metadata = metadata_of_tensor(constant)
    # Where a pass has read the values the constant holds an array, which has no doc string.
    stored = stored_values(constant)
    if stored is None and metadata is not None:
        stored = metadata.stored
    tensor = getattr(stored, "tensor", None)
    return tensor is not None and bool(getattr(tensor, "doc_string", "") or list(getattr(tensor, "metadata_props", ())))


PASS = Pass(
    name="merge-duplicate-initializers",
    rewrite=merge_duplicate_initializers,
    summary="Merge initializers with the same dtype, shape and bits.",
)
