"""Scales and quantiles of conformal scores in plain loops, as the documentation has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Row = tuple[float, str, Sequence[float]]  # size of the error of log time, group, share of each weight


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def typical_errors(rows: Sequence[Row], weights: int) -> list[float]:
    """Of each weight over the mean: rows by their share, groups alike, and one more group with the mean error."""
    groups = {group: [row for row in rows if row[1] == group] for _, group, _ in rows}
    middle = mean([mean([error for error, _, _ in own]) for own in groups.values()])
    found = []
    for j in range(weights):
        held = 1 + sum(mean([shares[j] for _, _, shares in own]) for own in groups.values())
        wrong = middle + sum(mean([shares[j] * error for error, _, shares in own]) for own in groups.values())
        found.append(wrong / held / middle)
    return found


def scale(shares: Sequence[float], typical: Sequence[float], strength: float) -> float:
    return sum(share * own for share, own in zip(shares, typical, strict=True)) ** strength


def scales(rows: Sequence[Row], weights: int, strength: float) -> list[float]:
    """Of each row from the rows of the other groups."""
    others = {group: typical_errors([row for row in rows if row[1] != group], weights) for _, group, _ in rows}
    return [scale(shares, others[group], strength) for _, group, shares in rows]


def loss(rows: Sequence[Row], weights: int, strength: float) -> float:
    groups = sorted({group for _, group, _ in rows})
    each = list(zip(rows, scales(rows, weights, strength), strict=True))
    parts = [[(row[0], one) for row, one in each if row[1] == group] for group in groups]
    ratios = mean([mean([error / one for error, one in part]) for part in parts])
    return math.log(ratios) + mean([mean([math.log(one) for _, one in part]) for part in parts])


def strength(rows: Sequence[Row], weights: int) -> float:
    return min((0.0, 0.5, 1.0), key=lambda one: loss(rows, weights, one))


def quantile(scores: Sequence[tuple[float, str]], level: float) -> float:
    """Of scores and their groups, with one more group whose score is infinite."""
    groups = [group for _, group in scores]
    reached = 0.0
    for score, group in sorted(scores):
        reached += 1 / ((len(set(groups)) + 1) * groups.count(group))
        if reached >= level - 1e-12:
            return score
    return math.inf


def half_width(rows: Sequence[Row], weights: int, level: float) -> Callable[[Sequence[float]], float]:
    """Half the width of the interval of log time of a prediction with some shares, from the rows of other groups."""
    gamma = strength(rows, weights)
    own = [(row[0] / one, row[1]) for row, one in zip(rows, scales(rows, weights, gamma), strict=True)]
    q, typical = quantile(own, level), typical_errors(rows, weights)
    return lambda shares: q * scale(shares, typical, gamma)
