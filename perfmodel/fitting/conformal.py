r"""How far a measured time may lie from its prediction: conformal intervals.

The error of a measured row is :math:`r = |\log(t/p)|` with :math:`p` predicted by a fit without
any row of the row's group of kernels (Protocol B): measurement kernels, and with them the test kernels where
there are any. Random samples make as many groups again, so half of the weight is theirs: a new kernel may be like
either. Its score is :math:`s = r/\sigma`, where the scale :math:`\sigma` depends on what the prediction rests on
(:mod:`perfmodel.fitting.local_scale`), and comes from the rows of the other groups alone. At level
:math:`1 - \alpha` the interval of a new prediction with the scale :math:`\sigma`, from all rows, is
:math:`[p e^{-q \sigma}, p e^{q \sigma}]` with :math:`q` the :math:`1 - \alpha` quantile of

.. math:: \frac{1}{K} \sum_{k=1}^{K} \frac{1}{N_k} \sum_{i=1}^{N_k} \delta_{s_{ki}}

over :math:`K` groups with :math:`N_k` rows each. If a new kernel's group is like one more draw from where the measured
groups came from, and the fits and scales were the same for every group, the interval holds its time with a probability
of at least :math:`(1 - \alpha) K/(K + 1)`, and of about :math:`1 - \alpha` where groups are many, however rows within a
group depend on each other. (With one more group of infinite scores in the sum it would be :math:`1 - \alpha` or more:
this is q at the level :math:`(1 - \alpha) K/(K + 1)` of that sum. With 13 to 46 groups its intervals are 1.3 to 3 times
as wide.) Fits and scales change a little from group to group, as in every cross-fit. With fewer than
:math:`(1 - \alpha)/\alpha` groups the interval is unbounded. Rows predicted at zero or below
have no score: what is predicted so has the interval from zero to infinity, whatever q is. Where one width for all
kernels is as good, and in files from before these scales, :math:`\sigma = 1`.

Source: Y. Lee, R. F. Barber, R. Willett, *Distribution-free inference with hierarchical data*,
2023 (hierarchical conformal prediction); J. Lei et al., *Distribution-free predictive inference for regression*,
JASA 113 (2018), section 5.2, for scores over scales; R. F. Barber, E. J. Candès, A. Ramdas, R. J. Tibshirani,
*Predictive inference with the jackknife+*, Annals of Statistics 49 (2021), for scores from fits that leave out a part
each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, BeforeValidator, Field, model_validator

from perfmodel.documents import is_number
from perfmodel.errors import LevelError
from perfmodel.fitting.local_scale import STRICT, Floats, LocalScale, fit_local_scale, private_share, shares_of

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Score = Annotated[float, Field(ge=0, allow_inf_nan=False)]

WIDEST = 600.0
"""Half widths of log time beyond this have no bounds: their factors are near the largest number of a double."""
ROUNDING = 1e-12
"""What sums of shares may miss of a level that they reach."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """Predictions of rows by fits that have not seen them, NaN where withheld.

    Parameters
    ----------
    seconds
        The predictions [s], shape (n_rows,).
    needs
        For each row the features that it exercises and its fit never saw; none where it is predicted.
    by_weight
        The seconds that rest on each weight of the design's model, shape (n_rows, n_weights); None where not known.
    lack
        Each prediction's lack of support in its fit, shape (n_rows,); None where not known.
    private
        Bytes of a work-item's private data, shape (n_rows,); None where not known.
    """

    seconds: Floats
    needs: tuple[tuple[str, ...], ...]
    by_weight: Floats | None = None
    lack: Floats | None = None
    private: Floats | None = None

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Where a row is predicted, shape (n_rows,)."""
        return np.array([not needs for needs in self.needs], dtype=np.bool_)

    @property
    def rests_on(self) -> Floats | None:
        """Shares, logarithm of the lack, private data, shape (n_rows, n_weights + 2); None where not all are known."""
        if self.by_weight is None or self.lack is None or self.private is None:
            return None
        return np.column_stack([shares_of(self.by_weight), np.log(self.lack), private_share(self.private)])

    def of(self, rows: npt.NDArray[np.int64]) -> Unseen:
        """Return the predictions of the rows at some positions."""
        rests_on = (None if column is None else column[rows] for column in (self.by_weight, self.lack, self.private))
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows), *rests_on)


@dataclass(frozen=True)
class Quantiles:
    """Scores, and the level that each reaches, in ascending order; the highest level with bounds."""

    levels: tuple[float, ...]
    scores: tuple[float, ...]
    highest: float = 0.0

    def at(self, level: float) -> float:
        """Return q, the score at a level; infinite above the highest one."""
        check_level(level)
        if level > self.highest + ROUNDING:
            return math.inf
        return self.scores[bisect_left(self.levels, level - ROUNDING)]


def _of_this_form(scale: Any) -> Any:
    """Return a scale of a file, None of the form that files had before."""
    return None if isinstance(scale, Mapping) and "error_power" in scale else scale


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
        What gives the scale of a new prediction; None where all scales are 1, as in files with another form of it.
    """

    model_config = STRICT
    scores: tuple[Score, ...]
    groups: tuple[str, ...]
    withheld: int = Field(default=0, ge=0)
    scales: tuple[Positive, ...] | None = None
    scale: Annotated[LocalScale | None, BeforeValidator(_of_this_form)] = None

    @model_validator(mode="after")
    def _has_one_each(self) -> Conformal:
        count = len(self.scores)
        if count != len(self.groups):
            raise ValueError(f"there are {count} scores and {len(self.groups)} groups; each score has one")
        if self.scales is None and self.scale is not None:
            raise ValueError("there is a scale of predictions without scales of rows")
        if self.scales is not None and count != len(self.scales):
            raise ValueError(f"there are {count} scores and {len(self.scales)} scales; each score has one")
        return self

    @property
    def group_count(self) -> int:
        """Number of groups of kernels: n of them give bounds up to the level n / (n + 1)."""
        return len(set(self.groups))

    def without(self, group: str) -> Conformal:
        """Return the scores of the other groups: a row of this group is not judged by its own scores."""
        kept = [i for i, name in enumerate(self.groups) if name != group]
        columns = {"scores": self.scores, "groups": self.groups, "scales": self.scales}
        return self.model_copy(
            update={name: column and tuple(column[i] for i in kept) for name, column in columns.items()}
        )

    @property
    def quantiles(self) -> Quantiles:
        """Scores by level, sorted once for many levels."""
        if not self.scores:
            return Quantiles((), ())
        scores = np.array(self.scores) / (1.0 if self.scale is None else np.array(self.scales))
        _, members, sizes = np.unique(np.array(self.groups), return_inverse=True, return_counts=True)
        order = np.argsort(scores, kind="stable")
        reached = np.cumsum((1 / (len(sizes) * sizes[members]))[order])
        return Quantiles(tuple(reached.tolist()), tuple(scores[order].tolist()), len(sizes) / (len(sizes) + 1))

    def quantile(self, level: float) -> float:
        """Return q, how many scales the interval of log time reaches to each side, at a level; perhaps infinite.

        Examples
        --------
        >>> Conformal(scores=(0.1, 0.3, 0.2), groups=("a", "a", "b")).quantile(0.5)
        0.2
        """
        return self.quantiles.at(level)

    def half_width(self, q: float, by_weight: Mapping[str, Any], private: Any = 0.0, lack: Any = None) -> Any:
        r"""Return :math:`q \sigma`, half the width of the interval of log time, infinite as a float where q is.

        The other arguments are as of :meth:`LocalScale.of`.
        """
        return q if self.scale is None or math.isinf(q) else q * self.scale.of(by_weight, private, lack)


def scaled(seconds: Any, half_width: Any) -> tuple[Any, Any]:
    """Return :math:`p e^{-h}` and :math:`p e^{h}` for half widths h; 0 and infinity where p is not above zero."""
    if isinstance(seconds, float):
        if not (seconds > 0 and half_width <= WIDEST):
            return 0.0, math.inf
        factor = math.exp(half_width)
        return seconds / factor, seconds * factor
    p, h = np.asarray(seconds, dtype=np.float64), np.asarray(half_width, dtype=np.float64)
    unknown = ~(p > 0) | ~(h <= WIDEST)
    factors = np.exp(np.where(unknown, 0.0, h))
    return np.where(unknown, 0.0, p / factors), np.where(unknown, math.inf, p * factors)


def calibrate(
    unseen: Unseen, times: npt.ArrayLike, groups: Sequence[str], support: Mapping[str, float] | None = None
) -> Conformal:
    """Return the scores of rows from their predictions without their group, measured times [s] and groups.

    With the support of each weight in the fit to all rows, in the order of :attr:`Unseen.by_weight`, the scores have
    scales, unless one width for all is better.
    """
    known = unseen.known & (unseen.seconds > 0)
    scores = np.abs(np.log(np.asarray(times, dtype=np.float64)[known] / unseen.seconds[known]))
    kept = tuple(group for group, predicted in zip(groups, known, strict=True) if predicted)
    plain = Conformal(scores=tuple(scores.tolist()), groups=kept, withheld=int(np.sum(~known)))
    rests_on = unseen.of(np.flatnonzero(known)).rests_on
    if support is None or rests_on is None:
        return plain
    local = fit_local_scale(scores, kept, rests_on, support)
    return plain if local is None else plain.model_copy(update={"scale": local[0], "scales": tuple(local[1].tolist())})


def check_level(level: float) -> None:
    """Raise an error unless the level is between 0 and 1."""
    if not (is_number(level) and 0 < level < 1):
        raise LevelError(level)
