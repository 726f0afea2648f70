"""Training graphs are not converted: their nodes stay as they are, and where they may not, the model is refused."""

from __future__ import annotations

import pytest
from onnx import ModelProto, helper

from opsetlift import ConversionRefused, convert
from testing.small_models import minimum_model


def trained(operator: str, opset: int, **attributes: object) -> ModelProto:
    """A model whose training graph has a node of an operator."""
    made = minimum_model(opset=opset)
    node = helper.make_node(operator, [made.graph.input[0].name], ["trained"], **attributes)
    made.training_info.add().algorithm.node.append(node)
    return made


@pytest.mark.parametrize("to", [18, 13, 11, 9])
@pytest.mark.parametrize("operator", ["Tanh", "Neg", "Identity"])
def test_nodes_that_mean_the_same_stay(operator: str, to: int) -> None:
    source = trained(operator, 12)
    converted = convert(source, to=to)
    assert converted.model.training_info == source.training_info
    assert converted.certificate is not None
    assert not converted.certificate.is_refuted


@pytest.mark.parametrize("prove", [True, False])
def test_nodes_that_a_rule_would_change_are_refused(prove: bool) -> None:
    source = trained("ReduceSum", 12, axes=[1])
    with pytest.raises(ConversionRefused, match="training graphs are not converted, and ReduceSum changes") as refused:
        convert(source, to=18, prove=prove)
    assert refused.value.refusals[0].path == "training_info[0].algorithm"
    convert(source, to=12, ir=8)


def test_unknown_operators_in_them_are_refused_elsewhere() -> None:
    with pytest.raises(ConversionRefused, match="training graphs are not converted"):
        convert(trained("Plugin", 12), to=18)
