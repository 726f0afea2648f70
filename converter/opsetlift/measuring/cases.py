"""Models of one node that tell what a runtime computes, and what each of them has in common with others.

A case is an example (examples.py) with one thing changed: the dtypes, which inputs are constants, the sizes that are
left open, a rank, an attribute. What the evaluator rejects is no case; what it computes is what the runtime is to give.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, product
from math import prod
from typing import Any

import numpy
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TypeProto, helper, numpy_helper
from onnx.defs import OpSchema

from opsetlift.evaluator import EvaluationError, Evaluator
from opsetlift.facts import ModelFacts
from opsetlift.measuring.chains import Producer, producers_of, put_activation_behind
from opsetlift.measuring.examples import MOST_ELEMENTS, OLDEST_OPSET, Example
from opsetlift.measuring.features import Feature, features_of
from opsetlift.model.arrays import Array
from opsetlift.model.ir_version import minimum_for_opsets
from opsetlift.model.scopes import subgraphs
from opsetlift.specification import dtypes
from opsetlift.specification.history import AI_ONNX, history, latest_opset
from opsetlift.specification.operands import input_operands

STATIC, OPEN, UNRANKED = "static", "open", "unranked"

_MOST_EXAMPLES = 8
_MOST_CASES = 500
_MOST_COMBINATIONS = 48
_RANKS = range(7)
_DTYPE_ATTRIBUTES = frozenset(["to", "dtype", "output_dtype"])
"""Attributes that name the dtype of an output."""
_LEAST_LIMIT = 127
"""What all integer dtypes of 8 bits and more hold."""

_SATURATING = frozenset(["QuantizeLinear", "DynamicQuantizeLinear"])
"""Operators that saturate, so that floats beyond the integers have a result, too."""

_NOT_TRIED = frozenset(["complex64", "complex128"])


@dataclass(frozen=True)
class Case:
    """A model, inputs, and the outputs that it has by the specification."""

    key: tuple[str, str, int]
    """Domain, operator and since-version of the node that it is about."""
    opset: int
    model: ModelProto
    inputs: Mapping[str, Array]
    expected: Mapping[str, Array]
    dtypes: Mapping[str, str]
    """By the type variables of the node."""
    features: frozenset[Feature]
    is_random: bool = False
    """Whether only dtypes and shapes of the outputs can be compared."""

    @cached_property
    def identity(self) -> str:
        """What a journal knows the case by."""
        digest = hashlib.sha256(self.model.SerializeToString(deterministic=True))
        for name, value in sorted(self.inputs.items()):
            content = value.astype(str) if value.dtype.kind == "O" else value
            digest.update(f"{name}{value.dtype}{value.shape}".encode() + content.tobytes())
        return digest.hexdigest()[:20]


@dataclass(frozen=True)
class Layout:
    """How a node's inputs get into the model."""

    constants: frozenset[int] = frozenset()
    """Inputs that are initializers; the others are inputs of the model."""
    sizes: str = STATIC
    compares: bool = False
    """Whether truth values are the results of comparisons, as in most models, and no inputs of the model."""
    before: Producer | None = None
    """What computes the first input from an input of the model that has the same shape and dtype."""


def cases_of(found: Sequence[Example]) -> Iterator[Case]:
    """The cases of one operator version, each once."""
    seen: set[str] = set()
    usual = islice(_with_comparisons(_varied(found)), _MOST_CASES)
    for example, layout in chain(usual, _at_later_opsets(found)):
        case = build(example, layout)
        if case is not None and case.identity not in seen:
            seen.add(case.identity)
            yield case


def _at_later_opsets(found: Sequence[Example]) -> Iterator[tuple[Example, Layout]]:
    """The first example in each dtype at the later opsets of its version, where a function defines the operator.

    Runtimes expand functions into nodes that they may not know at a later opset.
    """
    for example in _different(found)[:1]:
        if example.domain != AI_ONNX or not example.definition.has_function:
            continue
        known = history(example.domain, example.node.op_type)
        assert known is not None
        since = example.definition.since_version
        after = next((one for one in known.since_versions if one > since), latest_opset() + 1)
        for other in (example, *_in_other_dtypes(example)):
            for opset in range(example.opset + 1, after):
                yield replace(other, opset=opset), _usual_layouts(other)[0]


def _with_comparisons(varied: Iterable[tuple[Example, Layout]]) -> Iterator[tuple[Example, Layout]]:
    """What is varied, and that with truth values which are computed: few runtimes take them as inputs of a model."""
    for example, layout in varied:
        yield example, layout
        if any(
            value is not None and value.dtype.kind == "b" and place not in layout.constants
            for place, value in enumerate(example.values)
        ):
            yield example, replace(layout, compares=True)


def _varied(found: Sequence[Example]) -> Iterator[tuple[Example, Layout]]:
    chosen = _different(found)
    for example in chosen:
        for layout in _usual_layouts(example):
            yield example, layout
    # Some dtypes allow few values of optional inputs, as int32 the zero point 0.
    for example in (*chosen[:2], *map(_without_optional_inputs, chosen[:1])):
        for other in _in_other_dtypes(example):
            # A runtime may take axes and the like as constants only, whatever the dtype.
            for layout in _usual_layouts(other):
                yield other, layout
    for example in chosen[:1]:
        for layout in _more_layouts(example):
            yield example, layout
    for example in chosen:
        changed = (_with_attributes_changed, _with_operands_left_out, _with_scalars)
        for other in chain.from_iterable(change(example) for change in changed):
            yield other, _usual_layouts(other)[0]
    for example in chosen[:3]:
        for other in _with_attributes_changed(example):
            # A flag may matter for computed inputs alone, as allowzero of a Reshape.
            yield other, Layout()
    for example in chosen[:1]:
        for other in _with_a_last_window(example):
            yield other, Layout()
    for example in chosen[:3]:
        constants = _usual_layouts(example)[0].constants
        for before in producers_of(example):
            yield example, Layout(constants, before=before)
    for example in chosen[:2]:
        for other in (*_at_other_ranks(example), *_empty(example), *_counted_from_back(example)):
            yield other, _usual_layouts(other)[0]


def _different(found: Sequence[Example]) -> list[Example]:
    """A few examples that differ in most: first what has a form that none before has."""
    seen: set[object] = set()
    fresh: list[Example] = []
    rest: list[Example] = []
    for example in sorted(found, key=lambda one: len(one.node.attribute)):
        traits = {
            *((one.name, one.type, one.i, one.s) for one in example.node.attribute),
            *((place, value is None or value.ndim) for place, value in enumerate(example.values)),
            *((dtypes.name_of_numpy_dtype(value.dtype),) for value in example.values if value is not None),
            len(example.node.output),
        }
        (rest if traits <= seen else fresh).append(example)
        seen |= traits
    return [*fresh, *rest][:_MOST_EXAMPLES]


def _usual_layouts(example: Example) -> list[Layout]:
    """Constants for all inputs but the first, as exporters write most nodes; and all inputs computed."""
    places = [place for place, value in enumerate(example.values) if value is not None]
    if len(places) < 2:
        return [Layout()]
    return [Layout(frozenset(places[1:])), Layout()]


def _more_layouts(example: Example) -> Iterator[Layout]:
    places = [place for place, value in enumerate(example.values) if value is not None]
    for place in places if len(places) > 1 else []:
        yield Layout(frozenset([place]))
        yield Layout(frozenset(places) - {place})
    for sizes in (OPEN, UNRANKED):
        yield Layout(frozenset(places[1:]), sizes)
        yield Layout(sizes=sizes)


def _in_other_dtypes(example: Example) -> Iterator[Example]:
    """The example in each of the dtypes that its type variables may stand for."""
    definition = example.definition
    inputs = input_operands(example.node, definition)
    allowed: dict[str, list[str]] = {}
    for one in inputs:
        names = filter(None, map(dtypes.dtype_of_type, one.allowed))
        allowed.setdefault(one.variable, sorted(set(names) - _NOT_TRIED))
    combinations = list(product(*allowed.values()))
    if len(combinations) > _MOST_COMBINATIONS:
        combinations = [*_one_at_a_time(example, allowed), *_alike(example, allowed)]
    for chosen in combinations:
        wanted = dict(zip(allowed, chosen, strict=True))
        values = list(example.values)
        for one in inputs:
            value = values[one.position]
            assert value is not None
            values[one.position] = _cast(value, wanted[one.variable])
        for node in _giving_other_dtypes(example.node, definition.schema):
            yield Example(node, example.opset, tuple(values), example.source)


def _one_at_a_time(example: Example, allowed: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    usual = _usual_dtypes(example)
    for variable, names in allowed.items():
        for name in names:
            yield tuple({**usual, variable: name}[one] for one in allowed)


def _alike(example: Example, allowed: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Each dtype for all variables together that may stand for it: some kernels take no other combination."""
    usual = _usual_dtypes(example)
    for dtype in sorted(set(chain.from_iterable(allowed.values()))):
        yield tuple(dtype if dtype in names else usual[one] for one, names in allowed.items())


def _usual_dtypes(example: Example) -> dict[str, str]:
    return {
        one.variable: dtypes.name_of_numpy_dtype(value.dtype)
        for one in input_operands(example.node, example.definition)
        if (value := example.values[one.position]) is not None
    }


def _giving_other_dtypes(node: NodeProto, schema: OpSchema) -> Iterator[NodeProto]:
    """A node as it is, or where an attribute names the dtype of its output, one for each dtype."""
    named = next((one for one in _DTYPE_ATTRIBUTES if one in schema.attributes), None)
    tensor = next((one for one in node.attribute if one.type == AttributeProto.TENSOR), None)
    if tensor is not None:
        value = numpy_helper.to_array(tensor.t)
        for name in sorted(filter(None, map(dtypes.dtype_of_type, schema.type_constraints[-1].allowed_type_strs))):
            if name not in _NOT_TRIED:
                yield _with_attribute(node, tensor.name, numpy_helper.from_array(_cast(value, name)))
        return
    if named is None or schema.attributes[named].type != OpSchema.AttrType.INT:
        yield node
        return
    constraint = next(
        (one for one in schema.type_constraints if one.type_param_str == schema.outputs[0].type_str), None
    )
    for spelt in sorted(constraint.allowed_type_strs) if constraint else ():
        dtype = dtypes.dtype_of_type(spelt)
        if dtype and dtype not in _NOT_TRIED:
            yield _with_attribute(node, named, dtypes.element_type(dtype))


def _cast(value: Array, dtype: str) -> Array:
    """The values in another dtype; numbers stay small, so that most dtypes hold them."""
    wanted = dtypes.numpy_dtype(dtype)
    if value.dtype == wanted:
        return value
    with numpy.errstate(all="ignore"):
        if dtype == "string":
            return value.astype(str).astype(object)
        if value.dtype.kind == "O":
            return numpy.arange(value.size).reshape(value.shape).astype(wanted)
        if value.dtype.kind == "f" and wanted.kind in "iu":
            value = numpy.clip(numpy.nan_to_num(value), -_LEAST_LIMIT, _LEAST_LIMIT)
        if wanted.kind == "u" or dtype.startswith("uint"):
            value = abs(value) if value.dtype.kind in "if" else value
        return value.astype(numpy.float32).astype(wanted) if value.dtype.kind != "b" else value.astype(wanted)


def _with_attribute(node: NodeProto, name: str, value: object) -> NodeProto:
    changed = NodeProto()
    changed.CopyFrom(node)
    kept = [one for one in changed.attribute if one.name != name]
    del changed.attribute[:]
    changed.attribute.extend(kept)
    if value is not None:
        changed.attribute.append(helper.make_attribute(name, value))
    return changed


def _with_attributes_changed(example: Example) -> Iterator[Example]:
    """One attribute dropped, a flag turned round, or the first number of a list made greater by one."""
    node = example.node
    if subgraphs(node):  # These may declare what the attributes say.
        return
    given = {one.name: one for one in node.attribute}
    changed: list[NodeProto] = []
    for name, schema in example.definition.schema.attributes.items():
        if name in given and not schema.required:
            changed.append(_with_attribute(node, name, None))
        value = helper.get_attribute_value(given[name]) if name in given else None
        if schema.type == OpSchema.AttrType.INT and name not in _DTYPE_ATTRIBUTES:
            default = schema.default_value.i if value is None else value
            changed += [_with_attribute(node, name, number) for number in (0, 1) if number != default]
        elif name in given and given[name].type == AttributeProto.INTS and value:
            changed.append(_with_attribute(node, name, [value[0] + 1, *value[1:]]))
    for one in changed:
        yield Example(one, example.opset, example.values, example.source)


def _with_a_last_window(example: Example) -> Iterator[Example]:
    """A pooling that rounds up, whose last window starts in the end pads, or before them."""
    schema, first = example.definition.schema, example.values[0] if example.values else None
    if not {"ceil_mode", "kernel_shape", "pads"} <= schema.attributes.keys() or first is None:
        return
    for size, counts_pads in product(_SIZES_AROUND_A_LAST_WINDOW, (0, 1)):
        window: dict[str, Any] = {"kernel_shape": [3, 3], "strides": [3, 3], "pads": [1, 1, 1, 1], "ceil_mode": 1}
        if "count_include_pad" in schema.attributes:
            window["count_include_pad"] = counts_pads
        elif counts_pads:
            continue
        node = helper.make_node(example.node.op_type, [example.node.input[0]], [example.node.output[0]], **window)
        value = numpy.linspace(1, 2, 2 * size * size).reshape(1, 2, size, size).astype(first.dtype)
        yield Example(node, example.opset, (value,), example.source)


_SIZES_AROUND_A_LAST_WINDOW = (5, 8, 11, 6)
"""Of windows of 3 that lie 3 apart, with a pad of 1: only the last one of 6 elements starts before the end pad."""


def _with_operands_left_out(example: Example) -> Iterator[Example]:
    """One optional input left out, or the last output."""
    schema = example.definition.schema
    for place, value in enumerate(example.values):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)]
        if value is not None and formal.option == OpSchema.FormalParameterOption.Optional:
            values = [None if other == place else one for other, one in enumerate(example.values)]
            while values and values[-1] is None:
                values.pop()
            node = NodeProto()
            node.CopyFrom(example.node)
            del node.input[len(values) :]
            yield Example(node, example.opset, tuple(values), example.source)
        elif formal.option == OpSchema.FormalParameterOption.Variadic and place + 1 < len(example.values):
            node = NodeProto()
            node.CopyFrom(example.node)
            del node.input[place + 1 :]
            yield Example(node, example.opset, example.values[: place + 1], example.source)
    if len(example.node.output) > schema.min_output:
        node = NodeProto()
        node.CopyFrom(example.node)
        del node.output[-1]
        yield Example(node, example.opset, example.values, example.source)


def _without_optional_inputs(example: Example) -> Example:
    schema = example.definition.schema
    count = min(schema.min_input, len(example.values))
    node = NodeProto()
    node.CopyFrom(example.node)
    del node.input[count:]
    return Example(node, example.opset, example.values[:count], example.source)


def _with_scalars(example: Example) -> Iterator[Example]:
    """A vector behind the first input as a scalar, and with the one after it: scale and zero point of a whole tensor.

    Vectors of int64 are shapes, axes and the like, and no such parameters.
    """
    vectors = {
        place
        for place, value in enumerate(example.values)
        if place and value is not None and value.ndim == 1 and value.size and value.dtype != numpy.int64
    }
    for place in sorted(vectors):
        for chosen in ({place}, {place, place + 1} & vectors):
            yield example.with_values(
                [
                    value[:1].reshape(()) if other in chosen and value is not None else value
                    for other, value in enumerate(example.values)
                ]
            )


def _at_other_ranks(example: Example) -> Iterator[Example]:
    """The first input, and those of its rank, with more or fewer dimensions before the others or behind them."""
    first = example.values[0] if example.values else None
    if first is None or subgraphs(example.node):  # These may declare the shapes of what they are given.
        return
    alike = [value is not None and value.ndim == first.ndim > 0 for value in example.values]
    for rank in _RANKS:
        more = rank - first.ndim
        if not more:
            continue
        for in_front in (True, False):
            values = [
                _at_rank(value, more, in_front=in_front) if same and value is not None else value
                for value, same in zip(example.values, alike, strict=True)
            ]
            if first.ndim == 0:
                values[0] = first.reshape((1,) * rank)
            yield example.with_values(values)


def _at_rank(value: Array, more: int, *, in_front: bool) -> Array:
    ones = (1,) * max(more, 0)
    if more > 0:
        return value.reshape((*ones, *value.shape) if in_front else (*value.shape, *ones))
    kept = value.shape[-more:] if in_front else value.shape[:more]
    return value.reshape(-1)[: prod(kept)].reshape(kept) if value.size else numpy.zeros(kept, value.dtype)


def _empty(example: Example) -> Iterator[Example]:
    """Inputs of the first one's shape without elements, along one axis."""
    first = example.values[0] if example.values else None
    for axis in range(first.ndim) if first is not None and not subgraphs(example.node) else ():
        assert first is not None
        yield example.with_values(
            [
                numpy.take(value, [], axis) if value is not None and value.shape == first.shape else value
                for value in example.values
            ]
        )


def _counted_from_back(example: Example) -> Iterator[Example]:
    """Axes as negative numbers, where that is an axis of the first input: the evaluator knows where it is one."""
    first = example.values[0] if example.values else None
    if first is None or not first.ndim:
        return
    for one in example.node.attribute:
        value = helper.get_attribute_value(one)
        if one.name == "axis" and one.type == AttributeProto.INT and value >= 0:
            node = _with_attribute(example.node, one.name, value - first.ndim)
            yield Example(node, example.opset, example.values, example.source)
        elif one.name == "axes" and one.type == AttributeProto.INTS and min(value, default=-1) >= 0:
            node = _with_attribute(example.node, one.name, [number - first.ndim for number in value])
            yield Example(node, example.opset, example.values, example.source)
    for place, array in enumerate(example.values[1:], start=1):
        if array is not None and array.dtype.kind == "i" and array.size and (array >= 0).all():
            values = list(example.values)
            values[place] = array - first.ndim
            yield example.with_values(values)
            is_last = numpy.arange(array.size).reshape(array.shape) == array.size - 1
            values[place] = numpy.where(is_last, -1, array).astype(array.dtype)
            yield example.with_values(values)


# Building


def build(example: Example, layout: Layout) -> Case | None:
    """A case; None where the evaluator does not compute it."""
    size = sum(value.size for value in example.values if value is not None)
    if size > 4 * MOST_ELEMENTS or _gives_any_order(example.node):
        return None
    try:
        model, inputs = _model(example, layout)
        expected = Evaluator(model, element_limit=1 << 16, iteration_limit=1000).run(inputs)
    except (EvaluationError, ValueError, TypeError, OverflowError, NotImplementedError):
        return None
    if not expected or not all(isinstance(value, numpy.ndarray) for value in expected.values()):
        return None
    if example.node.op_type not in _SATURATING and leaves_open(inputs, expected):
        return None
    _declare_outputs(model, expected, layout)
    expected = _readable(model, expected)
    facts = ModelFacts(model).graph
    node = next(one for one in model.graph.node if one.op_type == example.node.op_type and one.name == "measured")
    found, known = features_of(node, example.definition, facts)
    found |= _zeros(example) | _later_opsets(example)
    # onnx calls some operators random because of their subgraphs or bodies; those that draw numbers have a seed.
    is_random = example.definition.is_random and "seed" in example.definition.schema.attributes
    return Case(example.key, example.opset, model, inputs, expected, known, found, is_random)


def _zeros(example: Example) -> frozenset[Feature]:
    """The inputs behind the first in which a length, an index or a size is 0."""
    return frozenset(
        Feature("zeros", one.formal)
        for one in input_operands(example.node, example.definition)
        if one.position and (value := example.values[one.position]) is not None
        if value.dtype in (numpy.int32, numpy.int64) and not value.all()
    )


def _later_opsets(example: Example) -> frozenset[Feature]:
    """The opsets after the first one at which the version is tried, up to that of the example."""
    first = max(example.definition.since_version, OLDEST_OPSET)
    later = range(first + 1, example.opset + 1) if example.domain == AI_ONNX else ()
    return frozenset(Feature("opsets", value=one) for one in later)


def _gives_any_order(node: NodeProto) -> bool:
    """Whether it may give its elements in any order (TopK, from version 11 on)."""
    return node.op_type == "TopK" and any(one.name == "sorted" and not one.i for one in node.attribute)


def leaves_open(inputs: Mapping[str, Array], expected: Mapping[str, Array]) -> bool:
    """Whether integers may come of floats that are beyond them, for which the specification gives no value."""
    if not any(value.dtype.kind in "iu" for value in expected.values()):
        return False
    floats = [value for value in inputs.values() if value.dtype.kind == "f"]
    unsigned = any(value.dtype.kind == "u" for value in expected.values())
    return any(
        bool((~numpy.isfinite(one) | (abs(one) > _LEAST_LIMIT) | (unsigned & (one < 0))).any()) for one in floats
    )


def _model(example: Example, layout: Layout) -> tuple[ModelProto, dict[str, Array]]:
    graph = GraphProto(name="measured")
    node = NodeProto()
    node.CopyFrom(example.node)
    node.name = "measured"
    inputs: dict[str, Array] = {}
    for place, value in enumerate(example.values):
        name = f"i{place}"
        node.input[place] = "" if value is None else name
        if value is None:
            continue
        if place in layout.constants:
            graph.initializer.append(numpy_helper.from_array(value, name))
        else:
            given, array = _add_input(graph, name, value, layout)
            inputs[given] = array
    for place, name in enumerate(node.output):
        node.output[place] = f"o{place}" if name else ""
    graph.output.extend(helper.make_empty_tensor_value_info(name) for name in node.output if name)
    behind = put_activation_behind(node, example.values)
    graph.node.extend(one for one in (node, behind) if one is not None)
    imports = [helper.make_opsetid(domain, number) for domain, number in example.imports.items()]
    ir_version = max(4, minimum_for_opsets(example.imports))
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version), inputs


def _add_input(graph: GraphProto, wanted: str, value: Array, layout: Layout) -> tuple[str, Array]:
    """An input of the model for the node's input `wanted`: its name, and what to give it.

    Between them are the layout's node and, for dtypes that numpy's files do not hold, a Cast from float.
    """
    dtype = dtypes.name_of_numpy_dtype(value.dtype)
    nodes: list[NodeProto] = []
    name = wanted
    if layout.before is not None and wanted == "i0":
        nodes, name = [layout.before.node(f"{name}_before", name)], f"{name}_before"
        graph.initializer.extend(layout.before.constants)
        value = layout.before.given(value)
    if layout.compares and dtype == "bool":
        graph.initializer.append(numpy_helper.from_array(numpy.array(0.5, numpy.float32), f"{name}_half"))
        nodes.insert(0, helper.make_node("Greater", [f"{name}_float", f"{name}_half"], [name]))
        dtype, name, value = "float", f"{name}_float", value.astype(numpy.float32)
    if not _fits_a_file(value):
        nodes.insert(0, helper.make_node("Cast", [f"{name}_float"], [name], to=dtypes.element_type(dtype)))
        dtype, name, value = "float", f"{name}_float", value.astype(numpy.float32)
    graph.node.extend(nodes)
    sizes: Sequence[int | str | None] | None = value.shape
    if layout.sizes == OPEN:
        sizes = [f"{name}_{axis}" for axis in range(value.ndim)]
    declared = dtypes.tensor_type_proto(dtype, None if layout.sizes == UNRANKED else sizes)
    graph.input.add(name=name).type.CopyFrom(declared)
    return name, value


def _fits_a_file(value: Array) -> bool:
    """Whether numpy's own files hold the dtype."""
    return value.dtype.kind in "biufOSU"


def _declare_outputs(model: ModelProto, expected: Mapping[str, Array], layout: Layout) -> None:
    for info in model.graph.output:
        value = expected[info.name]
        dtype = dtypes.name_of_numpy_dtype(value.dtype)
        shape = value.shape if layout.sizes == STATIC else None
        if layout.sizes == OPEN:
            declared: TypeProto = dtypes.tensor_type_proto(dtype, [f"{info.name}_{n}" for n in range(value.ndim)])
        else:
            declared = dtypes.tensor_type_proto(dtype, shape)
        info.type.CopyFrom(declared)


def _readable(model: ModelProto, expected: Mapping[str, Array]) -> dict[str, Array]:
    """The outputs with a Cast behind those in dtypes that numpy's files do not hold."""
    found = dict(expected)
    for info in model.graph.output:
        value = expected[info.name]
        if not _fits_a_file(value):
            name = f"{info.name}_float"
            model.graph.node.append(helper.make_node("Cast", [info.name], [name], to=1))
            del found[info.name]
            found[name] = value.astype(numpy.float32)
            info.name = name
            info.type.tensor_type.elem_type = 1
    return found
