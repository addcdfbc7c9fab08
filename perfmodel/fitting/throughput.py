r"""Facts that follow from measured rows: latency and bandwidth of operations (SPT model), and measured roofs.

Karsin (2018), chapter 4, varies the number of work-groups (oversubscription) and of independent chains in each
work-item (instruction-level parallelism). Relative least squares fit

.. math:: T = T_0 + A \max(1/B, L/M)

to the times T. A is the number of operations of the busiest core, and M is the multiplicity of
:mod:`perfmodel.models.synchronous_parallel_throughput`. The fit tries each measured multiplicity as the limit. Above
the limit, bandwidth bounds the time. Below the limit, latency bounds the time.

A roof (Williams, Waterman and Patterson, 2009) is the highest rate of a measured row or sample, from the median of the
row's times. Rows with a flag are left out:

- global memory: kernels that move at least :data:`BEYOND` times the size of the last-level cache, if this size is
  known. Smaller sizes give the roof of the caches, if that roof is higher.
- operations: kernels in which additions and products are at least the share :data:`PLAIN` of the type's operations. A
  multiply-add counts as two.
- local memory: all measured kernels that use local memory. Samples are left out, because many of them load what the
  same work-item stored. Compilers keep such data in registers. A CPU keeps local memory in its caches, so that its roof
  is at least the roof of the caches. Kernels with barriers may not reach that roof, since they access cell by cell.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from perfmodel.documents import json_text
from perfmodel.errors import FactsError, StoreError
from perfmodel.facts import ROOFS_FILE, DeviceFacts, Fact
from perfmodel.fitting.design import label
from perfmodel.fitting.types import Floats
from perfmodel.io import write_whole
from perfmodel.models import Family
from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import arithmetic
from perfmodel.quantities.multiplicity import PER_OPERATION, classes_of
from perfmodel.quantities.traffic import cached_bytes, least_bytes, local_bytes
from perfmodel.store import Measurement, Measurements
from perfmodel.store.measurement import LOADED

# The microbenchmark of each operation: kernel class, and its variant's `memory`.
CLASSES: Mapping[str, tuple[str, str]] = {
    "memory": ("spt_throughput", "global"), "local": ("spt_throughput", "local"),
    "register": ("spt_throughput", "register"), "barrier": ("barriers", ""), "launch": ("launch_sequence", ""),
}  # fmt: skip
# Of each operation: the facts of its latency and of its rate, and the unit of the rate.
_KEYS: Mapping[str, tuple[str, str, str]] = {
    "memory": ("memory_latency_s", "memory_bandwidth_bytes_per_s", "B/s"),
    "local": ("local_latency_s", "local_bandwidth_bytes_per_s", "B/s"),
    "register": ("register_latency_s", "peak_flops_float32", "operation/s"),
    "barrier": ("barrier_latency_s", "barriers_per_s", "operation/s"),
    "launch": ("launch_s", "", ""),
}
CLEAR = 1.01  # smaller factors are rounding errors of the fit
LATENCY_BOUND = "bandwidth was reached nowhere: it is a lower bound"
BANDWIDTH_BOUND = "bandwidth was reached everywhere: the latency is an upper bound"
ONE_MULTIPLICITY = "one multiplicity in all rows: latency and bandwidth are bounds, since either may bind"
NOT_HIDDEN = "time for an operation does not fall with oversubscription: M = M_I"


@dataclass(frozen=True)
class Throughput:
    """How fast a device performs an operation, one of :data:`CLASSES`.

    The bandwidth is the peak rate of the whole device [operations/s; words/s for memory]. `r_squared` is the share of
    the squared relative deviations from a constant time that the regression explains. `oversubscription` is true if
    more work-items on a core hide the latency. `note` says which of the numbers is only a bound.
    """

    operation: str
    latency_s: float
    bandwidth_per_s: float
    r_squared: float
    rows: int
    oversubscription: bool
    note: str = ""

    def facts(self) -> dict[str, Fact]:
        """Return latency, bandwidth and ``oversubscription`` as facts of the device, in SI units."""
        latency, rate, unit = _KEYS[self.operation]
        note = f"; {self.note}" if self.note else ""
        source = f"measured, {CLASSES[self.operation][0]}, r2={self.r_squared:.3f}{note}"
        facts = {
            latency: Fact(self.latency_s, "s", source),
            "oversubscription": Fact(int(self.oversubscription), "", "measured, spt_throughput: what fits better"),
        }
        if rate:
            facts[rate] = Fact(self.bandwidth_per_s * PER_OPERATION[self.operation], unit, source)
        return facts


class _Rows(NamedTuple):
    times: Floats
    fixed: Floats
    amounts: Floats
    waits: Floats


class _Line(NamedTuple):
    seconds: float
    latency: float
    squares: float
    note: str


def throughput(measurements: Measurements) -> tuple[Throughput, ...]:
    """Return the latency and bandwidth of each operation from its microbenchmark, if the time grows with the amount.

    Raise a FactsError if the number of compute units is unknown.
    """
    lines = {hides: _lines(measurements, hides) for hides in (False, True)}
    both = [name for name in ("memory", "local", "register") if all(name in fitted for fitted in lines.values())]
    squares = {hides: sum(fitted[name][0].squares for name in both) for hides, fitted in lines.items()}
    hides = squares[True] < (1 - 1e-6) * squares[False]
    fits = []
    for name, (line, rows) in lines[hides].items():
        note = "; ".join(filter(None, (line.note, "" if hides else NOT_HIDDEN))) if name != "launch" else ""
        total = float(np.sum((np.sum(1 / rows.times) / np.sum(1 / rows.times**2) / rows.times - 1) ** 2))
        r_squared = 1 - line.squares / total if total else 0.0
        fits.append(Throughput(name, line.latency, 1 / line.seconds, r_squared, rows.times.size, hides, note))
    return tuple(fits)


def throughput_facts(fits: Iterable[Throughput]) -> dict[str, Fact]:
    """Return latencies, bandwidths and ``oversubscription`` as facts by key."""
    return {key: fact for fit in fits for key, fact in fit.facts().items()}


def _lines(measurements: Measurements, hides: bool) -> dict[str, tuple[_Line, _Rows]]:
    lines = {}
    for name in CLASSES:
        rows = _rows(measurements, name, hides)
        line = _bent_line(rows) if rows.times.size > rows.fixed.shape[1] + 1 else None
        if line is not None:
            lines[name] = line, rows
    return lines


def _rows(measurements: Measurements, operation: str, hides: bool) -> _Rows:
    kernel, memory = CLASSES[operation]
    rows = [row for row in measurements if row.kernel == kernel and memory in ("", row.variant.get("memory"))]
    values = [_quantities(measurements, row, hides) for row in rows]
    times = np.array([row.seconds for row in rows])

    def column(name: str) -> Floats:
        return np.array([value[name] for value in values], dtype=np.float64)

    if operation == "launch":  # launches wait for each other: A / M = A
        return _Rows(times, column("items")[:, np.newaxis], column("launched"), column("launched"))
    ones = np.ones(len(rows))
    fixed = (ones, column("items")) if operation == "barrier" else (ones,)
    return _Rows(times, np.column_stack(fixed), column(f"{operation}_amount"), column(f"{operation}_waits"))


def _quantities(measurements: Measurements, row: Measurement, hides: bool) -> dict[str, float]:
    facts = measurements.facts
    if facts is not None:
        facts = facts.updated({"oversubscription": Fact(int(hides), "", "assumed, to see what fits")})
    counts = measurements.counts[row.counts_hash]
    case = Case(counts, row.parameters, facts, "synchronous_parallel_throughput")
    core = {
        f"{name}_{kind}": float(sum(getattr(one, kind) for one in classes))
        for name, classes in classes_of(case).items() for kind in ("amount", "waits")
    }  # fmt: skip
    return {**core, "launched": case.value(counts.launches()), "items": case.value(counts.work_items())}


def _bent_line(rows: _Rows) -> _Line | None:
    multiplicity = rows.amounts / rows.waits
    lines = [_line(rows, multiplicity, bend) for bend in (*np.unique(multiplicity), np.inf)]
    return min((line for line in lines if line is not None), key=lambda line: line.squares, default=None)


def _line(rows: _Rows, multiplicity: Floats, bend: float) -> _Line | None:
    waiting = multiplicity < bend
    columns = np.column_stack(
        (rows.fixed, np.where(waiting, 0.0, rows.amounts), np.where(waiting, rows.waits, 0.0))
    ) / rows.times[:, np.newaxis]  # fmt: skip
    scale = np.where(columns.any(axis=0), np.abs(columns).max(axis=0), 1.0)
    solution = nnls(columns / scale, np.ones(rows.times.size))[0] / scale
    seconds, latency = float(solution[-2]), float(solution[-1])
    least, most = float(multiplicity.min()), float(multiplicity.max())
    if waiting.all():
        seconds = latency / most
    elif not waiting.any():
        latency = seconds * least
    if not (seconds > 0 and latency > 0):
        return None
    bound = np.maximum(rows.amounts * seconds, rows.waits * latency)
    model = (rows.fixed @ solution[:-2] + bound) / rows.times
    # With the bend at the first or the last multiplicity, one of the two numbers is only a bound.
    reached, waited = seconds * most > CLEAR * latency, latency > CLEAR * seconds * least
    note = BANDWIDTH_BOUND if not waited else "" if reached else LATENCY_BOUND
    note = ONE_MULTIPLICITY if most <= CLEAR * least else note
    return _Line(seconds, latency, float(np.sum((model - 1) ** 2)), note)


CACHE_KEY = "cache_bandwidth_bytes_per_s"  # fact of the roof for data in the second-level cache
BEYOND = 2.0  # the memory roof uses rows that move at least this multiple of the bytes that the caches hold
PLAIN = 0.9  # least share of additions and products among the operations of a row for the peak of operations


class _Rate(NamedTuple):
    rate: float
    amount: float
    row: Measurement


def roofs(measurements: Measurements, samples: Measurements | None = None) -> dict[str, Fact]:
    """Return the roofs of a device from measured rows, as facts by key. A source names the kernel at the roof."""

    def best(rates: Sequence[_Rate]) -> float:
        return max((rate.rate for rate in rates), default=0.0)

    def every(amount: Callable[[Case], Any]) -> list[_Rate]:
        return [*_rates(measurements, amount), *(_rates(samples, amount) if samples else ())]

    streams = every(least_bytes)
    large = BEYOND * cached_bytes(measurements.facts)
    beyond = [stream for stream in streams if stream.amount >= large]
    within = [stream for stream in streams if BEYOND * stream.amount <= large]
    local = _rates(measurements, local_bytes)
    is_cpu = measurements.facts is not None and measurements.facts.known("device_type") == "cpu"
    rates = {
        "memory_bandwidth_bytes_per_s": beyond or streams,
        CACHE_KEY: within if best(within) > best(beyond) > 0 else [],
        "peak_flops_float32": every(partial(_plain_operations, dtype="float32")),
        "peak_flops_float64": every(partial(_plain_operations, dtype="float64")),
        "local_bandwidth_bytes_per_s": [*local, *(streams if local and is_cpu else [])],
    }
    facts = {}
    for key, of_roof in rates.items():
        if of_roof:
            highest = max(of_roof, key=lambda rate: rate.rate)
            source = f"measured, best median of {len(of_roof)} rows: {label(highest.row)}"
            facts[key] = Fact(highest.rate, "operation/s" if "flops" in key else "B/s", source)
    return facts


def save_roofs(measurements: Measurements, folder: Path, samples: Measurements | None = None) -> None:
    """Write the roofs of measured rows into the file :data:`ROOFS_FILE` of a folder. Predictions read this file."""
    facts = {key: asdict(fact) for key, fact in roofs(measurements, samples).items()}
    write_whole(folder / ROOFS_FILE, f"{json_text({'facts': facts}, indent=2)}\n".encode())


def _rates(measurements: Measurements, amount: Callable[[Case], Any]) -> list[_Rate]:
    """Return the rate [1/s] and the amount of each row without a flag, unless the amount is zero or unknown."""
    rates = []
    for row in measurements:
        if set(row.flags) - {LOADED} or row.counts_hash not in measurements.counts:
            continue
        with suppress(FactsError):  # the size of a transfer is unknown
            value = float(amount(Case(measurements.counts[row.counts_hash], row.parameters, measurements.facts)))
            if value > 0:
                rates.append(_Rate(value / row.median, value, row))
    return rates


def _plain_operations(case: Case, dtype: str) -> float:
    every = float(arithmetic(case, dtype))
    return every if float(case.total(f"op_{dtype}_add", f"op_{dtype}_mul")) >= PLAIN * every else 0.0


# latencies, and the plateaus of the pointer chase that give them (perfmodel.facts.probed)
CHASED: Mapping[str, str] = {"l2_latency_s": "l2_load_s", "memory_latency_s": "memory_load_s"}


def chased_facts(facts: DeviceFacts) -> dict[str, Fact]:
    """Return the latencies of memory and of the second-level cache, if a pointer chase has measured them."""
    known = dict(facts.facts)
    return {key: known[plateau] for key, plateau in CHASED.items() if plateau in known}


def takes_regression(family: Family) -> bool:
    """Return whether a family, such as SPT, uses a latency that only the regression gives."""
    of_regression = {latency for latency, _, _ in _KEYS.values()} - {*CHASED, "launch_s"}
    return any(weight.fact in of_regression for weight in family.weights)


_UNKNOWN = (FactsError, StoreError)


def with_measured_facts(
    measurements: Measurements, family: Family | None = None, samples: Measurements | None = None
) -> Measurements:
    """Return measurements of one device with the facts that follow from the measurements.

    Facts of the device or of ``facts.yaml`` replace measured ones, and a measured roof replaces the regression's
    result. If the `family` uses no latency that only the regression gives, latencies of the pointer chase replace the
    regression's. Roofs use `samples` too.
    """
    if not len(measurements):
        return measurements
    known = measurements.known_facts
    derived = known.updated(chased_facts(known))
    with suppress(*_UNKNOWN):
        derived = derived.updated(throughput_facts(throughput(measurements)))
    if family is not None and not takes_regression(family):
        derived = derived.updated(chased_facts(known))
    with suppress(*_UNKNOWN):
        derived = derived.updated(roofs(measurements, samples))
    return measurements.with_facts(derived.updated(dict(known.facts)))
