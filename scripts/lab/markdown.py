"""Tables of the laboratory's pages, and what stands below their markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of cells as a table in Markdown, whose second row aligns the columns."""
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def below_marker(page: str, marker: str, sections: Iterable[str]) -> str:
    """Return a page with sections instead of the text after its marker; a page without marker gets one at its end."""
    return "\n\n".join([page.partition(marker)[0] + marker, *sections])
