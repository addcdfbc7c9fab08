r"""What a device's busiest compute unit does whose sub-groups in flight hide each other's latency.

Such a unit (a GPU's multiprocessor) holds several work-groups at once. It issues instructions of their sub-groups in
turn, each for all lanes together, and accesses memory in segments. Each quantity is an amount that some resource of
the unit works through. Groups are dealt evenly: of G groups the busiest of U units runs
:math:`\lceil G/U \rceil`, so that a sum over all groups counts :math:`\lceil G/U \rceil/G` times. A unit holds B
groups at once (:func:`~perfmodel.quantities.occupancy.groups_held`) and runs its groups in
:math:`\max(1, \lceil G/U \rceil/B)` rounds, each of which lasts at least as long as one sub-group alone.

Amounts in loops and in the straight code before and after them are apart: all sub-groups of a round are in a loop at
about the same time, and what they do before and after it does not overlap with it.

The resources are those of Sim et al. in Kim et al. (2012), section 4.1, and of Wang and Lou (2017), section 3; but
each access counts by itself, with the lines that caches have to fetch for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from perfmodel.counts.nests.nest import Issue, IssuedAccess
from perfmodel.errors import FlowUnknownError
from perfmodel.quantities.case import Case
from perfmodel.quantities.instructions import SIMPLE
from perfmodel.quantities.occupancy import groups_held, groups_per_launch
from perfmodel.quantities.traffic import EVERYTHING, fetched_lines, last_cache, local_passes, segments, touched_lines

FUNCTIONS: Mapping[str, str] = MappingProxyType({
    "div": "a division", "pow": "a power", "sqrt": "a square root", "rsqrt": "an inverse square root",
    "exp": "an exponential", "log": "a logarithm", "sin": "a sine", "cos": "a cosine", "tanh": "a hyperbolic tangent",
})  # fmt: skip
"""Operations on float32 with a cost of their own, in words; all others that are not simple share one."""
TURN = 2
"""Instructions of a turn of a loop: its counter, and the test of it."""
LINE_BYTES, SECTOR_BYTES = 128, 32
"""Bytes of a segment of memory where no fact gives them, and of the part of it that a scattered store sends."""

PHASES = ("loop", "straight")
KINDS = ("instructions", "doubles", *FUNCTIONS, "other")
AMOUNTS: Mapping[str, str] = MappingProxyType({
    **dict.fromkeys((*KINDS, "passes"), "operation"),
    **dict.fromkeys(("near_lines", "store_lines", "memory_lines"), "access"),
})  # fmt: skip
"""What is counted in each phase, with its unit."""

MULTITHREADED_UNITS: Mapping[str, str] = MappingProxyType({
    "started": "launch", "dealt_groups": "work-group",
    **{f"{phase}_{name}": unit for phase in PHASES for name, unit in AMOUNTS.items()},
    **dict.fromkeys((f"chain_{kind}" for kind in KINDS), "operation"),
    **dict.fromkeys(("chain_hits", "chain_misses"), "access"), "chain_barriers": "barrier",
})  # fmt: skip
"""Unit of each quantity of :func:`multithreaded_resources`."""


def multithreaded_resources(case: Case) -> dict[str, Any]:
    """Return what the busiest unit works through, over all launches.

    - ``started``, ``dealt_groups``: launches, and work-groups of the unit.
    - ``<phase>_instructions``, ``_doubles``, ``_<function>``: instructions of sub-groups: simple operations of up to
      32 bits and turns of loops; simple operations of 64 bits; divisions and functions. An addition and a
      multiplication of one nest and type are one.
    - ``<phase>_passes``: accesses to local memory, each as often as its bank conflicts repeat it, and segments of
      global memory that loads of sub-groups touch.
    - ``<phase>_near_lines``: lines that the first-level cache fetches for loads; without such a cache all segments.
      ``<phase>_store_lines``: segments that stores touch; where data decide the address, a sector for each lane.
    - ``<phase>_memory_lines``: lines that the last cache fetches for loads, shared evenly by the units.
    - ``chain_*``: what stands on the longest chain of a sub-group, which issues in order, times the rounds:
      instructions (with turns of loops and loads from local memory), functions, loads from global memory that the
      first-level cache answers or does not, and barriers.
    """
    units, groups = float(case.fact("compute_units")), np.maximum(groups_per_launch(case), 1)
    dealt = np.ceil(groups / units)
    line = int(case.known("global_transaction_bytes", case.known("cache_line_bytes", LINE_BYTES)))
    phases = {
        phase: [issue for issue in case.counts.issues if bool(issue.loops) == (phase == "loop")] for phase in PHASES
    }
    loaded = {phase: segments(case, _accesses(issues, "global", "load"), line) for phase, issues in phases.items()}
    touched = sum(loaded.values())
    near = _near_lines(case, np.minimum(dealt, groups_held(case)), line, touched)
    memory, touched = _memory_lines(case, line), np.where(touched > 0, touched, 1)
    resources: dict[str, Any] = {}
    for phase, issues in phases.items():
        amounts, share = _issued(case, issues), loaded[phase] / touched
        amounts["passes"] = local_passes(case, _accesses(issues, "local")) + loaded[phase]
        amounts["near_lines"] = near * share
        amounts["store_lines"] = segments(case, _accesses(issues, "global", "store"), line, min(SECTOR_BYTES, line))
        resources |= {f"{phase}_{name}": amount * dealt / groups for name, amount in amounts.items()}
        resources[f"{phase}_memory_lines"] = memory * share / units
    rounds = np.maximum(dealt / groups_held(case), 1)
    return {
        **resources, **{name: amount * rounds for name, amount in _chain(case, near / touched).items()},
        "dealt_groups": case.value(case.counts.work_groups()) * dealt / groups,
        "started": case.value(case.counts.launches()),
    }


def _accesses(issues: Sequence[Issue], space: str, direction: str = "") -> list[IssuedAccess]:
    """Return the accesses of nests to a space, in a direction or in both."""
    accesses = (access for issue in issues for access in issue.accesses if access.space == space)
    return [access for access in accesses if direction in ("", access.direction)]


def _issued(case: Case, issues: Sequence[Issue]) -> dict[str, Any]:
    total = _by_cost({})
    for issue in issues:
        numbers = {(row.dtype, row.kind): case.value(row.count) for row in issue.operations}
        total = {name: total[name] + value for name, value in _by_cost(numbers).items()}
    total["instructions"] = total["instructions"] + _turns(case, issues)
    return total


def _turns(case: Case, issues: Sequence[Issue]) -> Any:
    """Return the instructions of turns of loops."""
    return TURN * case.sum(*(issue.turns for issue in issues if issue.loops))


def _by_cost(numbers: Mapping[tuple[str, str], Any]) -> dict[str, Any]:
    """Return operations by what they cost: simple ones of up to 32 and of 64 bits, and functions."""
    costs: dict[str, Any] = dict.fromkeys(KINDS, 0.0)
    for (dtype, kind), number in numbers.items():
        if kind in SIMPLE:
            fused = np.minimum(number, numbers.get((dtype, "mul"), 0.0)) if kind == "add" else 0.0
            name, number = "doubles" if dtype.endswith("64") else "instructions", number - fused
        else:
            name = kind if kind in FUNCTIONS and dtype == "float32" else "other"
        costs[name] = costs[name] + number
    return costs


def _near_lines(case: Case, held: Any, line: int, loaded: Any) -> Any:
    """Return the lines that loads bring into first-level caches, each shared by the groups that a unit holds.

    A group has its share of the sets, where the ways of the cache are known.
    """
    if not case.knows("l1_bytes"):
        return loaded
    ways = int(case.known("l1_ways", 0))
    capacity = np.maximum(case.fact("l1_bytes") / held, max(ways, 1) * line).astype(int)
    return np.minimum(fetched_lines(case, capacity, line, ways), loaded)


def _memory_lines(case: Case, line: int) -> Any:
    """Return the lines that the last cache fetches for loads.

    What a launch touches is still in the cache from the launch before, if it fills no more than half of it. As
    lines spread over its sets unevenly, the share that is not rises until it fills the cache one and a half times.
    Without a fact of that cache each line comes from memory once.
    """
    size = last_cache(case, line)
    if size is None:
        return fetched_lines(case, EVERYTHING, line)
    filled = touched_lines(case, line) * line / size
    return fetched_lines(case, size, line) * np.clip(filled - 0.5, 0, 1)


def _chain(case: Case, missed: Any) -> dict[str, Any]:
    """Return what stands on the longest chain of a work-item."""
    if case.counts.flow is None:
        raise FlowUnknownError(case.counts.name)
    chain = case.counts.flow.in_order
    numbers = {(row.where, row.kind): case.value(row.count) for row in chain.rows if row.is_operation}
    local, loads = case.value(chain.accesses("local", "load")), case.value(chain.accesses("global", "load"))
    subgroups = case.value(case.counts.sub_groups()) / np.maximum(case.value(case.counts.launches()), 1)
    costs = _by_cost(numbers)
    costs["instructions"] = costs["instructions"] + _turns(case, case.counts.issues) / np.maximum(subgroups, 1) + local
    return {
        **{f"chain_{name}": value for name, value in costs.items()},
        "chain_hits": loads * (1 - missed), "chain_misses": loads * missed,
        "chain_barriers": case.value(chain.barriers()),
    }
