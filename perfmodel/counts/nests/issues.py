"""What sub-groups issue: the operations and accesses of each nest, counted once for all lanes that execute together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from perfmodel.counts.counters.cardinality import Cardinalities
from perfmodel.counts.flow.flow import Flow
from perfmodel.counts.nests.nest import address_of
from perfmodel.counts.nests.nests import SET, rolled, statements_by_nest, union_of
from perfmodel.counts.program.program import Access, Domain, Statement
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import OperationCount, total


@dataclass(frozen=True, eq=False)
class IssuedAccess:
    """One expression that accesses an array.

    Attributes
    ----------
    space, direction, array, bits
        As in :class:`~perfmodel.counts.rows.AccessCount`.
    count : Count
        Executions by sub-groups: (sub-group, instance) pairs with at least one active lane.
    items : Count
        Executions by work-items.
    shape : tuple of int
        Work-items of a group along l.0, l.1, ....
    start : Count
        The address where all inames are 0, in bytes from the array's first cell.
    lanes : tuple of Count or None
        How far the address moves along l.0, l.1, ... [B]; None where data decide. Where the index is not affine it is
        the smallest distance between neighbours along l.0, and 0 along the others.
    moves : tuple of (Count, Count)
        How far it moves with each loop and group axis that moves it [B], and how many values that has.
    """

    space: str
    direction: str
    array: str
    bits: int
    count: Count
    items: Count
    shape: tuple[int, ...]
    start: Count
    lanes: tuple[Count, ...] | None
    moves: tuple[tuple[Count, Count], ...]


@dataclass(frozen=True, eq=False)
class Issue:
    """What sub-groups issue in one nest.

    Attributes
    ----------
    loops : tuple of str
        The sequential loops around it, outermost first; loops that are unrolled are left out.
    turns : Count
        (sub-group, iteration) pairs that execute at least one of its instructions.
    operations : tuple of OperationCount
        Executions by sub-groups.
    accesses : tuple of IssuedAccess
        One for each expression.
    """

    loops: tuple[str, ...]
    turns: Count
    operations: tuple[OperationCount, ...]
    accesses: tuple[IssuedAccess, ...]


def issues_of(flow: Flow) -> tuple[Issue, ...]:
    """Return what the sub-groups of a kernel issue, nest by nest, in the order of the schedule.

    Raises
    ------
    PlacesUnknownError
        The kernel was stored before places were recorded.
    """
    known = flow.cardinalities
    issues = []
    for (around, _), statements in statements_by_nest(flow).items():
        domains = [rolled(domain, around) for domain in dict.fromkeys(statement.domain for statement in statements)]
        accesses = (
            _issued(known, statement.domain, access) for statement in statements for access in statement.accesses
        )
        issues.append(Issue(
            (*around.outer, *around.inner), known.count(union_of(domains), "subgroup"),
            _operations(known, statements), tuple(accesses),
        ))
    return tuple(issues)


def _operations(known: Cardinalities, statements: Iterable[Statement]) -> tuple[OperationCount, ...]:
    parts: dict[tuple[str, str], list[Count]] = defaultdict(list)
    for statement in statements:
        for operation in statement.operations:
            number = known.count(statement.domain, "subgroup")
            parts[operation.dtype, operation.kind].append(operation.amount * number)
    return tuple(OperationCount(*key, total(parts[key], "subgroup")) for key in sorted(parts))


def _issued(known: Cardinalities, domain: Domain, access: Access) -> IssuedAccess:
    launch = known.program.launches[domain.launch]
    address, zero = address_of(access, domain), Count.constant(0, "byte")
    start = zero if address is None else address.start
    steps = {} if address is None else address.steps
    names = dict(zip(domain.axes, domain.names, strict=True))

    def along(axis: str) -> Count:
        return steps.get(names.get(axis, ""), zero)

    lanes = [along(f"l.{axis}") for axis in range(len(launch.group_shape))]
    if access.lane_stride and (address is None or domain.tied):  # a tied loop moves the address with the lane
        distance = Count(access.lane_stride[0].distance, granularity="byte")
        lanes[:1] = [Fraction(access.bits, 8) * distance]
    inames = zip(domain.axes, domain.names, strict=True)
    moving = [name for axis, name in inames if axis[:1] != "l" and name in steps and name not in domain.tied]
    return IssuedAccess(
        access.space, access.direction, access.array, access.bits, known.count(domain, "subgroup"), known.count(domain),
        launch.group_shape, start, tuple(lanes) if access.lane_stride else None,
        tuple((steps[name], _values(known, domain, name)) for name in moving),
    )  # fmt: skip


def _values(known: Cardinalities, domain: Domain, name: str) -> Count:
    """Return how many values an iname has in a domain."""
    points, place = domain.points, domain.names.index(name)
    points = points.project_out(SET, place + 1, len(domain.names) - place - 1).project_out(SET, 0, place)
    return known.wrap(known.size(points), granularity="value")
