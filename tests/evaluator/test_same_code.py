"""Which nodes are executed by the same code at two opsets, so that the proof need not try them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
from onnx import NodeProto, TensorProto, helper, parser

from opsetlift.evaluator import same_code
from opsetlift.evaluator.kernels.registry import Call
from opsetlift.evaluator.prepare import prepare_node

FLOAT, INT64, BFLOAT16 = "tensor(float)", "tensor(int64)", "tensor(bfloat16)"


def node(text: str) -> NodeProto:
    return parser.parse_graph(f"g (float[N] x) => (y) {{ {text} }}").node[0]


def is_same(
    text: str, source: int, target: int, types: Sequence[str | None] = (), outputs: Sequence[str | None] = ()
) -> bool:
    one = node(text)
    unknown = [None] * len(one.input), [None] * len(one.output)
    return same_code(one, types or unknown[0], outputs or unknown[1], {"": source}, {"": target})


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("y = Add (a, b)", 7, 14),
        ("y = Reshape (x, s)", 13, 23),
        ("y = Concat <axis = 1> (a, b)", 4, 13),
        ("y = Concat <axis = -1> (a, b)", 11, 13),
        ("y = Conv <strides = [2, 2]> (x, w)", 1, 22),
        ("y = Identity (x)", 13, 16),
        ("y = Softmax <axis = 1> (x)", 1, 11),
        ("y = MaxPool <kernel_shape = [2]> (x)", 8, 12),
        ("y = BatchNormalization (x, s, b, m, v)", 9, 15),
    ],
)
def test_later_versions_that_only_take_more(text: str, source: int, target: int) -> None:
    assert is_same(text, source, target)


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("y = Add (a, b)", 6, 7),  # broadcasting
        ("y = Softmax <axis = 1> (x)", 11, 13),  # one axis, no longer all behind it
        ("y = Concat <axis = -1> (a, b)", 4, 11),  # rejected, then accepted
        ("y = BatchNormalization (x, s, b, m, v)", 7, 9),  # another kernel
        ("y, m1, v1 = BatchNormalization (x, s, b, m, v)", 9, 14),  # training
        ("y = Selu (x)", 1, 6),  # another default
        ("y = Dropout (x)", 7, 10),  # the mask's dtype
        ("y = RandomNormalLike (x)", 1, 22),  # random
        ("y = MaxPool <kernel_shape = [2], dilations = [2]> (x)", 12, 8),  # no such attribute
        ("y = Celu (x)", 12, 11),  # no such operator
        ("y = If <then_branch = t () => (a) {}, else_branch = e () => (a) {}> (x)", 11, 13),  # subgraphs
        ("y = Unknown (x)", 11, 13),
    ],
)
def test_what_may_differ(text: str, source: int, target: int) -> None:
    assert not is_same(text, source, target)


def test_an_earlier_version_has_to_take_the_types() -> None:
    assert is_same("y = Relu (x)", 14, 13, [FLOAT])
    assert not is_same("y = Relu (x)", 14, 13, [INT64])
    assert not is_same("y = Relu (x)", 14, 13)
    assert is_same("y = Where (c, a, b)", 16, 9, ["tensor(bool)", FLOAT, FLOAT])
    assert not is_same("y = Where (c, a, b)", 16, 9, ["tensor(bool)", None, FLOAT])
    assert not is_same("y = Where (c, a, b)", 16, 9, ["tensor(bool)", BFLOAT16, BFLOAT16])
    statistics = ["tensor(float16)", *["tensor(float)"] * 4]
    assert is_same("y = BatchNormalization (x, s, b, m, v)", 15, 9, [FLOAT] * 5)
    assert not is_same("y = BatchNormalization (x, s, b, m, v)", 15, 9, statistics)
    assert is_same("y = Clip (x, , h)", 13, 12, [FLOAT, "", FLOAT])
    # What the output of a Cast may be does not follow from its input.
    assert not is_same("y = Cast <to = 16> (x)", 13, 9, [FLOAT])
    assert not is_same("y = Cast <to = 16> (x)", 13, 9, [FLOAT], [BFLOAT16])
    assert is_same("y = Cast <to = 7> (x)", 13, 9, [FLOAT], [INT64])


def test_an_attribute_whose_data_lies_elsewhere_is_not_looked_at(tmp_path: Path) -> None:
    value = TensorProto(data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    value.external_data.add(key="location", value=str(tmp_path / "data"))
    one = helper.make_node("ConstantOfShape", ["s"], ["y"], value=value)
    assert not same_code(one, [INT64], [FLOAT], {"": 9}, {"": 20})


def test_a_kernel_sees_the_same_of_versions_that_are_declared_alike() -> None:
    """It cannot behave differently where version, attributes and inputs are the same."""
    seen = []
    for opset in (7, 13, 14):
        step = prepare_node(node("y = Add (a, b)"), {"": opset}, strict=True, iteration_limit=None)

        def listening(call: Call, *inputs: numpy.ndarray) -> numpy.ndarray:
            seen.append((call.since_version, dict(call.attributes)))
            return inputs[0]

        step.kernel = listening  # type: ignore[attr-defined]
        step.compute([numpy.ones(2, numpy.float32)] * 2, {})
    assert seen == [(7, {})] * 3
