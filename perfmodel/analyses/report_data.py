"""What the report of a device shows, gathered from weights, a folder of measurements and a user's variants.

Nothing is drawn here; the values are those of :mod:`perfmodel.analyses.report_values`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from perfmodel import store
from perfmodel.analyses.outliers import outliers_of
from perfmodel.analyses.report_lines import fact_lines, how_made, weight_lines
from perfmodel.analyses.report_values import (
    FITTED,
    TESTS,
    KernelTerms,
    ReportData,
    Share,
    Unmeasured,
)
from perfmodel.analyses.roofline import KernelPoint, kernel_point, largest, roof_values, roofline_points
from perfmodel.compare import Comparison, compare, summarise
from perfmodel.compare.comparison import volume
from perfmodel.compare.verdict import judge
from perfmodel.display import in_words
from perfmodel.errors import ForeignDeviceError, MissingFactError, StoreMissingError, UnmeasuredFeatureError
from perfmodel.fitting.device_folder import tests_of
from perfmodel.fitting.facts.measured_facts import with_measured_facts
from perfmodel.prediction import ADDS_UP
from perfmodel.quantities.case import Case
from perfmodel.ranking import rank_measured, scatter_of, with_ties

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.predict import FittedModel
    from perfmodel.ranked import Ranking
    from perfmodel.store import Measurements


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


def _compared(folder: Path, measured: Measurements) -> tuple[Measurements, str]:
    try:
        return tests_of(folder, measured, store.TESTS_FILE), TESTS
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
    model: FittedModel,
    variants: Mapping[str, Any],
    sizes: Mapping[str, int],
    ranking: Ranking,
    facts: DeviceFacts | None,
) -> tuple[KernelPoint, ...]:
    """Return the places of predicted variants below the roofs; none where the facts do not allow it."""
    roofs = roof_values(facts) if facts is not None else {}
    cases = ((one, Case(model.counted(variants[one.name]), sizes, facts, "roofline")) for one in ranking)
    try:
        return tuple(kernel_point(case, roofs, one.name, "", one.seconds) for one, case in cases)
    except MissingFactError:
        return ()
