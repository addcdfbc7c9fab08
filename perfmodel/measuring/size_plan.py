"""The sizes at which variants are measured. Trial runs find these sizes, and a file next to the store keeps them.

A *ladder* has sets of sizes from small to large. Each set is a *rung*.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TypeVar

from perfmodel.documents import Schema, canonical, value_of
from perfmodel.errors import DocumentError
from perfmodel.kernels import Ladder, Parameters
from perfmodel.measuring.bench import Bench, Timekeeper
from perfmodel.measuring.campaign import Campaign, Team
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.store import Measurement, append_line, paths, read_lines
from perfmodel.store.measurement import Seconds, Size

T = TypeVar("T")


class Trial(NamedTuple):
    """Time of the slowest variant in trial runs at one set of sizes [s], and whether these sizes suffice."""

    slowest_s: float
    suffices: bool


Rung = list[tuple[Parameters, Trial]]  # the parameter sets of one rung with their trials


def search_sizes(
    sizes: Ladder, run_trial: Callable[[Parameters], Trial], fits: Callable[[Parameters], bool], campaign: Campaign
) -> tuple[Parameters, ...]:
    """Choose parameter sets from small to large (Stevens and Klöckner 2016, section 4.2).

    The lowest rung is the first at which all trials suffice. From there the search takes each rung. The search ends if
    enough rungs are found, if the next rung does not fit into memory, or if a run takes longer than the campaign
    allows. The last case includes the expected next run, because a step at least doubles the time. The first
    `campaign.least_rungs` rungs are taken even if they take longer. If no rung suffices, the search takes only the
    largest rung that fits and is short enough.
    """
    wanted = min(sizes.rungs, campaign.rungs or sizes.rungs)
    taken: list[Rung] = []
    largest: Rung = []
    exponent = sizes.start
    while len(taken) < wanted and (rung := _try_rung(sizes, exponent, run_trial, fits, campaign)):
        slowest_s = max(trial.slowest_s for _, trial in rung)
        owed = taken and len(taken) < campaign.least_rungs
        if slowest_s > campaign.longest_s and largest and not owed:
            break
        largest, step = rung, 1
        if all(trial.suffices for _, trial in rung):
            taken.append(rung)
            step = sizes.step
        if slowest_s * 2**step > campaign.longest_s and len(taken) >= campaign.least_rungs:
            break
        exponent += step
    return tuple(point for rung in taken or [largest] for point, _ in rung)


def _try_rung(
    sizes: Ladder, exponent: int, run_trial: Callable[[Parameters], Trial], fits: Callable[[Parameters], bool],
    campaign: Campaign,
) -> Rung:  # fmt: skip
    """Run trials at a rung (of a sorted rung, only at the longest short sets). Return none if a set does not fit."""
    rung: Rung = []
    for point in sizes.at(exponent)[: campaign.points]:
        if not fits(point):
            return []
        trial = run_trial(point)
        if sizes.longest and rung and trial.slowest_s > campaign.longest_s:
            break
        rung.append((point, trial))
    return rung[-sizes.longest :] if sizes.longest else rung


SCHEMA = "perfmodel.plan/2"
PLAN = Schema(SCHEMA, "'perfmodel measure' searches the sizes again")


@dataclass(frozen=True)
class Plan:
    """A line of a file: sets of sizes to measure, each with the time of one run [s] averaged over the team."""

    parameters: tuple[dict[str, Size], ...]
    seconds: tuple[Seconds, ...]
    key: str = field(default="", compare=False)
    alike: str = field(default="", compare=False)  # the key by the counts of the team, which other code may have too
    schema: str = field(default=SCHEMA, compare=False)


class PlanError(Exception):
    """A variant failed while its sizes were chosen. The store may have the record. The error stays in this package."""

    def __init__(self, subject: Subject, failure: FailedError, record: Measurement | None = None) -> None:
        self.subject, self.failure, self.record = subject, failure, record
        super().__init__(failure.message)


def plan_sizes(timekeeper: Timekeeper, team: Team, time: Callable[[Subject, Parameters], float] | None = None) -> Plan:
    """Choose the parameter sets at which to measure all of `team`, the variants of one class, or raise PlanError.

    Sizes suffice if the quickest run takes several launch overheads and each compute unit has enough work-groups.
    `time` gives the time of a trial run [s], by default with :meth:`Bench.trial`.
    """
    bench, kernel, seen = timekeeper.bench, team[0].kernel, {}
    campaign, time = bench.campaign, time or bench.trial
    least_s, least_groups = campaign.over_launch * timekeeper.overhead_s, campaign.groups_per_unit
    if "overhead" in kernel.tags:
        least_s, least_groups = 0.0, 0

    def run_trial(parameters: Parameters) -> Trial:
        groups = min(naming(s, lambda s: timekeeper.work_groups(s, parameters)) for s in team)
        seconds = [naming(s, lambda s: time(s, parameters)) for s in team]
        seen[canonical(parameters)] = fmean(seconds)
        suffices = min(seconds) >= least_s and groups >= least_groups * bench.fact("compute_units")
        return Trial(max(seconds), suffices)

    def fits(parameters: Parameters) -> bool:
        return all(naming(s, lambda s: bench.fits(s, parameters)) for s in team)

    points = search_sizes(kernel.sizes, run_trial, fits, campaign)
    if not points:
        share = f"{campaign.memory_fraction:.0%} of its {bench.fact('global_memory_bytes') / 1e6:.0f} MB"
        message = f"no size of its ladder fits into the memory that the device offers ({share})"
        raise PlanError(team[0], FailedError("constraint", message))
    return Plan(tuple(map(dict, points)), tuple(seen[canonical(point)] for point in points))


def naming(subject: Subject, ask: Callable[[Subject], T]) -> T:
    """Return an answer about a variant. Raise PlanError if the variant fails."""
    try:
        return ask(subject)
    except FailedError as failure:
        raise PlanError(subject, failure) from failure


def plan_path(store: Path | str) -> Path:
    """Return the file that holds the plans of a store."""
    rows, _ = paths(store)
    return rows.with_name(f"{rows.stem}.plan.jsonl")


def plan_key(bench: Bench, team: Team, hashes: Sequence[str] = ()) -> str:
    """Return the key of a plan: device, code of the team or hashes of its counts, and the settings for sizes."""
    facts = bench.device.facts
    members = [
        [s.kernel.name, s.variant, code, *([1] if s.kernel.sizes.rungs == 1 else [])]
        for s, code in zip(team, hashes or [subject.hash for subject in team], strict=True)
    ]
    return canonical([[facts.name, facts.platform, facts.driver], members, bench.campaign.sizing])


def read_plans(path: Path) -> dict[str, Plan]:
    """Return the plans in a file by their keys. Damaged lines are left out, and their sizes searched again."""
    plans = read_lines(path, _read_plan, needed=False)[0] if path.is_file() else ()
    return {key: plan for _, plan in plans for key in (plan.alike, plan.key) if key}


def append_plan(path: Path, key: str, plan: Plan, alike: str = "") -> None:
    """Add a plan to a file."""
    rows = [dict(point) for point in plan.parameters]
    append_line(path, {"schema": SCHEMA, "key": key, "parameters": rows, "seconds": plan.seconds, "alike": alike})


def _read_plan(line: bytes) -> Plan:
    plan = value_of(Plan, line, PLAN)
    if len(plan.parameters) != len(plan.seconds):
        raise DocumentError(f"has {len(plan.parameters)} sizes and {len(plan.seconds)} times; each size has one")
    return plan
