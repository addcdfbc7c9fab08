"""The configurations of a campaign: sizes are chosen for every variant, and variants that fail are recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeAlias

from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measuring.order import Configuration, Team, teams
from perfmodel.measuring.progress import task
from perfmodel.measuring.session import NO_END, Session
from perfmodel.measuring.size_plan import Plan, PlanError, plan_sizes
from perfmodel.measuring.size_plan_file import append_plan, plan_key, plan_path, read_plans
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.measuring.supervised import under_way
from perfmodel.store import Measurement

#: Whether the configurations planned so far suffice.
Enough: TypeAlias = Callable[[Sequence[Configuration]], bool]


def plan_configurations(
    session: Session, kernels: Iterable[KernelClass], enough: Enough
) -> tuple[list[Configuration], list[Team]]:
    """Plan configurations until there are enough, those that were measured before included.

    Returns
    -------
    (list of Configuration, list of Team)
        The configurations, and the variants that are left without sizes.
    """
    waiting = teams(kernels, session.bench.campaign, session.bench.fact("max_work_group_size"))
    plans = read_plans(plan_path(session.path))
    configurations: list[Configuration] = []
    with task(session.progress, "choosing sizes", len(waiting)):
        while waiting and not enough(configurations):
            team = waiting.pop(0)
            configurations.extend(_plan_team(session, team, plans))
            session.progress.advance(team[0].kernel.name)
    return configurations, waiting


def _plan_team(session: Session, team: Team, plans: dict[str, Plan]) -> list[Configuration]:
    """Choose sizes for the team; a variant that fails is recorded, and the others start again without it."""
    while team:
        try:
            for subject in team:
                _build(session, subject)
            plan = _plan(session, team, plans)
        except PlanError as error:
            _record_failure(session, error)
            team = tuple(subject for subject in team if subject is not error.subject)
            continue
        sized = zip(plan.parameters, plan.seconds, strict=True)
        make = session.timekeeper.configuration
        return [make(subject, point, seconds) for point, seconds in sized for subject in team]
    return []


def _build(session: Session, subject: Subject) -> None:
    """Generate the code, which may fail; a supervisor learns whose it is, by a record without the code's hash."""
    unbuilt = session.timekeeper.failed(subject.unbuilt, NO_END)
    _pass_over_the_dead(session, subject, unbuilt)
    with under_way(session.path, lambda: unbuilt):
        subject.hash  # noqa: B018 -- generates the code here; what fails is found again where it has its status


def _pass_over_the_dead(session: Session, subject: Subject, record: Measurement) -> None:
    if death := session.deaths.get(record.key):
        raise PlanError(subject, FailedError("runtime", death.message), death)


def _plan(session: Session, team: Team, plans: dict[str, Plan]) -> Plan:
    """Take the team's plan from the file, or make it and append it to the file."""
    key, timekeeper = plan_key(session.bench, team), session.timekeeper
    if key not in plans:
        for subject in team:
            _count(session, subject)
        plans[key] = plan_sizes(timekeeper, team, partial(_time, session))
        append_plan(plan_path(session.path), key, plans[key])
    return plans[key]


def _count(session: Session, subject: Subject) -> None:
    """Count the variant, unless its process died earlier; a supervisor learns which variant it is of."""
    record = session.timekeeper.failed(subject, NO_END)
    _pass_over_the_dead(session, subject, record)
    with under_way(session.path, lambda: record):
        try:
            session.timekeeper.count(subject)
        except FailedError as failure:
            raise PlanError(subject, failure) from failure


def _time(session: Session, subject: Subject, parameters: Parameters) -> float:
    """Time a trial run [s]; a supervisor learns which variant it is of."""
    with under_way(session.path, partial(session.timekeeper.failed, subject, NO_END)):
        return session.bench.trial(subject, parameters)


def _record_failure(session: Session, error: PlanError) -> None:
    failed = error.record or session.timekeeper.failed(error.subject, error.failure)
    if failed.key not in session.rows:
        session.record(failed)
    session.progress.tell(f"{failed.kernel}: {failed.status} ({failed.message})")
