"""Predictions of rows that the fit has not seen.

Feature values are evaluated once, in one :class:`~perfmodel.fitting.Design` for all rows; every fit
uses some of its rows. A row is predicted only if each feature that it exercises is exercised by
a row of the fit too; otherwise the missing features are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfmodel.errors import TooFewRowsError
from perfmodel.fitting.design import Design, Floats, Rows
from perfmodel.fitting.fit_design import DesignFit, fit_to_design
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.support import lack_of_support, support_of
from perfmodel.models.model import Family


@dataclass(frozen=True, eq=False)
class Unseen:
    """Predictions of rows that the fits have not seen.

    Parameters
    ----------
    seconds
        Predicted times [s], shape (n_rows,); NaN where withheld.
    needs
        For each row the features that it exercises and its fit never saw; empty where predicted.
    by_weight
        Seconds that rest on each weight of the design's model (:meth:`DesignFit.by_weight`), shape
        (n_rows, n_weights), NaN where withheld; None where they are not known.
    lack
        Lack of support of each prediction in its fit
        (:func:`~perfmodel.fitting.support.lack_of_support`), shape (n_rows,); likewise.
    """

    seconds: Floats
    needs: tuple[tuple[str, ...], ...]
    by_weight: Floats | None = None
    lack: Floats | None = None

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Where a row is predicted, shape (n_rows,)."""
        return np.array([not needs for needs in self.needs], dtype=np.bool_)

    def of(self, rows: Rows) -> Unseen:
        """Return the predictions of some rows."""
        by_weight, lack = (None if one is None else one[rows] for one in (self.by_weight, self.lack))
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows), by_weight, lack)


class Refits:
    """Fits of a family to some rows of a design, each made once, and their predictions of other rows.

    `groups` are those of the rows, for the support of the weights; without them all rows are of one group.
    """

    def __init__(
        self, table: Design, family: Family, options: FitOptions | None = None, groups: Sequence[str] | None = None
    ) -> None:
        self.table = table
        self.family = family
        self.options = options
        self.groups = np.array(groups if groups is not None else [""] * len(table.times))
        self._made: dict[bytes, DesignFit] = {}

    def fit(self, seen: Rows) -> DesignFit:
        """Return the fit to the rows at some positions; raise TooFewRowsError for fewer rows than weights."""
        key = np.sort(seen).tobytes()
        if key not in self._made:
            self._made[key] = fit_to_design(self.table.select(seen), self.family, self.options)
        return self._made[key]

    def support(self, seen: Rows) -> Floats:
        """Return the support of each weight in the fit to the rows at some positions, shape (n_weights,).

        See :func:`~perfmodel.fitting.support.support_of`.
        """
        return support_of(self.fit(seen).by_weight(self.table.select(seen)), self.groups[seen].tolist())

    def predict(self, seen: Rows, unseen: Rows) -> Unseen:
        """Predict rows by the fit to others.

        Where the rows seen are too few for their features, everything is withheld.
        """
        table = self.table
        free = () if self.family.resources else self.family.units
        charged = np.array([name not in free for name in table.names], dtype=np.bool_)
        exercised = (table.matrix != 0) & charged
        lacking = exercised[unseen] & ~np.any(exercised[seen], axis=0)
        predictable = ~np.any(lacking, axis=1)
        seconds, by_weight, lack = self._nothing(len(unseen))
        if predictable.any():
            try:
                found, own = self.fit(seen), table.select(unseen[predictable])
                seconds[predictable], by_weight[predictable] = found.predict(own), found.by_weight(own)
                lack[predictable] = lack_of_support(by_weight[predictable], self.support(seen))
            except TooFewRowsError:
                lacking = exercised[unseen]
        needs = (tuple(table.names[i] for i in np.flatnonzero(row)) for row in lacking)
        return Unseen(seconds, tuple(needs), by_weight, lack)

    def left_out(self, folds: Sequence[object], fitted: Rows | None = None, asked: Rows | None = None) -> Unseen:
        """Predict each row by a fit without the rows of its own fold, such as its group.

        Rows with the fold None are in every fit and are not predicted. Fits use only the rows at the positions
        `fitted`, and only rows at the positions `asked` are predicted (the others are NaN); by default all.
        """
        labels = np.array([_place(folds, fold) for fold in folds], dtype=np.int64)
        fits, wanted = _flags(len(labels), fitted), _flags(len(labels), asked) & (labels >= 0)
        seconds, by_weight, lack = self._nothing(len(labels))
        needs: list[tuple[str, ...]] = [()] * len(labels)
        for label in np.unique(labels[wanted]):
            own = np.flatnonzero(wanted & (labels == label))
            found = self.predict(np.flatnonzero(fits & (labels != label)), own)
            seconds[own], by_weight[own], lack[own] = found.seconds, found.by_weight, found.lack
            for i, row in zip(own, found.needs, strict=True):
                needs[i] = row
        return Unseen(seconds, tuple(needs), by_weight, lack)

    def _nothing(self, rows: int) -> tuple[Floats, Floats, Floats]:
        """Return seconds, those by weight, and the lack of support, of so many rows that are not predicted yet."""
        return np.full(rows, np.nan), np.full((rows, len(self.table.model.weights)), np.nan), np.full(rows, np.nan)


def _flags(count: int, places: Rows | None) -> npt.NDArray[np.bool_]:
    flags = np.zeros(count, dtype=np.bool_)
    flags[slice(None) if places is None else places] = True
    return flags


def _place(folds: Sequence[object], fold: object) -> int:
    return -1 if fold is None else folds.index(fold)
