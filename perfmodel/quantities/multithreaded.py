r"""The work of a device's busiest compute unit, whose concurrent sub-groups hide each other's latency, as on a GPU.

Input: a :class:`Case`. Output: one amount for each resource of the unit, summed over all launches.

Of G work-groups the busiest of U units runs :math:`\lceil G/U \rceil`, so that a sum over all groups counts
:math:`\lceil G/U \rceil/G` times. A unit holds B groups at once and runs its groups in :math:`\max(1, \lceil G/U
\rceil/B)` rounds, each of which lasts at least as long as one sub-group alone.

Accesses are those of compiled code (:mod:`perfmodel.counts.nests.issues`). Each access of a sub-group touches sectors
of global memory, or words in banks of local memory; the first-level and the last cache fetch
:func:`~perfmodel.quantities.accesses.lines_fetched`.

The resources are those of Sim et al. in Kim et al. (2012), section 4.1, and of Wang and Lou (2017), section 3; but each
access counts by itself.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from perfmodel.counts.counters.banks import WORD_BYTES
from perfmodel.counts.nests.nest import Issue
from perfmodel.quantities.accesses import AccessMotion, SizedAccess, lines_fetched
from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import SIMPLE
from perfmodel.quantities.occupancy import groups_held
from perfmodel.quantities.traffic import last_cache
from perfmodel.values import FrozenValue

FUNCTIONS: Mapping[str, float] = MappingProxyType({
    "div": 6, "sqrt": 6, "rsqrt": 8, "exp": 16, "log": 16, "tanh": 40, "pow": 40, "sin": 50, "cos": 50,
})  # fmt: skip
"""Multiply-adds of the same type that take as long as one of these operations, about as on a simulated GTX 480."""
OTHER_FUNCTION = 16
"""Multiply-adds of any other function."""
TEST_CYCLES = 4
"""Cycles in which a unit issues the test before an access that waits: a branch, not a predicate."""
SECTOR_BYTES = 32
"""Bytes of a transaction with global memory, if no fact gives them."""
REGISTERS = 40
"""Registers of a work-item without its private arrays: addresses, counters, intermediate values."""
WAITING_REGISTERS = 24
"""The same on devices where loads wait, which have few intermediate values."""
MOST_REGISTERS = 255
"""Most registers of a work-item, on NVIDIA's cards since Kepler and nearly so on AMD's."""
LEAST_CACHE = 16384
"""Bytes of a first-level cache that remain if local memory takes its part of it."""
INTEGER_DIVIDE: Mapping[str, float] = MappingProxyType({"32": 20, "64": 80})
"""Multiply-adds of a division or remainder of integers, by bits. NVIDIA's CUDA C++ Programming Guide names up to 20
instructions for 32 bits; a product of 64 bits takes four of 32 bits.
"""
SHORTER = 0.5
"""Latency of other operations over that of float64: 4 and 8 cycles on Volta."""

CHAIN: Mapping[str, str] = MappingProxyType({
    "chain_loads": "access", "chain_local": "access", "chain_private": "access", "chain_far": "access",
    "chain_barriers": "barrier", "chain_turns": "operation", "chain_tests": "operation",
    "chain_operations": "operation",
})  # fmt: skip
ISSUED = ("arithmetic", "turns", "wavefronts", "sectors", "stored_sectors")
MULTITHREADED_UNITS: Mapping[str, str] = MappingProxyType({
    "started": "launch", "dealt_groups": "work-group",
    "arithmetic": "cycle", "turns": "operation",
    "wavefronts": "access", "sectors": "access", "near_sectors": "access", "stored_sectors": "access",
    "memory_bytes": "byte", "stored_bytes": "byte", **CHAIN,
})  # fmt: skip
"""Unit of each quantity of :func:`multithreaded_resources`."""


def multithreaded_resources(case: Case) -> dict[str, Any]:
    """Return the work of the busiest unit, over all launches.

    - ``started``, ``dealt_groups``: launches, and work-groups of the unit.
    - ``arithmetic``: cycles in which the unit issues the operations of sub-groups at its peak. An addition and a
      multiplication of one nest and type are one operation, a function is :data:`FUNCTIONS` of them, float64 has its
      own rate; if loads wait, the test before an access takes :data:`TEST_CYCLES`. ``turns``: iterations of loops that
      are not unrolled.
    - ``sectors``: touched by loads from global memory, and from constant memory if lanes load different cells (an equal
      cell is an operand). ``near_sectors``: fetched by the first-level cache, and those of private arrays that tests
      keep in memory (``guarded_loads_wait``). ``stored_sectors``: touched by stores.
    - ``wavefronts``: accesses to local memory times their bank conflicts, at least as long as the unit takes to issue
      them (``load_store_lanes``); a pass takes two cycles if half the banks serve a cycle
      (``local_bandwidth_bytes_per_s``).
    - ``memory_bytes``, ``stored_bytes``: bytes that the last cache fetches for loads and writes for stores, shared
      evenly by the units.
    - ``chain_*``: what one sub-group waits for in sequence, times the rounds: loop iterations with loads from global
      memory, and with loads from local memory; accesses to private data in memory, and those beyond the first-level
      cache; barriers; iterations; tests of unrolled loops (if loads wait, they are in ``arithmetic``); operations
      (:data:`SHORTER`). If the compiler does not move loads over tests (``guarded_loads_wait``), a sub-group waits for
      each load behind a test as for far private data. If a load is issued only where its value is needed
      (``loads_wait``), ``chain_loads`` has each load that enters a new sector.
    """
    shape = np.broadcast_shapes(*(np.shape(size) for size in case.parameters.values()))
    if not shape:
        return _Unit(case).resources
    sizes = {name: np.broadcast_to(size, shape) for name, size in case.parameters.items()}
    units = [
        _Unit(Case(case.counts, {name: int(size[index]) for name, size in sizes.items()}, case.facts, case.family))
        for index in np.ndindex(shape)
    ]
    return {
        name: np.array([unit.resources[name] for unit in units]).reshape(shape) for name in MULTITHREADED_UNITS
    }


Motions = tuple[list[SizedAccess], list[AccessMotion]]


@dataclass(frozen=True)
class _Unit(FrozenValue):
    case: Case

    @cached_property
    def resources(self) -> dict[str, Any]:
        share = self.dealt / self.groups
        issued = {name: amount * share for name, amount in self._issued.items()}
        return {
            **issued, **self._moved,
            **{name: amount * self.rounds for name, amount in self._waited.items()},
            "started": self.launches, "dealt_groups": self.dealt,
        }

    # {{{ work-groups

    @cached_property
    def launches(self) -> float:
        return max(float(self.case.value(self.case.counts.launches())), 1.0)

    @cached_property
    def groups(self) -> float:
        return max(float(self.case.value(self.case.counts.work_groups())), 1.0)

    @cached_property
    def units(self) -> float:
        return float(self.case.fact("compute_units"))

    @cached_property
    def dealt(self) -> float:
        return math.ceil(self.groups / self.launches / self.units) * self.launches

    @cached_property
    def subgroups(self) -> int:
        launch = self.case.counts.launch
        return max(-(-math.prod(launch.group_shape) // self.case.counts.subgroup_size), 1)

    @property
    def lanes(self) -> int:
        return self.subgroups * self.case.counts.subgroup_size

    @property
    def loads_wait(self) -> bool:
        return bool(self.case.known("loads_wait", 0))

    @property
    def least_registers(self) -> int:
        return WAITING_REGISTERS if self.loads_wait else REGISTERS

    @cached_property
    def most_registers(self) -> float:
        """Registers that a work-item can have: a work-group's share of the unit's, in steps of 8."""
        if not self.case.knows("registers_per_unit"):
            return MOST_REGISTERS
        shared = float(self.case.fact("registers_per_unit")) // self.lanes // 8 * 8
        return min(max(shared, 8), MOST_REGISTERS)

    @cached_property
    def needed_registers(self) -> float:
        """Registers that a work-item would use, for private arrays that are not in memory and for kept values."""
        words = 0.0 if self._indexed | self._tested else self.case.counts.launch.private_bytes / WORD_BYTES
        kept: dict[tuple[int, str], float] = defaultdict(float)
        for issue, access in self._accesses:
            key = id(issue), access.access.array
            kept[key] = max(kept[key], access.kept)
        in_nests: dict[int, float] = defaultdict(float)
        for (nest, _), number in kept.items():
            in_nests[nest] += 0.0 if self.loads_wait else number
        return self.least_registers + words + max(in_nests.values(), default=0.0)

    @property
    def registers(self) -> float:
        return min(self.needed_registers, self.most_registers)

    @cached_property
    def held(self) -> float:
        limits = [groups_held(self.case), math.ceil(self.dealt / self.launches)]
        if self.case.knows("registers_per_unit"):
            limits.append(self.case.fact("registers_per_unit") // (self.lanes * -(-self.registers // 8) * 8))
        return max(min(limits), 1.0)

    @property
    def rounds(self) -> float:
        return max(self.dealt / self.held, 1.0)

    # }}}

    # {{{ what is issued

    @cached_property
    def _accesses(self) -> list[tuple[Issue, SizedAccess]]:
        return [
            (issue, SizedAccess.of(access, self.case.value, self.case.parameters))
            for issue in self.case.counts.issues for access in issue.accesses
        ]  # fmt: skip

    @cached_property
    def _indexed(self) -> frozenset[str]:
        """Private arrays that a remaining loop indexes: they are in memory."""
        return frozenset(
            access.array for issue in self.case.counts.issues for access in issue.private if access.indexed
        )

    @cached_property
    def _tested(self) -> frozenset[str]:
        """Private arrays in memory because the compiler moves nothing over tests."""
        waits = bool(self.case.known("guarded_loads_wait", 0))
        return frozenset(
            access.array for issue in self.case.counts.issues for access in issue.private if waits and access.tested
        )

    @cached_property
    def _tested_sectors(self) -> float:
        """Sectors of accesses to arrays that tests keep in memory, with adjacent lanes.

        They have :data:`SECTOR_BYTES` on every card: AMD's then rank better than with their own sector size.
        """
        return sum(
            float(self.case.value(access.reloads)) * self.case.counts.subgroup_size * access.bits / 8 / SECTOR_BYTES
            for issue in self.case.counts.issues for access in issue.private if access.array in self._tested
        )  # fmt: skip

    @cached_property
    def _spilled(self) -> tuple[float, float]:
        """Accesses of sub-groups to private data in memory, and the share that misses the first-level cache.

        Such data are arrays that loops index, else what does not fit in registers.
        """
        value, accesses = self.case.value, [access for issue in self.case.counts.issues for access in issue.private]
        if self._indexed:
            number = sum(float(value(access.count)) for access in accesses if access.array in self._indexed)
            of_item = float(self.case.counts.launch.private_bytes)
        else:
            data = self.needed_registers - self.least_registers
            lacking = 0.0 if self._tested else min(max(self.needed_registers - self.most_registers, 0.0), data)
            share = lacking / data if lacking else 0.0
            number = sum(share * float(value(access.reloads)) for access in accesses if share)
            of_item = lacking * WORD_BYTES
        held = math.prod(self.case.counts.launch.group_shape) * of_item  # by a group
        return number, max(1 - self._near_capacity / held, 0.0) if held else 0.0

    @cached_property
    def _issued(self) -> dict[str, float]:
        amounts = dict.fromkeys(ISSUED, 0.0)
        for issue in self.case.counts.issues:
            amounts["arithmetic"] += sum(number * self._cycles(dtype) for dtype, number in self._operations(issue))
            if issue.loops:
                amounts["turns"] += self.case.value(issue.turns)
        subgroup, banks = self.case.counts.subgroup_size, self.case.known("banks")
        for _, access in self._accesses:
            if self.loads_wait and access.access.guarded:
                amounts["arithmetic"] += access.count * TEST_CYCLES
            if access.access.space == "local":
                amounts["wavefronts"] += access.count * self._local_cycles(access.passes(subgroup, banks))
            elif access.access.space == "constant" and access.lanes is not None and not any(access.lanes):
                continue  # an operand of the instruction that uses it
            elif access.access.direction == "load":
                amounts["sectors"] += access.count * access.sectors(subgroup, self.sector)
            else:
                amounts["stored_sectors"] += access.count * access.sectors(subgroup, self.sector)
        return amounts

    def _local_cycles(self, passes: float) -> float:
        """Return the cycles of an access of a sub-group to local memory: to issue it, and for its passes."""
        subgroup, for_pass = self.case.counts.subgroup_size, 1.0
        issuing = subgroup / float(self.case.known("load_store_lanes", subgroup))
        if self.case.knows("banks", "local_bandwidth_bytes_per_s", "clock_hz"):
            per_cycle = self.case.fact("local_bandwidth_bytes_per_s") / self.units / self.case.fact("clock_hz")
            for_pass = float(self.case.fact("banks") * WORD_BYTES / per_cycle)
        return max(passes * for_pass, issuing)

    def _operations(self, issue: Issue) -> Iterable[tuple[str, float]]:
        """Yield multiply-adds, by type, that take as long as the operations of sub-groups."""
        numbers = {(row.dtype, row.kind): self.case.value(row.count) for row in issue.operations}
        for (dtype, kind), number in numbers.items():
            fused = min(number, numbers.get((dtype, "mul"), 0.0)) if kind == "add" else 0.0
            longer = FUNCTIONS.get(kind, OTHER_FUNCTION)
            if kind == "div" and "int" in dtype:
                longer = INTEGER_DIVIDE["64" if dtype.endswith("64") else "32"]
            yield dtype, (number - fused) * (1 if kind in SIMPLE else longer)

    def _cycles(self, dtype: str) -> float:
        subgroup, lanes = self.case.counts.subgroup_size, float(self.case.known("lanes_per_unit", 0))
        lanes = lanes or subgroup
        if dtype == "float64":
            lanes = lanes / 2
            if self.case.knows("peak_flops_float64", "clock_hz"):
                lanes = self.case.fact("peak_flops_float64") / (2 * self.case.fact("clock_hz") * self.units)
        return subgroup / lanes

    # }}}

    # {{{ what caches fetch

    @cached_property
    def sector(self) -> int:
        return int(self.case.known("global_transaction_bytes", SECTOR_BYTES))

    @cached_property
    def _moved(self) -> dict[str, float]:
        """The unit's share of the sectors and bytes that caches fetch, and of stored bytes."""
        wave, last = self.held * self.units, float(last_cache(self.case, self.sector) or math.inf)
        motions = self._motions(waits=False)
        near_motions = self._motions(waits=True) if self.loads_wait else motions
        near = min(self._fetched(near_motions, 1.0, self._near_capacity)["load"], self._issued["sectors"])
        from_memory = self._fetched(motions, wave, last)
        far = min(from_memory["load"], near)
        stored = min(from_memory["store"], self._issued["stored_sectors"])
        each = self.sector / self.units
        return {
            "near_sectors": (near + self._tested_sectors) * self.dealt / self.groups,
            "memory_bytes": far * each, "stored_bytes": stored * each,
        }

    @property
    def _near_capacity(self) -> float:
        """Bytes of the first-level cache for each group on a unit; local memory may be a part of it."""
        cache, local = float(self.case.known("l1_bytes", 0)), float(self.case.known("local_memory_bytes", 0))
        if cache >= local:
            cache = max(cache - self.held * self.case.counts.launch.local_bytes, min(LEAST_CACHE, cache))
        return cache / self.held

    def _fetched(self, launches: Iterable[Motions], concurrent: float, capacity: float) -> dict[str, float]:
        """Return the sectors that a cache fetches for loads and for stores of global memory."""
        total = {"load": 0.0, "store": 0.0}
        for unknown, motions in launches:
            for access in unknown:
                total[access.access.direction] += access.count * access.active
            lines = lines_fetched(motions, self._grid(motions), concurrent, capacity, self.sector)
            for array, number in lines.items():
                total[array.partition(" ")[0]] += number
        return total

    def _motions(self, waits: bool) -> list[Motions]:
        launches: dict[int, Motions] = {}
        for issue, access in self._accesses:
            if access.access.space == "global":
                unknown, motions = launches.setdefault(issue.launch, ([], []))
                if (motion := access.motion(waits)) is None:
                    unknown.append(access)
                else:
                    motions.append(motion)
        return [launches[launch] for launch in sorted(launches)]

    @staticmethod
    def _grid(motions: Iterable[AccessMotion]) -> dict[str, float]:
        grid: dict[str, float] = {}
        for motion in motions:
            for name, (_, values) in motion.groups.items():
                grid[name] = max(grid.get(name, 1.0), values)
        return dict(sorted(grid.items(), key=lambda item: _digit(item[0])))

    # }}}

    @cached_property
    def _waited(self) -> dict[str, float]:
        number, value = self.groups * self.subgroups, self.case.value
        waits = dict.fromkeys(CHAIN, 0.0)
        for issue in self.case.counts.issues:
            turns = value(issue.turns)
            spaces = {access.space for access in issue.accesses if access.direction == "load"}
            waits["chain_loads"] += turns if "global" in spaces else 0.0
            waits["chain_local"] += turns if "local" in spaces else 0.0
            waits["chain_turns"] += turns if issue.loops else 0.0
        loads = [
            access for _, access in self._accesses
            if access.access.direction == "load" and access.access.space == "global"
        ]  # fmt: skip
        if self.loads_wait:
            waits["chain_loads"] += sum(load.count * load.entering(self.sector) for load in loads)
        spilled, missed = self._spilled
        waits["chain_private"] = spilled
        waits["chain_far"] = spilled * missed
        if self.case.known("guarded_loads_wait", 0):
            waits["chain_far"] += sum(value(load.access.count) for load in loads if load.access.guarded)
        waits["chain_tests"] = 0.0 if self.loads_wait else sum(value(i.tests) for i in self.case.counts.issues)
        waits["chain_operations"] = sum(
            number * (1.0 if dtype == "float64" else SHORTER)
            for issue in self.case.counts.issues for dtype, number in self._operations(issue)
        )
        items = math.prod(self.case.counts.launch.group_shape)
        waits["chain_barriers"] = value(self.case.counts.barriers()) / items * self.subgroups
        return {name: amount / number for name, amount in waits.items()}


def _digit(name: str) -> tuple[str, int]:
    axis, _, unit = name.partition("/")
    return axis, int(unit or 1)
