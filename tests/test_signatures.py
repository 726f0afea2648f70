"""Operators beside ONNX's own: what each version of a runtime knows of them."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

from opsetlift import ConversionRefused, convert, reach
from opsetlift.support.refusal import Why
from opsetlift.targets import TargetFileError, find_target

RUNTIME = """
title = "Mine"
[sources]
measured = "with a board"
[[release]]
versions = ["1.0", "1.4", "1.9", "2.0"]
opset = { min = 9, max = 11, source = "measured" }
[contributed]
domain = "my.domain"
source = "measured"
since = { "1.4" = ["Fused"] }
[signatures]
file = "own.toml"
source = "measured"
"""

OWN = """
["my.domain.Fused"]
"1.4" = { inputs = [1, 1], lacks = ["axis"] }
"1.9" = {}
"""


def model(node: str, domain: str = "my.domain") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f'<ir_version: 4, opset_import: ["": 10, "{domain}": 1]> g (float[N, 2] x) => (float[N, 2] y) '
        f"{{ f = {node} y = Relu (f) }}"
    )


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    (tmp_path / "own.toml").write_text(OWN)
    (tmp_path / "mine.toml").write_text(RUNTIME)
    return tmp_path / "mine.toml"


@pytest.mark.parametrize(
    ("version", "node", "words"),
    [
        ("1.0", "my.domain.Fused (x)", "Mine 1.0 has no Fused of my.domain"),
        ("1.4", "my.domain.Fused <axis = 1> (x)", "Mine 1.4 has no attribute 'axis' of Fused"),
        ("1.4", "my.domain.Fused (x, x)", "Mine 1.4 takes 1 inputs of Fused, and the node has 2"),
    ],
)
def test_nodes_that_a_version_does_not_know_are_refused(runtime: Path, version: str, node: str, words: str) -> None:
    with pytest.raises(ConversionRefused) as caught:
        convert(model(node), target=f"{runtime}=={version}")
    (refusal,) = caught.value.refusals
    assert (refusal.why, refusal.operator, refusal.sentence) == (Why.TARGET, "Fused", words)
    (answer,) = reach(model(node), targets=[f"{runtime}=={version}"]).targets
    assert [one.sentence for one in answer.blockers] == [words]


@pytest.mark.parametrize(
    ("version", "node"),
    [("1.4", "my.domain.Fused (x)"), ("1.9", "my.domain.Fused <axis = 1> (x, x)"), ("1.0", "my.domain.Other (x)")],
)
def test_other_nodes_are_left_alone(runtime: Path, version: str, node: str) -> None:
    target = f"{runtime}=={version}"
    assert convert(model(node), target=target).model.graph.node[0] == model(node).graph.node[0]
    assert reach(model(node), targets=[target]).targets[0].is_reachable


def test_a_function_of_the_model_is_none_of_the_runtimes_operators(runtime: Path) -> None:
    text = """<ir_version: 8, opset_import: ["": 10, "my.domain": 1]> g (float[N, 2] x) => (float[N, 2] y)
        { y = my.domain.Fused (x) } <domain: "my.domain", opset_import: ["": 10]> Fused (a) => (b) { b = Relu (a) }"""
    converted = convert(onnx.parser.parse_model(text), target=f"{runtime}==1.0")
    assert [node.op_type for node in converted.model.graph.node] == ["Relu"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[Fused]", "names no operator with its domain"),
        ('["my.domain.Fused"]\n"1.0" = "there"', "or neither"),
        ('["my.domain.Fused"]\n"1.0" = { most = 3 }', "or neither"),
        ('["my.domain.Fused"]\n"1.0" = { inputs = 3 }', "inputs are two numbers"),
        ('["my.domain"]\nFused = 3', "a version has"),
        ("[", "not valid TOML"),
    ],
)
def test_a_file_that_is_wrong_is_rejected_in_one_sentence(runtime: Path, content: str, words: str) -> None:
    (runtime.parent / "own.toml").write_text(content)
    with pytest.raises(TargetFileError, match=words):
        find_target(str(runtime))


def test_a_file_that_is_not_there_is_one_sentence(runtime: Path) -> None:
    (runtime.parent / "own.toml").unlink()
    with pytest.raises(TargetFileError, match=r"own\.toml"):
        find_target(str(runtime))


@pytest.mark.parametrize(
    ("target", "node", "words"),
    [
        ("onnxruntime==0.3", "com.microsoft.Attention <num_heads = 2> (x, x, x)", "has no Attention"),
        ("onnxruntime==1.1", "com.microsoft.Attention <num_heads = 2> (x, x, x)", "takes 4 inputs of Attention"),
        ("onnxruntime==1.10", "com.microsoft.Attention <scale = 0.5, num_heads = 2> (x, x, x)", "no attribute 'scale'"),
        ("onnxruntime==1.10", "com.microsoft.MultiHeadAttention <num_heads = 2> (x, x, x)", "no MultiHeadAttention"),
    ],
)
def test_old_releases_of_onnxruntime_know_less_of_their_own_operators(target: str, node: str, words: str) -> None:
    with pytest.raises(ConversionRefused, match=words):
        convert(model(node, "com.microsoft"), target=target)


def test_the_newest_release_of_onnxruntime_takes_its_own_operators() -> None:
    node = "com.microsoft.Attention <num_heads = 2, scale = 0.5> (x, x, x)"
    assert convert(model(node, "com.microsoft"), target="onnxruntime==1.32").model.graph.node[0].op_type == "Attention"
