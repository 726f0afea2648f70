"""Nodes on drawn inputs; imported in a process of its own, too, and so without onnx's own tests, which take seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from onnx import helper

from opsetlift.evaluator.evaluator import run_node

Array = Any


def draw(*shape: int, seed: int = 0, dtype: str = "float32") -> Array:
    return numpy.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype)


def run(operator: str, opset: int, inputs: Sequence[Any], outputs: int = 1, **attributes: Any) -> list[Any]:
    names = ["" if value is None else f"x{index}" for index, value in enumerate(inputs)]
    domain = attributes.pop("domain", "")
    node = helper.make_node(operator, names, [f"y{index}" for index in range(outputs)], domain=domain, **attributes)
    return run_node(node, list(inputs), {"": opset, "ai.onnx.ml": 3, "ai.onnx.preview": 1}, strict=False)
