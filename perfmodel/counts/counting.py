"""``count``: from a Loopy translation unit to its :class:`KernelCounts`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
from loopy.diagnostic import LoopyError
from loopy.kernel import KernelState
from loopy.kernel.function_interface import CallableKernel

from perfmodel.counts.cache import key_of, remembered
from perfmodel.counts.cardinality import Cardinalities
from perfmodel.counts.domains import Statistics
from perfmodel.counts.expressions import memory_type
from perfmodel.counts.extract import extract
from perfmodel.counts.footprint import Footprint, Site
from perfmodel.counts.kernel import (
    GRANULARITIES,
    AccessCount,
    BarrierCount,
    KernelCounts,
    LaunchCount,
    LaunchShape,
    OperationCount,
)
from perfmodel.counts.program import Access, Domain, LaneStride, Program
from perfmodel.counts.quasipoly import Count
from perfmodel.errors import IncompleteKernelError, StatisticsError

Number = int | float | Fraction


def count(
    t_unit: lp.TranslationUnit,
    subgroup_size: int = 32,
    statistics: Mapping[str, Number] | None = None,
    include_index_arithmetic: bool = False,
    cache: bool = True,
) -> KernelCounts:
    """Count symbolically what a kernel executes (sections 2 and 3 of the 2016 paper).

    Parameters
    ----------
    t_unit : loopy.TranslationUnit
        With one entry point; preprocessed and scheduled here if it is not yet.
    subgroup_size : int
        Work-items in a sub-group of the device.
    statistics : mapping of str to number, optional
        Mean trip count of each data-dependent loop by its iname; probability of each
        data-dependent test by its text.
    include_index_arithmetic : bool
        Whether integer arithmetic on inames and size parameters is counted too.
    cache : bool
        Whether counts made before, in this process or (on disk) in another, may be returned.

    Returns
    -------
    KernelCounts

    Raises
    ------
    IncompleteKernelError
        Loopy cannot complete or schedule the kernel; the message holds its reason.
    StatisticsNeededError
        The number of executions depends on data and has no bound.
    NotCountableError
        The kernel holds something opaque, such as C instructions.

    Examples
    --------
    >>> import loopy as lp, numpy as np
    >>> double = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]",
    ...                         lang_version=(2018, 2), assumptions="n >= 1")
    >>> counts = count(lp.add_dtypes(double, {"a": np.float32}))
    >>> str(counts.operations(kind="mul")), counts.accesses(array="a")(n=1000)
    ('n', 1000)
    """
    options = (subgroup_size, dict(statistics or {}), include_index_arithmetic)
    key = key_of(t_unit, *options) if cache else None
    return remembered(key, lambda: _count(t_unit, *options))


def _count(
    t_unit: lp.TranslationUnit, subgroup_size: int, statistics: Mapping[str, Number],
    include_index_arithmetic: bool,
) -> KernelCounts:
    scheduled = schedule(t_unit)
    program = extract(scheduled, _fractions(statistics), include_index_arithmetic)
    return _counted(program, subgroup_size, _launch_shape(scheduled, program))


def schedule(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the translation unit preprocessed and linearized, or say why it can't be."""
    try:
        t_unit = _with_callees_inlined(t_unit)
        if t_unit.state < KernelState.PREPROCESSED:
            t_unit = lp.preprocess_program(t_unit)
        if t_unit.state < KernelState.LINEARIZED:
            t_unit = lp.linearize(t_unit)
    except LoopyError as error:
        raise IncompleteKernelError(str(error)) from error
    if len(t_unit.entrypoints) != 1:
        raise IncompleteKernelError(f"it has {len(t_unit.entrypoints)} entry points, not one")
    return t_unit


def _with_callees_inlined(t_unit: lp.TranslationUnit) -> lp.TranslationUnit:
    """Return the unit as one kernel: what a callee executes counts at its call.

    Arrays then bear the caller's names, and cells are those of the caller's arrays.
    """
    for name, callee in t_unit.callables_table.items():
        if isinstance(callee, CallableKernel) and name not in t_unit.entrypoints:
            if t_unit.state >= KernelState.PREPROCESSED:
                raise IncompleteKernelError(
                    f"it calls the kernel '{name}' and is preprocessed already, so that the call "
                    "cannot be inlined; count it before it is preprocessed"
                )
            t_unit = lp.inline_callable_kernel(t_unit, str(name))
    return t_unit


def _fractions(statistics: Mapping[str, Number] | None) -> Statistics:
    found = {}
    for key, value in (statistics or {}).items():
        try:
            found[key] = Fraction(str(value))
        except ValueError:
            raise StatisticsError(key, value) from None
        if found[key] < 0:
            raise StatisticsError(key, value)
    return found


def _counted(program: Program, subgroup_size: int, shape: LaunchShape) -> KernelCounts:
    cardinalities = Cardinalities(program, subgroup_size)
    launches = tuple(
        LaunchCount(launch.name, launch.group_shape, cardinalities.repeats(i),
                    cardinalities.work_groups(i))
        for i, launch in enumerate(program.launches)
    )
    operations = _operation_rows(program, cardinalities)
    accesses = _access_rows(program, cardinalities)
    barriers: dict[str, Count] = {}
    for site in program.barriers:
        met = cardinalities.barriers(site)
        barriers[site.scope] = met + barriers[site.scope] if site.scope in barriers else met
    used = set(program.assumptions.drop_unused_params().get_var_names(isl.dim_type.param))
    for made in (*(row.count for row in operations), *(row.count for row in accesses),
                 *(launch.work_groups for launch in launches)):
        used |= set(made.parameters)
    return KernelCounts(
        program.name, tuple(sorted(used)), str(program.assumptions), subgroup_size, shape,
        launches, operations, accesses,
        tuple(BarrierCount(scope, met) for scope, met in sorted(barriers.items())),
        program,
    )


def _operation_rows(
    program: Program, cardinalities: Cardinalities
) -> tuple[OperationCount, ...]:
    totals: dict[tuple[str, str], Count] = {}
    for statement in program.statements:
        for operation in statement.operations:
            key = (operation.dtype, operation.kind)
            part = operation.amount * cardinalities.count(statement.domain)
            totals[key] = totals[key] + part if key in totals else part
    return tuple(OperationCount(*key, totals[key]) for key in sorted(totals))


def _access_rows(program: Program, cardinalities: Cardinalities) -> tuple[AccessCount, ...]:
    sites: dict[tuple[str, str, str], list[Site]] = defaultdict(list)
    for statement in program.statements:
        for access in statement.accesses:
            sites[access.space, access.direction, access.array].append(
                (statement.domain, access)
            )
    rows: list[AccessCount] = []
    for key in sorted(sites):
        rows.extend(_rows_of_array(sites[key], cardinalities))
    return tuple(rows)


def _rows_of_array(sites: list[Site], cardinalities: Cardinalities) -> list[AccessCount]:
    sample = sites[0][1]
    groups: dict[tuple[str, str, int], list[_Part]] = defaultdict(list)
    for domain, access in sites:
        for part in _parts(domain, access, cardinalities):
            distance = "indirect" if part.stride is None else str(part.stride.distance)
            groups[distance, access.dtype, access.bits].append(part)
    footprint = Footprint(sites, cardinalities)
    cells = footprint.count() if sample.space != "private" else None
    rows = []
    for (distance, dtype, bits), parts in sorted(groups.items(), key=lambda item: item[0]):
        stride = parts[0].stride
        wide = stride is not None and distance not in ("{ 0 }", "{ 1 }")
        total = {
            g: sum((part.counts[g] for part in parts[1:]), parts[0].counts[g])
            for g in GRANULARITIES
        }
        rows.append(AccessCount(
            sample.space, sample.direction, sample.array, dtype, bits, stride is None,
            Count.constant(0, "cell") if stride is None else Count(
                stride.distance, granularity="cell"
            ),
            total["workitem"], total["subgroup"], total["workgroup"], cells,
            footprint.filled(stride) if stride is not None and wide and cells is not None
            and sample.space == "global" else None,
        ))
    return rows


@dataclass(frozen=True)
class _Part:
    """The executions of one access at one lane stride (None: it depends on data)."""

    stride: LaneStride | None
    counts: dict[str, Count]


def _parts(domain: Domain, access: Access, cardinalities: Cardinalities) -> list[_Part]:
    if len(access.lane_stride) < 2:
        stride = access.lane_stride[0] if access.lane_stride else None
        return [_Part(stride, {g: cardinalities.count(domain, g) for g in GRANULARITIES})]
    # Sub-groups are not divided, and what is left for the first distance needs no set of its own.
    whole = {g: cardinalities.count(domain, g) for g in GRANULARITIES}
    none = {g: 0 * whole[g] for g in GRANULARITIES}
    others = []
    for stride in access.lane_stride[1:]:
        part = replace(domain, points=domain.points.intersect(stride.within).coalesce())
        others.append(_Part(stride, {**none, "workitem": cardinalities.count(part)}))
    left = sum((-1 * part.counts["workitem"] for part in others), whole["workitem"])
    return [_Part(access.lane_stride[0], {**whole, "workitem": left}), *others]


def _launch_shape(t_unit: lp.TranslationUnit, program: Program) -> LaunchShape:
    (entry,) = t_unit.entrypoints
    kernel = t_unit[entry]
    sizes: dict[Any, int] = {lp.AddressSpace.LOCAL: 0, lp.AddressSpace.PRIVATE: 0}
    for variable in kernel.temporary_variables.values():
        if variable.address_space in sizes and all(
            isinstance(extent, (int, np.integer)) for extent in variable.shape
        ):
            cells = int(np.prod(variable.shape, dtype=np.int64))
            sizes[variable.address_space] += cells * memory_type(variable).itemsize
    largest = max(program.launches, key=lambda launch: launch.group_size)
    return LaunchShape(
        largest.group_shape, sizes[lp.AddressSpace.LOCAL], sizes[lp.AddressSpace.PRIVATE]
    )


