"""Nodes to begin with: those of ONNX's own tests, and what conversions make of them at every other opset.

The tests show each operator in the forms that its authors thought of: attributes, inputs left out, ranks. A conversion
that leaves one node takes a test to an older or newer version of the operator; one that needs several nodes shows no
single node of that version, and is left out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
import onnx
from onnx import GraphProto, ModelProto, NodeProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.loader import load_model_tests
from onnx.helper import VERSION_TABLE

from opsetlift.measuring.traditional import traditional_models
from opsetlift.model.arrays import Array
from opsetlift.model.ir_version import minimum_for_opsets
from opsetlift.model.scopes import imported_opsets, subgraphs
from opsetlift.pipeline.convert import convert
from opsetlift.specification import dtypes
from opsetlift.specification.history import (
    AI_ONNX,
    CONVERTED_DOMAINS,
    Definition,
    canonical_domain,
    history,
    latest_opset,
)
from opsetlift.support.errors import OpsetLiftError
from opsetlift.support.refusal import ConversionRefused

OLDEST_OPSET = 7
"""What runtimes begin with: before it operators did not broadcast. Versions that end before it are left out."""

MOST_ELEMENTS = 1 << 12
_WITHOUT_SMALL_TESTS = (
    "(float[2,4,3] x) => (float[2,4,3] y) { y = Mish (x) }",
    "(float[2,4,3] x) => (float[2,4,1] y) { y = GlobalLpPool (x) }",
    "(float[2,4,3] x) => (float[2,4,3] y) <float[2] s = {0.5, 2}, float[2] b = {1, -1}> "
    "{ y = GroupNormalization <num_groups = 2> (x, s, b) }",
    "(float[1,2,4,4] x) => (float[2,2,2,2] y) <float[2,5] r = {0, 0, 0, 3, 3, 0, 1, 1, 3, 2}> "
    "{ y = MaxRoiPool <pooled_shape = [2, 2]> (x, r) }",
)
"""Of operators of opset 18 of which ONNX has no test, or none of this version with so few elements."""

_FOLDERS_OF_OLD_TESTS = ("pytorch-converted", "pytorch-operator", "simple")


@dataclass(frozen=True)
class Example:
    """One node with a value for each input, None where the input is left out."""

    node: NodeProto
    opset: int
    """Of the node's domain."""
    values: tuple[Array | None, ...]
    source: str

    @property
    def domain(self) -> str:
        """The node's domain, in its canonical spelling."""
        return canonical_domain(self.node.domain)

    @property
    def definition(self) -> Definition:
        """The version of the operator."""
        found = history(self.domain, self.node.op_type)
        definition = found.at(self.opset) if found else None
        assert definition is not None
        return definition

    @property
    def key(self) -> tuple[str, str, int]:
        """Domain, operator and since-version, as target files name them."""
        return self.domain, self.node.op_type, self.definition.since_version

    @property
    def imports(self) -> dict[str, int]:
        """The opsets of a model with this node."""
        if self.domain == AI_ONNX:
            return {AI_ONNX: self.opset}
        return {self.domain: self.opset, AI_ONNX: released_with(self.opset)}

    def with_values(self, values: Sequence[Array | None]) -> Example:
        """The same node on other values."""
        return replace(self, values=tuple(values))


def released_with(ml_opset: int) -> int:
    """The opset of ai.onnx in the first release that had an opset of ai.onnx.ml."""
    first = next(int(row[2]) for row in VERSION_TABLE if len(row) > 3 and row[3] == ml_opset)
    return max(first, OLDEST_OPSET)


def examples(operators: Collection[str] = ()) -> dict[tuple[str, str, int], list[Example]]:
    """The examples of every operator version for which a test or a conversion of one shows a node.

    Args:
        operators: The only operators whose tests are used; all where there are none.
    """
    found: dict[tuple[str, str, int], dict[bytes, Example]] = {}
    for example in _of_tests():
        if operators and example.node.op_type not in operators:
            continue
        start = _at_first_opset(example)
        for one in () if start is None else (start, *_at_other_versions(start)):
            identity = _shape_of(one)
            found.setdefault(one.key, {}).setdefault(identity, one)
    return {key: list(those.values()) for key, those in sorted(found.items())}


def _shape_of(example: Example) -> bytes:
    """What two examples have in common that differ in their values only."""
    node = NodeProto()
    node.CopyFrom(example.node)
    node.name = ""
    node.doc_string = ""
    facts = [None if value is None else (value.dtype.str, value.shape) for value in example.values]
    return bytes(node.SerializeToString(deterministic=True)) + repr(facts).encode()


def _of_tests() -> Iterator[Example]:
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases:
        if case.model is None or not case.data_sets:
            continue
        inputs = [_array(value) for value in case.data_sets[0][0]]
        yield from _example(case.name, case.model, inputs)
    for folder in _FOLDERS_OF_OLD_TESTS:
        for test in load_model_tests(kind=folder):
            model = onnx.load(f"{test.model_dir}/model.onnx")
            yield from _example(test.name, model, _stored_inputs(str(test.model_dir), model))

    for text in _WITHOUT_SMALL_TESTS:
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> own {text}')
        shape = [size.dim_value for size in model.graph.input[0].type.tensor_type.shape.dim]
        value = numpy.linspace(-3, 3, math.prod(shape), dtype=numpy.float32).reshape(shape)
        yield from _example("own", model, [value])
    for model, value in traditional_models():
        yield from _example("traditional", model, [value])


def _stored_inputs(folder: str, model: ModelProto) -> list[Array | None]:
    found: list[Array | None] = []
    for number, info in enumerate(model.graph.input):
        if not info.type.HasField("tensor_type"):
            return []
        try:
            found.append(numpy_helper.to_array(onnx.load_tensor(f"{folder}/test_data_set_0/input_{number}.pb")))
        except OSError:
            return []
    return found


def _array(value: Any) -> Array | None:
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return numpy.asarray(value) if isinstance(value, (numpy.ndarray, numpy.generic)) else None


def _example(name: str, model: ModelProto, inputs: Sequence[Array | None]) -> Iterator[Example]:
    """The one node of a model, if it has one, with all that it reads as values."""
    values = dict(zip((info.name for info in model.graph.input), inputs, strict=False))
    values.update({tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer})
    found = _single_node(model, values)
    if found is not None and all(info.type.HasField("tensor_type") for info in model.graph.output):
        yield replace(found, source=name)


def _single_node(model: ModelProto, values: Mapping[str, Array | None]) -> Example | None:
    """The example that a model is; None where it has several nodes, or values that are no small tensors."""
    if len(model.graph.node) != 1:
        return None
    node = model.graph.node[0]
    domain = canonical_domain(node.domain)
    opset = imported_opsets(model.opset_import).get(domain, 0)
    found = history(domain, node.op_type)
    if domain not in CONVERTED_DOMAINS or found is None or found.at(opset) is None:
        return None
    taken = [values.get(name) if name else None for name in node.input]
    is_whole = all(value is not None for value, name in zip(taken, node.input, strict=True) if name)
    is_small = all(value is None or value.size <= MOST_ELEMENTS for value in taken)
    outputs = {info.name for info in model.graph.output}
    reads_outside = any(_reads_outside(graph) for _, graph in subgraphs(node))
    if not is_whole or not is_small or reads_outside or set(node.output) - {"", *outputs}:
        return None
    return Example(node, opset, tuple(taken), model.graph.name)


def _reads_outside(graph: GraphProto) -> bool:
    known = {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    known |= {name for node in graph.node for name in node.output}
    return any(name and name not in known for node in graph.node for name in node.input)


def _at_first_opset(example: Example) -> Example | None:
    """The example at the first opset of its version that runtimes take, where most of them have it."""
    first = example.definition.since_version
    opset = max(first, OLDEST_OPSET) if example.domain == AI_ONNX else first
    found = history(example.domain, example.node.op_type)
    if found is not None and found.since_version(opset) == first and not subgraphs(example.node):
        return replace(example, opset=opset)
    return _converted(example, opset, frozenset(range(1, len(example.values))))


def _at_other_versions(example: Example) -> Iterator[Example]:
    """The example at the other versions of its operator, where a conversion leaves one node of it."""
    found = history(example.domain, example.node.op_type)
    assert found is not None
    here = found.since_version(example.opset)
    for place, since in enumerate(found.since_versions):
        after = [*found.since_versions, latest_opset(example.domain) + 1][place + 1]
        opset = max(since, OLDEST_OPSET) if example.domain == AI_ONNX else since
        if since == here or opset >= after:
            continue
        for constants in (range(1, len(example.values)), range(len(example.values))):
            converted = _converted(example, opset, frozenset(constants))
            if converted is not None:
                yield converted
                break


def _converted(example: Example, opset: int, constants: frozenset[int]) -> Example | None:
    """The example at another opset, some inputs of which its conversion may read."""
    model, values = plain_model(example, constants)
    wanted = {example.domain: opset}
    if example.domain != AI_ONNX:
        wanted[AI_ONNX] = released_with(opset)
    try:
        result = convert(model, to=wanted, prove=False, check=False).model
    except (ConversionRefused, OpsetLiftError):
        return None
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in result.graph.initializer}
    found = _single_node(result, {**values, **known})
    return None if found is None else replace(found, source=example.source)


def plain_model(example: Example, constants: frozenset[int]) -> tuple[ModelProto, dict[str, Array]]:
    """A model of the node, some inputs of which are initializers, and values for the others."""
    node = NodeProto()
    node.CopyFrom(example.node)
    graph = GraphProto(name="measured")
    inputs: dict[str, Array] = {}
    for place, value in enumerate(example.values):
        node.input[place] = "" if value is None else f"i{place}"
        if value is None:
            continue
        if place in constants:
            graph.initializer.append(numpy_helper.from_array(value, f"i{place}"))
        else:
            dtype = dtypes.name_of_numpy_dtype(value.dtype)
            graph.input.add(name=f"i{place}").type.CopyFrom(dtypes.tensor_type_proto(dtype, value.shape))
            inputs[f"i{place}"] = value
    for place, name in enumerate(node.output):
        if name:
            node.output[place] = f"o{place}"
            graph.output.add(name=f"o{place}")
    graph.node.append(node)
    imports = [helper.make_opsetid(domain, number) for domain, number in example.imports.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=_ir_version(example.imports)), inputs


def _ir_version(imports: Mapping[str, int]) -> int:
    """The IR version that came with the opset, and 4 at least, where initializers are no inputs."""
    return max(4, minimum_for_opsets(imports))
