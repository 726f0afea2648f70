"""What models of any size cost: processor seconds and peak memory of each command, and of what others take.

    python -m benchmarks.large [--only external,functions] [--scale 0.1] [--timeout 600] [--folder DIR]

Each form of model is built in a process of its own, and then converted from file to file, by one process per column:
onnx.load and onnx.save alone, onnx.version_converter between the two, and the command with and without its proof.
Seconds are those of the processor, and memory is the largest resident set, both as the operating system accounts them
for the process (Linux, macOS). `--scale` makes all forms smaller or larger; "sparse" needs no disk for its own data,
but a full copy of it.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper

ELEMENTS = 1 << 22
"""Of each weight: 16 MB."""

_MEGABYTES_OF_A_WEIGHT = 4 * ELEMENTS >> 20
_KILOBYTES = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of `ru_maxrss`, divided by what macOS takes for one."""


def _graph(
    nodes: Sequence[NodeProto], name: str, inputs: Mapping[str, tuple[int, Sequence[int | str] | None]], output: str
) -> GraphProto:
    infos = [helper.make_tensor_value_info(one, *kind) for one, kind in inputs.items()]
    return helper.make_graph(nodes, name, infos, [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)])


def _model(graph: GraphProto, opset: int = 13, **others: Sequence[onnx.FunctionProto]) -> ModelProto:
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid("of.functions", 1)] if others else []
    return helper.make_model(graph, opset_imports=imports, ir_version=8, **others)


def _centred(value: str, result: str) -> list[NodeProto]:
    """Nodes that subtract the mean; ReduceMean has other attributes at opset 18."""
    mean = f"{result}_mean"
    return [
        helper.make_node("ReduceMean", [value], [mean], axes=[-1]),
        helper.make_node("Sub", [value, mean], [result]),
    ]


def weights(path: Path, count: int, *, is_external: bool = False, is_sparse: bool = False) -> None:
    """Blocks that add a weight of 16 MB and subtract the mean."""
    nodes: list[NodeProto] = []
    value = "x"
    for number in range(max(count, 1)):
        nodes += [helper.make_node("Add", [value, f"w{number}"], [f"s{number}"]), *_centred(f"s{number}", f"c{number}")]
        value = f"c{number}"
    model = _model(_graph(nodes, "weights", {"x": (TensorProto.FLOAT, [1, ELEMENTS])}, value))
    random, size = numpy.random.default_rng(0), 4 * ELEMENTS
    with open(path.parent / "weights.bin", "wb") as file:
        for number in range(max(count, 1)):
            tensor = model.graph.initializer.add(name=f"w{number}", data_type=TensorProto.FLOAT, dims=[1, ELEMENTS])
            data = b"" if is_sparse else random.standard_normal(ELEMENTS, numpy.float32).tobytes()
            if not is_external:
                tensor.raw_data = data
                continue
            tensor.data_location = TensorProto.EXTERNAL
            for key, text in (("location", "weights.bin"), ("offset", number * size), ("length", size)):
                tensor.external_data.add(key=key, value=str(text))
            file.write(data)
        if is_sparse:
            file.truncate(max(count, 1) * size)
    path.write_bytes(model.SerializeToString())


def nested_ifs(path: Path, depth: int) -> None:
    """An If in a branch of an If, and so on."""
    graph = _graph(_centred("x", "innermost"), "innermost", {}, "innermost")
    for number in range(depth):
        other = _graph([helper.make_node("Neg", ["x"], [f"else{number}"])], f"else{number}", {}, f"else{number}")
        node = helper.make_node("If", ["c"], [f"if{number}"], then_branch=graph, else_branch=other)
        graph = _graph([node], f"then{number}", {}, f"if{number}")
    _save_with_inputs(path, graph)


def tree_of_ifs(path: Path, count: int) -> None:
    """A balanced tree of Ifs, an If in each branch."""

    def branch(left: int, name: str) -> GraphProto:
        if not left:
            return _graph(_centred("x", name), name, {}, name)
        half = (left - 1) // 2
        branches = branch(half, f"{name}t"), branch(left - 1 - half, f"{name}e")
        return _graph(
            [helper.make_node("If", ["c"], [name], then_branch=branches[0], else_branch=branches[1])], name, {}, name
        )

    _save_with_inputs(path, branch(count, "r"))


def _save_with_inputs(path: Path, graph: GraphProto) -> None:
    inputs: dict[str, tuple[int, Sequence[int | str]]] = {
        "x": (TensorProto.FLOAT, ["n", 4]),
        "c": (TensorProto.BOOL, []),
    }
    graph.input.extend(helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items())
    path.write_bytes(_model(graph).SerializeToString())


def functions(path: Path, count: int) -> None:
    """Functions of two nodes each, and one call of each."""
    imports = [helper.make_opsetid("", 13)]
    nodes, found, value = [], [], "x"
    for number in range(count):
        found.append(helper.make_function("of.functions", f"F{number}", ["a"], ["b"], _centred("a", "b"), imports))
        nodes.append(helper.make_node(f"F{number}", [value], [f"v{number}"], domain="of.functions"))
        value = f"v{number}"
    graph = _graph(nodes, "functions", {"x": (TensorProto.FLOAT, ["n", 4])}, value)
    path.write_bytes(_model(graph, functions=found).SerializeToString())


def wide(path: Path, operator: str, count: int) -> None:
    """One node with so many inputs."""
    names = [f"x{number}" for number in range(count)]
    node = helper.make_node(operator, names, ["y"])
    if operator == "Concat":
        node.attribute.append(helper.make_attribute("axis", 0))
    graph = _graph([node], "wide", dict.fromkeys(names, (TensorProto.FLOAT, [1, 2])), "y")
    path.write_bytes(_model(graph, 12).SerializeToString())


def layer_norms(path: Path, count: int) -> None:
    """The chain of LayerNorm blocks of the other benchmark."""
    from benchmarks.convert import layer_norm_model  # OpsetLift with it, which the others are measured without

    path.write_bytes(layer_norm_model(count, 13))


@dataclass(frozen=True)
class Form:
    """A form of large models."""

    size: int
    unit: str
    write: Callable[[Path, int], None]
    """Writes a model of the size that is given."""
    target: int = 18
    """The opset to convert it to."""
    is_read_whole: bool = True
    """Whether onnx.load can be asked to read it."""


FORMS: Mapping[str, Form] = {
    "inline": Form(1_500, "MB", lambda path, size: weights(path, size // _MEGABYTES_OF_A_WEIGHT)),
    "external": Form(3_000, "MB", lambda path, size: weights(path, size // _MEGABYTES_OF_A_WEIGHT, is_external=True)),
    "sparse": Form(
        20_000,
        "MB",
        lambda path, size: weights(path, size // _MEGABYTES_OF_A_WEIGHT, is_external=True, is_sparse=True),
        is_read_whole=False,
    ),
    "nodes": Form(100_000, "nodes", layer_norms),
    "nested": Form(30, "Ifs", nested_ifs),
    "tree": Form(10_000, "Ifs", tree_of_ifs),
    "functions": Form(5_000, "functions", functions),
    "concat": Form(10_000, "inputs", lambda path, size: wide(path, "Concat", size), 13),
    "sum": Form(10_000, "inputs", lambda path, size: wide(path, "Sum", size), 13),
}


def build(name: str, path: str, size: int) -> None:
    """Write a model."""
    FORMS[name].write(Path(path), size)


def others(source: str, target: str, opset: int, *, converts: bool) -> None:
    """Load a model and save it, converted by onnx's converter or as it is."""
    is_external = any(tensor.external_data for tensor in onnx.load(source, load_external_data=False).graph.initializer)
    model = onnx.load(source)
    if converts:
        model = onnx.version_converter.convert_version(model, opset)
    onnx.save(model, target, save_as_external_data=is_external, location="target.bin" if is_external else None)


def _call(function: str, *arguments: object, **named: object) -> list[str]:
    given = ", ".join([*map(repr, arguments), *(f"{name}={value!r}" for name, value in named.items())])
    return [sys.executable, "-c", f"from benchmarks import large; large.{function}({given})"]


def commands(form: Form, source: Path, target: Path) -> dict[str, list[str]]:
    """The commands to be measured, by the titles of their columns."""
    files = str(source), str(target)
    found = {}
    if form.is_read_whole:
        found["load + save"] = _call("others", *files, form.target, converts=False)
        found["C++ converter"] = _call("others", *files, form.target, converts=True)
    ours = [sys.executable, "-m", "opsetlift", "convert", *files, "--to", str(form.target), "--quiet", "--no-cache"]
    return {**found, "opsetlift --no-prove": [*ours, "--no-prove"], "opsetlift": ours}


TITLES = ("load + save", "C++ converter", "opsetlift --no-prove", "opsetlift")


def measured(command: Sequence[str], limit: int) -> str:
    """The processor seconds and the peak megabytes of a process, or how it failed."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limited) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        return f"over {limit} s" if process.returncode == -signal.SIGXCPU else "fails"
    megabytes = usage.ru_maxrss * _KILOBYTES / (1 << 20)
    return f"{usage.ru_utime + usage.ru_stime:.1f} s / {megabytes:,.0f} MB"


def main() -> None:
    """Run the command; the module's docstring describes it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(FORMS), help=f"forms: {', '.join(FORMS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="the factor of all sizes but the depth of nested Ifs")
    parser.add_argument("--timeout", type=int, default=600, help="processor seconds after which a process is stopped")
    parser.add_argument("--folder", help="where the models are written; by default that of temporary files")
    options = parser.parse_args()
    print(f"{'processor seconds / peak memory':<32}" + "".join(f"{title:>24}" for title in TITLES))
    for name in options.only.split(","):
        form = FORMS[name]
        size = form.size if name == "nested" else max(1, round(form.size * options.scale))
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            source, results = Path(folder, "source.onnx"), Path(folder, "results")
            subprocess.run(_call("build", name, str(source), size), check=True)
            print(f"{f'{name}, {size:,} {form.unit}':<32}", end="", flush=True)
            found = commands(form, source, results / "target.onnx")
            for title in TITLES:
                results.mkdir()
                cell = measured(found[title], options.timeout) if title in found else "-"
                print(f"{cell:>24}", end="", flush=True)
                shutil.rmtree(results)
            print()


if __name__ == "__main__":
    main()
