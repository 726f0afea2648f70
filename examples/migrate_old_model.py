"""Migrate an old model: from the opset it was exported at to a newer one, with proof.

    python examples/migrate_old_model.py [MODEL OPSET OUT]

Without arguments it takes the bundled model of opset 9 to opset 18 and, on top of the proof, compares the result with
what the framework that the model came from computed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy

import opsetlift
from opsetlift.evaluator import Evaluator
from opsetlift.model.files import load_model, save_model

MODELS = Path(__file__).parent / "models"


def migrate(source: Path, opset: int, target: Path) -> None:
    """Convert, say what was done, and write the model with its certificate."""
    try:
        conversion = opsetlift.convert(source, to=opset)
    except opsetlift.ConversionRefused as refused:
        sys.exit(f"no way up to opset {opset}:\n{refused}")
    for rewrite in conversion.report.rewrites:
        print(f"{rewrite.count:4} x {rewrite.transition}: {rewrite.rule} ({rewrite.exactness})")
    assert conversion.certificate is not None
    print(conversion.certificate.summary())
    certificate = target.with_suffix(".proof.json")
    save_model(
        conversion.model,
        target,
        source_dir=source.parent,
        overwrite=True,
        beside={certificate: conversion.certificate.to_json().encode()},
    )
    print(f"wrote {target} and {certificate}")


def compare_with_framework(target: Path, recorded: Path) -> None:
    """Run the new model on recorded inputs, and compare with the outputs that were recorded with them."""
    outputs = Evaluator(load_model(target)).run(dict(numpy.load(recorded / "inputs.npz")))
    expected = numpy.load(recorded / "expected.npz")
    for (name, found), key in zip(outputs.items(), expected.files, strict=True):
        numpy.testing.assert_allclose(found, expected[key], rtol=1e-3, atol=1e-5, err_msg=name)
    print(f"the framework's own outputs, {len(expected.files)} of them, are reproduced")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        migrate(Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
    else:
        migrate(MODELS / "reductions_basic_opset9" / "model.onnx", 18, Path("migrated.onnx"))
        compare_with_framework(Path("migrated.onnx"), MODELS / "reductions_basic_opset9")
