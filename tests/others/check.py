"""Counts a captured kernel, asks every counter, and compares with the oracle at two sizes, in limited time."""

from __future__ import annotations

import io
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import loopy as lp
from loopy.symbolic import get_dependencies
from pymbolic import evaluate

from perfmodel.counts import KernelCounts, count
from perfmodel.errors import PerfModelError, StatisticsNeededError
from tests import oracle
from tests.oracle.compare import SECTIONS, compare, gathered
from tests.others.captured import Captured
from tests.others.sizes import two_sizes

SUBGROUP_SIZE = 32
GRANULARITIES = ("workitem", "subgroup", "workgroup")
UNITS = ("instance", "subgroup", "workgroup", "launch")
QUESTION_S = 10.0  # CPU time of one question
TRIPS = 4  # of loops that data bounds, before the oracle knows
LEAST_OF_DATA = 16  # sizes; what the oracle makes up as data, up to 6, and sums of it, then are indices within arrays
KERNEL_S = 120  # CPU time of everything that is asked of a kernel
FORK = get_context("fork")
#: From best to worst.
STATUSES = ("agrees", "not executed", "refused", "known", "slow", "timed out", "disagrees", "crashed")


@dataclass(frozen=True)
class Finding:
    """What became of one kernel: a status of `STATUSES`, why, and what counting and the slowest question took."""

    name: str
    source: str
    status: str
    detail: str = ""
    count_s: float = 0.0
    slowest: str = ""
    slowest_s: float = 0.0


def check(kernel: Captured, kernel_s: int = KERNEL_S) -> Finding:
    """Check a kernel in a process of its own, for isl cannot be interrupted."""
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_send, args=(kernel, sender, kernel_s))
    child.start()
    sender.close()
    question = "its start"
    try:
        while True:
            message = receiver.recv()
            if isinstance(message, Finding):
                return message
            question = message
    except EOFError:
        child.join()
        if child.exitcode == -signal.SIGXCPU:
            return Finding(kernel.name, kernel.source, "timed out", f"{question} did not return")
        return Finding(kernel.name, kernel.source, "crashed", f"the process died at {question} ({child.exitcode})")
    finally:
        child.kill()
        child.join()


def _send(kernel: Captured, sender: Connection, kernel_s: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (kernel_s, kernel_s + 10))  # then the process is sent SIGXCPU
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):  # where Loopy fails it prints the kernel
        warnings.simplefilter("ignore")
        sender.send(examined(kernel, sender.send))


def examined(kernel: Captured, say: Callable[[str], None] = lambda _: None) -> Finding:
    """Check a kernel in this process; *say* is given each question before it is asked."""
    say("count")
    begun = time.process_time()
    try:
        counts, statistics = counted(kernel.unit)
    except PerfModelError as error:
        return Finding(kernel.name, kernel.source, "refused", f"{type(error).__name__}: {error}")
    except Exception:
        return Finding(kernel.name, kernel.source, "crashed", f"count: {_last_lines()}")
    count_s = time.process_time() - begun
    slowest, slowest_s, refusals = "count", count_s, []
    for question, ask in questions(counts):
        say(question)
        begun = time.process_time()
        try:
            ask()
        except PerfModelError as error:
            refusals.append(f"{question}: {error}")
        except Exception:
            return Finding(kernel.name, kernel.source, "crashed", f"{question}: {_last_lines()}", count_s)
        spent = time.process_time() - begun
        if spent > slowest_s:
            slowest, slowest_s = question, spent
    say("the oracle")
    status, detail = against_oracle(kernel.unit, counts, tuple(statistics))
    if status in ("agrees", "not executed") and slowest_s > QUESTION_S:
        status, detail = "slow", f"{slowest} takes {slowest_s:.1f} s; {detail}"
    detail = "; ".join([detail] * bool(detail) + refusals)
    return Finding(kernel.name, kernel.source, status, detail, count_s, slowest, slowest_s)


def counted(unit: lp.TranslationUnit) -> tuple[KernelCounts, dict[str, int]]:
    """Return the counts, and the mean trip counts that had to be made up for loops which data bounds."""
    statistics: dict[str, int] = {}
    try:
        return count(unit, SUBGROUP_SIZE, cache=False), statistics
    except StatisticsNeededError as error:
        statistics = dict.fromkeys(error.inames, TRIPS)
    return count(unit, SUBGROUP_SIZE, statistics, cache=False), statistics


def questions(counts: KernelCounts) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every question that counts answer, with its text."""
    yield "idle_lanes()", counts.idle_lanes
    yield "barriers()", counts.barriers
    yield "sub_groups()", counts.sub_groups
    yield "depth()", counts.depth
    touched = sorted({(row.space, row.array, row.direction) for row in counts.access_table})
    for granularity in GRANULARITIES:
        for space, array, direction in touched:
            named = {"space": space, "array": array, "direction": direction, "granularity": granularity}
            yield f"accesses({array}, {direction}, {granularity})", partial(counts.accesses, **named)
    for space, array, direction in touched:
        if space == "private":
            continue
        yield f"footprint({array}, {direction})", partial(counts.footprint, array, direction)
        yield f"utilization({array}, {direction})", partial(counts.utilization, array, direction)
        if space == "local":
            yield f"bank_conflicts({array}, {direction})", partial(counts.bank_conflicts, array, direction=direction)
        for per in UNITS if space == "global" else ():
            yield f"lines({array}, {per}, {direction})", partial(counts.lines, array, per=per, direction=direction)


def against_oracle(
    unit: lp.TranslationUnit, counts: KernelCounts, data_loops: tuple[str, ...] = ()
) -> tuple[str, str]:
    """Return ``agrees``, ``disagrees`` or ``not executed``, and why.

    Loops that data bounds are counted again, with the mean of the iterations that were executed.
    """
    unused = {name for name in counts.program.parameters if not name.endswith("_offset")}  # those of parts are 0
    names = tuple(sorted({*counts.parameters, *unused}))
    sizes = two_sizes(counts, names, least=LEAST_OF_DATA if data_loops else 0)
    if not sizes:
        return "not executed", "no size within the assumptions is small enough for the oracle"
    arrays = {row.array for row in counts.access_table}
    found, settings = [], []
    for setting in (contiguous(unit, one) for one in sizes):
        try:
            executed = oracle.execute(on_opencl(unit), setting, SUBGROUP_SIZE, integers=shortest(unit, setting))
            executed = gathered(executed, arrays)
        except Exception as error:  # code that the oracle cannot read or run
            return "not executed", f"oracle: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
        if any(extent < 0 for grid in executed.launched for extent in grid.groups):
            continue  # no device launches anything
        if data_loops:
            executed_trips = dict(executed.mean_trips)
            statistics = {name: executed_trips.get(name, Fraction(0)) for name in data_loops}
            counts = count(unit, SUBGROUP_SIZE, statistics, cache=False)
        given = {name: value for name, value in setting.items() if name in counts.parameters}
        settings.append(given)
        for line in [*compare(executed, counts, given, sections=SECTIONS), *wrong_lines(executed, counts, given)]:
            found.append(f"at {given}: {line}")
    return ("disagrees", "; ".join(found)) if found else ("agrees", f"at {settings}")


def on_opencl(unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the unit for the target whose host code the oracle reads."""
    return unit if isinstance(unit.target, lp.PyOpenCLTarget) else unit.copy(target=lp.PyOpenCLTarget())


def contiguous(unit: lp.TranslationUnit, sizes: dict[str, int]) -> dict[str, int]:
    """Return the sizes with strides that the caller of the kernel gives such that no two cells share an address."""
    found = dict(sizes)
    for array in unit.default_entrypoint.args:
        stride, shape = 1, getattr(array, "shape", None) or ()
        names = [f"{array.name}_stride{axis}" for axis in range(len(shape))]
        for name, extent in reversed(tuple(zip(names, shape, strict=True)) if found.keys() & set(names) else ()):
            if name in found:
                found[name] = stride
            stride *= int(evaluate(extent, sizes))
    return found


def shortest(unit: lp.TranslationUnit, sizes: dict[str, int], most: int = 7) -> int:
    """Return the least extent of an array, or *most*: integers below it index every array."""
    extents = [extent for array in unit.default_entrypoint.args for extent in getattr(array, "shape", None) or ()]
    known = [
        evaluate(extent, sizes) for extent in extents if extent is not None and get_dependencies(extent) <= sizes.keys()
    ]
    return max(1, min([most, *map(int, known)]))


def wrong_lines(executed: oracle.Executed, counts: KernelCounts, sizes: dict[str, int]) -> Iterator[str]:
    """Yield lines at fixed sizes that are not those executed."""
    for array, direction in executed.arrays("global"):
        for per in UNITS:
            truth = executed.lines(array, 64, per, direction)
            try:
                fixed = counts.lines(array, 64, per, direction, **sizes)
                value = fixed(**sizes)
            except PerfModelError:
                continue
            if truth != value and (fixed.exact or truth > value):
                yield f"lines of {array} ({direction}) per {per}: executed {truth}, counted {value}"


def _last_lines() -> str:
    lines = [line.strip() for line in traceback.format_exc().splitlines() if line.strip()]
    place = next((line for line in reversed(lines) if line.startswith("File ") and "perfmodel" in line), "")
    return f"{lines[-1][:200]} at {place.split('/')[-1]}"
