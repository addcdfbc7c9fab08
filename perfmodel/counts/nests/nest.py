"""The values of nests: instructions with the same loops and barriers, with counts of all that they execute.

:class:`Nest` counts executions by work-items (CPUs), :class:`Issue` executions by sub-groups after a GPU's compiler has
unrolled loops. An access has an :class:`Address`, affine in the inames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from weakref import WeakKeyDictionary

import islpy as isl

from perfmodel.counts.program.program import Access, Domain, LaneStride, Launch
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount
from perfmodel.values import FrozenValue

IN, OUT, SET, DIV = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.div
PARAM = isl.dim_type.param
LINE = 512  # most points along an iname that are evaluated
NO_BYTES = Count.constant(0, "byte")


@dataclass(frozen=True, eq=False)
class Address(FrozenValue):
    """``start`` plus the sum of ``steps[i]*i`` over the inames, in bytes from the array's first cell."""

    start: Count  # where all inames are 0; it may be negative
    steps: Mapping[str, Count]  # bytes for each iname on which it depends
    drifts: bool = False  # whether data decide where a loop of the steps starts

    def step(self, iname: str) -> Count:
        """Return the bytes by which the address moves when an iname rises by 1."""
        return self.steps.get(iname, NO_BYTES)

    @cached_property
    def base(self) -> str:
        """The start without its constant, as text: addresses with one base differ by a constant number of bytes."""
        pieces = []
        for domain, value in self.start.polynomial.get_pieces():
            moving = value.sub(isl.QPolynomial.val_on_domain(value.get_domain_space(), value.get_constant_val()))
            pieces += [] if moving.is_zero() else [f"{domain}: {moving}"]  # a function has no piece where it is zero
        return "; ".join(sorted(pieces))

    @cached_property
    def degree(self) -> int:
        """The largest number of parameters in a term of the start: 1 for rows of a matrix, 2 for planes of rows."""
        degrees = [0]
        for _, value in self.start.polynomial.get_pieces():
            names = range(value.dim(PARAM))
            value.foreach_term(lambda term: degrees.append(sum(term.get_exp(PARAM, k) for k in names)))  # noqa: B023
        return max(degrees)


def constant_of(start: Count) -> Fraction | None:
    """Return the constant of an address's start [B], which :attr:`Address.base` leaves out; None for several pieces."""
    values = {str(value.get_constant_val()) for _, value in start.polynomial.get_pieces()}
    return Fraction(values.pop()) if len(values) == 1 else None if values else Fraction(0)


_addresses: WeakKeyDictionary[Domain, dict[int, tuple[Access, Address | None]]] = WeakKeyDictionary()


def address_of(access: Access, domain: Domain) -> Address | None:
    """Return the address of an access in the points of a domain, kept with the domain; None if not affine."""
    known = _addresses.setdefault(domain, {})
    if id(access) not in known:
        # the reference to the access keeps its id in use
        known[id(access)] = (access, _address(access, access.cells, domain.points))
    return known[id(access)][1]


def moving_address_of(access: Access, domain: Domain) -> Address | None:
    """Return the address of an access, with steps of data-bounded loops too, whose inames are 0 at the start."""
    if access.moves is None:
        return address_of(access, domain)
    address = _address(access, access.moves, domain.with_loops)
    return None if address is None else replace(address, drifts=access.drifts)


def _address(access: Access, cells: isl.Map | None, points: isl.Set) -> Address | None:
    if cells is None or _bends(cells, points):
        return None
    function = isl.PwMultiAff.from_map(cells.intersect_domain(points))
    start: Count = Fraction(access.bits, 8) * _distance(access.offset)
    steps: dict[str, Count] = {}
    for axis, stride in enumerate(access.strides):
        form = _form(function.get_pw_aff(axis))
        if form is None:
            return None
        distance = Fraction(access.bits, 8) * _distance(stride)
        for position, name in enumerate(points.get_var_names(SET)):
            factor = form.get_coefficient_val(IN, position)
            if not factor.is_zero():
                part = Fraction(str(factor)) * distance
                steps[name] = steps[name] + part if name in steps else part
        for position in range(points.dim(SET)):
            form = form.set_coefficient_val(IN, position, 0)
        constant = isl.PwQPolynomial.from_pw_aff(isl.PwAff.from_aff(form)).project_domain_on_params()
        start = start + distance.times(_distance(constant))
    return Address(start, steps)


def _bends(cells: isl.Map, points: isl.Set) -> bool:
    """Return whether values along each iname show that an index is not affine; isl may take seconds for that."""
    if not any(basic.dim(DIV) for basic in cells.get_basic_maps()) or points.is_empty():
        return False
    indices, middle = isl.PwMultiAff.from_map(cells), points.sample_point()
    for k in range(points.dim(SET)):
        line = points.intersect(isl.Set.from_point(middle).eliminate(SET, k, 1))
        low = line.dim_min_val(k)
        on_line: list[isl.Point] = []
        if low.is_int():
            line.upper_bound_val(SET, k, low.add(isl.Val(LINE))).foreach_point(on_line.append)
        if any(_turns(indices.get_pw_aff(axis), k, on_line) for axis in range(indices.dim(OUT))):
            return True
    return False


def _turns(index: isl.PwAff, k: int, on_line: list[isl.Point]) -> bool:
    if not any(form.dim(DIV) and form.involves_dims(IN, k, 1) for _, form in index.get_pieces()):
        return False
    values = ((point.get_coordinate_val(SET, k).to_python(), index.eval(point).to_python()) for point in on_line)
    slopes = (Fraction(value - before, there - here) for (here, before), (there, value) in pairwise(values))
    return any(slope != other for slope, other in pairwise(slopes))


def _distance(function: isl.PwQPolynomial) -> Count:
    return Count(function, granularity="byte")


def _form(index: isl.PwAff) -> isl.Aff | None:
    forms = [form for _, form in index.get_pieces()]
    if not forms or forms[0].dim(DIV) or any(not form.plain_is_equal(forms[0]) for form in forms[1:]):
        return None
    return forms[0]


@dataclass(frozen=True, eq=False)
class NestAccess:
    """Accesses to an array by one expression of a nest."""

    space: str  # this and the next as in AccessCount
    direction: str
    array: str
    bits: int
    count: Count  # executions by work-items
    address: Address | None  # its address; None if the index depends on data or is not affine
    lanes: tuple[LaneStride, ...]  # distances between neighbouring lanes; empty if data decide
    copies: Mapping[str, int]  # the inames of loops that the generated code unrolls, each with its number of values

    def step(self, loop: str) -> Count | None:
        """Return the bytes between two iterations of a loop; None if unknown, 0 if the access stays."""
        if self.address is None or (self.address.drifts and loop not in self.address.steps):
            return None
        return self.address.step(loop)


@dataclass(frozen=True, eq=False)
class NestChain:
    """A variable that each iteration of a nest computes from its value in the iteration before."""

    operations: tuple[OperationCount, ...]  # of the chain over all work-items; each waits for the one before
    loads: int  # the loads on the chain in each iteration, whose address waits for the operation before
    chains: int  # independent chains of this kind, in cells of the variable
    loops: tuple[str, ...]  # the loops, sorted, that carry the variable from iteration to iteration


@dataclass(frozen=True, eq=False)
class Nest:
    """Instructions in the same barrier interval, in the same sequential loops and on the same lanes."""

    launch: str  # name of the device kernel
    interval: int  # number of the barrier interval in the launch
    outer: tuple[str, ...]  # sequential loops around the interval, outermost first; unrolled loops are left out
    inner: tuple[str, ...]  # those inside the interval
    #: (work-item, iteration) pairs that execute at least one of the instructions, summed over the copies that an
    #: unrolled loop around the inner loops makes
    iterations: Count
    #: the value of ``iterations`` if every work-item made all iterations of the box around the loops; it is larger
    #: than ``iterations`` if a guard, or a loop of varying bounds, leaves some out
    box: Count
    entered: tuple[Count, ...]  # entries of each inner loop: (work-item, iteration) pairs of the loops around it
    trips: int | None  # iterations of the innermost loop per entry, if they are one number at all sizes and lanes
    executions: Count  # as ``iterations``, with each copy of an unrolled loop counted by itself
    operations: tuple[OperationCount, ...]  # operations of the generated code
    compiled: tuple[OperationCount, ...]  # those that remain after compilation (:mod:`perfmodel.counts.nests.folded`)
    accesses: tuple[NestAccess, ...]  # one for each expression
    #: loads and stores of private values that are live across a barrier; a device that runs work-items one after the
    #: other keeps these in memory
    kept: Count
    chains: tuple[NestChain, ...]  # variables that the innermost loop carries from one iteration to the next

    @property
    def entries(self) -> Count:
        """Entries of the innermost loop; :attr:`iterations` if there is no inner loop."""
        return self.entered[-1] if self.entered else self.iterations


@dataclass(frozen=True, eq=False)
class Move:
    """How an address moves with a group axis, a loop, or the copies of an unrolled loop."""

    name: str  # the axis ``g.0``, ..., the loop's iname, or ``g.2/36``: the digit of place value 36 of a group id
    step: Count  # bytes for each step
    values: Count  # number of values; it may be a fraction for the last digit of a group id
    written: bool  # whether the compiled code has a copy for each value
    tested: bool = False  # whether the copies are behind different tests


@dataclass(frozen=True, eq=False)
class IssuedAccess:
    """One expression that accesses an array, executed by sub-groups."""

    space: str  # this and the next as in AccessCount
    direction: str
    array: str
    bits: int
    count: Count  # executions by sub-groups: (sub-group, instance) pairs with at least one active lane
    items: Count  # executions by work-items
    shape: tuple[int, ...]  # work-items of a group along l.0, l.1, ..., or along the digits of local ids in the index
    start: Count  # the address where all inames are 0, in bytes from the array's first cell
    #: bytes by which the address moves along each axis of ``shape``; None if data decide. If the index is not
    #: affine, the smallest distance between neighbours along l.0, and 0 along the others
    lanes: tuple[Count, ...] | None
    moves: tuple[Move, ...]  # with group axes, loops from the outermost on, and copies; empty if not affine
    addressed: bool  # whether the address is affine in the inames or in digits of group and local ids
    guarded: bool  # whether a test excludes instances from the box of lanes, groups, loops and copies
    #: the share of executions that compiled code makes: copies with equal addresses access once, unless they are
    #: behind different tests
    fresh: Fraction = Fraction(1)
    site: tuple[Domain, Access, Launch] | None = None  # the access in the program


@dataclass(frozen=True, eq=False)
class PrivateAccess:
    """One expression that accesses a private array of a work-item."""

    array: str  # this and the next as in AccessCount
    bits: int
    count: Count  # executions by sub-groups, once for all iterations of innermost loops that do not move the address
    reloads: Count  # as ``count``, if registers do not hold data around code that moves the address
    indexed: bool  # whether a loop that is not unrolled indexes it: then the array cannot be in registers
    tested: bool = False  # whether an index depends on an iname of a test around the access


@dataclass(frozen=True, eq=False)
class Issue:
    """Operations and accesses that sub-groups issue in one nest, once for all lanes that execute together."""

    launch: int  # the launch's position in the program
    loops: tuple[str, ...]  # the sequential loops around it that a compiler keeps, outermost first
    turns: Count  # (sub-group, iteration) pairs that execute at least one of its instructions
    operations: tuple[OperationCount, ...]  # executions by sub-groups of the operations that remain after compilation
    accesses: tuple[IssuedAccess, ...]  # to global, constant and local memory, one for each expression
    private: tuple[PrivateAccess, ...]  # to private arrays, one for each expression
    tests: Count  # tests by sub-groups between iterations of unrolled loops of varying trips
