r"""Predictions whose error is far from the other errors, and the terms of a model disagree with the measured time.

A prediction is computed from terms: features times their weights, or parts of an expression. Let t be the time of an
outlier and :math:`T(\tau_1, \tau_2, \ldots)` the model. Term m could *explain* it if some factor
:math:`r_m \in [0, R]` of its cost gives the measured time, :math:`T(\ldots, r_m \tau_m, \ldots) = t`, all else equal; R
is :data:`MOST`. But the same term was paid by other kernels too, and these were predicted well. If it cost
:math:`r_m` times as much in all of them, some would be predicted badly. A term **disagrees** where it could explain the
outlier and at least half of those others would stay inside of the fences: what the others show does not speak against
it. Where no term disagrees, no single cost explains the time, and it has another reason: one that the model does not
know, or several at once.

The others are the well predicted cases of the same kernel, or where these are fewer than :data:`FEWEST` those of all
kernels. Where cases of the same kernel share all terms in the same proportions, nothing can disagree. That is so by
design: the model sees no difference between them.

It is a test of one term at a time, as the change of one factor at a time in a screening of causes, and no proof.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from perfmodel import store
from perfmodel.analyses.descriptions import term_label
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.compare import Comparison, Comparisons, compare
from perfmodel.compare.comparison import withheld_note
from perfmodel.display import percent, seconds_text, values_text
from perfmodel.errors import OptionError, PerfModelError, WeightsError
from perfmodel.features import HOST_LAUNCH
from perfmodel.models.model import RunTime, bind, each_launch, weight_name
from perfmodel.predicting import load
from perfmodel.predicting.model import FittedModel
from perfmodel.quantities.case import Case
from perfmodel.store import Measurements
from scripts.lab.markdown import markdown_table

_Time: TypeAlias = Callable[[Mapping[str, float]], float]

MOST = 20.0
"""A term that would have to cost more times as much is not named [1]."""
FEWEST = 4
"""With fewer well predicted cases of the same kernel, those of all kernels are asked."""
SPOILED = 0.5
"""A term disagrees if its changed cost takes at most this share of the others out of the fences [1]."""


FENCE = 1.5
"""An outlier is this many interquartile ranges outside of the quartiles (Tukey, *Exploratory Data Analysis*, 1977)."""


def outliers_of(rows: Iterable[Comparison], between: tuple[float, float] | None = None) -> tuple[Comparison, ...]:
    r"""Return the cases whose error is far from the others' errors, the worst first.

    Of the errors :math:`\log(p/t)` these are the ones outside of `between`, by default outside of :func:`fences`. A
    prediction that is not above zero is an outlier too.
    """
    every = tuple(rows)
    low, high = fences(every) if between is None else between
    errors = [(row, log_error(row)) for row in every if row.predicted is not None]
    far = [(row, abs(error)) for row, error in errors if not low <= error <= high]
    return tuple(row for row, _ in sorted(far, key=lambda pair: -pair[1]))


def fences(rows: Iterable[Comparison]) -> tuple[float, float]:
    r"""Return the errors :math:`\log(p/t)` beyond which a case is an outlier.

    They are :data:`FENCE` interquartile ranges below the first and above the third quartile of the errors.
    """
    known = [error for row in rows if row.predicted is not None and math.isfinite(error := log_error(row))]
    first, third = np.quantile(known, (0.25, 0.75)) if known else (0.0, 0.0)
    reach = FENCE * (third - first)
    return float(first - reach), float(third + reach)


def log_error(row: Comparison) -> float:
    r"""Return :math:`\log(p/t)` of a case that is predicted; infinite where the prediction is not above zero."""
    return math.log(row.predicted / row.measured) if row.predicted is not None and row.predicted > 0 else math.inf


@dataclass(frozen=True)
class TermInOutlier:
    """A term of an outlier, next to the same term in cases that are predicted well."""

    term: str  # its name
    seconds: float  # what it takes in the prediction of the outlier [s]
    share: float  # that over the predicted time [1]; NaN if that is not above zero
    usual_share: float  # median of its shares in the others [1]; NaN if there are none
    # How many times its cost would give the measured time [1]; None if none up to :data:`MOST` does.
    factor: float | None
    # Share of the others that this cost would take out of the fences [1]; None without a factor or others.
    spoiled: float | None

    @property
    def disagrees(self) -> bool:
        """Whether it could explain the measured time, and the others do not speak against it."""
        return self.factor is not None and self.spoiled is not None and self.spoiled <= SPOILED


@dataclass(frozen=True)
class Outlier:
    """A case whose measured time is far from the predicted one."""

    case: Comparison  # its kernel, variant, sizes and times
    # Its terms: those that could explain it first, the ones that spoil least and change least before others; then the
    # rest, the largest first.
    terms: tuple[TermInOutlier, ...]
    others: int  # how many well predicted cases they are held against
    same_kernel: bool  # whether these are of the same kernel

    @property
    def factor(self) -> float:
        """The predicted over the measured time [1]."""
        return math.nan if self.case.predicted is None else self.case.predicted / self.case.measured

    @property
    def disagreeing(self) -> tuple[TermInOutlier, ...]:
        """The terms that disagree."""
        return tuple(term for term in self.terms if term.disagrees)


@dataclass(frozen=True)
class Outliers:
    """The outliers of a model among measured cases, the worst first."""

    found: tuple[Outlier, ...]  # the outliers
    cases: Comparisons  # all cases, predicted or withheld
    between: tuple[float, float]  # the errors log(p/t) outside of which a case is an outlier


@dataclass(frozen=True, eq=False)
class _Priced:
    """A case with its terms [s], and its time [s] as a function of them."""

    case: Comparison
    terms: Mapping[str, float]
    time: _Time

    def if_costs(self, term: str, factor: float) -> float:
        """Return the predicted time if a term cost so many times as much."""
        return float(self.time({**self.terms, term: factor * self.terms.get(term, 0.0)}))

    def share(self, term: str) -> float:
        """Return the share of a term in the predicted time [1]; NaN if that is not above zero."""
        whole = self.case.predicted or 0.0
        return self.terms.get(term, 0.0) / whole if whole > 0 else math.nan


def explained_outliers(model: FittedModel, measured: Measurements, factor: float | None = None) -> Outliers:
    """Return the cases whose measured time is far from a model's prediction, with the terms that disagree.

    A case is an outlier if it is predicted too long or too short by more than `factor` [1]; by default if it is outside
    of Tukey's :func:`fences`.
    """
    cases = compare(model, measured)
    between = fences(cases) if factor is None else (-math.log(factor), math.log(factor))
    far = outliers_of(cases, between)
    if not far:
        return Outliers((), cases, between)
    terms_and_time = by_terms(RunTime(model.family, model.weights, model.fitted.launch_s))
    rows = {(row.kernel, values_text(row.variant), values_text(row.parameters)): row for row in measured}

    def priced(case: Comparison) -> _Priced:
        row = rows[case.kernel, case.form, case.sizes]
        counts = measured.counts[row.counts_hash]
        values = model.family.values(Case(counts, row.parameters, model.facts, model.family.name))
        return _Priced(case, *terms_and_time(values))

    well = [priced(case) for case in cases if case.predicted is not None and case not in far]
    return Outliers(tuple(_explained(priced(case), well, between) for case in far), cases, between)


def by_terms(run_time: RunTime) -> Callable[[Mapping[str, Any]], tuple[Mapping[str, float], _Time]]:
    """Return the function from values to the terms of a run time [s], and from changed terms to the run time [s].

    Each part of the expression takes the given seconds. A part of several launches changes by the same factor in all
    of them; one that took no time takes the given time in each.
    """
    family = run_time.family
    numbered = replace(
        family, parts={}, of_one_launch=False, units={**family.units, **dict.fromkeys(family.parts, "s")}
    )
    expression = bind(numbered, run_time.weights)
    weights = [run_time.weights[weight_name(family, name)] for name in expression.weights]
    of_launch = RunTime(replace(family, of_one_launch=False), run_time.weights)

    def terms_and_time(values: Mapping[str, Any]) -> tuple[Mapping[str, float], _Time]:
        _, terms = run_time.evaluate(values)
        launches = [*each_launch(family.units, values)] if family.of_one_launch else [values]
        parts = [of_launch.evaluate(own)[1] for own in launches]

        def time(changed: Mapping[str, float]) -> float:
            if family.plain_sum:
                return sum(changed.values(), 0.0)
            total = changed.get(HOST_LAUNCH, 0.0)
            for own, of_own in zip(launches, parts, strict=True):
                scaled = {
                    name: seconds * changed[name] / terms[name] if terms[name] > 0 else changed[name]
                    for name, seconds in of_own.items()
                }
                total += expression.value({**own, **scaled}, weights)
            return total

        return terms, time

    return terms_and_time


def _explained(outlier: _Priced, well: Sequence[_Priced], between: tuple[float, float]) -> Outlier:
    of_kernel = [other for other in well if other.case.kernel == outlier.case.kernel]
    others = of_kernel if len(of_kernel) >= FEWEST else well
    terms = [_term(outlier, name, others, between) for name, seconds in outlier.terms.items() if seconds]
    return Outlier(outlier.case, tuple(sorted(terms, key=_order)), len(others), others is of_kernel)


def _order(term: TermInOutlier) -> tuple[bool, float, float]:
    """Return what orders terms: what they would spoil, and how far their cost would have to change; then their size."""
    if term.spoiled is None:
        return True, 0.0, -abs(term.seconds)
    return False, term.spoiled, abs(math.log(term.factor)) if term.factor else math.inf


def _term(outlier: _Priced, term: str, others: Sequence[_Priced], between: tuple[float, float]) -> TermInOutlier:
    factor, spoiled = explaining_factor(lambda r: outlier.if_costs(term, r), outlier.case.measured), None
    if factor is not None and others:
        changed = ((other.if_costs(term, factor), other.case.measured) for other in others)
        inside = sum(between[0] <= math.log(p / t) <= between[1] if p > 0 else False for p, t in changed)
        spoiled = 1 - inside / len(others)
    shares = [other.share(term) for other in others]
    usual = median(shares) if shares else math.nan
    return TermInOutlier(term, outlier.terms[term], outlier.share(term), usual, factor, spoiled)


def explaining_factor(time: Callable[[float], float], measured: float) -> float | None:
    """Return the factor between 0 and :data:`MOST` of a term at which a time is the measured one; None of none.

    Examples
    --------
    >>> round(explaining_factor(lambda r: 2.0 + 3.0 * r, 8.0), 9)
    2.0
    >>> explaining_factor(lambda r: 2.0 + 3.0 * r, 1.0) is None
    True
    """
    from scipy.optimize import brentq

    low, high = time(0.0) - measured, time(MOST) - measured
    if not (math.isfinite(low) and math.isfinite(high)) or low * high > 0 or low == high:
        return None
    return float(brentq(lambda r: time(r) - measured, 0.0, MOST, xtol=1e-12))


HEADER = ("kernel", "variant", "sizes", "measured", "predicted", "factor", "term", "share", "usual", "if it cost",
          "others lost", "disagrees")  # fmt: skip
MOST_TERMS = 3
"""Most terms of an outlier that the table shows."""


def outliers_text(outliers: Outliers, model: FittedModel) -> str:
    """Return the outliers as text, the worst first, with the terms that disagree, or the one that comes nearest."""
    predicted = sum(case.predicted is not None for case in outliers.cases)
    low, high = map(math.exp, outliers.between)
    lines = [
        f"{model.family.name} on {model.device}: {len(outliers.found)} of {predicted} cases are outliers, predicted "
        f"below {low:.2f} or above {high:.2f} times the measured time"
    ]
    if outliers.found:
        rows = [row for outlier in outliers.found for row in _rows(outlier)]
        lines += ["", markdown_table([HEADER, ("---",) * len(HEADER), *rows]), ""]
        named = dict.fromkeys(term.term for outlier in outliers.found for term in _shown_terms(outlier))
        lines += [f"{name}: {term_label(model.family, name)}" for name in named]
        lines.append(
            "A term disagrees if another cost of it alone gives the measured time ('if it cost'), and at that cost at "
            f"most {SPOILED:.0%} of the well predicted cases would be mispredicted ('others lost')."
        )
    return "\n".join([*lines, *withheld_note(outliers.cases)])


def _shown_terms(outlier: Outlier) -> tuple[TermInOutlier, ...]:
    possible = tuple(term for term in outlier.terms if term.spoiled is not None)
    return outlier.disagreeing[:MOST_TERMS] or possible[:1]


def _rows(outlier: Outlier) -> list[tuple[str, ...]]:
    case, terms = outlier.case, _shown_terms(outlier)
    times = (seconds_text(case.measured), seconds_text(case.predicted or 0.0), f"{outlier.factor:.3g}")
    head = (case.kernel, case.form, case.sizes, *times)
    if not terms:
        return [(*head, "-", "-", "-", "-", "-", "-")]
    return [
        (*(head if term is terms[0] else [""] * len(head)), term.term, percent(term.share), percent(term.usual_share),
         f"{term.factor:.3g} times", percent(term.spoiled), "yes" if term.disagrees else "no")
        for term in terms
    ]  # fmt: skip


def read(source: Path, weights: Path | None, family: str | None) -> tuple[FittedModel, Measurements]:
    """Return a model, by default of the recommended weights in the source's folder, and the source's measurements."""
    folder = source if source.is_dir() else source.parent
    file = weights or recommended_weights(folder, family)
    if file is None:
        raise WeightsError(f"'{folder}' has no weights", "give a file of weights with --weights")
    model, measured = load(file, family), store.read(source / store.TESTS_FILE if source.is_dir() else source)
    if not len(measured):
        raise OptionError(f"'{source}' has no time of a kernel that ran", "give another store")
    if measured.device != model.device:
        problem = f"'{source}' has times of '{measured.device}', and the weights are for '{model.device}'"
        raise OptionError(problem, "give weights for that device with --weights, or another store")
    return model, measured


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m scripts.lab.outliers", description="List outliers of a model.")
    parser.add_argument("source", type=Path, metavar="FOLDER|FILE.jsonl", help="device folder, or a store of rows")
    parser.add_argument("-w", "--weights", type=Path, help="weights; by default the recommended ones of the folder")
    parser.add_argument("--family", help="take this family's weights")
    parser.add_argument("--factor", type=float, help="an outlier is off by more than this; by default Tukey's fences")
    asked = parser.parse_args(argv)
    try:
        if asked.factor is not None and not 1 < asked.factor < math.inf:
            raise OptionError(f"--factor is {asked.factor:g}", "give a number above 1, as in --factor 2")
        model, measured = read(asked.source, asked.weights, asked.family)
        print(outliers_text(explained_outliers(model, measured, asked.factor), model))
    except PerfModelError as error:
        print(f"outliers: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
