"""One call of a campaign: its sizes, what its store holds, the budget that is left, and the visits to come.

Sizes are chosen for every variant, and variants that fail are recorded. All configurations are measured, or those
that are chosen by what was measured before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel import store as stored
from perfmodel.counts import KernelCounts
from perfmodel.documents import require
from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measuring import size_plan as sizes, supervised
from perfmodel.measuring.bench import Bench, Timekeeper, outcome
from perfmodel.measuring.campaign import DEFAULT, Campaign, Configuration, Team, ordered, teams
from perfmodel.measuring.load import LoadWatch
from perfmodel.measuring.lock import locked
from perfmodel.measuring.making import AllMade, make_kernels, name_of
from perfmodel.measuring.remote import workers
from perfmodel.measuring.size_plan import Plan, PlanError
from perfmodel.measuring.subject import FailedError, Subject
from perfmodel.opencl import Device, find
from perfmodel.progress import Progress, Silent, task
from perfmodel.store import Key, Measurement, Measurements
from perfmodel.store.measurement import LOADED, options_of


def measure(
    kernel_classes: Iterable[KernelClass],
    device: Device | str | None,
    store: Path | str,
    progress: Progress | None = None,
    campaign: Campaign = DEFAULT,
    choose: Chooser | None = None,
    client: Any = None,
    made: AllMade | None = None,
) -> Measurements:
    """Measure what the store does not hold yet.

    Each visit to a configuration gets one record, also if it fails. A campaign may be stopped at any instant: called
    again with the same arguments, it goes on and ends with the same set of records, since the chosen sizes are kept
    beside the store. While another campaign uses the device, it waits.

    Parameters
    ----------
    kernel_classes : iterable of KernelClass
        What to measure; the campaign may choose among them by tag.
    device : Device or str, optional
        The device to measure on. With a `client` its slug, or a part of it; None for the only one that workers have.
    store : path
        A folder, or a ``.jsonl`` file; see :mod:`perfmodel.store`.
    progress : Progress, optional
        Receives a report of each step.
    campaign : Campaign
        The settings: :data:`QUICK`, :data:`DEFAULT`, :data:`FULL` or your own.
    choose : Chooser, optional
        Chooses batch by batch which configurations are measured, as
        :func:`perfmodel.fitting.choice.chooser` does; by default all are.
    client : distributed.Client, optional
        Measure on the device of this Dask scheduler's workers (``perfmodel worker``); the store stays here.
    made : AllMade, optional
        What :func:`perfmodel.measuring.making.make_kernels` made. By default it makes the kernels here, unless there is
        a budget: then each is made when its turn comes.

    Returns
    -------
    Measurements
        All that the store now holds of these classes on this device.

    Raises
    ------
    OutputError
        The store cannot be written.
    ForeignDeviceError
        The store belongs to another device.
    StoreFormatError
        The store holds a line that is no record of a schema known here.
    NoDeviceError, UnknownDeviceError
        No device is there, or none that the text names.
    BrokenDeviceError
        The device runs nothing, or nothing any more.
    DeviceBusyError
        Another campaign on the device does not end within `campaign.wait_s`.
    NoWorkerError, WorkerVersionError, SchedulerError
        With a client: no worker has the device, one has other versions, or the scheduler does not answer any more.
    """
    require(device is None or isinstance(device, str) or hasattr(device, "slug"), "measure: device", device,
            "one of pm.devices(), or an index, name or platform as text")  # fmt: skip
    require(isinstance(store, (str, Path)), "measure: store", store, "the path of a store")
    kernel_classes = tuple(kernel_classes) if isinstance(kernel_classes, Iterable) else (kernel_classes,)
    for kernel in kernel_classes:
        require(isinstance(kernel, KernelClass), "measure: kernel_classes", kernel, "kernel classes")
    device = _meant(device, client)
    kernels = campaign.chosen(kernel_classes)
    progress, path = progress or Silent(), Path(store)
    stored.prepare(path, device.facts)
    stored.read(path)  # before waiting for the device, so that an unreadable store is reported at once
    if isinstance(device, workers.WorkersDevice):
        rows, counts = stored.paths(path)
        caller = workers.Caller(device, (rows, counts, sizes.plan_path(path)), progress, campaign.wait_s)
        caller.run(measure_there, rows.name, workers.packed(kernels), campaign, choose)
    else:
        with locked(device.facts, progress, campaign.wait_s):
            _measure_here(Bench(device, campaign), kernels, path, progress, choose, made)
    names = [kernel.name for kernel in kernels]
    return stored.read(path).of_device(device.name, device.facts.platform).of_kernels(*names)


def _measure_here(
    bench: Bench, kernels: Sequence[KernelClass], path: Path, progress: Progress, choose: Chooser | None,
    made: AllMade | None,
) -> None:  # fmt: skip
    session = Session.begun(bench, path, progress)
    if made is None and bench.campaign.budget_s is None and not session.deaths:
        made = make_kernels([(kernels, bench.campaign)], bench.device, progress)
    configurations, unplanned = plan_configurations(session, kernels, session.fills_the_budget, made or {})
    if choose is None:
        _tell_what_changed(session, configurations)
    order = ordered(configurations, bench.campaign)
    left_out = session.measure(order) if choose is None else measure_chosen(session, order, choose)
    _tell_what_is_left_out(session, left_out, unplanned)


def measure_there(
    device: Device, folder: Path, progress: Progress, store: str, kernels: workers.Pickles, campaign: Campaign,
    choose: Chooser | None,
) -> None:  # fmt: skip
    """Measure on a worker, with a copy of the caller's store in a folder."""
    measure(workers.unpacked(kernels), device, folder / store, progress, campaign, choose, made={})


def _meant(device: Device | str | None, client: Any) -> Device:
    """Return the device that is meant: the workers' where there is a client."""
    if client is not None and not isinstance(device, workers.WorkersDevice):
        return workers.workers_device(client, device if device is None or isinstance(device, str) else device.slug)
    if device is None or isinstance(device, str):
        return find(device)
    return device


def _tell_what_changed(session: Session, configurations: list[Configuration]) -> None:
    places = {row.place for row in session.rows.values()}
    # a key is a place, the driver and the code
    changed = sum(c.key not in session.rows and c.key[:-2] in places for c in configurations)
    if changed:
        session.progress.tell(f"{changed} configurations are measured again: their code or the driver has changed")


def _tell_what_is_left_out(session: Session, left: list[Configuration], unplanned: list[Team]) -> None:
    variants = sum(map(len, unplanned))
    if left or variants:
        left_out = [c for c in left if c.key not in session.rows]
        names = {c.subject.kernel.name for c in left_out} | {t[0].kernel.name for t in unplanned}
        session.progress.tell(
            f"the budget of {session.bench.campaign.budget_s or 0:.0f} s is used: {len(left_out)} configurations and "
            f"all sizes of {variants} variants are left out (of {_first_of(sorted(names))}), and "
            f"{len(left) - len(left_out)} others need more visits; run again to go on"
        )


def _first_of(names: Sequence[str]) -> str:
    """Return names as text, of many the first."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more if names else "none"


MOST_NAMES = 5
"""Most kernel classes that a message names."""
#: Stands for the failure of a configuration that has not ended: a supervisor adds what happened.
NO_END = FailedError("runtime", "")


@dataclass(eq=False)
class Session:
    """What one call of :func:`perfmodel.measuring.measure` knows.

    `rows` holds by key the current record of each configuration in the store, its visits joined. Impossible times are
    left out, so that they are taken again. `deaths` holds the records of configurations that ended their process. Where
    that happened before there was code, only records of this campaign count: the cause may have been mended since.
    `began_s` is the start on this process's clock, the time of earlier processes included [s].
    """

    bench: Bench
    path: Path
    progress: Progress
    timekeeper: Timekeeper
    rows: dict[Key, Measurement] = field(default_factory=dict)
    deaths: dict[Key, Measurement] = field(default_factory=dict)
    began_s: float = field(default_factory=lambda: monotonic() - supervised.spent_s())
    _ended_s: dict[Key, float] = field(default_factory=dict)
    _loaded: dict[Key, int] = field(default_factory=dict)  # visits before this call of what others disturbed
    _by_driver: dict[Key, Measurement] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loaded = {key: len(row.every_visit) for key, row in self.rows.items() if LOADED in row.flags}
        self._by_driver = {_with_options(key): row for key, row in self.rows.items()}  # whatever their code

    @classmethod
    def begun(cls, bench: Bench, path: Path, progress: Progress) -> Session:
        """Start with what the store holds; the launch overhead shows whether the device runs anything."""
        measured = stored.read(path)
        known = (*(row for row in measured.rows if row.kernel_hash), *supervised.recorded_before(path))
        deaths = {row.key: row for row in known if supervised.died(row)}
        timekeeper = Timekeeper(bench, bench.launch_overhead(), watch=LoadWatch(progress.tell))
        return cls(bench, path, progress, timekeeper, {row.key: row for row in measured.possible}, deaths)

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

    def configuration(self, subject: Subject, parameters: Parameters, seconds: float) -> Configuration:
        """Make a configuration; a record of code that is written otherwise and has the same counts becomes its own."""
        made = self.timekeeper.configuration(subject, parameters, seconds)
        known = self._by_driver.get(_with_options(made.key))
        if known is not None and known.counts_hash and made.key not in self.rows:
            with suppress(FailedError):
                if known.counts_hash == self.timekeeper.count(subject).hash:
                    self.rows[made.key] = known.model_copy(update={"kernel_hash": subject.hash})
                    self._loaded[made.key] = self._loaded.get(known.key, 0)
        return made

    def record(self, row: Measurement) -> None:
        """Add a record to the store, with its counts."""
        stored.append(self.path, row, self.timekeeper.counts_of(row))
        self.rows[row.key] = row.after(self.rows.get(row.key))

    def measure(self, order: Sequence[Configuration], only: Collection[Key] | None = None) -> list[Configuration]:
        """Visit each configuration as often as the campaign says, and then again those whose visits disagree.

        Each pass has the same `order`, that of the whole campaign, so that all others lie between two visits to a
        configuration; those that are not in `only` are left out. Returns those for which the budget does not suffice.
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
        with supervised.under_way(self.path, ending):
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
        made = len(row.every_visit) - self._loaded.get(configuration.key, 0)
        return max(0, self.bench.campaign.visits - made) if row.status == "ok" else 0

    def _disagrees(self, configuration: Configuration) -> bool:
        """Whether more visits may tell what the time is."""
        row = self.rows.get(configuration.key)
        if row is None or row.status != "ok":
            return False
        return row.disagrees and len(row.every_visit) < self.bench.campaign.most_visits


def _with_options(key: Key) -> Key:
    """Return a key whatever the code, but for the compiler's options."""
    return (*key[:-1], options_of(key[-1]))


#: Whether the configurations planned so far suffice.
Enough: TypeAlias = Callable[[Sequence[Configuration]], bool]


def plan_configurations(
    session: Session, kernels: Iterable[KernelClass], enough: Enough, made: AllMade = MappingProxyType({})
) -> tuple[list[Configuration], list[Team]]:
    """Plan configurations until there are enough; return them, and the variants that are left without sizes."""
    waiting = teams(kernels, session.bench.campaign, session.bench.fact("max_work_group_size"))
    for subject in (subject for team in waiting for subject in team):
        if (known := made.get(name_of(subject))) is not None:
            known.give(subject, session.timekeeper)
    path = sizes.plan_path(session.path)
    plans = {**sizes.read_plans(path, by="alike"), **sizes.read_plans(path)}
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
        return [session.configuration(subject, point, seconds) for point, seconds in sized for subject in team]
    return []


def _build(session: Session, subject: Subject) -> None:
    """Generate the code, which may fail; a supervisor learns whose it is, by a record without the code's hash."""
    unbuilt = session.timekeeper.failed(subject.unbuilt, NO_END)
    _pass_over_the_dead(session, subject, unbuilt)
    with supervised.under_way(session.path, lambda: unbuilt):
        subject.hash  # noqa: B018 -- generates the code here; what fails is found again where it has its status


def _pass_over_the_dead(session: Session, subject: Subject, record: Measurement) -> None:
    if death := session.deaths.get(record.key):
        raise PlanError(subject, FailedError("runtime", death.message), death)


def _plan(session: Session, team: Team, plans: dict[str, Plan]) -> Plan:
    """Take the team's plan from the file, or make it and append it to the file."""
    key, timekeeper = sizes.plan_key(session.bench, team), session.timekeeper
    if key not in plans:
        for subject in team:
            _count(session, subject)
        alike = sizes.plan_key(session.bench, team, [timekeeper.count(subject).hash for subject in team])
        if alike not in plans:
            plans[alike] = sizes.plan_sizes(timekeeper, team, partial(_time, session))
        plans[key] = plans[alike]
        sizes.append_plan(sizes.plan_path(session.path), key, plans[key], alike)
    return plans[key]


def _count(session: Session, subject: Subject) -> None:
    """Count the variant, unless its process died earlier; a supervisor learns which variant it is of."""
    record = session.timekeeper.failed(subject, NO_END)
    _pass_over_the_dead(session, subject, record)
    with supervised.under_way(session.path, lambda: record):
        try:
            session.timekeeper.count(subject)
        except FailedError as failure:
            raise PlanError(subject, failure) from failure


def _time(session: Session, subject: Subject, parameters: Parameters) -> float:
    """Time a trial run [s]; a supervisor learns which variant it is of."""
    with supervised.under_way(session.path, partial(session.timekeeper.failed, subject, NO_END)):
        return session.bench.trial(subject, parameters)


def _record_failure(session: Session, error: PlanError) -> None:
    failed = error.record or session.timekeeper.failed(error.subject, error.failure)
    if failed.key not in session.rows:
        session.record(failed)
    session.progress.tell(f"{failed.kernel}: {failed.status} ({failed.message})")


@dataclass(frozen=True, eq=False)
class Planned:
    """A configuration for the chooser; `seconds` is the time of one run when the sizes were chosen [s]."""

    kernel: str
    variant: Mapping[str, Any]
    parameters: Mapping[str, int]
    counts: KernelCounts
    seconds: float


#: From times so far [s] (NaN: not measured, infinity: failed) to the positions of the next ones.
Next: TypeAlias = Callable[[npt.NDArray[np.float64]], Sequence[int]]
#: Takes all configurations once, and returns the function that chooses each next batch.
Chooser: TypeAlias = Callable[[Sequence[Planned]], Next]


def measure_chosen(session: Session, order: Sequence[Configuration], choose: Chooser) -> list[Configuration]:
    """Measure what is chosen; return those for which the budget does not suffice.

    Each batch is visited once, so that the next can be chosen; the further visits follow at the end.
    """
    known = [(c, counts) for c in order if (counts := _counts(session, c)) is not None]
    choose_next = choose([_planned(c, counts) for c, counts in known])
    while batch := choose_next(_times(session, [c for c, _ in known])):
        chosen = {known[i][0].key for i in batch}
        session.visit(order, [c for c in order if c.key in chosen])
        if left_out := [c for c in order if c.key in chosen - session.rows.keys()]:
            return left_out
    return session.measure(order, session.rows.keys())


def _planned(configuration: Configuration, counts: KernelCounts) -> Planned:
    subject = configuration.subject
    return Planned(subject.kernel.name, subject.variant, configuration.parameters, counts, configuration.seconds)


def _counts(session: Session, configuration: Configuration) -> KernelCounts | None:
    """Counts of a configuration; None if it cannot be counted, and then it is not chosen."""
    try:
        return session.timekeeper.count(configuration.subject)
    except FailedError:
        return None


def _times(session: Session, configurations: Sequence[Configuration]) -> npt.NDArray[np.float64]:
    times = np.full(len(configurations), np.nan)
    for place, configuration in enumerate(configurations):
        if row := session.rows.get(configuration.key):
            times[place] = row.seconds if row.status == "ok" else np.inf
    return times
