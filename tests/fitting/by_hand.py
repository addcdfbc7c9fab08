"""Scales and quantiles of conformal scores in plain loops, as the documentation has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

Shares = Sequence[float]
Row = tuple[float, str, Shares, float]
"""Size of the error of log time, group, share of each weight, and lack of support in the fit without the group."""
Powers = tuple[float, float]


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def typical_errors(rows: Sequence[Row], weights: int) -> list[float]:
    """Of each weight over the mean: rows by their share, groups alike, and one more group with the mean error."""
    groups = {row[1]: [other for other in rows if other[1] == row[1]] for row in rows}
    middle = mean([mean([row[0] for row in own]) for own in groups.values()])
    found = []
    for j in range(weights):
        held = 1 + sum(mean([row[2][j] for row in own]) for own in groups.values())
        wrong = middle + sum(mean([row[2][j] * row[0] for row in own]) for own in groups.values())
        found.append(wrong / held / middle)
    return found


def support(rows: Sequence[tuple[str, Shares]], weights: int) -> list[float]:
    """Of each weight from the groups and shares of the rows of a fit."""
    groups = {group: [shares for other, shares in rows if other == group] for group, _ in rows}
    return [sum(mean([shares[j] ** 2 for shares in own]) for own in groups.values()) for j in range(weights)]


def lack(shares: Shares, supports: Shares) -> float:
    return math.sqrt(sum(share**2 / (own + 0.3) for share, own in zip(shares, supports, strict=True)))


def scale(shares: Shares, missing: float, typical: Sequence[float], powers: Powers) -> float:
    error = sum(share * own for share, own in zip(shares, typical, strict=True))
    return error ** powers[0] * missing ** powers[1]


def scales(rows: Sequence[Row], weights: int, powers: Powers) -> list[float]:
    """Of each row from the rows of the other groups."""
    others = {group: typical_errors([row for row in rows if row[1] != group], weights) for _, group, *_ in rows}
    return [scale(shares, missing, others[group], powers) for _, group, shares, missing in rows]


def loss(rows: Sequence[Row], weights: int, powers: Powers) -> float:
    each = list(zip(rows, scales(rows, weights, powers), strict=True))
    parts = [[(row[0], one) for row, one in each if row[1] == group] for group in sorted({row[1] for row in rows})]
    ratios = mean([mean([error / one for error, one in part]) for part in parts])
    return math.log(ratios) + mean([mean([math.log(one) for _, one in part]) for part in parts])


def powers(rows: Sequence[Row], weights: int) -> Powers:
    each: list[Powers] = list(product((0.0, 0.5, 1.0), repeat=2))
    return min(each, key=lambda one: loss(rows, weights, one))


def quantile(scores: Sequence[tuple[float, str]], level: float) -> float:
    """Of scores and their groups, with one more group whose score is infinite."""
    groups = [group for _, group in scores]
    reached = 0.0
    for score, group in sorted(scores):
        reached += 1 / ((len(set(groups)) + 1) * groups.count(group))
        if reached >= level - 1e-12:
            return score
    return math.inf


def half_width(rows: Sequence[Row], weights: int, level: float) -> Callable[[Shares, float], float]:
    """Half the width of the interval of log time, from shares and lack of support, by the rows of other groups."""
    chosen = powers(rows, weights)
    own = [(row[0] / one, row[1]) for row, one in zip(rows, scales(rows, weights, chosen), strict=True)]
    q, typical = quantile(own, level), typical_errors(rows, weights)
    return lambda shares, missing: q * scale(shares, missing, typical, chosen)
