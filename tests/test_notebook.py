"""Results in a notebook that is really executed."""

from __future__ import annotations

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

SETUP = """
import opsetlift
from onnx.parser import parse_model
model = parse_model('<ir_version: 8, opset_import: ["": 13]> '
    'g (float[N] x) => (float y) { i = Identity (x) y = ReduceMax <axes = [0], keepdims = 0> (i) }')
conversion = opsetlift.convert(model, to=18)
"""
CELLS = {
    "conversion": ["Conversion: ai.onnx 13 → ai.onnx 18", "<table>", "ReduceMax 13→18"],
    "conversion.certificate": ["all proven equal"],
    "opsetlift.normalize(model)": ["Normalization: ", "remove-no-op-moves"],
    "opsetlift.reach(model, targets=['onnxruntime==1.4'])": ["Reach: ", "onnxruntime==1.4", "yes"],
}


@pytest.mark.slow
def test_results_are_tables_in_an_executed_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The kernel is a process of its own, which keeps its files with those of the test.
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    cells = [nbformat.v4.new_code_cell(source) for source in (SETUP, *CELLS)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python", "language": "python"}
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    nbformat.validate(notebook)
    for cell in notebook.cells[1:]:
        (output,) = cell.outputs
        page = output["data"]["text/html"]
        for text in CELLS[cell.source]:
            assert text in page, cell.source
        assert len(output["data"]["text/plain"].splitlines()) <= 3
