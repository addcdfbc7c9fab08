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
    """

    seconds: Floats
    needs: tuple[tuple[str, ...], ...]

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Where a row is predicted, shape (n_rows,)."""
        return np.array([not needs for needs in self.needs], dtype=np.bool_)

    def of(self, rows: Rows) -> Unseen:
        """Return the predictions of some rows."""
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows))


class Refits:
    """Fits of a family to some rows of a design, each made once, and their predictions of other rows."""

    def __init__(self, table: Design, family: Family, options: FitOptions | None = None) -> None:
        self.table = table
        self.family = family
        self.options = options
        self._made: dict[bytes, DesignFit] = {}

    def fit(self, seen: Rows) -> DesignFit:
        """Return the fit to the rows at some positions; raise TooFewRowsError for fewer rows than weights."""
        key = np.sort(seen).tobytes()
        if key not in self._made:
            self._made[key] = fit_to_design(self.table.select(seen), self.family, self.options)
        return self._made[key]

    def predict(self, seen: Rows, unseen: Rows) -> Unseen:
        """Predict rows by the fit to others.

        Where the rows seen are too few for their features, everything is withheld.
        """
        table = self.table
        charged = np.array([name not in self.family.units for name in table.names], dtype=np.bool_)
        exercised = (table.matrix != 0) & charged
        lacking = exercised[unseen] & ~np.any(exercised[seen], axis=0)
        predictable = ~np.any(lacking, axis=1)
        seconds = np.full(len(unseen), np.nan)
        if predictable.any():
            try:
                seconds[predictable] = self.fit(seen).predict(table.select(unseen[predictable]))
            except TooFewRowsError:
                lacking = exercised[unseen]
        needs = (tuple(table.names[i] for i in np.flatnonzero(row)) for row in lacking)
        return Unseen(seconds, tuple(needs))

    def left_out(self, folds: Sequence[object], fitted: Rows | None = None, asked: Rows | None = None) -> Unseen:
        """Predict each row by a fit without the rows of its own fold, such as its group.

        Rows with the fold None are in every fit and are not predicted. Fits use only the rows at the positions
        `fitted`, and only rows at the positions `asked` are predicted (the others are NaN); by default all.
        """
        labels = np.array([_place(folds, fold) for fold in folds], dtype=np.int64)
        fits, wanted = _flags(len(labels), fitted), _flags(len(labels), asked) & (labels >= 0)
        seconds = np.full(len(labels), np.nan)
        needs: list[tuple[str, ...]] = [()] * len(labels)
        for label in np.unique(labels[wanted]):
            own = np.flatnonzero(wanted & (labels == label))
            found = self.predict(np.flatnonzero(fits & (labels != label)), own)
            seconds[own] = found.seconds
            for i, row in zip(own, found.needs, strict=True):
                needs[i] = row
        return Unseen(seconds, tuple(needs))


def _flags(count: int, places: Rows | None) -> npt.NDArray[np.bool_]:
    flags = np.zeros(count, dtype=np.bool_)
    flags[slice(None) if places is None else places] = True
    return flags


def _place(folds: Sequence[object], fold: object) -> int:
    return -1 if fold is None else folds.index(fold)
