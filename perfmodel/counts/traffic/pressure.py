"""Whether lines stay in a set-associative cache while others are touched."""

from __future__ import annotations

from collections.abc import Iterable


def chance_to_stay(own: float, others: Iterable[tuple[float, float]], ways: int) -> float:
    """Return the share of lines whose sets receive no more lines than they have ways.

    Parameters
    ----------
    own : float
        Lines of the same box in each set that it reaches.
    others : iterable of (float, float)
        Of each other box the lines in each set that it reaches, and its chance to reach a set.
    ways : int
        Lines of a set.

    Examples
    --------
    Of three other boxes one has a line in each set, and two have two lines in half of the sets.

    >>> chance_to_stay(1, [(1, 1.0), (2, 0.5), (2, 0.5)], 4)
    0.75
    """
    chances = [1.0, *[0.0] * ways]  # by the lines in a set
    for load, share in ((own, 1.0), *others):
        less = int(load)
        chances = _with(chances, less, share * (1.0 - load + less), share * (load - less), 1.0 - share)
    return sum(chances)


def _with(chances: list[float], lines: int, so_many: float, one_more: float, none: float) -> list[float]:
    """Return the distribution with a number of lines added; what exceeds the ways is left out."""
    result = [none * chance for chance in chances]
    for k, chance in enumerate(chances[: max(len(chances) - lines, 0)], lines):
        result[k] += so_many * chance
        if one_more and k + 1 < len(result):
            result[k + 1] += one_more * chance
    return result


def overlap(start: float, length: float, other: float, width: float, cycle: float) -> float:
    """Return the share of an interval on a circle that another interval covers.

    Examples
    --------
    >>> overlap(0, 4, 14, 4, 16), overlap(0, 4, 8, 4, 16)
    (0.5, 0.0)
    """
    distance = (other - start) % cycle
    covered = max(0.0, min(length, distance + width) - distance) + max(0.0, min(length, distance + width - cycle))
    return min(covered / length, 1.0)
