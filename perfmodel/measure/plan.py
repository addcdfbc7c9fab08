"""Sizes to measure: each ladder starts where runs stand out from the launch overhead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.kernels import Ladder, Parameters
from perfmodel.measure.bench import Bench, Subject, stage
from perfmodel.measure.campaign import Campaign
from perfmodel.store import append_line, canonical, paths, read_lines

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

SCHEMA = "perfmodel.plan/1"


@dataclass(frozen=True)
class Trial:
    """What a first look at a configuration shows: its time [s] and work-groups."""

    seconds: float
    groups: int


@dataclass(frozen=True)
class Least:
    """What the lowest rung must reach: time of its quickest run [s], and work-groups."""

    seconds: float = 0.0
    groups: int = 0


def ladder(
    sizes: Ladder,
    trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    least: Least,
    campaign: Campaign,
) -> tuple[Parameters, ...]:
    """Parameter sets from small to large (paper, section 4.2).

    The lowest rung is the first that reaches `least`; rungs follow while they fit into
    memory and no run takes longer than the campaign allows.  If none qualifies, the
    largest that fits and is short enough is all there is.

    Parameters
    ----------
    sizes : Ladder
        The class's ladder.
    trial : callable
        First look at parameters.
    fits : callable
        Whether parameters fit into the device's memory.
    least : Least
        What the lowest rung must reach.
    campaign : Campaign
        Number of rungs and longest run.
    """
    wanted = min(sizes.rungs, campaign.rungs or sizes.rungs)
    chosen: list[tuple[Parameters, ...]] = []
    fallback: tuple[Parameters, ...] = ()
    exponent = sizes.start
    while len(chosen) < wanted:
        rung = _rung(sizes, exponent, trial, fits, campaign)
        if not rung:
            break
        slowest = max(seen.seconds for _, seen in rung)
        owed = len(chosen) < campaign.least_rungs
        if slowest > campaign.longest_s and fallback and not (owed and chosen):
            break
        fallback = tuple(point for point, _ in rung)
        tall = all(seen.seconds >= least.seconds and seen.groups >= least.groups for _, seen in rung)
        if tall:
            chosen.append(fallback)
        step = sizes.step if tall else 1
        if slowest * 2**step > campaign.longest_s and len(chosen) >= campaign.least_rungs:
            break
        exponent += step
    return tuple(point for points in chosen or [fallback] for point in points)


def _rung(
    sizes: Ladder,
    exponent: int,
    trial: Callable[[Parameters], Trial],
    fits: Callable[[Parameters], bool],
    campaign: Campaign,
) -> list[tuple[Parameters, Trial]]:
    """Parameter sets of one rung with what a trial of each showed; none if one is too big."""
    seen: list[tuple[Parameters, Trial]] = []
    for point in sizes.at(exponent)[: campaign.points]:
        if not fits(point):
            return []
        shown = trial(point)
        if sizes.longest and seen and shown.seconds > campaign.longest_s:
            break
        seen.append((point, shown))
    return seen[-sizes.longest :] if sizes.longest else seen


def plan(bench: Bench, subject: Subject, counts: KernelCounts, overhead_s: float) -> tuple[Parameters, ...]:
    """Parameter sets at which to measure `subject`."""
    campaign = bench.campaign

    def trial(parameters: Parameters) -> Trial:
        groups = work_groups(counts, parameters)
        return Trial(bench.trial(subject, parameters), groups)

    groups = campaign.groups_per_unit * bench.fact("compute_units")
    stands_out = Least(campaign.over_launch * overhead_s, groups)
    return ladder(
        subject.kernel.sizes,
        trial,
        lambda parameters: bench.fits(subject, parameters),
        Least() if "overhead" in subject.kernel.tags else stands_out,
        campaign,
    )


def work_groups(counts: KernelCounts, parameters: Parameters) -> int:
    """Work-groups of a launch; fails where the kernel's assumptions do not hold.

    Code generated under an assumption has no guard against what it rules out, so such
    parameters must not reach the device.
    """
    with stage("constraint"):
        return int(counts.work_groups()(**parameters))


def plan_path(store: Path | str) -> Path:
    """File that keeps the plans, so that a resumed campaign measures the same sizes."""
    rows, _ = paths(store)
    return rows.with_name(f"{rows.stem}.plan.jsonl")


def plan_key(bench: Bench, subject: Subject) -> str:
    """Name what a plan was made for: code, device and settings."""
    facts = bench.device.facts
    device = [facts.name, facts.platform, facts.driver]
    settings = asdict(bench.campaign)
    return canonical([device, subject.kernel.name, subject.variant, subject.hash, settings])


def read_plans(path: Path) -> dict[str, tuple[Parameters, ...]]:
    """Plans kept so far, by their key."""
    if not path.is_file():
        return {}
    documents: tuple[tuple[int, Any], ...] = read_lines(path)[0]
    known = (document for _, document in documents if document.get("schema") == SCHEMA)
    return {document["key"]: tuple(document["parameters"]) for document in known}


def keep_plan(path: Path, key: str, parameters: tuple[Parameters, ...]) -> None:
    """Add a plan."""
    rows = [dict(point) for point in parameters]
    append_line(path, {"schema": SCHEMA, "key": key, "parameters": rows})
