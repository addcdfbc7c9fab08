"""Timing of a kernel's variants in the visits of a campaign, next to their predictions: :func:`time_kernel`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from time import monotonic, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING

from perfmodel.analyses.roofline import KernelPoint, facts_with_roofs, points_of
from perfmodel.counts import KernelCounts, count
from perfmodel.counts.quasipoly.arguments import size_error
from perfmodel.errors import AssumptionError, KernelError, PerfModelError, PredictionError, UnmeasuredFeatureError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.campaign import SETUP_S, Campaign
from perfmodel.opencl import devices
from perfmodel.predicting import FittedModel, Predicting, RankedVariant, rankings
from perfmodel.predicting.predictions import together
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store import Measurement, canonical
from perfmodel.store.measurement import AGREEMENT
from perfmodel.tuning.agreement import Agreement
from perfmodel.tuning.trials import Trials, runs_of

if TYPE_CHECKING:
    from loopy import TranslationUnit

Sizes = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Timing:
    """The result of timing a kernel's variants."""

    trials: Trials
    model: FittedModel | None
    points: tuple[TimedPoint, ...]
    outputs: tuple[Agreement, ...]  # of the variants, at each point
    withheld: Mapping[str, PerfModelError]  # why variants have no prediction
    left_out: frozenset[str] = frozenset()  # variants that cannot be built or launched


def place_of_device(model: FittedModel) -> str | None:
    """Return the index of a model's device on this machine; None without it."""
    platform = model.facts.platform if model.facts else None
    here = [device for device in devices() if device.name == model.device and platform in (None, device.platform)]
    return str(here[0].index) if here else None


def counted_at(
    builders: Mapping[str, Callable[[], TranslationUnit]], points: Sequence[Sizes], subgroup_size: int,
    statistics: Mapping[str, float],
) -> dict[str, KernelCounts]:
    """Return the counts of the variants that can be built and counted; the records of the others say why they cannot.

    Raises
    ------
    SizeError
        If a size is missing or unknown.
    AssumptionError
        If no variant may run at any of the points.
    PerfModelError
        If no variant can be counted.
    """
    counted: dict[str, KernelCounts] = {}
    problems: list[PerfModelError] = []
    broken: list[AssumptionError] = []
    for name, build in builders.items():
        try:
            counted[name] = count(build(), subgroup_size, check=True, statistics=statistics)
        except PerfModelError as error:
            problems.append(error)
    if not counted:
        raise problems[0]
    for counts in counted.values():
        for point in points:
            for name in point:
                if name not in (*counts.parameters, *counts.size_arguments):
                    raise size_error(name, "is unknown", counts.parameters)
            try:
                counts.work_groups()(**point)
            except AssumptionError as error:
                broken.append(error)
    if len(broken) == len(counted) * len(points):
        raise broken[0]
    return counted


def time_kernel(
    trials: Trials,
    points: Sequence[Sizes],
    counted: Mapping[str, KernelCounts],
    model: FittedModel | None,
    level: float,
    progress: Progress,
) -> Timing:
    """Predict the variants at all points, report the time needed, time all variants, and compare outputs.

    `trials` are entered here. Only a model gives predictions.
    """
    predictions = None
    if model is not None:
        model = model.by_clock("host")  # as runs are timed
        asked = Predicting(model, level, skipped=(UnmeasuredFeatureError, PredictionError, KernelError))
        predictions = asked.predicted(counted, together(points))
    predicted = {place_of("", ranking.sizes): ranking for ranking in rankings(predictions)} if predictions else {}
    run_s = {
        place_of(variant.name, ranking.sizes): max(variant.seconds, 0.0)
        for ranking in predicted.values() for variant in ranking if ranking.sizes
    }  # fmt: skip
    with trials:
        names = [name for name in counted if predictions is None or name not in predictions.errors] or [*counted]
        built_s = building_s(trials, names)
        progress.tell(_beforehand(trials, points, names, run_s, built_s))
        time_variants(trials, points, progress, run_s, (built_s or 0.0) / len(names))
        facts = facts_with_roofs(model) if model else trials.device.facts
        timed = tuple(
            timed_point(
                point, {name: row for name in trials.variants if (row := trials.judged(name, point))},
                predicted.get(place_of("", point), ()), counted, facts,
            )
            for point in points
        )  # fmt: skip
        outputs = tuple(trials.agreement(point) for point in points)
    ran = {one.name for point in timed for one in point.variants if one.row.status not in ("compile", "constraint")}
    left_out = frozenset(trials.variants) - ran
    errors = predictions.errors if predictions else {}
    withheld = {name: error for name, error in errors.items() if name in ran}  # the others' records have reasons
    return Timing(trials, model, timed, outputs, withheld, left_out)


def _beforehand(
    trials: Trials, points: Sequence[Sizes], names: Sequence[str], run_s: Mapping[tuple[str, str], float],
    built_s: float | None,
) -> str:  # fmt: skip
    """Return what is timed, and how long that takes."""
    campaign = trials.campaign
    what = f"{_several(len(names), 'variant')} at {_several(len(points), 'size')}"
    visits = f"{_several(campaign.visits, 'visit')} of up to {campaign.runs} runs"
    every = [place_of(name, point) for point in points for name in names]
    if built_s is None:
        return f"timing {what} on {trials.device.name}: {visits}"
    if not all(place in run_s for place in every):
        return f"timing {what} on {trials.device.name}: {visits}, after about {max(built_s, 1):.0f} s of building"
    seconds = max(built_s + expected_s([run_s[place] for place in every], campaign), 1)
    return f"timing {what} on {trials.device.name}: {visits}, about {seconds:.0f} s with building"


def building_s(trials: Trials, names: Sequence[str]) -> float | None:
    """Build the first two variants, and return an estimate for all, None if neither can be built [s]."""
    built = [seconds for name in names[:2] if (seconds := trials.build(name)) is not None]
    return sum(built) + built[-1] * (len(names) - len(built)) if built else None


def _several(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number > 1)}"


def time_variants(
    trials: Trials,
    points: Sequence[Sizes],
    progress: Progress | None = None,
    run_s: Mapping[tuple[str, str], float] = {},
    build_s: float = 0.0,
) -> None:
    """Visit every variant at every point as often as the campaign says, and again if its visits disagree.

    Each pass has the same order. A variant that failed at a point, or whose output is wrong, is not visited again.
    ``trials.judged`` returns the results. `run_s` is the expected time of a run by variant and point
    (:func:`place_of`), `build_s` that of building a variant [s].
    """
    progress, campaign = progress or Silent(), trials.campaign
    places = [(name, point) for point in points for name in trials.variants]
    ended: dict[tuple[str, str], float] = {}
    expected = {place_of(*place): visit_s(run_s.get(place_of(*place), 0.0), campaign) for place in places}
    seconds = campaign.visits * sum(expected.values()) + len(trials.variants) * build_s
    with task(progress, "timing", len(places) * campaign.visits, seconds):
        for visit in range(campaign.visits):
            for name, point in places:
                note = _visited(trials, name, point, ended) if not visit or _good(trials, name, point) else name
                building = build_s if not visit and point is points[0] else 0.0
                progress.advance(note, expected[place_of(name, point)] + building)
    for _ in range(campaign.visits, campaign.most_visits):
        again = [
            (name, point) for name, point in places
            if _good(trials, name, point) and trials.rows[place_of(name, point)].disagrees
        ]  # fmt: skip
        if not again:
            return
        with task(progress, "timing again what disagrees", len(again)):
            for name, point in again:
                progress.advance(_visited(trials, name, point, ended))


def expected_s(run_s: Sequence[float], campaign: Campaign) -> float:
    """Return the approximate time of timing configurations by the times of their runs, without building [s]."""
    passes = sum(visit_s(seconds, campaign) for seconds in run_s)
    return passes + (campaign.visits - 1) * max(passes, campaign.apart_s)


def visit_s(run_s: float, campaign: Campaign) -> float:
    """Return the approximate time of one visit [s]."""
    return SETUP_S + runs_of(run_s, campaign) * run_s


def place_of(name: str, point: Sizes) -> tuple[str, str]:
    """Return the key of a variant at a point, as in ``Trials.rows``."""
    return name, canonical(dict(point))


def _visited(trials: Trials, name: str, point: Sizes, ended: dict[tuple[str, str], float]) -> str:
    """Visit a variant, at least `apart_s` after its last visit; return its name, with the status of a failure."""
    place = place_of(name, point)
    if place in ended:
        sleep(max(0.0, ended[place] + trials.campaign.apart_s - monotonic()))
    row = trials.visit(name, point)
    ended[place] = monotonic()
    return name if row.status == "ok" else FailedStep(name, row.status)


def _good(trials: Trials, name: str, point: Sizes) -> bool:
    row = trials.judged(name, point)
    return row is not None and row.status == "ok"


@dataclass(frozen=True)
class TimedVariant:
    """A variant at one point: its record, and its prediction."""

    name: str
    row: Measurement  # all its visits, or its failure
    predicted: RankedVariant | None = None
    reached: KernelPoint | None = None  # its position below the device's roofs

    @property
    def seconds(self) -> float | None:
        """The measured time, the minimum of all valid runs [s]; None for a failure."""
        return self.row.seconds if self.row.status == "ok" else None

    @property
    def factor(self) -> float | None:
        """Predicted over measured time [1]; None if one of them is missing."""
        return None if self.seconds is None or self.predicted is None else self.predicted.seconds / self.seconds

    @property
    def inside(self) -> bool | None:
        """Whether the measured time lies in the prediction's interval; None if one of them is missing."""
        if self.seconds is None or self.predicted is None or self.predicted.interval is None:
            return None
        low, high = self.predicted.interval
        return low <= self.seconds <= high


@dataclass(frozen=True)
class TimedPoint:
    """The variants of a kernel at one point: those that ran from the fastest on, then those that failed.

    Parameters
    ----------
    sizes
        The size parameters.
    variants
        All variants.
    """

    sizes: Mapping[str, int] = field(hash=False)
    variants: tuple[TimedVariant, ...]

    @property
    def ran(self) -> tuple[TimedVariant, ...]:
        """The variants that ran, the fastest first."""
        return tuple(variant for variant in self.variants if variant.seconds is not None)

    def without(self, names: Collection[str]) -> TimedPoint:
        """Return the point without some variants."""
        return TimedPoint(self.sizes, tuple(variant for variant in self.variants if variant.name not in names))

    @property
    def order_predicted(self) -> tuple[str, ...]:
        """Names of the predicted variants, the one predicted fastest first."""
        known = [(variant.predicted.seconds, variant.name) for variant in self.variants if variant.predicted]
        return tuple(name for _, name in sorted(known, key=lambda pair: pair[0]))

    @property
    def tied(self) -> tuple[str, ...]:
        """Variants at most 5 % slower than the fastest, which is how much visits of one variant may differ."""
        ran = self.ran
        return tuple(variant.name for variant in ran if variant.row.seconds <= (1 + AGREEMENT) * ran[0].row.seconds)

    @property
    def chosen(self) -> str | None:
        """The variant predicted fastest of those that ran; None if fewer than two have a prediction."""
        known = self._known
        return None if len(known) < 2 else min((predicted, name) for name, _, predicted in known)[1]

    @property
    def regret(self) -> float | None:
        """Measured time of :attr:`chosen` over the shortest one, minus 1 [1]."""
        times = {name: measured for name, measured, _ in self._known}
        return None if self.chosen is None else times[self.chosen] / min(times.values()) - 1

    @property
    def pairs(self) -> tuple[int, int]:
        """Number of pairs of variants that are predicted in the measured order, and of all pairs, without ties."""
        distinct = [
            (first, second)
            for first, second in combinations(self._known, 2)
            if max(first[1], second[1]) > (1 + AGREEMENT) * min(first[1], second[1])
        ]
        return sum((first[1] < second[1]) == (first[2] < second[2]) for first, second in distinct), len(distinct)

    @property
    def _known(self) -> list[tuple[str, float, float]]:
        """Name, measured and predicted time of the variants that have both [s]."""
        both = [(variant, variant.predicted) for variant in self.ran if variant.predicted is not None]
        return [(variant.name, variant.row.seconds, predicted.seconds) for variant, predicted in both]


def timed_point(
    sizes: Mapping[str, int],
    rows: Mapping[str, Measurement],
    predicted: Sequence[RankedVariant] = (),
    counted: Mapping[str, KernelCounts] = MappingProxyType({}),
    facts: DeviceFacts | None = None,
) -> TimedPoint:
    """Return the records and predictions of variants at one point; `facts` hold the roofs."""
    known = {variant.name: variant for variant in predicted}
    times = {name: row.seconds for name, row in rows.items() if row.status == "ok"}
    reached = points_of(facts, counted, sizes, times)
    variants = [TimedVariant(name, row, known.get(name), reached.get(name)) for name, row in rows.items()]
    variants.sort(key=lambda variant: math.inf if variant.seconds is None else variant.seconds)
    return TimedPoint(dict(sizes), tuple(variants))
