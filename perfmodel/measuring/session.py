"""One campaign under way: sizes are chosen, configurations measured, everything recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic

from perfmodel import store
from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measuring.bench import Bench, FailedError, Subject
from perfmodel.measuring.order import Configuration, teams
from perfmodel.measuring.plan import Plan, PlanError, Team, plan
from perfmodel.measuring.plan_file import keep_plan, plan_key, plan_path, read_plans
from perfmodel.measuring.progress import Progress
from perfmodel.measuring.supervised import died, spent_s, under_way
from perfmodel.measuring.timekeeper import Timekeeper
from perfmodel.store import Key, Measurement

#: What is known of a configuration that has not ended.
NO_END = FailedError("runtime", "")

Enough = Callable[[Sequence[Configuration]], bool]


@dataclass(eq=False)
class Session:
    """What one call of :func:`perfmodel.measuring.run` knows.

    Parameters
    ----------
    bench : Bench
        The device and how to measure on it.
    path : Path
        The store.
    progress : Progress
        Told of each step.
    timekeeper : Timekeeper
        Measures one configuration.
    done : set
        Keys of the records in the store.
    deaths : dict
        Those among them whose configuration killed its process, by key.
    """

    bench: Bench
    path: Path
    progress: Progress
    timekeeper: Timekeeper
    done: set[Key]
    deaths: dict[Key, Measurement] = field(default_factory=dict)
    began_s: float = field(default_factory=lambda: monotonic() - spent_s())

    @classmethod
    def begun(cls, bench: Bench, path: Path, progress: Progress) -> Session:
        """Start where the store stands, on a device that is seen to run something."""
        rows = store.read(path).rows
        deaths = {row.key: row for row in rows if died(row)}
        timekeeper = Timekeeper(bench, bench.launch_overhead())
        return cls(bench, path, progress, timekeeper, {row.key for row in rows}, deaths)

    @property
    def left_s(self) -> float:
        """What is left of the budget [s]."""
        budget = self.bench.campaign.budget_s
        return float("inf") if budget is None else budget - (monotonic() - self.began_s)

    def planned(self, kernels: Iterable[KernelClass], enough: Enough) -> tuple[list[Configuration], list[Team]]:
        """Every configuration, those done before too, until they are enough; variants left out."""
        limit = self.bench.fact("max_work_group_size")
        waiting = teams(kernels, self.bench.campaign, limit)
        plans = read_plans(plan_path(self.path))
        configurations: list[Configuration] = []
        self.progress.start("choosing sizes", len(waiting))
        try:
            while waiting and not enough(configurations):
                team = waiting.pop(0)
                configurations.extend(self._planned(team, plans))
                self.progress.advance(team[0].kernel.name)
        finally:
            self.progress.stop()
        return configurations, waiting

    def fills_the_budget(self, configurations: Sequence[Configuration]) -> bool:
        """Whether what is not done of these takes all of the time that is left."""
        if self.bench.campaign.budget_s is None:
            return False
        return self._expected_s(self.todo(configurations)) >= self.left_s

    def todo(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Those that the store does not hold yet."""
        return [c for c in configurations if c.key not in self.done]

    def measure(
        self, order: Sequence[Configuration], only: Collection[Key] | None = None
    ) -> list[Configuration]:
        """Measure and record what is not done yet, or `only` that of it; give what the budget leaves out."""
        places = {configuration.key: place for place, configuration in enumerate(order)}
        todo = [c for c in self.todo(order) if only is None or c.key in only]
        self.progress.start("measuring", len(todo), self._expected_s(todo))
        try:
            while todo and self.left_s > 0:
                configuration = todo.pop(0)
                ending = partial(self.timekeeper.failed, configuration.subject, NO_END, configuration.parameters)
                with under_way(self.path, ending):
                    row = self.timekeeper.measured(configuration, places[configuration.key])
                store.append(self.path, row, self.timekeeper.counted.get(row.kernel_hash))
                said = "" if row.status == "ok" else f": {row.status} ({row.message})"
                self.progress.advance(f"{row.kernel}{said}", self._expected_s([configuration]))
        finally:
            self.progress.stop()
        return todo

    def _planned(self, team: Team, plans: dict[str, Plan]) -> list[Configuration]:
        """Find sizes for the team; who fails is recorded, and the others start again."""
        while team:
            key = plan_key(self.bench, team)
            try:
                if key not in plans:
                    if deadly := self._deadly(team):
                        raise PlanError(*deadly)
                    overhead_s = self.timekeeper.overhead_s
                    plans[key] = plan(self.bench, team, self.timekeeper.count, overhead_s, self._trial)
                    keep_plan(plan_path(self.path), key, plans[key])
            except PlanError as error:
                failed = self.timekeeper.failed(error.subject, error.failure)
                if failed.key not in self.done:
                    store.append(self.path, failed)
                self.progress.tell(f"{failed.kernel}: {failed.status} ({failed.message})")
                team = tuple(subject for subject in team if subject is not error.subject)
                continue
            sized = zip(plans[key].parameters, plans[key].seconds, strict=True)
            make = self.timekeeper.configuration
            return [make(subject, point, seconds) for point, seconds in sized for subject in team]
        return []

    def _trial(self, subject: Subject, parameters: Parameters) -> float:
        with under_way(self.path, partial(self.timekeeper.failed, subject, NO_END)):
            return self.bench.trial(subject, parameters)

    def _deadly(self, team: Team) -> tuple[Subject, FailedError] | None:
        """Who of the team killed its process while sizes were chosen, and how."""
        records = ((subject, self.deaths.get(self.timekeeper.failed(subject, NO_END).key)) for subject in team)
        return next(((s, FailedError("runtime", row.message)) for s, row in records if row), None)

    def _expected_s(self, configurations: Iterable[Configuration]) -> float:
        return sum(c.expected_s(self.bench.campaign) for c in configurations)
