"""Settings of a campaign, and the campaigns that the project offers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from perfmodel.kernels import KernelClass, Variant


@dataclass(frozen=True)
class Campaign:
    """Settings of a campaign: what is measured, at which sizes, and how often.

    Parameters
    ----------
    name : str
        Its name in reports.
    tags : tuple of str
        Only classes with one of these tags are measured; all of them if empty.
    variants : int or None
        Number of variants of each class, from the first; None for all.
    shapes : int
        Work-group shapes of each variant (paper: 3).
    rungs : int or None
        Rungs of each size ladder; None for as many as its class has.
    points : int or None
        Parameter sets of each rung; None for all.
    least_rungs : int
        So many rungs are measured even if they take longer than `longest_s`.
    over_launch : float
        The lowest rung takes at least this many launch overheads [1].
    groups_per_unit : int
        The lowest rung has at least this many work-groups for each compute unit [1].
    longest_s : float
        No run is planned to take longer [s].
    memory_fraction : float
        Share of the device's memory that a configuration may fill [1].
    visits, most_visits : int
        Visits to each configuration, and to one whose two lowest visits do not agree.
    apart_s : float
        Least time between two visits to a configuration [s].
    runs, dropped : int
        Runs of each visit, and how many of the first are dropped (paper: one visit of 30, 4 of them dropped).
    spread : float
        A visit whose median is further above its minimum is flagged [1].
    timeout_s : float
        No further run is begun once the runs of a visit took this long together [s].
    brief_above_s : float
        A visit ends after one run more than those that are dropped if all of them took longer than this [s]: such a
        kernel is of no interest, and its time need not be exact.
    budget_s : float or None
        No visit is begun later than this after the start [s]; None for no limit.
    wait_s : float
        How long to wait for another campaign on the device to end [s].
    seed : int
        Seed of the order of configurations and of the arrays' contents.
    """

    name: str
    tags: tuple[str, ...] = ()
    variants: int | None = None
    shapes: int = 3
    rungs: int | None = None
    points: int | None = None
    least_rungs: int = 1
    over_launch: float = 3.0
    groups_per_unit: int = 2
    longest_s: float = 0.05
    memory_fraction: float = 0.25
    visits: int = 3
    most_visits: int = 8
    apart_s: float = 10.0
    runs: int = 10
    dropped: int = 2
    spread: float = 0.2
    timeout_s: float = 20.0
    brief_above_s: float = float("inf")
    budget_s: float | None = None
    wait_s: float = 3600.0
    seed: int = 20170405

    def chosen(self, kernel_classes: Iterable[KernelClass]) -> tuple[KernelClass, ...]:
        """Those of the classes that it measures."""
        wanted = set(self.tags)
        return tuple(kernel for kernel in kernel_classes if not wanted or wanted & set(kernel.tags))

    def variants_of(self, kernel: KernelClass, max_work_group_size: int) -> tuple[Variant, ...]:
        """Variants of a class that it measures, on a device with this limit [work-items]."""
        capped = replace(kernel, variants=kernel.variants[: self.variants])
        return capped.variants_on(max_work_group_size, self.shapes)

    @property
    def sizing(self) -> tuple[float | None, ...]:
        """The settings that the choice of sizes depends on."""
        return (
            self.rungs,
            self.points,
            self.least_rungs,
            self.over_launch,
            self.groups_per_unit,
            self.longest_s,
            self.memory_fraction,
        )


#: The longest run of campaigns that are to be short [s].
SHORT_S = 0.02

#: The paper's classes in one work-group shape and short runs: under 60 seconds on two cores.
QUICK = Campaign("quick", tags=("paper",), shapes=1, rungs=4, longest_s=SHORT_S, apart_s=2.0)

#: The paper's test kernels at four sizes each, to check the fit of a quick campaign against.
QUICK_CHECK = replace(QUICK, name="test", points=1, longest_s=0.2)

#: Every class with its first variants in one shape and three sizes: under 8 minutes on two cores.
DEFAULT = Campaign("default", variants=8, shapes=1, rungs=3, longest_s=SHORT_S)

#: Every variant in every shape and at all sizes of its ladder.
FULL = Campaign("full")

#: Four sizes of each test kernel, to check a fitted model against.
CHECK = Campaign("check", shapes=1, rungs=4, least_rungs=4, over_launch=1.5, longest_s=0.1)
