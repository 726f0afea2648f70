"""How results show themselves in a Python shell and in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from opsetlift.support.text import printable

_MOST_ROWS = 40


class Shown:
    """Something that a shell shows in a few lines, and a notebook with a table."""

    def _shown_lines(self) -> Sequence[str]:
        """Three lines at the most."""
        raise NotImplementedError

    def _shown_rows(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """The titles of the columns of a table, and its rows."""
        return (), ()

    def __repr__(self) -> str:
        return "\n".join(map(printable, self._shown_lines()))

    def _repr_html_(self) -> str:
        first, *others = map(_escaped, self._shown_lines())
        parts = [f"<strong>{first}</strong>", *others]
        columns, rows = self._shown_rows()
        cells = [[_escaped(cell) for cell in row] for row in rows]
        if cells:
            head = "".join(f"<th>{_escaped(title)}</th>" for title in columns)
            body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells[:_MOST_ROWS])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        if len(cells) > _MOST_ROWS:
            parts.append(f"... and {len(cells) - _MOST_ROWS} more")
        return f"<div>{'<br>'.join(parts)}</div>"


def _escaped(content: object) -> str:
    return html.escape(printable(content))
