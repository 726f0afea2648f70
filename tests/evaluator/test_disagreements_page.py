"""docs/disagreements.md lists every difference from onnxruntime that the tests know."""

from pathlib import Path

from tests.evaluator.disagreements_page import HEADING, second_part

PAGE = Path(__file__).parents[2] / "docs" / "disagreements.md"


def test_the_page_lists_the_differences_that_the_tests_check() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page[page.index(HEADING) :] == second_part()
