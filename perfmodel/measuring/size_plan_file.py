"""Size plans on disk, beside the store: a resumed campaign measures the same sizes."""

from __future__ import annotations

from pathlib import Path

from perfmodel.measuring.bench import Bench
from perfmodel.measuring.order import Team
from perfmodel.measuring.size_plan import Plan
from perfmodel.store import append_line, canonical, paths, read_lines

SCHEMA = "perfmodel.plan/2"


def plan_path(store: Path | str) -> Path:
    """File that holds the plans of a store."""
    rows, _ = paths(store)
    return rows.with_name(f"{rows.stem}.plan.jsonl")


def plan_key(bench: Bench, team: Team) -> str:
    """Key of a plan: the device, the code of the team, and the settings on which sizes depend."""
    facts = bench.device.facts
    device = [facts.name, facts.platform, facts.driver]
    members = [[subject.kernel.name, subject.variant, subject.hash] for subject in team]
    return canonical([device, members, bench.campaign.sizing])


def read_plans(path: Path) -> dict[str, Plan]:
    """Plans in a file, by key; none if there is no such file."""
    if not path.is_file():
        return {}
    known = (document for _, document in read_lines(path)[0] if document.get("schema") == SCHEMA)
    return {d["key"]: Plan(tuple(d["parameters"]), tuple(d["seconds"])) for d in known}


def append_plan(path: Path, key: str, plan: Plan) -> None:
    """Add a plan to a file."""
    rows = [dict(point) for point in plan.parameters]
    append_line(path, {"schema": SCHEMA, "key": key, "parameters": rows, "seconds": plan.seconds})
