"""A family on a device's measurements: one design for the fit, its cross-fits and its evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.fitting.design import Design, Floats, Rows, build_design, stack
from perfmodel.fitting.device_folder import with_chosen_facts
from perfmodel.fitting.fit_design import DesignFit
from perfmodel.fitting.heldout import Refits, Unseen
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.uncertainty.anchored import Anchored, anchored_errors
from perfmodel.fitting.uncertainty.conformal import Conformal, calibrate
from perfmodel.fitting.uncertainty.selection import Scatter, cells_of, estimate_scatter
from perfmodel.lazy import Lazy
from perfmodel.models.model import Family, weight_name

if TYPE_CHECKING:
    from perfmodel.store import Measurement, Measurements


@dataclass(frozen=True, eq=False)
class FamilyFits(Lazy):
    """Every fit of a family to rows of a device's measurements, each made once and when it is needed.

    Parameters
    ----------
    measured
        Measured kernels of one device with their counts: the rows that fits may see.
    family, options
        What to fit, and how.
    tests
        Measured kernels that no fit may see, such as test kernels.
    """

    measured: Measurements
    family: Family
    options: FitOptions = field(default_factory=FitOptions)
    tests: Measurements | None = None

    @cached_property
    def known(self) -> Measurements:
        """The measured rows, with the facts of the device that the family's fit chooses."""
        return with_chosen_facts(self.measured, self.family, self.options)

    @cached_property
    def design(self) -> Design:
        """The design of the measured rows alone."""
        return build_design(self.known, self.family, self.options)

    def design_of(self, others: Measurements) -> Design:
        """Return the design of other rows of the device."""
        found = others.with_facts(self.known.facts) if self.family.choices else others
        return build_design(found, self.family, self.options)

    def with_tests(self, tests: Measurements) -> FamilyFits:
        """Return the same fits with other tests; facts are not chosen and designs not made again."""
        found = FamilyFits(self.measured, self.family, self.options, tests)
        vars(found).update(known=self.known, design=self.design)  # where the cached properties keep them
        return found

    @cached_property
    def rows(self) -> tuple[Measurement, ...]:
        """The measured rows, then those of the tests."""
        return (*self.measured, *(self.tests or ()))

    @cached_property
    def refits(self) -> Refits:
        """Fits to some of :attr:`rows`."""
        table = self.design
        if self.tests:
            table = stack(table, self.design_of(self.tests), self.family)
        return Refits(table, self.family, self.options, [row.group for row in self.rows])

    @property
    def seen(self) -> Rows:
        """Positions of the measured rows among :attr:`rows`."""
        return np.arange(len(self.design.times))

    @property
    def unseen(self) -> Rows:
        """Positions of the tests' rows among :attr:`rows`."""
        return np.arange(len(self.design.times), len(self.rows))

    def fit_measured(self) -> DesignFit:
        """Return the fit to all measured rows."""
        return self.refits.fit(self.seen)

    def predict_tests(self) -> Unseen:
        """Predict the tests' rows by the fit to all measured rows."""
        return self.refits.predict(self.seen, self.unseen)

    def predict_without_group(self, asked: Rows | None = None) -> Unseen:
        """Predict rows, all by default, each by a fit without any row of its group."""
        return self.refits.left_out([row.group for row in self.rows], fitted=self.seen, asked=asked)

    @cached_property
    def scores(self) -> Conformal:
        """Conformal scores of all rows, each by a fit without its group."""
        return self._calibrated(np.arange(len(self.rows)))

    @cached_property
    def scatter(self) -> Scatter | None:
        """Errors between variants of one measurement kernel at the same sizes; None where none has two variants."""
        found, count = self._without_group, len(self.seen)
        return estimate_scatter(cells_of(self.rows[:count], self.refits.table.times, found.seconds[:count]))

    @cached_property
    def anchored(self) -> Anchored | None:
        """Errors of predictions that are scaled at the smallest size; None where no kernel has two sizes."""
        return anchored_errors(self.rows, self.refits.table.times, self._without_group, measured=len(self.seen))

    def scores_without(self, group: str) -> Conformal:
        """Return the scores of the other groups' rows, with scales that rest on these rows alone."""
        return self._calibrated(np.array([i for i, row in enumerate(self.rows) if row.group != group], dtype=np.int64))

    def by_weight(self, found: Unseen) -> dict[str, Floats]:
        """Return the seconds that rest on each fitted weight in predictions, by the weight's name."""
        return {} if found.by_weight is None else {name: found.by_weight[:, i] for name, i in self._columns.items()}

    def _calibrated(self, rows: Rows) -> Conformal:
        found, columns = self._without_group.of(rows), [*self._columns.values()]
        own = replace(found, by_weight=None if found.by_weight is None else found.by_weight[:, columns])
        groups = [self.rows[i].group for i in rows]
        return calibrate(own, self.refits.table.times[rows], groups, self._support)

    @cached_property
    def _without_group(self) -> Unseen:
        return self.predict_without_group()

    @cached_property
    def _columns(self) -> dict[str, int]:
        """Place of each weight that the measured rows determine among those of the design of all rows, by its name."""
        known, every = {*self.design.model.weights}, self.refits.table.model.weights
        return {weight_name(self.family, name): i for i, name in enumerate(every) if name in known}

    @cached_property
    def _support(self) -> dict[str, float]:
        """Support of each of these weights in the fit to all measured rows."""
        found = self.refits.support(self.seen)
        return {name: float(found[i]) for name, i in self._columns.items()}
