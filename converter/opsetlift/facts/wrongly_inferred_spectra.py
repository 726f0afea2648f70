"""Spectra of STFT, of which onnx's inference (1.23) keeps the half that `onesided` leaves out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from onnx import NodeProto, TypeProto

from opsetlift.model.arrays import Array

_WINDOW, _FRAME_LENGTH = 2, 3
_FREQUENCIES = 2


def with_half_spectra(
    node: NodeProto,
    types: Mapping[str, TypeProto],
    type_of: Callable[[str], TypeProto | None],
    constant: Callable[[str], Array | None] | None,
) -> Mapping[str, TypeProto]:
    """The types of a node's outputs, with as many frequencies as a one-sided STFT gives: half of a frame's, and one."""
    found = types.get(node.output[0]) if _is_one_sided(node) else None
    if found is None or len(found.tensor_type.shape.dim) <= _FREQUENCIES:
        return types
    result = TypeProto()
    result.CopyFrom(found)
    frequencies = result.tensor_type.shape.dim[_FREQUENCIES]
    frequencies.Clear()
    length = _frame_length(node, type_of, constant)
    if length is not None:
        frequencies.dim_value = length // 2 + 1
    return {**types, node.output[0]: result}


def hide_wrongly_inferred_spectra(by_operator: Mapping[str, Iterable[NodeProto]]) -> None:
    """Give nodes that are inferred wrongly a domain that the inference does not know."""
    for node in by_operator.get("STFT", ()):
        if _is_one_sided(node):
            node.domain = "opsetlift.not_inferred"


def _is_one_sided(node: NodeProto) -> bool:
    if node.op_type != "STFT" or node.domain:
        return False
    given = next((one for one in node.attribute if one.name == "onesided"), None)
    return given is None or given.i != 0 or bool(given.ref_attr_name)


def _frame_length(
    node: NodeProto, type_of: Callable[[str], TypeProto | None], constant: Callable[[str], Array | None] | None
) -> int | None:
    window, frame_length = (node.input[at] if len(node.input) > at else "" for at in (_WINDOW, _FRAME_LENGTH))
    if frame_length:
        value = constant(frame_length) if constant is not None else None
        return int(value.reshape(())) if value is not None and value.size == 1 else None
    known = type_of(window) if window else None
    dims = known.tensor_type.shape.dim if known is not None else []
    return dims[0].dim_value if len(dims) == 1 and dims[0].HasField("dim_value") else None
