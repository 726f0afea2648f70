"""Converts ONNX's node tests, each inside a network, for releases of runtimes, runs them there and prints a table.

    python -m tests.legacy.inside [--only REGEX] RUNTIME=COMMAND ...

RUNTIME and COMMAND are those of tests.legacy.exported. The inputs of a network are of float and four axes; a Reshape
and a Cast make of each what the test takes, and the other way round at the end. So runtimes that take nothing else are
tried, and optimisers find neighbours. A test gives two networks: all inputs computed, and all but the first constant.
Left out are tests with other values than tensors of float, integers and bool, without elements, or with random numbers.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

import numpy
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference

from opsetlift.evaluator import EvaluationError, Evaluator
from testing.cases import Case, node_cases
from tests.legacy.exported import Exported, print_table

_KINDS = "fiub"
_OPSET_BESIDE_OTHER_DOMAINS = 13
_RANDOM = re.compile("bernoulli|random|multinomial|training_dropout")


def network(case: Case, *, constants: bool) -> Exported | None:
    """A test's model inside a network with the inputs of its first data set; None where it cannot be wrapped.

    Args:
        case: The test.
        constants: Whether all inputs of the test but the first are constants of the network.
    """
    given = case.inputs()
    outputs = case.expected()
    values = [*given.values(), *outputs]
    if not all(isinstance(value, numpy.ndarray) and value.dtype.kind in _KINDS and value.size for value in values):
        return None
    # What a float cannot hold would be another input than the test's.
    if not all((value.astype(numpy.float32).astype(value.dtype) == value).all() for value in _integers(given.values())):
        return None
    if constants and len(given) < 2:
        return None
    model = ModelProto()
    model.CopyFrom(case.model)
    if not case.opset:
        model.opset_import.add(version=_OPSET_BESIDE_OTHER_DOMAINS)
    graph = model.graph
    inner = [*graph.node]
    infos = {info.name: info for info in graph.input}
    produced = [info.name for info in graph.output]
    del graph.node[:], graph.input[:], graph.output[:]
    inputs = {}
    for position, (name, value) in enumerate(given.items()):
        if constants and position:
            graph.initializer.append(numpy_helper.from_array(value, name))
            continue
        source, cast = f"{name}_source", infos[name].type.tensor_type.elem_type != TensorProto.FLOAT
        inputs[source] = value.astype(numpy.float32).reshape(_of_four_axes(value.shape))
        graph.input.append(helper.make_tensor_value_info(source, TensorProto.FLOAT, inputs[source].shape))
        _reshape(model, source, f"{name}_shaped" if cast else name, value.shape)
        if cast:
            to = infos[name].type.tensor_type.elem_type
            graph.node.append(helper.make_node("Cast", [f"{name}_shaped"], [name], f"{name}_cast", to=to))
    graph.node.extend(inner)
    for name, value in zip(produced, outputs, strict=True):
        read = name
        if value.dtype != numpy.float32:
            read = f"{name}_float"
            graph.node.append(helper.make_node("Cast", [name], [read], f"{read}_cast", to=TensorProto.FLOAT))
        shape = _of_four_axes(value.shape)
        _reshape(model, read, f"{name}_result", shape)
        graph.output.append(helper.make_tensor_value_info(f"{name}_result", TensorProto.FLOAT, shape))
    try:
        model = shape_inference.infer_shapes(model)
        expected = Evaluator(model, strict=False).run(inputs)
    except (EvaluationError, ValueError, TypeError, shape_inference.InferenceError):
        return None
    return Exported(f"{case.name}-{'constants' if constants else 'computed'}", model, inputs, expected)


def _integers(values: Any) -> Iterator[Any]:
    return (value for value in values if value.dtype.kind != "f")


def _of_four_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) > 4:
        return (int(numpy.prod(shape[:-3])), *shape[-3:])
    return (1,) * (4 - len(shape)) + shape


def _reshape(model: ModelProto, source: str, to: str, shape: tuple[int, ...]) -> None:
    sizes = numpy_helper.from_array(numpy.array(shape, numpy.int64), f"{to}_sizes")
    model.graph.initializer.append(sizes)
    model.graph.node.append(helper.make_node("Reshape", [source, sizes.name], [to], f"{to}_reshape"))


def networks(only: str = "") -> Iterator[Exported]:
    """The networks whose names a regular expression finds."""
    for case in node_cases():
        if not _RANDOM.search(case.name):
            for constants in (False, True):
                found = network(case, constants=constants) if re.search(only, case.name) else None
                if found:
                    yield found


def main() -> None:
    """Print the table for the networks that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pairs", nargs="+", metavar="RUNTIME=COMMAND")
    parser.add_argument("--only", default="", metavar="REGEX")
    arguments = parser.parse_args()
    print_table(list(networks(arguments.only)), arguments.pairs)


if __name__ == "__main__":
    main()
