"""One node, executed by the evaluator and by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import onnx
import onnxruntime
from onnx import helper

from opsetlift.evaluator.errors import EvaluationError
from opsetlift.evaluator.evaluator import run_node

onnxruntime.set_default_logger_severity(4)


@dataclass(frozen=True)
class OneNode:
    """A node at an opset with its input values, None for an absent one."""

    operator: str
    opset: int
    inputs: Sequence[Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    output_count: int = 1
    domain: str = ""

    @property
    def opsets(self) -> dict[str, int]:
        """What the node's model imports: `opset` is that of the node's domain."""
        return {"": 17, self.domain: self.opset}

    @property
    def node(self) -> onnx.NodeProto:
        names = [f"input{index}" if value is not None else "" for index, value in enumerate(self.inputs)]
        outputs = [f"output{index}" for index in range(self.output_count)]
        node = helper.make_node(self.operator, names, outputs, domain=self.domain)
        # make_node drops empty lists; an attribute that is present and empty has a meaning of its own.
        for name, value in self.attributes.items():
            empty = isinstance(value, list) and not value
            attribute_type = onnx.AttributeProto.INTS if empty else None
            node.attribute.append(helper.make_attribute(name, value, attr_type=attribute_type))
        return node

    @property
    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(f"input{index}", _element_type(value), value.shape)
            for index, value in enumerate(self.inputs)
            if value is not None
        ]
        outputs = [onnx.ValueInfoProto(name=name) for name in self.node.output]
        graph = helper.make_graph([self.node], "one_node", inputs, outputs)
        imports = [helper.make_opsetid(*entry) for entry in self.opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=8)


class NotThere(Exception):
    """onnxruntime has no kernel for this node."""


def _element_type(value: Any) -> int:
    if value.dtype == object:
        return onnx.TensorProto.STRING
    return int(helper.np_dtype_to_tensor_dtype(value.dtype))


def evaluate(case: OneNode, strict: bool = True) -> list[Any]:
    """The outputs of our evaluator. Raises EvaluationError."""
    return run_node(case.node, list(case.inputs), case.opsets, strict=strict)


def evaluate_or_none(case: OneNode) -> list[Any] | None:
    """The outputs of our evaluator, or None where it rejects the node or its inputs."""
    try:
        return evaluate(case)
    except EvaluationError:
        return None


def onnxruntime_outputs(case: OneNode) -> list[Any] | None:
    """The outputs of onnxruntime, None where it rejects the node or its inputs. Raises NotThere."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    feeds = {f"input{index}": value for index, value in enumerate(case.inputs) if value is not None}
    try:
        session = onnxruntime.InferenceSession(
            case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return list(session.run(None, feeds))
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "not implemented" in str(error):
            raise NotThere(str(error)) from error
        return None


def same(ours: Sequence[Any] | None, theirs: Sequence[Any] | None, rtol: float = 0, atol: float = 0) -> bool:
    """Whether both rejected, or gave the same dtypes, shapes and, within the tolerance, values; NaN equals NaN."""
    if ours is None or theirs is None:
        return ours is None and theirs is None
    return len(ours) == len(theirs) and all(_same_tensor(a, b, rtol, atol) for a, b in zip(ours, theirs, strict=True))


def _same_tensor(ours: Any, theirs: Any, rtol: float, atol: float) -> bool:
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return False
    if ours.dtype.kind == "f":
        return bool(numpy.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True))
    return bool((ours == theirs).all())
