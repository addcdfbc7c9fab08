r"""The linear form of the TMM model (Ma, Chamberlain and Agrawal 2014, Eq. 15).

.. math:: T = a_1 \frac{\sqrt{B_r}}{\mathcal{T}} + a_0

fits the paper's all-pairs shortest paths at one problem size. There the transactions M grow with
:math:`\sqrt{B_r}` (Eq. 10 with :math:`S_D = n/\sqrt{B_r}`) and the work is constant, so for kernels of any size it
reads

.. math:: T = a_1 \frac{M}{\mathcal{T} P} + a_0 \frac{T_1}{P}

plus what each launch costs. It is a sum where :mod:`perfmodel.models.threaded_manycore` has a maximum, and
it leaves out the span and, as Eq. 15 does, the scheduling factor.
"""

from __future__ import annotations

from typing import Any

from perfmodel.models import threaded_manycore as tmm
from perfmodel.models.model import Family
from perfmodel.quantities.case import Case

_TAKEN = ("work_per_core", "transactions_per_thread", "launched")


def quantities(case: Case) -> dict[str, Any]:
    """Return T_1/P, M/(T P) and the launches."""
    found = tmm.quantities(case)
    return {name: found[name] for name in _TAKEN}


FAMILY = Family(
    name="threaded_manycore_linear",
    citation=f"{tmm.CITATION}, Eq. 15",
    quantities=quantities,
    units={name: tmm.UNITS[name] for name in _TAKEN},
    weights=tmm.WEIGHTS,
    parts={
        "compute": "w_operation*work_per_core",
        "memory": "w_latency*transactions_per_thread",
        "overhead": "w_launch*launched",
    },
    expression="compute + memory + overhead",
)
