"""The settings of a campaign, the campaigns that perfmodel offers, and the order in which they measure.

A *campaign* measures variants of kernels in *visits*. A visit is a series of runs of one variant at one size.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from perfmodel.documents import canonical
from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.measuring.subject import Subject
from perfmodel.store import Key


@dataclass(frozen=True)
class Campaign:
    """Settings of a campaign: its variants, their sizes, and the number of runs."""

    name: str  #: Its name in reports.
    variants: int | None = None  #: Number of variants of each class, evenly from its list; None for all.
    shapes: int = 3  #: Work-group shapes of each variant (paper: 3).
    rungs: int | None = None  #: Rungs of each size ladder; None for as many as its class has.
    points: int | None = None  #: Parameter sets of each rung; None for all.
    least_rungs: int = 1  #: This many rungs are measured even if they take longer than `longest_s`.
    over_launch: float = 3.0  #: The lowest rung takes at least this many launch overheads [1].
    groups_per_unit: int = 2  #: The lowest rung has at least this many work-groups for each compute unit [1].
    longest_s: float = 0.05  #: No run is planned to take longer [s].
    memory_fraction: float = 0.25  #: Share of the device's memory that a configuration may fill [1].
    visits: int = 3  #: Visits to each configuration.
    most_visits: int = 8  #: Visits to a configuration whose two lowest visits do not agree.
    apart_s: float = 10.0  #: Least time between two visits to a configuration [s].
    runs: int = 10  #: How often a visit runs its kernel (paper: one visit of 30 runs, the first 4 dropped).
    dropped: int = 2  #: How many of the first runs are dropped.
    spread: float = 0.2  #: A visit whose median is further above its minimum is flagged [1].
    enough_s: float | None = None  #: A visit ends after the first run that counts, once its runs took this long [s].
    timeout_s: float = 20.0  #: A visit fails, without a further run, once its runs took this long [s].
    budget_s: float | None = None  #: No visit is begun later than this after the start [s]; None for no limit.
    wait_s: float = 3600.0  #: How long to wait for another campaign on the device to end [s].
    seed: int = 20170405  #: Seed of the order of configurations and of the arrays' contents.

    def variants_of(self, kernel: KernelClass, max_work_group_size: int) -> tuple[Variant, ...]:
        """Return the variants of a class to measure on a device with this limit [work-items]."""
        return kernel.with_variants(self._taken(kernel)).variants_on(max_work_group_size, self.shapes)

    def covering(self, kernel: KernelClass) -> KernelClass:
        """Return the class at one size, with a variant for each operation that the campaign does not cover."""
        covered = {kernel.covers(**variant) for variant in self._taken(kernel)} | {None}
        others: dict[str | None, Variant] = {}
        for variant in kernel.variants:
            if (name := kernel.covers(**variant)) not in covered:
                others.setdefault(name, variant)
        sizes = replace(kernel.sizes, rungs=1, longest=kernel.sizes.longest and 1)
        return replace(kernel, variants=tuple(others.values()), sizes=sizes)

    def _taken(self, kernel: KernelClass) -> tuple[Variant, ...]:
        if self.variants is None:
            return kernel.variants
        return tuple(kernel.variants[i] for i in even_indices(len(kernel.variants), self.variants))

    @property
    def enough(self) -> tuple[float, int]:
        """The time [s] and the number of runs after which a visit ends early. A visit must reach both."""
        return (float("inf") if self.enough_s is None else self.enough_s, self.dropped + 1)

    def visit_s(self, run_s: float) -> float:
        """Return the time of all runs of a visit, if one run takes `run_s` [s]."""
        runs = float(self.runs)
        if self.enough_s is not None and run_s > 0:
            runs = min(runs, max(self.dropped + 1, self.enough_s / run_s))
        return runs * run_s

    @property
    def sizing(self) -> tuple[float | None, ...]:
        """The settings that decide the sizes."""
        lowest = (self.rungs, self.points, self.least_rungs, self.over_launch, self.groups_per_unit)
        return (*lowest, self.longest_s, self.memory_fraction)


def even_indices(count: int, wanted: int) -> tuple[int, ...]:
    """Return at most `wanted` evenly spaced indices below `count`: the first, the last, and others between these."""
    wanted = min(count, wanted)
    evenly = [*dict.fromkeys(round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted))]
    return (*evenly[:1], *evenly[1:][-1:], *evenly[1:-1])


SHORT_S = 0.02  # the longest run of short campaigns [s]
#: Every class with three variants from all over its list, in one shape, at three sizes, in two visits: about 35
#: seconds on two cores. docs/lab/choosing.md explains the choice.
QUICK = Campaign(
    "quick", variants=3, shapes=1, rungs=3, longest_s=SHORT_S, visits=2, most_visits=3, apart_s=2.0, enough_s=0.25,
)  # fmt: skip
#: Two sizes of three variants of each test kernel, to check the fit of a quick campaign against.
QUICK_CHECK = replace(QUICK, name="test", rungs=2, points=1, over_launch=1.5, longest_s=0.05)
#: The same with six variants, in three visits: about 100 seconds on two cores.
DEFAULT = replace(QUICK, name="default", variants=6, visits=3, most_visits=4)
FULL = Campaign("full")  #: Every variant in every shape, at all sizes of its ladder
#: Four sizes of each test kernel, to check a fitted model against.
CHECK = Campaign("check", shapes=1, rungs=4, least_rungs=4, over_launch=1.5, longest_s=0.1)
#: Three sizes of each test kernel, in two visits, to check the fit of a default campaign against.
BRIEF_CHECK = replace(CHECK, rungs=3, least_rungs=3, visits=2, most_visits=3, apart_s=2.0, enough_s=0.1)
#: Two sizes of each sample, in two visits: under a minute.
SAMPLES = Campaign(
    "samples", shapes=1, rungs=2, over_launch=1.5, groups_per_unit=0, longest_s=0.05, visits=2, most_visits=3,
    apart_s=2.0, runs=7, enough_s=0.02,
)  # fmt: skip
QUICK_SAMPLES = replace(SAMPLES, visits=1, most_visits=1)  #: The same in one visit

T = TypeVar("T")
Team: TypeAlias = tuple[Subject, ...]  #: Variants that are measured at the same sizes; mostly only one

SETUP_S = 0.02  #: Time of a visit without its runs, on a common machine [s]; the first visit of a variant takes longer


@dataclass(frozen=True)
class Configuration:
    """A variant at parameters, the time of one run when its sizes were chosen [s], and the key of its record."""

    subject: Subject
    parameters: Parameters
    seconds: float
    key: Key

    def expected_s(self, campaign: Campaign) -> float:
        """Return the expected time of a visit [s]."""
        return SETUP_S + campaign.visit_s(self.seconds)

    @property
    def name(self) -> tuple[str, str, str]:
        """Class, variant and sizes as text, to sort by."""
        return self.subject.kernel.name, canonical(self.subject.variant), canonical(self.parameters)


def in_turn(items: Iterable[T], owner: Callable[[T], Hashable]) -> list[T]:
    """Return the first item of each owner, then the second item of each, and so on."""
    seen: Counter[Hashable] = Counter()
    in_order: list[tuple[int, T]] = []
    for item in items:
        in_order.append((seen[owner(item)], item))
        seen[owner(item)] += 1
    return [item for _, item in sorted(in_order, key=lambda pair: pair[0])]


def teams(kernels: Iterable[KernelClass], campaign: Campaign, max_work_group_size: int) -> list[Team]:
    """Return the variants that need sizes, one of each class in turn. A ranked class has all variants in one team."""
    every: list[Team] = []
    for kernel in kernels:
        subjects = [Subject(kernel, v) for v in campaign.variants_of(kernel, max_work_group_size)]
        every.extend([tuple(subjects)] if kernel.ranked else [(subject,) for subject in subjects])
        brief = campaign.covering(kernel)
        every.extend((Subject(brief, v),) for v in brief.variants_on(max_work_group_size, shapes=1))
    return in_turn(every, lambda team: team[0].kernel.name)


def ordered(configurations: Iterable[Configuration], campaign: Campaign) -> list[Configuration]:
    """Shuffle by the campaign's seed, so that a drift of the times over the campaign is not correlated with a feature.

    With a budget, classes and their variants take turns. If the budget ends early, every class is measured in part.
    """
    shuffled = sorted(configurations, key=lambda configuration: configuration.name)
    random.Random(campaign.seed).shuffle(shuffled)
    if campaign.budget_s is None:
        return shuffled
    return in_turn(in_turn(shuffled, lambda c: c.name[:2]), lambda c: c.name[0])
