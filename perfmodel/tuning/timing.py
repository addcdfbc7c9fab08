"""Timing of a kernel's variants in the visits of a campaign, next to their predictions: :func:`time_kernel`."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any

from loopy import TranslationUnit

from perfmodel.analyses.roofline import KernelPoint, facts_with_roofs, points_of
from perfmodel.counts import KernelCounts
from perfmodel.counts.quasipoly.arguments import size_error
from perfmodel.errors import AssumptionError, KernelError, PerfModelError, PredictionError, UnmeasuredFeatureError
from perfmodel.facts import DeviceFacts
from perfmodel.measuring.campaign import SETUP_S, Campaign
from perfmodel.predicting import FittedModel, Predicting, RankedVariant, Ranking, rankings
from perfmodel.predicting.predictions import together
from perfmodel.processes.pool import count_all
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store import Measurement
from perfmodel.store.measurement import AGREEMENT
from perfmodel.tuning.agreement import Agreement
from perfmodel.tuning.trials import Trials, row_key

Sizes = Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Timing:
    """The result of timing a kernel's variants."""

    trials: Trials
    model: FittedModel | None
    points: "tuple[TimedPoint, ...]"
    outputs: tuple[Agreement, ...]  # of the variants, at each point
    withheld: Mapping[str, PerfModelError]  # why variants have no prediction
    left_out: frozenset[str] = frozenset()  # variants that cannot be built or launched


def counted_at(
    builders: Mapping[str, Callable[[], TranslationUnit]], points: Sequence[Sizes], subgroup_size: int,
    statistics: Mapping[str, float], **options: Any,
) -> Mapping[str, KernelCounts]:
    """Return the counts of the variants that can be built and counted. Records of the other variants have the reasons.

    `options` are more options of :func:`perfmodel.count`.

    Raises SizeError for missing or unknown sizes, AssumptionError if no variant may run at any of the points, and the
    first error of counting if no variant can be counted.
    """
    options |= {"statistics": statistics, "sizes": together(points)}
    counted = count_all(builders, 1, subgroup_size=subgroup_size, check=True, **options)
    broken: list[AssumptionError] = []
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
    trials: Trials, points: Sequence[Sizes], counted: Mapping[str, KernelCounts], model: FittedModel | None,
    level: float, progress: Progress,
) -> Timing:  # fmt: skip
    """Predict the variants at all points (if there is a model), time all of them, and compare outputs."""
    errors: Mapping[str, PerfModelError] = {}
    predicted: dict[tuple[str, str], Ranking] = {}
    if model is not None:
        model = model.by_clock("host")  # the clock of the runs
        asked = Predicting(model, level, skipped=(UnmeasuredFeatureError, PredictionError, KernelError))
        predictions = asked.predicted(counted, together(points))
        errors = predictions.errors
        predicted = {row_key("", ranking.sizes): ranking for ranking in rankings(predictions)}
    run_s = {
        row_key(variant.name, ranking.sizes): max(variant.seconds, 0.0)
        for ranking in predicted.values() for variant in ranking if ranking.sizes
    }  # fmt: skip
    with trials:
        names = [name for name in counted if name not in errors] or [*counted]
        built_s = building_s(trials, names)
        progress.report(_beforehand(trials, points, names, run_s, built_s))
        time_variants(trials, points, progress, run_s, (built_s or 0.0) / len(names))
        facts = facts_with_roofs(model) if model else trials.device.facts
        timed = []
        for point in points:
            rows = {name: row for name in trials.variants if (row := trials.judged(name, point))}
            timed.append(timed_point(point, rows, predicted.get(row_key("", point), ()), counted, facts))
        outputs = tuple(trials.agreement(point) for point in points)
    ran = {one.name for point in timed for one in point.variants if one.row.status not in ("compile", "constraint")}
    withheld = {name: error for name, error in errors.items() if name in ran}  # the others' records have reasons
    return Timing(trials, model, tuple(timed), outputs, withheld, frozenset(trials.variants) - ran)


def _beforehand(
    trials: Trials, points: Sequence[Sizes], names: Sequence[str], run_s: Mapping[tuple[str, str], float],
    built_s: float | None,
) -> str:  # fmt: skip
    campaign = trials.campaign
    what = f"{_several(len(names), 'variant')} at {_several(len(points), 'size')}"
    text = f"timing {what} on {trials.device.name}: {_several(campaign.visits, 'visit')} of up to {campaign.runs} runs"
    expected = [run_s.get(row_key(name, point)) for point in points for name in names]
    known = [seconds for seconds in expected if seconds is not None]
    if built_s is None:
        return text
    if len(known) < len(expected):
        return f"{text}, after about {max(built_s, 1):.0f} s of building"
    return f"{text}, about {max(built_s + expected_s(known, campaign), 1):.0f} s with building"


def building_s(trials: Trials, names: Sequence[str]) -> float | None:
    """Build the first two variants, and return an estimate of the time for all [s], or None if both builds fail."""
    built = [seconds for name in names[:2] if (seconds := trials.build(name)) is not None]
    return sum(built) + built[-1] * (len(names) - len(built)) if built else None


def _several(number: int, name: str) -> str:
    return f"{number} {name}{'s' * (number > 1)}"


def time_variants(
    trials: Trials, points: Sequence[Sizes], progress: Progress | None = None,
    run_s: Mapping[tuple[str, str], float] = {}, build_s: float = 0.0,
) -> None:  # fmt: skip
    """Visit every variant at every point as often as the campaign says. If its visits disagree, visit a variant again.

    A variant that failed at a point, or whose output is wrong, is not visited again. ``trials.judged`` returns the
    results. `run_s` has the expected times of runs by :func:`~trials.row_key`. `build_s` is the time to build a variant
    [s].
    """
    progress, campaign = progress or Silent(), trials.campaign
    every = [(name, point) for point in points for name in trials.variants]
    ended: dict[tuple[str, str], float] = {}
    expected = {row_key(*one): SETUP_S + campaign.visit_s(run_s.get(row_key(*one), 0.0)) for one in every}

    def visited(name: str, point: Sizes) -> str:
        key = row_key(name, point)
        if key in ended:
            sleep(max(0.0, ended[key] + campaign.apart_s - monotonic()))
        row = trials.visit(name, point)
        ended[key] = monotonic()
        return name if row.status == "ok" else FailedStep(name, row.status)

    def good(name: str, point: Sizes) -> bool:
        row = trials.judged(name, point)
        return row is not None and row.status == "ok"

    seconds = campaign.visits * sum(expected.values()) + len(trials.variants) * build_s
    with task(progress, "timing", len(every) * campaign.visits, seconds):
        for visit in range(campaign.visits):
            for name, point in every:
                note = visited(name, point) if not visit or good(name, point) else name
                building = build_s if not visit and point is points[0] else 0.0
                progress.advance(note, expected[row_key(name, point)] + building)
    for _ in range(campaign.visits, campaign.most_visits):
        again = [one for one in every if good(*one) and trials.rows[row_key(*one)].disagrees]
        if not again:
            return
        with task(progress, "timing again what disagrees", len(again)):
            for one in again:
                progress.advance(visited(*one))


def expected_s(run_s: Sequence[float], campaign: Campaign) -> float:
    """Return about how long timing configurations takes [s], from the times of their runs. Building is not included."""
    passes = sum(SETUP_S + campaign.visit_s(seconds) for seconds in run_s)
    return passes + (campaign.visits - 1) * max(passes, campaign.apart_s)


@dataclass(frozen=True)
class TimedVariant:
    """A variant at one point: its record, and its prediction."""

    name: str
    row: Measurement  # all its visits, or its failure
    predicted: RankedVariant | None = None
    reached: KernelPoint | None = None  # its position below the device's roofs

    @property
    def seconds(self) -> float | None:
        """The measured time, the minimum of all valid runs [s], or None for a failure."""
        return self.row.seconds if self.row.status == "ok" else None

    @property
    def factor(self) -> float | None:
        """Predicted over measured time [1], or None if one of the times is missing."""
        return None if self.seconds is None or self.predicted is None else self.predicted.seconds / self.seconds

    @property
    def inside(self) -> bool | None:
        """Whether the measured time lies in the interval of the prediction, or None if one of both is missing."""
        if self.seconds is None or self.predicted is None or self.predicted.interval is None:
            return None
        low, high = self.predicted.interval
        return low <= self.seconds <= high


@dataclass(frozen=True)
class TimedPoint:
    """The variants of a kernel at one point. Successful variants are first, in the order of their times."""

    sizes: Mapping[str, int] = field(hash=False)
    variants: tuple[TimedVariant, ...]

    @property
    def ran(self) -> tuple[TimedVariant, ...]:
        """The variants that ran, the fastest first."""
        return tuple(variant for variant in self.variants if variant.seconds is not None)

    def without(self, names: Collection[str]) -> "TimedPoint":
        """Return the point without some variants."""
        return TimedPoint(self.sizes, tuple(variant for variant in self.variants if variant.name not in names))

    @property
    def order_predicted(self) -> tuple[str, ...]:
        """Names of the predicted variants in the order of their predicted times."""
        known = [(variant.predicted.seconds, variant.name) for variant in self.variants if variant.predicted]
        return tuple(name for _, name in sorted(known, key=lambda pair: pair[0]))

    @property
    def tied(self) -> tuple[str, ...]:
        """Variants at most 5 % slower than the fastest. Visits to one variant may differ by this much."""
        ran = self.ran
        return tuple(variant.name for variant in ran if variant.row.seconds <= (1 + AGREEMENT) * ran[0].row.seconds)

    @property
    def chosen(self) -> str | None:
        """The variant predicted to be fastest among those that ran, or None if fewer than two have a prediction."""
        known = self._known
        return None if len(known) < 2 else min((predicted, name) for name, _, predicted in known)[1]

    @property
    def regret(self) -> float | None:
        """Measured time of :attr:`chosen` over the shortest measured time, minus 1 [1]."""
        times = {name: measured for name, measured, _ in self._known}
        return None if self.chosen is None else times[self.chosen] / min(times.values()) - 1

    @property
    def pairs(self) -> tuple[int, int]:
        """Number of pairs of variants predicted in the measured order, and number of all pairs, without ties."""
        distinct = [
            (first, second)
            for first, second in combinations(self._known, 2)
            if max(first[1], second[1]) > (1 + AGREEMENT) * min(first[1], second[1])
        ]
        return sum((first[1] < second[1]) == (first[2] < second[2]) for first, second in distinct), len(distinct)

    @property
    def _known(self) -> list[tuple[str, float, float]]:
        both = [(variant, variant.predicted) for variant in self.ran if variant.predicted is not None]
        return [(variant.name, variant.row.seconds, predicted.seconds) for variant, predicted in both]


def timed_point(
    sizes: Mapping[str, int], rows: Mapping[str, Measurement], predicted: Sequence[RankedVariant] = (),
    counted: Mapping[str, KernelCounts] = MappingProxyType({}), facts: DeviceFacts | None = None,
) -> TimedPoint:  # fmt: skip
    """Return the records and predictions of variants at one point. `facts` hold the roofs."""
    known = {variant.name: variant for variant in predicted}
    times = {name: row.seconds for name, row in rows.items() if row.status == "ok"}
    reached = points_of(facts, counted, sizes, times)
    variants = [TimedVariant(name, row, known.get(name), reached.get(name)) for name, row in rows.items()]
    variants.sort(key=lambda variant: math.inf if variant.seconds is None else variant.seconds)
    return TimedPoint(dict(sizes), tuple(variants))
