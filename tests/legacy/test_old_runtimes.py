"""Models converted `--for` an old onnxruntime load there and give the outputs that the framework recorded.

`python -m tests.legacy.runtimes` makes the environments; OPSETLIFT_MODELS may name a folder of more models, each with
model.onnx, inputs.npz and expected.npz.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import onnx
import pytest

from opsetlift import convert
from opsetlift.specification import history
from tests.legacy import runtimes

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
FOLDERS = [EXAMPLES, *map(Path, filter(None, [os.environ.get("OPSETLIFT_MODELS")]))]
MODELS = {path.parent.name: path.parent for folder in FOLDERS for path in sorted(folder.glob("*/model.onnx"))}


@pytest.fixture(params=runtimes.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    if not runtimes.python_of(request.param).exists():
        pytest.skip(f"onnxruntime {request.param} is not installed: python -m tests.legacy.runtimes {request.param}")
    return str(request.param)


def check(model: onnx.ModelProto, recorded: Path, version: str, folder: Path) -> None:
    path = folder / "converted.onnx"
    onnx.save(convert(model, target=f"onnxruntime=={version}").model, path)
    archive = numpy.load(recorded / "expected.npz")
    found = runtimes.run(version, path, dict(numpy.load(recorded / "inputs.npz")))
    for result, name in zip(found, archive.files, strict=True):
        numpy.testing.assert_allclose(result, archive[name], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_as_it_was_exported(name: str, version: str, tmp_path: Path) -> None:
    check(onnx.load(MODELS[name] / "model.onnx"), MODELS[name], version, tmp_path)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_comes_down_from_the_newest_opset(name: str, version: str, tmp_path: Path) -> None:
    newest = convert(onnx.load(MODELS[name] / "model.onnx"), to=history.latest_opset()).model
    check(newest, MODELS[name], version, tmp_path)
