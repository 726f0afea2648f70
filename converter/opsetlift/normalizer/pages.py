"""The passes as a page of the documentation: `python -m opsetlift.normalizer.pages > docs/passes.md`.

What the page says of a pass is the docstring of its module.
"""

from __future__ import annotations

import inspect
import sys

from opsetlift.normalizer.discovery import known_passes
from opsetlift.normalizer.rewriting import Pass

_HEAD = """# The passes of the normaliser

The passes run in this order, repeatedly, until nothing changes. Passes that round, or that not every user wants,
run only on request: `opsetlift normalize IN OUT --passes default,merge-matmul-add`. Each has tests in
`tests/normalize/`, with the graph before and after.
"""


def passes_page() -> str:
    """Every known pass with what it does and when it is exact, as Markdown."""
    return "\n".join([_HEAD, *(_section(one) for one in known_passes().values())])


def _section(one: Pass) -> str:
    exactness = f"rounds, up to {one.ulps} ULP" if one.ulps else "exact"
    when = "by default" if one.is_default else "on demand"
    module = inspect.getmodule(one.rewrite)
    text = inspect.cleandoc(module.__doc__ or "") if module is not None else one.summary
    return f"## {one.name}\n\n*{when}, {exactness}*\n\n{text}\n"


if __name__ == "__main__":
    sys.stdout.write(passes_page())
