"""ReduceMin, ReduceMean and Min: every definition to every opset, every dtype, generated from onnx.defs.

Each case is either converted with an equal result, or refused for one of the two reasons there are: a dtype that
nothing at the target takes, and 64-bit integers before anything combined them. One model per operator, opset and dtype
holds several nodes, so that thousands of conversions stay fast.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy
import onnx
import pytest
from onnx import helper

from opsetlift import ConversionRefused, convert
from opsetlift.evaluator import Evaluator
from opsetlift.model.arrays import tensor_of
from opsetlift.specification import history
from opsetlift.specification.dtypes import dtype_of_type, element_type, numpy_dtype
from opsetlift.support.refusal import Why
from testing.values import edge_values, same

OPSETS = range(1, history.latest_opset() + 1)
OPERATORS = ("ReduceMin", "ReduceMean", "Min")


def dtypes_at(operator: str, opset: int) -> frozenset[str]:
    definition = history.definition("", operator, opset)
    assert definition is not None
    return frozenset(map(dtype_of_type, definition.types_by_variable["T"]))


def all_dtypes(operator: str) -> list[str]:
    return sorted({dtype for opset in OPSETS for dtype in dtypes_at(operator, opset)})


def some_operator_takes(dtype: str, opset: int) -> bool:
    """Read off the schemas in a way of its own: does any operator at `opset` have this dtype among its types?"""
    return any(
        f"tensor({dtype})" in constraint.allowed_type_strs
        for (domain, _), found in history.histories().items()
        if domain == "" and (definition := found.at(opset))
        for constraint in definition.schema.type_constraints
    )


def cannot_be_combined(operator: str, dtype: str, opset: int) -> bool:
    """Concat, the first operator to take two 64-bit integer tensors, takes them from opset 4 on."""
    return operator == "Min" and dtype in ("int64", "uint64") and opset < 4


def reduction_model(operator: str, opset: int, dtype: str) -> onnx.ModelProto:
    nodes, initializers, outputs = [], [], []
    cases = [("x", [1], 1), ("x", [0, 2], 0), ("x", None, 1), ("x", None, 0), ("scalar", None, 1)]
    if operator == "ReduceMin":
        cases += [("empty", [0], 1), ("empty", None, 0), ("empty", [1], 0), ("dynamic", [1], 1)]
    if opset >= 11:
        cases += [("x", [-1, 0], 1)]
    for data, axes, keepdims in cases:
        name = f"y{len(nodes)}"
        if opset >= 18 and axes is not None:
            initializers.append(tensor_of(numpy.array(axes, numpy.int64), f"{name}_given"))
            nodes.append(helper.make_node(operator, [data, f"{name}_given"], [name], keepdims=keepdims))
        else:
            attributes = {} if axes is None else {"axes": axes}
            nodes.append(helper.make_node(operator, [data], [name], keepdims=keepdims, **attributes))
        outputs.append(helper.make_tensor_value_info(name, element_type(dtype), None))
    inputs = {"x": [2, 3, 2], "scalar": [], "empty": [0, 3], "dynamic": ["A", "B"]}
    return finished(nodes, inputs, outputs, initializers, opset, dtype)


def minimum_model(opset: int, dtype: str) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Min", ["x"], ["one"]),
        helper.make_node("Min", ["x", "x2"], ["two"]),
        helper.make_node("Min", ["x", "x2", "x"], ["three"]),
    ]
    inputs = {"x": [2, 3], "x2": [2, 3]}
    if opset >= 8:
        nodes.append(helper.make_node("Min", ["x", "row", "column", "scalar"], ["broadcast"]))
        nodes.append(helper.make_node("Min", ["empty", "row"], ["nothing"]))
        inputs.update(row=[3], column=[2, 1], scalar=[], empty=[0, 3])
    outputs = [helper.make_tensor_value_info(node.output[0], element_type(dtype), None) for node in nodes]
    return finished(nodes, inputs, outputs, [], opset, dtype)


def finished(nodes, inputs, outputs, initializers, opset, dtype) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, element_type(dtype), shape) for name, shape in inputs.items()]
    graph = helper.make_graph(nodes, "table", infos, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@cache
def source_model(operator: str, opset: int, dtype: str) -> onnx.ModelProto:
    return minimum_model(opset, dtype) if operator == "Min" else reduction_model(operator, opset, dtype)


def values_for(model: onnx.ModelProto, dtype: str) -> dict[str, numpy.ndarray]:
    values = {}
    for info in model.graph.input:
        shape = [dim.dim_value if dim.HasField("dim_value") else 3 for dim in info.type.tensor_type.shape.dim]
        values[info.name] = edge_values(dtype, shape, seed=len(values))
    return values


@cache
def expected(operator: str, opset: int, dtype: str) -> dict[str, numpy.ndarray]:
    model = source_model(operator, opset, dtype)
    return Evaluator(model).run(values_for(model, dtype))


def attempted(model: onnx.ModelProto, target: int) -> tuple[onnx.ModelProto | None, str]:
    """The converted model, or the refusals, each of which has to be one of a dtype."""
    try:
        return convert(model, to=target, prove=False, check=False, exact=True).model, ""
    except ConversionRefused as refused:
        reasons = {refusal.why for refusal in refused.refusals}
        text = str(refused)
    assert reasons == {Why.DTYPE_NOT_AVAILABLE}, (target, text)
    return None, text


def cases() -> Iterator[tuple[str, str, int]]:
    for operator in OPERATORS:
        for dtype in all_dtypes(operator):
            for source in ends_of_definitions(operator):
                if dtype in dtypes_at(operator, source):
                    yield operator, dtype, source


def ends_of_definitions(operator: str) -> list[int]:
    """The first and the last opset of each definition: those between mean the same."""
    starts = {definition.since_version for opset in OPSETS if (definition := history.definition("", operator, opset))}
    return sorted({*starts, *(start - 1 for start in starts if start > 1), OPSETS[-1]})


def meaning(model: onnx.ModelProto, opset: int) -> tuple[bytes, ...]:
    """What an execution depends on: the graph, and the definitions in force of its operators."""
    operators = sorted({node.op_type for node in model.graph.node})
    found = [history.definition("", operator, opset) for operator in operators]
    versions = [
        f"{operator}-{one.since_version}".encode() for operator, one in zip(operators, found, strict=True) if one
    ]
    return (model.graph.SerializeToString(deterministic=True), *versions)


@pytest.mark.quick_share(120)
@pytest.mark.parametrize(("operator", "dtype", "source"), list(cases()), ids=str)
def test_from_one_opset_to_every_other(operator, dtype, source):
    model = source_model(operator, source, dtype)
    wanted = expected(operator, source, dtype)
    executed = set()
    for target in OPSETS:
        result, refused = attempted(model, target)
        if cannot_be_combined(operator, dtype, target):
            assert f"combines two {dtype} tensors" in refused
            continue
        if not some_operator_takes(dtype, target):
            assert f"no operator of opset 12 accepts {dtype}" in refused
            continue
        assert result is not None, (target, refused)
        if (meant := meaning(result, target)) in executed:
            continue
        executed.add(meant)
        found = Evaluator(result).run(values_for(model, dtype))
        for name, value in wanted.items():
            assert same(found[name], value), (target, name, found[name], value)


def test_the_table_covers_both_ways_and_thousands_of_pairs():
    assert len(list(cases())) * len(OPSETS) > 5000
    assert numpy_dtype("bfloat16").itemsize == 2
