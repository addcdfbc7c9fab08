r"""The MWP-CWP model of Hong and Kim, as Wang and Lou (2017) print it, without its terms for the L2 cache.

A compute unit runs N warps (sub-groups) at a time. MWP of them can wait for memory at once, and CWP can
compute while one waits; the larger of the two decides which equation holds. In seconds, where the
paper counts cycles (so the clock of Eq. 7 cancels), with rounds = #Rep:

- Eq. 1, where CWP is at least MWP, or computing takes longer than memory:
  :math:`T = Mem \cdot N/MWP + Comp/\#Mem\_insts \cdot (MWP - 1)`
- Eq. 2, where it does not: :math:`T = Mem_L + Comp \cdot N`
- Eq. 4, where neither is below N (too few warps): :math:`T = Mem + Comp + Comp/\#Mem\_insts \cdot (MWP - 1)`

Misprints are read as follows: Eq. 1 ends with (MWP - 1), as 4 and 21 do; the first "(12)" defines Mem_L_Coal;
Eq. 19 divides by the *blocks* that are active on a unit (Table 1, row 12). That the condition of Eq. 1 holds
where Comp exceeds Mem is printed so (before Eq. 21), though section 2.2 calls that case Eq. 2's.

The inputs are estimates from static counts, means over the launches (:mod:`perfmodel.quantities.warps`): an
instruction is an operation (an addition and a multiplication are one, as the listing's FFMA), an access, a
barrier, or the index arithmetic of an access, one instruction each. An access whose lanes are further apart
than its size, or that depends on data, is uncoalesced. Where the paper says nothing: a warp issues one
instruction at least; a computation period is not longer than all computing; without accesses to global memory
T is Comp N; each launch costs ``w_launch``.
"""

from __future__ import annotations

from perfmodel.models.model import Family, Weight
from perfmodel.quantities.warps import WARP_UNITS, warp_quantities

MWP = "min(latency/departure, w_bandwidth*latency/(warp_bytes*units), warps)"  # Eq. 5, with 6 and 7
CWP = "min((memory + compute)/compute, warps)"  # Eq. 9 and 10
OTHERS = f"max({MWP} - 1, 0)"
FEW = f"memory + compute + period*{OTHERS}"  # Eq. 4
MANY = f"memory*warps/{MWP} + period*{OTHERS}"  # Eq. 1
COMPUTING = "latency + compute*warps"  # Eq. 2
ENOUGH = f"where({CWP} >= {MWP} or compute > memory, {MANY}, {COMPUTING})"
CHOSEN = f"where({MWP} >= warps and {CWP} >= warps, {FEW}, {ENOUGH})"

FAMILY = Family(
    name="mwp_cwp",
    citation=(
        "X. Wang, A. Lou: GPU Performance Modeling and Analysis Using Software and Hardware Characteristics, 2017, "
        "Eq. 1 to 19; after S. Hong, H. Kim: An Analytical Model for a GPU Architecture, ISCA 2009"
    ),
    quantities=warp_quantities,
    units=WARP_UNITS,
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
