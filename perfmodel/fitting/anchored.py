r"""Predictions that one cheap run of the same kernel scales: where the run is, and how far they are off.

Of each kernel and variant the smallest measured size is the *anchor*. With the measured and predicted times
:math:`t_a` and :math:`p_a` there, the prediction at another size is :math:`p \, (t_a / p_a)^b`. :math:`t_a` is the
minimum of one visit, since an anchor is visited once. Some of its error is noise, and some belongs to its size: b is
the share that other sizes have too. Over groups k of :math:`N_k` rows with the measured times t it is

.. math:: b = \arg\min_{0 \le b \le 1}
    \sum_k \frac{1}{N_k} \sum_{i \in k} \Big|\log\frac{t_i}{p_i} - b \log\frac{t_{a,i}}{p_{a,i}}\Big|

The scores of such predictions, each with the b of the other groups, are conformal, as those of plain ones
(:mod:`perfmodel.fitting.conformal`), and their scatter between variants is that of :mod:`perfmodel.fitting.selection`.
At the anchor's own size the measured time is the prediction, and noise is all that is left of its error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field

from perfmodel.fitting.conformal import Conformal, Unseen, calibrate
from perfmodel.fitting.local_scale import STRICT
from perfmodel.fitting.selection import Scatter, cells_of, estimate_scatter, weighted_median

if TYPE_CHECKING:
    from perfmodel.store import Measurement

Places = npt.NDArray[np.int64]


class Anchored(BaseModel):
    """How far anchored predictions are off.

    Parameters
    ----------
    conformal
        Scores for their intervals.
    scatter
        Their errors between variants of one kernel; None where no kernel has two variants at the same sizes.
    carried
        b, the share of an anchor's error that predictions at other sizes are scaled by [1].
    noise
        Scores of one visit at the same size; None where no anchor had several visits.
    """

    model_config = STRICT
    conformal: Conformal
    scatter: Scatter | None = None
    carried: Annotated[float, Field(ge=0, le=1)] = 1.0
    noise: Conformal | None = None


@dataclass(frozen=True, eq=False)
class AnchoredRows:
    """Anchored predictions of the rows that are no anchors, with the positions of these rows, ascending.

    Where the row or its anchor was withheld, or the anchor's prediction is not above zero, the prediction is NaN.
    """

    places: Places
    unseen: Unseen


def anchor_rows(rows: Sequence[Measurement], unseen: Unseen, carried: float = 1.0) -> AnchoredRows:
    """Scale predictions of rows by what was measured at the smallest size of the same kernel and variant.

    `carried` is the share of the anchor's error that they are scaled by. Rows of kernels and variants that were
    measured at one size only are left out.
    """
    anchors = anchors_of(rows)
    places = np.flatnonzero((anchors >= 0) & (anchors != np.arange(len(rows))))
    anchors = anchors[places]
    measured = np.array([one_visit_s(rows[anchor]) for anchor in anchors], dtype=np.float64)
    predicted = np.where(unseen.seconds[anchors] > 0, unseen.seconds[anchors], np.nan)
    needs = (tuple(sorted({*unseen.needs[i], *unseen.needs[j]})) for i, j in zip(places, anchors, strict=True))
    return AnchoredRows(places, Unseen(unseen.seconds[places] * (measured / predicted) ** carried, tuple(needs)))


def anchors_of(rows: Sequence[Measurement]) -> Places:
    """Return the position of each row's anchor, its own for an anchor; -1 where there is one size only.

    The smallest size has the smallest product of all parameters; of several, the first in the order of their values.
    """
    def text(values: Mapping[str, Any]) -> str:
        return repr(sorted(values.items()))

    def volume(place: int) -> tuple[int, str]:
        parameters = rows[place].parameters
        return math.prod(parameters.values()), text(parameters)

    variants: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        variants.setdefault(f"{row.kernel} {text(row.variant)}", []).append(place)
    anchors = np.full(len(rows), -1, dtype=np.int64)
    for places in variants.values():
        if len({text(rows[place].parameters) for place in places}) > 1:
            anchors[places] = min(places, key=volume)
    return anchors


def one_visit_s(row: Measurement) -> float:
    """Return the time that the first visit to a configuration gave [s]."""
    return min(row.kept_by_visit_s[0])


def anchored_errors(
    rows: Sequence[Measurement], every: Sequence[str], times: npt.NDArray[np.float64], unseen: Unseen, measured: int
) -> Anchored | None:
    """Return how far anchored predictions of rows are off; None where no kernel was measured at two sizes.

    Every row has its group, measured time [s], shape (n_rows,), and prediction, by a fit without its group. The first
    `measured` rows are of measurement kernels; the scatter comes from these.
    """
    whole = anchor_rows(rows, unseen)
    places = whole.places
    if not len(places):
        return None
    plain, groups = unseen.seconds[places], np.array([every[place] for place in places])
    with np.errstate(invalid="ignore", divide="ignore"):
        anchors, errors = np.log(whole.unseen.seconds / plain), np.log(times[places] / plain)
    told = np.isfinite(anchors) & np.isfinite(errors) & (places < measured)
    shares = {group: carried_share(anchors, errors, groups, told & (groups != group)) for group in {*groups.tolist()}}
    seconds = plain * np.exp(anchors * np.array([shares[group] for group in groups.tolist()]))
    conformal = calibrate(replace(whole.unseen, seconds=seconds), times[places], groups.tolist())
    kernels = places[places < measured]
    cells = cells_of([rows[place] for place in kernels], times[kernels], seconds[: len(kernels)])
    return Anchored(
        conformal=conformal, scatter=estimate_scatter(cells), carried=carried_share(anchors, errors, groups, told),
        noise=_noise(rows, every, times),
    )  # fmt: skip


def carried_share(
    anchors: npt.NDArray[np.float64], errors: npt.NDArray[np.float64], groups: npt.NDArray[np.str_],
    told: npt.NDArray[np.bool_],
) -> float:
    """Return b by the rows that are told, from errors of log time of their anchors and of themselves; 1 of no rows.

    It is the median of their ratios, each weighted by its anchor's error over the rows of its group. All arrays have
    the shape (n_rows,).

    Examples
    --------
    >>> of = np.array(["a", "b", "c"])
    >>> carried_share(np.array([1.0, -2.0, 4.0]), np.array([0.9, -1.0, 1.0]), of, np.ones(3, dtype=bool))
    0.25
    """
    told = told & (anchors != 0)
    if not told.any():
        return 1.0
    _, members, sizes = np.unique(groups[told], return_inverse=True, return_counts=True)
    ratios, weights = errors[told] / anchors[told], np.abs(anchors[told]) / sizes[members]
    return min(max(weighted_median(ratios, weights), 0.0), 1.0)


def _noise(rows: Sequence[Measurement], groups: Sequence[str], times: npt.NDArray[np.float64]) -> Conformal | None:
    """Return how far the first visit to an anchor was off the time of all of them."""
    several = [i for i in np.unique(anchors_of(rows)) if i >= 0 and len(rows[i].kept_by_visit_s) > 1]
    scores = tuple(abs(math.log(one_visit_s(rows[i]) / times[i])) for i in several)
    return Conformal(scores=scores, groups=tuple(groups[i] for i in several)) if several else None
