"""Sizes that onnx's inference (1.23) takes for the whole ones that they are cut from: those of Slice-10 with a name.

Along an axis whose size has a name Slice-10 gives the result that name, whatever the slice. onnxruntime infers so, too,
and ends in an error where it puts such a result in memory that is as large as the name says. Slice-11 computes the
same, and gives the result a size of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onnx import NodeProto

from opsetlift.specification import history
from opsetlift.specification.history import AI_ONNX, Definition

_OPERATOR, _WRONG, _RIGHT = "Slice", 10, 11


def with_slices_inferred_rightly(definition: Definition) -> Definition:
    """The definition to infer a node by."""
    if definition.since_version != _WRONG or not names_cut_sizes(AI_ONNX, definition.schema.name, _WRONG):
        return definition
    return history.definition(AI_ONNX, _OPERATOR, _RIGHT) or definition


def hide_wrongly_inferred_slices(by_operator: Mapping[str, Iterable[NodeProto]], opset: int) -> None:
    """Give nodes that may be inferred wrongly a domain that the inference does not know."""
    for node in by_operator.get(_OPERATOR, ()):
        if names_cut_sizes(history.canonical_domain(node.domain), _OPERATOR, opset):
            node.domain = "opsetlift.not_inferred"


def names_cut_sizes(domain: str, operator: str, opset: int) -> bool:
    """Whether a node of an operator may give what it cuts the name of the whole size, as runtimes infer it."""
    found = history.definition(domain, operator, opset) if (domain, operator) == (AI_ONNX, _OPERATOR) else None
    return found is not None and found.since_version == _WRONG
