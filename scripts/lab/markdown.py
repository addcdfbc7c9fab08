"""Tables of the laboratory's pages, and the text below their markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as a table in Markdown, whose second row aligns the columns."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def below_marker(page: str, marker: str, sections: Iterable[str]) -> str:
    """Return a page with sections instead of the text after its marker; a page without marker gets one at its end."""
    return "\n\n".join([page.partition(marker)[0] + marker, *sections])


def drawn_between(page: str, name: str, text: str, command: str) -> str:
    """Return a page with a text between the marks of a part, ``<!-- NAME: ... -->`` and ``<!-- end of NAME -->``.

    A page without these marks gets them at its end.
    """
    begin, end = f"<!-- {name}: drawn by {command} -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2] if rest else "\n"
    return f"{before if rest else page}{begin}\n\n{text}\n\n{end}{after}"
