"""Conversions written by hand, for tests that need no converter."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import ModelProto, TypeProto, numpy_helper, parser, shape_inference

from opsetlift.model.scopes import GRAPH_PATH, function_path, subgraph_path, subgraphs
from opsetlift.proof import ConversionProof, prove_conversion
from opsetlift.rulebook.rule import Rule
from opsetlift.rulebook.trace import ConversionTrace, ScopeTrace, SiteTrace
from opsetlift.specification.history import Transition

Claim = tuple[int, int, int]
"""A node of the original, and the first and the last but one node of the result that stand in its place."""


def model(text: str, opset: int = 0) -> ModelProto:
    """A model from onnx's textual syntax; with `opset`, a graph alone is enough."""
    if opset:
        text = f'<ir_version: 8, opset_import: ["": {opset}]> {text}'
    parsed: ModelProto = parser.parse_model(text)
    return parsed


class KnownFacts:
    """Facts as onnx's shape inference and the initializers give them."""

    base_dir = ""

    def __init__(self, of: ModelProto) -> None:
        # onnx would infer shapes from defaults that the caller may override.
        given = {info.name for info in of.graph.input}
        fixed = ModelProto()
        fixed.CopyFrom(of)
        del fixed.graph.initializer[:]
        fixed.graph.initializer.extend(tensor for tensor in of.graph.initializer if tensor.name not in given)
        inferred = shape_inference.infer_shapes(fixed)
        self._types: dict[str, dict[str, TypeProto]] = {}
        self._constants: dict[str, dict[str, NDArray[Any]]] = {}
        self._visit(GRAPH_PATH, inferred.graph, {}, {})
        for function in of.functions:
            self._types[function_path(function)] = {info.name: info.type for info in function.value_info}
            self._constants[function_path(function)] = {}

    def _visit(self, path: str, graph: onnx.GraphProto, types: Mapping[str, Any], constants: Mapping[str, Any]) -> None:
        infos = (*graph.value_info, *graph.output, *graph.input)
        self._types[path] = {**types, **{info.name: info.type for info in infos}}
        tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                tensors[node.output[0]] = node.attribute[0].t
        self._constants[path] = {
            **constants,
            **{name: numpy_helper.to_array(tensor) for name, tensor in tensors.items()},
        }
        for index, node in enumerate(graph.node):
            for name, subgraph in subgraphs(node):
                inner = subgraph_path(path, index, node, name)
                self._visit(inner, subgraph, self._types[path], self._constants[path])

    def type_of(self, path: str, name: str) -> TypeProto | None:
        return self._types.get(path, {}).get(name)

    def own_types(self, path: str) -> Mapping[str, TypeProto]:
        return {}

    def type_told(self, path: str, name: str) -> TypeProto | None:
        return None

    def kinds(self, path: str) -> Sequence[int]:
        return ()

    def constant(self, path: str, name: str) -> NDArray[Any] | None:
        return self._constants[path].get(name)

    def run_time_values(self, path: str) -> Collection[str]:
        return ()


def trace_of(
    claims: Mapping[str, Sequence[Claim]] | Sequence[Claim] = (),
    *,
    added: Sequence[str] = (),
    dropped: Sequence[str] = (),
    ulps: int = 0,
) -> ConversionTrace:
    """A trace with these sites by path (a sequence: in the graph), and initializers of the graph."""
    applied = (Transition("", "Any", 1, 2, True), Rule("by hand", None, ulps=ulps))
    by_path = claims if isinstance(claims, Mapping) else {GRAPH_PATH: claims}
    trace = ConversionTrace(
        {path: ScopeTrace([SiteTrace(*claim, [applied]) for claim in given]) for path, given in by_path.items()}
    )
    trace.scope(GRAPH_PATH).added_initializers.update(added)
    trace.scope(GRAPH_PATH).dropped_initializers.update(dropped)
    return trace


@dataclass
class Conversion:
    """An original, its result and the trace between them."""

    original: ModelProto
    result: ModelProto
    trace: ConversionTrace = field(default_factory=ConversionTrace)

    def prove(self, seed: int = 0) -> ConversionProof:
        return prove_conversion(self.original, self.result, self.trace, KnownFacts(self.original), seed=seed)


def conversion(original: str, result: str, opsets: tuple[int, int], **trace: Any) -> Conversion:
    """A conversion of a graph from one opset to another; the keywords go to `trace_of`."""
    return Conversion(model(original, opsets[0]), model(result, opsets[1]), trace_of(**trace))
