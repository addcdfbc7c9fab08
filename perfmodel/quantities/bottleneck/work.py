"""What the nests of a launch make a device do: operations, accesses, loops and chains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from perfmodel.lazy import Lazy, cached_property
from perfmodel.quantities.bottleneck.device import Device
from perfmodel.quantities.bottleneck.plan import AccessPlan, KernelPlan, LaunchPlan, NestPlan
from perfmodel.quantities.operations import SIMPLE

WINDOW = 160.0
"""Instructions that an out-of-order core looks ahead.

With half and twice as many, groups that are left out are predicted about as well on PoCL (25.2 and 25.9 % instead of
25.5 %) and worse on Intel's runtime (16.7 and 16.6 % instead of 15.0 %)."""

MOST_STREAMS = 8
"""A compiler that must prove that addresses differ gives up beyond this number of streams."""

PACKED = 8
"""Fewest independent chains of one variable that a compiler packs into a vector: PoCL's packs eight, and not four."""

CHAIN_NAMES: Mapping[str, str] = {
    "minmax": "chain_minmax", "div": "chain_divide", "sqrt": "chain_root", "rsqrt": "chain_root", "pow": "chain_power",
}
SPECIAL_NAMES: Mapping[str, str] = {"div": "divide", "sqrt": "root", "rsqrt": "inverse_root"}
CALLED_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("exp", "exp2", "exp10", "expm1"), "exponential"),
    **dict.fromkeys(("log", "log2", "log10", "log1p"), "logarithm"),
    **dict.fromkeys(("sin", "cos", "tan", "sincos"), "circular"),
}
"""Functions that a library computes in much the same way; any other is a ``function``."""
FUNCTION_LATENCY = 5.0
"""Simple operations that a division or function counts for where the longest of several chains is looked for."""

Sums = defaultdict[str, float]


@dataclass(frozen=True)
class LaunchWork(Lazy):
    r"""A launch at given sizes on a device.

    A nest runs in *vectors* of V work-items where the device or the compiler runs neighbouring work-items together:

    - ``lockstep``: always, if the first axis of the group has that many;
    - ``serial``, kernel without barriers: where no runtime loop stands in the kernel, because then the loop over the
      work-items is innermost, at most :data:`MOST_STREAMS` streams of addresses have to be compared, and no access
      jumps from one work-item to the next, because a compiler finds single accesses cheaper than gathers (copies of
      an access that fill the cells between are no jump: a vector takes them all);
    - ``serial``, kernel with barriers: where nothing is guarded and all work-items make the same iterations, because
      the loop over the work-items is then put inside of all loops. Addresses there are gathered element by element.

    Everything is multiplied by what the units wait for the busiest one, :math:`\lceil g/U \rceil U / g`.
    """

    plan: LaunchPlan
    kernel: KernelPlan
    values: Sequence[float]
    device: Device

    def add_to(self, sums: Sums) -> None:
        """Add the launch's quantities."""
        launches, groups = self.values[self.plan.launches], self.values[self.plan.groups]
        sums["launched"] += launches
        sums["groups"] += groups
        for nest in self.plan.nests:
            if self.values[nest.iterations] > 0:
                NestWork(self, nest, sums).add()

    @cached_property
    def uneven(self) -> float:
        """The time of the busiest unit over the mean of all."""
        launches = max(self.values[self.plan.launches], 1.0)
        groups = self.values[self.plan.groups] / launches
        units = self.device.units
        return ceil(groups / units) * units / groups if groups else 1.0

    @property
    def items(self) -> float:
        """Work-items of all launches."""
        return self.plan.items * self.values[self.plan.groups]

    @property
    def row(self) -> int:
        """Work-items along the first axis of a group."""
        return self.plan.shape[0] if self.plan.shape else 1


@dataclass(frozen=True)
class NestWork(Lazy):
    """A nest of a launch; :meth:`add` adds its quantities to ``sums``."""

    launch: LaunchWork
    nest: NestPlan
    sums: Sums

    def add(self) -> None:
        """Add the quantities of the nest."""
        instructions = self._operations() + self._loops() + self._accesses()
        self._charge("instructions", instructions)
        self._chains(instructions)

    @cached_property
    def vectors(self) -> bool:
        """Whether neighbouring work-items run together."""
        plan = self.launch.plan
        if self.lockstep:
            return self.launch.row >= self.launch.device.lanes
        if self.launch.row < 2:
            return False
        if plan.barriers:
            return self._value(self.nest.iterations) >= self._value(self.nest.box)
        return not plan.loops and plan.streams <= MOST_STREAMS and not self._jumps

    @property
    def lockstep(self) -> bool:
        """Whether the device, and no compiler, runs work-items together."""
        return self.launch.device.order == "lockstep"

    @property
    def _jumps(self) -> bool:
        """Whether an access goes further than one element from a work-item to the next."""
        some = (access for access in self.nest.accesses if not access.filled)
        return any(abs(self._value(place)) > 1 for access in some for place in access.apart)

    @property
    def serial_region(self) -> bool:
        """Whether a compiler put a loop over the work-items inside of a region between barriers."""
        return self.vectors and not self.lockstep and self.launch.plan.barriers

    @cached_property
    def inside(self) -> bool:
        """Whether the loop over the work-items is inside of the nest's loop; its 64-bit indices halve the vectors."""
        return self.serial_region and self.nest.loops > 0

    @cached_property
    def packed(self) -> float:
        """Values of one work-item that a compiler packs into a vector: the cells of a variable that is carried."""
        if self.vectors or self.lockstep:
            return 1.0
        cells = max((one.cells for one in self.nest.chains), default=1)
        return float(min(cells, self.launch.device.lanes)) if cells >= PACKED else 1.0

    def lanes(self, bits: int = 32) -> float:
        """Return the values of so many bits that one instruction handles."""
        if self.vectors:
            return self.launch.device.lanes_of(64 if self.inside else bits)
        return max(self.packed * 32 / bits, 1.0)

    @cached_property
    def masked(self) -> float:
        """Lanes that run for each that is needed: all of a vector make as many iterations as the longest."""
        if not self.lockstep or not self.nest.loops:
            return 1.0
        return self._value(self.nest.box) / self._value(self.nest.iterations)

    def _value(self, place: int) -> float:
        return self.launch.values[place]

    def _charge(self, name: str, amount: float) -> None:
        self.sums[name] += self.launch.uneven * amount

    def _operations(self) -> float:
        instructions, by_bits = 0.0, defaultdict[int, Sums](lambda: defaultdict(float))
        for bits, kind, place in self.nest.operations:
            by_bits[bits][kind] += self._value(place) * self.masked
        for bits, kinds in by_bits.items():
            lanes = self.lanes(bits)
            simple = max(kinds["add"], kinds["mul"])  # a multiplication and an addition are one instruction
            simple += sum(kinds[kind] for kind in SIMPLE - {"add", "mul", "minmax"})
            self._charge("minmax", kinds["minmax"] / lanes)
            instructions += (simple + kinds["minmax"]) / lanes
            for kind, amount in kinds.items():
                if kind not in SIMPLE:
                    instructions += amount / lanes
                    self._special(bits, kind, amount)
        return instructions

    def _special(self, bits: int, kind: str, amount: float) -> None:
        if kind in SPECIAL_NAMES:
            self._charge(f"{SPECIAL_NAMES[kind]}_{bits}", amount / self.lanes(bits))
        else:  # a call, which only a device in lockstep makes for a whole vector
            lanes = self.lanes(bits) if self.lockstep else 1.0
            self._charge("power" if kind == "pow" else f"{CALLED_NAMES.get(kind, 'function')}_{bits}", amount / lanes)

    def _loops(self) -> float:
        iterations, entries = self._value(self.nest.iterations), self._value(self.nest.entries)
        groups, lanes = self.launch.values[self.launch.plan.groups], self._item_lanes
        rounds = (entries if self.nest.written_out else iterations) * self.masked / lanes
        self._charge("iterations", rounds)
        if self.nest.loops:
            part = iterations / self._value(self.nest.box)
            varied = entries * self.masked / lanes * min(1.0, 2 * min(part, 1 - part))
            self._charge("varied_entries", varied)
        self._charge("region_entries", iterations / self.launch.plan.items if self.inside else groups)
        kept = self._value(self.nest.kept)
        if self.inside:  # what the loop carries is kept for each work-item
            kept += 2 * sum(one.cells for one in self.nest.chains) * iterations
        self._charge("kept_values", kept / lanes)
        return 2 * rounds

    @property
    def _item_lanes(self) -> float:
        """Work-items that run together."""
        return self.launch.device.lanes_of(64 if self.inside else 32) if self.vectors else 1.0

    def _accesses(self) -> float:
        return sum(self._access(one) for one in self.nest.accesses)

    def _access(self, access: AccessPlan) -> float:
        amount, lanes = self._value(access.count) * self.masked, self._item_lanes
        if access.load and not self.inside:
            amount *= self._loaded_before(access)
        plain, element = ("loads", "gathers") if access.load else ("stores", "scatters")
        if not self.vectors:
            self._charge(plain, amount)
            return amount
        lanes = self.lanes(access.bits)
        apart = max((abs(self._value(place)) for place in access.apart), default=None)
        uniform = apart == 0 and not self.inside
        hidden = access.odd_pitch and not self.launch.device.odd_pitches
        near = (access.filled and not self.lockstep) or (apart is not None and apart <= 1)
        together = uniform or (near and not self.serial_region and not hidden)
        if together:
            self._charge("loads" if uniform else plain, amount / lanes)
            if self._charges_splits and not uniform and self._splits(access, lanes):
                self._charge("split", amount / lanes)
            return amount / lanes
        self._charge(element, amount)
        return amount

    def _loaded_before(self, access: AccessPlan) -> float:
        """Return the share of a load's iterations that load it: a compiler loads what a loop does not move before it.

        Where it writes the innermost loop out, it does so for the loop around it.
        """
        share, entries = 1.0, self._value(self.nest.entries)
        if access.invariant:
            share = min(entries / self._value(self.nest.iterations), 1.0)
        if access.held and self.nest.written_out:
            share *= min(self._value(self.nest.entries_around) / entries, 1.0)
        return share

    @property
    def _charges_splits(self) -> bool:
        """Whether split vectors count: without them serial devices, and code between barriers, are predicted better."""
        return self.lockstep and not self.launch.plan.barriers

    def _splits(self, access: AccessPlan, lanes: float) -> bool:
        """Whether vectors of an access do not begin where lines, or parts of them, begin."""
        size = access.bits // 8
        whole = int(min(lanes * size, self.launch.device.line))
        start, *steps = map(self._value, access.places)
        return start % whole != 0 or any(step % whole for step in steps if abs(step) != size)

    def _chains(self, instructions: float) -> None:
        """Charge the longest chain of the nest, less what other work-items fill."""
        lanes = self._item_lanes
        if self.nest.loops:
            if not self.nest.chains or self.inside:
                return
            longest = max(self.nest.chains, key=lambda one: _length(self._numbers(one.operations)))
            runs = self.launch.items if longest.goes_on else self._value(self.nest.entries)
            share = waiting_share(instructions, runs / lanes)
            products = sum(self._value(place) for _, kind, place in self.nest.operations if kind == "mul")
            self._charge_chain(self._numbers(longest.operations), share / lanes, products)
        elif not self.launch.plan.loops:
            runs = self.launch.items / lanes
            depth = self._numbers(self.launch.kernel.depth)
            share = waiting_share(instructions, runs) / len(self.launch.kernel.launches)
            self._charge_chain(depth, share * runs)

    def _numbers(self, places: Mapping[str, int]) -> dict[str, float]:
        return {kind: self._value(place) for kind, place in places.items()}

    def _charge_chain(self, operations: Mapping[str, float], factor: float, products: float = 0.0) -> None:
        """Charge the operations of a chain; adding one of the nest's ``products`` is one instruction with it."""
        add, multiply = operations.get("add", 0.0), operations.get("mul", 0.0)
        both = min(add, max(multiply, products))
        for name, amount in (
            ("chain_multiply_add", both), ("chain_add", add - both), ("chain_multiply", max(multiply - both, 0.0)),
        ):
            self._charge(name, factor * amount)
        for kind, amount in operations.items():
            if kind in CHAIN_NAMES:
                self._charge(CHAIN_NAMES[kind], factor * amount)


def waiting_share(instructions: float, runs: float) -> float:
    r"""Return the share of a chain's latency that is waited for, :math:`\min(1, N/W)`.

    N are the instructions of one run of the chain. While a chain waits, the core goes on with the next runs that are
    among the next W instructions (:data:`WINDOW`): W/N of them.

    Examples
    --------
    >>> waiting_share(instructions=8000.0, runs=100.0), waiting_share(instructions=1e6, runs=100.0)
    (0.5, 1.0)
    """
    return min(1.0, instructions / max(runs, 1.0) / WINDOW)


def _length(operations: Mapping[str, float]) -> float:
    return sum(amount * (1.0 if kind in SIMPLE else FUNCTION_LATENCY) for kind, amount in operations.items())
