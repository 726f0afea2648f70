"""How long a conversion takes, beside onnx.version_converter and beside parsing and serializing alone.

    python -m benchmarks.convert

A graph of LayerNorm blocks as exporters write them (ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add, each
with its own scale and bias, node names as PyTorch gives them) is converted. "In memory" goes from bytes
to bytes, beside protobuf's parser and serializer alone; "in files" from file to file, beside onnx.load and onnx.save;
"checked" and "proven" are in memory, with onnx's checker and with the proof besides; "default" is all of it, from file
to file.
All of it in one run; each number is the best of several. Ratios count, the machine decides on the milliseconds.
"""

from __future__ import annotations

import gc
import itertools
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from opsetlift import convert, convert_version
from opsetlift.model.files import load_model, save_model

HIDDEN = 64
NODES_PER_BLOCK = 9
PAIRS = ((13, 18), (13, 28), (18, 13))
SIZES = (1_000, 5_000, 20_000)


def layer_norm_model(node_count: int, opset: int) -> bytes:
    """A chain of LayerNorm blocks of about `node_count` nodes at `opset` (13 to 18), serialized."""
    random = numpy.random.default_rng(0)
    nodes, initializers = [], []
    initializers.append(numpy_helper.from_array(numpy.array(2.0, numpy.float32), "two"))
    initializers.append(numpy_helper.from_array(numpy.array(1e-5, numpy.float32), "epsilon"))
    if opset >= 18:
        initializers.append(numpy_helper.from_array(numpy.array([-1]), "axes"))
    value = "input"
    for block in range(node_count // NODES_PER_BLOCK):
        prefix = f"/encoder/layer.{block}/LayerNorm"
        for role in ("weight", "bias"):
            array = random.standard_normal(HIDDEN).astype(numpy.float32)
            initializers.append(numpy_helper.from_array(array, f"encoder.layer.{block}.LayerNorm.{role}"))

        def node(operator: str, *inputs: str, suffix: str = "", prefix: str = prefix, **attributes: object) -> str:
            name = f"{prefix}/{operator}{suffix}"
            output = f"{name}_output_0"
            nodes.append(helper.make_node(operator, list(inputs), [output], name=name, **attributes))
            return output

        def mean(data: str, suffix: str = "", node: Callable[..., str] = node) -> str:
            if opset >= 18:
                return node("ReduceMean", data, "axes", suffix=suffix)
            return node("ReduceMean", data, suffix=suffix, axes=[-1])

        centred = node("Sub", value, mean(value))
        variance = mean(node("Pow", centred, "two"), "_1")
        normal = node("Div", centred, node("Sqrt", node("Add", variance, "epsilon")))
        scaled = node("Mul", normal, f"encoder.layer.{block}.LayerNorm.weight")
        value = node("Add", scaled, f"encoder.layer.{block}.LayerNorm.bias", suffix="_1")
    graph = helper.make_graph(
        nodes,
        "layer_norms",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", HIDDEN])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", HIDDEN])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


def best_of(runs: int, job: Callable[[], object]) -> float:
    """The shortest of several runs, in milliseconds."""
    durations = []
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        job()
        durations.append(time.perf_counter() - start)
    return 1000 * min(durations)


def in_memory(data: bytes, opset: int) -> tuple[Callable[[], object], ...]:
    """Parsing and serializing alone, with our conversion between them, with the C++ converter's."""

    def alone() -> bytes:
        return onnx.ModelProto.FromString(data).SerializeToString()

    def ours() -> bytes:
        return convert_version(onnx.ModelProto.FromString(data), opset).SerializeToString()

    def theirs() -> bytes:
        model = onnx.ModelProto.FromString(data)
        return onnx.version_converter.convert_version(model, opset).SerializeToString()

    return alone, ours, theirs


def in_memory_with(opset: int, data: bytes, *, prove: bool) -> tuple[Callable[[], object], ...]:
    """The same with onnx's checker, and with the proof besides."""
    alone, _, theirs = in_memory(data, opset)

    def ours() -> bytes:
        return convert(onnx.ModelProto.FromString(data), to=opset, prove=prove).model.SerializeToString()

    return alone, ours, theirs


def from_file_to_file(source: Path, target: Path, opset: int) -> tuple[Callable[[], object], ...]:
    """onnx.load and onnx.save alone, our own loading, conversion and saving, the C++ converter between onnx's."""

    def alone() -> None:
        onnx.save(onnx.load(source), target)

    def ours() -> None:
        model = convert_version(load_model(source), opset)
        save_model(model, target, source_dir=source.parent, overwrite=True)

    def theirs() -> None:
        onnx.save(onnx.version_converter.convert_version(onnx.load(source), opset), target)

    return alone, ours, theirs


def by_default(source: Path, target: Path, opset: int) -> tuple[Callable[[], object], ...]:
    """From file to file as well, but ours as it is by default: checked and proven, without kept verdicts."""
    alone, _, theirs = from_file_to_file(source, target, opset)

    def ours() -> None:
        result = convert(source, to=opset)
        save_model(result.model, target, source_dir=source.parent, overwrite=True)

    return alone, ours, theirs


def main() -> None:
    """Run the command; the module's docstring describes it."""
    columns = ("nodes", "from-to", "", "alone", "opsetlift", "C++", "opsetlift / alone", "C++ / opsetlift")
    print("".join(f"{column:>{max(12, len(column) + 2)}}" for column in columns))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source.onnx"), Path(folder, "target.onnx")
        for size, (older, newer) in itertools.product(SIZES, PAIRS):
            data = layer_norm_model(size, older)
            source.write_bytes(data)
            jobs = {"in memory": in_memory(data, newer), "in files": from_file_to_file(source, target, newer)}
            jobs["default"] = by_default(source, target, newer)
            jobs["checked"] = in_memory_with(newer, data, prove=False)
            jobs["proven"] = in_memory_with(newer, data, prove=True)
            for where, (alone, ours, theirs) in jobs.items():
                baseline, mine = best_of(7, alone), best_of(3 if where in ("proven", "default") else 7, ours)
                try:
                    peer = best_of(3, theirs)
                    against = f"{peer:>9.0f} ms", f"{peer / mine:>17.1f}"
                except RuntimeError:
                    against = f"{'fails':>12}", f"{'-':>17}"
                print(
                    f"{size:>12}{f'{older}-{newer}':>12}{where:>12}{baseline:>9.1f} ms{mine:>9.1f} ms{against[0]}"
                    f"{mine / baseline:>19.2f}{against[1]}"
                )


if __name__ == "__main__":
    main()
