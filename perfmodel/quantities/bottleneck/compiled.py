"""A kernel as a CPU's compiler sees it: nests of loops with their operations, accesses and chains.

A :class:`CompiledKernel` for all sizes is made once (:func:`compiled_kernel`), and is then evaluated at given sizes.
The generated code, here row sums in groups of 64::

    for i in g.0, l.0:              a launch
        total = 0
        for j:                      a nest: its iterations, entries and operations
            total += a[i, j]            an access: its executions and lane strides;
        out[i] = total                  a chain: additions that wait for each other, carried by j
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain
from math import inf, log2, prod
from operator import attrgetter
from typing import Generic, NamedTuple

from perfmodel.counts import Count, KernelCounts, LaunchCount
from perfmodel.counts.flow.flow import LOADS
from perfmodel.counts.nests.addresses import NO_BYTES, constant_of, texts_of
from perfmodel.counts.nests.nest import FIRST_LANES, Nest, NestAccess
from perfmodel.counts.program.program import DECISIONS, INDEX_DIVISIONS, SHARED, UNLISTED, Computed, OpKind, Statement
from perfmodel.counts.quasipoly.distinct import Amount, NamedCounts
from perfmodel.quantities.bottleneck.pairs import INTEGER, MASKED_BITS, PackedPairs, packed_pairs
from perfmodel.quantities.instructions import is_call
from perfmodel.values import cached_method, grouped

MOST_COPIES = 64  # most copies of an access whose addresses are compared; no rule needs more streams
WIDEST_STRIDE = 4  # cells from one lane to the next that a compiler loads in vectors and shuffles, if all are needed
MOST_ADDRESSES = 4
"""With more rows of one matrix, PoCL's compiler vectorises the computation of addresses instead of work-items.

Without a limit, left-out groups are predicted worse on PoCL (44.8 instead of 41.4 %).
"""
CELL_ADDRESSES = 8
"""Fewest addresses of one array, in the cells of a work-item, that PoCL's compiler computes in vectors.

It makes these vectors before it loops over work-items, and then makes none of the work-items (docs/lab/recipes.md).
"""
DIVISIONS = ("div", INDEX_DIVISIONS[0])
DIVISION_COST = 22.0  # instructions that save in vectors of 8 what a division of integers loses: (160 - 8) / (8 - 1)
OF_LITERAL = 8  # instructions of a division of integers by a literal, which vectors do not save
HALF_COST = 76.0  # instructions that save what the high half of a 64-bit product loses behind a test
SURPLUS = 12.5  # 300 random kernels: PoCL's compiler makes vectors that cost up to 12 more by these costs, none above
FEWEST_ITEMS = 16  # with fewer work-items along the first axis, PoCL's compiler unrolls the loop over them
WRITTEN_OUT = 16  # most trips of a loop of constant trips that a compiler unrolls
UNROLLED_CODE = 400  # most operations and accesses of the loops that Intel's compiler unrolls (docs/lab/guards.md)
WIDEST_LOAD = 256  # most bits of neighbouring cells of an iteration that Intel's compiler loads together and shuffles
OPERATORS = frozenset({"add", "mul", "div", *DECISIONS})  # other operations are functions of OpenCL
LOAD = "load"  # the kind of loads on a chain


@dataclass(frozen=True)
class CompiledAccess(Generic[Amount]):
    """An access of a nest.

    An access has an *odd pitch* if the lane stride along another axis of a local array is not a power of two. The index
    is then a product by a constant. Some compilers do not see that lanes along the first axis are adjacent.
    """

    load: bool  # else it stores
    bits: int  # of the value
    executions: Amount  # by work-items
    unmasked: Amount  # executions if no test depended on data
    guarded: bool  # whether a test decides which lanes of a vector execute it
    lane_strides: tuple[Amount, ...]  # distances between neighbouring lanes, in accesses; empty if data decide
    invariant: bool  # whether the innermost loop does not move it
    contiguous: bool  # whether consecutive iterations of that loop, or copies, access adjacent cells
    scattered_copies: bool  # whether that loop is unrolled, and its copies access cells that are not adjacent
    assumed_lanes: bool  # whether the lane stride is one parameter (n, not 2*n): PoCL vectorises only for n = 1
    assumed_loop: bool  # whether the stride of the innermost loop is one parameter
    invariant_around: bool  # whether the loop around the innermost one does not move it, and stores nothing
    odd_pitch: bool
    new_address: bool  # whether no earlier access has the address, so that it is computed
    fills_stride: bool  # whether it and similar accesses fill the cells between lanes: vectors load all of them
    start: Amount | None  # the address where all inames are 0 [B]; None if data decide
    steps: tuple[Amount, ...]  # bytes by which each iname moves it
    sized: bool = True  # whether a size parameter is in the address, or data are
    widened: bool = False  # whether a 64-bit size is added before the lane
    parts: int = 1  # 2 for a complex number
    space: str = "global"
    chosen: bool = False  # whether data decide a part of the address


@dataclass(frozen=True)
class CompiledChain(Generic[Amount]):
    """A chain of operations in a nest. Each operation waits for the one before."""

    operations: Mapping[str, Amount]  # by kind; integer kinds with the prefix INTEGER; and LOAD
    cells: int  # independent chains of this kind
    bits: int  # of its values
    runs: Amount  # entries of the outermost loop that carries it


@dataclass(frozen=True)
class CompiledOperation(Generic[Amount]):
    """Operations of one kind on values of this width, except operations that only compute an address."""

    kind: str
    bits: int
    integer: bool
    executions: Amount
    unmasked: Amount  # executions if no test depended on data


@dataclass(frozen=True)
class CompiledNest(Generic[Amount]):
    """A nest (:class:`~perfmodel.counts.nests.nest.Nest`)."""

    loops: int  # inside the barrier interval
    written_out: bool  # whether the compiler unrolls the innermost loop
    data_trips: bool  # whether data decide the trips of the innermost loop
    iterations: Amount
    box: Amount
    entries: Amount
    entries_around: Amount  # of the loop around the innermost one; ``entries`` without one
    items: Amount  # work-items that execute it, in each iteration of loops with barriers
    calls: bool  # whether it calls functions of a library, or has a ``switch``: PoCL's compiler makes no vectors
    guarded_row: bool  # whether a test or a varying bound may leave out work-items along the first axis of the group
    guarded: bool  # whether one may leave out work-items along any axis
    guarded_cells: bool  # whether one may leave out cells of a work-item
    pairs: PackedPairs  # as PoCL's compiler packs them
    unexpected: Amount  # branches on data that go the rarer way
    kept_values: Amount  # loads and stores of private values that are live across barriers
    operations: tuple[CompiledOperation[Amount], ...]
    accesses: tuple[CompiledAccess[Amount], ...]
    chains: tuple[CompiledChain[Amount], ...]
    inside: Mapping[str, Amount]  # the operations of the longest chain inside an iteration, times iterations; by kind


@dataclass(frozen=True)
class CompiledLaunch(Generic[Amount]):
    """A launch as a compiler sees it."""

    shape: tuple[int, ...]  # of a group
    launches: Amount  # how often it is launched
    groups: Amount  # of all launches
    barriers: bool  # whether it has any
    loops: bool  # whether it has a runtime loop
    separate_addresses: int  # the most addresses of one global matrix that differ by more than a constant
    cell_addresses: int  # the most addresses of one array that the cells of a work-item compute in the same form
    stores_pairs: bool  # whether work-items store to neighbouring cells
    costs_more: tuple[bool, bool]  # whether vectors of work-items cost more than single ones, without and with AVX-512
    nests: tuple[CompiledNest[Amount], ...]
    unrolled: tuple[CompiledNest[Amount], ...]  # the nests as Intel's compiler sees them, which unrolls more loops

    def packs_items(self, wide: bool) -> bool:
        """Return whether a compiler that loops over the work-items of a group packs neighbours into vectors.

        ``wide`` is whether the device has AVX-512. Without barriers the compiler packs them unless one of these holds:

        - The loop over work-items contains a loop, a call, or vectors of pairs (:mod:`.pairs`).
        - The loop is unrolled (:data:`FEWEST_ITEMS`).
        - The loop has too many addresses (:data:`MOST_ADDRESSES`, :data:`CELL_ADDRESSES`).
        - The compiler assumes that a parameter is 1.
        - Vectors cost more (:func:`_costs_more`).
        """
        one_loop = not self.loops and not self.barriers and self.row_items >= FEWEST_ITEMS
        hindered = any(nest.calls or nest.pairs.are_packed(wide) for nest in self.nests)
        assumed = any(access.assumed_lanes for nest in self.nests for access in nest.accesses)
        few_addresses = self.separate_addresses <= MOST_ADDRESSES and self.cell_addresses < CELL_ADDRESSES
        return one_loop and not (hindered or assumed or self.costs_more[wide]) and few_addresses

    @property
    def group_items(self) -> int:
        """Work-items of a group."""
        return prod(self.shape)

    @property
    def row_items(self) -> int:
        """Work-items along the first axis of a group."""
        return self.shape[0] if self.shape else 1


@dataclass(frozen=True)
class CompiledKernel(Generic[Amount]):
    """A kernel as a compiler sees it."""

    launches: tuple[CompiledLaunch[Amount], ...]
    depth: Mapping[str, Amount]  # the operations on the longest chain of a work-item, by kind
    barriers: Amount  # times work-items


@cached_method
def compiled_kernel(counts: KernelCounts) -> NamedCounts:
    """Return the :class:`CompiledKernel` of counts, to be evaluated at sizes."""
    launches = tuple(
        _launch(row, [nest for nest in counts.nests if nest.loops.launch == position])
        for position, row in enumerate(counts.launch_table)
    )
    depth: dict[str, Count] = {}
    for row in counts.depth():
        depth[row.kind] = depth[row.kind] + row.count if row.kind in depth else row.count
    return NamedCounts(CompiledKernel(launches, depth, counts.barriers(scope="local")))


def _launch(row: LaunchCount, nests: Sequence[Nest]) -> CompiledLaunch[Count]:
    accesses = [access for nest in nests for access in nest.accesses]
    stored, alone = _stored(nests), prod(row.group_shape) == 1
    unrolled = [_unrolled(nest, stored) for nest in nests]
    compiled = tuple(_nest(nest, nest, nests) for nest in nests)
    barriers = len({nest.loops.interval for nest in nests}) > 1 or any(nest.loops.outer for nest in nests)
    loops = any(nest.loops.inner for nest in nests)
    at_size: tuple[CompiledNest[float], ...] = ()
    if nests and not (barriers or loops):  # what costs do not need is left out, as its evaluation takes time
        short = (tuple(replace(each, start=None, steps=()) for each in nest.accesses) for nest in compiled)
        less = tuple(replace(nest, chains=(), accesses=each) for nest, each in zip(compiled, short, strict=True))
        at_size = NamedCounts(less).at(nests[0].kernel.sizes)
    return CompiledLaunch(
        row.group_shape, row.launches, row.work_groups, barriers, loops,
        separate_addresses=_separate_addresses(accesses), cell_addresses=_cell_addresses(nests, row.group_shape),
        stores_pairs=any(map(_stores_pairs, accesses)), nests=compiled,
        costs_more=(_costs_more(at_size, wide=False), _costs_more(at_size, wide=True)),
        unrolled=tuple(_nest(*pair, unrolled, stored, alone) for pair in zip(unrolled, nests, strict=True)),
    )  # fmt: skip


def _costs_more(nests: Sequence[CompiledNest[float]], wide: bool) -> bool:
    """Return whether vectors cost more than single work-items, by the costs of LLVM 15 for x86.

    Without a test, each lane of a vector divides integers alone, which costs :data:`DIVISION_COST`. Behind a test LLVM
    halves the costs of single work-items. Branches then gather values of less than 32 bits, and without AVX-512 all
    values. A 64-bit value that four work-items gather or scatter costs 6 in a vector, and alone 4/2 = 2: a vector loses
    4. An instruction with a cost of 1 saves 4/2 - 1 = 1. An address has three. A root loses 8, a division nothing. A
    division of integers by a literal saves nothing, and no vector has the high half of a 64-bit product.
    """
    nests = [nest for nest in nests if nest.iterations > 0]
    accesses = [(access, access.unmasked / nest.iterations) for nest in nests for access in nest.accesses]
    far = [(access, number) for access, number in accesses if max(map(abs, access.lane_strides), default=inf) > 1]
    guarded = [(access, number) for access, number in far if access.guarded]
    branches = [(1 + access.load) * number for access, number in guarded
                if access.bits < MASKED_BITS or (access.load and not wide)]  # fmt: skip
    if sum(branches) > 1:
        return True
    amounts = defaultdict[str, float](float)
    for nest in nests:
        for operation in nest.operations:
            kind = f"{INTEGER}div" if operation.integer and operation.kind in DIVISIONS else operation.kind
            kind += f"_{operation.bits}" if kind in ("sqrt", "mulhi") else ""
            amounts[kind] += operation.unmasked / nest.iterations
    divisions, roots = amounts.pop(f"{INTEGER}div", 0.0), amounts.pop("sqrt_64", 0.0)
    halves = amounts.pop("mulhi_64", 0.0)
    simple = sum(amounts.values()) - amounts["div"] - OF_LITERAL * amounts["mulhi_32"]
    simple = max(simple + sum(number for _, number in accesses), 0.0)
    if not any(access.guarded for access, _ in accesses):
        return (divisions + halves) * DIVISION_COST > simple
    wide_values = sum(number for access, number in guarded if access.bits > MASKED_BITS)
    addresses = sum(number for access, number in far if access.new_address)
    return 5 * wide_values + 8 * roots + HALF_COST * halves - simple - 3 * addresses > SURPLUS


def _unrolled(nest: Nest, stored: Container[str]) -> Nest:
    """Return a nest without its innermost loops that a compiler unrolls, in a launch that stores these arrays."""
    sizes = nest.kernel.sizes
    while nest.trips:
        outer = replace(nest, loops=replace(nest.loops, inner=nest.loops.inner[:-1]))
        code = sum(float(row.count(**sizes)) for row in nest.operations)
        code += sum(float(access.count(**sizes)) * _loaded_share(access, stored) for access in outer.accesses)
        if code > UNROLLED_CODE * float(outer.iterations(**sizes)):
            break
        nest = outer
    return nest


def _loaded_share(access: NestAccess, stored: Container[str]) -> Fraction:
    """Return the share of the copies of a load that have another address than the copies before."""
    still = (number for name, number in access.copies.items() if access.step(name) == NO_BYTES)
    return Fraction(1, 1 if access.array in stored else prod(still))


def _nest(
    nest: Nest, written: Nest, launch: Sequence[Nest], stored: Container[str] | None = None, alone: bool = False
) -> CompiledNest[Count]:
    around = next(iter(nest.loops.inner[-2:-1]), None)
    # loads in a loop with stores cannot move before it, but Intel's compiler trusts `restrict` if it makes few vectors
    if _stored(launch, around) if stored is None else not alone:
        around = None
    accesses = [access for access in _without_repeats(nest.accesses) if access.space != "private"]
    filling = _filling(accesses)
    new = {*{_position_key(access): access for access in reversed(accesses)}.values()}
    operations = *nest.operations, *nest.decided(unmasked=False)
    pairs = PackedPairs() if stored is not None else packed_pairs(nest, any(map(_stores_pairs, accesses)))
    return CompiledNest(
        loops=len(nest.loops.inner),
        written_out=nest.trips is not None and nest.trips <= WRITTEN_OUT * (4 if alone else 1),  # alone: of vectors
        data_trips=any({*nest.loops.inner[-1:]} & dict(domain.means).keys() for domain in nest.domains),
        iterations=nest.iterations, box=nest.box, entries=nest.entries,
        entries_around=nest.entered[-2] if len(nest.loops.inner) > 1 else nest.entries,
        items=nest.entered[0] if nest.entered else nest.iterations,
        calls=any(row.kind == "atomic" for row in operations) or (_stays_scalar(nest, launch) if alone else any(
            row.kind == "switch" or (_is_floating(row.dtype) and is_call(row.kind, _bits(row.dtype)))
            for row in operations
        )),
        guarded_row=FIRST_LANES in nest.guarded_axes, guarded=bool(nest.guarded_axes),
        guarded_cells=nest.guarded_cells, pairs=pairs,
        unexpected=nest.unexpected + _searches(nest), kept_values=nest.kept,
        operations=tuple(
            CompiledOperation(row.kind, _bits(row.dtype), not _is_floating(row.dtype), row.count, unmasked.count)
            for row, unmasked in zip(operations, (*nest.unmasked_operations, *nest.decided(unmasked=True)), strict=True)
        ),
        accesses=tuple(_access(access, nest, around, access in filling, access in new, stored) for access in accesses),
        chains=tuple(_chains(nest if alone else written)), inside=_inside(nest, launch),
    )  # fmt: skip


def _inside(nest: Nest, launch: Sequence[Nest]) -> Mapping[str, Count]:
    """Return the longest chain inside an iteration of an innermost loop, times iterations, once for each loop."""
    inner = nest.loops.inner
    first = next((each for each in launch if each.loops.inner[-1:] == inner[-1:]), nest)
    if not inner or first is not nest or any(inner[-1] in each.loops.inner[:-1] for each in launch):
        return {}
    amounts = defaultdict[str, Count](lambda: Count.constant(0))
    for (where, kind), amount in nest.kernel.flow.within(inner[-1]).items():
        name = LOAD if where in SHARED else kind if _is_floating(where) else f"{INTEGER}{kind}"
        if where not in SHARED or kind == "load":
            amounts[name] = amounts[name] + amount * nest.iterations
    return amounts


def _chains(nest: Nest) -> Iterator[CompiledChain[Count]]:
    """Yield the chains that wait. A compiler reorders a sum of integers, so that such a sum does not wait.

    The loads of a chain count only if all operations of the chain are integer. Such operations compute an address.
    """
    carrying = {(each.variable, each.loop) for each in nest.kernel.flow.recurrences}
    yield from _chosen(nest)
    for carried in nest.carried:
        amounts = Counter[OpKind]()
        for (kind, _), amount in carried.terms:
            amounts[kind] += amount
        loads = sum(amounts[space, "load"] for space in SHARED)
        computed = {kind: amount for kind, amount in amounts.items() if kind[0] not in SHARED}
        floating = {kind: amount for kind, amount in computed.items() if _is_floating(kind[0])}
        if floating or loads or len({name for _, name in computed}) > 1:
            rows, prefix = (floating, "") if floating else (computed, INTEGER)
            operations = {f"{prefix}{name}": amount * nest.iterations for (_, name), amount in rows.items()}
            if loads and not floating:
                operations[LOAD] = loads * nest.iterations
            bits = max((_bits(dtype) for dtype, _ in rows), default=32)
            outermost = next(k for k, loop in enumerate(nest.loops.inner) if (carried.variable, loop) in carrying)
            yield CompiledChain(operations, carried.chains, bits, nest.entered[outermost])


def _chosen(nest: Nest) -> Iterator[CompiledChain[Count]]:
    """Yield a chain of decisions about values of the iteration before. A compiler reorders only minima of integers."""
    arcs = nest.kernel.flow.dependences
    targets = {arc.target for arc in arcs if arc.carried in nest.loops.inner[-1:]}
    reached, more = set[str](), targets
    while more:
        reached |= more
        more = {arc.target for arc in arcs if arc.source in reached} - reached
    changed = {arc.variable for arc in arcs if arc.source in reached}
    passed = {arc.target for arc in arcs if arc.carried in nest.loops.inner[-1:] and not arc.path}  # and `||`
    parts = grouped((each.instruction, each.computed) for each in (*nest.statements, *nest.decisions))
    kinds = [(each, _is_floating(each.dtype)) for statement in nest.decisions
             if statement.instruction in passed or (statement.instruction in targets and _decides_about(
                 changed, statement, chain(*parts[statement.instruction])))
             for each in statement.operations if each.kind not in UNLISTED]  # fmt: skip
    amounts = {
        "minmax": sum(each.amount for each, floating in kinds if floating and each.kind == "compare"),
        f"{INTEGER}bitwise": sum(each.amount for each, floating in kinds if not floating and nest.carried),
    }
    operations = {kind: amount * nest.iterations for kind, amount in amounts.items() if amount}
    if operations:
        yield CompiledChain(operations, 1, 32, nest.entries)


def _searches(nest: Nest) -> Count:
    """Return the branches of searches that go the wrong way: half of them.

    A select of integers that decides from where the next iteration loads, as in a binary search, becomes a branch. An
    assignment behind a test is one too.
    """
    loading = {each.variable for each in nest.carried if any(kind in LOADS for (kind, _), _ in each.terms)}
    chosen = {each.instruction for each in nest.decisions for row in each.operations
              if row.kind == "select" and not _is_floating(row.dtype)}  # fmt: skip
    steps = (step for step in nest.kernel.flow.dataflow.steps if step.guarded or step.name in chosen)
    searching = any(write.variable in loading for step in steps for write in step.writes)
    return Fraction(searching, 2) * nest.iterations


def _decides_about(variables: Set[str], statement: Statement, computed: Iterable[Computed]) -> bool:
    """Return whether any decision of a statement uses one of the variables, or whether its operands are unknown.

    ``computed`` are all operations of the statement's instruction.
    """
    using = set[int]()
    for each in sorted(computed, key=attrgetter("number")):  # an operand has a smaller number
        texts = re.findall(r"\w+", " ".join(operand for operand in each.operands if isinstance(operand, str)))
        numbers = {max(operand, ~operand) for operand in each.operands if isinstance(operand, int)}
        if not variables.isdisjoint(texts) or not using.isdisjoint(numbers):
            using.add(each.number)
    known = statement.computed and all(each.operands for each in statement.computed)
    return not known or any(each.number in using for each in statement.computed)


def _stays_scalar(nest: Nest, launch: Sequence[Nest]) -> bool:
    """Return whether Intel's compiler keeps the innermost loop of a group of one work-item scalar.

    It does if the number of the group is in the address of a load. A function is a call when the compiler makes
    vectors, also if it is inlined later, and a loop with calls becomes vectors only if it stores nothing.
    """
    inames = (pair for domain in nest.domains for pair in zip(domain.names, domain.axes, strict=True))
    groups = {name for name, axis in inames if axis.startswith("g")}
    steps = (access.step(name) for access in nest.accesses for name in groups if access.direction == "load")
    if any(step not in (None, NO_BYTES) for step in steps):
        return True
    functions = any(_is_floating(row.dtype) and row.kind not in OPERATORS for row in nest.operations)
    return functions and any(_stored(launch, loop) for loop in nest.loops.inner[-1:])


def _is_floating(dtype: str) -> bool:
    return dtype.startswith(("float", "complex"))


def _bits(dtype: str) -> int:
    return 64 if dtype in ("float64", "complex128", "int64", "uint64") else 32


def _position_key(access: NestAccess) -> tuple[object, ...]:
    return (id(access),) if access.address is None else (access.bits, access.address.text)


def _without_repeats(accesses: Iterable[NestAccess]) -> Iterable[NestAccess]:
    """Yield only the first load from each address, because a compiler keeps the loaded value in a register."""
    seen: set[tuple[object, ...]] = set()
    for access in accesses:
        if access.direction == "load" and access.address is not None:
            key = access.array, *_position_key(access), str(access.count.polynomial)
            if key in seen:
                continue
            seen.add(key)
        yield access


def _access(
    access: NestAccess, nest: Nest, around: str | None, fills: bool, new: bool, stored: Container[str] | None
) -> CompiledAccess[Count]:
    address, distances = access.address, [Count(lane.distance) for lane in access.lanes]
    step = access.step(nest.loops.inner[-1]) if nest.loops.inner else None
    copies = [*_unrolled_steps(access, step, stored is not None)]
    share = Fraction(1) if stored is None else _loaded_share(access, stored)
    if stored and access.array in stored:
        around = None
    return CompiledAccess(
        load=access.direction == "load", bits=access.bits, executions=share * access.count,
        unmasked=share * access.unmasked, guarded=access.guarded,
        lane_strides=() if address is None else tuple(distances),
        invariant=step == NO_BYTES, contiguous=any(_is_cell(each, access) for each in (step, *copies)),
        scattered_copies=not all(_is_cell(each, access) for each in copies),
        assumed_lanes=any(distance.is_parameter for distance in distances),
        assumed_loop=step is not None and (Fraction(8, access.bits) * step).is_parameter,
        invariant_around=around is not None and access.step(around) == NO_BYTES,
        odd_pitch=_has_odd_pitch(access, {*nest.loops.outer, *nest.loops.inner, *access.copies}),
        new_address=new, fills_stride=fills, start=None if address is None else address.start,
        steps=() if address is None else tuple(address.steps.values()),
        sized=address is None or any(count.parameters for count in (address.start, *address.steps.values())),
        widened=access.widened, parts=1 + access.is_complex, space=access.space,
        chosen=address is not None and bool(address.chosen),
    )  # fmt: skip


def _stored(launch: Sequence[Nest], loop: str | None = None) -> frozenset[str]:
    """Return the arrays that a launch stores, or that a loop of it stores."""
    accesses = (access for nest in launch if loop in (None, *nest.loops.inner) for access in nest.accesses)
    return frozenset(each.array for each in accesses if each.direction == "store" and each.space != "private")


def _is_cell(step: Count | None, access: NestAccess) -> bool:
    cell = Count.constant(Fraction(access.bits, 8), "byte")
    return step in (cell, -1 * cell)


def _unrolled_steps(access: NestAccess, step: Count | None, narrow: bool) -> Iterator[Count]:
    """Yield the steps between (few) copies that an unrolled loop made, if the step of a loop follows the last copy."""
    if access.address is not None and step is not None and step != NO_BYTES:
        for copies, number in access.copies.items():
            part = access.address.step(copies)
            most = (WIDEST_STRIDE if access.direction == "store" else WIDEST_LOAD // access.bits) if narrow else number
            if 1 < number <= most and step == number * part:
                yield part


def _stores_pairs(access: NestAccess) -> bool:
    if access.direction == "load" or access.space != "global" or access.address is None:
        return False
    return any(_is_cell(access.address.step(copies), access) for copies in access.copies)


def _has_odd_pitch(access: NestAccess, loops: Collection[str]) -> bool:
    if access.space != "local" or access.address is None:
        return False
    lane_steps = (step for name, step in access.address.steps.items() if name not in loops)
    # a step that depends on sizes is a power of two at few of them
    return any(step.parameters or log2(abs(float(step())) * 8 / access.bits) % 1 for step in lane_steps)


def _filling(accesses: Iterable[NestAccess]) -> set[NestAccess]:
    """Return the accesses that together touch all cells from one lane to the next. Vectors then load all cells."""
    together: dict[tuple[object, ...], list[NestAccess]] = defaultdict(list)
    for access in accesses:
        if access.address is not None and access.lanes:
            steps = {name: step for name, step in access.address.steps.items() if name not in access.copies}
            motion = (access.array, access.direction, access.bits, texts_of(steps), access.address.base)
            together[motion].append(access)
    return {access for alike in together.values() if _fill_stride(alike) for access in alike}


def _fill_stride(alike: Sequence[NestAccess]) -> bool:
    """Return whether accesses with the same motion together touch all cells from one lane to the next.

    PoCL's compiler sees that they are neighbours if it knows the low bits of the first index (docs/lab/recipes.md).
    """
    lanes = [Count(lane.distance) for access in alike for lane in access.lanes]
    distances = {None if distance.parameters else float(distance()) for distance in lanes}
    width = distances.pop() if len(distances) == 1 else None
    address = alike[0].address
    if address is None or width is None or not 1 < width <= WIDEST_STRIDE:
        return False
    if not address.keeps_low_bits(int(width) * alike[0].bits // 8):
        return False
    starts = {start for access in alike for start in _starts(access)}
    return len({start * 8 / alike[0].bits % width for start in starts if start is not None}) == width


def _starts(access: NestAccess) -> Iterator[Fraction | None]:
    if access.address is not None:
        starts = [access.address.start]
        for iname, values in access.copies.items():
            step = access.address.step(iname)
            if len(starts) * values <= MOST_COPIES:
                starts = [start + value * step for start in starts for value in range(values)]
        yield from map(constant_of, starts)


def _separate_addresses(accesses: Iterable[NestAccess]) -> int:
    """Return the largest number of address expressions of one global matrix that differ by more than a constant."""
    bases: dict[str, set[str]] = defaultdict(set)
    for access in accesses:
        if access.space == "global" and access.address is not None and access.address.degree <= 1:
            bases[access.array].add(access.address.base)
    return max(map(len, bases.values()), default=0)


class _Cells(NamedTuple):
    """An access in several cells of a work-item that are not neighbours."""

    place: object  # equal if two accesses compute the same index
    base: str  # of the address
    start: Fraction  # its constant [B]
    number: int  # of cells
    distance: Fraction  # from one cell to the next [B]; 0 if sizes decide
    between: bool  # whether work-items along another axis of the group lie between the cells


def _cell_addresses(nests: Sequence[Nest], shape: Sequence[int]) -> int:
    """Return the most addresses of one array that the cells of a work-item compute in the same form, without a test.

    If the number of cells is a power of two, each index but the first is a bitwise or of the group's first index and
    a constant. Packing such indices saves instructions if another array has one of them too, unless further indices
    use parts of them. It also does if work-items lie between the cells.
    """
    arrays: dict[tuple[str, int, Fraction], list[_Cells]] = defaultdict(list)
    domains = [domain for nest in nests for domain in nest.domains]
    lanes = {name: axis for domain in domains for name, axis in zip(domain.names, domain.axes, strict=True) if axis}
    extents = {name: shape[int(axis[2:])] for name, axis in lanes.items() if axis[0] == "l" and axis != FIRST_LANES}
    for access in (access for nest in nests for access in nest.accesses):
        found = None if access.space != "global" or access.guarded else _cells(access, extents)
        if found is not None and found.number & (found.number - 1) == 0:
            arrays[access.array, found.number, found.distance].append(found)
    near = {key for key, cells in arrays.items() if _are_near(cells)}
    most = 0
    for key, cells in arrays.items():
        between, bases = any(each.between for each in cells), {each.base for each in cells}
        others = {each.place for other in near if other[0] != key[0] for each in arrays[other]}
        if between or (key in near and any(each.place in others for each in cells)):
            alike = len({each.start for each in cells}) if key in near and len(bases) == 1 else 1
            most = max(most, cells[0].number * max(alike, len(bases) if between else 1))
    return most


def _cells(access: NestAccess, extents: Mapping[str, int]) -> _Cells | None:
    """Return the cells of an access; ``extents`` has work-items along the axes of the group other than the first."""
    address = access.address
    start = None if address is None else constant_of(address.start)
    if address is None or start is None or address.chosen or address.drifts:
        return None
    far = {name: number for name, number in access.copies.items()
           if number > 1 and name in address.steps and not _is_cell(address.step(name), access)}  # fmt: skip
    if not far:
        return None
    name = max(far, key=lambda name: far[name])
    step = address.step(name)
    in_cells = {row: Fraction(8, access.bits) * each for row, each in {**address.steps, "": address.start}.items()}
    return _Cells(
        texts_of(in_cells), address.base, start, far[name],
        distance=Fraction(0) if step.parameters else abs(constant_of(step) or Fraction(0)),
        between=any(step == extent * address.step(row) for row, extent in extents.items() if row in address.steps),
    )  # fmt: skip


def _are_near(cells: Sequence[_Cells]) -> bool:
    """Return whether the accesses of each base start less than a cell's distance from each other."""
    starts: dict[str, list[Fraction]] = defaultdict(list)
    for each in cells:
        starts[each.base].append(each.start)
    return all(len({*each}) == 1 or max(each) - min(each) < cells[0].distance for each in starts.values())
