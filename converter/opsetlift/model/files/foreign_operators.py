"""Operators in ONNX's own domains that ONNX does not have at a model's opset.

TensorRT's plugins, what onnxruntime's optimizer writes (LayerNormalization at opset 11), wrong names. Nothing is known
of them, and a model that has some can still be normalised around them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from onnx import FunctionProto, ModelProto, NodeProto

from opsetlift.model.scopes import (
    called_function_key,
    function_key,
    imported_opsets,
    operators_of,
    subgraphs_within,
)
from opsetlift.specification.history import canonical_domain, is_unknown

ELSEWHERE = "opsetlift.foreign"
"""A domain that onnx.checker does not know, so that it passes the nodes over."""


def foreign_operators(model: ModelProto) -> set[tuple[str, str]]:
    """The operators, by domain and name, that the nodes of a model name and ONNX does not have."""
    return {(canonical_domain(node.domain), node.op_type) for _, node in _foreign_nodes(model)}


def set_apart(model: ModelProto, operators: Collection[tuple[str, str]]) -> None:
    """Let nodes of some foreign operators, in place, be of a domain that onnx.checker does not know."""
    found = [one for one in _foreign_nodes(model) if (canonical_domain(one[1].domain), one[1].op_type) in operators]
    for holder, node in found:
        node.domain = ELSEWHERE
        if not any(one.domain == ELSEWHERE for one in holder.opset_import):
            holder.opset_import.add(domain=ELSEWHERE, version=1)


def _foreign_nodes(model: ModelProto) -> Iterator[tuple[ModelProto | FunctionProto, NodeProto]]:
    """Each such node, with the model or the function whose opsets it goes by."""
    functions = set(map(function_key, model.functions))
    for holder, container in ((model, model.graph), *((one, one) for one in model.functions)):
        opsets = imported_opsets(holder.opset_import)
        for graph in (container, *subgraphs_within(container)):
            spelt = {one for one in operators_of(graph.node) if _is_foreign(one, opsets)}
            for node in graph.node if spelt else ():
                if (node.domain, node.op_type) in spelt and called_function_key(node) not in functions:
                    yield holder, node


def _is_foreign(operator: tuple[str, str], opsets: Mapping[str, int]) -> bool:
    domain = canonical_domain(operator[0])
    return domain in opsets and is_unknown(domain, operator[1], opsets[domain])
