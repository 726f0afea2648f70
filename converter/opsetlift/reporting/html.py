"""HTML from data that nobody vouches for: every text is escaped, and the page may load and run nothing but its own."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from importlib.resources import files

from opsetlift.support.text import printable

_WITHOUT_END = frozenset(("meta", "input", "br", "path", "rect", "line"))


class Html(str):
    """Markup; any other string is text, and is escaped."""

    __slots__ = ()


Content = str | int | float | None | Iterable["Content"]
"""What an element holds: markup, text, or several of these. None is nothing."""


def escaped(content: Content) -> Html:
    """Markup for what an element holds. Control characters, which reverse or hide text, are shown as escapes."""
    if isinstance(content, Html):
        return content
    if content is None:
        return Html()
    if isinstance(content, str):
        return Html("\n".join(html.escape(printable(line)) for line in content.split("\n")))
    if isinstance(content, int | float):
        return Html(f"{content:,}" if isinstance(content, int) else f"{content:g}")
    return Html("".join(map(escaped, content)))


def tag(name: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Html:
    """An element. A trailing "_" of an attribute is dropped, others are spelt "-"; None and False leave one out."""
    spelt = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(printable("" if value is True else value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _WITHOUT_END:
        return Html(f"<{name}{spelt}/>")
    return Html(f"<{name}{spelt}>{escaped(content)}</{name}>")


def listed(items: Iterable[Content], **attributes: str) -> Html:
    """A list of points; nothing where there are none."""
    points = [tag("li", item) for item in items]
    return tag("ul", *points, **attributes) if points else Html()


def facts(pairs: Iterable[tuple[str, Content]]) -> Html:
    """Names and values; those without a value are left out."""
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs if value not in (None, "")]
    return tag("dl", *rows) if rows else Html()


def table(caption: str, columns: Iterable[str], rows: Iterable[Iterable[Content]]) -> Html:
    """A table; columns whose title begins with "#" hold numbers. It scrolls sideways where it has no room."""
    titles = list(columns)
    head = tag("tr", *(tag("th", one.lstrip("#"), scope="col", class_=_kind(one)) for one in titles))
    body = [
        tag("tr", *(tag("td", cell, class_=_kind(title)) for title, cell in zip(titles, row, strict=True)))
        for row in rows
    ]
    whole = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _kind(title: str) -> str | None:
    return "number" if title.startswith("#") else None


def folded(summary: Content, *content: Content, **attributes: str) -> Html:
    """A part that is closed at first."""
    return tag("details", tag("summary", summary), *content, **attributes)


def document(title: str, *body: Content) -> str:
    """A whole page, with its style and its script inside; a content security policy allows these two and no others."""
    style, script = (_own(f"page.{extension}") for extension in ("css", "js"))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(style)),
    )
    page = tag("html", head, "\n", tag("body", *body, tag("script", Html(script))), lang="en")
    return f"<!doctype html>\n{page}\n"


def _own(name: str) -> str:
    return files("opsetlift.reporting").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
