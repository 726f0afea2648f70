"""What canonical-attributes leaves out, onnx's inference does without: of every operator, on random inputs."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator, Mapping

import pytest
from onnx import AttributeProto, ModelProto, TensorProto, ValueInfoProto, defs, helper, shape_inference
from onnx.defs import OpSchema

from opsetlift.normalizer.passes.canonical_attributes import _defaults
from opsetlift.specification.history import CONVERTED_DOMAINS
from tests.normalize.rewriting import check_unchanged

TRIALS = 60
PARTS = 4
SHAPES = [
    [],
    [1],
    [2],
    [4],
    [16],
    [3, 4],
    [1, 16],
    [4, 4],
    [1, 16, 1],
    [2, 3, 4],
    [1, 1, 8],
    [1, 4, 8, 8],
    [4, 1, 3, 3],
]
SMALL_SHAPES = [[], [1], [2], [4]]
NUMBERS = [1, 2, 3, 4, 8, 0, -1]
ATTRIBUTES = {
    AttributeProto.INT: [1, 0, 2, 7],
    AttributeProto.FLOAT: [1.0],
    AttributeProto.STRING: ["a", "bilinear", "i,i->i"],
    AttributeProto.INTS: [[1], [2, 2], [0], [1, 1], [3, 3]],
    AttributeProto.FLOATS: [[1.0], [1.0, 1.0]],
    AttributeProto.STRINGS: [["a"], ["a", "b"]],
}
SCHEMAS = [
    schema
    for schema in defs.get_all_schemas_with_history()
    if schema.domain in CONVERTED_DOMAINS and any(one.default_value.name for one in schema.attributes.values())
]


def drawn_model(schema: OpSchema, draw: random.Random) -> ModelProto | None:
    """A node on inputs of random types and shapes, without attributes; None where it needs what is no tensor."""
    bound: dict[str, str] = {}
    for constraint in schema.type_constraints:
        usual = [one for one in ("tensor(float)", "tensor(int64)") if one in constraint.allowed_type_strs]
        is_usual = bool(usual) and draw.random() < 0.8
        bound[constraint.type_param_str] = draw.choice(usual if is_usual else sorted(constraint.allowed_type_strs))
    names: list[str] = []
    inputs: list[ValueInfoProto] = []
    constants: list[TensorProto] = []
    same = draw.choice(SHAPES) if draw.random() < 0.4 else None
    for index in range(draw.randint(schema.min_input, max(schema.min_input, len(schema.inputs)))):
        declared = schema.inputs[min(index, len(schema.inputs) - 1)]
        if declared.option == OpSchema.FormalParameterOption.Optional and draw.random() < 0.4:
            names.append("")
            continue
        kind, _, dtype = bound.get(declared.type_str, declared.type_str).rstrip(")").partition("(")
        if kind != "tensor" or "(" in dtype:
            return None
        element = TensorProto.DataType.Value(dtype.upper())
        name = f"i{index}"
        names.append(name)
        if dtype in ("int32", "int64") and draw.random() < 0.6:
            shape = draw.choice(SMALL_SHAPES)
            constants.append(
                helper.make_tensor(name, element, shape, [draw.choice(NUMBERS) for _ in range(sum(shape) or 1)])
            )
        else:
            inputs.append(helper.make_tensor_value_info(name, element, draw.choice(SHAPES) if same is None else same))
    outputs = [f"o{index}" for index in range(max(1, schema.min_output))]
    node = helper.make_node(schema.name, names, outputs, domain=schema.domain)
    graph = helper.make_graph([node], "g", inputs, [], constants)
    opset = helper.make_opsetid(schema.domain, schema.since_version)
    return helper.make_model(graph, opset_imports=[opset], ir_version=10)


def drawn_attributes(schema: OpSchema, draw: random.Random) -> Iterator[AttributeProto]:
    """Every required attribute, every default (or another value in its place) and some of the others."""
    for name, declared in schema.attributes.items():
        choices = ATTRIBUTES.get(declared.type.value, [])
        if declared.default_value.name and (not choices or draw.random() < 0.8):
            yield declared.default_value
        elif choices and (declared.required or declared.default_value.name or draw.random() < 0.5):
            yield helper.make_attribute(name, draw.choice(choices))


def inferred(model: ModelProto, attributes: Mapping[str, AttributeProto]) -> list[bytes] | None:
    """The types that onnx infers; None where it raises."""
    del model.graph.node[0].attribute[:]
    model.graph.node[0].attribute.extend(attributes.values())
    try:
        found = shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except (shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    return sorted(info.SerializeToString() for info in found.graph.value_info)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_without_a_default_that_is_left_out_onnx_infers_the_same(part: int) -> None:
    tried, all_of_them = set(), set()
    for schema in SCHEMAS:
        if zlib.crc32(schema.name.encode()) % PARTS != part:
            continue
        version = f"{schema.name}-{schema.since_version}"
        draw = random.Random(version)
        defaults = _defaults(schema)
        all_of_them |= {f"{version}.{name}" for name in defaults if schema.attributes[name].default_value.name}
        for _ in range(TRIALS):
            model = drawn_model(schema, draw)
            if model is None:
                continue
            attributes = {one.name: one for one in drawn_attributes(schema, draw)}
            removed = [name for name in defaults if attributes.get(name) == schema.attributes[name].default_value]
            expected = inferred(model, attributes)
            if not expected or not removed:
                continue
            found = inferred(model, {name: one for name, one in attributes.items() if name not in removed})
            assert found == expected, f"{version} without {removed}"
            tried |= {f"{version}.{name}" for name in removed}
    assert len(tried) > 0.8 * len(all_of_them), sorted(all_of_them - tried)


def test_a_default_that_onnx_needs_to_infer_shapes_stays() -> None:
    check_unchanged(
        "canonical-attributes",
        """g (float[1, 16, 1] x) => (float[1, 3, 5, 2] y) <int64 step = {4}, float[8] w = {1, 2, 3, 4, 4, 3, 2, 1}> {
            y = STFT <onesided = 1> (x, step, w)
        }""",
    )
    check_unchanged(
        "canonical-attributes",
        "g (float[1, 2, 3, 4] x) => (float[1, 2, 3, 4] y) { y = MeanVarianceNormalization <axes = [0, 2, 3]> (x) }",
    )
