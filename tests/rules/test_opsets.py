"""The opsets that rules write for are those at which the schemas gain what their names say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opsetlift_rules
from opsetlift.specification.history import history
from opsetlift_rules.helpers import opsets


def introduced(operator: str) -> int:
    found = history("", operator)
    assert found is not None
    return found.introduction


def first_with(operator: str, *, name: str = "", dtype: str = "") -> int:
    """The first version of an operator that has an input or attribute, or takes a dtype."""
    found = history("", operator)
    assert found is not None
    for version, definition in found.definitions.items():
        schema = definition.schema
        names = {*schema.attributes, *(f"input {formal.name}" for formal in schema.inputs)}
        types = set().union(*definition.types_by_variable.values())
        if name in names or f"tensor({dtype})" in types:
            return version
    raise AssertionError(f"no version of {operator} has {name or dtype}")


@pytest.mark.parametrize(
    ("name", "opset"),
    [
        ("CONCAT_OF_ALL_TYPES", first_with("Concat", dtype="int64")),
        ("SHAPE_AS_INPUT", first_with("Reshape", name="input shape")),
        ("INTEGERS_IN_ARITHMETIC", first_with("Add", dtype="int64")),
        ("SCAN", introduced("Scan")),
        ("WHERE", introduced("Where")),
        ("WHERE", first_with("Less", dtype="int64")),
        ("NON_ZERO", introduced("NonZero")),
        ("NON_ZERO", introduced("ConstantOfShape")),
        ("SCATTER", introduced("Scatter")),
        ("SLICE_ATTRIBUTES", first_with("Slice", name="input starts") - 1),
        ("SLICE_INPUTS", first_with("Slice", name="input starts")),
        ("NON_NEGATIVE_INDICES", introduced("GatherElements") - 1),
        ("UNIQUE", introduced("Unique")),
        ("GATHER_ND", introduced("GatherND")),
        ("INTEGERS_IN_MIN_AND_MAX", first_with("Min", dtype="int8")),
        ("AXES_AS_INPUTS", first_with("Squeeze", name="input axes")),
        ("AXES_AS_INPUTS", first_with("Unsqueeze", name="input axes")),
        ("AXES_AS_INPUTS", first_with("ReduceSum", name="input axes")),
        ("BFLOAT16", first_with("Cast", dtype="bfloat16")),
        ("BFLOAT16", first_with("Slice", dtype="bfloat16")),
        ("ALLOWZERO", first_with("Reshape", name="allowzero")),
        ("ALL_INTEGERS_IN_ARITHMETIC", first_with("Mul", dtype="uint8")),
        ("BFLOAT16_IN_WHERE", first_with("Where", dtype="bfloat16")),
        ("BFLOAT16_IN_LOOPS", first_with("Loop", dtype="bfloat16")),
        ("REDUCTION_AXES_AS_INPUTS", first_with("ReduceMax", name="input axes")),
        ("PAD_AXES", first_with("Pad", name="input axes")),
        ("BFLOAT16_IN_CONSTANT_OF_SHAPE", first_with("ConstantOfShape", dtype="bfloat16")),
    ],
)
def test_each_opset_is_the_one_at_which_the_schema_changes(name: str, opset: int):
    assert getattr(opsets, name) == opset


@pytest.mark.parametrize("path", sorted(Path(opsetlift_rules.__path__[0]).rglob("*.py")), ids=lambda path: path.stem)
def test_rules_write_for_opsets_that_have_a_name(path: Path):
    numbers = r"\b(?:op_at|at)\(\d+[,)]|opset=\d+|\.(?:target|source_version) [<>=]=? \d+"
    bare = re.findall(numbers, path.read_text())
    assert not bare
