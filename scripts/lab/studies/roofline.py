"""Measured kernels below their roofs, and their balance: Kim et al. (2012), Eq. 4.31 and 2.4, figures 4.8 and 2.7."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfmodel.analyses.balance import FAMILY, Balance, judge_balance
from perfmodel.compare.comparison import volume
from perfmodel.display import rate_text, values_text
from scripts.lab.studies.claim import Claim

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfmodel.analyses.roofline import KernelPoint
    from perfmodel.store import Measurement
    from scripts.lab.studies.study import StudyData

#: A kernel may run this much faster than its roof, which was measured too [1].
NOISE = 1.05


@dataclass(frozen=True)
class BalancedKernel:
    """A measured kernel, with both sides of its balance inequality."""

    # kernel, form, sizes: its class, variant and sizes in words.
    kernel: str
    form: str
    sizes: str
    balance: Balance  # what the inequality holds against each other
    rate: float  # nodes of its dataflow a second, as measured: W over the measured time

    @property
    def holds_by_kung(self) -> bool:
        r"""Whether Eq. 2.5 holds, which knows neither latency nor depth: :math:`p C_0/\beta \le W/(QL)`."""
        return machine_balance(self.balance) <= intensity(self.balance)

    @property
    def drawable(self) -> bool:
        """Whether it has a place on logarithmic axes."""
        return 0 < machine_side(self.balance) < math.inf and 0 < kernel_side(self.balance) < math.inf


def machine_balance(balance: Balance) -> float:
    r"""Return :math:`p C_0/\beta`, the balance of the machine [nodes/B]."""
    return balance.cores * balance.rate / balance.bandwidth if math.isfinite(balance.bandwidth) else 0.0


def intensity(balance: Balance) -> float:
    """Return :math:`W/(QL)` of the computation [nodes/B]; infinite where nothing is moved."""
    moved = balance.transfers * balance.transfer_bytes
    return balance.work / moved if moved else math.inf


def machine_side(balance: Balance) -> float:
    r"""Return the left side of Eq. 2.4, :math:`(p C_0/\beta)(1 + (\alpha\beta/L)/(Q/D))` [nodes/B]."""
    waits = balance.hidden / balance.memory_parallelism if balance.memory_parallelism else math.inf
    machine = machine_balance(balance)
    return machine * (1 + waits) if machine else 0.0


def kernel_side(balance: Balance) -> float:
    """Return the right side of Eq. 2.4, :math:`(W/(QL))(1 + (p - 1)/(W/D))` [nodes/B]."""
    return intensity(balance) * (1 + (balance.cores - 1) / balance.parallelism) if balance.parallelism else 0.0


def balanced_kernels(data: StudyData) -> tuple[BalancedKernel, ...]:
    """Return each variant of the device's test kernels at its largest measured sizes, by the fitted work-depth model.

    Raises
    ------
    WeightsError
        If the device's folder has no weights of ``work_depth``.
    FactsError
        As of :func:`perfmodel.analyses.balance.judge_balance`.
    """
    rows = sorted(data.tests, key=lambda row: (row.kernel, values_text(row.variant), *volume(row.parameters)))
    last = {(row.kernel, values_text(row.variant)): row for row in rows}
    return tuple(_balanced(data, row) for row in last.values())


def _balanced(data: StudyData, row: Measurement) -> BalancedKernel:
    counts = data.tests.counts[row.counts_hash]
    found, variant = judge_balance(data.model(FAMILY), counts, row.parameters), values_text(row.variant)
    return BalancedKernel(row.kernel, variant, values_text(row.parameters), found, found.work / row.seconds)


def highest_rates(kernels: Iterable[BalancedKernel]) -> tuple[float, float]:
    """Return the highest measured rate of kernels for which Eq. 2.4 holds, and of the others [nodes/s]."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    for one in kernels:
        rates[one.balance.holds].append(one.rate)
    holds, others = (max(rates[side], default=math.nan) for side in (True, False))
    return holds, others


def roofs_claim(points: Sequence[KernelPoint]) -> Claim:
    """Return whether no kernel runs above its lowest roof, where the roofs are known."""
    known = [one for one in points if not math.isnan(one.share)]
    above = [one for one in known if one.share > NOISE]
    first = max(known, key=lambda one: one.share, default=None)
    found = f"{len(above)} of {len(known)} kernels run more than {NOISE - 1:.0%} above their roof"
    if first:
        found += f"; the one nearest to it, or highest above it, is {first.kernel} {first.form} at {first.share:.0%}"
    return Claim("Eq. 4.31, Fig. 4.8", "no kernel runs above its roof", found, not above if known else None)


def balance_claim(kernels: Sequence[BalancedKernel]) -> Claim:
    """Return whether Eq. 2.4 holds for the fastest kernel: only one for which it does can run at the machine's peak."""
    holds, others = highest_rates(kernels)
    count = sum(one.balance.holds for one in kernels)
    changed = sum(one.balance.holds != one.holds_by_kung for one in kernels)
    found = f"it holds for {count} of {len(kernels)} kernels"
    if count and count < len(kernels):
        rates = rate_text(holds, "node/s"), rate_text(others, "node/s")
        found += f", the fastest of which runs at {rates[0]}, and the fastest of the others at {rates[1]}"
    found += f"; Eq. 2.5, without latency and depth, says otherwise of {changed}"
    agrees = holds > others if count and count < len(kernels) else None
    if agrees is None:
        found += ": nothing to hold against each other"
    paper = "only a kernel for which the balance inequality holds can run at the machine's peak rate"
    return Claim("Eq. 2.4, section 2.5", paper, found, agrees)
