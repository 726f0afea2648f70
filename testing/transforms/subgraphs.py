"""The model inside the body of an If, a Loop or a Scan, which reads its inputs from the outer scope."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from onnx.helper import make_graph, make_node, make_tensor_value_info

from testing.cases import Case
from testing.transforms.transform import (
    Transform,
    add_initializer,
    computes_its_outputs,
    copied,
    renamed,
    renamed_info,
    required_inputs,
    rewritten,
    tensor_of,
)

CONDITION = "the_condition"
RUNS = 2


def _inner_names(model: ModelProto) -> dict[str, str]:
    """New names for what nodes compute, so that a body's names differ from those of the outer scope."""
    return {name: f"inner_{name}" for node in model.graph.node for name in node.output if name}


def _can_move(case: Case) -> bool:
    tensors_only = all(info.type.WhichOneof("value") == "tensor_type" for info in case.model.graph.output)
    return computes_its_outputs(case.model) and tensors_only and CONDITION not in case.inputs()


def _body(model: ModelProto, name: str, names: dict[str, str], before: Sequence[ValueInfoProto] = ()) -> GraphProto:
    outputs = [renamed_info(info, names[info.name]) for info in model.graph.output]
    return make_graph(renamed(model.graph.node, names), name, before, outputs)


def _replace_nodes(model: ModelProto, *nodes: NodeProto) -> None:
    del model.graph.node[:]
    del model.graph.value_info[:]
    model.graph.node.extend(nodes)


def in_branch(case: Case) -> Case | None:
    """In both branches of an If whose condition is an input; the branches use the same names."""
    if not computes_its_outputs(case.model) or CONDITION in case.inputs():
        return None
    model = copied(case.model)
    names = _inner_names(model)
    branches = {f"{kind}_branch": _body(model, kind, names) for kind in ("then", "else")}
    _replace_nodes(model, make_node("If", [CONDITION], [info.name for info in model.graph.output], **branches))
    model.graph.input.append(make_tensor_value_info(CONDITION, TensorProto.BOOL, []))
    return rewritten(case, model, [*case.inputs().values(), numpy.array(True)])


def in_branch_of_branch(case: Case) -> Case | None:
    """Two deep; the outer If's condition is a constant, and its other branch computes something else."""
    inner = in_branch(case)
    if inner is None or not _can_move(case):
        return None
    model = copied(inner.model)
    add_initializer(model, tensor_of(numpy.array(True), "always"))
    names = {info.name: f"middle_{info.name}" for info in model.graph.output}
    branches = {f"{kind}_branch": _body(model, f"outer_{kind}", names) for kind in ("then", "else")}
    _replace_nodes(model, make_node("If", ["always"], [info.name for info in model.graph.output], **branches))
    return rewritten(case, model, list(inner.inputs().values()))


def _with_leading_axis(case: Case, model: ModelProto) -> list[object]:
    """Give the graph's outputs a leading axis, one index per run; the expected outputs then."""
    for info in model.graph.output:
        if info.type.tensor_type.HasField("shape"):
            sizes = list(info.type.tensor_type.shape.dim)
            info.type.tensor_type.shape.ClearField("dim")
            info.type.tensor_type.shape.dim.add().dim_value = RUNS
            info.type.tensor_type.shape.dim.extend(sizes)
    return [numpy.stack([numpy.asarray(value)] * RUNS) for value in case.expected()]


def _first_tensor(case: Case) -> ValueInfoProto | None:
    """The first input, where it is a tensor that a node reads."""
    first = next(iter(required_inputs(case.model)), None)
    if first is None or first.type.WhichOneof("value") != "tensor_type" or first.name not in case.inputs():
        return None
    return first if any(first.name in node.input for node in case.model.graph.node) else None


def in_loop(case: Case) -> Case | None:
    """In a Loop of two runs, which carries the first input and stacks the outputs."""
    first = _first_tensor(case)
    if first is None or not _can_move(case):
        return None
    model = copied(case.model)
    names = _inner_names(model) | {first.name: "carried"}
    body = _body(
        model,
        "body",
        names,
        [
            make_tensor_value_info("run", TensorProto.INT64, []),
            make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            renamed_info(first, "carried"),
        ],
    )
    body.node.append(make_node("Identity", ["goes_on"], ["goes_on_still"]))
    body.node.append(make_node("Identity", ["carried"], ["carried_on"]))
    body.output.insert(0, make_tensor_value_info("goes_on_still", TensorProto.BOOL, []))
    body.output.insert(1, renamed_info(first, "carried_on"))
    expected = _with_leading_axis(case, model)
    outputs = ["carried_out", *(info.name for info in model.graph.output)]
    _replace_nodes(model, make_node("Loop", ["runs", "", first.name], outputs, body=body))
    add_initializer(model, tensor_of(numpy.array(RUNS, numpy.int64), "runs"))
    return rewritten(case, model, None, expected)


def in_scan(case: Case) -> Case | None:
    """In a Scan of two steps over the first input, which the caller gives twice, and another one that it captures."""
    first = _first_tensor(case)
    if first is None or case.opset < 9 or not _can_move(case):
        return None
    model = copied(case.model)
    names = _inner_names(model) | {first.name: "slice_of_first"}
    body = _body(model, "body", names, [renamed_info(first, "slice_of_first")])
    expected = _with_leading_axis(case, model)
    outputs = [info.name for info in model.graph.output]
    _replace_nodes(model, make_node("Scan", [first.name], outputs, body=body, num_scan_inputs=1))
    scanned = next(info for info in model.graph.input if info.name == first.name)
    if scanned.type.tensor_type.HasField("shape"):
        sizes = list(scanned.type.tensor_type.shape.dim)
        scanned.type.tensor_type.shape.ClearField("dim")
        scanned.type.tensor_type.shape.dim.add().dim_value = RUNS
        scanned.type.tensor_type.shape.dim.extend(sizes)
    values = case.inputs()
    values[first.name] = numpy.stack([numpy.asarray(values[first.name])] * RUNS)
    return rewritten(case, model, list(values.values()), expected)


def twice_from_shared_inputs(case: Case) -> Case | None:
    """Every node twice, both reading the same inputs and initializers."""
    if not computes_its_outputs(case.model):
        return None
    model = copied(case.model)
    names = {name: f"again_{name}" for node in model.graph.node for name in node.output if name}
    model.graph.node.extend(renamed(case.model.graph.node, names))
    model.graph.output.extend(renamed_info(info, names[info.name]) for info in case.model.graph.output)
    return rewritten(case, model, None, [*case.expected(), *case.expected()])


def output_read_again(case: Case) -> Case | None:
    """Each output is read by another node, too, whose result is an output."""
    if not _can_move(case):
        return None
    model = copied(case.model)
    for info in case.model.graph.output:
        model.graph.node.append(make_node("Identity", [info.name], [f"same_{info.name}"]))
        model.graph.output.append(renamed_info(info, f"same_{info.name}"))
    return rewritten(case, model, None, [*case.expected(), *case.expected()])


SUBGRAPHS = tuple(
    Transform(apply.__name__, apply)
    for apply in (in_branch, in_branch_of_branch, in_loop, in_scan, twice_from_shared_inputs, output_read_again)
)
