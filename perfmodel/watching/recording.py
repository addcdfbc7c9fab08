"""A recording of a running program: its units, their calls at each size, and all other commands of its devices."""

import hashlib
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from perfmodel.counts import KernelCounts
from perfmodel.counts.cache import key_of_text, remembered
from perfmodel.counts.counting import Prepared
from perfmodel.documents import Schema, json_document, read_file, value_of
from perfmodel.errors import DocumentError, StoreError
from perfmodel.facts import DeviceFacts
from perfmodel.values import FrozenValue, grouped
from perfmodel.watching.writing import ABOUT, BUILD, OWN, ROWS, SCHEMA, TIMELINE, UNITS, WAIT

NS = 1e-9
_SCHEMA = Schema(SCHEMA, "record the program again")


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class About(_Document):
    """The circumstances of the recording of one process."""

    schema_: str = Field(validation_alias="schema")
    perfmodel: str
    command: tuple[str, ...]
    python: str
    host: str
    started: str
    environment: dict[str, str]  # variables of OpenCL drivers
    finished: bool  # whether the recording was ended by the process, not by a kill
    unprofiled: int  # commands that were timed by the host's clock
    lasted_ns: int
    devices: tuple[dict[str, Any], ...]


class _Program(_Document):
    sizes: dict[str, int]
    program: str = ""
    statistics: dict[str, float] = {}
    problem: str = ""


class _Unit(_Document):
    name: str
    key: str
    parameters: tuple[str, ...]
    made: int
    source: str
    programs: tuple[_Program, ...]
    notes: tuple[str, ...]


class _Row(_Document):
    number: int
    device: int
    calls: int
    total_ns: int
    first_ns: int
    least_ns: int
    times_ns: tuple[int, ...]
    alone_ns: tuple[int, ...] = ()
    name: str = ""
    transfer: bool = False
    unit: int | None = None
    sizes: dict[str, int] = {}
    launches: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class Unit(FrozenValue):
    """A compiled Loopy unit. If several kernels have one name, all but the first have a number behind it."""

    name: str
    key: str  #: A hash of the kernel, equal for equal kernels of several processes.
    content: str  #: A hash of the counted program: the kernel with its statistics at some sizes.
    program: Path | None = None  #: File with the program that is counted.
    problem: str = ""  #: Why there is no such file.
    statistics: Mapping[str, float] = field(default_factory=dict)  #: Of the data, from copied arrays.
    made: int = 1  #: How often the program compiled it.
    source: str = ""  #: The line of the program that called it first.
    notes: tuple[str, ...] = ()

    def counted(self, subgroup_size: int) -> KernelCounts:
        """Count the unit, or take its counts from the cache; any error of counting is raised."""
        if self.program is None:
            raise StoreError(f"the recording has no program of {self.name}: {self.problem}")
        with _naming(self.program):
            prepared = Prepared.from_json(json_document(read_file(self.program)))
        key = key_of_text(self.content, subgroup_size)
        return remembered(key, lambda: prepared.counted(subgroup_size), KernelCounts)


@dataclass(frozen=True)
class Launch:
    """A device kernel of a unit, launched by each call."""

    kernel: str
    calls: int
    total_s: float


@dataclass(frozen=True)
class Row(FrozenValue):
    """All calls of a unit at some sizes on one device, or all commands of another kind with one name.

    Times are of the device. A unit with several launches has the sum of their times for each call.
    """

    name: str
    device: int  # its number among the devices of the recording
    calls: int
    total_s: float
    first_s: float
    fastest_s: float
    times_s: tuple[float, ...]  # of some calls
    unit: Unit | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    launches: tuple[Launch, ...] = ()
    transfer: bool = False
    alone_s: float | None = None  # median of runs of the unit without the program
    beside: float = 0.0  # share of its time in which the host did not wait

    @cached_property
    def median_s(self) -> float:
        """Median of the calls [s]."""
        return statistics.median(self.times_s)


@dataclass(frozen=True)
class Shares:
    """How the run time of all processes divides [s]; each second is counted once, in the first part that has it."""

    device: float  # at least one device is busy
    builds: float  # the host generates and builds code
    recording: float  # the recorder works
    waits: float  # the host waits for a device that is idle
    host: float  # the rest, in which the host computes

    @property
    def total(self) -> float:
        """The run time [s]."""
        return self.device + self.builds + self.recording + self.waits + self.host


@dataclass(frozen=True)
class Process(FrozenValue):
    """The recording of one process."""

    folder: Path
    about: About
    rows: tuple[Row, ...]
    #: intervals [ns], of shape (intervals, 3): start, end, and a row's position or a kind of the host's work
    timeline: NDArray[np.int64] = field(repr=False, compare=False)

    @property
    def lasted_s(self) -> float:
        """Duration of the recording."""
        return NS * self.about.lasted_ns

    @cached_property
    def shares(self) -> Shares:
        """How the run time divides."""
        start, end, kind = self.timeline.T
        start, end = np.maximum(start, 0), np.minimum(end, self.about.lasted_ns)
        together, covered = np.zeros(len(kind), bool), [0.0]
        for part in (kind >= 0, kind == BUILD, kind == OWN, kind == WAIT):
            together |= part
            _, lengths = _apart(start[together], end[together])
            covered.append(NS * int(lengths.sum()))
        device, builds, recording, waits = np.diff(covered).tolist()
        return Shares(device, builds, recording, waits, max(self.lasted_s - covered[-1], 0.0))


@dataclass(frozen=True)
class Recording(FrozenValue):
    """What the processes of a program executed on OpenCL devices."""

    folder: Path
    processes: tuple[Process, ...]
    devices: tuple[DeviceFacts, ...]
    units: tuple[Unit, ...]
    rows: tuple[Row, ...]  # of all processes, the one with the longest total time first

    @property
    def kernels(self) -> tuple[Row, ...]:
        """The rows of Loopy's units."""
        return tuple(row for row in self.rows if row.unit is not None)

    @property
    def others(self) -> tuple[Row, ...]:
        """The rows of all other commands."""
        return tuple(row for row in self.rows if row.unit is None)

    @property
    def device_s(self) -> float:
        """Time of all commands of devices [s]."""
        return sum(row.total_s for row in self.rows)

    @property
    def kernels_s(self) -> float:
        """Time of Loopy's units [s]."""
        return sum(row.total_s for row in self.kernels)

    @property
    def launches(self) -> int:
        """Number of launches by Loopy's units."""
        return sum(launch.calls for row in self.kernels for launch in row.launches)

    @property
    def shares(self) -> Shares:
        """How the run time of all processes divides."""
        parts = [vars(process.shares) for process in self.processes]
        return Shares(**{name: sum(part[name] for part in parts) for name in parts[0]})


def is_recording(folder: Path) -> bool:
    """Whether a folder has a recording."""
    return any(folder.glob(f"*/{ABOUT}"))


def read_recording(folder: str | Path) -> Recording:
    """Read a recording, also of a program that still runs or was killed.

    Raises
    ------
    StoreError
        If the folder has no recording, or a file of it is damaged or of another version.
    """
    path = Path(folder)
    if not is_recording(path):
        problem = f"'{folder}' has no recording: nothing was executed on an OpenCL device, or the folder is another one"
        raise StoreError(problem, "record a program that uses PyOpenCL: perfmodel watch --out FOLDER app.py")
    parts = [_Part.read(each.parent) for each in sorted(path.glob(f"*/{ABOUT}"))]
    devices = tuple(dict.fromkeys(device for part in parts for device in part.devices))
    units = _named([unit for part in parts for unit in part.units.values()])
    processes = tuple(part.process(devices, units) for part in parts)
    rows = _merged(row for process in processes for row in process.rows)
    return Recording(path, processes, devices, tuple(units.values()), rows)


@dataclass(frozen=True)
class _Part:
    """The files of one process."""

    folder: Path
    about: About
    devices: tuple[DeviceFacts, ...]
    units: Mapping[tuple[int, tuple[tuple[str, int], ...]], Unit]
    rows: tuple[_Row, ...]

    @classmethod
    def read(cls, folder: Path) -> "_Part":
        about = _value(About, folder / ABOUT, _SCHEMA)
        units = _value(tuple[_Unit, ...], folder / UNITS)
        made = {
            (number, tuple(sorted(program.sizes.items()))): _unit(folder, unit, program)
            for number, unit in enumerate(units) for program in unit.programs or (_NO_PROGRAM,)
        }
        devices = tuple(DeviceFacts.from_json(device) for device in about.devices)
        return cls(folder, about, devices, made, _value(tuple[_Row, ...], folder / ROWS))

    def process(self, devices: Sequence[DeviceFacts], named: Mapping[str, Unit]) -> Process:
        timeline = _timeline(self.folder)
        beside = _beside(timeline)
        rows = tuple(Row(
            unit.name if (unit := self._unit_of(row, named)) else row.name, devices.index(self.devices[row.device]),
            row.calls, NS * row.total_ns, NS * row.first_ns, NS * row.least_ns,
            tuple(NS * time for time in row.times_ns), unit, row.sizes,
            tuple(Launch(kernel, calls, NS * total) for kernel, calls, total in row.launches), row.transfer,
            NS * statistics.median(row.alone_ns) if row.alone_ns else None, beside.get(row.number, 0.0),
        ) for row in self.rows)  # fmt: skip
        return Process(self.folder, self.about, rows, timeline)

    def _unit_of(self, row: _Row, named: Mapping[str, Unit]) -> Unit | None:
        if row.unit is None:
            return None
        at = tuple(sorted(row.sizes.items()))
        found = self.units.get((row.unit, at)) or self.units.get((row.unit, ()))
        if found is not None:
            return named[found.content]
        other = next((unit for (number, _), unit in self.units.items() if number == row.unit), None)
        if other is None:
            with _naming(self.folder / ROWS):
                raise DocumentError(f"has a kernel that {UNITS} lacks")
        name = next(unit.name for unit in named.values() if unit.key == other.key)
        problem = "the recording has no program of it at these sizes"
        return Unit(name, other.key, f"{other.content} {at}", problem=problem)


_NO_PROGRAM = _Program(sizes={}, problem="the program was killed before the recording had this kernel's program")


def _unit(folder: Path, unit: _Unit, program: _Program) -> Unit:
    path = folder / program.program if program.program else None
    content = f"{folder} {unit.name} {program.sizes}".encode()
    if path is not None:
        with _naming(path):
            content = read_file(path)
    found = hashlib.sha256(content).hexdigest()
    return Unit(
        unit.name, unit.key, found, path, program.problem, program.statistics, unit.made, unit.source, unit.notes
    )


def _named(units: Sequence[Unit]) -> dict[str, Unit]:
    """Return units by content, with names that units of other kernels do not have."""
    numbers: dict[str, dict[str, int]] = {}  # of the kernels of a name, by key
    found: dict[str, Unit] = {}
    for alike in grouped((unit.content, unit) for unit in units).values():
        first = alike[0]
        same_name = numbers.setdefault(first.name, {})
        number = same_name.setdefault(first.key, len(same_name) + 1)
        name = first.name if number == 1 else f"{first.name} #{number}"
        notes = tuple(dict.fromkeys(note for unit in alike for note in unit.notes))
        found[first.content] = replace(first, name=name, made=sum(unit.made for unit in alike), notes=notes)
    return found


def _merged(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Join the rows of several processes that have equal units, sizes and devices."""
    alike = grouped(
        ((row.name, row.transfer, row.unit and row.unit.content, row.device, tuple(row.sizes.items())), row)
        for row in rows
    )
    joined = [replace(
        same[0], calls=sum(row.calls for row in same), total_s=sum(row.total_s for row in same),
        fastest_s=min(row.fastest_s for row in same), times_s=tuple(time for row in same for time in row.times_s),
        launches=tuple(
            Launch(parts[0].kernel, sum(part.calls for part in parts), sum(part.total_s for part in parts))
            for parts in zip(*(row.launches for row in same), strict=False)
        ),
        alone_s=min((row.alone_s for row in same if row.alone_s is not None), default=None),
        beside=min(row.beside for row in same),
    ) for same in alike.values()]  # fmt: skip
    return tuple(sorted((row for row in joined if row.calls), key=lambda row: -row.total_s))


def _timeline(folder: Path) -> NDArray[np.int64]:
    path = folder / TIMELINE
    with _naming(path):
        try:
            text = path.read_text(encoding="ascii") if path.exists() else ""
            lines = [line.split(",") for line in text[: text.rfind("\n") + 1].splitlines()]
            return np.array(lines, np.int64).reshape(-1, 3)
        except (OSError, ValueError) as error:
            raise DocumentError(f"cannot be read ({error})") from error


def _beside(timeline: NDArray[np.int64]) -> dict[int, float]:
    """Return, for the number of each row, the share of its time in which the host did not wait."""
    start, end, kind = timeline.T
    waits, commands = kind == WAIT, kind >= 0
    begins, lengths = _apart(start[waits], end[waits])
    before = np.concatenate([[0], np.cumsum(lengths)])

    def waited(time: NDArray[np.int64]) -> NDArray[np.int64]:
        last = np.searchsorted(begins, time, side="right") - 1
        within = np.where(last >= 0, np.clip(time - begins[last], 0, lengths[last]), 0) if len(begins) else 0 * time
        return np.asarray(before[np.maximum(last, 0)] * (last >= 0) + within)

    number, whole = kind[commands], np.maximum(end[commands] - start[commands], 0)
    free = whole - (waited(end[commands]) - waited(start[commands]))
    all_s, free_s = (np.bincount(number, weights) for weights in (whole, free))
    return {row: float(free_s[row] / all_s[row]) for row in np.flatnonzero(all_s).tolist()}


def _apart(start: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the union of intervals as intervals that do not overlap, in order: their beginnings and lengths."""
    order = np.argsort(start, kind="stable")
    begins, ends = start[order], np.maximum.accumulate(end[order])
    begins = np.maximum(begins, np.concatenate([begins[:1], ends[:-1]]))
    return begins, np.maximum(ends - begins, 0)


def _value(kind: Any, path: Path, schema: Schema | None = None) -> Any:
    with _naming(path):
        return value_of(kind, read_file(path), schema)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except DocumentError as error:
        problem = f"file '{path}' of the recording {error.problem}"
        raise StoreError(problem, error.advice or "record the program again") from error
