"""Execute generated OpenCL C by brute force: group by group, work-item by work-item, from barrier to barrier."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import loopy as lp
import numpy as np

from .dtypes import CType
from .executed import Executed, Grid, Instance
from .functions import IN_INDEX, NEGATION, Vec
from .source import BufferName, Launch, launches, program
from .statements import BARRIER, ENTERED, REPEATED
from .translate import KernelCode, kernel_code

Item = tuple[int, int, int]
Arrays = Mapping[str, "np.ndarray[Any, Any]"]
INTEGERS = 7


class Memory(dict[int, Any]):
    """An array by address; what nobody wrote is *fill* of its address."""

    def __init__(self, fill: Callable[[int], Any] = lambda address: 0) -> None:
        super().__init__()
        self.fill = fill

    def __missing__(self, address: int) -> Any:
        return self.fill(address)


def _fill(kind: CType, integers: int = INTEGERS) -> Callable[[int], Any]:
    """Reproducible data for an array without contents: floats in [0.5, 1.5), as many integers from 0."""

    def element(address: int) -> Any:
        return (address * 7919 + 13) % 101 / 101 + 0.5

    if kind.lanes > 1:
        return lambda address: Vec(element(kind.lanes * address + lane) for lane in range(kind.lanes))
    if kind.complex:
        return lambda address: complex(element(address), element(address + 1))
    return (lambda address: (address * 7919 + 13) % 7 % integers) if kind.integral else element


def initial_memory(kind: CType, values: np.ndarray[Any, Any] | None, integers: int = INTEGERS) -> Memory:
    """An array before the first launch: *values* in memory order, or reproducible numbers."""
    memory = Memory(_fill(kind, integers))
    if values is not None:
        flat = values.ravel(order="K").tolist()
        if kind.lanes > 1:
            flat = [Vec(flat[first : first + kind.lanes]) for first in range(0, len(flat), kind.lanes)]
        memory.update(enumerate(flat))
    return memory


def _run_group(
    function: Callable[..., Any], barriers: bool, items: Item, group: Item, operated: Callable[[], int]
) -> set[int]:
    """Run all work-items of a group; return the lanes that execute operations. *operated* counts operations so far."""
    width, height, depth = items
    lanes = [(x, y, z) for z, y, x in product(range(depth), range(height), range(width))]
    before, busy = operated(), set[int]()

    def note(lane: int) -> None:
        nonlocal before
        if (now := operated()) != before:
            busy.add(lane)
            before = now

    if not barriers:
        for lane, local in enumerate(lanes):
            function(*local, *group, lane)
            note(lane)
        return busy
    waiting = [(lane, function(*local, *group, lane)) for lane, local in enumerate(lanes)]
    while waiting:
        arrived = []
        for lane, item in waiting:
            if next(item, "finished") != "finished":
                arrived.append((lane, item))
            note(lane)
        if arrived and len(arrived) != len(waiting):
            raise RuntimeError("work-items of one group met different barriers")
        waiting = arrived
    return busy


def _instances(code: KernelCode, log: list[list[Any]], launch: int, group: int) -> Iterator[Instance]:
    for occurrence, entries in zip(code.occurrences, log, strict=True):
        by_iteration: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
        for iteration, lane, address in entries:
            by_iteration[iteration].append((lane, address))
        entries.clear()
        for iteration, touched in by_iteration.items():
            yield Instance(occurrence, launch, group, iteration, tuple(touched))


def _is_operation(noted: tuple[str, str]) -> bool:
    return noted != BARRIER and noted[1] not in (NEGATION, ENTERED, REPEATED)


class _Execution:
    def __init__(self, parameters: Mapping[str, Any], arrays: Arrays, integers: int) -> None:
        self.parameters, self.arrays, self.integers = parameters, arrays, integers
        self.memory: dict[str, Memory] = {}
        self.operations: Counter[tuple[str, str]] = Counter()
        self.instances: list[Instance] = []
        self.grids: list[Grid] = []

    def arguments(self, code: KernelCode, launch: Launch) -> dict[str, Any]:
        """Kernel arguments by Python name: what the host code set, by position."""
        given, bound = dict(launch.arguments), {}
        for position, (name, kind, form) in enumerate(code.parameters):
            value = given.get(position, BufferName(name))
            if form == "pointer":
                root = value.name if isinstance(value, BufferName) else name
                if root not in self.memory:
                    self.memory[root] = initial_memory(kind, self.arrays.get(root), self.integers)
                bound[f"M_v_{name}"] = self.memory[root]
            else:
                missing = isinstance(value, BufferName)  # an offset, where it is an integer
                bound[f"v_{name}"] = self.parameters.get(name, 0 if kind.integral else 1.5) if missing else value
        return bound

    def launch(self, code: KernelCode, launch: Launch) -> None:
        hits = [0] * len(code.sites)
        log: list[list[Any]] = [[] for _ in code.occurrences]
        bound = self.arguments(code, launch)
        shared = {name: Memory() for name in code.local_arrays}
        function = code.function({**bound, **shared}, hits, log, Memory)
        number, busy = len(self.grids), 0
        sites = [site for site, operations in enumerate(code.sites) if any(map(_is_operation, operations))]
        groups = [(x, y, z) for z, y, x in product(*(range(extent) for extent in reversed(launch.groups)))]
        for index, group in enumerate(groups):
            for memory in shared.values():
                memory.clear()
            lanes = _run_group(function, code.barriers, launch.items, group, lambda: sum(hits[site] for site in sites))
            found = list(_instances(code, log, number, index))
            busy += len(lanes | {lane for instance in found for lane, _ in instance.touched})
            self.instances.extend(found)
        for site, times in enumerate(hits):
            for operation, each in code.sites[site].items():
                self.operations[operation] += times * each
        size = launch.items[0] * launch.items[1] * launch.items[2]
        self.grids.append(Grid(launch.name, launch.groups, launch.items, len(groups) * size - busy))


def run(
    t_unit: lp.TranslationUnit, parameters: Mapping[str, Any], subgroup_size: int = 32, arrays: Arrays | None = None,
    integers: int = INTEGERS,
) -> tuple[Executed, dict[str, Memory]]:  # fmt: skip
    """Execute *t_unit* at *parameters*; return what its generated code does, and global memory by array and address.

    Parameters are the kernel's scalar arguments (a floating-point one that is left out is 1.5). *arrays* gives contents
    where they decide what is executed; others hold reproducible numbers, integers from 0 to at most *integers* - 1.
    """
    source = program(t_unit)
    state, codes = _Execution(parameters, arrays or {}, integers), {}
    for launch in launches(source, parameters):
        if launch.name not in codes:
            codes[launch.name] = kernel_code(source, launch.name)
        state.launch(codes[launch.name], launch)
    barriers = state.operations.pop(BARRIER, 0)
    negations = sum(times for (_, kind), times in state.operations.items() if kind == NEGATION)
    trips = _mean_trips(state.operations)
    done = sorted((key, times) for key, times in state.operations.items() if times and key[1] != NEGATION)
    values = tuple((key, times) for key, times in done if not key[1].startswith(IN_INDEX))
    indices = tuple(
        ((dtype, kind.removeprefix(IN_INDEX)), times) for (dtype, kind), times in done
        if kind.startswith(IN_INDEX) and kind != IN_INDEX + NEGATION
    )
    executed = Executed(
        subgroup_size, values, negations, barriers, tuple(state.grids), tuple(state.instances), trips, indices
    )
    return executed, state.memory


def _mean_trips(noted: Counter[tuple[str, str]]) -> tuple[tuple[str, Fraction], ...]:
    """Remove the loops that data bounds from the notes; return the name of each, and its iterations by execution."""
    names = sorted(name for name, what in noted if what == ENTERED)
    counted = [(name, noted.pop((name, ENTERED)), noted.pop((name, REPEATED), 0)) for name in names]
    return tuple((name, Fraction(repeated, max(entered, 1))) for name, entered, repeated in counted)


def execute(t_unit: lp.TranslationUnit, parameters: Mapping[str, Any], *rest: Any, **named: Any) -> Executed:
    """As `run`, without the memory."""
    return run(t_unit, parameters, *rest, **named)[0]
