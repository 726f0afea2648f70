"""The record of a proof."""

from __future__ import annotations

import json

import pytest

from converter.prove import Certificate, verify
from tests.prove.conversions import Conversion, KnownFacts, conversion


@pytest.fixture
def made() -> Conversion:
    return conversion(
        "g (float[N, M] x) => (float[N] y) { y = ReduceMin <axes = [1], keepdims = 0> (x) }",
        "g (float[N, M] x) => (float[N] y) <int64[1] axes = {1}> { y = ReduceMin <keepdims = 0> (x, axes) }",
        (13, 18),
        claims=[(0, 0, 1)],
        added=["axes"],
    )


def test_a_certificate_says_what_was_proven_and_with_what(made: Conversion) -> None:
    content = json.loads(made.prove(seed=7).to_json())
    assert content["seed"] == 7
    assert content["source_opsets"] == {"ai.onnx": 13}
    assert content["target_opsets"] == {"ai.onnx": 18}
    assert set(content["tools"]) == {"opsetlift", "onnx", "numpy"}
    assert len(content["argument"]) == 2
    site = content["sites"][0]
    assert (site["operator"], site["node"], site["path"], site["outcome"]) == ("ReduceMin", "y", "graph", "EQUAL")
    assert site["rules"] == ["Any 1→2: by hand"]
    assert site["cases"] > 10


def test_a_certificate_survives_json(made: Conversion) -> None:
    certificate = made.prove()
    again = Certificate.from_json(certificate.to_json())
    assert again.to_json() == certificate.to_json()
    assert again.summary() == certificate.summary()
    assert again.is_proven


def test_a_proof_can_be_run_again_from_its_certificate(made: Conversion) -> None:
    certificate = Certificate.from_json(made.prove(seed=3).to_json())
    again = verify(certificate, made.original, made.result, KnownFacts(made.original))
    assert again.to_json() == certificate.to_json()


def test_a_certificate_of_other_models_is_not_verified(made: Conversion) -> None:
    certificate = made.prove()
    with pytest.raises(ValueError, match="the certificate is about another converted model"):
        verify(certificate, made.original, made.original, KnownFacts(made.original))


def test_the_seed_decides_what_is_tried(made: Conversion) -> None:
    assert made.prove(seed=1).to_json() == made.prove(seed=1).to_json()


@pytest.mark.parametrize("text", ["{}", "[]", '{"schema_version": 99}', "no json"])
def test_what_is_no_certificate_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"no certificate|schema version|Expecting value"):
        Certificate.from_json(text)
