r"""Predictions that one cheap run of the same kernel scales: where the run is, and how far they are off.

Of each kernel and variant the smallest measured size is the *anchor*. With the measured and predicted times
:math:`t_a` and :math:`p_a` there, the prediction at another size is :math:`p \, t_a / p_a`. :math:`t_a` is the minimum
of one visit, since an anchor is visited once. The scores of such predictions are conformal, as those of plain ones
(:mod:`perfmodel.fitting.conformal`), and their scatter between variants is that of
:mod:`perfmodel.fitting.selection`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from perfmodel.fitting.conformal import Conformal, Unseen, calibrate
from perfmodel.fitting.local_scale import STRICT
from perfmodel.fitting.selection import Scatter, cells_of, estimate_scatter

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
    """

    model_config = STRICT
    conformal: Conformal
    scatter: Scatter | None = None


@dataclass(frozen=True, eq=False)
class AnchoredRows:
    """Anchored predictions of the rows that are no anchors, with the positions of these rows, ascending.

    Where the row or its anchor was withheld, or the anchor's prediction is not above zero, the prediction is NaN.
    """

    places: Places
    unseen: Unseen


def anchor_rows(rows: Sequence[Measurement], unseen: Unseen) -> AnchoredRows:
    """Scale predictions of rows by what was measured at the smallest size of the same kernel and variant.

    Rows of kernels and variants that were measured at one size only are left out.
    """
    anchors = anchors_of(rows)
    places = np.flatnonzero((anchors >= 0) & (anchors != np.arange(len(rows))))
    anchors = anchors[places]
    measured = np.array([one_visit_s(rows[anchor]) for anchor in anchors], dtype=np.float64)
    predicted = np.where(unseen.seconds[anchors] > 0, unseen.seconds[anchors], np.nan)
    needs = (tuple(sorted({*unseen.needs[i], *unseen.needs[j]})) for i, j in zip(places, anchors, strict=True))
    return AnchoredRows(places, Unseen(unseen.seconds[places] * measured / predicted, tuple(needs)))


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
    rows: Sequence[Measurement], times: npt.NDArray[np.float64], unseen: Unseen, measured: int
) -> Anchored | None:
    """Return how far anchored predictions of rows are off; None where no kernel was measured at two sizes.

    The rows have their measured times [s], shape (n_rows,), and predictions, each by a fit without its group. The first
    `measured` rows are of measurement kernels; the scatter comes from these.
    """
    anchored = anchor_rows(rows, unseen)
    if not len(anchored.places):
        return None
    conformal = calibrate(anchored.unseen, times[anchored.places], [rows[place].group for place in anchored.places])
    places = anchored.places[anchored.places < measured]
    cells = cells_of([rows[place] for place in places], times[places], anchored.unseen.seconds[: len(places)])
    return Anchored(conformal=conformal, scatter=estimate_scatter(cells))
