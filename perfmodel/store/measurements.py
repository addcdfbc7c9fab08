"""The records and counts of a store as one value, and three tests that leave impossible times out.

An impossible time would distort a fit, because its relative error exceeds all others. The tests have wide margins:

- The time is below 1/20 of an empty launch. (Measured launches go down to 1/8 of the recorded overhead, because a busy
  device starts the next kernel sooner.)
- One visit is 10 times as fast as the median of three or more visits to the same configuration.
- Other sizes of the variant contradict the time. Let each parameter of a second size be at least as large as in the
  first size. The times T (second) and t (first) must satisfy t/10 <= T <= 10 t W/w. Here W and w are the numbers of
  operations, accesses and work-items. A time is left out if most of the neighbouring sizes contradict the time. If the
  time is below the launch overhead, half of the sizes suffice.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, Final

from perfmodel.display import DataFrame, data_frame, seconds_text, values_text
from perfmodel.documents import canonical, one_line
from perfmodel.errors import PerfModelError, SetAsideWarning, StoreError, listed
from perfmodel.facts import DeviceFacts
from perfmodel.store.exchange import table
from perfmodel.store.measurement import Key, Measurement, joined
from perfmodel.values import FrozenValue, grouped

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

LAUNCHES: Final = 1 / 20  # least time of a launch, relative to an empty launch [1]
FACTOR: Final = 10.0  # largest factor between a time and the range that other times allow [1]
NEIGHBOURS: Final = 3  # number of smaller and of larger sizes that a size is compared with
_SHOWN = 3  # impossible times that a message names


@dataclass(frozen=True)
class Impossible:
    """A record with an impossible time, and the reason."""

    row: Measurement
    reason: str

    def __str__(self) -> str:
        return f"{self.row.description}: {seconds_text(self.row.seconds)}, {self.reason}"


def below_launch(row: Measurement) -> str:
    """Return the reason if a record's time is below a launch. Otherwise, or without a known overhead, return ""."""
    overhead = row.launch_overhead_s
    if row.status != "ok" or not overhead or row.seconds >= LAUNCHES * overhead:
        return ""
    return f"and an empty launch took {seconds_text(overhead)}"


def odd_visits(visits: Sequence[Measurement]) -> dict[int, str]:
    """Return reasons by position for visits that are far faster than most of three or more visits."""
    if len(visits) < 3:
        return {}
    middle = median(row.seconds for row in visits)
    odd = (index for index, row in enumerate(visits) if FACTOR * row.seconds < middle)
    return dict.fromkeys(odd, f"and half of its {len(visits)} visits took {seconds_text(middle)} or more")


def unsupported(rows: Sequence[Measurement], work: Callable[[Measurement], float]) -> dict[int, str]:
    """Return reasons by position for times that other sizes of the same variant contradict.

    `rows` has one record for each size, all with the status ok. `work` returns the number of operations, accesses and
    work-items of a configuration, or NaN. The function calls `work` only if times alone do not decide.
    """
    order = sorted(range(len(rows)), key=lambda index: (math.prod(rows[index].parameters.values()), index))
    reasons = {}
    for rank, index in enumerate(order):
        row, around = rows[index], (*order[max(0, rank - NEIGHBOURS) : rank], *order[rank + 1 : rank + 1 + NEIGHBOURS])
        others = [other for other in around if _order(row, rows[other])]
        far = [other for other in others if not 1 / FACTOR <= row.seconds / rows[other].seconds <= FACTOR]
        if not _rejected(row, len(far), len(others)):
            continue
        against = [other for other in far if _contradict(row, rows[other], work)]
        if _rejected(row, len(against), len(others)):
            other = rows[against[0]]
            reasons[index] = f"and {values_text(other.parameters)} took {seconds_text(other.seconds)}"
    return reasons


def _rejected(row: Measurement, against: int, asked: int) -> bool:
    if row.seconds < (row.launch_overhead_s or 0.0):
        return 0 < asked <= 2 * against
    return 2 <= asked < 2 * against


def _order(row: Measurement, other: Measurement) -> int:
    """Return 1 if all sizes of a record are at least as large as of another, -1 if at most as large, otherwise 0."""
    if row.parameters.keys() != other.parameters.keys() or row.parameters == other.parameters:
        return 0
    signs = {size > other.parameters[name] for name, size in row.parameters.items() if size != other.parameters[name]}
    return 0 if len(signs) > 1 else 1 if True in signs else -1


def _contradict(row: Measurement, other: Measurement, work: Callable[[Measurement], float]) -> bool:
    small, large = (other, row) if _order(row, other) > 0 else (row, other)
    if FACTOR * large.seconds < small.seconds:
        return True
    ratio = work(large) / (work(small) or math.nan)
    return large.seconds > FACTOR * small.seconds * max(ratio, 1.0)


@dataclass(frozen=True, eq=False)
class _ReadCounts(Mapping[str, "KernelCounts"]):
    documents: Mapping[str, Mapping[str, Any]]
    read: dict[str, KernelCounts]

    def __getitem__(self, digest: str) -> KernelCounts:
        document = self.documents[digest]  # `read` is shared with other selections
        if digest not in self.read:
            from perfmodel.counts import KernelCounts

            self.read[digest] = KernelCounts.from_json(dict(document))
        return self.read[digest]

    def __contains__(self, digest: object) -> bool:
        return digest in self.documents

    def __iter__(self) -> Iterator[str]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)


@dataclass(frozen=True)
class Measurements(FrozenValue):
    """Records in the order of the store, and their counts.

    Iteration yields the records to fit. These are the newest record of each configuration, with all visits, if the
    record is ok and its time is possible (:attr:`impossible`).
    """

    rows: tuple[Measurement, ...]  #: All records, one for each visit, with failed and outdated ones.
    counts_documents: Mapping[str, Mapping[str, Any]]  #: JSON of each KernelCounts by hash.
    set_aside: tuple[str, ...] = ()  #: One sentence for each file with damaged lines, which were left out.
    facts: DeviceFacts | None = None  #: The facts of the device, from ``device.json`` and other files.
    path: str = field(default="", compare=False)  #: The file of the records, for messages.
    _read: dict[str, KernelCounts] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        kernels, devices = ({getattr(row, name) for row in self.current} for name in ("kernel", "device"))
        where = ", ".join(sorted(devices)) or "no device"
        return one_line(f"<Measurements of {len(self.current)} configurations of {len(kernels)} kernels on {where}>")

    @cached_property
    def counts(self) -> Mapping[str, KernelCounts]:
        """The counts by hash. Each is read from JSON at its first use."""
        return _ReadCounts(self.counts_documents, self._read)

    @property
    def current(self) -> tuple[Measurement, ...]:
        """The newest record of each configuration, also of failed ones, joined with earlier visits of the same code."""
        return self._joined[0]

    @cached_property
    def impossible(self) -> tuple[Impossible, ...]:
        """Records with impossible times, with reasons. They are not fitted, and campaigns measure them again."""
        timed = (row for row in self.current if row.status == "ok" and not below_launch(row))
        single = grouped(((row.device, row.platform, row.kernel, canonical(row.variant)), row) for row in timed)
        contradicted = [
            Impossible(rows[index], reason)
            for rows in single.values()
            for index, reason in unsupported(rows, self._work).items()
        ]
        aside = (*self._joined[1], *contradicted)
        if aside:
            warnings.warn(self._sentence(aside), SetAsideWarning, stacklevel=3)
        return aside

    @cached_property
    def possible(self) -> tuple[Measurement, ...]:
        """The :attr:`current` records without :attr:`impossible` ones. Failed records are included."""
        aside = {id(impossible.row) for impossible in self.impossible}
        return tuple(row for row in self.current if id(row) not in aside)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on fits to these records: their origin, impossible times, several drivers."""
        recorded = f"others recorded these times: {self._recorded}" if self._recorded else ""
        impossible = self._sentence(self.impossible) if self.impossible else ""
        return tuple(note for note in (recorded, impossible, self.mixture) if note)

    @property
    def _recorded(self) -> str:
        """Origin of times that others recorded, or "" for times that can be measured again."""
        return self.facts.recorded if self.facts else ""

    @property
    def mixture(self) -> str:
        """A sentence on the drivers of the records to fit and their numbers of rows, or "" for one driver."""
        drivers = Counter(row.driver for row in self)
        if len(drivers) < 2:
            return ""
        each = ", ".join(f"'{driver}' ({rows} rows)" for driver, rows in drivers.items())
        again = "" if self._recorded else "measure again those of old drivers (perfmodel measure, calibrate), or "
        return (
            f"the measurements are of {len(drivers)} drivers, and weights are fitted to all of them: {each}; {again}"
            "fit one: perfmodel fit --driver NAME, Measurements.of_driver(name)"
        )

    def _sentence(self, aside: tuple[Impossible, ...]) -> str:
        shown = "; ".join(map(str, aside[:_SHOWN])) + f"; and {len(aside) - _SHOWN} more" * (len(aside) > _SHOWN)
        times = "1 impossible time was" if len(aside) == 1 else f"{len(aside)} impossible times were"
        where = f"'{self.path}'" if self.path else "the measurements"
        again = "" if self._recorded else "; measure again, with perfmodel measure or calibrate"
        return f"{where}: {times} left out ({shown}){again}"

    @cached_property
    def _joined(self) -> tuple[tuple[Measurement, ...], tuple[Impossible, ...]]:
        visits: dict[Key, list[Measurement]] = {}
        for row in self.rows:
            earlier = visits.setdefault(row.case_key, [])
            if earlier and not row.follows(earlier[-1]):
                earlier.clear()
            earlier.append(row)
        current, aside = [], []
        for rows in visits.values():
            bad = {index: reason for index, row in enumerate(rows) if (reason := below_launch(row))}
            good = [row for index, row in enumerate(rows) if index not in bad]
            odd = odd_visits(good)
            aside += [Impossible(rows[index], reason) for index, reason in bad.items()]
            aside += [Impossible(good[index], reason) for index, reason in odd.items()]
            current.append(joined([row for index, row in enumerate(good) if index not in odd] or rows[-1:]))
        return tuple(current), tuple(aside)

    def _work(self, row: Measurement) -> float:
        """Return the number of operations, accesses and work-items, or NaN if they cannot be counted."""
        try:
            counts = self.counts[row.counts_hash]
            parts = [part.count for part in counts.operation_table] + [part.count for part in counts.access_table]
            return float(sum(count(**row.parameters) for count in (*parts, counts.work_items())))
        except (KeyError, PerfModelError):  # an error is raised where these counts are used
            return math.nan

    @cached_property
    def outdated(self) -> tuple[Measurement, ...]:
        """Records that newer ones with other code or another driver replaced."""
        newest = {row.case_key: row for row in self.rows}
        return tuple(row for row in self.rows if not newest[row.case_key].matches(row))

    @property
    def drivers(self) -> tuple[str, ...]:
        """Driver versions of the current records."""
        return tuple(dict.fromkeys(row.driver for row in self.current))

    def __iter__(self) -> Iterator[Measurement]:
        return (row for row in self.possible if row.status == "ok")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def device(self) -> str:
        """Name of the one device. Several devices raise StoreError."""
        devices = sorted({(row.device, row.platform) for row in self.rows})
        if len(devices) > 1:
            shown = listed(f"{device} ({platform})" for device, platform in devices)
            problem = f"the measurements come from {len(devices)} devices ({shown})"
            raise StoreError(problem, "weights belong to one: choose one with Measurements.of_device(name)")
        return devices[0][0] if devices else ""

    @property
    def known_facts(self) -> DeviceFacts:
        """The facts of the one device, at least its names. Several devices raise StoreError."""
        if self.facts is not None:
            return self.facts
        row = next(iter(self.rows), None)
        return DeviceFacts(self.device, row.platform if row else "", row.driver if row else "", ())

    def with_facts(self, facts: DeviceFacts | None) -> Measurements:
        """Return the same records and counts with other facts of the device."""
        measurements = replace(self, facts=facts)
        made = ("_joined", "impossible", "possible")
        vars(measurements).update({name: vars(self)[name] for name in made if name in vars(self)})
        return measurements

    def of_device(self, name: str, platform: str | None = None) -> Measurements:
        """Return the records of one device, on one platform if a platform is given."""
        return self._where(lambda row: row.device == name and platform in (None, row.platform))

    def of_kernels(self, *names: str) -> Measurements:
        """Return the records of these kernel classes."""
        return self._where(lambda row: row.kernel in names)

    def of_driver(self, name: str) -> Measurements:
        """Return the records of one version of the driver."""
        return self._where(lambda row: row.driver == name)

    def _where(self, wanted: Callable[[Measurement], bool]) -> Measurements:
        return replace(self, rows=tuple(filter(wanted, self.rows)))

    def to_frame(self) -> DataFrame:
        """Return the current records as a ``DataFrame``, with the columns of :func:`perfmodel.store.table`."""
        return data_frame(table(self.current))
