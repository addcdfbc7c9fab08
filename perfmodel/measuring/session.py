"""One campaign under way: what its store holds already, what is left of the budget, and which visits are to come."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic, sleep

from perfmodel import store
from perfmodel.measuring.bench import AnyBench
from perfmodel.measuring.order import Configuration
from perfmodel.measuring.progress import Progress, task
from perfmodel.measuring.record import outcome
from perfmodel.measuring.subject import FailedError
from perfmodel.measuring.supervised import died, recorded_before, spent_s, under_way
from perfmodel.measuring.timekeeper import Timekeeper
from perfmodel.store import Key, Measurement

#: Stands for the failure of a configuration that has not ended: a supervisor adds what happened.
NO_END = FailedError("runtime", "")


@dataclass(eq=False)
class Session:
    """What one call of :func:`perfmodel.measuring.measure` knows.

    Parameters
    ----------
    bench : AnyBench
        The opened device, and the campaign's settings.
    path : Path
        The store.
    progress : Progress
        It is informed of each step.
    timekeeper : Timekeeper
        Visits one configuration.
    rows : dict
        What the store holds: the current record of each configuration, its visits joined, by key; no times that
        cannot be, so that they are taken again.
    deaths : dict
        By key, those records whose configuration ended its process.  Of those without code only the ones of this
        campaign: what crashed while it was built may have been mended since.
    began_s : float
        Start of the campaign on this process's clock, the time of earlier processes included [s].
    """

    bench: AnyBench
    path: Path
    progress: Progress
    timekeeper: Timekeeper
    rows: dict[Key, Measurement] = field(default_factory=dict)
    deaths: dict[Key, Measurement] = field(default_factory=dict)
    began_s: float = field(default_factory=lambda: monotonic() - spent_s())
    _ended_s: dict[Key, float] = field(default_factory=dict)

    @classmethod
    def begun(cls, bench: AnyBench, path: Path, progress: Progress) -> Session:
        """Start with what the store holds; the launch overhead shows whether the device runs anything."""
        found = store.read(path)
        known = (*(row for row in found.rows if row.kernel_hash), *recorded_before(path))
        deaths = {row.key: row for row in known if died(row)}
        timekeeper = Timekeeper(bench, bench.launch_overhead())
        return cls(bench, path, progress, timekeeper, {row.key: row for row in found.possible}, deaths)

    @property
    def left_s(self) -> float:
        """What is left of the budget [s]."""
        budget = self.bench.campaign.budget_s
        return float("inf") if budget is None else budget - (monotonic() - self.began_s)

    def fills_the_budget(self, configurations: Sequence[Configuration]) -> bool:
        """Whether the visits that they lack take all of the time that is left."""
        campaign = self.bench.campaign
        if campaign.budget_s is None:
            return False
        return sum(self._lacks(c) * c.expected_s(campaign) for c in configurations) >= self.left_s

    def todo(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Those that need another visit: they lack some, or what they have disagrees and there may be more."""
        return [c for c in configurations if self._lacks(c) or self._disagrees(c)]

    def record(self, row: Measurement) -> None:
        """Add a record to the store, with its counts."""
        store.append(self.path, row, self.timekeeper.counted.get(row.kernel_hash))
        self.rows[row.key] = row.after(self.rows.get(row.key))

    def measure(self, order: Sequence[Configuration], only: Collection[Key] | None = None) -> list[Configuration]:
        """Visit each configuration as often as the campaign says, and then again those whose visits disagree.

        Each pass has the same order, so that all others lie between two visits to a configuration.

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
        campaign, chosen = self.bench.campaign, [c for c in order if only is None or c.key in only]
        lacking = [(c, self._lacks(c)) for c in chosen]
        self.visit(order, [c for left in range(campaign.visits, 0, -1) for c, lacks in lacking if lacks >= left])
        for visits in range(campaign.visits, campaign.most_visits):
            again = [c for c in chosen if self._disagrees(c) and len(self.rows[c.key].every_visit) <= visits]
            if again:
                self.visit(order, again, "measuring again what disagrees")
        return self.todo(chosen)

    def visit(self, order: Sequence[Configuration], todo: Sequence[Configuration], name: str = "measuring") -> None:
        """Visit configurations one after another as far as the budget suffices; record each visit."""
        places = {configuration.key: place for place, configuration in enumerate(order)}
        campaign = self.bench.campaign
        with task(self.progress, name, len(todo), sum(c.expected_s(campaign) for c in todo)):
            for configuration in todo:
                if not self._may_begin(configuration):
                    return
                note = self._visit(configuration, places[configuration.key])
                self.progress.advance(note, configuration.expected_s(campaign))

    def _visit(self, configuration: Configuration, place: int) -> str:
        """Visit a configuration unless it has failed, and say what came out."""
        before = self.rows.get(configuration.key)
        if before and before.status != "ok":
            return before.kernel
        ending = partial(self.timekeeper.failed, configuration.subject, NO_END, configuration.parameters)
        with under_way(self.path, ending):
            row = self.timekeeper.measured(configuration, place)
        self.record(row)
        self._ended_s[row.key] = monotonic()
        return outcome(row)

    def _may_begin(self, configuration: Configuration) -> bool:
        """Wait until the last visit is long enough ago; return whether the budget lasts until then."""
        apart_s, last_s = self.bench.campaign.apart_s, self._ended_s.get(configuration.key)
        pause_s = 0.0 if last_s is None else max(0.0, last_s + apart_s - monotonic())
        if pause_s >= self.left_s:
            return False
        sleep(pause_s)
        return True

    def _lacks(self, configuration: Configuration) -> int:
        """How many visits are due in any case."""
        row = self.rows.get(configuration.key)
        if row is None:
            return self.bench.campaign.visits
        return max(0, self.bench.campaign.visits - len(row.every_visit)) if row.status == "ok" else 0

    def _disagrees(self, configuration: Configuration) -> bool:
        """Whether more visits may tell what the time is."""
        row = self.rows.get(configuration.key)
        if row is None or row.status != "ok":
            return False
        return row.disagrees and len(row.every_visit) < self.bench.campaign.most_visits
