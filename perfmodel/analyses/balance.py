r"""What bounds a kernel, by the work-depth model and its balance inequality.

A computation has the work W, the depth D and Q transfers. A machine has p cores of :math:`C_0` operations a second
each, the latency :math:`\alpha`, the bandwidth :math:`\beta` and transfers of size L. The computation can run at the
machine's peak if its time to compute (Eq. 2.1) is at least its time to move data (Eq. 2.3). This is Eq. 2.4 of Kim et
al. (2012), section 2.5:

.. math::

    \frac{p C_0}{\beta} \left(1 + \frac{\alpha \beta / L}{Q / D}\right)
    \le \frac{W}{Q L} \left(1 + \frac{p - 1}{W / D}\right)

The paper prints p instead of p - 1, but only p - 1 makes the inequality equivalent to :math:`T_{comp} \ge T_{mem}`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import FamilyError
from perfmodel.predicting.model import FittedModel
from perfmodel.quantities.case import Case, cores
from perfmodel.quantities.instructions import critical_path, work
from perfmodel.quantities.traffic import global_bytes, transfer_bytes

FAMILY = "work_depth"
COMPUTE_BOUND, MEMORY_BOUND = "compute-bound", "memory-bound"
TOO_LITTLE_PARALLELISM, NO_WORK = "too little parallelism", "no work"


@dataclass(frozen=True)
class Balance:
    """A computation, and the machine that it runs on.

    The tree of figure 2.3 can use about six processors, but not 64:

    >>> tree = Balance(31, 5, 1, cores=64, rate=1e9, latency=0.0, bandwidth=1e12, transfer_bytes=64)
    >>> tree.parallelism, tree.verdict
    (6.2, 'too little parallelism')
    """

    work: float  # W [nodes]
    depth: float  # D [nodes]
    transfers: float  # Q
    cores: float  # p
    rate: float  # C_0 of one core [nodes/s]; infinite where computing costs nothing
    latency: float  # alpha [s]
    bandwidth: float  # beta [B/s]; infinite where moving data costs nothing
    transfer_bytes: float  # L, the size of one transfer [B]

    @property
    def parallelism(self) -> float:
        """:math:`W/D`, the mean number of nodes that can execute at once. If the depth is 0, it is infinite."""
        return self.work / self.depth if self.depth else math.inf

    @property
    def memory_parallelism(self) -> float:
        """:math:`Q/D`, the mean number of transfers that can be in flight at once."""
        return self.transfers / self.depth if self.depth else math.inf

    @property
    def hidden(self) -> float:
        r""":math:`\alpha\beta/L`, the number of transfers in flight that hides the latency (Little's law)."""
        return self.latency * self.bandwidth / self.transfer_bytes if self.latency else 0.0

    @property
    def _times(self) -> tuple[float, float, float, float]:
        work_s = max(self.work - self.depth, 0.0) / self.cores / self.rate
        transfer_s = self.transfers * self.transfer_bytes / self.bandwidth
        return self.depth / self.rate, work_s, self.latency * self.depth, transfer_s

    @property
    def compute_s(self) -> float:
        """Eq. 2.1 [s]."""
        return sum(self._times[:2])

    @property
    def memory_s(self) -> float:
        """Eq. 2.3 [s]."""
        return sum(self._times[2:])

    @property
    def holds(self) -> bool:
        """Whether Eq. 2.4 holds, so that the data can be moved while the machine computes."""
        return self.compute_s >= self.memory_s

    @property
    def verdict(self) -> str:
        """What takes longest. If the chain of dependences does, there is too little parallelism."""
        if not (self.compute_s or self.memory_s):
            return NO_WORK
        depth_s, work_s, latency_s, transfer_s = self._times
        if self.holds:
            return COMPUTE_BOUND if work_s >= depth_s else TOO_LITTLE_PARALLELISM
        return MEMORY_BOUND if transfer_s >= latency_s else TOO_LITTLE_PARALLELISM


def judge_balance(model: FittedModel, kernel: Any, sizes: Mapping[str, int]) -> Balance:
    """Return what bounds a kernel, a ``TranslationUnit`` or its counts, on the device of a ``work_depth`` model."""
    if model.family.name != FAMILY:
        raise FamilyError(f"the model is of the family '{model.family.name}'", f"fit the family '{FAMILY}' for this")
    case = Case(model.counted(kernel, sizes), sizes, model.facts, FAMILY)
    line, weights = transfer_bytes(case), model.weights
    return Balance(
        work=float(work(case)), depth=float(critical_path(case)), transfers=float(global_bytes(case)) / line,
        cores=cores(case), rate=_inverse(weights["w_operation"]), latency=weights["w_latency"],
        bandwidth=_inverse(weights["w_byte"]), transfer_bytes=line,
    )  # fmt: skip


def _inverse(cost: float) -> float:
    return 1 / cost if cost else math.inf
