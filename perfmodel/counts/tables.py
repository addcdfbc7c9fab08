"""The tables of a program's counts, and the counts of each launch of a kernel."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache as once, partial
from itertools import count as numbers

import islpy as isl

from perfmodel.counts.counters.executions import Cardinalities
from perfmodel.counts.counters.lines import Footprint, Site
from perfmodel.counts.kernel import KernelCounts
from perfmodel.counts.program import program as programs
from perfmodel.counts.program.program import Access, DeviceKernel, Domain, LaneStride, Loop, Node, Program, Statement
from perfmodel.counts.quasipoly.arguments import parameters_of
from perfmodel.counts.quasipoly.count import Count
from perfmodel.counts.rows import AccessCount, BarrierCount, LaunchCount, LaunchShape, OperationCount, total
from perfmodel.values import cached_method, grouped

PARAM = isl.dim_type.param


def tabulate(program: Program, subgroup_size: int, shape: LaunchShape, budget: float = 1.0) -> KernelCounts:
    """Return the counts of a program (Algorithm 1). Each distinct set is counted once."""
    cardinalities = Cardinalities(program, subgroup_size, budget)
    launches = tuple(
        LaunchCount(launch.name, launch.group_shape, cardinalities.repeats(i), cardinalities.work_groups(i))
        for i, launch in enumerate(program.launches)
    )
    operations = _operation_rows(program, cardinalities)
    accesses = _access_rows(program, cardinalities)
    barriers = grouped((site.scope, cardinalities.barriers(site)) for site in program.barriers)
    numbers = [row.count for table in (operations, accesses) for row in table]
    numbers += [launch.work_groups for launch in launches]
    numbers += [number for met in barriers.values() for number in met]
    used = set(program.assumptions.drop_unused_params().get_var_names(PARAM))
    used.update(*(number.parameters for number in numbers))
    accessed = [access for statement in program.statements for access in statement.accesses]
    if not used.issuperset(program.parameters):
        parts = {id(part): part for access in accessed for part in _address_parts(access)}  # many share one object
        # a statement may have nothing to count, only values in registers, and still be part of a nest
        parts |= {id(points): points for points in (statement.domain.points for statement in program.statements)}
        used.update(name for part in parts.values() for name in parameters_of(part))
    return KernelCounts(
        program.name, tuple(sorted(used)), str(program.assumptions), subgroup_size, shape, launches, operations,
        accesses, tuple(BarrierCount(scope, total(barriers[scope])) for scope in sorted(barriers)), program, budget,
        tuple(sorted({access.shift[0] for access in accessed if access.shift})),
    )  # fmt: skip


def _address_parts(access: Access) -> tuple[isl.PwQPolynomial | isl.Set | isl.Map, ...]:
    shape = access.shape or ()  # data-dependent accesses may touch any cell
    distances = (stride.distance for stride in access.lane_stride)
    cells = shape if access.cells is None else (access.cells,)
    moves = () if access.moves is None else (access.moves,)
    return (*access.strides, access.offset, *distances, *cells, *moves)


def _operation_rows(program: Program, cardinalities: Cardinalities) -> tuple[OperationCount, ...]:
    amounts: dict[tuple[Domain, str, str], int] = defaultdict(int)
    for statement in (*program.statements, *program.decisions):
        for operation in statement.operations:
            if operation.kind not in programs.UNLISTED:
                amounts[statement.domain, operation.dtype, operation.kind] += operation.amount
    parts = grouped(
        ((dtype, kind), amount * cardinalities.count(domain)) for (domain, dtype, kind), amount in amounts.items()
    )
    return tuple(OperationCount(*key, total(parts[key])) for key in sorted(parts))


def _access_rows(program: Program, cardinalities: Cardinalities) -> tuple[AccessCount, ...]:
    sites = grouped(
        ((access.space, access.direction, access.array), (statement.domain, access))
        for statement in program.statements for access in statement.accesses
    )  # fmt: skip
    return tuple(row for key in sorted(sites) for row in _rows_of_array(sites[key], cardinalities))


def _rows_of_array(sites: list[Site], cardinalities: Cardinalities) -> list[AccessCount]:
    sample = sites[0][1]
    parts: dict[tuple[str, str, int], list[Count]] = defaultdict(list)
    strides: dict[tuple[str, str, int], LaneStride | None] = {}
    for domain, access in sites:
        for stride, executions in _executions(domain, access, cardinalities):
            key = ("indirect" if stride is None else str(stride.distance), access.dtype, access.bits)
            parts[key].append(executions)
            strides.setdefault(key, stride)
    footprint = once(lambda: Footprint(sites, cardinalities))
    return [AccessCount.deferred(
        partial(_cells, footprint, sample, strides[key]),
        space=sample.space, direction=sample.direction, array=sample.array, dtype=key[1], bits=key[2],
        indirect=strides[key] is None, stride=_distance(strides[key]), count=total(parts[key]),
    ) for key in sorted(parts)]  # fmt: skip


def _executions(domain: Domain, access: Access, cardinalities: Cardinalities) -> list[tuple[LaneStride | None, Count]]:
    """Return the executions of an access for each lane stride. A stride that depends on data is None."""
    whole = cardinalities.count(domain)
    if len(access.lane_stride) < 2:
        return [(access.lane_stride[0] if access.lane_stride else None, whole)]
    others = []
    for stride in access.lane_stride[1:]:
        part = replace(domain, points=domain.points.intersect(stride.within).coalesce())
        others.append((stride, cardinalities.count(part)))
    # the first stride gets the remaining executions, so that no set is counted for it
    return [(access.lane_stride[0], sum((-1 * executions for _, executions in others), whole)), *others]


def _distance(stride: LaneStride | None) -> Count:
    return Count.constant(0, "cell") if stride is None else Count(stride.distance, granularity="cell")


def _cells(
    footprint: Callable[[], Footprint], sample: Access, stride: LaneStride | None
) -> tuple[Count | None, Count | None]:
    """Return the distinct cells, and the same cells with gaps filled for a stride above 1 in global memory."""
    cells = footprint()  # for private arrays too: it changes the domains in place, and the counts' hash depends on them
    if sample.space == "private":
        return None, None
    wide = stride is not None and str(stride.distance) not in ("{ 0 }", "{ 1 }")
    return cells.count, cells.filled(stride) if stride is not None and wide and sample.space == "global" else None


@cached_method
def if_tests_are_false(counts: KernelCounts) -> KernelCounts:
    """Return the counts if none of :attr:`KernelCounts.unknown_tests` is ever true, so that no branch is taken."""
    never = once(_never)
    return _changed(counts, lambda statement: replace(statement, domain=never(statement.domain)))


@cached_method
def with_own_functions(counts: KernelCounts, times: int) -> KernelCounts:
    """Return the counts with each call of :attr:`KernelCounts.own_functions` counted several times, or never."""

    def changed(statement: Statement) -> Statement:
        operations = (
            replace(one, amount=one.amount * times) if one.kind in counts.own_functions else one
            for one in statement.operations
        )
        computed = (
            one._replace(lanes=one.lanes * times) if one.kind in counts.own_functions else one
            for one in statement.computed
        )
        return replace(statement, operations=tuple(one for one in operations if one.amount), computed=tuple(computed))

    return _changed(counts, changed)


def _changed(counts: KernelCounts, change: Callable[[Statement], Statement]) -> KernelCounts:
    """Return the counts with changed statements. The schedule stays the same."""
    program = counts.program
    statements, decisions = (tuple(map(change, table)) for table in (program.statements, program.decisions))
    program = replace(program, statements=statements, decisions=decisions)
    tables = tabulate(program, counts.subgroup_size, counts.launch, counts.budget)
    made = replace(tables, parameters=counts.parameters, offsets=counts.offsets, types=counts.types)
    vars(made)["flow"] = replace(made.flow, same_schedule=counts.flow)  # branches stay in the code
    return made


def _never(domain: Domain) -> Domain:
    unknown = {programs.unknown_probability(test) for test in domain.unknown_tests}
    reasons = tuple(reason for reason in domain.reasons if reason not in unknown)
    return replace(domain, chance=Fraction(0), reasons=reasons, exact=not reasons) if unknown else domain


@cached_method
def by_launch(counts: KernelCounts) -> tuple[KernelCounts, ...]:
    """Return the counts of each launch with all repeats. The counts of all launches add up to the kernel's."""
    if len(counts.launch_table) < 2:
        return (counts,)
    return tuple(_of_launch(counts, number) for number in range(len(counts.launch_table)))


def _of_launch(counts: KernelCounts, number: int) -> KernelCounts:
    program = _program_of(counts.program, number)
    local = any(access.space == "local" for statement in program.statements for access in statement.accesses)
    shape = LaunchShape(
        program.launches[0].group_shape, counts.launch.local_bytes if local else 0, counts.launch.private_bytes
    )
    tables = tabulate(program, counts.subgroup_size, shape, counts.budget)
    return replace(tables, parameters=counts.parameters, types=counts.types)


def _program_of(program: Program, number: int) -> Program:
    moved = once(lambda domain: replace(domain, launch=0))

    def of_launch(statements: Iterable[Statement]) -> tuple[Statement, ...]:
        own = (statement for statement in statements if statement.domain.launch == number)
        return tuple(replace(statement, domain=moved(statement.domain)) for statement in own)

    return replace(
        program, launches=(program.launches[number],), statements=of_launch(program.statements),
        decisions=of_launch(program.decisions),
        barriers=tuple(replace(site, launch=0) for site in program.barriers if site.launch == number),
        schedule=tuple(_kept(program.schedule, number, numbers())),
    )


def _kept(nodes: tuple[Node, ...], number: int, launches: Iterator[int]) -> Iterator[Node]:
    """Yield the host's nodes of a schedule that are a given launch or contain the launch."""
    for node in nodes:
        if isinstance(node, DeviceKernel):
            if next(launches) == number:
                yield node
        elif isinstance(node, Loop):
            body = tuple(_kept(node.body, number, launches))
            if body:
                yield replace(node, body=body)
