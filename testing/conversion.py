"""How rule tests speak: models as ONNX text, before and after, and the reason of a refusal."""

from __future__ import annotations

import onnx
import pytest

from opsetlift import ConversionRefused, convert
from opsetlift.model.scopes import subgraphs_within
from opsetlift.support.refusal import Refusal, Why


def model(text: str) -> onnx.ModelProto:
    """A model from ONNX text."""
    return onnx.parser.parse_model(text)


def normalised(model_proto: onnx.ModelProto) -> str:
    """ONNX text without the IR version, which is not what rule tests are about."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model_proto)
    copy.ClearField("ir_version")
    return "\n".join(line.strip() for line in onnx.printer.to_text(copy).splitlines())


def check_rewrite(before: str, after: str, *, exact: bool = True) -> None:
    """Converting `before` to the opsets that `after` imports gives just `after`, proven equal.

    `exact` says that no rule may round.
    """
    source, expected = model(before), model(after)
    to = {entry.domain: entry.version for entry in expected.opset_import}
    conversion = convert(source, to=to, exact=exact)
    assert normalised(conversion.model) == normalised(expected)
    check_loops(source, conversion.model)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()


def check_converts(before: str, to: int, *, exact: bool = False, domain: str = "") -> onnx.ModelProto:
    """Converting `before` to opset `to` is proven equal, whatever it looks like."""
    original = model(before)
    conversion = convert(original, to={domain: to}, exact=exact)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    check_loops(original, conversion.model)
    return conversion.model


def check_loops(original: onnx.ModelProto, converted: onnx.ModelProto) -> None:
    """The conversion gave no Loop a form that some onnxruntime refuses, unless one of the original has it."""
    for found in (_loops_without_ranks, _loops_without_condition):
        if not found(original):
            assert not found(converted)


def _loops(model_proto: onnx.ModelProto) -> list[onnx.NodeProto]:
    graphs = [model_proto.graph, *subgraphs_within(model_proto.graph)]
    return [node for graph in graphs for node in graph.node if node.op_type == "Loop"]


def _loops_without_ranks(model_proto: onnx.ModelProto) -> list[str]:
    """The bodies of Loops that do not declare the rank of the iteration number or of the condition.

    onnxruntime 1.32 runs no such Loop ("Loop subgraph input 0 has unknown shape"), though no text asks for it.
    """
    bodies = [onnx.helper.get_node_attr_value(node, "body") for node in _loops(model_proto)]
    return [
        f"{body.name}: {info.name}"
        for body in bodies
        for info in body.input[:2]
        if not info.type.tensor_type.HasField("shape")
    ]


def _loops_without_condition(model_proto: onnx.ModelProto) -> list[str]:
    """Those crash onnxruntime up to 1.8.

    The proof, as the specification, then ignores the condition that the body gives, and onnxruntime does not.
    """
    return [node.output[0] for node in _loops(model_proto) if not "".join(node.input[1:2])]


def check_refusal(before: str, to: int, why: Why, *words: str, domain: str = "", exact: bool = False) -> Refusal:
    """Converting `before` to opset `to` is refused for `why`, in a sentence that has all the `words`."""
    with pytest.raises(ConversionRefused) as caught:
        convert(model(before), to={domain: to}, exact=exact)
    found = [refusal for refusal in caught.value.refusals if refusal.why is why]
    assert found, caught.value.refusals
    for word in words:
        assert any(word in refusal.sentence for refusal in found), [refusal.sentence for refusal in found]
    return found[0]
