"""How tests of passes speak: a graph before and after in ONNX text, and the proof that both compute the same."""

from __future__ import annotations

import onnx

from opsetlift.pipeline.normalize import Normalization, normalize
from testing.conversion import model, normalised

Passes = str | tuple[str, ...]


def text_model(graph: str, *, opset: int = 17, ir: int = 8, functions: str = "") -> onnx.ModelProto:
    """A model of a graph in ONNX text, and of functions of the domain "local"."""
    local = ', "local" : 1' if functions else ""
    return model(f'<ir_version: {ir}, opset_import: ["" : {opset}{local}]>\n{graph}\n{functions}')


def rewritten(passes: Passes, before: onnx.ModelProto) -> Normalization:
    """A model after some passes, checked and proven."""
    result = normalize(before, passes=[passes] if isinstance(passes, str) else passes)
    assert result.proof is not None
    assert result.proof.is_proven, result.proof.summary()
    return result


def check_rewrite(
    passes: Passes, before: str, after: str, *, opset: int = 17, ir: int = 8, functions: str = ""
) -> None:
    """The passes make `after` of `before`, proven equal, and leave that as it is."""
    result = rewritten(passes, text_model(before, opset=opset, ir=ir, functions=functions)).model
    expected = text_model(after, opset=opset, ir=ir, functions=functions)
    assert normalised(result) == normalised(expected)
    again = rewritten(passes, result).model
    assert again.SerializeToString(deterministic=True) == result.SerializeToString(deterministic=True)


def check_unchanged(passes: Passes, before: str, *, opset: int = 17, ir: int = 8, functions: str = "") -> None:
    """The passes leave the graph alone, but for constants that nothing uses."""
    source = text_model(before, opset=opset, ir=ir, functions=functions)
    expected = rewritten("remove-unused", source).model
    assert normalised(rewritten(passes, source).model) == normalised(expected)
