r"""The MWP-CWP model of Hong and Kim, as Wang and Lou (2017) print it: without and with an L2 cache, and section 2.2's.

A compute unit runs N warps (sub-groups) at a time. MWP is the number of warps that can access memory at the same time.
CWP is the number of warps that can compute while one warp waits for memory, plus one. MWP and CWP decide which equation
holds. Times are in seconds, so the clock of Eq. 7 cancels. The model without a cache (``mwp_cwp``) has three cases.
Each T is repeated #Rep times:

- Eq. 4, where MWP = CWP = N (too few warps): :math:`T = Mem + Comp + Comp/\#Mem\_insts \cdot (MWP - 1)`
- Eq. 1, where CWP is at least MWP, or computing takes longer than memory:
  :math:`T = Mem \cdot N/MWP + Comp/\#Mem\_insts \cdot (MWP - 1)`
- Eq. 2, else: :math:`T = Mem_L + Comp \cdot N`

With an L2 cache (``mwp_cwp_l2``), MWP warps wait together in each of N/MWP periods. The first period waits for memory.
All later periods hit the cache (section 2.4) and take :math:`h = Mem\_L2\_cache\_hit / Mem\_L2\_cache\_miss` of the
first period's time:

- Eq. 20 replaces 4 (the later of the last and the first warp):
  :math:`T = \max(First (MWP - 1) + Mem\,h,\; Mem + Comp)`
- Eq. 21 replaces 1: :math:`T = Mem + Mem\,h \max(N/MWP - 1, 0) + Comp/\#Mem\_insts (MWP - 1)`
- Eq. 22 replaces 2: :math:`T = \max(First\,N + Mem_L h,\; Mem_L + Comp)`

First is the issue of the instructions before the first access (Table 1, row 21). In the printed Eq. 20 and 22, later
warps compute only for that long. Section 2.2 contradicts them, and the printed condition of Eq. 21: where CWP is below
MWP, "the execution cost is dominated by the computation cost" of all N warps. ``mwp_cwp_l2_all_warps`` follows section
2.2: Eq. 21 only where CWP is at least MWP, and Eq. 2 in place of Eq. 22. Eq. 2 has no h, because its warps wait only
for the first access, which the cache does not hold.

There are three misprints. Eq. 1 ends with (MWP - 1), as 4 and 21 do. The first "(12)" defines Mem_L_Coal. Eq. 19
divides by the *blocks* that are active on a unit (Table 1, row 12). This file defines what the paper leaves open. A
warp issues at least one instruction. A computation period is not longer than all computing. Without accesses to global
memory T is Comp N. Each launch costs ``w_launch``, and the times of several launches add up. With the fact
``l2_miss_ratio`` m, an extension, h becomes m + (1 - m) h.
"""

from typing import Any

import numpy as np

from perfmodel.models.model import BANDWIDTH, GIVEN_LAUNCH, MEMORY_LATENCY, Family, Weight
from perfmodel.quantities.case import Case, active_units, groups_per_launch, launched
from perfmodel.quantities.instructions import first_instructions, instructions
from perfmodel.quantities.traffic import global_accesses, subgroup_transactions

UNITS = {
    **dict.fromkeys(("insts", "mem_insts", "periods"), "operation"), "warp_bytes": "B", "rounds": "launch",
    **dict.fromkeys(("uncoalesced", "coalesced", "per_mw", "more_per_mw", "warps", "units"), ""), "launched": "launch",
}  # fmt: skip
CACHED_UNITS = {**UNITS, "first_insts": "operation", "misses": "", "hits": ""}


def warp_quantities(case: Case) -> dict[str, Any]:
    """Return the inputs of Table 1, estimates from static counts, of one launch.

    - ``insts``, ``mem_insts``: instructions and accesses to global memory of one warp. An addition and a multiplication
      are one instruction, like the FFMA of the listing. An access has one instruction of index arithmetic. ``periods``:
      the accesses, at least 1.
    - ``uncoalesced``, ``coalesced``: shares of the accesses (Eq. 13, 14). An access is uncoalesced where its lanes are
      further apart than its size, or where it depends on data.
    - ``per_mw``, ``more_per_mw``: transactions of an uncoalesced access, and those beyond the first.
    - ``warp_bytes``: bytes that a warp moves with one access [B].
    - ``warps``, ``units``, ``rounds``: warps of a unit at a time (Eq. 18), units in use, and how often the units are
      filled, #Rep (Eq. 19, with the active blocks of a unit).
    - ``launched``: 1, or how often the host repeats the launch.
    """
    launches, (items, _) = case.value(case.counts.launches()), launched(case)
    units, groups, warps = active_units(case)
    amounts, strides, sizes = global_accesses(case)
    mem, uncoalesced = amounts.sum(0), (amounts * (strides > 1)).sum(0)
    moves = amounts * (strides > 1) * subgroup_transactions(case, strides, sizes)
    share = uncoalesced / np.where(mem > 0, mem, 1)
    split = np.maximum(moves.sum(0) / np.where(uncoalesced > 0, uncoalesced, 1), 1)
    width = (amounts * sizes).sum(0) / np.where(mem > 0, mem, 1)
    return {
        "insts": np.maximum(instructions(case) / items, 1), "mem_insts": mem / items,
        "periods": np.maximum(mem / items, 1), "uncoalesced": share, "coalesced": 1 - share, "per_mw": split,
        "more_per_mw": split - 1, "warp_bytes": case.counts.subgroup_size * np.where(mem > 0, width, 4),
        "warps": groups * warps, "units": units,
        "rounds": launches * np.maximum(groups_per_launch(case) / (groups * units), 1), "launched": launches,
    }  # fmt: skip


def cached_warp_quantities(case: Case) -> dict[str, Any]:
    """Add to :func:`warp_quantities` First_comp_period_insts and the shares of later accesses that miss or hit L2."""
    miss = float(case.known("l2_miss_ratio", 0.0))
    return {**warp_quantities(case), "first_insts": first_instructions(case), "misses": miss, "hits": 1 - miss}


MWP = "min(latency/departure, w_bandwidth*latency/(warp_bytes*units), warps)"  # Eq. 5, with 6 and 7
CWP = "min((memory + compute)/compute, warps)"  # Eq. 9 and 10
OTHERS = f"max({MWP} - 1, 0)"
LATER = "(misses + hits*w_l2_latency/w_memory_latency)"  # h
EQ_1 = f"memory*warps/{MWP} + period*{OTHERS}"
EQ_2 = "latency + compute*warps"
EQ_4 = f"memory + compute + period*{OTHERS}"
EQ_20 = f"max(first*{OTHERS} + memory*{LATER}, memory + compute)"
EQ_21 = f"memory + memory*{LATER}*max(warps/{MWP} - 1, 0) + period*{OTHERS}"
EQ_22 = f"max(first*warps + latency*{LATER}, latency + compute)"
BY_SECTION_2_2 = f"{CWP} >= {MWP}"
AS_PRINTED = f"{BY_SECTION_2_2} or compute > memory"


def _family(name: str, source: str, few: str, memory: str, many: str, computing: str, cached: bool) -> Family:
    """Return the model. T is `few` with too few warps, `many` if the condition `memory` holds, else `computing`."""
    enough = f"where({memory}, {many}, {computing})"
    chosen = f"where({MWP} >= warps and {CWP} >= warps, {few}, {enough})"
    cache = Weight("w_l2_latency", "s/operation", start=1e-7, lower=1e-11, fact="l2_latency_s",
                   label="waiting for the second-level cache")  # fmt: skip
    return Family(
        name=name,
        citation="X. Wang, A. Lou: GPU Performance Modeling and Analysis Using Software and Hardware Characteristics, "
                 f"2017, {source}",
        quantities=cached_warp_quantities if cached else warp_quantities,
        units=CACHED_UNITS if cached else UNITS,
        weights=(
            MEMORY_LATENCY,
            Weight("w_issue", "s/operation", start=3e-9, lower=1e-13, fact="issue_s",
                   label="issuing an instruction of a sub-group", counted="instruction", scale="issue"),
            Weight("w_departure_coalesced", "s", start=4e-9, lower=1e-13, fact="departure_coalesced_s",
                   label="the gap between two coalesced memory requests", scale="cycle"),
            Weight("w_departure_uncoalesced", "s", start=1e-8, lower=1e-13, fact="departure_uncoalesced_s",
                   label="the gap between two transactions of one uncoalesced request", scale="cycle"),
            BANDWIDTH, GIVEN_LAUNCH, *((cache,) if cached else ()),
        ),
        parts={
            "latency": "w_memory_latency + uncoalesced*more_per_mw*w_departure_uncoalesced",  # Eq. 8, with 11 and 12
            "departure": "w_departure_uncoalesced*per_mw*uncoalesced + w_departure_coalesced*coalesced",  # Eq. 15
            "memory": "latency*mem_insts",  # Eq. 16
            "compute": "w_issue*insts",  # Eq. 17
            "period": "compute/periods",
            **({"first": "w_issue*first_insts"} if cached else {}),
        },
        expression=f"w_launch*launched + rounds*where(mem_insts > 0, {chosen}, compute*warps)",
        additive=False,
        of_one_launch=True,
        labels={
            "latency": "one memory request, its transactions included",
            "departure": "the time between two memory requests", "memory": "memory requests of one sub-group",
            "compute": "instructions of one sub-group",
            "period": "instructions of one sub-group between two memory requests",
            **({"first": "instructions of one sub-group before its first memory request"} if cached else {}),
        },
    )  # fmt: skip


FAMILY = _family(
    "mwp_cwp", "Eq. 1 to 19; after S. Hong, H. Kim: An Analytical Model for a GPU Architecture, ISCA 2009",
    EQ_4, AS_PRINTED, EQ_1, EQ_2, cached=False,
)  # fmt: skip
WITH_L2 = _family("mwp_cwp_l2", "Eq. 1 to 22", EQ_20, AS_PRINTED, EQ_21, EQ_22, cached=True)
ALL_WARPS = _family(
    "mwp_cwp_l2_all_warps", "section 2.2 with Eq. 2, and Eq. 1 to 21", EQ_20, BY_SECTION_2_2, EQ_21, EQ_2, cached=True
)
