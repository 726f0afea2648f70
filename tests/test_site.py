"""The documentation's site is built without a warning, has its generated pages, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from opsetlift.specification.history import CONVERTED_DOMAINS, histories
from opsetlift.targets import catalogue

PROJECT = Path(__file__).parents[1]
LOADED = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=["']?(https?:)?//[^>]*>""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    # Nothing answers at this address: what asks for something from the network fails.
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.mark.slow
def test_each_operator_and_each_version_of_a_runtime_has_a_page(site: Path):
    operators = {f"{domain}.{name}" if domain else name for domain, name in histories() if domain in CONVERTED_DOMAINS}
    assert {path.stem for path in (site / "operators").glob("*.html")} == operators | {"index"}
    runtimes = {f"{one.name}-{one.version}" for runtime in catalogue().values() for one in runtime.targets}
    assert {path.stem for path in (site / "runtimes").glob("*.html")} == runtimes | {"index"}

    clip = (site / "operators" / "Clip.html").read_text(encoding="utf-8")
    assert "move bounds to inputs" in clip
    assert "<svg" in clip
    assert "no operator of opset 12 accepts bfloat16" in clip
    runtime = (site / "runtimes" / "onnxruntime-1.4.html").read_text(encoding="utf-8")
    assert "ai.onnx 7 to 12" in runtime
    assert "What is left" in runtime


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 300
    for page in pages:
        found = [one[0] for one in LOADED.finditer(page.read_text(encoding="utf-8")) if 'rel="canonical"' not in one[0]]
        assert not found, page
