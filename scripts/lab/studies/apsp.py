r"""All-pairs shortest paths of Ma, Chamberlain and Agrawal (ASAP 2014): its configurations, its line and its claims.

One squaring of an n by n matrix by work-groups of :math:`T_r` work-items, each of which computes a sub-block of
:math:`S_D` by :math:`S_D` elements, so that :math:`B_r = (n/S_D)^2` groups are requested. A compute unit holds
:math:`B_a` groups (Eq. 4) and the device :math:`\mathcal{T} P = B_a T_r U` work-items for U units
(:mod:`perfmodel.quantities.case`): :math:`\mathcal{T}` are the work-items that a core, here a lane, holds at once.

On a CPU the same formula is used with the facts that perfmodel has of a CPU: a core runs one group at a time
(:math:`B_a = 1`), so that :math:`\mathcal{T}` is the size of a group over the lanes of a vector, whatever local memory
is asked for. Its work-items run one after the other and hide no latency.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.display import values_text
from perfmodel.quantities.case import (
    Case,
    active_groups,
    cores,
    groups_per_launch,
    items_held,
    items_per_group,
    places_filled,
    scheduling_factor,
)

if TYPE_CHECKING:
    from scripts.lab.studies.study import StudyData

FAMILY = "threaded_manycore"
FLAT = 1.25
"""Times whose ratio is at most this count as one level [1]."""
LINEAR = 0.95
"""From this r squared on times are called linear [1]; the paper has 0.9916."""


@dataclass(frozen=True)
class Configuration:
    r"""A measured configuration of the kernel."""

    n: int  # vertices of the graph
    sub_block: int  # :math:`S_D`, rows of a sub-block
    items: int  # :math:`T_r`, work-items of a group
    extra_local: int  # local memory that is asked for and not used [B]
    local_bytes: int  # local memory of a group, with that [B]
    requested: float  # :math:`B_r`, work-groups
    active: float  # :math:`B_a`, work-groups that a compute unit holds at once
    threads: float  # :math:`\mathcal{T}`, work-items that a lane holds at once
    schedule: float  # :math:`f_{sched}` of Eq. 3.
    seconds: float  # measured time [s]
    # Predicted times [s] by the family's name; a prediction that was withheld is left out.
    predicted: Mapping[str, float]

    @property
    def ratio(self) -> float:
        r""":math:`\sqrt{B_r}/\mathcal{T}`, to which the time is linear where memory bounds it (Eq. 14)."""
        return math.sqrt(self.requested) / self.threads

    def at(self, family: str) -> float:
        """Return a family's predicted time [s]; NaN if it was withheld."""
        return self.predicted.get(family, math.nan)

    def record(self, fit: Bend) -> dict[str, Any]:
        """Return a row of a table, with the times [s] of the line and of the bent one."""
        names = ("n", "sub_block", "items", "extra_local", "local_bytes", "requested", "active", "threads", "schedule")
        own = {name: getattr(self, name) for name in (*names, "ratio", "seconds")}
        return {**own, "bent_line_s": fit.at(self.ratio), **{f"{name}_s": one for name, one in self.predicted.items()}}


def configurations(data: StudyData, families: Iterable[str] = ()) -> tuple[Configuration, ...]:
    """Return the configurations that ran, at the largest size that most of them have, with families' predictions.

    Families without weights in the device's folder are left out. Raises FactsError if the device's limits on
    work-groups and work-items are unknown.
    """
    if data.measured is None:
        return ()
    often = Counter(row.parameters["n"] for row in data.measured)
    chosen = max(often, key=lambda n: (often[n], n), default=0)
    times = {name: {(values_text(one.variant), one.parameters["n"]): one.predicted for one in data.cases(name)}
             for name in dict.fromkeys(families) if name in data.families}  # fmt: skip
    found = []
    for row in data.measured:
        if row.parameters["n"] == chosen:
            case = Case(data.measured.counts[row.counts_hash], row.parameters, data.facts, FAMILY)
            place = values_text(row.variant), chosen
            predicted = {name: own[place] for name, own in times.items()}
            found.append(configuration(case, row.variant, row.seconds, predicted))
    return tuple(sorted(found, key=lambda one: (one.sub_block, one.extra_local, one.threads)))


def configuration(
    case: Case, variant: Mapping[str, Any], seconds: float, predicted: Mapping[str, float | None]
) -> Configuration:
    """Return a measured case as a configuration of the paper."""
    return Configuration(
        int(case.parameters["n"]), int(variant["sub_block"]), int(items_per_group(case)),
        int(variant.get("extra_local", 0)), case.counts.launch.local_bytes, float(groups_per_launch(case)),
        active_groups(case), items_held(case) / cores(case), float(scheduling_factor(case)), seconds,
        {name: one for name, one in predicted.items() if one is not None},
    )  # fmt: skip


# {{{ the line of Eq. 15


@dataclass(frozen=True)
class Bend:
    r"""A level up to a bend and a line from there: :math:`T = l + a_1 \max(x - b, 0)`.

    It is Eq. 13 and 14 in one, with :math:`x = \sqrt{B_r}/\mathcal{T}`; with the bend at the lowest x it is the line of
    Eq. 15, whose :math:`a_0 = l - a_1 b`.
    """

    level: float  # l, the time where computing bounds it [s]
    slope: float  # :math:`a_1` [s]
    bend: float  # b, from which x on memory bounds it [1]
    r_squared: float  # share of the times' variance that it explains [1]; NaN if there is nothing to explain

    def at(self, x: float) -> float:
        """Return the time [s]."""
        return self.level + self.slope * max(x - self.bend, 0.0)

    @property
    def intercept(self) -> float:
        """:math:`a_0`, the line's time at zero [s]."""
        return self.level - self.slope * self.bend


def straight_line(x: Sequence[float], times: Sequence[float]) -> Bend:
    """Return the line of Eq. 15 through all points, of ordinary least squares; NaN of fewer than two different x."""
    return _bent_at(min(x, default=math.nan), x, times)[0]


def bent_line(x: Sequence[float], times: Sequence[float]) -> Bend:
    """Return the bent line with the least sum of squares, its bend at one of the points, and its slope not negative.

    Where no such line rises, it is the level alone.
    """
    found = [_bent_at(bend, x, times) for bend in sorted(set(x))[:-1]]
    rising = [pair for pair in found if pair[0].slope >= 0]
    if rising:
        return min(rising, key=lambda pair: pair[1])[0]
    level = float(np.mean(times)) if len(times) else math.nan
    return Bend(level, 0.0, max(x, default=math.nan), 0.0 if len(set(times)) > 1 else math.nan)


def _bent_at(bend: float, x: Sequence[float], times: Sequence[float]) -> tuple[Bend, float]:
    """Return the bent line with its bend there, and its sum of squares."""
    beyond, seconds = np.maximum(np.asarray(x, float) - bend, 0.0), np.asarray(times, float)
    if len(set(x)) < 2:
        return Bend(math.nan, math.nan, bend, math.nan), math.inf
    columns = np.column_stack([np.ones_like(beyond), beyond])
    (level, slope), *_ = np.linalg.lstsq(columns, seconds)
    rest = float(np.sum((seconds - columns @ [level, slope]) ** 2))
    total = float(np.sum((seconds - seconds.mean()) ** 2))
    return Bend(float(level), float(slope), bend, 1 - rest / total if total else math.nan), rest


# }}}
# {{{ what figures 1 and 3 to 5 show


def zigzag(places: float, most: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return 1 to `most` requested groups, and Eq. 3's factor for a device that holds so many groups (Fig. 1)."""
    requested = tuple(range(1, most + 1))
    return requested, tuple(float(places_filled(one, places)) / one for one in requested)


def minima(factors: Sequence[float]) -> tuple[int, ...]:
    """Return the requested groups, from 2 on, at which the factor is below that of one group fewer and one more.

    Examples
    --------
    >>> minima(zigzag(3, 10)[1])
    (3, 6, 9)
    """
    inner = range(1, len(factors) - 1)
    return tuple(place + 1 for place in inner if factors[place] < min(factors[place - 1], factors[place + 1]))


def automatic(found: Iterable[Configuration]) -> tuple[Configuration, ...]:
    """Return those that ask for no extra memory, so that B_a is what Eq. 4 gives: those of figures 2 to 4."""
    return tuple(one for one in found if not one.extra_local)


def by_sub_block(found: Iterable[Configuration]) -> dict[int, tuple[Configuration, ...]]:
    r"""Return figure 3: of each :math:`S_D` the configurations that ask for no extra memory, by :math:`\mathcal{T}`."""
    return _grouped(((one.sub_block, one) for one in automatic(found)), lambda one: one.threads)


def by_threads(found: Iterable[Configuration]) -> dict[float, tuple[Configuration, ...]]:
    r"""Return the curves of figure 4: of each :math:`\mathcal{T}` those that ask for no extra memory, by B_r.

    Curves of one point are left out.
    """
    own = _grouped(((round(one.threads, 6), one) for one in automatic(found)), lambda one: one.requested)
    return {threads: curve for threads, curve in own.items() if len(curve) > 1}


def by_memory(found: Iterable[Configuration]) -> dict[int, tuple[Configuration, ...]]:
    """Return the curves of figure 5: the configurations of the sub-blocks with extra memory, by that memory [B]."""
    forced = {one.sub_block for one in found if one.extra_local}
    chosen = ((one.extra_local, one) for one in found if one.sub_block in forced)
    return _grouped(chosen, lambda one: one.threads)


def _grouped(pairs: Iterable[tuple[Any, Configuration]], order: Any) -> dict[Any, tuple[Configuration, ...]]:
    found: dict[Any, list[Configuration]] = defaultdict(list)
    for key, one in pairs:
        found[key].append(one)
    return {key: tuple(sorted(found[key], key=order)) for key in sorted(found)}


def flat_from(curve: Sequence[Configuration]) -> float | None:
    r"""Return the least :math:`\mathcal{T}` from which on all times are within :data:`FLAT` of the curve's lowest.

    None if not even the last one is.
    """
    lowest, found = min(one.seconds for one in curve), None
    for one in reversed(curve):
        if one.seconds > FLAT * lowest:
            break
        found = one.threads
    return found


def asked_for_more(found: Sequence[Configuration]) -> tuple[tuple[Configuration, Configuration], ...]:
    """Return pairs of a configuration and the same with more local memory asked for, greatest speed-up first."""
    plain = {(one.sub_block, one.items): one for one in automatic(found)}
    pairs = [(plain[one.sub_block, one.items], one) for one in found
             if one.extra_local and (one.sub_block, one.items) in plain]  # fmt: skip
    return tuple(sorted(pairs, key=lambda pair: pair[1].seconds / pair[0].seconds))


# }}}
