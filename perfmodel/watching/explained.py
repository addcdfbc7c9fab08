"""Explains a recording: the prediction of each kernel, its largest term, and the time that it could save."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from operator import mul
from typing import Any

from perfmodel.analyses.descriptions import term_label
from perfmodel.analyses.roofline import KernelPoint, facts_with_roofs, points_of
from perfmodel.calibration.recommended import weights_of
from perfmodel.counts import KernelCounts
from perfmodel.display import percent, seconds_text
from perfmodel.errors import PerfModelError, SizeError
from perfmodel.facts import DeviceFacts
from perfmodel.features import HOST_LAUNCH
from perfmodel.measuring.lock import PINNED
from perfmodel.predicting import FittedModel, Prediction, load
from perfmodel.processes.pool import Pool
from perfmodel.progress import Progress
from perfmodel.quantities.bottleneck.device import POCL
from perfmodel.watching.recording import Recording, Row, Shares, Unit

LEVEL = 0.9
FEW = 4  # units that one process counts; more are distributed over all cores
OVERHEADS = ("overhead", "overhead_time", "launches", "work_groups", HOST_LAUNCH)
"""Terms of a prediction for launches and work-groups; they do not depend on the work of a work-item."""
MUCH = 0.25  #: Share of a time from which on an advice mentions its cause
SLICE_S = 3e-3  #: Time slice of the scheduler of Linux, after which another thread gets the core [s]
SHORT_S = 1e-4  #: Median time of a kernel below which the place of the threads of a CPU matters [s]


@dataclass(frozen=True)
class Explained:
    """A row of a recording with its prediction on a device."""

    row: Row
    predicted: Prediction | None = None  #: Of one call, by the device's clock if the weights have it.
    point: KernelPoint | None = None  #: The median call below the roofs.
    bound: str = ""  #: The largest term, in words.
    work_items: int = 0  #: Of the largest launch; 0 if unknown.
    slower: float = 1.0  #: How many times longer a call takes because the host's thread uses a core of the CPU too.
    problem: str = ""  #: Why the prediction failed.

    @property
    def inside(self) -> bool | None:
        """Whether a time between the fastest and the median call is in the interval; None without an interval."""
        if self.predicted is None or self.predicted.interval is None:
            return None
        low, high = self.predicted.interval
        if self.row.alone_s is not None:
            return bool(low <= self.row.alone_s <= high)
        return bool(self.row.fastest_s <= high * self.slower and self.row.median_s >= low)

    @property
    def beside_s(self) -> float | None:
        """The predicted time of a call in the program [s], beside the host's thread; None without a prediction."""
        return None if self.predicted is None else float(self.predicted.seconds) * self.slower

    @property
    def launch_s(self) -> float:
        """The part of the predicted call that is the cost of launches and work-groups [s]; 0 without a prediction."""
        return sum(float(self.predicted.terms.get(name, 0.0)) for name in OVERHEADS) if self.predicted else 0.0

    @property
    def least_s(self) -> float | None:
        """The least time of a call: at the lowest roof, and with the model's cost of the launches [s]."""
        if self.predicted is None or self.point is None or not self.point.bound_s > 0:
            return None
        return self.point.bound_s + self.launch_s

    @property
    def to_win_s(self) -> float | None:
        """What all calls together would save at the least time [s]."""
        return None if self.least_s is None else max(self.row.total_s - self.row.calls * self.least_s, 0.0)


@dataclass(frozen=True)
class Explanation:
    """A recording with predictions on its own devices, or on another one."""

    recording: Recording
    kernels: tuple[Explained, ...]
    models: Mapping[int, FittedModel]  # by the number of the recording's device
    problems: Mapping[int, str]  # why a device has no model

    @property
    def seconds(self) -> float:
        """Predicted time of all calls of the kernels that have a prediction [s]."""
        return sum(each.row.calls * float(each.predicted.seconds) for each in self.kernels if each.predicted)

    @property
    def launch_s(self) -> float:
        """The part of :attr:`seconds` that is the cost of launches and work-groups [s]."""
        return sum(each.row.calls * each.launch_s for each in self.kernels)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Sums of the kernels' bounds [s]; None if a kernel has no interval.

        Errors in one program mostly have the same sign (docs/watch.md), so they are not combined as independent ones.
        """
        bounds = [(each.row.calls, each.predicted.interval) for each in self.kernels if each.predicted]
        if not bounds or any(pair is None for _, pair in bounds):
            return None
        low, high = (sum(calls * float(pair[end]) for calls, pair in bounds if pair) for end in (0, 1))
        return low, high

    @property
    def advice(self) -> tuple[str, ...]:
        """What limits the whole program, in sentences."""
        return tuple(_advice(self))


def explain(
    recording: Recording, models: Mapping[int, FittedModel] | None = None, jobs: int | None = None,
    progress: Progress | bool | None = None, report: Callable[[str], None] | None = None,
) -> Explanation:  # fmt: skip
    """Predict all kernels of a recording.

    Parameters
    ----------
    recording
        What :func:`perfmodel.watching.read_recording` returned.
    models
        The model for each recorded device, by the device's number. By default the weights of each device are found; a
        device without weights has measured times only.
    jobs
        Number of processes that count and predict; by default one process if there are few kernels, else one for each
        core.
    progress
        Receives a report for each kernel; True shows a bar on standard error.
    report
        Receives a sentence on the weights that were found.
    """
    problems: dict[int, str] = {}
    if models is None:
        models = {}
        for number, facts in enumerate(recording.devices):
            try:
                weights = weights_of(facts)
                models[number] = load(weights.path)
            except PerfModelError as error:
                problems[number] = str(error)
            else:
                (report or str)(weights.text)
    found: dict[int, Explained] = {}
    rows = recording.kernels
    for device, model in models.items():
        points: dict[str, list[tuple[int, Row]]] = {}
        variants: dict[str, Callable[[], KernelCounts]] = {}
        for i, row in enumerate(rows):
            if row.device == device and row.unit is not None and row.unit.program is not None:
                label = f"{row.name} {row.unit.content[:8]}"  # statistics differ between sizes
                variants[label] = partial(_counts, label, row.unit, model.fitted.subgroup_size)
                points.setdefault(label, []).append((i, row))
        clocked = model if model.fitted.launch_s is None else model.by_clock("device")  # as recorded times are
        task = _Explaining(clocked, facts_with_roofs(model), points)
        pool = Pool((1 if len(variants) <= FEW else -1) if jobs is None else jobs, progress)
        for label, outcome in pool.stream(task, variants, "counting and predicting"):
            if isinstance(outcome, PerfModelError):
                found |= {i: Explained(row, problem=str(outcome)) for i, row in points[label]}
            else:
                found |= outcome
    every = tuple(
        found.get(i) or Explained(row, problem=row.unit.problem if row.unit else "") for i, row in enumerate(rows)
    )
    return Explanation(recording, every, models, problems)


def _counts(label: str, unit: Unit, subgroup_size: int) -> KernelCounts:
    return replace(unit.counted(subgroup_size), name=label)


@dataclass(frozen=True)
class _Explaining:
    """Predicts a unit at all of its sizes."""

    model: FittedModel
    roofs: DeviceFacts
    points: Mapping[str, Sequence[tuple[int, Row]]]

    def __call__(self, counts: Any) -> dict[int, Explained]:
        return {place: self._explained(counts, row) for place, row in self.points[counts.name]}

    def _explained(self, counts: KernelCounts, row: Row) -> Explained:
        try:
            sizes = _sizes(counts, row)
            groups = [int(launch.work_groups(**sizes)) for launch in counts.launch_table]
            items = max(map(mul, groups, (prod(launch.group_shape) for launch in counts.launch_table)))
            predicted = self.model.predict(counts, sizes, level=LEVEL)
        except PerfModelError as error:
            return Explained(row, problem=str(error))
        point = points_of(self.roofs, {row.name: counts}, sizes, {row.name: row.median_s}).get(row.name)
        slower = slowed(self.roofs, max(groups), row.beside, float(predicted.seconds))
        terms = predicted.terms
        bound = term_label(self.model.family, max(terms, key=lambda name: float(terms[name]))) if terms else ""
        return Explained(row, predicted, point, bound, items, slower)


def slowed(facts: DeviceFacts, groups: int, beside: float, seconds: float) -> float:
    r"""Return how many times longer a launch of some seconds takes while the host computes for the share b of it.

    A CPU has U cores, and the host's thread uses one of them. A launch that is shorter than a time slice of the system
    has the other cores, :math:`1/(1 - b/U)`. In a longer launch all threads have equal parts, :math:`1 + b/U`. A launch
    with fewer than U groups leaves a core to the host, and so does every other device.
    """
    units = float(facts.known("compute_units", 1))
    if facts.known("device_type") != "cpu" or groups < units or units < 2:
        return 1.0
    taken = min(beside, 1.0) / units
    return 1 / (1 - taken) if seconds < SLICE_S else 1 + taken


def _sizes(counts: KernelCounts, row: Row) -> dict[str, int]:
    if row.sizes.keys() < {*counts.parameters}:
        problem = "the program calls it with more than 1000 sizes, so the sizes of these calls were not recorded"
        raise SizeError(problem, "record a shorter run")
    return {name: row.sizes[name] for name in counts.parameters}


def _advice(explanation: Explanation) -> Iterator[str]:
    recording = explanation.recording
    device_s, kernels_s = recording.device_s, recording.kernels_s
    yield from _of_the_run(recording.shares)
    others = sum(row.total_s for row in recording.others if not row.transfer)
    if others > MUCH * device_s:
        yield (
            f"{percent(others / device_s)} of the device's time are array operations outside of Loopy; "
            "an array context that is lazy joins them with kernels"
        )
    overhead = explanation.launch_s
    if overhead > MUCH * kernels_s > 0:
        share = percent(min(overhead / kernels_s, 1.0))
        yield (
            f"the cost of {recording.launches} launches is {share} of the kernels' time; "
            "larger sizes, or fewer and larger kernels, reduce this share"
        )
    pinned = any(name in process.about.environment for process in recording.processes for name in PINNED)
    unpinned = [device.platform == POCL and not pinned for device in recording.devices]
    short = sum(row.total_s for row in recording.kernels if row.median_s < SHORT_S and unpinned[row.device])
    if short > MUCH * kernels_s > 0:
        yield (
            f"{percent(short / kernels_s)} of the kernels' time are calls below {seconds_text(SHORT_S)} by threads "
            "that the system may move between cores; weights are measured with threads that stay on their cores, which "
            "can be twice as fast; if no other program needs the cores, set POCL_AFFINITY=1 and watch again"
        )
    alone = [each for each in explanation.kernels if each.work_items == 1 and each.row.total_s > 0.05 * kernels_s]
    if names := list(dict.fromkeys(each.row.name for each in alone)):
        run = "runs as one work-item" if len(names) == 1 else "run as one work-item each"
        yield f"{', '.join(names)} {run}, on one core or lane of the device; distribute the loops over work-groups"
    for unit in recording.units:
        calls = sum(row.calls for row in recording.kernels if row.name == unit.name)
        if unit.made > max(FEW, calls / 2):  # nearly each call makes an executor
            yield (
                f"the program compiles {unit.name} {unit.made} times; keep its executor, t_unit.executor(context), and "
                "call that"
            )


def _of_the_run(shares: Shares) -> Iterator[str]:
    whole = shares.total
    if shares.builds > MUCH * whole:
        yield f"{percent(shares.builds / whole)} of the run generates and builds code, which a longer run does once"
    if shares.host > MUCH * whole:
        busy, host = percent(shares.device / whole), f"{percent(shares.host / whole)} ({seconds_text(shares.host)})"
        yield f"the device is busy {busy} of the run; in {host} only the host computes, so faster kernels save little"
    if shares.waits > MUCH * whole:
        yield f"in {percent(shares.waits / whole)} of the run the host waits while no kernel runs"
