"""The sizes at which a variant, or ranked variants of a class, are measured: found by trial runs, kept in a file.

The file is next to the store, so that a resumed campaign measures the same sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, TypeVar

from perfmodel.documents import Schema, value_of
from perfmodel.errors import DocumentError
from perfmodel.kernels import Ladder, Parameters
from perfmodel.measuring.bench import Bench, Timekeeper
from perfmodel.measuring.campaign import Campaign, Team
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.store import Measurement, append_line, canonical, paths, read_lines
from perfmodel.store.measurement import Seconds, Size


@dataclass(frozen=True)
class Trial:
    """Trial runs at one set of sizes: the time of each variant [s], and the fewest work-groups."""

    seconds: tuple[float, ...]
    groups: int


@dataclass(frozen=True)
class Least:
    """Minimum of the lowest rung: time of its quickest run [s], and number of work-groups."""

    seconds: float = 0.0
    groups: int = 0


@dataclass(frozen=True)
class Rung:
    """The parameter sets of one rung, and what trial runs at each show."""

    points: tuple[Parameters, ...]
    trials: tuple[Trial, ...]

    @property
    def slowest_s(self) -> float:
        """Time of its slowest run [s]."""
        return max(max(trial.seconds) for trial in self.trials)

    def reaches(self, least: Least) -> bool:
        """Whether all of its runs are long enough and have enough work-groups."""
        return all(min(trial.seconds) >= least.seconds and trial.groups >= least.groups for trial in self.trials)


def search_sizes(
    sizes: Ladder,
    run_trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    least: Least,
    campaign: Campaign,
) -> tuple[Parameters, ...]:
    """Choose parameter sets from small to large (paper, section 4.2).

    The search tries one exponent after another until a rung reaches `least`, which is the lowest rung taken. From there
    it goes up in the ladder's own steps and takes each rung. It ends when it has as many rungs as wanted, when the next
    one does not fit into memory, and when a run takes longer than the campaign allows or, since a step up at least
    doubles the time, would do so. The first `campaign.least_rungs` rungs are taken even if they take longer. If no rung
    reaches `least`, the largest that fits and is short enough is taken alone.
    """
    wanted = min(sizes.rungs, campaign.rungs or sizes.rungs)
    taken: list[Rung] = []
    largest: Rung | None = None
    exponent = sizes.start
    while len(taken) < wanted and (rung := _try_rung(sizes, exponent, run_trial, fits, campaign)):
        owed = taken and len(taken) < campaign.least_rungs
        if rung.slowest_s > campaign.longest_s and largest and not owed:
            break
        largest, step = rung, 1
        if rung.reaches(least):
            taken.append(rung)
            step = sizes.step
        if rung.slowest_s * 2**step > campaign.longest_s and len(taken) >= campaign.least_rungs:
            break
        exponent += step
    chosen = taken or ([largest] if largest else [])
    return tuple(point for rung in chosen for point in rung.points)


def _try_rung(
    sizes: Ladder,
    exponent: int,
    run_trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    campaign: Campaign,
) -> Rung | None:
    """Run trials at the parameter sets of one rung; None if one of them does not fit into memory.

    Where the ladder orders a rung by time, only its `longest` sets that are short enough are kept.
    """
    points: list[Parameters] = []
    trials: list[Trial] = []
    for point in sizes.at(exponent)[: campaign.points]:
        if not fits(point):
            return None
        trial = run_trial(point)
        if sizes.longest and points and max(trial.seconds) > campaign.longest_s:
            break
        points.append(point)
        trials.append(trial)
    kept = slice(-sizes.longest if sizes.longest else 0, None)
    return Rung(tuple(points[kept]), tuple(trials[kept])) if points else None


T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """Sets of sizes to measure, and the time of one run of each, averaged over the team [s]."""

    parameters: tuple[Parameters, ...]
    seconds: tuple[float, ...]


class PlanError(Exception):
    """A variant failed while its sizes were chosen; the store may have the record. It never leaves this package."""

    def __init__(self, subject: Subject, failure: FailedError, record: Measurement | None = None) -> None:
        self.subject = subject
        self.failure = failure
        self.record = record
        super().__init__(failure.message)


def plan_sizes(timekeeper: Timekeeper, team: Team, time: Callable[[Subject, Parameters], float] | None = None) -> Plan:
    """Choose the parameter sets at which to measure all of `team`, the variants of one class, or raise PlanError.

    `time` gives the time of a trial run [s]; by default the bench does (:meth:`Bench.trial`).
    """
    bench, kernel, seen = timekeeper.bench, team[0].kernel, {}
    campaign, time = bench.campaign, time or bench.trial

    def run_trial(parameters: Parameters) -> Trial:
        groups = [_naming(s, lambda s: timekeeper.work_groups(s, parameters)) for s in team]
        seconds = tuple(_naming(s, lambda s: time(s, parameters)) for s in team)
        seen[canonical(parameters)] = fmean(seconds)
        return Trial(seconds, min(groups))

    def fits(parameters: Parameters) -> bool:
        return all(_naming(s, lambda s: bench.fits(s, parameters)) for s in team)

    groups = campaign.groups_per_unit * bench.fact("compute_units")
    least = Least() if "overhead" in kernel.tags else Least(campaign.over_launch * timekeeper.overhead_s, groups)
    points = search_sizes(kernel.sizes, run_trial, fits, least, campaign)
    if not points:
        share = f"{campaign.memory_fraction:.0%} of its {bench.fact('global_memory_bytes') / 1e6:.0f} MB"
        message = f"no size of its ladder fits into the memory that the device offers ({share})"
        raise PlanError(team[0], FailedError("constraint", message))
    return Plan(points, tuple(seen[canonical(point)] for point in points))


def _naming(subject: Subject, ask: Callable[[Subject], T]) -> T:
    """Call `ask`; a failure names the subject."""
    try:
        return ask(subject)
    except FailedError as failure:
        raise PlanError(subject, failure) from failure


SCHEMA = "perfmodel.plan/2"
PLAN = Schema(SCHEMA, "'perfmodel measure' searches the sizes again")


@dataclass(frozen=True)
class StoredPlan:
    """A line of a file of plans: the sizes of a team, and the time of one run at each [s]."""

    schema: str
    key: str
    parameters: tuple[dict[str, Size], ...]
    seconds: tuple[Seconds, ...]
    alike: str = ""  # the key by the counts of the team, which other code may have too


def plan_path(store: Path | str) -> Path:
    """File that holds the plans of a store."""
    rows, _ = paths(store)
    return rows.with_name(f"{rows.stem}.plan.jsonl")


def plan_key(bench: Bench, team: Team, hashes: Sequence[str] = ()) -> str:
    """Key of a plan: the device, the team's code or the hashes of its counts, and what sizes depend on in settings."""
    facts = bench.device.facts
    device = [facts.name, facts.platform, facts.driver]
    hashes = hashes or [subject.hash for subject in team]
    members = [
        [s.kernel.name, s.variant, code, *([1] if s.kernel.sizes.rungs == 1 else [])]
        for s, code in zip(team, hashes, strict=True)
    ]
    return canonical([device, members, bench.campaign.sizing])


def read_plans(path: Path, by: Literal["key", "alike"] = "key") -> dict[str, Plan]:
    """Plans in a file, by one of their keys.

    A damaged line is left out with a SetAsideWarning; its sizes are searched again.
    """
    plans = read_lines(path, _read_plan, needed=False)[0] if path.is_file() else ()
    return {getattr(plan, by): Plan(plan.parameters, plan.seconds) for _, plan in plans}


def append_plan(path: Path, key: str, plan: Plan, alike: str = "") -> None:
    """Add a plan to a file."""
    rows = [dict(point) for point in plan.parameters]
    append_line(path, {"schema": SCHEMA, "key": key, "parameters": rows, "seconds": plan.seconds, "alike": alike})


def _read_plan(line: bytes) -> StoredPlan:
    plan = value_of(StoredPlan, line, PLAN)
    if len(plan.parameters) != len(plan.seconds):
        raise DocumentError(f"has {len(plan.parameters)} sizes and {len(plan.seconds)} times; each size has one")
    return plan
