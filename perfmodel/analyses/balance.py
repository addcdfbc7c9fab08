r"""What bounds a kernel, by the work-depth model and its balance inequality.

Kim et al. (2012), section 2.5, Eq. 2.4: a computation of work W, depth D and Q transfers can run at the peak of
a machine of p cores, :math:`C_0` operations a second each, latency :math:`\alpha`, bandwidth :math:`\beta` and
transfers of size L if its time to compute (Eq. 2.1) is not below its time to move data (Eq. 2.3):

.. math::

    \frac{p C_0}{\beta} \left(1 + \frac{\alpha \beta / L}{Q / D}\right)
    \le \frac{W}{Q L} \left(1 + \frac{p - 1}{W / D}\right)

The paper prints p for p - 1; only with p - 1 is this the same as :math:`T_{comp} \ge T_{mem}`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfmodel.errors import FamilyMismatchError
from perfmodel.models import work_depth
from perfmodel.models.roofline import traffic, transfer_bytes
from perfmodel.quantities.case import Case
from perfmodel.report.tables import seconds_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfmodel.predict import FittedModel

COMPUTE_BOUND = "compute-bound"
MEMORY_BOUND = "memory-bound"
TOO_LITTLE_PARALLELISM = "too little parallelism"
NO_WORK = "no work"


@dataclass(frozen=True)
class Balance:
    r"""A computation held against a machine.

    Parameters
    ----------
    work, depth
        W and D [nodes].
    transfers
        Q, each of `transfer_bytes`.
    cores
        p.
    rate
        :math:`C_0`, of one core [nodes/s]; infinite where computing costs nothing.
    latency
        :math:`\alpha` [s].
    bandwidth
        :math:`\beta` [B/s]; infinite where moving data costs nothing.
    transfer_bytes
        L [B].

    Examples
    --------
    The tree of figure 2.3, which sums 16 numbers, can use about six processors, but not 64:

    >>> tree = Balance(31, 5, 1, cores=64, rate=1e9, latency=0.0, bandwidth=1e12, transfer_bytes=64)
    >>> tree.parallelism, tree.verdict
    (6.2, 'too little parallelism')
    """

    work: float
    depth: float
    transfers: float
    cores: float
    rate: float
    latency: float
    bandwidth: float
    transfer_bytes: float

    @property
    def parallelism(self) -> float:
        """:math:`W/D`, the nodes that can be performed at once on average; infinite without any depth."""
        return self.work / self.depth if self.depth else math.inf

    @property
    def memory_parallelism(self) -> float:
        """:math:`Q/D`, the transfers that can be under way at once on average."""
        return self.transfers / self.depth if self.depth else math.inf

    @property
    def hidden(self) -> float:
        r""":math:`\alpha\beta/L`, the transfers under way at once that hide the latency (Little's law)."""
        return self.latency * self.bandwidth / self.transfer_bytes if self.latency else 0.0

    @property
    def machine(self) -> float:
        r""":math:`p C_0/\beta`, the balance of the machine [nodes/B]."""
        return self.cores * self.rate / self.bandwidth if math.isfinite(self.bandwidth) else 0.0

    @property
    def intensity(self) -> float:
        """:math:`W/(QL)` of the computation [nodes/B]; infinite where nothing is moved."""
        moved = self.transfers * self.transfer_bytes
        return self.work / moved if moved else math.inf

    @property
    def work_s(self) -> float:
        """What the work takes on all cores, :math:`(W - D)/(p C_0)` [s]."""
        return max(self.work - self.depth, 0.0) / self.cores / self.rate

    @property
    def depth_s(self) -> float:
        """What the longest chain takes, :math:`D/C_0` [s]."""
        return self.depth / self.rate

    @property
    def latency_s(self) -> float:
        r"""What waiting along the chain takes, :math:`\alpha D` [s]."""
        return self.latency * self.depth

    @property
    def transfer_s(self) -> float:
        r"""What moving the data takes, :math:`QL/\beta` [s]."""
        return self.transfers * self.transfer_bytes / self.bandwidth

    @property
    def compute_s(self) -> float:
        """Eq. 2.1 [s]."""
        return self.depth_s + self.work_s

    @property
    def memory_s(self) -> float:
        """Eq. 2.3 [s]."""
        return self.latency_s + self.transfer_s

    @property
    def holds(self) -> bool:
        """Whether Eq. 2.4 holds: the data can be moved while the machine computes."""
        return self.compute_s >= self.memory_s

    @property
    def verdict(self) -> str:
        """What bounds the computation: the largest of the four times, and what would make it smaller.

        Waiting along the chain of dependences, for its operations or for its data, is too little
        parallelism: W/D is below p, or Q/D below what hides the latency.
        """
        if not (self.compute_s or self.memory_s):
            return NO_WORK
        if self.holds:
            return COMPUTE_BOUND if self.work_s >= self.depth_s else TOO_LITTLE_PARALLELISM
        return MEMORY_BOUND if self.transfer_s >= self.latency_s else TOO_LITTLE_PARALLELISM

    @property
    def text(self) -> str:
        """The verdict with its numbers."""
        if self.verdict == NO_WORK:
            return f"{NO_WORK}: it computes nothing and moves nothing that costs time."
        sign = ">=" if self.holds else "<"
        limits = (
            f"{self.intensity:.3g} operations and loads a byte, where this device balances at {self.machine:.3g} "
            f"(Eq. 2.5) and with latency and depth T_comp = {seconds_text(self.compute_s)} {sign} "
            f"T_mem = {seconds_text(self.memory_s)} (Eq. 2.4 {'holds' if self.holds else 'fails'})"
        )
        return f"{self.verdict}: {self._reason()}; {limits}."

    def _reason(self) -> str:
        if self.verdict == COMPUTE_BOUND:
            return (
                f"{self.work:.3g} operations and loads on {self.cores:.3g} lanes take {seconds_text(self.work_s)}, "
                f"and W/D = {self.parallelism:.3g} of them can be performed at once"
            )
        if self.verdict == MEMORY_BOUND:
            moved = self.transfers * self.transfer_bytes
            return (
                f"{moved:.3g} B at {self.bandwidth:.3g} B/s take {seconds_text(self.transfer_s)}, "
                f"and Q/D = {self.memory_parallelism:.3g} transfers can be under way at once"
            )
        if self.holds:
            return (
                f"a chain of {self.depth:.3g} operations and loads takes {seconds_text(self.depth_s)}; only "
                f"W/D = {self.parallelism:.3g} can be performed at once, on {self.cores:.3g} lanes"
            )
        return (
            f"waiting for {self.depth:.3g} operations and loads one after the other takes "
            f"{seconds_text(self.latency_s)}; only Q/D = {self.memory_parallelism:.3g} transfers can be under way at "
            f"once, {self.hidden:.3g} would hide the latency"
        )


def judge_balance(model: FittedModel, kernel: Any, sizes: Mapping[str, int]) -> Balance:
    r"""Return what bounds a kernel at given sizes on the device of a fitted ``work_depth`` model.

    Parameters
    ----------
    model
        Of the family ``work_depth``; its weights are :math:`1/C_0`, :math:`\alpha` and :math:`1/\beta`.
    kernel
        A Loopy ``TranslationUnit``, or its counts.
    sizes
        Every size parameter of the kernel.

    Raises
    ------
    FamilyMismatchError
        If the model is of another family.
    MissingFactError
        If the compute units or the size of a transfer are not known.
    """
    if model.family.name != work_depth.FAMILY.name:
        raise FamilyMismatchError(model.family.name, work_depth.FAMILY.name)
    case = Case(model.counted(kernel), sizes, model.facts, model.family.name)
    line, weights = transfer_bytes(case), model.weights
    return Balance(
        work=float(work_depth.work(case)), depth=float(work_depth.critical_path(case)),
        transfers=float(traffic(case)) / line, cores=work_depth.cores(case),
        rate=_inverse(weights["w_operation"]), latency=weights["w_latency"],
        bandwidth=_inverse(weights["w_byte"]), transfer_bytes=line,
    )  # fmt: skip


def _inverse(cost: float) -> float:
    return 1 / cost if cost else math.inf
