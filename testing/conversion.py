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
    if not loops_that_onnxruntime_refuses(source):
        assert not loops_that_onnxruntime_refuses(conversion.model)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()


def check_converts(before: str, to: int, *, exact: bool = False, domain: str = "") -> onnx.ModelProto:
    """Converting `before` to opset `to` is proven equal, whatever it looks like."""
    original = model(before)
    conversion = convert(original, to={domain: to}, exact=exact)
    assert conversion.certificate is not None
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    if not loops_that_onnxruntime_refuses(original):
        assert not loops_that_onnxruntime_refuses(conversion.model)
    return conversion.model


def loops_that_onnxruntime_refuses(model_proto: onnx.ModelProto) -> list[str]:
    """Loops without a condition, and bodies that do not declare the rank of the iteration number or of the condition.

    onnxruntime up to 1.8 crashes where a condition is absent (and the proof, as the specification, then ignores the one
    that the body gives); 1.32 runs no Loop without these ranks ("Loop subgraph input 0 has unknown shape").
    """
    graphs = [model_proto.graph, *subgraphs_within(model_proto.graph)]
    loops = [node for graph in graphs for node in graph.node if node.op_type == "Loop"]
    bodies = [onnx.helper.get_node_attr_value(node, "body") for node in loops]
    return [f"{node.name}: no condition" for node in loops if not "".join(node.input[1:2])] + [
        f"{body.name}: {info.name}"
        for body in bodies
        for info in body.input[:2]
        if not info.type.tensor_type.HasField("shape")
    ]


def check_refusal(before: str, to: int, why: Why, *words: str, domain: str = "", exact: bool = False) -> Refusal:
    """Converting `before` to opset `to` is refused for `why`, in a sentence that has all the `words`."""
    with pytest.raises(ConversionRefused) as caught:
        convert(model(before), to={domain: to}, exact=exact)
    found = [refusal for refusal in caught.value.refusals if refusal.why is why]
    assert found, caught.value.refusals
    for word in words:
        assert any(word in refusal.sentence for refusal in found), [refusal.sentence for refusal in found]
    return found[0]
