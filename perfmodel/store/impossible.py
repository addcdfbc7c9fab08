"""Times that cannot be: below the launch's own overhead, or that no other size of the kernel supports.

One such time moves a fit, because its relative error is beyond all others. Three tests find it, with wide margins:

- The host's clock took less than 1/20 of what an empty launch takes. (Measured launches go down to 1/8 of the overhead
  that their campaign recorded, because a device that was just busy starts the next kernel sooner.)
- One visit is 10 times as fast as the median of three or more to the same configuration.
- The other sizes of the variant contradict it. Of two sizes, each parameter at least as large in the second,
  the larger takes no less time than the smaller, and no more than its work demands: t/10 <= T <= 10 t W/w, with the
  operations, accesses and work-items W and w. A time goes if most of the sizes next to it contradict it; if it is below
  the overhead too, half of them suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final

from perfmodel.display import in_words, seconds_text
from perfmodel.store.measurement import Measurement

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

LAUNCHES: Final = 1 / 20
"""Share of an empty launch's time that every launch takes [1]."""
FACTOR: Final = 10.0
"""How far a time may be beyond what other times support [1]."""
NEIGHBOURS: Final = 3
"""Sizes below and above a size that it is compared with."""


@dataclass(frozen=True)
class Impossible:
    """A record, or the current one of a configuration, whose time cannot be, and why."""

    row: Measurement
    reason: str

    def __str__(self) -> str:
        what = " ".join(filter(None, (self.row.kernel, in_words(self.row.variant), in_words(self.row.parameters))))
        return f"{what}: {seconds_text(self.row.seconds)}, {self.reason}"


def below_launch(row: Measurement) -> str:
    """Return why a record's time is below that of a launch; "" where it is not, or where the overhead is unknown."""
    overhead = row.launch_overhead_s
    if row.status != "ok" or not overhead or row.seconds >= LAUNCHES * overhead:
        return ""
    return f"and an empty launch took {seconds_text(overhead)}"


def odd_visits(visits: Sequence[Measurement]) -> dict[int, str]:
    """Return the visits to a configuration, by position, that are far faster than most of three or more, and why."""
    if len(visits) < 3:
        return {}
    middle = median(row.seconds for row in visits)
    odd = (place for place, row in enumerate(visits) if FACTOR * row.seconds < middle)
    return dict.fromkeys(odd, f"and half of its {len(visits)} visits took {seconds_text(middle)} or more")


def unsupported(rows: Sequence[Measurement], work: Callable[[Measurement], float]) -> dict[int, str]:
    """Return the times of a kernel's variant, by position, that its other sizes contradict, and why.

    Parameters
    ----------
    rows
        A record for each size; all are ok.
    work
        Gives how much a configuration executes [operations and accesses], or NaN where that is not known. It is
        asked only where times alone do not clear the variant.
    """
    order = sorted(range(len(rows)), key=lambda place: (math.prod(rows[place].parameters.values()), place))
    near = {
        place: [
            other for other in (*order[max(0, rank - NEIGHBOURS) : rank], *order[rank + 1 : rank + 1 + NEIGHBOURS])
            if _order(rows[place], rows[other])
        ]
        for rank, place in enumerate(order)
    }  # fmt: skip
    found = {}
    for place, others in near.items():
        row = rows[place]
        far = [other for other in others if not 1 / FACTOR <= row.seconds / rows[other].seconds <= FACTOR]
        if not _outvoted(row, len(far), len(others)):
            continue
        against = [other for other in far if _contradict(row, rows[other], work)]
        if _outvoted(row, len(against), len(others)):
            other = rows[against[0]]
            found[place] = f"and {in_words(other.parameters)} took {seconds_text(other.seconds)}"
    return found


def work_of(counts: KernelCounts, row: Measurement) -> float:
    """Return how many operations, accesses and work-items a record's configuration has."""
    parts = [part.count for part in counts.operation_table] + [part.count for part in counts.access_table]
    return float(sum(count(**row.parameters) for count in (*parts, counts.work_items())))


def _outvoted(row: Measurement, against: int, asked: int) -> bool:
    if row.seconds < (row.launch_overhead_s or 0.0):
        return 0 < asked <= 2 * against
    return 2 <= asked < 2 * against


def _order(row: Measurement, other: Measurement) -> int:
    """Return 1 where a record's sizes are at least those of another, -1 where they are at most, and 0 otherwise."""
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
