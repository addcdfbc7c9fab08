r"""A black box next to the families, for comparison only: it measures how much of the times their features explain.

Gradient-boosted regression trees (J. Friedman, *Greedy Function Approximation: A Gradient Boosting Machine*, 2001;
scikit-learn's) predict :math:`\log(t / b)` from :math:`\log(1 + x)` of the features and quantities :math:`x` of a
family. Trees cannot extrapolate: without the *basis* b they would predict for a large size the time of the largest
measured one. The basis is the total work (operations, accesses and launches together), or the prediction of the family
itself, fitted to the same rows. All groups of kernels weigh the same.

If the trees predict better than the family, the family's form misses something. They are not a family: weights have
no meaning, and no command predicts with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from perfmodel.fitting.conformal import Unseen
from perfmodel.fitting.design import Design, DesignFit
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.types import Floats
from perfmodel.quantities.case import Case
from scripts.lab.scoreboard.boosted_trees import TreeRefits, Trees

if TYPE_CHECKING:
    from perfmodel.store import Measurements

Names = npt.NDArray[np.str_]

WORK = ("op_*", "global_load_*", "global_store_*", "local_*", "launches")
"""Features whose sum is the total work; a kernel that does nothing is still launched."""

CANDIDATES = (Trees("work"), Trees("family"))
"""Settings to choose from by cross-validation over groups of measurement kernels.

The defaults were chosen so too, on PoCL on an EPYC and on Intel's runtime on a Xeon: trees of depth 4 and 200 trees of
a rate of 0.1 err about as much or more, and so does a squared loss of the logarithms in place of Huber's.
"""


@dataclass(frozen=True, eq=False)
class BlackBoxFits(FamilyFits):
    """The black box on the features and quantities of a family, fitted and judged as a family is."""

    setting: Trees = field(kw_only=True)  # how trees are grown
    readable: FamilyFits = field(kw_only=True)  # the fits of the family itself to the same rows

    @cached_property
    def known(self) -> Measurements:
        """The measured rows, with the facts of the device that the family's fit chooses."""
        return self.readable.known

    @cached_property
    def design(self) -> Design:
        """The design of the family."""
        return self.readable.design

    @cached_property
    def refits(self) -> TreeRefits:
        """Trees grown on some of the rows."""
        work = np.concatenate([total_work(each) for each in (self.measured, self.tests) if each])
        return TreeRefits(self.readable.refits, self.setting, work, _balance(self.readable))

    def with_tests(self, tests: Measurements) -> BlackBoxFits:
        """Return the same with other tests; the design of the measured rows is not made again."""
        return black_box(self.readable.with_tests(tests), self.setting)

    def fit_measured(self) -> DesignFit:
        """Grow trees on all measured rows, and return the readable family's fit to them."""
        self.refits.grow(self.seen)
        return super().fit_measured()


def black_box(readable: FamilyFits, setting: Trees) -> BlackBoxFits:
    """Return the black box that sees what a family sees, on the same rows."""
    one = readable
    return BlackBoxFits(one.measured, one.family, one.options, one.tests, setting=setting, readable=readable)


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


def choose_black_box(readable: FamilyFits, among: Sequence[Trees] = CANDIDATES) -> BlackBoxFits:
    """Return the black box with the least error of groups of measurement kernels left out (:func:`group_error`)."""
    found = [black_box(readable, one) for one in among]
    return found[int(np.argmin([group_error(one) for one in found]))]


def group_error(fits: FamilyFits) -> float:
    r"""Return the mean of :math:`|\log(t/p)|` of measured rows, each by a fit without its group; each group as much."""
    return _group_mean(fits, fits.predict_without_group(fits.seen).of(fits.seen))


def _group_mean(fits: FamilyFits, found: Unseen) -> float:
    known = found.known & (found.seconds > 0)
    errors = np.abs(np.log(fits.design.times[known] / found.seconds[known]))
    groups = np.array([row.group for row in fits.measured])[known]
    return float(np.mean([errors[groups == group].mean() for group in np.unique(groups)])) if known.any() else np.inf


def importances(fits: BlackBoxFits, repeats: int = 3) -> Mapping[str, float]:
    """Return by how much :func:`group_error` rises if a column has the values of random rows, largest first.

    It is the mean over `repeats` draws.
    """
    groups = np.array([row.group for row in fits.measured])
    plain, random = group_error(fits), np.random.default_rng(fits.setting.seed)
    rises = {}
    for column, name in enumerate(fits.refits.table.names):
        errors = [_group_mean(fits, _without_column(fits.refits, groups, column, random)) for _ in range(repeats)]
        rises[name] = float(np.mean(errors)) - plain
    return dict(sorted(rises.items(), key=lambda pair: -pair[1]))


def _without_column(refits: TreeRefits, groups: Names, column: int, random: np.random.Generator) -> Unseen:
    """Predict measured rows, each by trees grown without its group and without its value in a column."""
    seconds, needs = np.full(len(groups), np.nan), np.empty(len(groups), dtype=object)
    for group in np.unique(groups):
        own, others = np.flatnonzero(groups == group), np.flatnonzero(groups != group)
        found = refits.predict_without_column(others, own, column, random)
        seconds[own] = found.seconds
        for place, need in zip(own, found.needs, strict=True):
            needs[place] = need
    return Unseen(seconds, tuple(needs))
