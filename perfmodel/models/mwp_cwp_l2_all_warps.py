r"""The MWP-CWP model with an L2 cache, with the condition and the computing case of section 2.2: Wang and Lou (2017).

As :mod:`perfmodel.models.mwp_cwp_l2`, but where section 2.2 contradicts Eq. 21 and 22, it decides. It says that
where CWP is below MWP, "the execution cost is dominated by the computation cost", that of all N warps:

- Eq. 20, where neither MWP nor CWP is below N, is kept:
  :math:`T = \max(First (MWP - 1) + Mem\,h,\; Mem + Comp)`
- Eq. 21 holds only where CWP is at least MWP, as in section 2.1; "or Comp exceeds Mem" is left out:
  :math:`T = Mem + Mem\,h \max(N/MWP - 1, 0) + Comp/\#Mem\_insts (MWP - 1)`
- Eq. 2 of section 2.2, else, in place of Eq. 22: :math:`T = Mem_L + Comp \cdot N`

In Eq. 2 warps wait only for the first access, which the cache does not hold: h is not in it.
"""

from __future__ import annotations

from perfmodel.models.model import Family, Weight
from perfmodel.quantities.warps import CACHED_WARP_UNITS, cached_warp_quantities

MWP = "min(latency/departure, w_bandwidth*latency/(warp_bytes*units), warps)"  # Eq. 5, with 6 and 7
CWP = "min((memory + compute)/compute, warps)"  # Eq. 9 and 10
OTHERS = f"max({MWP} - 1, 0)"
LATER = "(misses + hits*w_l2_latency/w_memory_latency)"  # h
FEW = f"max(period*{OTHERS} + memory*{LATER}, memory + compute)"  # Eq. 20
MANY = f"memory + memory*{LATER}*max(warps/{MWP} - 1, 0) + period*{OTHERS}"  # Eq. 21
COMPUTING = "latency + compute*warps"  # Eq. 2
ENOUGH = f"where({CWP} >= {MWP}, {MANY}, {COMPUTING})"  # sections 2.1 and 2.2
CHOSEN = f"where({MWP} >= warps and {CWP} >= warps, {FEW}, {ENOUGH})"

FAMILY = Family(
    name="mwp_cwp_l2_all_warps",
    citation=(
        "X. Wang, A. Lou: GPU Performance Modeling and Analysis Using Software and Hardware Characteristics, 2017, "
        "section 2.2 with Eq. 2, and Eq. 1 to 21"
    ),
    quantities=cached_warp_quantities,
    units=CACHED_WARP_UNITS,
    weights=(
        Weight("w_memory_latency", "s/operation", start=3e-7, lower=1e-10, fact="memory_latency_s",
               words="waiting for one memory request"),
        Weight("w_issue", "s/operation", start=3e-9, lower=1e-13, fact="issue_s",
               words="issuing an instruction of a sub-group", counted="instruction"),
        Weight("w_departure_coalesced", "s", start=4e-9, lower=1e-13, fact="departure_coalesced_s",
               words="the gap between two coalesced memory requests"),
        Weight("w_departure_uncoalesced", "s", start=1e-8, lower=1e-13, fact="departure_uncoalesced_s",
               words="the gap between two transactions of one uncoalesced request"),
        Weight("w_bandwidth", "B/s", start=1e10, lower=1e3, fact="memory_bandwidth_bytes_per_s",
               words="the bandwidth of global memory"),
        Weight("w_launch", "s/launch", start=1e-5, fact="launch_s", words="a launch"),
        Weight("w_l2_latency", "s/operation", start=1e-7, lower=1e-11, fact="l2_latency_s",
               words="waiting for the second-level cache"),
    ),
    parts={
        "latency": "w_memory_latency + uncoalesced*more_per_mw*w_departure_uncoalesced",  # Eq. 8, with 11 and 12
        "departure": "w_departure_uncoalesced*per_mw*uncoalesced + w_departure_coalesced*coalesced",  # Eq. 15
        "memory": "latency*mem_insts",  # Eq. 16
        "compute": "w_issue*insts",  # Eq. 17
        "period": "compute/periods",
    },
    expression=f"w_launch*launched + rounds*where(mem_insts > 0, {CHOSEN}, compute*warps)",
    additive=False,
    words={
        "latency": "one memory request, its transactions included",
        "departure": "the time between two memory requests",
        "memory": "memory requests of one sub-group",
        "compute": "instructions of one sub-group",
        "period": "instructions of one sub-group between two memory requests",
    },
)
