"""The declared types of inner values are hints, not facts.

Tools leave stale shapes behind, and runtimes ignore them: outputs get whatever shape is computed, and the state of a
loop may change its shape. A pass that used stale shapes would compute a wrong constant. So types are inferred from the
inputs of the model; only the dtypes of the outputs of unknown operators are taken from the declarations.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from onnx import FunctionProto, GraphProto, ModelProto, TypeProto

from opsetlift.model.scopes import FunctionKey, called_function_key, function_key, imported_opsets, subgraphs
from opsetlift.specification import history


def forget_declarations(model: ModelProto) -> None:
    """Take the declared types of inner values out of a copy of a model, and the declared shapes of results."""
    functions = {function_key(function) for function in model.functions}
    imports = imported_opsets(model.opset_import)
    _forget(model.graph, imports, functions)
    for function in model.functions:
        _forget(function, imported_opsets(function.opset_import), functions)


def _forget(
    container: GraphProto | FunctionProto, imports: Mapping[str, int], functions: Collection[FunctionKey]
) -> None:
    unknown: set[str] = set()
    for node in container.node:
        domain = history.canonical_domain(node.domain)
        found = history.definition(domain, node.op_type, imports.get(domain, 0))
        if found is None and called_function_key(node) not in functions:
            unknown.update(node.output)
        for _, subgraph in subgraphs(node) if found is None or found.takes_subgraphs else ():
            _forget(subgraph, imports, functions)
            for info in subgraph.input:
                _forget_shape(info.type)
    kept = [info for info in container.value_info if info.name in unknown]
    for info in kept:
        _forget_shape(info.type)
    del container.value_info[:]
    container.value_info.extend(kept)
    if isinstance(container, GraphProto):
        for info in container.output:
            _forget_shape(info.type)


def _forget_shape(kind: TypeProto) -> None:
    match kind.WhichOneof("value"):
        case "tensor_type":
            kind.tensor_type.ClearField("shape")
        case "sparse_tensor_type":
            kind.sparse_tensor_type.ClearField("shape")
        case "sequence_type":
            _forget_shape(kind.sequence_type.elem_type)
        case "optional_type":
            _forget_shape(kind.optional_type.elem_type)
        case "map_type":
            _forget_shape(kind.map_type.value_type)
