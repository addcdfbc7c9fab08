r"""The operations, accesses, loop iterations and chains that the nests of a launch make a device execute.

A nest may run in *vectors*: V neighbouring work-items execute each instruction together::

    work-items   0 1 2 3 4 5 6 7 | 8 9 ...        V = 8 lanes of float32
    a[i]         one vector load                  lane stride 1, or 0
    a[16*i]      eight gathers                    larger lane stride
    a[i] + b[i]  one instruction
    loop         two instructions per iteration

Nests run in vectors if the device or the compiler runs neighbouring work-items together:

- ``lockstep``: all work-items that fill vectors along the first axis of the group run in vectors. The others run one by
  one.
- ``serial``, kernel without barriers: nests run in vectors if the kernel has no loop. The loop over the work-items is
  then innermost. Accesses with larger lane strides are gathered, unless all cells between are accessed too.
- ``serial``, kernel with barriers: nests run in vectors unless they have a loop that a test or the trips make different
  for work-items. The loop over the work-items is then inside all loops. Accesses there are gathered element by element.

On a ``serial`` device, iterations of a loop that carries nothing may run in vectors instead. On a CPU in
``lockstep`` they may too if a group is one work-item, and a loop that carries a sum becomes vectors of partial sums.
The cells that a work-item sums independently may run in vectors too. These rules follow from the machine code of random
kernels (docs/lab/families.md). All amounts are multiplied by the load imbalance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from math import gcd, inf

import numpy as np
from numpy.typing import NDArray

from perfmodel.counts.program.program import INDEX_DIVISIONS
from perfmodel.counts.traffic.footprints import Cache
from perfmodel.quantities.bottleneck import compiled, execution
from perfmodel.quantities.bottleneck.device import DeviceUnits
from perfmodel.quantities.instructions import INLINED, NATIVE, SIMPLE, is_call

PACKED, PAIRED = 4, 2
"""Fewest independent chains of one variable that a compiler packs into a vector; PAIRED if neighbours are stored."""
PACKED_MINMAX = 2.0
"""Ratio of the cost of a minimum or maximum of packed values to the cost for one value.

OpenCL's fmin and fmax ignore NaN. The machine code of PoCL 3.1 has a maximum and a masked move for one value, and two
comparisons to masks, their union and a masked move for a vector.
"""
LANE_DIVISION = 8  # instructions for each lane of a division of 32 bits by a literal: Intel's compiler makes no vectors
VECTOR_CODE = {"mul": 2, "mulhi": 5}  # instructions of vector products of integers: an x86 core makes two of vpmulld
WRONG_BRANCH = 10.0  # additions of float32 on a chain that take as long as a branch that a core predicted wrongly
IDLE_CODE = 8
"""Instructions of a work-item that a test leaves out, where a compiler loops over the work-items, as PoCL 3.1 has them.

Three are the test, and five are the loop with two induction variables. Eager array operations of programs run 3 to 10
work-items of groups of 32.
"""
FLOOR_CODE = 19  # instructions of floor and ceil in PoCL's library, beyond the first: conversions, tests and the sign
CONVERSION_CODE = 3  # instructions of a conversion between integer and floating point beyond one, in scalar code
ADDRESS_CODE = 4  # instructions of an address with products, if Intel's compiler loops over work-items in an interval
CHAIN_NAMES: Mapping[str, str] = {
    "minmax": "chain_minmax", "div": "chain_divide", "sqrt": "chain_root", "rsqrt": "chain_root", "pow": "chain_power",
}
INTEGER_SLOW = ("div", "pow", *INDEX_DIVISIONS)  # integer operations that take much longer than an instruction
UNFUSED = SIMPLE - {"add", "mul", "minmax"}  # simple operations of one instruction each that never join another
CALLED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("exp", "exp2", "exp10", "expm1"), "exponential"),
    **dict.fromkeys(("log", "log2", "log10", "log1p"), "logarithm"),
    **dict.fromkeys(("sin", "cos", "tan", "sincos"), "circular"),
}
"""Functions that a library computes in similar ways; any other is a ``function``."""
LONG_CALLS: Mapping[str, float] = {"atan": 3.0, "atan2": 4.0, "erf": 2.0, "erfc": 5.0, "hypot": 3.0}
"""Calls of PoCL's library that take longer than its other ones, and how many times as long (docs/lab/functions.md)."""
Quantities = defaultdict[str, float]


class LaunchWork:
    """A launch of a kernel at given sizes on a device."""

    def __init__(
        self, launch: compiled.CompiledLaunch[float], kernel: compiled.CompiledKernel[float], device: DeviceUnits,
        group_work: NDArray[np.float64] | None = None,  # of each group; None if all do the same, or for very many
    ) -> None:
        self.launch, self.kernel, self.device = launch, kernel, device
        self.lockstep = device.order == "lockstep"  # whether the device, not a compiler, runs work-items together
        self.items = launch.group_items * launch.groups  # of all launches
        #: whether a work-item has no neighbour with which a device in lockstep could run it: its loops are compiled
        self.alone = device.reorders_sums and launch.group_items == 1
        #: time of the busiest unit over the mean of all
        if group_work is None:
            self.imbalance = execution.rounds_over_mean(launch.groups / max(launch.launches, 1.0), device.units)
        else:
            self.imbalance = execution.busiest_over_mean(group_work, device.units, device.takes_shares)

    def add_to(self, quantities: Quantities) -> None:
        """Add the launch's quantities."""
        quantities["launched"] += self.launch.launches
        quantities["groups"] += self.launch.groups
        for nest in self.launch.unrolled if self.device.reorders_sums else self.launch.nests:
            if nest.iterations > 0:
                NestWork(self, nest, quantities).add()
        if not (self.lockstep or self.launch.barriers or self.launch.packs_items(self.device.masks_gathers)):
            idle = self.items - max((nest.items for nest in self.launch.nests), default=self.items)
            quantities["iterations"] += max(idle, 0.0) * self.imbalance
            quantities["instructions"] += max(idle, 0.0) * self.imbalance * IDLE_CODE


class NestWork:
    """A nest of a launch. The method :meth:`add` adds the work of the nest to ``quantities``."""

    def __init__(self, work: LaunchWork, nest: compiled.CompiledNest[float], quantities: Quantities) -> None:
        self.work, self.nest, self.quantities = work, nest, quantities
        self.launch, self.device, self.lockstep = work.launch, work.device, work.lockstep

    def add(self) -> None:
        """Add the quantities of the nest."""
        instructions = self._add_operations() + self._add_loops()
        instructions += sum(map(self._add_access, self.nest.accesses)) + self._add_spills()
        if self.device.reorders_sums and self.launch.barriers and not (self.in_vectors or self.work.alone):
            addresses = (each.executions for each in self.nest.accesses if each.odd_pitch or each.widened)
            instructions += ADDRESS_CODE * sum(addresses)
        self._add("instructions", instructions)
        self._add_chains(instructions)

    @cached_property
    def in_vectors(self) -> bool:
        """Whether neighbouring work-items run together."""
        if self.lockstep:
            return self.launch.row_items >= self.device.lanes and not self._loses_neighbours
        if self.launch.row_items < 2 or self.nest.calls:
            return False
        wide = self.device.masks_gathers
        if self.launch.barriers:  # a test around a loop stays a branch; other tests become masks
            return not (self.nest.pairs.are_packed(wide) or (self.nest.guarded and self.nest.loops))
        return execution.packs_items(self.launch, wide)

    @cached_property
    def _loses_neighbours(self) -> bool:
        """Whether a 32-bit index ``lid + G*gid`` hides that neighbouring work-items access neighbouring cells.

        It does if G is not a power of two, and the compiler knows that the index is not negative, as no size is in it.
        """
        row = self.launch.row_items
        return self.device.loses_neighbours and row & (row - 1) != 0 and any(
            access.lane_strides and max(map(abs, access.lane_strides)) == 1 and not access.sized
            for access in self.nest.accesses
        )

    @cached_property
    def along_loop(self) -> bool:
        """Whether neighbouring iterations of the innermost loop run together."""
        nest, alone = self.nest, self.work.alone
        if (self.lockstep and not alone) or self.launch.barriers or self.in_vectors or nest.calls:
            return False
        near = [access.executions for access in nest.accesses if access.contiguous]
        # scattering takes longer than storing one by one
        far = [2 * access.executions for access in nest.accesses if alone and not (access.load or access.contiguous)]
        gains = sum([*near, *(operation.executions for operation in nest.operations)]) > sum(far)
        hinders = not alone and any(access.assumed_loop or access.scattered_copies for access in nest.accesses)
        several = nest.loops > 0 and execution.loop_lanes(nest, self.device.lanes_of(32)) > 1
        sums = alone and not nest.written_out
        free = all(sums and chain.operations.keys() == {"add"} for chain in nest.chains)
        return several and free and gains and not hinders

    @cached_property
    def serial_region(self) -> bool:
        """Whether a compiler loops over the work-items inside each barrier interval."""
        return self.in_vectors and not self.lockstep and self.launch.barriers

    @cached_property
    def items_innermost(self) -> bool:
        """Whether the loop over the work-items is inside the nest's loop. If so, 64-bit indices halve the vectors."""
        return self.serial_region and self.nest.loops > 0

    @cached_property
    def packed(self) -> float:
        """Values of one work-item that a compiler packs into a vector: the carried cells of a variable."""
        if self.in_vectors or self.along_loop or self.lockstep or self.nest.guarded_cells:
            return 1.0  # a compiler packs no values behind tests
        cells = max((chain.cells for chain in self.nest.chains), default=1)
        together = float(self.nest.pairs.stored)
        return max(together, float(cells)) if cells >= (PAIRED if self.launch.stores_pairs else PACKED) else together

    def lanes(self, bits: int) -> float:
        """Return how many values of ``bits`` bits one instruction handles."""
        if self.along_loop:
            return execution.loop_lanes(self.nest, self.device.lanes_of(bits))
        if not self.in_vectors:
            return min(self.packed, self.device.lanes_of(bits))
        lanes, row = self.device.lanes_of(64 if self.items_innermost else bits), self.launch.row_items
        rest = row % self.device.lanes if self.lockstep else 0  # work-items that do not fill a vector run one by one
        return row / ((row - rest) / lanes + rest) if rest else lanes

    @cached_property
    def item_lanes(self) -> float:
        """Work-items that run together."""
        return self.lanes(32) if self.in_vectors else 1.0

    @cached_property
    def masked(self) -> float:
        """Ratio of executed lanes to needed lanes. All lanes of a vector make as many iterations as the longest."""
        together = self.lockstep and self.in_vectors and self.nest.loops
        return self.nest.box / self.nest.iterations if together else 1.0

    def _add(self, quantity: str, amount: float) -> None:
        self.quantities[quantity] += self.work.imbalance * amount

    def _executed(self, part: compiled.CompiledOperation[float] | compiled.CompiledAccess[float]) -> float:
        """Return how often lanes execute a part. A vector executes what a data-dependent test leaves out, masked."""
        masks_lanes = self.in_vectors or self.along_loop
        return (part.unmasked if masks_lanes else part.executions) * self.masked

    def _add_operations(self) -> float:
        instructions, kinds_by_bits = 0.0, defaultdict[int, Quantities](lambda: defaultdict(float))
        for operation in self.nest.operations:
            if operation.kind == "atomic":  # one by one, also in a vector
                kinds_by_bits[operation.bits]["atomic"] += operation.executions
            elif operation.integer:
                instructions += self._add_integers(operation)
            else:
                kinds_by_bits[operation.bits][operation.kind] += self._executed(operation)
        for bits, kinds in kinds_by_bits.items():
            lanes = self.lanes(bits)
            simple = max(kinds["add"], kinds["mul"])  # a multiplication and an addition are fused
            simple += sum([amount for kind, amount in kinds.items() if kind in UNFUSED])
            simple += (0 if self.lockstep else FLOOR_CODE) * (kinds["floor"] + kinds["ceil"])
            simple += (CONVERSION_CODE if lanes == 1 else 0) * kinds["convert"]
            self._add("minmax", kinds["minmax"] / lanes)
            tests = 0.0 if self.lockstep or lanes == 1 else self.nest.pairs.nan_tests
            instructions += (simple + kinds["minmax"] * (1 + tests)) / lanes
            for kind, amount in kinds.items():
                if kind not in SIMPLE:
                    instructions += amount / lanes
                    self._add_special(bits, kind, amount)
        return instructions

    def _add_integers(self, operation: compiled.CompiledOperation[float]) -> float:
        """Add integer operations and return their instructions. Integer operations are not fused.

        On devices in lockstep, divisions of 32 bits run in vectors, or once for all lanes. Behind a test that may leave
        out lanes they run one by one, as no lane may divide by zero. A data-dependent power is a loop of products.
        """
        amount, lanes = self._executed(operation), self.lanes(operation.bits)
        if operation.kind in INTEGER_SLOW:
            shared = operation.kind == INDEX_DIVISIONS[1]
            # the weight of 64 bits is that of scalars
            bits = 64 if self.lockstep and (self.nest.guarded_row or shared) else float_bits(operation.bits)
            lanes = lanes if self.lockstep and (bits == 32 or shared) else 1.0
            self._add(f"int_divide_{bits}", amount / lanes)
        if operation.kind == "mulhi" and self.lockstep and operation.bits == 32:
            return amount * LANE_DIVISION
        return amount / lanes * (VECTOR_CODE.get(operation.kind, 1) if lanes > 1 else 1)

    def _add_special(self, bits: int, kind: str, amount: float) -> None:
        if kind == "intpow":  # a loop of products
            self._add("varied_entries", amount / self.lanes(bits))
            return
        lanes = self.lanes(bits)
        # only a device in lockstep calls a function for a whole vector
        if kind == "atomic" or (is_call(kind, bits) and not self.lockstep):
            amount, lanes = amount * LONG_CALLS.get(kind, 1.0), 1.0
        name = NATIVE.get(kind) or CALLED_NAMES.get(kind, "function")
        if kind in INLINED and lanes > 1 and not self.lockstep:
            name = "inlined"
        self._add("power" if kind == "pow" else f"{name}_{float_bits(bits)}", amount / lanes)

    def _add_loops(self) -> float:
        """Add loop iterations and the values kept between iterations. Return their instructions, two per iteration."""
        nest, launch, lanes = self.nest, self.launch, self.item_lanes
        # a device in lockstep unrolls a short innermost loop; a compiler that loops over work-items keeps each loop
        turns = (nest.entries if nest.written_out and self.lockstep else nest.iterations) * self.masked
        turns /= self.lanes(32) if self.along_loop else lanes
        self._add("iterations", turns)
        if nest.loops:
            part = nest.iterations / nest.box
            wrong = 1.0 if nest.data_trips else min(1.0, 2 * min(part, 1 - part))
            self._add("varied_entries", nest.entries * self.masked / lanes * wrong)
        self._add("region_entries", nest.iterations / launch.group_items if self.items_innermost else launch.groups)
        kept = nest.kept_values
        if self.items_innermost:  # carried values of each work-item are loaded and stored around an operation
            arrays = 2 * sum(chain.cells for chain in nest.chains)
            kept += arrays * nest.iterations
            value_bytes = max((chain.bits // 8 for chain in nest.chains), default=0)
            conflicting = conflicting_share(arrays, value_bytes * launch.group_items, self.device.levels[0])
            self._add("again_stored", arrays * nest.iterations / lanes * conflicting)
        self._add("kept_values", kept / lanes)
        return 2 * turns

    def _add_spills(self) -> float:
        nest = self.nest
        if not nest.loops or self.items_innermost:  # then all carried values are in memory
            return 0.0
        spilled = sum(chain.cells for chain in nest.chains) / self.packed - self.device.kept_in_registers
        amount = max(spilled, 0.0) * nest.iterations * self.masked / self.item_lanes
        self._add("loads", amount)
        self._add("stores", amount)
        return 2 * amount

    def _add_access(self, access: compiled.CompiledAccess[float]) -> float:
        amount = self._executed(access)
        if access.load and not self.items_innermost:
            amount *= self._share_loaded_inside(access)
        contiguous, element = ("loads", "gathers") if access.load else ("stores", "scatters")
        if not self.in_vectors and (access.invariant or not self.along_loop):
            if access.fills_stride and not (self.lockstep or self.nest.guarded_cells):
                amount /= min(self.nest.pairs.stored, self.device.lanes_of(access.bits))
            jumps = not access.load and self.nest.loops and not (access.contiguous or access.invariant)
            self._add(element if jumps else contiguous, amount)
            return amount
        stride = max((abs(stride) for stride in access.lane_strides), default=inf)
        uniform = self.in_vectors and stride == 0 and not self.items_innermost
        # behind a test PoCL's compiler does not see that all lanes load one value, or from one row that data decide
        masked = access.load and access.guarded and not (self.lockstep or self.launch.barriers or self.along_loop)
        if (masked and (uniform or access.chosen)) or not (uniform or self._is_contiguous(access, stride)):
            self._add(element, amount * access.parts)
            return amount
        if access.guarded and not access.load and not self.device.masks_stores:
            self._add(element, amount)
        amount /= self.lanes(access.bits)
        self._add("loads" if uniform else contiguous, amount)
        # serial devices, and code between barriers, are predicted better without split vectors
        if self.lockstep and not self.launch.barriers and not uniform and self._splits(access):
            self._add("split", amount)
        return amount

    def _is_contiguous(self, access: compiled.CompiledAccess[float], stride: float) -> bool:
        if self.along_loop:
            return access.contiguous
        hidden = (access.odd_pitch and not self.device.odd_pitches) or (access.widened and self.device.loses_neighbours)
        # a vector holds real or imaginary parts
        hidden = hidden or (access.parts > 1 and (self.lockstep or access.guarded) and len(self.nest.operations) > 0)
        # LLVM joins the loads of a row of cells only without a mask
        near = (access.fills_stride and not (self.lockstep or access.guarded)) or stride <= 1
        return near and not self.serial_region and not hidden

    def _share_loaded_inside(self, access: compiled.CompiledAccess[float]) -> float:
        """Return the share of iterations that execute a load. A compiler moves an invariant load before the loop."""
        share, nest = 1.0, self.nest
        if access.invariant:
            share = min(nest.entries / nest.iterations, 1.0)
        if access.invariant_around and nest.written_out:
            share *= min(nest.entries_around / nest.entries, 1.0)
        return share

    def _splits(self, access: compiled.CompiledAccess[float]) -> bool:
        """Return whether an access's vectors are not aligned to their length, or to a line if a line is shorter."""
        size = access.bits // 8
        whole = int(min(self.device.lanes_of(access.bits) * size, self.device.line))
        return (access.start or 0.0) % whole != 0 or any(step % whole for step in access.steps if abs(step) != size)

    def _add_chains(self, instructions: float) -> None:
        """Add the longest chain, carried or inside an iteration, without the latency that other work hides."""
        nest = self.nest
        if not (self.in_vectors or self.along_loop):  # otherwise masks
            self._add("chain_add", nest.unexpected * WRONG_BRANCH)
        if not self.launch.loops:
            runs = self.work.items / self.item_lanes
            share = execution.waiting_share(instructions, runs) / len(self.work.kernel.launches)
            self._add_chain(self.work.kernel.depth, share * runs)
        elif not (self.items_innermost or self.along_loop):  # several vectors of partial sums
            products = sum([row.executions for row in nest.operations if row.kind == "mul" and not row.integer])
            chains = [(each.operations, each.runs, products) for each in nest.chains]
            # the core looks ahead into the next iterations, as into the next work-items
            chains += [(nest.inside, nest.iterations, 0.0)] if nest.inside else []
            shares = [execution.waiting_share(instructions, runs / self.item_lanes) for _, runs, _ in chains]
            waits = [share * execution.chain_latency(each) for share, (each, _, _) in zip(shares, chains, strict=True)]
            if chains:
                longest = waits.index(max(waits))
                operations, _, fusing = chains[longest]
                self._add_chain(operations, shares[longest] / self.item_lanes, fusing)

    def _add_chain(self, operations: Mapping[str, float], factor: float, products: float = 0.0) -> None:
        """Add the operations of a chain. An addition and one of the ``products`` of the nest are fused."""
        add, multiply = operations.get("add", 0.0), operations.get("mul", 0.0)
        fused = min(add, max(multiply, products))
        self._add("chain_multiply_add", factor * fused)
        self._add("chain_add", factor * (add - fused))
        self._add("chain_multiply", factor * max(multiply - fused, 0.0))
        self._add("chain_add", factor * execution.integer_latency(operations, self.item_lanes > 1))
        for kind, amount in operations.items():
            if kind in CHAIN_NAMES:
                tested = self.packed > 1 or (self.in_vectors and not self.lockstep and self.nest.pairs.nan_tests > 0)
                steps = PACKED_MINMAX if kind == "minmax" and tested else 1.0
                self._add(CHAIN_NAMES[kind], factor * amount * steps)


def float_bits(bits: int) -> int:
    """Return the width for which an operation is charged: 32 bits for shorter types, and 64 bits for longer types."""
    return 32 if bits <= 32 else 64


def conflicting_share(arrays: int, pitch: int, cache: Cache) -> float:
    r"""Return the share of arrays in cache sets with fewer ways than arrays.

    A runtime that loops over the work-items of a group keeps each long-lived value in an array. The array has an
    element per work-item. A cache has S sets of lines of L bytes. Arrays of P bytes, one after another, start in
    :math:`S L / \gcd(P, S L)` different sets. A set with more arrays than ways misses at each access to these arrays.
    """
    if not cache.sets or not arrays:
        return 0.0
    way = cache.sets * cache.line_bytes
    starts = way // gcd(pitch, way) if pitch % cache.line_bytes == 0 else cache.sets
    fewest, more = divmod(arrays, starts)
    ways = cache.lines // cache.sets
    conflicting = (starts - more) * fewest * (fewest > ways) + more * (fewest + 1) * (fewest + 1 > ways)
    return conflicting / arrays
