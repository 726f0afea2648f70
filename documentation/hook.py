"""For mkdocs: adds the generated pages and those that lie beside docs/, and sets their links right."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
_BESIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages that lie in the project's folder -> where the site has them."""
_ORIGINS = {site: name for name, site in _BESIDE.items()}

_LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_STYLE_OF_DRAWINGS = re.compile(
    r"^(svg (?:text|\.).*|\.sides.*|@media \(max-width: 55rem\).*|(?::root|@media \(prefers-color-scheme).*?^\}$)",
    re.MULTILINE | re.DOTALL,
)
_OWN_STYLE = """
.sides figure { margin: 0; overflow-x: auto; }
.sides svg { height: auto; max-width: 100%; }
"""


def on_files(files: Any, *, config: Any) -> Any:
    """Add what is not in docs/."""
    sys.path.insert(0, str(PROJECT))
    from mkdocs.structure.files import File

    from documentation.operators import operator_pages
    from documentation.runtimes import runtime_pages

    beside = {page: (PROJECT / name).read_text(encoding="utf-8") for name, page in _BESIDE.items()}
    style = {"stylesheets/drawings.css": _style()}
    for path, content in {**beside, **runtime_pages(), **operator_pages(), **style}.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Set links right: to pages where the site has them; links to source files become names."""
    path = page.file.src_uri
    # Links are as in the project's folder, but for generated pages, of which there is none.
    folder = (PROJECT / _ORIGINS.get(path, f"docs/{path}")).parent
    up = "../" * path.count("/")

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        place = (folder / target).resolve()
        if not target or "://" in target or not place.is_relative_to(PROJECT):
            return found[0]
        name = place.relative_to(PROJECT).as_posix()
        site = _BESIDE.get(name) or name.removeprefix("docs/")
        if files.get_file_from_path(site) is not None:
            return f"[{text}]({up}{site}{anchor})"
        return text if place.exists() else found[0]

    return _LINK.sub(link, markdown)


def _style() -> str:
    """Those parts of the reports' style that drawings need, for drawings alone."""
    css = (PROJECT / "converter" / "opsetlift" / "reporting" / "page.css").read_text(encoding="utf-8")
    parts = [re.sub(r"^svg ", ".sides svg ", part, flags=re.M) for part in _STYLE_OF_DRAWINGS.findall(css)]
    return "\n".join([*parts, _OWN_STYLE])
