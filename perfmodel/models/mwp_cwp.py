r"""The MWP-CWP model of Hong and Kim, as Wang and Lou (2017) print it, without its terms for the L2 cache.

A compute unit runs N warps (sub-groups) at a time. MWP of them can wait for memory at once, and CWP can
compute while one waits; which of the two is larger decides what the time is made of. In seconds, where the
paper counts cycles (so the clock of Eq. 7 cancels), with rounds = #Rep:

- Eq. 1, where CWP is at least MWP, or computing takes longer than memory:
  :math:`T = Mem \cdot N/MWP + Comp/\#Mem\_insts \cdot (MWP - 1)`
- Eq. 2, where it does not: :math:`T = Mem_L + Comp \cdot N`
- Eq. 4, where neither is below N (too few warps): :math:`T = Mem + Comp + Comp/\#Mem\_insts \cdot (MWP - 1)`

Readings of what is misprinted: Eq. 1 ends with (MWP - 1), as 4 and 21 do; the first "(12)" defines Mem_L_Coal;
Eq. 19 divides by the *blocks* that are active on a unit (Table 1, row 12). That the condition of Eq. 1 holds
where Comp exceeds Mem is printed so (before Eq. 21), though section 2.2 calls that case Eq. 2's.

The inputs are estimates from static counts, averages over the launch: an instruction is an operation (an
addition and a multiplication are one, as the listing's FFMA), an access, a barrier, or the index arithmetic
of an access, one instruction each. An access whose lanes are further apart than its size, or that data
direct, is uncoalesced. What the paper leaves open: a warp issues one instruction at least; a computation
period is not longer than all computing; without accesses to global memory T is Comp N; each launch costs
``w_launch``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.models.model import Family, Weight
from perfmodel.models.roofline import transfer_bytes
from perfmodel.models.synchronous_parallel_throughput import register_operations
from perfmodel.models.threaded_manycore import groups_held
from perfmodel.quantities.case import Case

CITATION = (
    "X. Wang, A. Lou: GPU Performance Modeling and Analysis Using Software and Hardware Characteristics, 2017"
)


def quantities(case: Case) -> dict[str, Any]:
    """Return the inputs of Table 1: instructions are those of one warp."""
    launched, (items, _) = case.total("launches"), started(case)
    units, groups, warps = occupancy(case)
    amounts, apart, sizes = accesses(case)
    mem, uncoalesced = amounts.sum(0), (amounts * (apart > 1)).sum(0)
    moves = transactions(case, apart, sizes)
    share = uncoalesced / np.where(mem > 0, mem, 1)  # Eq. 13
    split = (amounts * (apart > 1) * moves).sum(0) / np.where(uncoalesced > 0, uncoalesced, 1)
    width = (amounts * sizes).sum(0) / np.where(mem > 0, mem, 1)
    per_launch = case.total("work_groups") / np.maximum(launched, 1)
    return {
        "insts": np.maximum(instructions(case) / items, 1),
        "mem_insts": mem / items,
        "periods": np.maximum(mem / items, 1),
        "uncoalesced": share,
        "coalesced": 1 - share,  # Eq. 14
        "per_mw": np.maximum(split, 1),
        "more_per_mw": np.maximum(split, 1) - 1,
        "warp_bytes": case.counts.subgroup_size * np.where(mem > 0, width, 4),
        "warps": groups * warps,  # Eq. 18
        "units": units,
        "rounds": launched * np.maximum(per_launch / (groups * units), 1),  # Eq. 19, for every launch
        "launched": launched,
    }


def started(case: Case) -> tuple[Any, Any]:
    """Return the work-items and the warps of all launches, at least 1."""
    shapes = [(float(np.prod(row.group_shape)), case.value(row.work_groups)) for row in case.counts.launch_table]
    items = sum((size * groups for size, groups in shapes), 0.0)
    warps = sum((-(-size // case.counts.subgroup_size) * groups for size, groups in shapes), 0.0)
    return np.maximum(items, 1), np.maximum(warps, 1)


def occupancy(case: Case) -> tuple[Any, Any, float]:
    """Return the active compute units, the work-groups that each runs at a time, and a group's warps.

    Groups are limited by the facts that are known: ``max_groups_per_unit``, ``max_items_per_unit``,
    ``local_memory_bytes`` and ``registers_per_unit`` with ``registers_per_work_item``.
    """
    items = float(np.prod(case.counts.launch.group_shape))
    per_launch = case.total("work_groups") / np.maximum(case.total("launches"), 1)
    units = np.clip(per_launch, 1, float(case.fact("compute_units")))
    return units, np.clip(np.ceil(per_launch / units), 1, groups_held(case)), -(-items // case.counts.subgroup_size)


def accesses(case: Case) -> tuple[Any, Any, Any]:
    """Return of each access to global memory its executions, its lanes' distance in accesses, and its bytes.

    Executions and distances are of shape (n_accesses, and the sizes' shape); distances are infinite where data direct.
    """
    rows = [row for row in case.counts.access_table if row.space == "global"]
    amounts = np.array([case.value(row.count) for row in rows] or [case.total("work_groups") * 0.0])
    apart = [np.inf + 0 * amount if row.indirect else np.abs(case.value(row.stride)) + 0 * amount
             for row, amount in zip(rows, amounts, strict=False)]  # fmt: skip
    size = np.array([row.bits / 8 for row in rows] or [4.0]).reshape(-1, *(1,) * (amounts.ndim - 1))
    return amounts, np.array(apart or amounts), size


def transactions(case: Case, apart: Any, sizes: Any) -> Any:
    """Return the transactions of an access by a warp (section 3.2): sizeof times lanes times stride over a block.

    As many as there are lanes at most, and one at least.
    """
    lanes = case.counts.subgroup_size
    return np.clip(np.ceil(sizes * lanes * apart / transfer_bytes(case)), 1, lanes)


def instructions(case: Case) -> Any:
    """Return the instructions of all work-items: operations, accesses with their index arithmetic, barriers."""
    moved = case.total("global_load_*", "global_store_*", "local_*")
    return register_operations(case) + 2 * moved + case.total("barrier_local")


MWP = "min(latency/departure, w_bandwidth*latency/(warp_bytes*units), warps)"  # Eq. 5, with 6 and 7
CWP = "min((memory + compute)/compute, warps)"  # Eq. 9 and 10
OTHERS = f"max({MWP} - 1, 0)"
PARTS = {
    "latency": "w_memory_latency + uncoalesced*more_per_mw*w_departure_uncoalesced",  # Eq. 8, with 11 and 12
    "departure": "w_departure_uncoalesced*per_mw*uncoalesced + w_departure_coalesced*coalesced",  # Eq. 15
    "memory": "latency*mem_insts",  # Eq. 16
    "compute": "w_issue*insts",  # Eq. 17
    "period": "compute/periods",
}
UNITS = {
    **dict.fromkeys(("insts", "mem_insts", "periods"), "operation"), "warp_bytes": "B", "rounds": "launch",
    **dict.fromkeys(("uncoalesced", "coalesced", "per_mw", "more_per_mw", "warps", "units"), ""), "launched": "launch",
}  # fmt: skip
WEIGHTS = (
    Weight("w_memory_latency", "s/operation", start=3e-7, lower=1e-10, fact="memory_latency_s"),
    Weight("w_issue", "s/operation", start=3e-9, lower=1e-13, fact="issue_s"),
    Weight("w_departure_coalesced", "s", start=4e-9, lower=1e-13, fact="departure_coalesced_s"),
    Weight("w_departure_uncoalesced", "s", start=1e-8, lower=1e-13, fact="departure_uncoalesced_s"),
    Weight("w_bandwidth", "B/s", start=1e10, lower=1e3, fact="memory_bandwidth_bytes_per_s"),
    Weight("w_launch", "s/launch", start=1e-5, fact="launch_s"),
)


def by_case(few: str, many: str, computing: str) -> str:
    """Return the expression that chooses as Eq. 20 to 22 do."""
    chosen = f"where({CWP} >= {MWP} or compute > memory, {many}, {computing})"
    chosen = f"where({MWP} >= warps and {CWP} >= warps, {few}, {chosen})"
    return f"w_launch*launched + rounds*where(mem_insts > 0, {chosen}, compute*warps)"


FAMILY = Family(
    name="mwp_cwp",
    citation=f"{CITATION}, Eq. 1 to 19; after S. Hong, H. Kim: An Analytical Model for a GPU Architecture, ISCA 2009",
    quantities=quantities,
    units=UNITS,
    weights=WEIGHTS,
    parts=PARTS,
    expression=by_case(
        few=f"memory + compute + period*{OTHERS}",  # Eq. 4
        many=f"memory*warps/{MWP} + period*{OTHERS}",  # Eq. 1
        computing="latency + compute*warps",  # Eq. 2
    ),
    additive=False,
)
