"""How cost grows with size: the time per node on graphs of 1,000 to 100,000 nodes, of several forms.

    python -m benchmarks.scaling [--largest 100000] [--only convert,normalize,reach] [--form "deep, Constant nodes"]

Each line is one job on one form of graph; the last column divides the time per node of the largest graph by that of the
smallest. Cost is linear where it stays near 1; above 1.5 the line is marked and the exit status is 1.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Sequence

import numpy
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

import opsetlift

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
WORST_GROWTH = 1.5
CHANNELS = 80
"""Elements of a weight: enough that the proof takes it for one, and not each value for a case of its own."""
ENOUGH_SECONDS = 2.0
"""Short jobs are repeated for so long, at the most five times; the shortest counts."""


def reductions(count: int, *, is_wide: bool, has_constant_nodes: bool) -> ModelProto:
    """A model of about `count` nodes at opset 18: blocks of Mul and ReduceMean, each with a weight and axes of its own.

    Args:
        count: How many nodes, those of constants included.
        is_wide: Whether all blocks read the input of the model and are joined by Concat nodes of up to 16 inputs,
            instead of reading one another.
        has_constant_nodes: Whether axes are Constant nodes, instead of initializers.
    """
    nodes: list[NodeProto] = []
    initializers: list[TensorProto] = []
    results: list[str] = []
    value = "input"
    for number in range(count // (3 if has_constant_nodes else 2)):
        weight = numpy_helper.from_array(numpy.full(CHANNELS, number, numpy.float32), f"weight_{number}")
        axes = numpy_helper.from_array(numpy.array([-1]), f"axes_{number}")
        initializers.append(weight)
        if has_constant_nodes:
            nodes.append(helper.make_node("Constant", [], [axes.name], value=axes))
        else:
            initializers.append(axes)
        prefix = f"block.{number}"
        nodes.append(helper.make_node("Mul", [value, weight.name], [f"scaled_{number}"], name=f"{prefix}/Mul"))
        results.append(f"mean_{number}")
        nodes.append(
            helper.make_node("ReduceMean", [f"scaled_{number}", axes.name], results[-1:], name=f"{prefix}/Mean")
        )
        value = value if is_wide else results[-1]
    while is_wide and len(results) > 1:
        groups = [results[start : start + 16] for start in range(0, len(results), 16)]
        results = [f"joined_{len(nodes) + number}" for number in range(len(groups))]
        for group, result in zip(groups, results, strict=True):
            nodes.append(helper.make_node("Concat", group, [result], name=f"{result}/Concat", axis=1))
    return _model(nodes, initializers, results[-1])


def branches(count: int) -> ModelProto:
    """A model of about `count` nodes at opset 18: a chain of Ifs with three nodes in each branch."""
    nodes: list[NodeProto] = []
    value = "input"
    for number in range(count // 7):
        arms = {name: _branch(value, f"{name}_{number}") for name in ("then_branch", "else_branch")}
        nodes.append(helper.make_node("If", ["condition"], [f"chosen_{number}"], name=f"if.{number}", **arms))
        value = f"chosen_{number}"
    condition = helper.make_tensor_value_info("condition", TensorProto.BOOL, [])
    return _model(nodes, [], value, condition)


def quantized(count: int) -> ModelProto:
    """A model of about `count` nodes at opset 18: a chain of sums with a weight, each quantized and dequantized."""
    nodes: list[NodeProto] = []
    initializers = [
        numpy_helper.from_array(numpy.float32(0.05), "scale"),
        numpy_helper.from_array(numpy.uint8(128), "zero"),
        numpy_helper.from_array(numpy.ones(CHANNELS, numpy.float32), "weight"),
    ]
    value = "input"
    for number in range(count // 3):
        names = [f"{name}_{number}" for name in ("sum", "quantized", "value")]
        nodes.append(helper.make_node("Add", [value, "weight"], names[:1], name=f"block.{number}/Add"))
        for name, read, given in zip(("QuantizeLinear", "DequantizeLinear"), names, names[1:], strict=False):
            nodes.append(helper.make_node(name, [read, "scale", "zero"], [given], name=f"block.{number}/{name}"))
        value = names[-1]
    return _model(nodes, initializers, value)


def _branch(captured: str, name: str) -> GraphProto:
    axes = numpy_helper.from_array(numpy.array([-1]))
    nodes = [
        helper.make_node("Constant", [], [f"{name}_axes"], value=axes),
        helper.make_node("ReduceMean", [captured, f"{name}_axes"], [f"{name}_mean"], name=f"{name}/mean"),
        helper.make_node("Sub", [captured, f"{name}_mean"], [f"{name}_result"], name=f"{name}/sub"),
    ]
    output = helper.make_tensor_value_info(f"{name}_result", TensorProto.FLOAT, None)
    return helper.make_graph(nodes, name, [], [output])


def _model(nodes: Sequence[NodeProto], initializers: Sequence[TensorProto], output: str, *inputs: object) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "scaling",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", CHANNELS]), *inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", None])],
        initializers,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


FORMS: dict[str, Callable[[int], ModelProto]] = {
    "deep, initializers": lambda count: reductions(count, is_wide=False, has_constant_nodes=False),
    "deep, Constant nodes": lambda count: reductions(count, is_wide=False, has_constant_nodes=True),
    "wide, initializers": lambda count: reductions(count, is_wide=True, has_constant_nodes=False),
    "wide, Constant nodes": lambda count: reductions(count, is_wide=True, has_constant_nodes=True),
    "Ifs in a chain": branches,
    "quantized": quantized,
}

JOBS: dict[str, Callable[[ModelProto], object]] = {
    "convert 18 to 13, no proof": lambda model: opsetlift.convert(model, to=13, prove=False),
    "convert 18 to 13": lambda model: opsetlift.convert(model, to=13),
    "convert 18 to 25": lambda model: opsetlift.convert(model, to=25),
    "for OpenVINO 2022.3, no proof": lambda model: opsetlift.convert(model, target="openvino==2022.3", prove=False),
    "normalize, no proof": lambda model: opsetlift.normalize(model, prove=False),
    "reach": opsetlift.reach,
}

SLOW_JOBS = {"reach": 3_000, "for OpenVINO 2022.3, no proof": 10_000}
"""Jobs that take long, with the largest graph that they are run on."""


def seconds(job: Callable[[ModelProto], object], model: ModelProto) -> float:
    """The shortest processor time of a job, of as many runs as are worth their time."""
    durations: list[float] = []
    while sum(durations) < ENOUGH_SECONDS and len(durations) < 5:
        gc.collect()
        start = time.process_time()
        job(model)
        durations.append(time.process_time() - start)
    return min(durations)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the most nodes of a graph")
    parser.add_argument("--only", default="", help="jobs whose names begin so, separated by commas")
    parser.add_argument("--form", default="", help="forms of graphs whose names contain this")
    chosen = parser.parse_args(arguments)
    sizes = [size for size in SIZES if size <= chosen.largest]
    print("microseconds per node".ljust(52) + "".join(f"{size:>10,}" for size in sizes) + f"{'growth':>10}")
    is_linear = True
    for form, build in FORMS.items():
        if chosen.form not in form:
            continue
        models = [build(size) for size in sizes]
        for name, job in JOBS.items():
            if not name.startswith(tuple(chosen.only.split(","))):
                continue
            measured = [size for size in sizes if size <= SLOW_JOBS.get(name, size)]
            times = [1e6 * seconds(job, model) / size for size, model in zip(measured, models, strict=False)]
            growth = times[-1] / times[0]
            is_linear &= growth <= WORST_GROWTH
            columns = [f"{each:>10.0f}" for each in times] + [f"{'-':>10}"] * (len(sizes) - len(times))
            mark = "" if growth <= WORST_GROWTH else "  more than linear"
            print(f"{name + ': ' + form:<52}{''.join(columns)}{growth:>10.2f}{mark}", flush=True)
    return 0 if is_linear else 1


if __name__ == "__main__":
    sys.exit(main())
