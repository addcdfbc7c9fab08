r"""How far a measured time may lie from its prediction: conformal intervals.

The error of a measured row is :math:`r = |\log(t/p)|` with :math:`p` predicted by a fit without
any row of the row's group of kernels (Protocol B): measurement kernels, and with them the test kernels where
there are any. Its score is :math:`s = r/\sigma`, where the scale :math:`\sigma` depends on what the prediction rests on
(:mod:`perfmodel.fitting.uncertainty.local_scale`) and comes from the rows of the other groups alone. At level
:math:`1 - \alpha` the interval of a new prediction with the scale :math:`\sigma`, from all rows, is
:math:`[p e^{-q \sigma}, p e^{q \sigma}]` with :math:`q` the :math:`1 - \alpha` quantile of

.. math:: \sum_{k=1}^{K} \sum_{i=1}^{N_k} \frac{1}{(K+1) N_k} \delta_{s_{ki}}
    + \frac{1}{K+1} \delta_{\infty}

over :math:`K` groups with :math:`N_k` rows each. If a new kernel's group is like one more draw
from where the measured groups came from, and the fits and scales were the same for every group, the interval holds
its time with probability :math:`1 - \alpha` or more, however rows within a group depend on each other. They change a
little from group to group, as in every cross-fit, so the probability is approximate. The last term is
the correction for the finite number of groups: with fewer than :math:`(1 - \alpha)/\alpha` of
them the interval is unbounded. Rows predicted at zero or below have no score: what is predicted so has the
interval from zero to infinity, whatever q is. Where one width for all kernels is as good, and in files from before
scales were kept, :math:`\sigma = 1`.

Source: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*,
2023 (hierarchical conformal prediction); Lei et al. 2018, section 5.2, for scores over scales; R. F. Barber,
E. J. Candès, A. Ramdas, R. J. Tibshirani, *Predictive inference with the jackknife+*, Annals of Statistics 49 (2021),
for scores from fits that leave out a part each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, model_validator

from perfmodel.documents import is_number
from perfmodel.errors import LevelError
from perfmodel.fitting.uncertainty.local_scale import LocalScale, Positive, fit_local_scale

if TYPE_CHECKING:
    from perfmodel.fitting.heldout import Unseen

WIDEST = 600.0
"""Half widths of log time beyond this have no bounds: their factors are near the largest number of a double."""
ROUNDING = 1e-12
"""What sums of shares may miss of a level that they reach."""

Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Quantiles:
    """Scores, and the level that each reaches, in ascending order."""

    levels: tuple[float, ...]
    scores: tuple[float, ...]

    def at(self, level: float) -> float:
        """Return q, the score at a level; infinite above the last one."""
        check_level(level)
        place = bisect_left(self.levels, level - ROUNDING)
        return self.scores[place] if place < len(self.scores) else math.inf


class Conformal(BaseModel):
    r"""Errors of measured rows, each by a fit without its own group, and their scales.

    Parameters
    ----------
    scores
        :math:`r = |\log(t/p)|` of each row that could be predicted, not yet divided by its scale.
    groups
        The group of each of these rows.
    withheld
        Rows without a score, because only their own group exercises some feature of theirs, or because
        the prediction was not above zero.
    scales
        :math:`\sigma` of each of these rows, from the rows of the other groups; None where all are 1.
    scale
        What gives the scale of a new prediction; None where it is 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    scores: tuple[Score, ...]
    groups: tuple[str, ...]
    withheld: int = Field(default=0, ge=0)
    scales: tuple[Positive, ...] | None = None
    scale: LocalScale | None = None

    @model_validator(mode="after")
    def _has_one_each(self) -> Conformal:
        count = len(self.scores)
        if count != len(self.groups):
            raise ValueError(f"there are {count} scores and {len(self.groups)} groups; each score has one")
        if (self.scales is None) != (self.scale is None):
            raise ValueError("there are scales of rows without a scale of predictions, or the other way round")
        if self.scales is not None and count != len(self.scales):
            raise ValueError(f"there are {count} scores and {len(self.scales)} scales; each score has one")
        return self

    @property
    def group_count(self) -> int:
        """Number of groups of kernels: n of them give bounds up to the level n / (n + 1)."""
        return len(set(self.groups))

    def without(self, group: str) -> Conformal:
        """Return the scores of the other groups: a row of this group is not judged by its own scores."""
        kept = [i for i, one in enumerate(self.groups) if one != group]
        columns = {"scores": self.scores, "groups": self.groups, "scales": self.scales}
        return self.model_copy(
            update={name: own and tuple(own[i] for i in kept) for name, own in columns.items()}
        )

    @property
    def quantiles(self) -> Quantiles:
        """Scores by level, sorted once for many levels."""
        if not self.scores:
            return Quantiles((), ())
        scores = np.array(self.scores) / (1.0 if self.scales is None else np.array(self.scales))
        _, own, sizes = np.unique(np.array(self.groups), return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum((1 / ((len(sizes) + 1) * sizes[own]))[order])
        return Quantiles(tuple(reached.tolist()), tuple(scores[order].tolist()))

    def quantile(self, level: float) -> float:
        """Return q, how many scales the interval of log time reaches to each side, at a level; perhaps infinite.

        Examples
        --------
        >>> Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b")).quantile(0.5)
        0.2
        """
        return self.quantiles.at(level)

    def half_width(self, q: float, by_weight: Mapping[str, Any], lack: Any = None) -> Any:
        r"""Return :math:`q \sigma`, half the width of the interval of log time, infinite as a float where q is.

        The other arguments are as of :meth:`LocalScale.of`.
        """
        return q if self.scale is None or math.isinf(q) else q * self.scale.of(by_weight, lack)


def scaled(
    seconds: npt.ArrayLike, half_width: npt.ArrayLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return :math:`p e^{-h}` and :math:`p e^{h}` for half widths h; 0 and infinity where p is not above zero."""
    p, h = np.asarray(seconds, dtype=np.float64), np.asarray(half_width, dtype=np.float64)
    unknown = ~(p > 0) | ~(h <= WIDEST)
    factor = np.exp(np.where(unknown, 0.0, h))
    return np.where(unknown, 0.0, p / factor), np.where(unknown, math.inf, p * factor)


def calibrate(
    unseen: Unseen, times: npt.ArrayLike, groups: Sequence[str], support: Mapping[str, float] | None = None
) -> Conformal:
    """Return the scores of rows from their predictions without their group, measured times [s] and groups.

    With the support of each weight in the fit to all rows, in the order of :attr:`Unseen.by_weight`, the scores
    have scales, unless one width for all is better.
    """
    known = unseen.known & (unseen.seconds > 0)
    scores = np.abs(np.log(np.asarray(times, dtype=np.float64)[known] / unseen.seconds[known]))
    own = tuple(group for group, one in zip(groups, known, strict=True) if one)
    found = Conformal(scores=tuple(scores.tolist()), groups=own, withheld=int(np.sum(~known)))
    if support is None or unseen.by_weight is None or unseen.lack is None:
        return found
    local = fit_local_scale(scores, own, unseen.by_weight[known], unseen.lack[known], support)
    return found if local is None else found.model_copy(update={"scale": local[0], "scales": tuple(local[1].tolist())})


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not (is_number(level) and 0 < level < 1):
        raise LevelError(level)
