"""Scales and quantiles of conformal scores in plain loops, as the documentation has them."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

Numbers = Sequence[float]
Row = tuple[float, str, Numbers]
"""Size of the error of log time, group, and the columns of its scale (:func:`columns`)."""
RIDGES = (0.3, 3.0)


def mean(numbers: Numbers) -> float:
    return sum(numbers) / len(numbers)


def columns(shares: Numbers, missing: float, private: float) -> tuple[float, ...]:
    """Shares, logarithm of the lack of support, and private data [B] over 1024."""
    return (*shares, math.log(missing), min(private / 1024, 1.0))


def support(rows: Sequence[tuple[str, Numbers]], weights: int) -> list[float]:
    """Of each weight from the groups and shares of the rows of a fit."""
    groups = {group: [shares for other, shares in rows if other == group] for group, _ in rows}
    return [sum(mean([shares[j] ** 2 for shares in own]) for own in groups.values()) for j in range(weights)]


def lack(shares: Numbers, supports: Numbers) -> float:
    return math.sqrt(sum(share**2 / (own + 0.3) for share, own in zip(shares, supports, strict=True)))


def log_scale(slopes: Numbers, own: Numbers) -> float:
    return sum(b * x for b, x in zip(slopes, own, strict=True))


def over_groups(values: Numbers, rows: Sequence[Row]) -> float:
    """Mean over groups of the mean over the rows of each."""
    groups = sorted({row[1] for row in rows})
    return mean([mean([v for v, row in zip(values, rows, strict=True) if row[1] == group]) for group in groups])


def loss(rows: Sequence[Row], logs: Numbers) -> float:
    ratios = [row[0] / math.exp(own) for row, own in zip(rows, logs, strict=True)]
    return math.log(over_groups(ratios, rows)) + over_groups(logs, rows)


def newton(rows: Sequence[Row], slopes: Numbers, penalty: float) -> list[float]:
    """One step of Newton's method to the least loss of some rows, with derivatives by the definition."""
    count = len(slopes)
    tilted = [row[0] / math.exp(log_scale(slopes, row[2])) for row in rows]
    total = over_groups(tilted, rows)

    def expected(value: Callable[[Numbers], float]) -> float:
        return over_groups([t * value(row[2]) for t, row in zip(tilted, rows, strict=True)], rows) / total

    first = [expected(lambda x, j=j: x[j]) for j in range(count)]
    gradient = [over_groups([row[2][j] for row in rows], rows) - first[j] + penalty * slopes[j] for j in range(count)]
    curve = [
        [expected(lambda x, i=i, j=j: x[i] * x[j]) - first[i] * first[j] + penalty * (i == j) for j in range(count)]
        for i in range(count)
    ]
    return list(np.array(slopes) - np.linalg.solve(curve, gradient))


def slopes(rows: Sequence[Row], ridge: float) -> list[float]:
    """Those with the least loss: found by BFGS with differences for derivatives, then polished."""
    penalty = ridge / len({row[1] for row in rows})
    found = minimize(
        lambda b: loss(rows, [log_scale(b, row[2]) for row in rows]) + penalty / 2 * float(b @ b),
        np.zeros(len(rows[0][2])),
    ).x
    return newton(rows, newton(rows, found, penalty), penalty)


def scales(rows: Sequence[Row], ridge: float) -> list[float]:
    """Logarithm of each row's scale, without the row's group; the mean over the other groups is 0."""
    groups, every = {row[1] for row in rows}, slopes(rows, ridge)
    logs = {}
    for group in groups:
        others = [row for row in rows if row[1] != group]
        without = newton(others, every, ridge / len(groups))
        usual = over_groups([log_scale(without, row[2]) for row in others], others)
        logs.update({id(row): log_scale(without, row[2]) - usual for row in rows if row[1] == group})
    return [logs[id(row)] for row in rows]


def best_ridge(rows: Sequence[Row]) -> float | None:
    """The ridge whose scales have the least loss; None where none is better than one width for all."""
    losses = {ridge: loss(rows, scales(rows, ridge)) for ridge in RIDGES}
    best = min(RIDGES, key=lambda ridge: losses[ridge])
    return best if losses[best] < loss(rows, [0.0] * len(rows)) else None


def quantile(scores: Sequence[tuple[float, str]], level: float) -> float:
    """Of scores and their groups; infinite where these are too few for the level."""
    groups = [group for _, group in scores]
    count, reached = len(set(groups)), 0.0
    if level > count / (count + 1) + 1e-12:
        return math.inf
    for score, group in sorted(scores):
        reached += 1 / (count * groups.count(group))
        if reached >= level - 1e-12:
            return score
    return math.inf


def half_width(rows: Sequence[Row], level: float) -> Callable[[Numbers], float]:
    """Half the width of the interval of log time, from the columns of its scale, by the rows of other groups."""
    ridge = best_ridge(rows)
    if ridge is None:
        plain = quantile([(row[0], row[1]) for row in rows], level)
        return lambda own: plain
    chosen = slopes(rows, ridge)
    usual = over_groups([log_scale(chosen, row[2]) for row in rows], rows)
    scores = [(row[0] / math.exp(own), row[1]) for row, own in zip(rows, scales(rows, ridge), strict=True)]
    q = quantile(scores, level)
    return lambda own: q * math.exp(log_scale(chosen, own) - usual)
