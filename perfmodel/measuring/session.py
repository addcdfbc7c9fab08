"""One campaign under way: what its store holds already, what is left of the budget, and measuring the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from time import monotonic

from perfmodel import store
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.order import Configuration
from perfmodel.measuring.progress import Progress, task
from perfmodel.measuring.record import outcome
from perfmodel.measuring.subject import FailedError
from perfmodel.measuring.supervised import died, spent_s, under_way
from perfmodel.measuring.timekeeper import Timekeeper
from perfmodel.store import Key, Measurement

#: Stands for the failure of a configuration that has not ended: a supervisor adds what happened.
NO_END = FailedError("runtime", "")


@dataclass(eq=False)
class Session:
    """What one call of :func:`perfmodel.measuring.measure` knows.

    Parameters
    ----------
    bench : Bench
        The opened device, and the campaign's settings.
    path : Path
        The store.
    progress : Progress
        It is informed of each step.
    timekeeper : Timekeeper
        Measures one configuration.
    done : set
        Keys of the records in the store.
    deaths : dict
        By key, those records whose configuration ended its process.  Of those without code only the ones of this
        campaign: what crashed while it was built may have been mended since.
    began_s : float
        Start of the campaign on this process's clock, the time of earlier processes included [s].
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
        """Start with what the store holds; the launch overhead shows whether the device runs anything."""
        rows, began = store.read(path).rows, datetime.now(timezone.utc) - timedelta(seconds=spent_s() + 1)
        deaths = {row.key: row for row in rows if died(row) and (row.kernel_hash or _is_since(began, row))}
        timekeeper = Timekeeper(bench, bench.launch_overhead())
        return cls(bench, path, progress, timekeeper, {row.key for row in rows}, deaths)

    @property
    def left_s(self) -> float:
        """What is left of the budget [s]."""
        budget = self.bench.campaign.budget_s
        return float("inf") if budget is None else budget - (monotonic() - self.began_s)

    def fills_the_budget(self, configurations: Sequence[Configuration]) -> bool:
        """Whether those that are not in the store yet take all of the time that is left."""
        if self.bench.campaign.budget_s is None:
            return False
        return self._expected_s(self.todo(configurations)) >= self.left_s

    def todo(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Those that the store does not hold yet."""
        return [c for c in configurations if c.key not in self.done]

    def measure(self, order: Sequence[Configuration], only: Collection[Key] | None = None) -> list[Configuration]:
        """Measure and record what is not in the store yet.

        Parameters
        ----------
        order : sequence of Configuration
            The whole campaign, in its order.
        only : collection of Key, optional
            Leave out all others.

        Returns
        -------
        list of Configuration
            Those for which the budget does not suffice.
        """
        places = {configuration.key: place for place, configuration in enumerate(order)}
        todo = [c for c in self.todo(order) if only is None or c.key in only]
        with task(self.progress, "measuring", len(todo), self._expected_s(todo)):
            while todo and self.left_s > 0:
                configuration = todo.pop(0)
                ending = partial(self.timekeeper.failed, configuration.subject, NO_END, configuration.parameters)
                with under_way(self.path, ending):
                    row = self.timekeeper.measured(configuration, places[configuration.key])
                store.append(self.path, row, self.timekeeper.counted.get(row.kernel_hash))
                self.progress.advance(outcome(row), self._expected_s([configuration]))
        return todo

    def _expected_s(self, configurations: Iterable[Configuration]) -> float:
        return sum(c.expected_s(self.bench.campaign) for c in configurations)


def _is_since(moment: datetime, row: Measurement) -> bool:
    return bool(row.taken_at) and datetime.fromisoformat(row.taken_at) >= moment
