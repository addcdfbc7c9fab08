"""What the report of a device shows, gathered from weights, a folder of measurements and a user's variants.

Nothing is drawn here; the values are those of :mod:`perfmodel.analyses.report_values`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from perfmodel import store
from perfmodel.analyses.kernel_bounds import bound_models
from perfmodel.analyses.outliers import outliers_of
from perfmodel.analyses.report_families import family_lines, weights_files
from perfmodel.analyses.report_lines import fact_lines, how_made, weight_lines
from perfmodel.analyses.report_values import FITTED, TESTS, KernelTerms, ReportData, Share, Unmeasured
from perfmodel.analyses.roofline import KernelPoint, kernel_point, largest, roof_values, roofline_points
from perfmodel.compare import Comparison, compare, summarise
from perfmodel.compare.comparison import volume
from perfmodel.compare.figures import judge
from perfmodel.display import in_words
from perfmodel.errors import (
    AssumptionError,
    ForeignDeviceError,
    MissingFactError,
    StoreMissingError,
    UnmeasuredFeatureError,
)
from perfmodel.fitting.device_folder import tests_of
from perfmodel.fitting.throughput import with_measured_facts
from perfmodel.predicting.model import ADDS_UP
from perfmodel.predicting.predictions import Predicting, scatter_of
from perfmodel.predicting.ranking import rankings
from perfmodel.quantities.case import Case

if TYPE_CHECKING:
    from perfmodel.analyses.kernel_bounds import BoundModels, KernelBounds
    from perfmodel.facts import DeviceFacts
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.ranking import Ranking
    from perfmodel.store import Measurements


def report_data(
    model: FittedModel,
    folder: str | Path,
    variants: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None,
    *,
    level: float = 0.9,
    uncounted: Mapping[str, str] = MappingProxyType({}),
    advance: Callable[[str], None] = lambda note: None,
) -> ReportData:
    """Gather what a report shows.

    Parameters
    ----------
    model
        Weights of a device (:func:`perfmodel.load`).
    folder
        Folder with the measurements of the same device. Where it has test kernels, these are compared, and so are the
        other families whose weights it holds.
    variants
        A user's kernels by name (:func:`perfmodel.kernels.load_file`), or their counts. Those that need a feature
        which nobody measured, or do not allow the sizes, have no prediction; the report says why.
    sizes
        Their size parameters.
    level
        Probability of intervals.
    uncounted
        Variants that could not be counted, by name, each with the reason.
    advance
        Called with the name of each step when it begins (:func:`steps_of` has their number).

    Raises
    ------
    StoreMissingError
        If there are no measurements.
    ForeignDeviceError
        If they are of another device than the weights.
    ParameterError
        If a size of the variants is left out or unknown.
    LevelError
        If the level is not between 0 and 1.
    """
    advance("reading")
    measured = store.read(folder)
    if measured.device != model.device:
        raise ForeignDeviceError(Path(folder), f"'{measured.device}'", f"'{model.device}'")
    measured = with_measured_facts(measured)
    compared, judged_on = _compared(Path(folder), measured)
    advance("kernels")
    rows = compare(model, compared, level)
    figures = summarise(rows)
    own = _Own.of(model, variants or {}, sizes or {}, level)
    bounding = bound_models(folder, model.device)
    facts = measured.known_facts
    return ReportData(
        device=model.device,
        platform=measured.rows[0].platform,
        drivers=measured.drivers,
        family=model.family,
        level=level,
        facts=fact_lines(measured.facts),
        weights=weight_lines(model, level),
        judged_on=judged_on,
        comparisons=rows,
        figures=figures,
        verdict=judge(figures) if judged_on == TESTS else None,
        outliers=outliers_of(rows),
        unmeasured=_unmeasured(rows, own.unmeasured),
        kernels=_largest_terms(model, compared, bounding, level),
        points=_points(compared),
        ranking=own.ranking,
        own=tuple(_terms(one.name, "", in_words(own.sizes), one, None, own.bounds(one.name, bounding))
                  for one in own.ranking),
        own_points=_own_points(own, measured.facts),
        withheld=MappingProxyType({**uncounted, **own.withheld}),
        made=how_made(model, measured, folder),
        simulated="simulated" in facts and bool(facts.value("simulated")),
        roofs=roof_values(facts),
        families=family_lines(model, folder, compared, level, advance) if judged_on == TESTS else (),
        bound_problems=bounding.problems,
        scatter=scatter_of(model),
    )  # fmt: skip


def steps_of(folder: str | Path) -> int:
    """Return how often :func:`report_data` calls `advance` for a folder."""
    return 2 + (len(weights_files(folder)) if (Path(folder) / store.TESTS_FILE).is_file() else 0)


@dataclass(frozen=True)
class _Own:
    """A user's variants: ranked, or withheld with the reason."""

    counts: Mapping[str, Any]
    sizes: Mapping[str, int]
    ranking: Ranking
    unmeasured: Mapping[str, UnmeasuredFeatureError]
    withheld: Mapping[str, str]

    @classmethod
    def of(cls, model: FittedModel, variants: Mapping[str, Any], sizes: Mapping[str, int], level: float) -> _Own:
        """Rank those of a user's variants that can be predicted."""
        asked = Predicting(model, level, spared=(UnmeasuredFeatureError, AssumptionError))
        found = asked.predicted(variants, sizes)
        unmeasured = {name: one for name, one in found.errors.items() if isinstance(one, UnmeasuredFeatureError)}
        broken = {name: str(one) for name, one in found.errors.items() if name not in unmeasured}
        withheld = broken | {name: str(one) for name, one in unmeasured.items()}
        return cls(found.counts, sizes, rankings(found)[0], unmeasured, withheld)

    def bounds(self, name: str, models: BoundModels) -> KernelBounds:
        """Return what bounds one of the variants."""
        return models.bounds(self.counts[name], self.sizes)


def _compared(folder: Path, measured: Measurements) -> tuple[Measurements, str]:
    try:
        return tests_of(folder, measured, store.TESTS_FILE), TESTS
    except StoreMissingError:
        return measured, FITTED


def _largest_terms(
    model: FittedModel, compared: Measurements, bounding: BoundModels, level: float
) -> tuple[KernelTerms, ...]:
    """Return the terms of each variant at its largest size, of those that can be predicted."""
    rows = sorted(compared, key=lambda row: (row.kernel, in_words(row.variant), volume(row.parameters)))
    found = []
    for (kernel, form), row in {(row.kernel, in_words(row.variant)): row for row in rows}.items():
        counts = compared.counts[row.counts_hash]
        try:
            one = model.predict(counts, row.parameters, level=level)
        except UnmeasuredFeatureError:
            continue  # its features are among the unmeasured ones
        bounds = bounding.bounds(counts, row.parameters)
        found.append(_terms(kernel, form, in_words(row.parameters), one, row.seconds, bounds))
    return tuple(found)


def _terms(
    kernel: str, form: str, sizes: str, one: Any, measured: float | None, bounds: KernelBounds
) -> KernelTerms:
    """Return the terms of a prediction, or of a ranked variant."""
    whole = one.seconds if one.seconds > 0 else math.nan
    largest_first = sorted(one.terms.items(), key=lambda pair: -abs(pair[1]))
    shares = tuple(Share(name, seconds, seconds / whole) for name, seconds in largest_first if seconds)
    adds_up = math.isclose(sum(one.terms.values()), one.seconds, rel_tol=ADDS_UP)
    return KernelTerms(kernel, form, sizes, one.seconds, measured, shares, adds_up, one.cautions, bounds)


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


def _own_points(own: _Own, facts: DeviceFacts | None) -> tuple[KernelPoint, ...]:
    """Return the places of predicted variants below the roofs; none where the facts do not allow it."""
    roofs = roof_values(facts) if facts is not None else {}
    cases = ((one, Case(own.counts[one.name], own.sizes, facts, "roofline")) for one in own.ranking)
    try:
        return tuple(kernel_point(case, roofs, one.name, "", one.seconds) for one, case in cases)
    except MissingFactError:
        return ()
