"""How long a conversion takes, beside onnx.version_converter and beside parsing and serializing alone.

    python benchmarks/convert.py

A graph of LayerNorm blocks as exporters write them (ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add, each with its own
scale and bias, node names as PyTorch gives them) is taken from bytes to bytes, without proof. All of it in one run; each
number is the best of several. Ratios are what counts, the machine decides on the milliseconds.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from converter import convert_version

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


def main() -> None:
    print(f"{'nodes':>6} {'from-to':>8} {'parse+serialize':>16} {'opsetlift':>10} {'onnx C++':>9} "
          f"{'x parse+serialize':>18} {'C++ / opsetlift':>16}")
    for size in SIZES:
        for source, target in PAIRS:
            data = layer_norm_model(size, source)

            def parse_and_serialize(data: bytes = data) -> bytes:
                return onnx.ModelProto.FromString(data).SerializeToString()

            def ours(data: bytes = data, target: int = target) -> bytes:
                return convert_version(onnx.ModelProto.FromString(data), target).SerializeToString()

            def theirs(data: bytes = data, target: int = target) -> bytes:
                model = onnx.ModelProto.FromString(data)
                return onnx.version_converter.convert_version(model, target).SerializeToString()

            alone, mine, peer = best_of(7, parse_and_serialize), best_of(7, ours), best_of(3, theirs)
            print(f"{size:>6} {source:>3}-{target:<4} {alone:>13.1f} ms {mine:>7.1f} ms {peer:>6.0f} ms "
                  f"{mine / alone:>18.2f} {peer / mine:>16.1f}")


if __name__ == "__main__":
    main()
