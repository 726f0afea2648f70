"""Every block of code in the README and the documentation runs, and prints what the page says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from testing.documents import FOLLOWED_ELSEWHERE, PROJECT, Run, blocks, is_as_written, pages

WITH_CODE = [
    page
    for page in pages()
    if page.relative_to(PROJECT).as_posix() not in FOLLOWED_ELSEWHERE
    and any(block.is_code and not block.reason for block in blocks(page))
]


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.relative_to(PROJECT).as_posix())
def test_the_blocks_of_a_page_run_and_print_what_it_says(page: Path, tmp_path: Path):
    run = Run(tmp_path)
    for block in blocks(page):
        found = run.execute(block)
        if block.language == "console":
            hint = f"{block} prints now (python -m testing.documents writes it into the page):\n{found}"
            assert is_as_written(block.text, found), hint


def test_what_a_block_prints_is_compared():
    assert is_as_written("$ a\none\n...\nthree\n", "$ a\none\ntwo\n2\nthree\n")
    assert not is_as_written("$ a\none\n", "$ a\none\ntwo\n")
    assert not is_as_written("$ a\n1.5\n", "$ a\n1x5\n")


def test_blocks_that_fail_are_found(tmp_path: Path):
    page = PROJECT / "README.md"
    run = Run(tmp_path)
    block = blocks(page)[0]
    with pytest.raises(AssertionError, match="status 1"):
        run.execute(replace(block, language="sh", text="opsetlift convert nothing.onnx out.onnx --to 18\n", reason=""))
    with pytest.raises(ZeroDivisionError):
        run.execute(replace(block, language="python", text="1 / 0\n", reason=""))
    with pytest.raises(AssertionError, match="nothing executes"):
        run.execute(replace(block, language="yaml", text="a: 1\n", reason=""))
