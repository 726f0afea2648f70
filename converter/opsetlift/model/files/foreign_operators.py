"""What is in ONNX's own domains and ONNX does not have at a model's opset, though runtimes take it.

TensorRT's plugins, what onnxruntime's optimizer writes (LayerNormalization at opset 11), wrong names: nothing is known
of them, and a model that has some can still be normalised around them. And constants of integers below opset 9, with
which exporters of 2018 gave shapes and indices.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto

from opsetlift.model.scopes import (
    Container,
    called_function_key,
    function_key,
    imported_opsets,
    operators_of,
    subgraphs_within,
)
from opsetlift.specification.history import AI_ONNX, canonical_domain, is_unknown

_CONSTANT = "Constant"
_FIRST_OF_ALL_DTYPES = 9
_FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)

_FIRST_WITH_OWN_INITIALIZERS = 4
"""The IR version from which on initializers need be no inputs."""

ELSEWHERE = "opsetlift.foreign"
"""A domain that onnx.checker does not know, so that it passes the nodes over."""


def foreign_operators(model: ModelProto) -> set[tuple[str, str]]:
    """The operators, by domain and name, that the nodes of a model name and ONNX does not have, or not of the dtype."""
    return {(canonical_domain(node.domain), node.op_type) for *_, node in _foreign_nodes(model)}


def set_apart(model: ModelProto, operators: Collection[tuple[str, str]]) -> None:
    """Let nodes of some foreign operators, in place, be of a domain that onnx.checker does not know.

    Constants become initializers.
    """
    found = [one for one in _foreign_nodes(model) if (canonical_domain(one[2].domain), one[2].op_type) in operators]
    constants: dict[int, tuple[GraphProto, set[str]]] = {}
    for holder, container, node in found:
        if node.op_type == _CONSTANT and isinstance(container, GraphProto):
            container.initializer.add().CopyFrom(node.attribute[0].t)
            container.initializer[-1].name = node.output[0]
            constants.setdefault(id(container), (container, set()))[1].add(node.output[0])
            continue
        node.domain = ELSEWHERE
        if not any(one.domain == ELSEWHERE for one in holder.opset_import):
            holder.opset_import.add(domain=ELSEWHERE, version=1)
    for graph, names in constants.values():
        # All at once: to take one node out of the list looks for it from the first one on.
        kept = [node for node in graph.node if node.op_type != _CONSTANT or node.output[0] not in names]
        del graph.node[:]
        graph.node.extend(kept)
        model.ir_version = max(model.ir_version, _FIRST_WITH_OWN_INITIALIZERS)


def _foreign_nodes(model: ModelProto) -> Iterator[tuple[ModelProto | FunctionProto, Container, NodeProto]]:
    """Each such node, with the model or the function whose opsets it goes by, and the scope that it is in."""
    functions = set(map(function_key, model.functions))
    for holder, container in ((model, model.graph), *((one, one) for one in model.functions)):
        opsets = imported_opsets(holder.opset_import)
        for graph in (container, *subgraphs_within(container)):
            spelt = {one for one in operators_of(graph.node) if _is_foreign(one, opsets)}
            for node in graph.node if spelt else ():
                if (node.domain, node.op_type) not in spelt or called_function_key(node) in functions:
                    continue
                if node.op_type != _CONSTANT or _has_other_dtype(node):
                    yield holder, graph, node


def _is_foreign(operator: tuple[str, str], opsets: Mapping[str, int]) -> bool:
    domain = canonical_domain(operator[0])
    if (domain, operator[1]) == (AI_ONNX, _CONSTANT):
        return opsets.get(domain, 0) < _FIRST_OF_ALL_DTYPES
    return domain in opsets and is_unknown(domain, operator[1], opsets[domain])


def _has_other_dtype(node: NodeProto) -> bool:
    """Whether a Constant of version 1 holds what is no float, which its text does not allow and runtimes take."""
    given = node.attribute
    return len(given) == 1 and given[0].name == "value" and given[0].t.data_type not in _FLOATS
