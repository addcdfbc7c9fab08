"""Tables that fit a terminal: columns are left out in a stated order, and the sentence below says which."""

from __future__ import annotations

from collections.abc import Sequence

GAP = 2  # spaces between columns
SHORTEST = 8  # characters that are left of a name
CUT = "..."


def columns_text(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return rows of cells in aligned columns; the first ``left`` ones are aligned left.

    Examples
    --------
    >>> print(columns_text([("a", "1"), ("bcd", "20")]))
    a     1
    bcd  20
    """
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = (
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fitted_text(
    rows: Sequence[Sequence[str]], left: int = 1, drop: Sequence[str] = (), width: int | None = None
) -> str:
    """Return rows of cells in aligned columns that are no wider than a terminal.

    Parameters
    ----------
    rows
        The first one holds the columns' names.
    left
        How many columns are aligned left.
    drop
        Names of the columns that may be left out, in this order; all columns of the name. If the table is still too
        wide, long cells of the columns at the left are cut in their middle.
    width
        Columns of the terminal; None for a table in full.

    Examples
    --------
    >>> print(fitted_text([("name", "time", "note"), ("a", "1 s", "good")], drop=("note",), width=12))
    name  time
    a      1 s
    not shown:
    note (--wide
    shows all)
    """
    kept: Sequence[Sequence[str]] = rows
    possible = [name for name in drop if name in rows[0]]
    without: Sequence[str] = possible
    for count in range(len(possible) + 1):
        places = [place for place, name in enumerate(rows[0]) if name not in possible[:count]]
        kept = [[row[place] for place in places] for row in rows]
        if _fits(kept, width):
            without = possible[:count]
            break
    left -= sum(name in without for name in rows[0][:left])
    if width is not None and not _fits(kept, width):
        kept = _cut(kept, max(left, 1), width)
    named = ", ".join(without)
    note = [_wrapped(f"not shown: {named} (--wide shows all)", width)] * bool(without)
    return "\n".join([columns_text(kept, left), *note])


def blocks_text(
    rows: Sequence[Sequence[str]], left: int = 1, first: int = 1, width: int | None = None
) -> str:
    """Return rows of cells in blocks of columns, one below the other, each with the first columns.

    Examples
    --------
    >>> print(blocks_text([("name", "n=1", "n=2"), ("a", "10", "20")], width=9))
    name  n=1
    a      10
    <BLANKLINE>
    name  n=2
    a      20
    """
    shown, place, count = [], first, len(rows[0])
    while place < count:
        end = place + 1
        while end < count and _fits([(*row[:first], *row[place : end + 1]) for row in rows], width):
            end += 1
        block = [(*row[:first], *row[place:end]) for row in rows]
        shown.append(fitted_text(block, left if place == first else first, (), width))
        place = end
    return "\n\n".join(shown) or columns_text(rows, left)


def stacked_text(rows: Sequence[Sequence[str]], left: int = 1, width: int | None = None) -> str:
    """Return rows of cells in aligned columns; where they do not fit, each row's last cell below the others.

    Examples
    --------
    >>> print(stacked_text([("loads", "a", "n*(n + 1)/2"), ("stores", "b", "n")], width=14))
    loads  a
        n*(n +
        1)/2
    stores  b
        n
    """
    if _fits(rows, width):
        return columns_text(rows, left)
    lines = []
    for row in rows:
        lines += [_wrapped("  ".join(filter(None, row[:-1])), width), _wrapped(row[-1], width, "    ", "    ")]
    return "\n".join(line for line in lines if line)


def wrapped_text(text: str, width: int | None = None) -> str:
    r"""Return a text whose lines of prose are broken between words; lines that fit stay as they are.

    Examples
    --------
    >>> print(wrapped_text("a  b\nnote: this line is long", 16))
    a  b
    note: this line
      is long
    """
    if width is None:
        return text
    return "\n".join(
        line if len(line) <= width else _wrapped(line, width, "", "  ") for line in text.split("\n")
    )


def _fits(rows: Sequence[Sequence[str]], width: int | None) -> bool:
    return width is None or sum(_widths(rows)) + GAP * (len(rows[0]) - 1) <= width


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _cut(rows: Sequence[Sequence[str]], left: int, width: int) -> list[list[str]]:
    """Cut the widest of the columns at the left, so that the others have their place."""
    widths = _widths(rows)
    over = sum(widths) + GAP * (len(widths) - 1) - width
    while over > 0:
        place = max(range(left), key=widths.__getitem__)
        second = max((w for i, w in enumerate(widths[:left]) if i != place), default=0)
        most = max(SHORTEST, min(widths[place] - 1, max(widths[place] - over, second)))
        if most >= widths[place]:
            break
        over -= widths[place] - most
        widths[place] = most
    return [[_shortened(cell, most) for cell, most in zip(row, widths, strict=True)] for row in rows]


def _shortened(cell: str, most: int) -> str:
    """Return a cell without its middle.

    >>> _shortened("global_load_32_stride1", 12)
    'globa...ide1'
    """
    if len(cell) <= most:
        return cell
    head = (most - len(CUT) + 1) // 2
    return f"{cell[:head]}{CUT}{cell[head + len(CUT) - most :]}"


def _wrapped(text: str, width: int | None, first: str = "", others: str = "") -> str:
    from textwrap import fill

    return text if width is None else fill(text, width, initial_indent=first, subsequent_indent=others)
