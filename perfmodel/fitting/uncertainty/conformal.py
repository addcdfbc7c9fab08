r"""How far a measured time may lie from its prediction: conformal intervals.

The score of a measured row is :math:`s = |\log(t/p)|` with :math:`p` predicted by a fit without
any row of the row's group of kernels (Protocol B): measurement kernels, and with them the test kernels where
there are any. At level :math:`1 - \alpha` the interval of a
new prediction is :math:`[p e^{-q}, p e^{q}]` with :math:`q` the :math:`1 - \alpha` quantile of

.. math:: \sum_{k=1}^{K} \sum_{i=1}^{N_k} \frac{1}{(K+1) N_k} \delta_{s_{ki}}
    + \frac{1}{K+1} \delta_{\infty}

over :math:`K` groups with :math:`N_k` rows each. If a new kernel's group is like one more draw
from where the measured groups came from, the interval holds its time with probability
:math:`1 - \alpha` or more, however rows within a group depend on each other. The last term is
the correction for the finite number of groups: with fewer than :math:`(1 - \alpha)/\alpha` of
them the interval is unbounded. Rows predicted at zero or below have no score: what is predicted so has the
interval from zero to infinity, whatever q is.

Source: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*,
2023 (hierarchical conformal prediction).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from perfmodel.errors import LevelError
from perfmodel.fitting.heldout import Unseen

ROUNDING = 1e-12
"""What sums of shares may miss of a level that they reach."""

Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Quantiles:
    """Half widths of intervals of log time (`scores`), and the level that each reaches, in ascending order."""

    levels: tuple[float, ...]
    scores: tuple[float, ...]

    def at(self, level: float) -> float:
        """Return q, the half width at a level; infinite above the last one."""
        check_level(level)
        place = bisect_left(self.levels, level - ROUNDING)
        return self.scores[place] if place < len(self.scores) else math.inf


class Conformal(BaseModel):
    r"""Scores of measured rows, each by a fit without its own group.

    Parameters
    ----------
    scores
        :math:`|\log(t/p)|` of each row that could be predicted.
    groups
        The group of each of these rows.
    withheld
        Rows without a score, because only their own group exercises some feature of theirs, or because
        the prediction was not above zero.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    scores: tuple[Score, ...]
    groups: tuple[str, ...]
    withheld: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _has_a_group_each(self) -> Conformal:
        if len(self.scores) != len(self.groups):
            raise ValueError(f"there are {len(self.scores)} scores and {len(self.groups)} groups; each score has one")
        return self

    @property
    def limits(self) -> str:
        """Up to which level intervals are bounded, and why, in words."""
        count = len(set(self.groups))
        return f"{count} groups of kernels give bounds up to {count / (count + 1):.1%}"

    def without(self, group: str) -> Conformal:
        """Return the scores of the other groups: a row of this group is not judged by its own scores."""
        kept = [i for i, one in enumerate(self.groups) if one != group]
        return self.model_copy(
            update={"scores": tuple(self.scores[i] for i in kept), "groups": tuple(self.groups[i] for i in kept)}
        )

    @property
    def quantiles(self) -> Quantiles:
        """Half widths by level, sorted once for many levels."""
        if not self.scores:
            return Quantiles((), ())
        scores = np.array(self.scores)
        _, own, sizes = np.unique(np.array(self.groups), return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum((1 / ((len(sizes) + 1) * sizes[own]))[order])
        return Quantiles(tuple(reached.tolist()), tuple(scores[order].tolist()))

    def quantile(self, level: float) -> float:
        """Return q, the half width of the interval of log time, at a level; perhaps infinite.

        Examples
        --------
        >>> Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b")).quantile(0.5)
        0.2
        """
        return self.quantiles.at(level)


def scaled(seconds: npt.ArrayLike, q: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return :math:`p e^{-q}` and :math:`p e^{q}`; 0 and infinity where p is not above zero."""
    p = np.asarray(seconds, dtype=np.float64)
    unknown = ~(p > 0) | math.isinf(q)
    factor = 1.0 if math.isinf(q) else math.exp(q)
    return np.where(unknown, 0.0, p / factor), np.where(unknown, math.inf, p * factor)


def calibrate(unseen: Unseen, times: npt.ArrayLike, groups: Sequence[str]) -> Conformal:
    """Return the scores of rows from their predictions without their group, measured times [s] and groups."""
    known = unseen.known & (unseen.seconds > 0)
    scores = np.abs(np.log(np.asarray(times, dtype=np.float64)[known] / unseen.seconds[known]))
    return Conformal(
        scores=tuple(scores.tolist()),
        groups=tuple(group for group, one in zip(groups, known, strict=True) if one),
        withheld=int(np.sum(~known)),
    )


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not 0 < level < 1:
        raise LevelError(level)
