"""The kernels of `onnx.reference` that are exact for a version and not slow: an allow-list by exact since-version."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from onnx import AttributeProto, NodeProto

from converter.evaluator.kernels.registry import Call, Kernel
from converter.history import AI_ONNX, AI_ONNX_ML, history

DELEGATED: Mapping[tuple[str, str], frozenset[int]] = {}
"""(domain, operator) -> the since-versions whose text was compared with what the kernel of onnx.reference does."""

_OPERATOR_LISTS = {AI_ONNX: "onnx.reference.ops._op_list", AI_ONNX_ML: "onnx.reference.ops.aionnxml._op_list"}


def find_delegate(domain: str, operator: str, since_version: int) -> Kernel | None:
    """The delegated kernel of exactly this definition, or None where it is not on the list."""
    if since_version not in DELEGATED.get((domain, operator), ()):
        return None
    kernel_class: Any = importlib.import_module(_OPERATOR_LISTS[domain]).load_op(domain, operator, since_version)

    def run(call: Call, *inputs: Any) -> Any:
        parameters = {"opsets": {domain: since_version}, "new_ops": {}, "log": _no_log, "verbose": 0}
        return kernel_class(_with_defaults(call.node, domain, since_version), parameters).run(*inputs)

    return run


def _no_log(*_: object) -> None: ...


def _with_defaults(node: NodeProto, domain: str, since_version: int) -> NodeProto:
    """The node with this version's defaults written out: onnx.reference would fill in the newest version's."""
    operator = history(domain, node.op_type)
    definition = operator and operator.at(since_version)
    given = {attribute.name for attribute in node.attribute}
    complete = NodeProto()
    complete.CopyFrom(node)
    for name, attribute in definition.schema.attributes.items() if definition else ():
        if name not in given and attribute.default_value.type != AttributeProto.UNDEFINED:
            complete.attribute.append(attribute.default_value)
    return complete
