r"""The model of Sim et al., in Kim et al. (2012), section 4.1: time to compute, time for memory, and their overlap.

.. math:: T = T_{comp} + T_{mem} - T_{overlap} \qquad (4.1)

- :math:`T_{comp} = W_{parallel} + W_{serial}` (4.2): instructions of a unit's warps (sub-groups), each at a latency
  over ITILP, the number in flight (4.3 to 4.5); and :math:`O_{sync} + O_{SFU} + O_{CFdiv} + O_{bank}` (4.6 to 4.10).
- :math:`T_{mem}` (4.11): requests, each at AMAT (4.12, 4.13) over ITMLP, the number in flight (4.14, 4.15).
- :math:`T_{overlap}` (4.16, 4.17), with MWP and CWP (4.18 to 4.24).

Times are in seconds instead of cycles, so ``w_issue`` is warp_size/SIMD_width, and the clock of 4.24 cancels. F_SFU is
the printed 4.10. Gamma (64 on the authors' machine) is the weight ``w_sync``. An addition to the model: each launch
costs ``w_launch``, and the times of several launches add up.

The paper reads hardware counters. Here the inputs are **estimates from static counts**:

- instructions (:func:`perfmodel.quantities.instructions.instructions`): averages over a launch's work-items. Divisions,
  powers and functions are special (SFU). A warp issues at least one instruction.
- ILP: operations and accesses over the critical path between barriers. MLP: independent loads before the first use.
- O_CFdiv: what a sub-group executes beyond its mean work-item (:func:`perfmodel.quantities.instructions.divergence`).
  The paper only says "all the instructions in both paths". O_bank: an issue for each serialised access, if the number
  of ``banks`` is known.
- SFU_width / SIMD_width: ``special_units_per_unit`` over ``lanes_per_unit``, else Fermi's 4 over 32.
- miss_ratio: the share of transactions that miss all caches (:mod:`perfmodel.quantities.traffic`). As in the paper's
  expansion of 4.12, :math:`AMAT = hit_1 + m_1 \, hit_2 + m_1 m_2 \, DRAM`. The ratio of both latencies gives
  :math:`hit_2` from :math:`hit_1`. If one latency is unknown, there is one hit latency, as printed.
"""

from typing import Any

import numpy as np

from perfmodel.models.model import BANDWIDTH, GIVEN_LAUNCH, KIM_2012, MEMORY_LATENCY, Family, Weight
from perfmodel.quantities import instructions
from perfmodel.quantities.case import Case, active_units, launched
from perfmodel.quantities.traffic import global_accesses, hit_waits, miss_ratios, subgroup_transactions, transfer_bytes

FERMI_SPECIAL_SHARE = 4 / 32


def quantities(case: Case) -> dict[str, Any]:
    """Return the inputs of Table 4.1. Instructions are those of one warp, without special ones."""
    items, all_warps = launched(case)
    units, groups, warps = active_units(case)
    amounts, strides, sizes = global_accesses(case)
    mem = amounts.sum(0)
    special = instructions.special_functions(case) / items
    insts = np.maximum(instructions.instructions(case) / items - special, 1)
    moves = (amounts * subgroup_transactions(case, strides, sizes)).sum(0) / np.where(mem > 0, mem, 1)
    near, far = miss_ratios(case, mem / items * all_warps * np.maximum(moves, 1))
    share = FERMI_SPECIAL_SHARE
    if case.knows("special_units_per_unit", "lanes_per_unit"):
        share = case.fact("special_units_per_unit") / case.fact("lanes_per_unit")
    return {
        "insts": insts,
        "mem_insts": mem / items,
        "mem_share": np.minimum(mem / items / insts, 1),
        "sync_insts": case.total("barrier_local") / items,
        "sfu_issues": special / share * np.clip(special / insts - share, 0, 1),  # Eq. 4.9 and 4.10
        "diverged": instructions.divergence(case),
        "conflicts": bank_conflicts(case) / all_warps,
        "unit_warps": all_warps / units,
        "warps": groups * warps,
        "others": (groups * warps - 1) / (groups * warps),
        "ilp": instructions.instruction_parallelism(case),
        "mlp": instructions.memory_parallelism(case),
        "more_transactions": np.maximum(moves, 1) - 1,
        "miss_ratio": far,
        "hit_waits": hit_waits(case, near),
        "unit_bytes": transfer_bytes(case) * units,
        "launched": case.total("launches"),
    }


def bank_conflicts(case: Case) -> Any:
    """Return how often bank conflicts repeat accesses to local memory, summed over all warps."""
    counts, extra = case.counts, 0.0
    if case.knows("banks"):
        for array in {row.array for row in counts.access_table if row.space == "local"}:
            serial = case.value(counts.bank_conflicts(array, int(case.fact("banks"))))
            extra = extra + np.maximum(serial - case.value(counts.accesses(array=array, granularity="subgroup")), 0)
    return extra


ITILP = "min(ilp*warps, w_arithmetic_latency/w_issue)"  # Eq. 4.4 and 4.5
PEAK = "(w_bandwidth*dram/unit_bytes)"  # MWP_peak_bw, Eq. 4.23 and 4.24
MWP = f"min(dram/w_departure, {PEAK}, warps)"  # Eq. 4.22
CWP = "min((mem_insts*amat/mlp + period)/period, warps)"  # Eq. 4.18 to 4.21
ITMLP = f"min(mlp*min(max(1, {CWP} - 1), {MWP}), {PEAK})"  # Eq. 4.14 and 4.15

FAMILY = Family(
    name="gpuperf",
    citation=(
        f"{KIM_2012}, section 4.1, Eq. 4.1 to 4.24; after J. Sim, A. Dasgupta, H. Kim, R. Vuduc: A Performance "
        "Analysis Framework for Identifying Potential Benefits in GPGPU Applications, 2012"
    ),
    quantities=quantities,
    units={
        **dict.fromkeys(("insts", "mem_insts", "sync_insts", "sfu_issues", "conflicts"), "operation"),
        **dict.fromkeys(("mem_share", "diverged", "unit_warps", "warps", "others", "ilp", "mlp"), ""),
        "more_transactions": "", "miss_ratio": "", "hit_waits": "", "unit_bytes": "B", "launched": "launch",
    },
    weights=(
        MEMORY_LATENCY,
        Weight("w_hit_latency", "s/operation", start=2e-8, fact="l1_load_s",
               label="waiting for the first-level cache", scale="l1_latency"),
        Weight("w_departure", "s", start=1e-8, lower=1e-13, fact="departure_uncoalesced_s",
               label="the gap between two transactions of one request", scale="cycle"),
        Weight("w_arithmetic_latency", "s/operation", start=2e-8, lower=1e-11, fact="arithmetic_latency_s",
               label="waiting for the result of an instruction", scale="cycle"),
        Weight("w_issue", "s/operation", start=1e-9, lower=1e-13, fact="issue_s",
               label="issuing an instruction of a sub-group", counted="instruction", scale="issue"),
        BANDWIDTH,
        Weight("w_sync", "", start=64.0, label="the share of a memory request that a barrier waits"),
        GIVEN_LAUNCH,
    ),
    parts={
        "dram": "w_memory_latency + more_transactions*w_departure",  # Eq. 4.13
        "amat": "dram*miss_ratio + w_hit_latency*hit_waits",  # Eq. 4.12
        "period": f"insts*w_arithmetic_latency/{ITILP}",  # Eq. 4.20
        "parallel": "unit_warps*period",  # Eq. 4.3
        "sync": "unit_warps*sync_insts*w_sync*dram*mem_share",  # Eq. 4.7 and 4.8
        "special": "unit_warps*sfu_issues*w_issue",  # Eq. 4.9
        "divergence": "parallel*diverged",
        "banks": "unit_warps*conflicts*w_issue",
        "serial": "sync + special + divergence + banks",  # Eq. 4.6
        "compute": "parallel + serial",  # Eq. 4.2
        "memory": f"mem_insts*unit_warps*amat/{ITMLP}",  # Eq. 4.11
        "overlap": f"min(compute*where({CWP} <= {MWP}, others, 1), memory)",  # Eq. 4.16 and 4.17
    },
    expression="w_launch*launched + max(compute + memory - overlap, 0)",  # Eq. 4.1
    additive=False,
    of_one_launch=True,
    labels={
        "dram": "one memory request, its transactions included", "amat": "one memory request on average",
        "period": "the instructions of one sub-group", "parallel": "instructions of all sub-groups of a compute unit",
        "sync": "waiting at barriers", "special": "divisions, roots and functions",
        "divergence": "branches that only some lanes take", "banks": "bank conflicts in local memory",
        "serial": "serialised work: barriers, functions, divergence and bank conflicts",
        "compute": "computing, serialised work included", "memory": "memory requests",
        "overlap": "the part in which computing and memory overlap",
    },
)  # fmt: skip
