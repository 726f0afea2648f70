"""Whether a node is executed by the same code at two opsets, so that it computes the same there on every input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnx import NodeProto

from opsetlift.evaluator.errors import EvaluationError
from opsetlift.evaluator.kernel_step import KernelStep
from opsetlift.evaluator.prepare import prepare_node
from opsetlift.model.scopes import subgraphs


def same_code(
    node: NodeProto,
    inputs: Sequence[str | None],
    outputs: Sequence[str | None],
    source: Mapping[str, int],
    target: Mapping[str, int],
) -> bool:
    """Return whether what executes a node at one opset executes it at another.

    This is so where one kernel executes both versions and cannot tell them apart, gets the same attributes, and the
    later gate lets pass all that the first one does.

    Args:
        node: The node.
        inputs: The type of each input, None where it is not known; empty for absent ones.
        outputs: The same of the outputs.
        source: The opset of each domain.
        target: The same at the target.
    """
    if any(subgraphs(node)):
        return False  # at once, as to prepare what is inside takes time
    try:
        before, after = (prepare_node(node, opsets, strict=True, iteration_limit=None) for opsets in (source, target))
    except EvaluationError:
        return False
    return (
        isinstance(before, KernelStep)
        and isinstance(after, KernelStep)
        and before.foldable  # nothing random
        and (before.kernel, before.shown_version) == (after.kernel, after.shown_version)
        and _not_given(before) == _not_given(after)
        and after.gate.lets_pass_what(before.gate, inputs, outputs)
    )


def _not_given(step: KernelStep) -> Mapping[str, Any]:
    """The attributes that the node leaves to their defaults."""
    given = {attribute.name for attribute in step.node.attribute}
    return {name: value for name, value in step.attributes.items() if name not in given}
