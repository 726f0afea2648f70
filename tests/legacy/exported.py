"""Converts exported models for releases of runtimes, runs them there and prints the table of docs/targets.md.

    python -m tests.legacy.exported MODELS RUNTIME=COMMAND ...

MODELS is a folder of .onnx files, as torch.onnx.export, skl2onnx and others write them; RUNTIME a target, such as
onnxruntime==1.10; COMMAND a persistent runner of it (`opsetlift measure` describes them, tests/legacy/serve.py is one).
What a model computes is what the evaluator says of the file as it was exported. Of a quantised model only dtypes and
shapes are compared: kernels that multiply 8-bit numbers saturate on some processors, and each step of a quantised value
is a hundredth of it. Models that draw random numbers are left out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import ModelProto

from opsetlift import ConversionRefused, UnreachableTarget, convert
from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.measuring import Runner
from opsetlift.measuring.verdicts import difference_of_outputs
from opsetlift.specification.dtypes import dtype_name, numpy_dtype

EQUAL, BROKEN, REFUSED = "equal", "does not run or differs", "refused"

_OPEN_SIZE = 3
_RANDOM = frozenset(
    ["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"]
)
_QUANTISED = frozenset(["QuantizeLinear", "DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul"])


@dataclass(frozen=True)
class Exported:
    """A model with inputs and what it computes of them."""

    name: str
    model: ModelProto
    inputs: Mapping[str, Any]
    expected: Mapping[str, Any]


def read(file: Path) -> Exported | None:
    """A model with drawn inputs; None where the evaluator cannot compute it, or not as tensors."""
    model = onnx.load(file)
    initialized = {tensor.name for tensor in model.graph.initializer}
    rng = numpy.random.default_rng(0)
    inputs = {}
    for info in model.graph.input:
        if info.name not in initialized:
            tensor = info.type.tensor_type
            shape = [dim.dim_value or _OPEN_SIZE for dim in tensor.shape.dim]
            drawn = rng.standard_normal(shape) if tensor.elem_type in (1, 10, 11) else rng.integers(0, 3, shape)
            dtype = numpy_dtype(dtype_name(tensor.elem_type))
            inputs[info.name] = drawn.astype(str).astype(object) if dtype.kind == "O" else drawn.astype(dtype)
    if any(node.op_type in _RANDOM for node in model.graph.node):
        return None
    try:
        expected = Evaluator(model, strict=False).run(inputs)
    except (EvaluationError, ValueError, TypeError):
        return None
    if not all(isinstance(value, numpy.ndarray) for value in expected.values()):
        return None
    return Exported(file.stem, model, inputs, expected)


def outcome(exported: Exported, target: str, runner: Runner) -> tuple[str, str]:
    """How the conversion for a runtime ends, and why."""
    try:
        converted = convert(exported.model, target=target, prove=False).model
    except (ConversionRefused, UnreachableTarget) as refused:
        return REFUSED, str(refused).replace("\n", " ")[:200]
    answer = runner.run(converted, exported.inputs)
    compares_values = not any(node.op_type in _QUANTISED for node in exported.model.graph.node)
    # Through the layers of a network rounding adds up, and to more where convolutions are computed by transforms.
    said = answer.error or difference_of_outputs(
        exported.expected, answer.outputs, compares_values=compares_values, near_zero=1e-4
    )
    return (BROKEN, said) if said else (EQUAL, "")


def print_table(models: Sequence[Exported], pairs: Sequence[str]) -> None:
    """Print a line for each RUNTIME=COMMAND, and on standard error what became of the models that are not equal."""
    print(f"| runtime | equal | {BROKEN} | refused | of |\n|---|---|---|---|---|")
    for pair in pairs:
        target, _, command = pair.replace("==", "~~").partition("=")
        target = target.replace("~~", "==")
        counts: Counter[str] = Counter()
        with Runner(command.replace("~~", "=="), is_persistent=True) as runner:
            for exported in models:
                found, why = outcome(exported, target, runner)
                counts[found] += 1
                if found != EQUAL:
                    print(target, exported.name, found, why, sep="\t", file=sys.stderr, flush=True)
        share = 100 * counts[EQUAL] / max(len(models), 1)
        row = f"| {target} | {share:.1f} % | {counts[BROKEN]} | {counts[REFUSED]} | {len(models)} |"
        print(row, flush=True)


def main() -> None:
    """Print the table for a folder of models."""
    folder, *pairs = sys.argv[1:]
    print_table([one for file in sorted(Path(folder).glob("**/*.onnx")) if (one := read(file))], pairs)


if __name__ == "__main__":
    main()
