"""How many cache lines a row's run of cells touches where the row may begin anywhere in a line."""

from __future__ import annotations

import islpy as isl

SET, IN, OUT, PARAM = isl.dim_type.set, isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param


def lines_of(cells: isl.Set, per_line: int) -> isl.Set:
    """Return the set with the last dimension, a cell, replaced by its line."""
    rank = cells.dim(SET)
    axes = [f"x{k}" for k in range(rank)]
    target = [*axes[:-1], f"floor({axes[-1]}/{per_line})"]
    return cells.apply(isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join(target)}] }}"))


def lines_anywhere(cells: isl.Set, per_line: int) -> isl.Set:
    """Return a set with at least as many points as lines that rows touch, wherever in a line they begin.

    A cell is on the line on which it would be if its row began on a line, or on the next.

    Examples
    --------
    Two pieces of a row touch two lines each where a line ends inside of them:

    >>> lines_anywhere(isl.Set("{ [x] : 0 <= x < 9 or 40 <= x < 47 }"), 16)
    Set("{ [i0] : 0 <= i0 <= 3 }")
    """
    lines = lines_of(cells, per_line)
    axes = [f"x{k}" for k in range(lines.dim(SET))]
    after = isl.Map(f"{{ [{', '.join(axes)}] -> [{', '.join([*axes[:-1], axes[-1] + ' + 1'])}] }}")
    return lines.union(lines.apply(after)).coalesce()


def most_lines(cells: isl.Set, per_line: int) -> int | None:
    r"""Return the most lines that the cells of one row touch, the row beginning anywhere.

    Cells of which the first and the last are :math:`d` apart touch at most
    :math:`\lceil d / L \rceil + 1` lines of :math:`L` cells.

    Parameters
    ----------
    cells : islpy.Set
        The row, in any number of dimensions, and last the cell.
    per_line : int
        Cells of a line.

    Returns
    -------
    int or None
        None where no constant bounds the distance, or where cells lie so far apart that most of
        the lines between them are not touched.

    Examples
    --------
    >>> most_lines(isl.Set("[n] -> { [i, x] : 0 <= i < n and 3*i <= x < 3*i + 10 }"), 16)
    2
    """
    distance = _distances(cells).dim_max_val(0)
    if not distance.is_int():
        return None
    most = -(-int(distance.to_python()) // per_line) + 1
    return most if most <= 2 or consecutive(lines_of(cells, per_line)) else None


def far_apart(cells: isl.Set, per_line: int) -> bool:
    """Whether the cells of a row are each on a line of their own, wherever the row begins."""
    return bool(_distances(cells).intersect(isl.Set(f"{{ [d] : 0 < d < {per_line} }}")).is_empty())


def _distances(cells: isl.Set) -> isl.Set:
    """Return the distances between the cells of a row."""
    row = isl.Map.from_range(cells).move_dims(IN, 0, OUT, 0, cells.dim(SET) - 1)
    return row.reverse().apply_range(row).deltas()


def consecutive(lines: isl.Set) -> bool:
    """Whether all lines between two lines of a row are in the set too."""
    row = isl.Map.from_range(lines).move_dims(IN, 0, OUT, 0, lines.dim(SET) - 1)
    upwards = isl.Map("{ [x] -> [y] : y >= x }")
    between = row.apply_range(upwards).intersect(row.apply_range(upwards.reverse()))
    return bool(between.is_subset(row))
