"""Boosted trees grown on some rows of a design, for the black box (:mod:`scripts.lab.scoreboard.black_box`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from perfmodel.fitting.conformal import Unseen
from perfmodel.fitting.family_fits import Refits
from perfmodel.fitting.types import Floats, Rows


@dataclass(frozen=True)
class Trees:
    """Settings of the black box."""

    # What times are divided by: the total ``work``, or what the readable ``family`` predicts.
    basis: Literal["work", "family"] = "work"
    depth: int = 2  # depth of each tree: how many features may act together
    # trees, rate, share, least, seed: number of trees, the share of each that counts, the share of rows and of columns
    # that each sees, the least rows in a leaf, and the seed of their choice.
    trees: int = 100
    rate: float = 0.05
    share: float = 0.5
    least: int = 5
    seed: int = 0

    @property
    def name(self) -> str:
        """The basis in words."""
        return f"times over {'the work' if self.basis == 'work' else 'what the family predicts'}"


class TreeRefits(Refits):
    """Trees grown on some rows of a design, each time once, and their predictions of other rows.

    `work` is the total work of each row of the design, `balance` its weight, both of shape (n_rows,).
    """

    def __init__(self, readable: Refits, setting: Trees, work: Floats, balance: Floats) -> None:
        vars(self).update(vars(readable))  # with the fits that it has made, and that it will make
        self.setting, self.work, self.balance = setting, work, balance
        self._columns = np.log1p(np.maximum(self.table.matrix, 0))
        self._grown: dict[bytes, Any] = {}

    def predict(self, seen: Rows, unseen: Rows) -> Unseen:
        """Predict rows by trees grown on others; what the readable family withholds is withheld."""
        return self._predict(seen, unseen, self._columns[unseen])

    def predict_without_column(self, seen: Rows, unseen: Rows, column: int, random: np.random.Generator) -> Unseen:
        """Predict rows as if they had the values of random rows of the fit in one column."""
        columns = self._columns[unseen].copy()
        columns[:, column] = random.choice(self._columns[seen, column], len(unseen))
        return self._predict(seen, unseen, columns)

    def grow(self, seen: Rows) -> Any:
        """Return the trees of the rows at some positions."""
        from sklearn.ensemble import GradientBoostingRegressor

        key = np.sort(seen).tobytes()
        if key not in self._grown:
            one, rows = self.setting, np.sort(seen)
            trees = GradientBoostingRegressor(
                loss="huber", n_estimators=one.trees, learning_rate=one.rate, max_depth=one.depth,
                min_samples_leaf=one.least, subsample=one.share, max_features=one.share, random_state=one.seed,
            )  # fmt: skip
            basis = self._basis(rows, rows, super().predict(rows, rows).seconds)
            self._grown[key] = trees.fit(
                self._columns[rows], np.log(self.table.times[rows] / basis), self.balance[rows]
            )
        return self._grown[key]

    def _predict(self, seen: Rows, unseen: Rows, columns: Floats) -> Unseen:
        found = super().predict(seen, unseen)
        known, seconds = found.known, found.seconds.copy()
        if known.any():
            basis = self._basis(seen, unseen[known], seconds[known])
            seconds[known] = basis * np.exp(self.grow(seen).predict(columns[known]))
        return replace(found, seconds=seconds)

    def _basis(self, seen: Rows, rows: Rows, readable: Floats) -> Floats:
        """Return what the times of rows are divided by [s or operations], with the readable family's predictions."""
        if self.setting.basis == "work":
            return self.work[rows]
        # A linear family may predict less than nothing; no kernel takes less time than the fastest that was measured.
        times: Floats = np.maximum(readable, self.table.times[seen].min())
        return times
