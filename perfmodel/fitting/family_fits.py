"""A family on a device's measurements: one design for the fit, its cross-fits and its evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from perfmodel.fitting.design import Design, Rows, build_design, stack
from perfmodel.fitting.fit_design import DesignFit
from perfmodel.fitting.heldout import Refits, Unseen
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.uncertainty.conformal import Conformal, calibrate
from perfmodel.models.model import Family

if TYPE_CHECKING:
    from perfmodel.store import Measurement, Measurements


@dataclass(frozen=True, eq=False)
class FamilyFits:
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
    def design(self) -> Design:
        """The design of the measured rows alone."""
        return build_design(self.measured, self.family, self.options)

    def with_tests(self, tests: Measurements) -> FamilyFits:
        """Return the same fits with other tests; the design of the measured rows is not made again."""
        found = FamilyFits(self.measured, self.family, self.options, tests)
        vars(found)["design"] = self.design  # where the cached property keeps it
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
            table = stack(table, build_design(self.tests, self.family, self.options), self.family)
        return Refits(table, self.family, self.options)

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
        groups = [row.group for row in self.rows]
        return calibrate(self.predict_without_group(), self.refits.table.times, groups)
