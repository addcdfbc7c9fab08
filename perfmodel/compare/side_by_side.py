"""Model families side by side: on the same measurements, folds, options and starting points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from perfmodel.compare.comparison import Comparison
from perfmodel.compare.figures import Figures, figures
from perfmodel.compare.protocols import Evaluation, Trial
from perfmodel.errors import PerfModelError
from perfmodel.fitting.design import design
from perfmodel.fitting.fit_design import FitOptions

if TYPE_CHECKING:
    from perfmodel.models import Family
    from perfmodel.store import Measurements

#: What families are held against each other by; the third protocol asks for a fit for each size.
COMPARED = ("A", "B")


@dataclass(frozen=True)
class Contender:
    """A family on a device, beside others on the same cases.

    Parameters
    ----------
    family, device
        Their names.
    weights
        How many weights were fitted; those that a fact gave do not count.
    fit_s
        Time of one fit to all measurement kernels, their features evaluated [s].
    predict_s
        Time of one prediction of a counted kernel: its features, quantities and expression [s].
    evaluations
        One for each of :data:`COMPARED`, with the cases that every contender predicts.
    withheld
        Cases that this family withheld, by protocol A.
    problem
        Why it could not be fitted; it has no figures then.
    """

    family: str
    device: str
    weights: int = 0
    fit_s: float = float("nan")
    predict_s: float = float("nan")
    evaluations: tuple[Evaluation, ...] = field(default=(), repr=False)
    withheld: int = 0
    problem: str = ""

    def by(self, protocol: str) -> Evaluation:
        """Return the evaluation by one protocol."""
        return next(one for one in self.evaluations if one.protocol == protocol)

    def figures(self, protocol: str, kernel: str | None = None) -> Figures:
        """Return the figures of one kernel, or of all."""
        return figures([row for row in self.by(protocol).rows if kernel in (None, row.kernel)])


def side_by_side(
    measured: Measurements, tests: Measurements, families: Iterable[Family], options: FitOptions | None = None
) -> Iterator[Contender]:
    """Fit and judge families one after another; cases are those of each family still.

    A family that cannot be fitted is a contender with a problem, and ends nothing.

    See Also
    --------
    on_common_cases : what makes their figures comparable.
    """
    asked = options or FitOptions(fit_facts=True)
    for family in families:
        try:
            yield _contender(measured, tests, family, asked)
        except PerfModelError as error:
            yield Contender(family.name, measured.device, problem=" ".join(str(error).split()))


def _contender(measured: Measurements, tests: Measurements, family: Family, options: FitOptions) -> Contender:
    trial = Trial(measured, tests, family, options)
    begin = perf_counter()
    fitted = trial.fit()
    fit_s = perf_counter() - begin
    begin = perf_counter()
    asked = design(tests, family, options.fit_facts)
    predict_s = (perf_counter() - begin) / len(asked.times)
    evaluations = trial.evaluations(COMPARED, level=None)
    return Contender(
        family.name, measured.device, len(fitted.names) - len(asked.known or ()), fit_s, predict_s, evaluations,
        figures(evaluations[0].rows).withheld,
    )  # fmt: skip


def on_common_cases(contenders: Iterable[Contender]) -> tuple[Contender, ...]:
    """Leave the cases out that some contender withheld, of each protocol and device."""
    every = tuple(contenders)
    found = []
    for one in every:
        rivals = [other for other in every if other.device == one.device and other.evaluations]
        kept = []
        for own in one.evaluations:
            lost = {_case(row) for rival in rivals for row in rival.by(own.protocol).rows if row.predicted is None}
            kept.append(replace(own, rows=tuple(row for row in own.rows if _case(row) not in lost)))
        found.append(replace(one, evaluations=tuple(kept)))
    return tuple(found)


def _case(row: Comparison) -> tuple[str, str, str]:
    return row.kernel, row.form, row.sizes
