"""Casts to dtypes that numpy lacks, on every float16 and many a float32, by the evaluator and by onnxruntime.

onnxruntime's Python interface has no such dtypes, so that the models cast there and back to float.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy
import onnxruntime
import pytest
from onnx import TensorProto, helper

from opsetlift.evaluator import Evaluator
from opsetlift.specification.dtypes import element_type

Predicate = Callable[[Any], Any]


@dataclass(frozen=True)
class ThereAndBack:
    """Cast to `target` and back to float, at an opset; where the two judges differ, and why the evaluator is right."""

    target: str
    opset: int = 25
    saturate: int | None = None
    round_mode: str | None = None
    differs: Predicate | None = None
    because: str = ""

    @property
    def attributes(self) -> dict[str, Any]:
        given = {"saturate": self.saturate, "round_mode": self.round_mode}
        return {name: value for name, value in given.items() if value is not None}

    def __str__(self) -> str:
        parts = [self.target, f"opset {self.opset}", *(f"{name}={value}" for name, value in self.attributes.items())]
        return ", ".join([*parts, self.because] if self.because else parts)


def _between(low: float, high: float) -> Predicate:
    return lambda x: (numpy.abs(x) >= low) & (numpy.abs(x) < high)


def _tie_or_undefined(x: Any) -> Any:
    with numpy.errstate(invalid="ignore"):
        return (numpy.abs(x - numpy.trunc(x)) == 0.5) | ~(numpy.abs(x) < 2**31)


FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
TIES = "ties go to even by the notes on 4-bit and 2-bit integers, away from zero in onnxruntime; beyond, undefined"

CASES = [
    ThereAndBack("bfloat16"),
    *(ThereAndBack(target, opset) for target in FLOAT8 for opset in (19, 21, 23, 25)),
    *(ThereAndBack(target, saturate=0) for target in FLOAT8 if target.endswith("fnuz")),
    ThereAndBack(
        "float8e4m3fn", saturate=0, differs=_between(480, 496), because="[x] > FLT_MAX is NaN, in onnxruntime 448"
    ),
    ThereAndBack(
        "float8e5m2", saturate=0, differs=_between(61440, 65536), because="[x] > FLT_MAX is Inf, in onnxruntime NaN"
    ),
    *(
        ThereAndBack("float8e8m0", 25, saturate, mode)
        for mode in ("up", "down", "nearest")
        for saturate in (0, 1)
    ),
    *(
        ThereAndBack(target, differs=_tie_or_undefined, because=TIES)
        for target in ("int4", "uint4", "int2", "uint2")
    ),
]  # fmt: skip


@cache
def samples(dtype: str) -> Any:
    every_half = numpy.arange(2**16, dtype=numpy.uint16).view(numpy.float16)
    if dtype == "float16":
        return every_half
    bits = numpy.random.default_rng(0).integers(0, 2**32, 100_000, dtype=numpy.uint64).astype(numpy.uint32)
    return numpy.concatenate([every_half.astype(numpy.float32), bits.view(numpy.float32)])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_casts_as_onnxruntime(case: ThereAndBack, dtype: str) -> None:
    x = samples(dtype)
    nodes = [
        helper.make_node("Cast", ["x"], ["cast"], to=element_type(case.target), **case.attributes),
        helper.make_node("Cast", ["cast"], ["y"], to=TensorProto.FLOAT),
    ]
    declared = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)
    graph = helper.make_graph(nodes, "there_and_back", [declared], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=11)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ours, theirs = Evaluator(model).run({"x": x})["y"], session.run(None, {"x": x})[0]
    same = (ours == theirs) & (numpy.signbit(ours) == numpy.signbit(theirs)) | numpy.isnan(ours) & numpy.isnan(theirs)
    excused = numpy.zeros(x.shape, bool) if case.differs is None else case.differs(x)
    assert x[~same & ~excused].tolist() == []
    assert bool((~same & excused).any()) == (case.differs is not None), "the listed disagreement is gone"
