"""What the report of a device shows, gathered from weights, a folder of measurements and a user's variants.

Nothing is drawn here; the values are those of :mod:`perfmodel.analyses.report_values`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import store
from perfmodel.analyses.report_values import (
    FITTED,
    TESTS,
    FactLine,
    KernelTerms,
    ReportData,
    Share,
    Unmeasured,
    WeightLine,
)
from perfmodel.analyses.roofline import KernelPoint, kernel_point, largest, roof_values, roofline_points
from perfmodel.analyses.weights_in_words import weight_words
from perfmodel.compare import Comparison, compare, summarise
from perfmodel.compare.comparison import volume
from perfmodel.compare.verdict import judge
from perfmodel.display import in_words, percent
from perfmodel.errors import ForeignDeviceError, MissingFactError, StoreMissingError, UnmeasuredFeatureError
from perfmodel.facts.keys import KEYS
from perfmodel.fitting.device_folder import tests_of
from perfmodel.fitting.facts.measured_facts import with_measured_facts
from perfmodel.fitting.linear.diagnosis import MEANING, intervals
from perfmodel.fitting.options import FitOptions
from perfmodel.fitting.weights import rows_hash
from perfmodel.prediction import ADDS_UP
from perfmodel.quantities.case import Case
from perfmodel.ranking import rank_measured, scatter_of, with_ties

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts, Fact
    from perfmodel.predict import FittedModel
    from perfmodel.ranked import Ranking
    from perfmodel.store import Measurements

FENCE = 1.5
"""An outlier is this many interquartile ranges outside of the quartiles (Tukey, *Exploratory Data Analysis*, 1977)."""


def report_data(
    model: FittedModel,
    folder: str | Path,
    variants: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    level: float = 0.9,
) -> ReportData:
    """Gather what a report shows.

    Parameters
    ----------
    model
        Weights of a device (:func:`perfmodel.load`).
    folder
        Folder with the measurements of the same device. Where it has test kernels, these are compared.
    variants
        A user's kernels by name (:func:`perfmodel.kernels.load_file`), or their counts.
    sizes
        Their size parameters.
    level
        Probability of intervals.

    Raises
    ------
    StoreMissingError
        If there are no measurements.
    ForeignDeviceError
        If they are of another device than the weights.
    ParameterError, AssumptionError
        If a size of the variants is left out, unknown, or not one that they assume.
    LevelError
        If the level is not between 0 and 1.
    """
    measured = store.read(folder)
    if measured.device != model.device:
        raise ForeignDeviceError(Path(folder), f"'{measured.device}'", f"'{model.device}'")
    measured = with_measured_facts(measured)
    compared, judged_on = _compared(Path(folder), measured)
    rows = compare(model, compared, level)
    figures = summarise(rows)
    ranked, withheld = rank_measured(variants or {}, model, sizes or {}, level=level)
    ranking = with_ties(ranked, scatter_of(model), level)
    return ReportData(
        device=model.device,
        platform=measured.rows[0].platform,
        drivers=measured.drivers,
        family=model.fitted.family,
        citation=model.family.citation,
        level=level,
        facts=fact_lines(measured.facts),
        weights=weight_lines(model, level),
        judged_on=judged_on,
        comparisons=rows,
        figures=figures,
        verdict=judge(figures) if judged_on == TESTS else None,
        outliers=outliers_of(rows),
        unmeasured=_unmeasured(rows, withheld),
        kernels=_largest_terms(model, compared, level),
        points=_points(compared),
        ranking=ranking,
        own=tuple(_terms(one.name, "", in_words(sizes or {}), one, None) for one in ranking),
        own_points=_own_points(model, variants or {}, sizes or {}, ranking, measured.facts),
        withheld=MappingProxyType({name: str(error) for name, error in withheld.items()}),
        made=how_made(model, measured, folder),
    )


def fact_lines(facts: DeviceFacts | None) -> tuple[FactLine, ...]:
    """Return each fact with its unit, its meaning and its source."""
    return tuple(
        FactLine(key, _value_text(fact), KEYS[key].meaning if key in KEYS else "", fact.source)
        for key, fact in (facts.facts if facts else ())
    )


def weight_lines(model: FittedModel, level: float = 0.9) -> tuple[WeightLine, ...]:
    """Return each weight in words, with Student's interval at the level where it has a standard error."""
    lines = []
    for name, weight in sorted(model.fitted.weights.items()):
        interval = None
        if weight.standard_error:
            value, error = np.array([weight.value]), np.array([weight.standard_error])
            ((low, high),) = intervals(value, error, model.fitted.degrees_of_freedom, level).tolist()
            interval = (low, high) if math.isfinite(low) else None
        words = weight_words(name, weight.value, weight.unit)
        warnings = tuple(MEANING[mark] for mark in weight.marks)
        lines.append(WeightLine(name, weight.value, weight.unit, words, interval, warnings))
    return tuple(lines)


def outliers_of(rows: Iterable[Comparison]) -> tuple[Comparison, ...]:
    r"""Return the cases whose error is far from that of the others, the worst first.

    Of the errors :math:`\log(p/t)` these are the ones more than :data:`FENCE` interquartile ranges below the first or
    above the third quartile. A prediction that is not above zero is an outlier too.
    """
    errors = [
        (row, math.log(row.predicted / row.measured) if row.predicted > 0 else math.inf)
        for row in rows if row.predicted is not None
    ]  # fmt: skip
    known = [error for _, error in errors if math.isfinite(error)]
    first, third = np.quantile(known, (0.25, 0.75)) if known else (0.0, 0.0)
    reach = FENCE * (third - first)
    found = [(row, abs(error)) for row, error in errors if not first - reach <= error <= third + reach]
    return tuple(row for row, _ in sorted(found, key=lambda pair: -pair[1]))


def how_made(model: FittedModel, measured: Measurements, folder: str | Path) -> tuple[tuple[str, str], ...]:
    """Return how weights were made, as pairs of a name and a text."""
    fitted, rows = model.fitted, tuple(measured)
    same = rows_hash(measured) == fitted.measurements
    dates = sorted(row.taken_at[:10] for row in rows if row.taken_at)
    usual = FitOptions()
    options = {name: value for name, value in fitted.options if value != getattr(usual, name)}
    found = [
        ("folder", str(folder)),
        ("measured", f"{len(rows)} configurations of {len({row.kernel for row in rows})} kernels"),
        ("taken", " to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else ""),
        ("fitted to", f"{fitted.rows} configurations, {'these' if same else 'other ones than these'}"),
        ("options of the fit", in_words(options) or "the usual ones"),
        ("error of the fit on its own rows", f"{percent(fitted.residuals.geometric_mean)} (geometric mean)"),
        ("condition", f"{fitted.condition:.3g}; rank {fitted.rank}, {len(fitted.weights)} weights"),
        ("libraries", in_words({name: version for row in rows for name, version in row.versions.items()})),
        *(("note", note) for note in (*fitted.notes, *measured.set_aside)),
    ]
    return tuple((name, text) for name, text in found if text)


def _compared(folder: Path, measured: Measurements) -> tuple[Measurements, str]:
    try:
        return tests_of(folder, measured), TESTS
    except StoreMissingError:
        return measured, FITTED


def _largest_terms(model: FittedModel, compared: Measurements, level: float) -> tuple[KernelTerms, ...]:
    """Return the terms of each variant at its largest size, of those that can be predicted."""
    rows = sorted(compared, key=lambda row: (row.kernel, in_words(row.variant), volume(row.parameters)))
    found = []
    for (kernel, form), row in {(row.kernel, in_words(row.variant)): row for row in rows}.items():
        try:
            one = model.predict(compared.counts[row.counts_hash], row.parameters, level=level)
        except UnmeasuredFeatureError:
            continue  # its features are among the unmeasured ones
        found.append(_terms(kernel, form, in_words(row.parameters), one, row.seconds))
    return tuple(found)


def _terms(kernel: str, form: str, sizes: str, one: Any, measured: float | None) -> KernelTerms:
    """Return the terms of a prediction, or of a ranked variant."""
    whole = one.seconds if one.seconds > 0 else math.nan
    largest_first = sorted(one.terms.items(), key=lambda pair: -abs(pair[1]))
    shares = tuple(Share(name, seconds, seconds / whole) for name, seconds in largest_first if seconds)
    adds_up = math.isclose(sum(one.terms.values()), one.seconds, rel_tol=ADDS_UP)
    return KernelTerms(kernel, form, sizes, one.seconds, measured, shares, adds_up, one.warnings)


def _unmeasured(rows: Sequence[Comparison], withheld: Mapping[str, UnmeasuredFeatureError]) -> tuple[Unmeasured, ...]:
    needs: dict[str, dict[str, None]] = {}
    asked = [*((row.kernel, row.needs) for row in rows), *((name, error.features) for name, error in withheld.items())]
    for kernel, features in asked:
        for feature in features:
            needs.setdefault(feature, {})[kernel] = None
    return tuple(Unmeasured(feature, tuple(kernels)) for feature, kernels in sorted(needs.items()))


def _points(compared: Measurements) -> tuple[KernelPoint, ...]:
    try:
        return largest(roofline_points(compared))
    except MissingFactError:
        return ()


def _own_points(
    model: FittedModel, variants: Mapping[str, Any], sizes: Mapping[str, int], ranking: Ranking,
    facts: DeviceFacts | None,
) -> tuple[KernelPoint, ...]:
    """Return the places of predicted variants below the roofs; none where the facts do not allow it."""
    roofs = roof_values(facts) if facts is not None else {}
    cases = ((one, Case(model.counted(variants[one.name]), sizes, facts, "roofline")) for one in ranking)
    try:
        return tuple(kernel_point(case, roofs, one.name, "", one.seconds) for one, case in cases)
    except MissingFactError:
        return ()


def _value_text(fact: Fact) -> str:
    value = fact.value
    words = " x ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"{f'{value:.4g}' if isinstance(value, float) else words} {fact.unit}".rstrip()
