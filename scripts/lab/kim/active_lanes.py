r"""The lanes of a sub-group that are active in each step of a kernel: its SIMD utilisation.

Kim et al. (2012), section 4.2.5. A sub-group of S lanes executes an instruction once for all lanes that take part. The
utilisation of an instruction is

.. math:: u = \frac{\text{executions by work-items}}{S \cdot \text{executions by sub-groups}}

A guard, a branch that splits sub-groups, a loop whose trips differ from lane to lane and a partly filled sub-group make
it less than 1. The authors trace an emulator; here both numbers are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod

import islpy as isl

from perfmodel.counts import KernelCounts
from perfmodel.counts.counters.executions import Cardinalities, completed
from perfmodel.counts.program.program import Domain, Program
from perfmodel.counts.quasipoly.arguments import points_at
from scripts.lab.kim.work_flow import WorkFlow, WorkNode

TRIPS_UNKNOWN = "how far the trips of its lanes differ is not known"
NOT_EXECUTED = "it is not executed"


@dataclass(frozen=True)
class ActiveLanes:
    """The lanes that are active in the instructions of a node of the work flow graph, over all launches."""

    by_items: float  # instructions that work-items execute
    by_subgroups: float  # instructions that sub-groups execute, once for all their lanes
    shares: tuple[float, ...]  # for each lane, the share of the sub-groups' executions in which it is active
    at_least: bool = False  # whether statistics give how many work-items take part, and not which
    unknown: str = ""  # why nothing of this is known; the numbers are 0 then

    @property
    def utilization(self) -> float:
        """The mean of the lanes' shares, u; 0 if it is unknown."""
        return self.by_items / (len(self.shares) * self.by_subgroups) if self.by_subgroups else 0.0

    @property
    def idle(self) -> float:
        """Number of lanes that are not active, over all executions by sub-groups."""
        return len(self.shares) * self.by_subgroups - self.by_items


def active_lanes(counts: KernelCounts, graph: WorkFlow, sizes: Mapping[str, int]) -> tuple[ActiveLanes | None, ...]:
    """Return the active lanes of each node of a kernel's graph; None of a node without operations and accesses.

    Where a test depends on data, `statistics` give the number of work-items that pass, not which: each sub-group is to
    execute what is under it, so that the utilisation is at least what is returned. What such a loop holds is unknown.
    Raises SizeError if a size is missing or breaks the assumptions.

    Examples
    --------
    Lane i of the only sub-group makes i + 1 of 4 trips:

    >>> import loopy as lp, numpy as np
    >>> from scripts.lab.kim.work_flow import work_flow
    >>> from perfmodel.counts import count
    >>> unit = lp.make_kernel("{ [i, j]: 0 <= i < 4 and 0 <= j <= i }", "y[i, j] = 2", lang_version=(2018, 2))
    >>> counts = count(lp.tag_inames(unit, {"i": "l.0"}), subgroup_size=4)
    >>> _, store, _ = active_lanes(counts, work_flow(counts, {}), {})
    >>> store.by_items, store.by_subgroups, store.shares, store.utilization
    (10.0, 4.0, (0.25, 0.5, 0.75, 1.0), 0.625)
    """
    counting = _Counting(counts.flow.cardinalities, sizes)
    return tuple(counting.of_instances(_instances(counts.program, node)) for node in graph.nodes)


def _instances(program: Program, node: WorkNode) -> Counter[Domain]:
    """Return how many instructions of a node there are at each instance of a domain."""
    amounts: Counter[Domain] = Counter()
    for statement in program.statements:
        if statement.instruction != node.statement:
            continue
        if node.kind == "compute":
            amounts[statement.domain] += sum(operation.amount for operation in statement.operations)
        else:
            acts = [act for act, _ in node.acts]
            amounts[statement.domain] += sum((each.space, each.direction) in acts for each in statement.accesses)
    return +amounts


class _Counting:
    """Executions at given sizes, of each domain once."""

    def __init__(self, cardinalities: Cardinalities, sizes: Mapping[str, int]) -> None:
        self.cardinalities, self.sizes = cardinalities, sizes
        self.lanes = cache(self._lanes)

    def of_instances(self, amounts: Mapping[Domain, int]) -> ActiveLanes | None:
        """Return the lanes of a node with so many instructions at each instance of its domains."""
        width = self.cardinalities.subgroup_size
        if not amounts:
            return None
        why = dict.fromkeys(reason for domain in amounts for reason in self.doubts(domain))
        by_items, by_subgroups = (0.0 if why else self.executed(amounts, unit) for unit in ("workitem", "subgroup"))
        if not by_subgroups:
            return ActiveLanes(0.0, 0.0, (0.0,) * width, unknown="; ".join(why) or NOT_EXECUTED)
        active = [0.0] * width
        for domain, amount in amounts.items():
            for lane, executions in enumerate(self.lanes(domain)):
                active[lane] += amount * executions
        shares = tuple(executions / by_subgroups for executions in active)
        return ActiveLanes(by_items, by_subgroups, shares, any(domain.chance != 1 for domain in amounts))

    def doubts(self, domain: Domain) -> tuple[str, ...]:
        """Return why it is unknown which lanes execute a domain, where not even a bound is."""
        if domain.trips is not None:
            return (TRIPS_UNKNOWN,)
        number = self.cardinalities.count(domain)
        return () if number.exact else number.reasons

    def executed(self, amounts: Mapping[Domain, int], granularity: str) -> float:
        return sum(amount * self.executions(domain, granularity) for domain, amount in amounts.items())

    def executions(self, domain: Domain, granularity: str) -> float:
        return float(self.cardinalities.count(domain, granularity)(**self.sizes))

    def _lanes(self, domain: Domain) -> tuple[float, ...]:
        """Return the executions by the lanes at each place of their sub-groups."""
        width, by_subgroups = self.cardinalities.subgroup_size, self.executions(domain, "subgroup")
        if self.executions(domain, "workitem") == width * by_subgroups:  # by far the most frequent case
            return (by_subgroups,) * width
        launch = self.cardinalities.program.launches[domain.launch]
        whole = completed(domain, launch)
        number = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(whole.points.get_space()))
        for axis in range(len(launch.group_shape)):
            position, below = whole.axes.index(f"l.{axis}"), prod(launch.group_shape[:axis])
            number = number.set_coefficient_val(isl.dim_type.in_, position, isl.Val(below))
        number = number.mod_val(isl.Val(width))
        lanes = (number.add_constant_val(isl.Val(-lane)).zero_basic_set().to_set() for lane in range(width))
        return tuple(
            float(domain.factor * points_at(whole.points.intersect(there), self.sizes)) for there in lanes
        )
