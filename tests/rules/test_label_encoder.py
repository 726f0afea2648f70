"""LabelEncoder across the opsets of ai.onnx.ml."""

import numpy
import pytest

from opsetlift import convert
from opsetlift.support.refusal import Why
from testing.conversion import check_refusal, check_rewrite, model

IMPORTS = '<ir_version: 8, opset_import: ["": {opset}, "ai.onnx.ml": {ml}]>'


def encoder(x, y, attributes, ml, opset=15):
    return (
        IMPORTS.format(opset=opset, ml=ml)
        + f" g ({x}[N, M] x) => ({y}[N, M] y) {{ y = ai.onnx.ml.LabelEncoder <{attributes}> (x) }}"
    )


def check(before, to, **at):
    conversion = convert(model(before), to={"ai.onnx.ml": to, **at})
    assert conversion.certificate.is_proven, conversion.certificate.summary()
    return [node.op_type for node in conversion.model.graph.node]


def test_classes_become_keys_in_both_directions():
    for x, y in (("string", "int64"), ("int64", "string")):
        keys, values = {
            "string": ('keys_strings = ["a", "b"]', "values_int64s = [0, 1]"),
            "int64": ("keys_int64s = [0, 1]", 'values_strings = ["a", "b"]'),
        }[x]
        default = 'default_string = "?"' if y == "string" else "default_int64 = -7"
        classes = f'classes_strings = ["a", "b"], {default}'
        check_rewrite(encoder(x, y, classes, 1), encoder(x, y, f"{keys}, {values}, {default}", 2))
        check_rewrite(encoder(x, y, f"{keys}, {values}, {default}", 2), encoder(x, y, classes, 1))


def test_numbers_in_any_order_go_to_their_places():
    check_rewrite(
        encoder("string", "int64", 'keys_strings = ["a", "b", "c"], values_int64s = [2, 0, 1], default_int64 = 5', 2),
        encoder("string", "int64", 'classes_strings = ["b", "c", "a"], default_int64 = 5', 1),
    )


@pytest.mark.parametrize("x", ["string", "int64", "float"])
@pytest.mark.parametrize("y", ["string", "int64", "float"])
def test_every_pair_of_types_goes_down_to_1(x, y):
    keys = {
        "string": 'keys_strings = ["a", "b", "a"]',
        "int64": "keys_int64s = [-5, 9223372036854775807, -5]",
        "float": "keys_floats = [0.5, -2.0, 0.5]",
    }[x]
    values = {
        "string": 'values_strings = ["p", "", "q"]',
        "int64": "values_int64s = [7, 9223372036854775807, -1]",
        "float": "values_floats = [0.1, -0.0, 3.0]",
    }[y]
    assert check(encoder(x, y, f"{keys}, {values}", 2), 1)


@pytest.mark.quick_share(2)
@pytest.mark.parametrize("to", [2, 1])
@pytest.mark.parametrize("x", ["double", "int32", "int16"])
@pytest.mark.parametrize("y", ["double", "int32", "int16"])
def test_tensors_of_other_types_go_down(x, y, to):
    check(
        encoder(x, y, f"keys_tensor = {x}[2] {{1, 7}}, values_tensor = {y}[2] {{3, -4}}, "
        f"default_tensor = {y}[1] {{9}}", 4),
        to,
    )  # fmt: skip


@pytest.mark.parametrize("keys", ["0.0, 1.0", "-0.0, 1.0", "2.0, 3.0"])
def test_zeros_of_either_sign_are_one_key_in_2_too(keys):
    text = encoder("float", "int64", f"keys_floats = [{keys}], values_int64s = [10, 11]", "{}")
    check_rewrite(text.replace("{}", "2"), text.replace("{}", "4"))
    check_rewrite(text.replace("{}", "4"), text.replace("{}", "2"))


@pytest.mark.parametrize("keys", ["nan", "nan, 1.0", "0.0, nan, -0.0"])
@pytest.mark.parametrize("values", ["int64", "string"])
def test_a_nan_among_the_keys_is_found_by_onnxruntime_below_4_as_well(keys, values):
    onnxruntime = pytest.importorskip("onnxruntime")
    listed = [f'"{place}"' if values == "string" else str(10 + place) for place in range(keys.count(",") + 1)]
    text = encoder("float", values, f"keys_floats = [{keys}], values_{values}s = [{', '.join(listed)}]", 4)
    before = model(text)
    after = convert(before, to={"ai.onnx.ml": 2}).model
    x = numpy.array([[numpy.nan, 1, 7]], numpy.float32)
    found = [
        onnxruntime.InferenceSession(one.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
        for one in (before, after)
    ]
    assert found[0].tolist() == found[1].tolist()


def test_encoders_that_mean_the_same_in_2_and_4_stay():
    text = encoder("string", "int64", 'keys_strings = ["a"], values_int64s = [3], default_int64 = 5', "{}")
    check_rewrite(text.replace("{}", "2"), text.replace("{}", "4"))
    check_rewrite(text.replace("{}", "4"), text.replace("{}", "2"))


def test_both_domains_may_move_at_once():
    operators = check(encoder("float", "string", 'keys_floats = [1.0], values_strings = ["a"]', 2), 1, **{"": 7})
    assert "LabelEncoder" not in operators


def test_a_key_of_nan_cannot_be_compared():
    text = encoder("double", "int64", "keys_tensor = double[1] {nan}, values_int64s = [3]", 4)
    check_refusal(text, 2, Why.NO_EQUIVALENT, "NaN", domain="ai.onnx.ml")


def test_a_domain_whose_operators_are_needed_is_imported():
    text = (
        '<ir_version: 8, opset_import: ["ai.onnx.ml": 2]> g (float[N] x) => (string[N] y) '
        '{ y = ai.onnx.ml.LabelEncoder <keys_floats = [1.0], values_strings = ["a"]> (x) }'
    )
    conversion = convert(model(text), to={"ai.onnx.ml": 1})
    assert conversion.certificate.is_proven
    assert {entry.domain: entry.version for entry in conversion.model.opset_import} == {"ai.onnx.ml": 1, "": 7}
