"""The keys of forms as a page: `python -m opsetlift.targets.form_keys_page > docs/form_keys.md`."""

from __future__ import annotations

import inspect
import sys
from types import ModuleType

from opsetlift.targets.form_keys import MODULES, Key
from opsetlift.targets.form_keys.registry import declared_in

_HEAD = """# How a form tells nodes

A `[[form]]` of a [target file](targets.md#a-file-of-your-own) is a way to write nodes of an operator that a runtime
does not take, or takes for something else. A node is written so where all the keys hold that the form states. Each key
is declared once, in `converter/opsetlift/targets/form_keys/`, as the function that tests a node.

Beside `operator` (or `operators`), `text` and `source`, which every form has, it may limit `domain`, `versions` and
`opsets`, as `{ min = 9, max = 12 }`. Inputs of operators that onnx does not define are named by their places, from "0"
on. Operators of other domains than ONNX's are named with these, as "com.microsoft.QGemm". A name that ONNX does not
have is an error.
"""

_WRITTEN_AS = {bool: "true", int: "number", frozenset: "list", tuple: "list, in order", dict: "table"}


def form_keys_page() -> str:
    """Every key with what it states, as Markdown."""
    return "\n".join([_HEAD, *map(_section, MODULES)])


def _section(module: ModuleType) -> str:
    summary, _, more = inspect.cleandoc(module.__doc__ or "").partition(".")
    title = summary.removeprefix("Keys of ")
    rows = "\n".join(map(_row, declared_in(module)))
    return f"## {title[:1].upper()}{title[1:]}\n{more}\n| key | value | states |\n|---|---|---|\n{rows}\n"


def _row(key: Key) -> str:
    text = " ".join(key.text.split()).replace("|", "\\|")
    return f"| `{key.name}` | {_WRITTEN_AS[key.kind]} | {text} |"


if __name__ == "__main__":
    sys.stdout.write(form_keys_page())
