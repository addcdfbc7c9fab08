"""One call of a campaign: sizes, planned configurations, visits within the budget, and the records in the store.

Variants are coded, counted, compiled and checked in several processes before anything is timed. Making a variant takes
ten times as long as a *visit*, which is a series of runs. If a variant fails there, the campaign makes it again and
records the failure.
"""

import os
import pickle
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic, sleep
from types import MappingProxyType
from typing import TypeAlias

import cloudpickle

from perfmodel import store as stored
from perfmodel.documents import canonical, require
from perfmodel.errors import KernelError, listed
from perfmodel.kernels import KernelClass, Parameters, Variant
from perfmodel.kernels.files import pickled_by_value
from perfmodel.kernels.samples import TAG
from perfmodel.measuring import size_plan as sizes, supervised
from perfmodel.measuring.bench import Bench, Timekeeper, outcome
from perfmodel.measuring.campaign import DEFAULT, Campaign, Configuration, Team, ordered, teams
from perfmodel.measuring.lock import PINNED, LoadWatch, locked
from perfmodel.measuring.size_plan import Plan, PlanError, naming
from perfmodel.measuring.subject import FailedError, Subject, one_line
from perfmodel.opencl import Device, find
from perfmodel.processes.pool import is_death, processes_here
from perfmodel.processes.variants import counts_as_json, counts_from_json
from perfmodel.progress import Progress, Silent, task
from perfmodel.store import Key, Measurement, Measurements
from perfmodel.store.measurement import LOADED, options_of

FEWEST = 12  # fewest variants for each process, which takes seconds to start
MOST = 8  # most processes, since each opens the device
MAKE_S, MAKE_SAMPLE_S = 0.4, 0.1  #: Time to make a variant, and a sample with its code and counts, on a common core [s]

VariantName: TypeAlias = tuple[str, str]  # of a class and of its variant


@dataclass(frozen=True)
class Made:
    """Pickled code and JSON counts of a variant that another process made."""

    generated: bytes
    counts: bytes

    def give(self, subject: Subject, timekeeper: Timekeeper) -> None:
        """Give the code to a subject and the counts to a timekeeper. The timekeeper then does not check the output."""
        vars(subject)["generated"] = pickle.loads(self.generated)  # the value of the cached property
        timekeeper.counted[subject.key] = counts_from_json(self.counts)
        timekeeper.checked[subject.key] = None


AllMade: TypeAlias = Mapping[VariantName, Made]


def name_of(subject: Subject) -> VariantName:
    """Return the key of a variant among those made."""
    return subject.kernel.name, canonical(subject.variant)


def subjects_of(kernels: Iterable[KernelClass], campaign: Campaign, device: Device) -> list[Subject]:
    """Return the variants that a campaign measures on a device."""
    most = int(device.facts.value("max_work_group_size"))
    return [subject for team in teams(kernels, campaign, most) for subject in team]


def make_kernels(
    parts: Iterable[tuple[Iterable[KernelClass], Campaign]], device: Device, progress: Progress | None = None
) -> AllMade:
    """Make the variants of campaigns, with one process for each core. If one process suffices, return none."""
    todo = [(subject, campaign) for kernels, campaign in parts for subject in subjects_of(kernels, campaign, device)]
    bar, made = progress or Silent(), {}
    with processes_here(len(todo) // FEWEST, MOST) as processes:
        if processes is None:
            return {}
        pickles = {kernel.name: packed(kernel) for kernel in {s.kernel.name: s.kernel for s, _ in todo}.values()}
        expected = {name_of(subject): make_s(subject) / processes.count for subject, _ in todo}
        with task(bar, "making kernels", len(todo), sum(expected.values())):
            names: dict[Future[Made | None], VariantName] = {
                processes.submit(_made, device, campaign, pickles[s.kernel.name], s.variant): name_of(s)
                for s, campaign in todo
            }
            try:
                for future in as_completed(names):
                    name = names[future]
                    if (result := future.result()) is not None:
                        made[name] = result
                    bar.advance(name[0], expected[name])
            except Exception as error:
                if not is_death(error):
                    raise
                processes.end(kill=True)
                bar.report("a process died while it made kernels; the others are made one after the other")
    return made


def packed(kernel: KernelClass) -> bytes:
    """Pickle a kernel class with the definitions of its file, or raise KernelError."""
    try:
        return pickled_by_value(kernel)
    except Exception as error:  # a value's own pickling may raise any error
        problem = f"the kernel class '{kernel.name}' cannot be sent to another process: {one_line(error)}"
        advice = "let its functions make such values when they are called, instead of holding them"
        raise KernelError(problem, advice) from error


def make_s(subject: Subject) -> float:
    """Return about how long it takes to make a variant [s]."""
    return MAKE_SAMPLE_S if TAG in subject.kernel.tags else MAKE_S


def expected_making_s(parts: Iterable[tuple[Iterable[KernelClass], Campaign]], device: Device) -> float:
    """Return about how long :func:`make_kernels` takes on two cores [s]."""
    return sum(make_s(subject) for part in parts for subject in subjects_of(*part, device)) / 2


def _made(device: Device, campaign: Campaign, pickled: bytes, variant: Variant) -> Made | None:
    subject, timekeeper = Subject(_unpacked(pickled), variant), Timekeeper(_bench(device, campaign), 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the campaign repeats them
        try:
            counts = timekeeper.count(subject)
            timekeeper.check(subject)
        except FailedError:
            return None
    return Made(cloudpickle.dumps(subject.generated), counts_as_json(counts))


_unpacked = lru_cache(maxsize=4)(pickle.loads)


@lru_cache(maxsize=4)
def _bench(device: Device, campaign: Campaign) -> Bench:
    for name in PINNED:  # else all these processes would share one core
        os.environ.pop(name, None)
    return Bench(device, campaign)


NO_END = FailedError("runtime", "")  # failure of a configuration that is under way; a supervisor adds the cause


def measure(
    kernel_classes: Iterable[KernelClass], device: Device | str | None, store: Path | str,
    progress: Progress | None = None, campaign: Campaign = DEFAULT, made: AllMade | None = None,
) -> Measurements:  # fmt: skip
    """Measure what a store lacks, and return the store's records of these classes and device.

    Each visit, a series of runs of a configuration, has one record. A campaign may be stopped at any instant. The same
    call continues the campaign and ends with the same set of records, because the chosen sizes are kept next to the
    store. The call waits while another campaign uses the device. After `campaign.wait_s` it raises DeviceBusyError.

    Parameters
    ----------
    kernel_classes
        The classes to measure.
    device
        The device, or an index, name or platform (:func:`perfmodel.opencl.find`).
    store
        A folder, or a ``.jsonl`` file (:mod:`perfmodel.store`).
    campaign
        The settings: :data:`QUICK`, :data:`DEFAULT`, :data:`FULL` or your own.
    made
        Made kernels (:func:`perfmodel.measuring.run.make_kernels`). By default the call makes them.
    """
    require(device is None or isinstance(device, str) or hasattr(device, "slug"), "measure: device", device,
            "one of pm.devices(), or an index, name or platform as text")  # fmt: skip
    require(isinstance(store, (str, Path)), "measure: store", store, "the path of a store")
    kernel_classes = tuple(kernel_classes) if isinstance(kernel_classes, Iterable) else (kernel_classes,)
    for kernel in kernel_classes:
        require(isinstance(kernel, KernelClass), "measure: kernel_classes", kernel, "kernel classes")
    device = find(device) if device is None or isinstance(device, str) else device
    progress, path = progress or Silent(), Path(store)
    stored.prepare(path, device.facts)
    stored.read(path)  # before waiting for the device, so that an unreadable store is reported at once
    with locked(device.facts, progress, campaign.wait_s):
        _measure_all(Bench(device, campaign), kernel_classes, path, progress, made)
    names = [kernel.name for kernel in kernel_classes]
    return stored.read(path).of_device(device.name, device.facts.platform).of_kernels(*names)


def _measure_all(
    bench: Bench, kernels: Sequence[KernelClass], path: Path, progress: Progress, made: AllMade | None
) -> None:  # fmt: skip
    session = Session.started(bench, path, progress)
    if made is None and bench.campaign.budget_s is None and not session.deaths:
        made = make_kernels([(kernels, bench.campaign)], bench.device, progress)
    configurations, unplanned = plan_configurations(session, kernels, session.fills_the_budget, made or {})
    known = {row.case_key for row in session.rows.values()}
    # a key is a case, the driver and the code
    if changed := sum(c.key not in session.rows and c.key[:-2] in known for c in configurations):
        progress.report(f"{changed} configurations are measured again: their code or the driver has changed")
    left = session.measure(ordered(configurations, bench.campaign))
    if left or unplanned:
        progress.report(_left_out(session, left, unplanned))


def _left_out(session: "Session", left: list[Configuration], unplanned: list[Team]) -> str:
    left_out = [c for c in left if c.key not in session.rows]
    names = sorted({c.subject.kernel.name for c in left_out} | {t[0].kernel.name for t in unplanned})
    return (
        f"the budget of {session.bench.campaign.budget_s or 0:.0f} s is used: {len(left_out)} configurations and all "
        f"sizes of {sum(map(len, unplanned))} variants are left out (of {listed(names, most=100)}), and "
        f"{len(left) - len(left_out)} others need more visits; run again to go on"
    )


@dataclass(eq=False)
class Session:
    """State of one call of :func:`perfmodel.measuring.measure`.

    `rows` are the current records of the store by key. Impossible times are left out and measured again. `deaths` are
    the records of configurations that ended their process. Of records without code, only those of this campaign count,
    because the cause may be fixed by now. `start_s` is the start by the clock of this process, minus the time of
    earlier processes [s].
    """

    bench: Bench
    path: Path
    progress: Progress
    timekeeper: Timekeeper
    rows: dict[Key, Measurement] = field(default_factory=dict)
    deaths: dict[Key, Measurement] = field(default_factory=dict)
    start_s: float = field(default_factory=lambda: monotonic() - supervised.spent_s())
    _ended_s: dict[Key, float] = field(default_factory=dict)
    _loaded: dict[Key, int] = field(default_factory=dict)  # number of earlier visits to configurations under load
    _by_driver: dict[Key, Measurement] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._loaded = {key: len(row.every_visit) for key, row in self.rows.items() if LOADED in row.flags}
        self._by_driver = {_with_options(key): row for key, row in self.rows.items()}

    @classmethod
    def started(cls, bench: Bench, path: Path, progress: Progress) -> "Session":
        """Start with the records of the store. The measurement of the launch overhead checks the device."""
        measured = stored.read(path)
        known = (*(row for row in measured.rows if row.kernel_hash), *supervised.recorded_before(path))
        deaths = {row.key: row for row in known if supervised.died(row)}
        timekeeper = Timekeeper(bench, bench.launch_overhead(), watch=LoadWatch(progress.report))
        return cls(bench, path, progress, timekeeper, {row.key: row for row in measured.possible}, deaths)

    @property
    def left_s(self) -> float:
        """The rest of the budget [s]."""
        budget = self.bench.campaign.budget_s
        return float("inf") if budget is None else budget - (monotonic() - self.start_s)

    def fills_the_budget(self, configurations: Sequence[Configuration]) -> bool:
        """Whether the visits that configurations lack take the rest of the budget."""
        campaign = self.bench.campaign
        if campaign.budget_s is None:
            return False
        return sum(self._lacks(c) * c.expected_s(campaign) for c in configurations) >= self.left_s

    def configuration(self, subject: Subject, parameters: Parameters, seconds: float) -> Configuration:
        """Make a configuration. A record of other code with equal counts becomes a record of this configuration."""
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

    def measure(self, order: Sequence[Configuration]) -> list[Configuration]:
        """Visit configurations as the campaign says, and again if visits disagree. Return the unfinished ones.

        Each pass has the `order` of the whole campaign, so that two visits to a configuration are not in quick
        succession.
        """
        campaign = self.bench.campaign
        lacking = [(c, self._lacks(c)) for c in order]
        self.visit(order, [c for left in range(campaign.visits, 0, -1) for c, lacks in lacking if lacks >= left])
        for visits in range(campaign.visits, campaign.most_visits):
            again = [c for c in order if self._disagrees(c) and len(self.rows[c.key].every_visit) <= visits]
            if again:
                self.visit(order, again, "measuring again what disagrees")
        return [c for c in order if self._lacks(c) or self._disagrees(c)]

    def visit(self, order: Sequence[Configuration], todo: Sequence[Configuration], name: str = "measuring") -> None:
        """Visit configurations one after another within the budget, except failed ones. Record each visit."""
        positions = {configuration.key: position for position, configuration in enumerate(order)}
        campaign = self.bench.campaign
        with task(self.progress, name, len(todo), sum(c.expected_s(campaign) for c in todo)):
            for c in todo:
                pause_s = max(0.0, self._ended_s.get(c.key, -float("inf")) + campaign.apart_s - monotonic())
                if pause_s >= self.left_s:
                    return
                sleep(pause_s)
                row = self.rows.get(c.key)
                if row is None or row.status == "ok":
                    death = partial(self.timekeeper.failed, c.subject, NO_END, c.parameters)
                    with supervised.under_way(self.path, death):
                        row = self.timekeeper.measured(c, positions[c.key])
                    self.record(row)
                    self._ended_s[c.key] = monotonic()
                    note = outcome(row)
                else:
                    note = row.kernel
                self.progress.advance(note, c.expected_s(campaign))

    def _lacks(self, configuration: Configuration) -> int:
        row = self.rows.get(configuration.key)
        if row is None:
            return self.bench.campaign.visits
        made = len(row.every_visit) - self._loaded.get(configuration.key, 0)
        return max(0, self.bench.campaign.visits - made) if row.status == "ok" else 0

    def _disagrees(self, configuration: Configuration) -> bool:
        row = self.rows.get(configuration.key)
        if row is None or row.status != "ok" or not row.disagrees:
            return False
        return len(row.every_visit) < self.bench.campaign.most_visits


def _with_options(key: Key) -> Key:
    return (*key[:-1], options_of(key[-1]))


def plan_configurations(
    session: Session, kernels: Iterable[KernelClass], enough: Callable[[Sequence[Configuration]], bool],
    made: AllMade = MappingProxyType({}),
) -> tuple[list[Configuration], list[Team]]:  # fmt: skip
    """Plan configurations until there are enough. Return these and the variants that were not planned."""
    waiting = teams(kernels, session.bench.campaign, session.bench.fact("max_work_group_size"))
    for subject in (subject for team in waiting for subject in team):
        if (known := made.get(name_of(subject))) is not None:
            known.give(subject, session.timekeeper)
    plans = sizes.read_plans(sizes.plan_path(session.path))
    configurations: list[Configuration] = []
    with task(session.progress, "choosing sizes", len(waiting)):
        while waiting and not enough(configurations):
            team = waiting.pop(0)
            configurations.extend(_plan_team(session, team, plans))
            session.progress.advance(team[0].kernel.name)
    return configurations, waiting


def _plan_team(session: Session, team: Team, plans: dict[str, Plan]) -> list[Configuration]:
    while team:
        try:
            for subject in team:  # the supervisor's record of a death has no hash of the code
                _try(session, subject, subject.unbuilt, lambda subject: subject.hash)
            plan = _plan(session, team, plans)
        except PlanError as error:
            failed = error.record or session.timekeeper.failed(error.subject, error.failure)
            if failed.key not in session.rows:
                session.record(failed)
            session.progress.report(f"{failed.kernel}: {failed.status} ({failed.message})")
            team = tuple(subject for subject in team if subject is not error.subject)
            continue
        sized = zip(plan.parameters, plan.seconds, strict=True)
        return [session.configuration(subject, point, seconds) for point, seconds in sized for subject in team]
    return []


def _plan(session: Session, team: Team, plans: dict[str, Plan]) -> Plan:
    key, timekeeper = sizes.plan_key(session.bench, team), session.timekeeper
    if key not in plans:
        for subject in team:
            _try(session, subject, subject, timekeeper.count)
        alike = sizes.plan_key(session.bench, team, [timekeeper.count(subject).hash for subject in team])
        if alike not in plans:
            plans[alike] = sizes.plan_sizes(timekeeper, team, partial(_time, session))
        plans[key] = plans[alike]
        sizes.append_plan(sizes.plan_path(session.path), key, plans[key], alike)
    return plans[key]


def _try(session: Session, subject: Subject, recorded: Subject, work: Callable[[Subject], object]) -> None:
    """Work on a variant. Raise PlanError if this ended an earlier process, or fails."""
    record = session.timekeeper.failed(recorded, NO_END)
    if death := session.deaths.get(record.key):
        raise PlanError(subject, FailedError("runtime", death.message), death)
    with supervised.under_way(session.path, lambda: record):
        naming(subject, work)


def _time(session: Session, subject: Subject, parameters: Parameters) -> float:
    with supervised.under_way(session.path, partial(session.timekeeper.failed, subject, NO_END)):
        return session.bench.trial(subject, parameters)
