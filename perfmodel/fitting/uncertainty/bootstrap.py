"""How far weights move when the groups of kernels that were measured are drawn anew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfmodel.errors import TooFewRowsError
from perfmodel.fitting.design import Design
from perfmodel.fitting.fit_design import FitOptions, fit_design
from perfmodel.fitting.linear.least_squares import Array
from perfmodel.models import Family


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Weights of repeated fits, each to groups drawn with replacement.

    Parameters
    ----------
    names
        The weights' names.
    draws
        The weights, shape (n_draws, n_weights); NaN where no drawn row has a say in one.
    """

    names: tuple[str, ...]
    draws: Array

    @property
    def standard_errors(self) -> Array:
        """Standard deviation of each weight over the draws that know it, shape (n_weights,)."""
        return np.array([_spread(column[np.isfinite(column)]) for column in self.draws.T])

    def intervals(self, level: float = 0.9) -> Array:
        """Return for each weight the quantiles that hold `level` of its draws, shape (n_weights, 2)."""
        tails = [(1 - level) / 2, (1 + level) / 2]
        columns = (column[np.isfinite(column)] for column in self.draws.T)
        return np.array([np.quantile(c, tails) if c.size > 1 else [-np.inf, np.inf] for c in columns])


def bootstrap(
    table: Design,
    family: Family,
    groups: Sequence[object],
    options: FitOptions | None = None,
    draws: int = 200,
    seed: int = 0,
) -> Bootstrap:
    """Fit a family again and again to groups of rows drawn with replacement.

    Rows of one group of kernels err together, so that standard errors from the residuals of single
    rows are too small; a bootstrap over whole groups is not deceived by that.

    Parameters
    ----------
    table
        All rows.
    family
        What is fitted.
    groups
        The group of each row, length n_rows.
    options
        How to fit.
    draws, seed
        How often, and the seed of the draws.
    """
    labels = np.unique([str(group) for group in groups], return_inverse=True)[1]
    count = int(labels.max(initial=-1)) + 1
    generator = np.random.default_rng(seed)
    names = fit_design(table, family, options).names
    found = np.full((draws, len(names)), np.nan)
    for row in found:
        often = np.bincount(generator.integers(0, count, count), minlength=count)[labels]
        try:
            fitted = fit_design(table, family, options, often)
        except TooFewRowsError:
            continue
        row[:] = np.where(_known(fitted.marks, fitted.errors), fitted.coefficients, np.nan)
    return Bootstrap(names, found)


def _known(marks: tuple[tuple[str, ...], ...], errors: Array) -> Array:
    held = np.array(["at bound" in own for own in marks])
    known: Array = np.isfinite(errors) | held
    return known


def _spread(values: Array) -> float:
    return float(np.std(values, ddof=1)) if values.size > 1 else float("inf")
