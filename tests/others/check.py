"""Counts a captured kernel, asks every counter, and compares with the oracle at two sizes, in limited time."""

import gc
import io
import math
import pickle
import resource
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import loopy as lp
from loopy.symbolic import get_dependencies
from pymbolic import evaluate

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.reading.schedule import schedule
from perfmodel.errors import PerfModelError, StatisticsNeededError
from scripts.lab.capturing.captured import Captured
from scripts.lab.capturing.sizes import two_sizes
from tests import oracle
from tests.oracle.compare import SECTIONS, compare, gathered

SUBGROUP_SIZE = 32
GRANULARITIES = ("workitem", "subgroup", "workgroup")
UNITS = ("instance", "subgroup", "workgroup", "launch")
QUESTION_S = 10  # CPU time of one question: then it is stopped
ORACLE_S = 120  # CPU time of both executions, and of Loopy's maps
TRIPS = 4  # of loops that data bounds, before the oracle knows
LEAST_OF_DATA = 16  # sizes; what the oracle makes up as data, up to 6, and sums of it, then are indices within arrays
FORK = get_context("fork")
#: From best to worst.
STATUSES = ("agrees", "not executed", "refused", "known", "over 10 s", "disagrees", "crashed")
SCHEDULE, COUNT, MAPS, QUESTIONS, ORACLE = "Loopy's scheduling", "count", "Loopy's maps", "questions", "the oracle"
PARTS = (MAPS, QUESTIONS, ORACLE)


@dataclass(frozen=True)
class Finding:
    """What became of one kernel: a status of `STATUSES`, why, and CPU seconds.

    *count_s* is of ``pm.count``, *loopy_s* of Loopy's three maps, both of the scheduled unit; 0 where one fails.
    """

    name: str
    source: str
    status: str
    detail: str = ""
    count_s: float = 0.0
    loopy_s: float = 0.0
    slowest: str = ""
    slowest_s: float = 0.0

    @property
    def ratio(self) -> float | None:
        return self.loopy_s / self.count_s if self.loopy_s and self.count_s else None


def check(kernel: Captured, question_s: float = QUESTION_S, oracle_s: float = ORACLE_S) -> Finding:
    """Check a kernel in processes of its own, for isl cannot be interrupted.

    A part that takes too long ends the process. Where that is a question, a second process compares with the oracle
    all the same.
    """
    limits, parts, late = dict.fromkeys((SCHEDULE, MAPS, ORACLE), oracle_s), PARTS, ""
    while True:
        finding, stopped = _in_process(kernel, parts, limits, question_s)
        if stopped in (SCHEDULE, ORACLE):
            finding = replace(finding, status="not executed")
        elif stopped != MAPS:
            late = late or (finding.detail if stopped else "")
        if stopped in ("", SCHEDULE, COUNT, ORACLE):
            break
        parts = (QUESTIONS, ORACLE) if stopped == MAPS else (ORACLE,)
    if late and finding.status in ("agrees", "not executed"):
        finding = replace(finding, status="over 10 s", detail=f"{late}; {finding.status} {finding.detail}")
    return finding


def _in_process(
    kernel: Captured, parts: tuple[str, ...], limits: dict[str, float], question_s: float
) -> tuple[Finding, str]:
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_send, args=(kernel, parts, sender, limits, question_s))
    child.start()
    sender.close()
    part = "its start"
    try:
        while True:
            message = receiver.recv()
            if isinstance(message, Finding):
                return message, ""
            part = message
    except EOFError:
        child.join()
        if child.exitcode == -signal.SIGXCPU:
            late = f"{part} takes over {limits.get(part, question_s)} s"
            return Finding(kernel.name, kernel.source, "over 10 s", late, slowest=part), part
        return Finding(kernel.name, kernel.source, "crashed", f"the process died at {part} ({child.exitcode})"), ""
    finally:
        child.kill()
        child.join()


def _send(
    kernel: Captured, parts: tuple[str, ...], sender: Connection, limits: dict[str, float], question_s: float
) -> None:
    def say(part: str) -> None:
        until = math.ceil(time.process_time() + limits.get(part, question_s))
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))  # then the process is sent SIGXCPU
        sender.send(part)

    gc.freeze()  # what this process was born with is collected in nobody's time
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):  # where Loopy fails it prints the kernel
        warnings.simplefilter("ignore")
        sender.send(examined(kernel, say, parts))


def examined(
    kernel: Captured, say: Callable[[str], None] = lambda _: None, parts: tuple[str, ...] = (QUESTIONS, ORACLE)
) -> Finding:
    """Check a kernel in this process; *say* is given each part before it begins."""
    finding = Finding(kernel.name, kernel.source, "agrees")
    say(SCHEDULE)
    try:
        scheduled = schedule(kernel.unit)
        ours, peers = (pickle.loads(pickle.dumps(scheduled)) for _ in range(2))  # neither finds the other's memory
        say(COUNT)
        begun = time.process_time()
        counts, statistics = counted(ours)
    except PerfModelError as error:
        return replace(finding, status="refused", detail=f"{type(error).__name__}: {error}")
    except Exception:
        return replace(finding, status="crashed", detail=f"count: {_last_lines()}")
    count_s = time.process_time() - begun
    finding = replace(finding, count_s=count_s, slowest="count", slowest_s=count_s)
    if MAPS in parts:
        say(MAPS)
        finding = replace(finding, loopy_s=seconds_of_maps(peers))
    refusals: list[str] = []
    for question, ask in questions(counts) if QUESTIONS in parts else ():
        say(question)
        begun = time.process_time()
        try:
            ask()
        except PerfModelError as error:
            refusals.append(f"{question}: {error}")
        except Exception:
            return replace(finding, status="crashed", detail=f"{question}: {_last_lines()}")
        spent = time.process_time() - begun
        if spent > finding.slowest_s:
            finding = replace(finding, slowest=question, slowest_s=spent)
    if ORACLE in parts:
        say(ORACLE)
        status, detail = against_oracle(kernel.unit, counts, tuple(statistics))
        finding = replace(finding, status=status, detail="; ".join([detail] * bool(detail) + refusals))
    return finding


def seconds_of_maps(unit: lp.TranslationUnit) -> float:
    begun = time.process_time()
    try:
        lp.get_op_map(unit, count_redundant_work=True, subgroup_size=SUBGROUP_SIZE)
        lp.get_mem_access_map(unit, count_redundant_work=True, subgroup_size=SUBGROUP_SIZE)
        lp.get_synchronization_map(unit, subgroup_size=SUBGROUP_SIZE)
    except Exception:  # of a kernel that Loopy's counters cannot read
        return 0.0
    return time.process_time() - begun


def counted(unit: lp.TranslationUnit) -> tuple[KernelCounts, dict[str, int]]:
    """Return the counts, and the mean trip counts that had to be made up for loops which data bounds."""
    statistics: dict[str, int] = {}
    try:
        return count(unit, SUBGROUP_SIZE, cache=False), statistics
    except StatisticsNeededError as error:
        statistics = dict.fromkeys(error.inames, TRIPS)
    return count(unit, SUBGROUP_SIZE, statistics, cache=False), statistics


def questions(counts: KernelCounts) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "idle_lanes()", counts.idle_lanes
    yield "barriers()", counts.barriers
    yield "sub_groups()", counts.sub_groups
    yield "depth()", counts.depth
    yield "traffic()", counts.traffic
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


def against_oracle(unit: lp.TranslationUnit, counts: KernelCounts, data_loops: tuple[str, ...] = ()) -> tuple[str, str]:
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
            for integers in (shortest(unit, setting), 1):  # the second time all data are zero
                executed = oracle.execute(on_opencl(unit), setting, SUBGROUP_SIZE, integers=integers)
                executed = gathered(executed, arrays)
                if not (overrun := too_many_cells(unit, executed, setting)):
                    break
            else:
                return "not executed", f"the oracle's data index outside of {overrun}"
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
    if not settings:
        return "not executed", f"nothing is launched at {sizes}"
    return ("disagrees", "; ".join(found)) if found else ("agrees", f"at {settings}")


def too_many_cells(unit: lp.TranslationUnit, executed: oracle.Executed, sizes: dict[str, int]) -> str:
    """Return an array of which more cells were touched than it has, as with indices from made-up data; "" if none."""
    for array in unit.default_entrypoint.args:
        extents = getattr(array, "shape", None) or (None,)
        known = all(extent is not None and get_dependencies(extent) <= sizes.keys() for extent in extents)
        if known and executed.footprint(array.name) > math.prod(int(evaluate(extent, sizes)) for extent in extents):
            return array.name
    return ""


def on_opencl(unit: lp.TranslationUnit) -> lp.TranslationUnit:
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
