r"""The work of a device's busiest compute unit, whose concurrent sub-groups hide each other's latency, as on a GPU.

The busiest of U units runs :math:`\lceil G/U \rceil` of G work-groups, so a sum over all groups is multiplied by
:math:`\lceil G/U \rceil/G`. A unit holds B groups at once and runs its groups in :math:`\max(1, \lceil G/U \rceil/B)`
rounds. Each round lasts at least as long as one sub-group alone.

Accesses are those of compiled code (:mod:`perfmodel.counts.nests.issues`). Each access of a sub-group touches sectors
of global memory, or words in banks of local memory. The first-level and the last cache fetch
:func:`~perfmodel.quantities.accesses.lines_fetched`. The resources are those of Sim et al. in Kim et al. (2012),
section 4.1, and of Wang and Lou (2017), section 3. Unlike there, each access is counted separately.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from perfmodel.counts import Count, KernelCounts
from perfmodel.counts.counters.banks import WORD_BYTES
from perfmodel.counts.nests.digits import name_and_place_value
from perfmodel.counts.nests.issues import IssuedNest
from perfmodel.counts.quasipoly.distinct import JointCounts
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.facts.doubts import AssumedFact
from perfmodel.quantities.accesses import AccessMotion, SizedAccess, lines_fetched
from perfmodel.quantities.case import Case, groups_held
from perfmodel.quantities.instructions import SIMPLE
from perfmodel.values import cached_method

FUNCTIONS: Mapping[str, float] = {
    "div": 6, "sqrt": 6, "rsqrt": 8, "exp": 16, "log": 16, "tanh": 40, "pow": 40, "intpow": 8, "sin": 50, "cos": 50,
}  # fmt: skip
"""The multiply-adds of the same type that take as long as one operation, about as on a simulated GTX 480.

In float32, rsqrt is one instruction of the units for special functions, and no multiply-add.
"""
OTHER_FUNCTION = 16  # multiply-adds of any other function
SPECIAL: Mapping[str, float] = {
    "div": 1, "sqrt": 1, "rsqrt": 1, "exp": 1, "log": 1, "tanh": 2, "pow": 2, "sin": 1, "cos": 1,
}  # fmt: skip
"""The instructions of a floating-point function that the units for special functions execute, besides multiply-adds."""
SPECIAL_SHARES = (1 / 4, 1 / 8)
"""Units for special functions per lane, if no fact gives them: the assumed share, and another share of some GPUs.

NVIDIA's cards with 64 lanes in a unit and AMD's cards have a quarter, and NVIDIA's cards with 128 lanes an eighth.
"""
INTEGER_DIVIDE: Mapping[str, float] = {"32": 20, "64": 80}
"""Multiply-adds of a division or remainder of integers, by bits. NVIDIA's CUDA C++ Programming Guide names up to 20
instructions for 32 bits; a product of 64 bits takes four of 32 bits.
"""
TURN = 6  # dependent instructions of an iteration of a rolled loop: to count, to test and to branch
TEST_CYCLES = 4  # cycles to issue the test before an access that waits: a branch, not a predicate
SECTOR_BYTES = 32  # of a transaction with global memory, if no fact gives them
REGISTERS = 24  # registers of a work-item without its private arrays: addresses, counters, intermediate values
MOST_REGISTERS = 255  # of a work-item, on NVIDIA's cards since Kepler; AMD's cards have nearly the same limit
LEAST_CACHE = 16384  # least bytes of a first-level cache that remain if local memory is a part of it

CHAIN: Mapping[str, str] = {
    "chain_loads": "access", "chain_local": "access", "chain_private": "access", "chain_far": "access",
    "chain_barriers": "barrier", "chain_tests": "operation", "chain_operations": "operation",
}  # fmt: skip
ISSUED = ("arithmetic", "turns", "wavefronts", "sectors", "stored_sectors")
MULTITHREADED_UNITS: Mapping[str, str] = {
    "started": "launch", "dealt_groups": "work-group", "arithmetic": "cycle", "turns": "operation",
    "wavefronts": "access", "sectors": "access", "near_sectors": "access", "stored_sectors": "access",
    "memory_bytes": "byte", "stored_bytes": "byte", **CHAIN,
}  # fmt: skip
"""Unit of each quantity of :func:`multithreaded_resources`."""


def multithreaded_resources(case: Case) -> dict[str, Any]:
    """Return the work of the busiest unit, over all launches.

    - ``arithmetic``: cycles in which the unit issues the operations of sub-groups at its peak. An addition and a
      multiplication of one nest and type are one operation, and a comparison or select is one. A function counts as
      :data:`FUNCTIONS` operations, and its :data:`SPECIAL` instructions run at the same time in units of their own. The
      type float64 has its own rate. If loads wait, the test before an access takes :data:`TEST_CYCLES`. ``turns``:
      iterations of rolled loops.
    - ``sectors``: touched by loads from global memory, and from constant memory if lanes load different cells.
      ``near_sectors``: fetched by the first-level cache, and sectors of private arrays that tests keep in memory
      (``guarded_loads_wait``). ``stored_sectors``: touched by stores.
    - ``wavefronts``: accesses to local memory times their bank conflicts. The least number is the cycles in which the
      unit issues the accesses (``load_store_lanes``). If a cycle serves half of the banks, a pass takes two cycles.
      A load from global memory moves each word to the registers in the same cycles, although its lanes share sectors.
    - ``memory_bytes``, ``stored_bytes``: the unit's share of the last cache's loads and stores.
    - ``chain_*``: the waits of one sub-group in sequence, times the rounds. If the compiler does not move loads over
      tests (``guarded_loads_wait``), a sub-group waits for a load behind a test as long as for far private data. If a
      load is issued only where its value is needed (``loads_wait``), ``chain_loads`` has each load that enters a
      sector. ``chain_operations``: the instructions of a sub-group, each of which can wait for the one before, and
      :data:`TURN` for each iteration of a rolled loop.
    """
    if not case.shape:
        return _Unit(case).resources()
    resources = [_Unit(replace(case, parameters=point)).resources() for point in case.points()]
    return {name: np.array([each[name] for each in resources]).reshape(case.shape) for name in MULTITHREADED_UNITS}


Motions = tuple[list[SizedAccess], list[AccessMotion]]


def assumed_special_units(facts: DeviceFacts) -> Iterator[tuple[AssumedFact, Fact]]:
    """Yield a caution if the number of units for special functions is unknown, and another plausible number."""
    key = "special_units_per_unit"
    if not facts.known(key, 0):
        lanes = float(facts.known("lanes_per_unit", 0)) or float(facts.known("subgroup_size", 32))
        assumed, other = (share * lanes for share in SPECIAL_SHARES)
        yield AssumedFact(key, assumed, other), Fact(other, "", "assumed, by its lanes")


@cached_method
def _evaluated_together(counts: KernelCounts) -> JointCounts:
    """Return the counts that :class:`_Unit` needs. The first are launches, work-groups, decisions and barriers."""
    needed = [counts.launches(), counts.work_groups(), counts.decisions, counts.barriers()]
    for issue in counts.issues:
        needed += [issue.turns, issue.tests, *(row.count for row in issue.operations)]
        for access in issue.accesses:
            moves = (count for move in access.moves for count in (move.step, move.values))
            needed += [access.count, access.items, access.start, *(access.lanes or ()), *moves]
        needed += [count for access in issue.private for count in (access.count, access.reloads)]
    return JointCounts(needed)


class _Unit:
    def __init__(self, case: Case) -> None:
        self.case, self.counts, self.known = case, case.counts, case.known
        joint = _evaluated_together(case.counts)
        numbers = [float(number) for number in joint.at(case.parameters)]
        values = dict(zip(map(id, joint), numbers, strict=True))
        self.value: Callable[[Count], float] = lambda count: values[id(count)]
        self.launches, self.groups, self.decisions, self.barriers = numbers[:4]
        self.launches, self.groups = max(self.launches, 1.0), max(self.groups, 1.0)
        self.units = float(case.fact("compute_units"))
        self.dealt = math.ceil(self.groups / self.launches / self.units) * self.launches
        self.subgroup, self.items = case.counts.subgroup_size, math.prod(case.counts.launch.group_shape)
        self.subgroups = max(-(-self.items // self.subgroup), 1)
        self.lanes = float(case.known("lanes_per_unit", 0)) or self.subgroup
        self.special_units = float(case.known("special_units_per_unit", 0)) or self.lanes * SPECIAL_SHARES[0]
        self.sector = int(case.known("global_transaction_bytes", SECTOR_BYTES))
        self.loads_wait = bool(case.known("loads_wait", 0))
        self.guarded_loads_wait = bool(case.known("guarded_loads_wait", 0))
        self.accesses = [
            (issue, SizedAccess.of(access, self.value, case.parameters))
            for issue in case.counts.issues for access in issue.accesses
        ]  # fmt: skip
        self.private = [access for issue in case.counts.issues for access in issue.private]
        #: private arrays in memory: indexed by a remaining loop, or with tests over which the compiler moves nothing
        self.words = self.counts.launch.private_bytes / WORD_BYTES
        large = REGISTERS + self.words > self.most_registers
        self.indexed = {p.array for p in self.private if p.indexed or (p.around_barriers and large)}
        self.tested = {access.array for access in self.private if self.guarded_loads_wait and access.tested}

    def resources(self) -> dict[str, Any]:
        share, rounds = self.dealt / self.groups, max(self.dealt / self.held, 1.0)
        return {
            **{name: amount * share for name, amount in self.issued.items()},
            **self._moved(), **{name: amount * rounds for name, amount in self._waited().items()},
            "started": self.launches, "dealt_groups": self.dealt,
        }

    @cached_property
    def most_registers(self) -> float:
        if not self.case.knows("registers_per_unit"):
            return MOST_REGISTERS
        shared = float(self.case.fact("registers_per_unit")) // (self.subgroups * self.subgroup) // 8 * 8
        return min(max(shared, 8), MOST_REGISTERS)

    @cached_property
    def needed_registers(self) -> float:
        """Registers that a work-item would use, for private arrays that are not in memory and for kept values."""
        words = 0.0 if self.indexed | self.tested else self.words
        kept: dict[tuple[int, str], float] = defaultdict(float)
        for issue, access in self.accesses:
            key = id(issue), access.access.array
            kept[key] = max(kept[key], access.kept)
        in_nests: dict[int, float] = defaultdict(float)
        for (nest, _), number in kept.items():
            in_nests[nest] += 0.0 if self.loads_wait else number
        return REGISTERS + words + max(in_nests.values(), default=0.0)

    @cached_property
    def held(self) -> float:
        limits = [groups_held(self.case), math.ceil(self.dealt / self.launches)]
        if self.case.knows("registers_per_unit"):
            registers = -(-min(self.needed_registers, self.most_registers) // 8) * 8
            limits.append(self.case.fact("registers_per_unit") // (self.subgroups * self.subgroup * registers))
        return max(min(limits), 1.0)

    def _spilled(self) -> tuple[float, float]:
        """Return the accesses of sub-groups to private data in memory, and their share beyond the first-level cache."""
        if self.indexed:
            number = sum(self.value(access.count) for access in self.private if access.array in self.indexed)
            of_item = float(self.counts.launch.private_bytes)
        else:
            data = self.needed_registers - REGISTERS
            lacking = 0.0 if self.tested else min(max(self.needed_registers - self.most_registers, 0.0), data)
            share = lacking / data if lacking else 0.0
            number = sum(share * self.value(access.reloads) for access in self.private if share)
            of_item = lacking * WORD_BYTES
        held = self.items * of_item  # by a group
        return number, max(1 - self.near_capacity / held, 0.0) if held else 0.0

    @cached_property
    def issued(self) -> dict[str, float]:
        amounts = dict.fromkeys(ISSUED, 0.0)
        for issue in self.counts.issues:
            amounts["arithmetic"] += sum(number * self._cycles(dtype) for dtype, number in self._operations(issue))
            if issue.loops:
                amounts["turns"] += self.value(issue.turns)
        amounts["arithmetic"] += self.decisions * self._cycles("float32")
        special = sum(number for issue in self.counts.issues for number in self._special(issue))
        amounts["arithmetic"] = max(amounts["arithmetic"], special * self.subgroup / self.special_units)
        for _, access in self.accesses:
            if self.loads_wait and access.access.guarded:
                amounts["arithmetic"] += access.count * TEST_CYCLES
            if access.access.space == "local":
                passes = access.passes(self.subgroup, self.known("banks"))
                amounts["wavefronts"] += access.count * self._local_cycles(passes)
            elif not _is_operand(access):
                name = "sectors" if access.access.direction == "load" else "stored_sectors"
                if name == "sectors":
                    amounts["wavefronts"] += access.count * self._local_cycles(max(access.size / WORD_BYTES, 1.0))
                amounts[name] += access.count * access.sectors(self.subgroup, self.sector)
        return amounts

    def _local_cycles(self, passes: float) -> float:
        """Return the cycles that a sub-group's access to local memory takes to issue and for its passes."""
        issuing, for_pass = self.subgroup / float(self.known("load_store_lanes", self.subgroup)), 1.0
        if self.case.knows("banks", "local_bandwidth_bytes_per_s", "clock_hz"):
            per_cycle = self.known("local_bandwidth_bytes_per_s") / self.units / self.known("clock_hz")
            for_pass = float(self.known("banks") * WORD_BYTES / per_cycle)
        return max(passes * for_pass, issuing)

    def _operations(self, issue: IssuedNest) -> Iterator[tuple[str, float]]:
        """Yield multiply-adds, by type, that take as long as the operations of sub-groups."""
        numbers = {(row.dtype, row.kind): self.value(row.count) for row in issue.operations}
        for (dtype, kind), number in numbers.items():
            fused = min(number, numbers.get((dtype, "mul"), 0.0)) if kind == "add" else 0.0
            longer = FUNCTIONS.get(kind, OTHER_FUNCTION)
            if kind == "div" and "int" in dtype:
                longer = INTEGER_DIVIDE["64" if dtype.endswith("64") else "32"]
            if (dtype, kind) == ("float32", "rsqrt"):
                longer = 0.0
            yield dtype, (number - fused) * (1 if kind in SIMPLE else longer)

    def _special(self, issue: IssuedNest) -> Iterator[float]:
        """Yield the instructions for units for special functions."""
        for row in issue.operations:
            if "float" in row.dtype and row.kind in SPECIAL:
                yield self.value(row.count) * SPECIAL[row.kind]

    def _cycles(self, dtype: str) -> float:
        lanes = self.lanes
        if dtype == "float64":
            lanes = lanes / 2
            if self.case.knows("peak_flops_float64", "clock_hz"):
                lanes = self.known("peak_flops_float64") / (2 * self.known("clock_hz") * self.units)
        return self.subgroup / lanes

    def _moved(self) -> dict[str, float]:
        last = self.known("l3_bytes", self.known("l2_bytes", self.known("cache_bytes", math.inf)))  # before memory
        motions = self._motions(waits=False)
        near_motions = self._motions(waits=True) if self.loads_wait else motions
        near = min(self._fetched(near_motions, 1.0, self.near_capacity)["load"], self.issued["sectors"])
        from_memory = self._fetched(motions, self.held * self.units, max(last, self.sector))
        far, stored = min(from_memory["load"], near), min(from_memory["store"], self.issued["stored_sectors"])
        # sectors of private arrays that tests keep in memory, with adjacent lanes. They have SECTOR_BYTES on every
        # card: AMD's then rank better than with their own sector size
        tested = sum(
            self.value(access.reloads) * self.subgroup * access.bits / 8 / SECTOR_BYTES
            for access in self.private if access.array in self.tested
        )  # fmt: skip
        each = self.sector / self.units
        return {
            "near_sectors": (near + tested) * self.dealt / self.groups,
            "memory_bytes": far * each, "stored_bytes": stored * each,
        }  # fmt: skip

    @cached_property
    def near_capacity(self) -> float:
        """Bytes of the first-level cache for each group on a unit. Local memory may be a part of this cache."""
        cache, local = float(self.known("l1_bytes", 0)), float(self.known("local_memory_bytes", 0))
        if cache >= local:
            cache = max(cache - self.held * self.counts.launch.local_bytes, min(LEAST_CACHE, cache))
        return cache / self.held

    def _fetched(self, launches: Iterable[Motions], concurrent: float, capacity: float) -> dict[str, float]:
        total = {"load": 0.0, "store": 0.0}
        for unknown, motions in launches:
            for access in unknown:
                total[access.access.direction] += access.count * access.active
            for array, lines in lines_fetched(motions, _grid(motions), concurrent, capacity, self.sector).items():
                total[array.partition(" ")[0]] += lines
        return total

    def _motions(self, waits: bool) -> list[Motions]:
        """Return for each launch the accesses to global memory whose motion is unknown, and the known motions."""
        launches: dict[int, Motions] = {}
        for issue, access in self.accesses:
            if access.access.space == "global":
                unknown, motions = launches.setdefault(issue.nest.loops.launch, ([], []))
                if (motion := access.motion(waits)) is None:
                    unknown.append(access)
                else:
                    motions.append(motion)
        return [launches[launch] for launch in sorted(launches)]

    def _waited(self) -> dict[str, float]:
        issues, waits = self.counts.issues, dict.fromkeys(CHAIN, 0.0)
        for issue in issues:
            turns = self.value(issue.turns)
            spaces = {access.space for access in issue.accesses if access.direction == "load"}
            waits["chain_loads"] += turns if "global" in spaces else 0.0
            waits["chain_local"] += turns if "local" in spaces else 0.0
            waits["chain_tests"] += 0.0 if self.loads_wait else self.value(issue.tests)
            waits["chain_operations"] += sum(number for _, number in self._operations(issue))
            waits["chain_operations"] += sum(self._special(issue)) + (TURN * turns if issue.loops else 0.0)
        waits["chain_operations"] += sum(access.count for _, access in self.accesses if not _is_operand(access))
        waits["chain_operations"] += self.decisions
        loads = [a for _, a in self.accesses if (a.access.direction, a.access.space) == ("load", "global")]
        if self.loads_wait:
            waits["chain_loads"] += sum(load.count * load.entering(self.sector) for load in loads)
        waits["chain_private"], missed = self._spilled()
        waits["chain_far"] = waits["chain_private"] * missed
        if self.guarded_loads_wait:
            waits["chain_far"] += sum(self.value(load.access.count) for load in loads if load.access.guarded)
        waits["chain_barriers"] = self.barriers / self.items * self.subgroups
        return {name: amount / (self.groups * self.subgroups) for name, amount in waits.items()}


def _is_operand(access: SizedAccess) -> bool:
    """Return whether a load is an operand of the instruction that uses it: a constant that all lanes share."""
    return access.access.space == "constant" and access.lanes is not None and not any(access.lanes)


def _grid(motions: Iterable[AccessMotion]) -> dict[str, float]:
    grid: dict[str, float] = {}
    for motion in motions:
        for name, (_, values) in motion.groups.items():
            grid[name] = max(grid.get(name, 1.0), values)
    return {name: grid[name] for name in sorted(grid, key=name_and_place_value)}
