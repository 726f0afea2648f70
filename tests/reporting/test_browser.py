"""Reports in a real browser, where one is installed: no error on the console, search and links work."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from opsetlift.cli import main
from tests.reporting.pages import hostile_model, saved

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("browser")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        saved(hostile_model(), "in.onnx")
        assert main(["convert", "in.onnx", "out.onnx", "--to", "18", "--report", "report.html"]) == 0
    return folder / "report.html"


def opened(page: Path, address: str = "") -> tuple[str, list[str]]:
    """The page as the browser has it after its script ran, and what is on the console."""
    assert BROWSER is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    profile = f"--user-data-dir={page.parent / 'profile'}"
    command = [BROWSER, *options, profile, f"{page.as_uri()}{address}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def test_the_console_has_no_error_and_foreign_names_run_nothing(report: Path):
    page, console = opened(report)
    assert console == []
    assert "2 of 2 entries shown" in page


def test_errors_on_the_console_would_be_seen(report: Path, tmp_path: Path):
    broken = tmp_path / "broken.html"
    broken.write_text(report.read_text(encoding="utf-8").replace('"use strict";', '"use strict"; '), encoding="utf-8")
    _, console = opened(broken)
    assert any("Content Security Policy" in line for line in console), "a script that is not ours does not run"


def test_a_link_can_hold_a_search_and_a_filter(report: Path):
    page, console = opened(report, "?search=script&operator=ReduceMin")
    assert console == []
    assert "1 of 2 entries shown" in page


def test_a_link_to_an_entry_that_a_filter_hides_shows_it(report: Path):
    page, console = opened(report, "?operator=ReduceMin#reducemax-13-18-move-axes-to-an-input")
    assert console == []
    assert "2 of 2 entries shown" in page
