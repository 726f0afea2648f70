"""Nodes of ONNX's own tests with something changed or dropped: what is wrong with a model is no fault of OpsetLift.

`python -m tests.fuzzed_nodes SECONDS [SEED]` tries more than the tests do.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, numpy_helper

from opsetlift import ConversionRefused, InternalError, convert
from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.model.files import ModelFileError, validate_model
from testing.cases import Case, folder_cases, node_cases

OPSETS = (1, 4, 6, 8, 9, 10, 11, 12, 13, 15, 17, 18, 20, 22, 24, 26)

Change = Callable[[ModelProto, random.Random], object]
CHANGES: list[Change] = []


def change(function: Change) -> Change:
    """Something that may be wrong with a model, done to it in place."""
    CHANGES.append(function)
    return function


def _node(model: ModelProto, chance: random.Random) -> NodeProto:
    return chance.choice(model.graph.node)


def _attribute(model: ModelProto, chance: random.Random) -> AttributeProto | None:
    node = _node(model, chance)
    return chance.choice(node.attribute) if node.attribute else None


@change
def attribute_is_dropped(model: ModelProto, chance: random.Random) -> None:
    node = _node(model, chance)
    if node.attribute:
        del node.attribute[chance.randrange(len(node.attribute))]


@change
def attribute_is_of_another_kind(model: ModelProto, chance: random.Random) -> None:
    attribute = _attribute(model, chance)
    if attribute is not None:
        values: list[object] = [3, 1.5, "text", [1, 2], [1.5], ["a"], numpy_helper.from_array(numpy.arange(2))]
        attribute.CopyFrom(onnx.helper.make_attribute(attribute.name, chance.choice(values)))


@change
def attribute_is_of_another_value(model: ModelProto, chance: random.Random) -> None:
    attribute = _attribute(model, chance)
    if attribute is None:
        return
    number = chance.choice((-(2**63), -7, -1, 0, 1, 2, 99, 2**31, 2**63 - 1))
    if attribute.type == AttributeProto.INT:
        attribute.i = number
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = chance.choice((float("nan"), float("inf"), -1.0, 0.0, 1e30))
    elif attribute.type == AttributeProto.STRING:
        attribute.s = chance.choice((b"", b"nonsense", b"\xff\xfe"))
    elif attribute.type == AttributeProto.INTS:
        _change_list(attribute.ints, number, chance)
    elif attribute.type == AttributeProto.FLOATS:
        _change_list(attribute.floats, float(number), chance)
    elif attribute.type == AttributeProto.STRINGS:
        _change_list(attribute.strings, b"nonsense", chance)


def _change_list(values: list[object], new: object, chance: random.Random) -> None:
    match chance.randrange(4):
        case 0:
            values.append(new)
        case 1 if values:
            values.pop()
        case 2 if values:
            values[chance.randrange(len(values))] = new
        case _:
            del values[:]


@change
def input_is_dropped(model: ModelProto, chance: random.Random) -> None:
    node = _node(model, chance)
    if node.input:
        del node.input[chance.randrange(len(node.input))]


@change
def input_is_absent(model: ModelProto, chance: random.Random) -> None:
    node = _node(model, chance)
    if node.input:
        node.input[chance.randrange(len(node.input))] = ""


@change
def inputs_change_places(model: ModelProto, chance: random.Random) -> None:
    node = _node(model, chance)
    names = list(node.input)
    chance.shuffle(names)
    node.input[:] = names


@change
def input_is_added(model: ModelProto, chance: random.Random) -> None:
    node = _node(model, chance)
    if model.graph.input:
        node.input.append(chance.choice(model.graph.input).name)


@change
def outputs_are_dropped(model: ModelProto, chance: random.Random) -> None:
    node = _node(model, chance)
    if len(node.output) > 1:
        position = chance.randrange(len(node.output))
        for info in [info for info in model.graph.output if info.name == node.output[position]]:
            model.graph.output.remove(info)
        node.output[position] = ""


@change
def output_is_added(model: ModelProto, chance: random.Random) -> None:
    _node(model, chance).output.append("one_more")


@change
def input_has_another_rank(model: ModelProto, chance: random.Random) -> None:
    if model.graph.input:
        dims = chance.choice(model.graph.input).type.tensor_type.shape.dim
        if dims and chance.random() < 0.5:
            dims.pop()
        else:
            dims.add(dim_value=chance.choice((0, 1, 5)))


@change
def input_has_another_dtype(model: ModelProto, chance: random.Random) -> None:
    if model.graph.input:
        kind = chance.choice(model.graph.input).type
        kind.tensor_type.elem_type = chance.choice((TensorProto.STRING, TensorProto.INT32, TensorProto.DOUBLE, 10, 16))


@change
def input_has_no_shape(model: ModelProto, chance: random.Random) -> None:
    if model.graph.input:
        chance.choice(model.graph.input).type.tensor_type.ClearField("shape")


@change
def constant_is_another(model: ModelProto, chance: random.Random) -> None:
    if model.graph.initializer:
        place = chance.randrange(len(model.graph.initializer))
        name = model.graph.initializer[place].name
        values = [numpy.arange(3), numpy.array(7), numpy.zeros(0, numpy.int64), numpy.ones((2, 2), numpy.float32)]
        model.graph.initializer[place].CopyFrom(numpy_helper.from_array(chance.choice(values), name))


@cache
def _cases() -> tuple[Case, ...]:
    return tuple(
        case
        for case in (*node_cases(), *folder_cases())
        if case.data_sets and case.model.graph.node and case.model.ByteSize() < 50_000
    )


def _with_constants(case: Case, chance: random.Random) -> ModelProto:
    """The case's model, some inputs of which are initializers with the test's values."""
    model = ModelProto()
    model.CopyFrom(case.model)
    for name, value in case.inputs().items():
        if (
            isinstance(value, numpy.ndarray)
            and value.size < 100
            and value.dtype.kind in "iufb"
            and chance.random() < 0.5
        ):
            kept = [info for info in model.graph.input if info.name != name]
            del model.graph.input[:]
            model.graph.input.extend(kept)
            model.graph.initializer.append(numpy_helper.from_array(value, name))
    return model


def fuzzed(seed: int) -> Iterator[tuple[str, ModelProto, dict[str, Any]]]:
    """Changed models without end, each with words for what was done to which, and inputs that it once took."""
    chance = random.Random(seed)
    while True:
        case = chance.choice(_cases())
        model = _with_constants(case, chance)
        opset = chance.choice(OPSETS)
        if chance.random() < 0.6 and case.opset:
            try:
                model = convert(model, to=opset, prove=False, check=False).model
            except ConversionRefused:
                continue
        done = chance.sample(CHANGES, chance.choice((1, 1, 2)))
        for one in done:
            one(model, chance)
        names = {info.name for info in model.graph.input}
        inputs = {name: value for name, value in case.inputs().items() if name in names}
        yield f"{case.name} at {opset}: {', '.join(one.__name__ for one in done)}", model, inputs


def _is_small(model: ModelProto) -> bool:
    """Whether no attribute asks for more than can be computed here."""
    numbers = (number for node in model.graph.node for one in node.attribute for number in (one.i, *one.ints))
    return all(abs(number) < 1000 for number in numbers)


def outcome(model: ModelProto, to: int, inputs: Mapping[str, Any]) -> str:
    """How a conversion of a model that may be broken ends, after its execution: a fault of ours raises."""
    try:
        validate_model(model)
        if _is_small(model):
            with contextlib.suppress(EvaluationError):
                Evaluator(model, strict=False, iteration_limit=50).run(inputs)
        convert(model, to=to, prove=False, check=False)
    except ModelFileError:
        return "unusable"
    except ConversionRefused as refused:
        return refused.refusals[0].why.name
    return "converted"


def main() -> None:
    """Tries changed models for some seconds, and shows every fault of ours."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    faults: dict[str, str] = {}
    end = time.monotonic() + seconds
    for words, model, inputs in fuzzed(seed):
        to = chance.choice(OPSETS)
        try:
            counts[outcome(model, to, inputs)] += 1
        except Exception as error:
            counts["FAULT"] += 1
            shown = error.faults[0] if isinstance(error, InternalError) else None
            key = f"{shown.what}, {shown.transition}: {shown.error!r}" if shown else repr(error)[:200]
            faults.setdefault(key, f"{words} -> {to}")
        if time.monotonic() > end:
            break
    for key, words in sorted(faults.items()):
        print(f"{key}\n    {words}")
    print(dict(counts))


if __name__ == "__main__":
    main()
