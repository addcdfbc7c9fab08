"""Model families side by side: on the same measurements, folds, options and starting points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from perfmodel.compare.comparison import Comparison, Comparisons
from perfmodel.compare.contender import COMPARED as COMPARED
from perfmodel.compare.contender import Contender as Contender
from perfmodel.compare.contender import Contenders
from perfmodel.compare.figures import summarise
from perfmodel.compare.protocols import evaluate_fits
from perfmodel.errors import PerfModelError
from perfmodel.fitting.family_fits import FamilyFits
from perfmodel.fitting.fit_design import fit_to_design
from perfmodel.fitting.options import FitOptions

if TYPE_CHECKING:
    from perfmodel.models import Family
    from perfmodel.store import Measurements

def compare_families(
    measured: Measurements, tests: Measurements, families: Iterable[Family], options: FitOptions | None = None
) -> Iterator[Contender]:
    """Fit and judge families one after another, each on all cases that it predicts.

    A family that cannot be fitted is a contender with a problem; the others are judged all the same.

    See Also
    --------
    on_common_cases : makes their figures comparable.
    """
    for family in families:
        yield contender_of(FamilyFits(measured, family, options or FitOptions(), tests))


def contender_of(fits: FamilyFits) -> Contender:
    """Judge a family on all tests that it predicts; fits that are made already are not made again.

    A family that cannot be fitted is a contender with a problem.
    """
    name, device = fits.family.name, fits.measured.device
    try:
        weights, fit_s, predict_s = timed(fits, fits.tests or fits.measured)
        evaluations = evaluate_fits(fits, None, COMPARED)
    except PerfModelError as error:
        return Contender(name, device, problem=" ".join(str(error).split()))
    withheld = summarise(evaluations[0].rows).withheld
    return Contender(name, device, weights, fit_s, predict_s, evaluations, withheld)


def timed(fits: FamilyFits, cases: Measurements) -> tuple[int, float, float]:
    """Return the number of fitted weights, and the seconds of one fit and of one prediction of a counted case.

    Features are evaluated before the fit, so that the fit alone is timed, and once more for the predictions. The fit
    that is timed is made anew.
    """
    known, table = fits.refits.table.known, fits.refits.table.select(fits.seen)
    begin = perf_counter()
    fitted = fit_to_design(table, fits.family, fits.options)
    fit_s = perf_counter() - begin
    begin = perf_counter()
    times = fits.design_of(cases).times
    return len(fitted.names) - len(known), fit_s, (perf_counter() - begin) / len(times)


def on_common_cases(contenders: Iterable[Contender]) -> Contenders:
    """Leave out the cases that some contender withheld, of each protocol and device."""
    every = tuple(contenders)
    found = []
    for one in every:
        rivals = [other for other in every if other.device == one.device and other.evaluations]
        kept = []
        for own in one.evaluations:
            lost = {_case(row) for rival in rivals for row in rival.by(own.protocol).rows if row.predicted is None}
            kept.append(replace(own, rows=Comparisons(row for row in own.rows if _case(row) not in lost)))
        found.append(replace(one, evaluations=tuple(kept)))
    return Contenders(found)


def _case(row: Comparison) -> tuple[str, str, str]:
    return row.kernel, row.form, row.sizes
