"""What rules are given as a page of the documentation: `python -m opsetlift.development.site_page > docs/site.md`.

A test compares the page.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator

from opsetlift.rulebook import site
from opsetlift.rulebook.site import Operators, Site

_HEAD = """# The Site: what a rule is given

A rule is a function of a `Site`: `def move_axes_to_an_input(site: Site) -> None`. Import it, and the functions below,
from `opsetlift.rulebook.site`. This page has all of it; `help(Site)` and `help(Operators)` show the same.
"""

_GROUP = re.compile(r" {4}# (.*)\.")


def site_page() -> str:
    """`Site`, `Operators` and the functions built from them, as Markdown."""
    functions = [one for name in site.__all__ if inspect.isfunction(one := getattr(site, name))]
    return "\n".join(
        [
            _HEAD,
            *_class_section("A site", Site),
            *_class_section("`site.op`: nodes that a rule emits", Operators),
            "## Functions built from these\n",
            *map(_function_entry, functions),
            "",
        ]
    )


def _class_section(title: str, described: type) -> Iterator[str]:
    """The members in the order of the source, under the comments that group them."""
    source = inspect.getsource(described)
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    groups = {number: found[1] for number, line in enumerate(source.splitlines(), 1) if (found := _GROUP.match(line))}
    yield f"## {title}\n\n{inspect.getdoc(described)}\n"
    for member in definition.body:
        for number in [number for number in groups if number < member.lineno]:
            yield f"\n### {groups.pop(number)}\n"
        if isinstance(member, ast.AnnAssign):
            name = ast.unparse(member.target)
            yield _entry(f"{name}: {ast.unparse(member.annotation)}", inspect.getdoc(getattr(described, name)) or "")
        elif isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
            yield _member_entry(member)
    yield ""


def _member_entry(member: ast.FunctionDef) -> str:
    returned = ast.unparse(member.returns) if member.returns else ""
    if any(isinstance(one, ast.Name) and one.id == "property" for one in member.decorator_list):
        return _entry(f"{member.name}: {returned}", ast.get_docstring(member) or "")
    arguments = ast.unparse(member.args).removeprefix("self").removeprefix(", ").replace("=", " = ")
    shown = f"{member.name}({arguments})" + (f" -> {returned}" if returned != "None" else "")
    return _entry(shown, ast.get_docstring(member) or "")


def _function_entry(function: Callable[..., object]) -> str:
    (definition,) = ast.parse(inspect.getsource(function)).body
    assert isinstance(definition, ast.FunctionDef)
    return _member_entry(definition)


def _entry(signature: str, docstring: str) -> str:
    """A signature and its docstring; the sections of the docstring become nested lists."""
    lines: list[str] = []
    for line in docstring.splitlines():
        if line.startswith("        "):
            lines[-1] += f" {line.strip()}"
        elif line.startswith("    "):
            lines.append(f"  - {line.strip()}")
        elif line in ("Args:", "Returns:", "Raises:"):
            lines.append(f"  - {line}" if line != "Args:" else "")
        else:
            lines.append(f"  {line}" if line else "")
    text = "\n".join(line for line in lines if line).replace("  - Returns:\n  - ", "  - Returns: ")
    return f"- `{signature}`\n{text.replace('  - Raises:' + chr(10) + '  - ', '  - Raises ')}"


if __name__ == "__main__":
    sys.stdout.write(site_page())
