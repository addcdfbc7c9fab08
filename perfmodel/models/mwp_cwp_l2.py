r"""The MWP-CWP model with an L2 cache: Wang and Lou (2017), Eq. 20 to 22.

As :mod:`perfmodel.models.mwp_cwp`, but only the first of the periods in which a unit's warps wait for memory
goes to memory; in all later ones the L2 cache hits (section 2.4), and they take
:math:`h = Mem\_L2\_cache\_hit / Mem\_L2\_cache\_miss` of its time:

- Eq. 20, where neither MWP nor CWP is below N, the last warp or the first:
  :math:`T = \max(First (MWP - 1) + Mem\,h,\; Mem + Comp)`
- Eq. 21, where CWP is at least MWP, or Comp exceeds Mem:
  :math:`T = Mem + Mem\,h \max(N/MWP - 1, 0) + Comp/\#Mem\_insts (MWP - 1)`
- Eq. 22, else: :math:`T = \max(First\,N + Mem_L h,\; Mem_L + Comp)`

First, the issue of the instructions before the first access, is estimated as Comp / #Mem_insts, a mean
period. That Eq. 20 and 22 let later warps compute for that long only is printed so.

An extension, the measured or simulated miss ratio m (fact ``l2_miss_ratio``, which
:mod:`perfmodel.analyses.memory_hierarchy` gives), puts m + (1 - m) h in place of h; without it m is
the paper's 0.
"""

from __future__ import annotations

from typing import Any

from perfmodel.models import mwp_cwp
from perfmodel.models.model import Family, Weight
from perfmodel.quantities.case import Case

MISS_RATIO = "l2_miss_ratio"


def quantities(case: Case) -> dict[str, Any]:
    """Return the inputs of Table 1, and the shares of later accesses that the L2 cache lacks and holds."""
    miss = float(case.known(MISS_RATIO, 0.0))
    return {**mwp_cwp.quantities(case), "misses": miss, "hits": 1 - miss}


LATER = "(misses + hits*w_l2_latency/w_memory_latency)"
CACHED_PERIODS = f"max(warps/{mwp_cwp.MWP} - 1, 0)"  # #Cache_hit_mem

FAMILY = Family(
    name="mwp_cwp_l2",
    citation=f"{mwp_cwp.CITATION}, Eq. 1 to 22",
    quantities=quantities,
    units={**mwp_cwp.UNITS, "misses": "", "hits": ""},
    weights=(*mwp_cwp.WEIGHTS, Weight("w_l2_latency", "s/operation", start=1e-7, lower=1e-11, fact="l2_latency_s")),
    parts=mwp_cwp.PARTS,
    expression=mwp_cwp.by_case(
        few=f"max(period*{mwp_cwp.OTHERS} + memory*{LATER}, memory + compute)",  # Eq. 20
        many=f"memory + memory*{LATER}*{CACHED_PERIODS} + period*{mwp_cwp.OTHERS}",  # Eq. 21
        computing=f"max(period*warps + latency*{LATER}, latency + compute)",  # Eq. 22
    ),
    additive=False,
)
