"""The page of passes."""

import subprocess
import sys
from pathlib import Path

import pytest

from opsetlift.normalizer import known_passes
from opsetlift.normalizer.pages import passes_page

PAGE = Path(__file__).parents[2] / "docs" / "passes.md"


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    written = subprocess.run([sys.executable, "-m", "opsetlift.normalizer.pages"], capture_output=True, check=True)
    assert written.stdout.decode() == PAGE.read_text() == passes_page()


def test_every_pass_says_what_it_does_and_when() -> None:
    for name in known_passes():
        assert f"## {name}\n" in passes_page()
