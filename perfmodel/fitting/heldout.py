"""Predictions of rows that the fit has not seen.

Feature values are evaluated once, in one :class:`~perfmodel.fitting.Design` for all rows; every fit
takes some of its rows. A row is predicted only if each feature that it exercises is exercised by
a row of the fit; what else it needs is named instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel.errors import TooFewRowsError
from perfmodel.fitting.design import Design
from perfmodel.fitting.fit_design import DesignFit, FitOptions, fit_design
from perfmodel.models import Family
from perfmodel.models.binding import bind

Floats: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Unseen:
    """What fits say of rows that they have not seen.

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
        """Return what is said of some rows."""
        return Unseen(self.seconds[rows], tuple(self.needs[i] for i in rows))


def joined(one: Design, other: Design, family: Family) -> Design:
    """Return the rows of two designs of a family, with the columns of both."""
    names, model = tuple(sorted({*one.names, *other.names})), None
    if one.model is not None:
        model = bind(family, names, one.known)
        names = model.features
    matrix = np.zeros((len(one.times) + len(other.times), len(names)))
    for part, rows in ((one, slice(None, len(one.times))), (other, slice(len(one.times), None))):
        columns = [place for place, name in enumerate(names) if name in part.names]
        matrix[rows, columns] = part.matrix[:, [part.names.index(names[i]) for i in columns]]
    return replace(
        one,
        names=names,
        matrix=matrix,
        times=np.concatenate([one.times, other.times]),
        labels=(*one.labels, *other.labels),
        subgroup_size=max(one.subgroup_size, other.subgroup_size),
        model=model,
    )


def chosen_rows(table: Design, rows: Rows) -> Design:
    """Return some rows of a design; columns stay, also those that become zero throughout."""
    return replace(
        table,
        matrix=table.matrix[rows],
        times=table.times[rows],
        labels=tuple(table.labels[i] for i in rows),
    )


class Refits:
    """Fits of a family to some rows of a design, each made once, and what they say of other rows.

    Parameters
    ----------
    table
        All rows.
    family, options
        What to fit, and how.
    """

    def __init__(self, table: Design, family: Family, options: FitOptions | None = None) -> None:
        self.table = table
        self.family = family
        self.options = options
        self._made: dict[bytes, DesignFit] = {}

    def fit(self, seen: Rows) -> DesignFit:
        """Return the fit to the rows at some positions.

        Raises
        ------
        TooFewRowsError
            If there are fewer rows than weights.
        """
        key = np.sort(seen).tobytes()
        if key not in self._made:
            self._made[key] = fit_design(chosen_rows(self.table, seen), self.family, self.options)
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
                seconds[predictable] = self.fit(seen).predict(chosen_rows(table, unseen[predictable]))
            except TooFewRowsError:
                lacking = exercised[unseen]
        needs = (tuple(table.names[i] for i in np.flatnonzero(row)) for row in lacking)
        return Unseen(seconds, tuple(needs))

    def left_out(self, folds: Sequence[object], fitted: Rows | None = None, asked: Rows | None = None) -> Unseen:
        """Predict each row by a fit without the rows of its own fold.

        Parameters
        ----------
        folds
            What each row is left out together with, as its group; length n_rows. Rows with None
            are in every fit and are predicted by none.
        fitted
            Positions of the rows that fits may see; all by default. The others are only predicted.
        asked
            Positions of the rows to predict; all by default. The others are NaN.
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
