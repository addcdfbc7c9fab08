"""Size plans on disk, beside the store: a resumed campaign measures the same sizes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from perfmodel.documents import Schema, value_of
from perfmodel.errors import DocumentError
from perfmodel.measuring.bench import AnyBench
from perfmodel.measuring.order import Team
from perfmodel.measuring.size_plan import Plan
from perfmodel.store import append_line, canonical, paths, read_lines
from perfmodel.store.measurement import Seconds, Size

SCHEMA = "perfmodel.plan/2"
PLAN = Schema(SCHEMA, "'perfmodel measure' searches the sizes again")


@dataclass(frozen=True)
class StoredPlan:
    """A line of a file of plans: the sizes of a team, and the time of one run at each [s]."""

    schema: str
    key: str
    parameters: tuple[dict[str, Size], ...]
    seconds: tuple[Seconds, ...]


def plan_path(store: Path | str) -> Path:
    """File that holds the plans of a store."""
    rows, _ = paths(store)
    return rows.with_name(f"{rows.stem}.plan.jsonl")


def plan_key(bench: AnyBench, team: Team) -> str:
    """Key of a plan: the device, the code of the team, and the settings on which sizes depend."""
    facts = bench.device.facts
    device = [facts.name, facts.platform, facts.driver]
    members = [[subject.kernel.name, subject.variant, subject.hash] for subject in team]
    return canonical([device, members, bench.campaign.sizing])


def read_plans(path: Path) -> dict[str, Plan]:
    """Plans in a file, by key; none if there is no such file.

    Warns
    -----
    SetAsideWarning
        A line is no plan of this schema. It is left out, so that the sizes are searched again.
    """
    plans = read_lines(path, _read_plan, needed=False)[0] if path.is_file() else ()
    return {plan.key: Plan(plan.parameters, plan.seconds) for _, plan in plans}


def append_plan(path: Path, key: str, plan: Plan) -> None:
    """Add a plan to a file."""
    rows = [dict(point) for point in plan.parameters]
    append_line(path, {"schema": SCHEMA, "key": key, "parameters": rows, "seconds": plan.seconds})


def _read_plan(line: bytes) -> StoredPlan:
    plan = value_of(StoredPlan, line, PLAN)
    if len(plan.parameters) != len(plan.seconds):
        raise DocumentError(f"has {len(plan.parameters)} sizes and {len(plan.seconds)} times; each size has one")
    return plan
