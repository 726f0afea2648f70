"""How fast the evaluator runs networks, beside onnx.reference and onnxruntime, and how much memory it takes.

    python -m benchmarks.evaluator [--models FOLDER]... [--only NAME] [--without-reference]

The networks are the architectures that the installed onnx carries without weights (its "light" models; the weights are
generated) and the models in the given folders (examples/models without any): folders with model.onnx and inputs.npz.
Each executor runs in a process of its own, on one thread, onnxruntime with its optimisations off. Times are CPU times,
the best of several runs; memory is the whole process's peak; "nan" stands for an executor that cannot run the model.

The bars, for convolutional networks: at most 2.5 times as long and 1.5 times as much memory as onnxruntime, and at
least 20 times faster than onnx.reference. Where onnx.reference takes less than 20 times what onnxruntime takes (VGG-19,
ResNet-50: few large kernels, which it multiplies as matrices too), the last would mean to beat onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy
import onnx
from onnx import numpy_helper

LIGHT_MODELS = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
LIGHT_NAMES = ("densenet121", "inception_v1", "inception_v2", "resnet50", "shufflenet", "squeezenet", "vgg19")
OWN_MODELS = Path(__file__).parents[1] / "examples" / "models"
EXECUTORS = ("ours", "onnxruntime", "reference")
TIME_LIMIT = 2.0
"""After so many seconds no further run is made to better the best time."""


def with_generated_weights(light: onnx.ModelProto) -> onnx.ModelProto:
    """A light model with random weights in place of its ConstantOfShape nodes, scaled so that values stay finite."""
    random = numpy.random.default_rng(0)
    graph = light.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    roles = {name: (node.op_type, index) for node in graph.node for index, name in enumerate(node.input)}
    kept = []
    for node in graph.node:
        if node.op_type != "ConstantOfShape" or node.input[0] not in shapes:
            kept.append(node)
            continue
        shape = shapes[node.input[0]]
        graph.initializer.append(numpy_helper.from_array(_weights(random, shape, roles), node.output[0]))
    del graph.node[:]
    graph.node.extend(kept)
    used = {name for node in kept for name in node.input}
    for values in (graph.initializer, graph.input):
        unused = [value for value in values if value.name not in used]
        for value in unused:
            values.remove(value)
    return light


def _weights(random: numpy.random.Generator, shape: Any, roles: Mapping[str, tuple[str, int]]) -> Any:
    """He's initialisation for matrices and kernels, values around 1 for vectors: scales, variances, biases."""
    if len(shape) < 2:
        return random.uniform(0.5, 1.5, shape).astype(numpy.float32)
    fan_in = float(numpy.prod(shape[1:]))
    return (random.standard_normal(shape) * numpy.sqrt(2 / fan_in)).astype(numpy.float32)


def random_inputs(model: onnx.ModelProto) -> dict[str, Any]:
    """Random numbers for the inputs that have no initializer."""
    random = numpy.random.default_rng(1)
    initialized = {tensor.name for tensor in model.graph.initializer}
    return {
        info.name: random.standard_normal([dim.dim_value for dim in info.type.tensor_type.shape.dim], numpy.float32)
        for info in model.graph.input
        if info.name not in initialized
    }


def networks(folders: list[Path], scratch: Path) -> Iterator[tuple[str, Path]]:
    """Names of networks and folders with their model.onnx and inputs.npz."""
    for name in LIGHT_NAMES:
        model = with_generated_weights(onnx.load(LIGHT_MODELS / f"light_{name}.onnx"))
        folder = scratch / name
        folder.mkdir()
        numpy.savez(folder / "inputs.npz", **random_inputs(model))
        onnx.save(model, folder / "model.onnx")
        yield name, folder
    for parent in folders:
        for path in sorted(parent.glob("*/model.onnx")):
            yield path.parent.name, path.parent


def runner(executor: str, folder: Path) -> Callable[[dict[str, Any]], Any]:
    """A function that runs the model once on given inputs."""
    path = folder / "model.onnx"
    if executor == "ours":
        from opsetlift.evaluator import Evaluator

        return Evaluator(onnx.load(path), strict=False).run
    if executor == "reference":
        from onnx.reference import ReferenceEvaluator

        reference = ReferenceEvaluator(str(path))
        return lambda inputs: reference.run(None, inputs)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


def measure(executor: str, folder: Path) -> None:
    """Print the best time in seconds and the peak memory in MB of this process."""
    run = runner(executor, folder)
    inputs = dict(numpy.load(folder / "inputs.npz"))
    durations: list[float] = []
    while len(durations) < 3 or (sum(durations) < TIME_LIMIT and len(durations) < 50):
        start = time.process_time()
        run(inputs)
        durations.append(time.process_time() - start)
        if durations[0] > TIME_LIMIT:
            break
    print(json.dumps({"seconds": min(durations), "megabytes": _peak_megabytes()}))


def _peak_megabytes() -> float:
    """The process's largest resident size; getrusage would count what the parent had before it became this process."""
    status = Path("/proc/self/status")
    if status.exists():
        (peak,) = (line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measured(executor: str, folder: Path) -> dict[str, float] | None:
    """What `measure` prints in a fresh process on one thread; None where the executor fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks.evaluator", "--measure", executor, str(folder)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return dict(json.loads(result.stdout)) if result.returncode == 0 else None


def main() -> None:
    """Time the evaluator, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, action="append", help="a folder of model folders")
    parser.add_argument("--only", help="a part of the names of the networks to run")
    parser.add_argument("--without-reference", action="store_true", help="leave out onnx.reference, which is slow")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure[0], Path(arguments.measure[1]))
        return
    executors = EXECUTORS[: -1 if arguments.without_reference else None]
    print(
        f"{'network':>24} {'ours':>10} {'onnxruntime':>12} {'reference':>11} {'ours/ort':>9} {'ref/ours':>9} "
        f"{'memory ours':>12} {'ort':>8} {'ours/ort':>9}"
    )
    with tempfile.TemporaryDirectory() as scratch:
        for name, folder in networks(arguments.models or [OWN_MODELS], Path(scratch)):
            if arguments.only and arguments.only not in name:
                continue
            results = {executor: measured(executor, folder) for executor in executors}
            print(_row(name, results), flush=True)


def _row(name: str, results: Mapping[str, dict[str, float] | None]) -> str:
    def value(executor: str, key: str) -> float:
        return (results.get(executor) or {}).get(key, float("nan"))

    ours, ort, reference = (1000 * value(executor, "seconds") for executor in EXECUTORS)
    memory, peer = value("ours", "megabytes"), value("onnxruntime", "megabytes")
    return (
        f"{name:>24} {ours:>7.1f} ms {ort:>9.1f} ms {reference:>8.0f} ms {ours / ort:>9.2f} "
        f"{reference / ours:>9.1f} {memory:>9.0f} MB {peer:>5.0f} MB {memory / peer:>9.2f}"
    )


if __name__ == "__main__":
    main()
