"""What callers give: numpy's integers are taken for numbers, all of another kind is a TypeError of one sentence."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import onnx.parser
import pytest

from opsetlift import ConversionRefused, convert, convert_version, normalize, reach, verify
from opsetlift.proof import prove_models
from testing.small_models import minimum_model

NUMBERS = [18, numpy.int64(18), numpy.uint8(18), numpy.array(18)]
NO_NUMBERS = ["18", b"18", True, numpy.True_, 18.0, numpy.float32(18), [18], numpy.array([18, 19]), complex(18)]

PLACES: dict[str, Callable[[Any], Any]] = {
    "opset of convert_version": lambda value: convert_version(minimum_model(), value),
    "opset of convert": lambda value: convert(minimum_model(), to=value),
    "opset of a domain": lambda value: convert(minimum_model(), to={"ai.onnx": value}),
    "IR version": lambda value: convert(minimum_model(), ir=value),
    "seed of convert": lambda value: convert(minimum_model(), to=18, seed=value),
    "seed of normalize": lambda value: normalize(minimum_model(), seed=value),
    "size limit of normalize": lambda value: normalize(minimum_model(), size_limit=value),
    "runs of a proof": lambda value: prove_models(minimum_model(), minimum_model(), runs=value),
    "seed of a proof": lambda value: prove_models(minimum_model(), minimum_model(), seed=value),
    "ulps of a proof": lambda value: prove_models(minimum_model(), minimum_model(), ulps=value),
}


@pytest.mark.parametrize("place", [place for place in PLACES if place != "IR version"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
def test_integers_of_any_kind_are_taken(place: str, number: Any) -> None:
    PLACES[place](number)


@pytest.mark.parametrize("number", [8, numpy.int32(8), numpy.array(8)], ids=lambda number: type(number).__name__)
def test_an_ir_version_of_any_kind_is_taken(number: Any) -> None:
    assert convert(minimum_model(), ir=number).model.ir_version == 8


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_whole_number_is_a_type_error(place: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"must be an integer, not"):
        PLACES[place](value)


@pytest.mark.parametrize("place", ["seed of convert", "seed of normalize", "runs of a proof", "ulps of a proof"])
def test_numbers_that_are_too_small_are_a_value_error(place: str) -> None:
    with pytest.raises(ValueError, match=r"must be [01] or more, not -1"):
        PLACES[place](-1)


MAPPINGS = "must be a mapping as"
NAMES = "must be a name as"
OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "runtime of convert": (lambda: convert(minimum_model(), target=5), NAMES),  # type: ignore[arg-type]
    "runtime of normalize": (lambda: normalize(minimum_model(), target=Path("mine.toml")), NAMES),  # type: ignore[arg-type]
    "runtime of reach": (lambda: reach(minimum_model(), targets=[5]), NAMES),  # type: ignore[list-item]
    "dtypes": (lambda: convert(minimum_model(), dtypes="int64=int32"), MAPPINGS),  # type: ignore[arg-type]
    "a dtype": (lambda: convert(minimum_model(), dtypes={"int64": numpy.int32}), NAMES),  # type: ignore[dict-item]
    "shapes": (lambda: normalize(minimum_model(), fix_shapes=[("N", 2)]), MAPPINGS),  # type: ignore[arg-type]
    "a key of shapes": (lambda: normalize(minimum_model(), fix_shapes={5: 2}), "must be the name of"),  # type: ignore[dict-item]
    "certificate": (
        lambda: verify(minimum_model(), minimum_model(), minimum_model()),  # type: ignore[arg-type]
        "must be a Certificate, as Certificate.from_json returns it, not ModelProto",
    ),
}


@pytest.mark.parametrize("argument", OTHERS)
def test_arguments_of_another_kind_are_a_type_error(argument: str) -> None:
    call, words = OTHERS[argument]
    with pytest.raises(TypeError, match=words):
        call()


def test_opsets_are_given_by_the_names_of_domains() -> None:
    with pytest.raises(TypeError, match="must be domain names"):
        convert(minimum_model(), to={1: 18})  # type: ignore[dict-item]


def test_ai_onnx_may_be_named_once() -> None:
    with pytest.raises(TypeError, match=r"`to` names ai\.onnx twice: as '' and as 'ai\.onnx'"):
        convert(minimum_model(), to={"": 18, "ai.onnx": 19})


def test_a_text_is_no_list_of_targets() -> None:
    with pytest.raises(TypeError, match=r"targets must be a list, as \['onnxruntime==1\.4'\]"):
        reach(minimum_model(), targets="onnxruntime==1.4")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"normalize": 1}, TypeError, "normalize must be True, False or a list of passes"),
        ({"rule_book": 3}, TypeError, "rule_book must be a RuleBook"),
        ({"dtype_interface": "change"}, ValueError, "dtype_interface needs dtypes"),
        ({"prove": "no"}, TypeError, "prove must be True or False, not 'no'"),
        ({"exact": 1}, TypeError, "exact must be True or False"),
        ({"cache": None}, TypeError, "cache must be True or False"),
    ],
)
def test_what_cannot_be_meant_is_an_error(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        convert(minimum_model(), to=18, **arguments)


def test_a_refusal_can_be_pickled_and_copied() -> None:
    """Processes of a pool hand it over so."""
    with pytest.raises(ConversionRefused) as caught:
        convert(refused_model(), target="opencv==4.14")
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.deepcopy(caught.value)):
        assert again.refusals == caught.value.refusals
        assert again.nearest is None


def refused_model() -> onnx.ModelProto:
    return onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 16]> g (string[N] x) => (string[N] y) { y = Identity (x) }'
    )
