"""The data of a device's report: frozen values from weights, a folder of measurements and a user's variants.

The models in the folder are judged, and two of them explain what bounds a kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from perfmodel import store
from perfmodel.analyses import balance, benefits
from perfmodel.analyses.descriptions import FactLine, WeightLine, fact_lines, how_made, weight_lines
from perfmodel.analyses.roofline import KernelPoint, at_largest_sizes, points_of, roof_values, roofline_points
from perfmodel.compare import Comparison, Comparisons, Figures, compare, summarise
from perfmodel.compare.comparison import Verdict, judge, kernels as kernels_of
from perfmodel.display import values_text
from perfmodel.errors import FactsError, PerfModelError, PredictionError, UnmeasuredFeatureError
from perfmodel.fitting.cautions import Caution
from perfmodel.fitting.device_folder import part_of, weights_files
from perfmodel.fitting.selection import Scatter
from perfmodel.fitting.throughput import with_measured_facts
from perfmodel.models import Family
from perfmodel.predicting.model import FittedModel, load
from perfmodel.predicting.prediction import ADDS_UP, Share, shares
from perfmodel.predicting.predictions import Predicting, Predictions
from perfmodel.predicting.ranking import Ranking, rankings
from perfmodel.store import Measurements
from perfmodel.store.files import other_device
from perfmodel.values import grouped

TESTS = "test kernels, none of which is in the fit"
FITTED = "the measured kernels themselves, to which the weights were fitted: this validates nothing"


@dataclass(frozen=True)
class FamilyLine:
    """The figures of a family, on the cases that every family predicts."""

    name: str
    citation: str = ""
    weights: int = 0  # their number
    figures: Figures | None = None  # how good it is; None where there is a problem
    withheld: int = 0  # cases without a prediction
    problem: str = ""  # why its weights cannot be used
    errors: Mapping[str, float] = field(default_factory=dict, hash=False)  #: Errors by kernel, and over all kernels


@dataclass(frozen=True)
class KernelBounds:
    """What bounds a kernel, and what could be saved. A value is None if a model cannot predict the kernel."""

    balance: balance.Balance | None = None
    benefits: benefits.Benefits | None = None


@dataclass(frozen=True)
class BoundModels:
    """Weights of the two models that explain bounds. One is None without usable weights of this device."""

    balance: FittedModel | None = None  # of the family ``work_depth``
    benefits: FittedModel | None = None  # of the family ``gpuperf``
    problems: tuple[str, ...] = ()  # why one of them is missing, in words

    def bounds(self, counts: Any, sizes: Mapping[str, int]) -> KernelBounds:
        """Return what bounds a counted kernel at given sizes. A model with an error is left out."""
        known: dict[str, Any] = {}
        for name, model, explain in (
            ("balance", self.balance, balance.judge_balance), ("benefits", self.benefits, benefits.potential_benefits),
        ):  # fmt: skip
            if model is not None:
                with suppress(PerfModelError):  # a fact that is not known, for example
                    known[name] = explain(model, counts, sizes)
        return KernelBounds(**known)


@dataclass(frozen=True)
class KernelTerms:
    """The terms of a predicted time, the largest first. Unless they add up to the time, the terms overlap."""

    kernel: str
    form: str  # variant, in words
    sizes: str  # in words
    seconds: float  # predicted [s]
    measured: float | None  # [s]
    terms: tuple[Share, ...]
    adds_up: bool
    cautions: tuple[Caution, ...] = ()
    bounds: KernelBounds = KernelBounds()

    @property
    def bound_by(self) -> str:
        """The largest term, or an empty text without terms."""
        return self.terms[0].term if self.terms else ""


@dataclass(frozen=True)
class ReportData:
    """The data of a device's report."""

    device: str
    platform: str
    drivers: tuple[str, ...]
    family: Family  # of the model
    level: float  # probability of all intervals
    facts: tuple[FactLine, ...]
    weights: tuple[WeightLine, ...]
    judged_on: str  # TESTS or FITTED: the kernels of the comparisons
    comparisons: Comparisons
    figures: Figures  # of the comparisons
    verdict: Verdict | None  # None without test kernels
    unmeasured: Mapping[str, tuple[str, ...]] = field(hash=False)  # unmeasured features, and kernels that need them
    kernels: tuple[KernelTerms, ...]  # each compared variant at its largest size
    points: tuple[KernelPoint, ...]  # roofline points; empty if the facts do not allow them
    ranking: Ranking = Ranking()  # noqa: RUF009 -- a tuple.  A user's variants, fastest first
    own: tuple[KernelTerms, ...] = ()  # their terms
    own_points: tuple[KernelPoint, ...] = ()  # their roofline points at predicted times
    withheld: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """By name, why the user's other variants have no prediction."""
    made: tuple[tuple[str, str], ...] = ()  # how the report was made: pairs of a name and a text
    simulated: bool = False  # whether a simulator counted the times
    roofs: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """The roofs among the facts, by the fact's key (:func:`perfmodel.analyses.roofline.roof_values`)."""
    families: tuple[FamilyLine, ...] = ()  # with weights in the folder; none without test kernels
    bound_problems: tuple[str, ...] = ()  # why a model cannot explain kernels
    scatter: Scatter | None = None  # of errors between variants of one kernel, if the weights have it


def report_data(
    model: FittedModel, folder: str | Path, variants: Mapping[str, Any] | None = None,
    sizes: Mapping[str, int] | None = None, *, level: float = 0.9,
    statistics: Mapping[str, float] = MappingProxyType({}), timed: Measurements | None = None,
    advance: Callable[[str], None] = lambda note: None,
) -> ReportData:  # fmt: skip
    """Return the data of a report on a model and the folder with the measurements of its device.

    `variants` are a user's kernels by name, functions that make kernels, or their counts. `statistics` describe the
    data. `timed` are runs of the variants on this device (``perfmodel time --keep``). `advance` is called with the name
    of each step at its start (:func:`steps_of` has their number).
    """
    advance("reading")
    folder = Path(folder)
    measured = store.read(folder)
    if measured.device != model.device:
        raise other_device(folder, f"'{measured.device}'", f"'{model.device}'")
    samples = part_of(folder, measured, store.SAMPLES_FILE)
    measured = with_measured_facts(measured, samples=samples)
    tests = part_of(folder, measured, store.TESTS_FILE)
    compared, judged_on = (measured, FITTED) if tests is None else (tests, TESTS)
    advance("kernels")
    rows = compare(model, compared, level)
    figures = summarise(rows)
    sampled = summarise(compare(model, samples, level)) if samples else None
    asked = Predicting(model, level, skipped=PerfModelError, options={"check": True, "statistics": statistics})
    own, sizes = asked.predicted(variants or {}, sizes or {}), sizes or {}
    ranking = rankings(own)[0]
    times = {variant.name: variant.seconds for variant in ranking}
    bounding = bound_models(folder, model.device)
    facts = measured.known_facts
    return ReportData(
        device=model.device, platform=measured.rows[0].platform, drivers=measured.drivers, family=model.family,
        level=level, facts=fact_lines(measured.facts), weights=weight_lines(model, level), judged_on=judged_on,
        comparisons=rows, figures=figures, verdict=judge(figures, sampled) if judged_on == TESTS else None,
        unmeasured=_unmeasured(rows, own.errors), kernels=_largest_terms(model, compared, bounding, level),
        points=_points(compared), ranking=ranking, own=_own_terms(own, ranking, sizes, bounding, timed, model),
        own_points=tuple(points_of(measured.facts, own.counts, sizes, times).values()),
        withheld=MappingProxyType({name: str(error) for name, error in own.errors.items()}),
        made=how_made(model, measured, folder), simulated=bool(facts.known("simulated")), roofs=roof_values(facts),
        families=family_lines(model, folder, compared, level, advance) if judged_on == TESTS else (),
        bound_problems=bounding.problems, scatter=own.scatter,
    )  # fmt: skip


def steps_of(folder: str | Path) -> int:
    """Return the number of calls of `advance` for a folder."""
    return 2 + (len(weights_files(folder)) if (Path(folder) / store.TESTS_FILE).is_file() else 0)


def _own_terms(
    own: Predictions, ranking: Ranking, sizes: Mapping[str, int], bounding: BoundModels, timed: Measurements | None,
    model: FittedModel,
) -> tuple[KernelTerms, ...]:  # fmt: skip
    took = {
        (row.variant.get("variant"), row.counts_hash): row.seconds_by(model.clock)
        for row in timed or () if row.device == model.device and row.parameters == dict(sizes)
    }  # fmt: skip
    terms = []
    for variant in ranking:
        counts = own.counts[variant.name]
        measured, bounds = took.get((variant.name, counts.hash)), bounding.bounds(counts, sizes)
        terms.append(kernel_terms(variant.name, "", values_text(sizes), variant, measured, bounds))
    return tuple(terms)


def _largest_terms(
    model: FittedModel, compared: Measurements, bounding: BoundModels, level: float
) -> tuple[KernelTerms, ...]:
    kernels = []
    for (kernel, form), row in at_largest_sizes(compared).items():
        counts = compared.counts[row.counts_hash]
        try:
            predicted = model.predict(counts.least_local, row.parameters, level=level, strict=True)
        except (UnmeasuredFeatureError, PredictionError):  # a feature was never measured, or the time is negative
            continue
        bounds = bounding.bounds(counts, row.parameters)
        sizes, measured = values_text(row.parameters), row.seconds_by(model.clock)
        kernels.append(kernel_terms(kernel, form, sizes, predicted, measured, bounds))
    return tuple(kernels)


def kernel_terms(
    kernel: str, form: str, sizes: str, predicted: Any, measured: float | None, bounds: KernelBounds
) -> KernelTerms:
    """Return the terms of a prediction, or of a ranked variant."""
    seconds, terms = predicted.seconds, predicted.terms
    nonzero = tuple(share for share in shares(seconds, terms) if share.seconds)
    adds_up = math.isclose(sum(terms.values()), seconds, rel_tol=ADDS_UP)
    return KernelTerms(kernel, form, sizes, seconds, measured, nonzero, adds_up, predicted.cautions, bounds)


def _unmeasured(rows: Sequence[Comparison], withheld: Mapping[str, Exception]) -> Mapping[str, tuple[str, ...]]:
    asked = [(row.kernel, row.needs) for row in rows]
    asked += [(name, error.features) for name, error in withheld.items() if isinstance(error, UnmeasuredFeatureError)]
    needs = grouped((feature, kernel) for kernel, features in asked for feature in features)
    return MappingProxyType({feature: tuple(dict.fromkeys(kernels)) for feature, kernels in sorted(needs.items())})


def _points(compared: Measurements) -> tuple[KernelPoint, ...]:
    with suppress(FactsError):
        return roofline_points(compared)
    return ()


def family_lines(
    model: FittedModel, folder: str | Path, compared: Measurements, level: float = 0.9,
    advance: Callable[[str], None] = lambda note: None,
) -> tuple[FamilyLine, ...]:  # fmt: skip
    """Return the families of a folder's weights. The smallest error is first, and unusable families are last."""
    judged: list[tuple[FittedModel, Comparisons]] = []
    problems = []
    for path in weights_files(folder):
        advance(path.stem)
        try:
            of_path = model if path.stem == model.fitted.family else load(path)
            if of_path.device == compared.device:
                judged.append((of_path, compare(of_path, compared, level)))
            else:
                problems.append(FamilyLine(path.stem, problem=f"its weights are of {of_path.device}"))
        except PerfModelError as error:
            problems.append(FamilyLine(path.stem, problem=" ".join(str(error).split())))
    if not any(known is model for known, _ in judged):
        judged.append((model, compare(model, compared, level)))
    common = set.intersection(*({row.case for row in rows if row.predicted is not None} for _, rows in judged))
    lines = []
    for known, rows in judged:
        shared = [row for row in rows if row.case in common]
        parts = {name: [row for row in shared if row.kernel == name] for name in kernels_of(shared)} | {"all": shared}
        errors = {name: summarise(part).error for name, part in parts.items()}
        withheld = sum(row.predicted is None for row in rows)
        fitted = known.fitted
        lines.append(FamilyLine(
            fitted.family, known.family.citation, len(fitted.weights), summarise(shared), withheld, errors=errors
        ))  # fmt: skip
    return (*sorted(lines, key=lambda line: line.figures.error if line.figures else 0.0), *problems)


def bound_models(folder: str | Path | None, device: str) -> BoundModels:
    """Return the weights of both models in a folder for a device. The model of benefits is for GPUs only."""
    if folder is None:
        return BoundModels()
    known: dict[str, Any] = {}
    problems = []
    for name, family in (("balance", balance.FAMILY), ("benefits", benefits.FAMILY)):
        path = Path(folder) / f"{family}.json"
        if not path.is_file():
            problems.append(f"the folder has no weights of {family}")
            continue
        try:
            model = load(path)
        except PerfModelError as error:
            problems.append(" ".join(str(error).split()))
            continue
        if name == "benefits" and model.facts and model.facts.known("device_type") == "cpu":
            problems.append(f"{family} assumes that work-items hide each other's latency, as on GPUs; this is a CPU")
        elif model.device == device:
            known[name] = model
        else:
            problems.append(f"the weights of {family} are of {model.device}")
    return BoundModels(**known, problems=tuple(problems))
