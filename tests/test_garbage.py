"""Garbage is collected more rarely while a model is worked on, and as the caller wants it afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import onnx.parser
import pytest

import opsetlift
from opsetlift.support.garbage import rarely_collected


@pytest.fixture(autouse=True)
def threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_threshold_comes_back_after_blocks_in_blocks_and_errors() -> None:
    def fail() -> None:
        with rarely_collected():
            with rarely_collected():
                assert gc.get_threshold() == (500_000, 10, 10)
            assert gc.get_threshold()[0] == 500_000
            raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fail()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [0, 1_000_000])
def test_what_the_caller_chose_stays_where_it_is_rarer(chosen: int) -> None:
    gc.set_threshold(chosen)
    with rarely_collected():
        assert gc.get_threshold()[0] == chosen
    assert gc.get_threshold()[0] == chosen


def test_a_refused_conversion_leaves_the_threshold_alone() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 13]> g (string[N] x) => (string[N] y) { y = Identity (x) }"""
    )
    with pytest.raises(opsetlift.OpsetLiftError):
        opsetlift.convert(model, to=99)
    with pytest.raises(opsetlift.ConversionRefused):
        opsetlift.convert(model, target="opencv==4.5")
    assert gc.get_threshold() == (700, 10, 10)
