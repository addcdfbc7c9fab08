r"""A black box beside the families, for comparison only: it says how much of the times their features explain.

Gradient-boosted regression trees (J. Friedman, *Greedy Function Approximation: A Gradient Boosting Machine*, 2001;
scikit-learn's) predict :math:`\log(t / b)` from :math:`\log(1 + x)` of the features and quantities :math:`x` of a
family. Trees cannot extrapolate: without the *basis* b they would predict for a large size the time of the largest
measured one. The basis is the total work (operations, accesses and launches together), or the prediction of the family
itself, fitted to the same rows. All groups of kernels weigh the same.

What the trees predict better than the family, the family's form leaves on the table. They are no family: no weight
has a meaning, no term a share, and no command predicts with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from perfmodel.fitting.design import Floats, Rows
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.fit_design import DesignFit
from perfmodel.fitting.heldout import Refits, Unseen
from perfmodel.fitting.options import FitOptions
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.models import Family
    from perfmodel.store import Measurements

WORK = ("op_*", "global_load_*", "global_store_*", "local_*", "launches")
"""Features whose sum is the total work; a kernel that does nothing is still launched."""


@dataclass(frozen=True)
class Trees:
    """Settings of the black box.

    Parameters
    ----------
    basis
        What times are divided by: the total ``work``, or what the readable ``family`` predicts.
    depth
        Depth of each tree: how many features may act together.
    trees, rate, share, least, seed
        Number of trees, the share of each that counts, the share of rows and of columns that each sees, the least
        rows in a leaf, and the seed of their choice.
    """

    basis: Literal["work", "family"] = "work"
    depth: int = 2
    trees: int = 100
    rate: float = 0.05
    share: float = 0.5
    least: int = 5
    seed: int = 0

    @property
    def name(self) -> str:
        """What differs between :data:`CANDIDATES`, in words."""
        return f"times over {'the work' if self.basis == 'work' else 'what the family predicts'}"


CANDIDATES = (Trees("work"), Trees("family"))
"""Settings to choose from by cross-validation over groups of measurement kernels.

The defaults were chosen so too, on PoCL on an EPYC and on Intel's runtime on a Xeon: trees of depth 4 and 200 trees of
a rate of 0.1 err about as much or more, and so does a squared loss of the logarithms in place of Huber's.
"""


class TreeRefits(Refits):
    """Trees grown on some rows of a design, each time once, and their predictions of other rows.

    Parameters
    ----------
    refits
        The readable family's fits: its design, and a basis.
    setting
        How trees are grown.
    work
        Total work of each row of the design, shape (n_rows,).
    balance
        How much each row counts, shape (n_rows,).
    """

    def __init__(self, refits: Refits, setting: Trees, work: Floats, balance: Floats) -> None:
        super().__init__(refits.table, refits.family, refits.options)
        self._readable, self.setting, self.work, self.balance = refits, setting, work, balance
        self._columns = np.log1p(np.maximum(refits.table.matrix, 0))
        self._grown: dict[bytes, Any] = {}

    def fit(self, seen: Rows) -> DesignFit:
        """Return the readable family's fit to some rows."""
        return self._readable.fit(seen)

    def seconds(self, seen: Rows, unseen: Rows) -> Floats:
        """Return the times of rows by trees grown on others [s], shape (n_unseen,)."""
        return self._predict(seen, unseen, self._columns[unseen])

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
            target = np.log(self.table.times[rows] / self._basis(rows, rows))
            self._grown[key] = trees.fit(self._columns[rows], target, self.balance[rows])
        return self._grown[key]

    def without_column(self, seen: Rows, unseen: Rows, column: int, random: np.random.Generator) -> Floats:
        """Return the times of rows [s] that have the values of random other rows in one column."""
        columns = self._columns[unseen].copy()
        columns[:, column] = random.choice(self._columns[seen, column], len(unseen))
        return self._predict(seen, unseen, columns)

    def _predict(self, seen: Rows, unseen: Rows, columns: Floats) -> Floats:
        times: Floats = self._basis(seen, unseen) * np.exp(self.grow(seen).predict(columns))
        return times

    def _basis(self, seen: Rows, rows: Rows) -> Floats:
        if self.setting.basis == "work":
            return self.work[rows]
        # A linear family may predict less than nothing; no kernel takes less time than the fastest that was measured.
        times: Floats = np.maximum(self._readable.seconds(seen, rows), self.table.times[seen].min())
        return times


@dataclass(frozen=True, eq=False)
class BlackBoxFits(FamilyFits):
    """The black box on the features and quantities of a family, fitted and judged as a family is.

    Parameters
    ----------
    setting
        How trees are grown.
    """

    setting: Trees = field(default_factory=Trees)

    @cached_property
    def refits(self) -> TreeRefits:
        """Trees grown on some of the rows."""
        work = np.concatenate([total_work(each) for each in (self.measured, self.tests) if each])
        readable = self.share_design(FamilyFits(self.measured, self.family, self.options, self.tests))
        return TreeRefits(readable.refits, self.setting, work, _balance(readable))

    def fit_measured(self) -> DesignFit:
        """Grow trees on all measured rows, and return the readable family's fit to them."""
        self.refits.grow(self.seen)
        return super().fit_measured()


def total_work(measured: Measurements) -> Floats:
    """Return the operations, accesses and launches of each measured case, shape (n_rows,)."""
    cases = (Case(measured.counts[row.counts_hash], row.parameters) for row in measured)
    return np.array([float(case.total(*WORK)) for case in cases], dtype=np.float64)


def _balance(fits: FamilyFits) -> Floats:
    """Return how much each row counts, so that every measured group counts the same and disagreeing visits less."""
    sizes = Counter(row.group for row in fits.measured)
    weights = fits.refits.table.row_weights
    shares = [1 / max(sizes[row.group], 1) for row in fits.rows]
    balanced: Floats = weights * np.array(shares, dtype=np.float64)
    return balanced


def chosen_fits(
    measured: Measurements, family: Family, options: FitOptions | None = None, among: Sequence[Trees] = CANDIDATES
) -> BlackBoxFits:
    """Return the black box with the least error of groups of measurement kernels left out (:func:`group_error`)."""
    readable = FamilyFits(measured, family, options or FitOptions())
    found = [readable.share_design(BlackBoxFits(measured, family, readable.options, None, one)) for one in among]
    return found[int(np.argmin([group_error(one) for one in found]))]


def group_error(fits: FamilyFits) -> float:
    r"""Return the mean of :math:`|\log(t/p)|` of measured rows, each by a fit without its group; each group as much."""
    return _group_mean(fits, fits.predict_without_group(fits.seen).of(fits.seen))


def _group_mean(fits: FamilyFits, found: Unseen) -> float:
    known = found.known & (found.seconds > 0)
    apart = np.abs(np.log(fits.design.times[known] / found.seconds[known]))
    groups = np.array([row.group for row in fits.measured])[known]
    return float(np.mean([apart[groups == group].mean() for group in np.unique(groups)])) if known.any() else np.inf


def importances(fits: BlackBoxFits, repeats: int = 3) -> Mapping[str, float]:
    """Return by how much :func:`group_error` rises where a column has the values of random rows, largest first.

    Parameters
    ----------
    fits
        The black box on measured rows.
    repeats
        How often each column is drawn anew; the rise is the mean.
    """
    groups = np.array([row.group for row in fits.measured])
    plain, random = group_error(fits), np.random.default_rng(fits.setting.seed)
    refits, rises = fits.refits, {}
    for column, name in enumerate(refits.table.names):
        errors = []
        for _ in range(repeats):
            seconds = fits.predict_without_group(fits.seen).of(fits.seen).seconds.copy()
            for group in np.unique(groups):
                own, others = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
                own = own[np.isfinite(seconds[own])]
                if own.size:
                    seconds[own] = refits.without_column(others, own, column, random)
            errors.append(_group_mean(fits, Unseen(seconds, tuple(() if x == x else ("",) for x in seconds))))
        rises[name] = float(np.mean(errors)) - plain
    return dict(sorted(rises.items(), key=lambda pair: -pair[1]))
