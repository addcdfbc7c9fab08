r"""How a model's errors scatter between variants of one kernel, which decides which variants it can tell apart.

The error of a measured row is :math:`r = \log(t/p)` with :math:`p` predicted by a fit without any row of the row's
group of kernels. Rows of one kernel at the same sizes are a *cell*: an offset that they share moves no variant past
another, so only differences inside of a cell count. With errors :math:`r_i = c + \sigma e_i` of independent
:math:`e_i` (:mod:`perfmodel.fitting.uncertainty.selection`) the scale is

.. math:: \sigma = \operatorname{median}_{i < j} |r_i - r_j| \;/\; q_{3/4}

where :math:`q_{3/4}` is the quantile of :math:`e_i - e_j`, which 3/4 do not exceed, so that half of all absolute
differences are below it. No offset has to be estimated, and cells of two variants count as they should. Every kernel
has the same weight. The median makes the scale robust; how heavy the tails are is chosen among normal and Student's
distributions by cross-validation: the scale comes from all other groups of kernels, and what counts is the mean
logarithm of the probability that is given to the variant that was the fastest in truth, over the cells of the group.

The times are noisy, so the noise is part of the scatter.

Source of the scale: P. J. Rousseeuw, C. Croux, *Alternatives to the Median Absolute Deviation*, JASA 88 (1993), on
scales from pairwise differences; of the score: I. J. Good, *Rational Decisions*, J. Royal Statistical Society B 14
(1952).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from perfmodel.fitting.uncertainty.conformal import WIDEST
from perfmodel.fitting.uncertainty.selection import Floats, difference_quantile, probabilities_of_best

if TYPE_CHECKING:
    from perfmodel.store import Measurement

FREEDOMS: tuple[Literal[2, 4, 8] | None, ...] = (None, 8, 4, 2)
"""Degrees of freedom that are tried; None is the normal distribution."""
LEAST = 1e-12
"""Least probability that the score of a choice may have."""


class Scatter(BaseModel):
    r"""Errors of the log time of a kernel's variants, beside the offset that they share.

    Parameters
    ----------
    deviation
        Their scale :math:`\sigma` [1]: the standard deviation, where they are normal. At most
        :data:`~perfmodel.fitting.uncertainty.conformal.WIDEST`, as the widest interval.
    freedom
        Degrees of freedom of Student's distribution; None where they are normal.
    cells
        Kernels at given sizes with two variants or more, from which these come.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    deviation: Annotated[float, Field(ge=0, le=WIDEST)]
    freedom: Literal[2, 4, 8] | None = None
    cells: int = Field(ge=1)


@dataclass(frozen=True, eq=False)
class Cell:
    """Errors of the variants of one kernel at the same sizes.

    Parameters
    ----------
    kernel, group
        Name of the kernel class, and its group.
    logs
        Logarithms of the measured times [log s], shape (n_variants,).
    errors
        Those of the measured over the predicted times [1], of the same shape.
    """

    kernel: str
    group: str
    logs: Floats
    errors: Floats


def cells_of(rows: Sequence[Measurement], times: Floats, predicted: Floats) -> tuple[Cell, ...]:
    """Return the cells of measured rows with two variants or more.

    Parameters
    ----------
    rows
        Measured rows.
    times, predicted
        Measured and predicted times [s], shape (n_rows,); rows whose prediction is NaN, or not above zero, are left
        out.
    """
    found: dict[tuple[str, tuple[tuple[str, int], ...]], list[int]] = {}
    for place, row in enumerate(rows):
        if predicted[place] > 0:
            found.setdefault((row.kernel, tuple(sorted(row.parameters.items()))), []).append(place)
    logs = np.log(times)
    return tuple(
        Cell(kernel, rows[places[0]].group, logs[places], logs[places] - np.log(predicted[places]))
        for (kernel, _), places in found.items()
        if len(places) > 1
    )


def estimate_scatter(cells: Sequence[Cell]) -> Scatter | None:
    """Return the scatter of errors inside of cells; None where there is no cell.

    With the cells of one group alone, tails cannot be chosen, and the errors count as normal.
    """
    if not cells:
        return None
    groups = sorted({cell.group for cell in cells})
    freedom = None
    if len(groups) > 1:
        scores = {one: _score(cells, groups, one) for one in FREEDOMS}
        freedom = max(scores, key=scores.__getitem__)
    return Scatter(deviation=min(scale(cells, freedom), WIDEST), freedom=freedom, cells=len(cells))


def scale(cells: Iterable[Cell], freedom: int | None) -> float:
    """Return the scale of errors inside of cells, of a distribution with so many degrees of freedom [1]."""
    by_kernel: dict[str, list[Floats]] = {}
    for cell in cells:
        lower, upper = np.triu_indices(len(cell.errors), 1)
        by_kernel.setdefault(cell.kernel, []).append(np.abs(cell.errors[lower] - cell.errors[upper]))
    differences = [np.concatenate(parts) for parts in by_kernel.values()]
    weights = [np.full(len(part), 1 / len(part)) for part in differences]
    return _median(np.concatenate(differences), np.concatenate(weights)) / difference_quantile(freedom, 0.75)


def _score(cells: Sequence[Cell], groups: Iterable[str], freedom: int | None) -> float:
    """Return the mean log probability of the truly fastest variant, by the scale of the other groups' cells."""
    by_kernel: dict[str, list[float]] = {}
    for group in groups:
        deviation = scale([cell for cell in cells if cell.group != group], freedom)
        for cell in cells:
            if cell.group == group:
                predicted = np.exp(cell.logs - cell.errors)
                best = probabilities_of_best(predicted, deviation, freedom)[np.argmin(cell.logs)]
                by_kernel.setdefault(cell.kernel, []).append(float(np.log(max(best, LEAST))))
    return _mean({kernel: float(np.mean(scores)) for kernel, scores in by_kernel.items()})


def _mean(values: Mapping[str, float]) -> float:
    return float(np.mean(list(values.values())))


def _median(values: Floats, weights: Floats) -> float:
    """Return the weighted median: the least value up to which half of the weight lies."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2 * (1 - 1e-12))])
