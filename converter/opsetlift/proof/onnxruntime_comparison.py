"""Two models compared in onnxruntime, an optional second evaluator with kernels that are not ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from opsetlift.proof.compare import EXACT, Tolerance, compare
from opsetlift.proof.inputs import Case, Enough, InputGenerator
from opsetlift.proof.side_by_side import model_inputs
from opsetlift.support.errors import OpsetLiftError

ROUNDING_ULPS = 64
"""How far the two sides may differ in onnxruntime where they are equal bit for bit in ours: its kernels for two forms
of the same computation may add in another order."""


class OnnxruntimeMissing(OpsetLiftError):
    """onnxruntime is not installed; it comes with `opsetlift[ort]`."""


@dataclass(frozen=True)
class OnnxruntimeVerdict:
    """What comparing two models in onnxruntime showed."""

    agrees: bool | None
    """Whether both compute the same; None where onnxruntime could not run them."""
    runs: int
    """On how many inputs both ran."""
    sentence: str
    """Why it could not, or the first output that differs."""


def ask_onnxruntime(
    first: Path,
    second: Path,
    *,
    inputs: Sequence[Case] | None,
    runs: int,
    seed: int,
    ulps: int,
    tolerance: Tolerance = EXACT,
) -> OnnxruntimeVerdict:
    """Execute two model files in onnxruntime on the same inputs: those given, else `runs` drawn ones.

    Raises OnnxruntimeMissing.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise OnnxruntimeMissing("--judge ort needs onnxruntime: install opsetlift[ort]") from error

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    sessions = []
    for path in (first, second):
        try:
            sessions.append(onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]))
        except Exception as error:  # onnxruntime has an exception type of its own for each of its statuses
            return OnnxruntimeVerdict(None, 0, f"onnxruntime does not load {path}: {_first_line(error)}")
    comparison = _Comparison(sessions, max(ulps, ROUNDING_ULPS), tolerance, len(inputs) if inputs else runs)
    if inputs is not None:
        with suppress(Enough):
            for case in inputs:
                comparison.attempt(case)
    else:
        models = [onnx.load(path, load_external_data=False) for path in (first, second)]
        InputGenerator(model_inputs(*models), [seed]).run(comparison.attempt)
    return comparison.verdict()


class _Comparison:
    def __init__(self, sessions: Sequence[Any], ulps: int, tolerance: Tolerance, limit: int) -> None:
        self._sessions = sessions
        self._names = [output.name for output in sessions[0].get_outputs()]
        self._ulps = ulps
        self._tolerance = tolerance
        self._limit = limit
        self._runs = 0
        self._difference = ""
        self._obstacle = ""

    def attempt(self, case: Case) -> Sequence[Any] | None:
        """Run one case; None where the first model does not take it."""
        try:
            expected = self._sessions[0].run(self._names, dict(case.values))
        except Exception as error:
            self._obstacle = f"onnxruntime does not run the first model: {_first_line(error)}"
            return None
        try:
            actual = self._sessions[1].run(self._names, dict(case.values))
        except Exception as error:
            self._difference = f"{case.label}: onnxruntime does not run the second model: {_first_line(error)}"
            raise Enough from error
        for name, one, other in zip(self._names, expected, actual, strict=True):
            found = compare(one, other, ulps=self._ulps, tolerance=self._tolerance)
            if not found.equal:
                self._difference = f"{case.label}: output {name!r}: {found.sentence}"
                raise Enough
        self._runs += 1
        if self._runs >= self._limit:
            raise Enough
        return [getattr(value, "shape", None) for value in expected]

    def verdict(self) -> OnnxruntimeVerdict:
        if self._difference:
            return OnnxruntimeVerdict(False, self._runs, self._difference)
        return OnnxruntimeVerdict(True, self._runs, "") if self._runs else OnnxruntimeVerdict(None, 0, self._obstacle)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300] if str(error).strip() else type(error).__name__
