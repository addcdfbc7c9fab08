r"""How far a computation is from work-optimal: Kim et al. (2012), section 2.2.

An algorithm that does :math:`\epsilon` times the work :math:`W_0` of the best sequential one gains at most
:math:`p/\epsilon` on p cores.
"""

from __future__ import annotations

from dataclasses import dataclass

from perfmodel.analyses.balance import Balance


@dataclass(frozen=True)
class WorkOptimality:
    r"""How far a computation's additional work takes its speedup away, by section 2.2 of the paper.

    Parameters
    ----------
    epsilon
        :math:`\epsilon = W/W_0`, its work over the best sequential work [1]; 1 is work-optimal. So many cores it
        takes to be as fast.
    speedup
        The best sequential time over that by Brent's bound, :math:`W_0/(D + (W - D)/p)` [1].
    most
        :math:`p/\epsilon`, which the speedup nears where :math:`W \gg p D` [1].

    """

    epsilon: float
    speedup: float
    most: float


def work_optimality(balance: Balance, least_work: float) -> WorkOptimality:
    r"""Return how far a computation is from work-optimal, where the best sequential one does `least_work` :math:`W_0`.

    Among variants of a kernel, that is the least work of all of them.

    Examples
    --------
    The tree of figure 2.3 does the work of a loop, 31 nodes. On 64 processors it takes 5 + 26/64 steps for 31:

    >>> tree = Balance(31, 5, 1, cores=64, rate=1e9, latency=0.0, bandwidth=1e12, transfer_bytes=64)
    >>> found = work_optimality(tree, 31)
    >>> found.epsilon, round(found.speedup, 2), found.most
    (1.0, 5.73, 64.0)
    """
    epsilon = balance.work / least_work if least_work else 1.0
    steps = balance.depth + max(balance.work - balance.depth, 0.0) / balance.cores
    return WorkOptimality(epsilon, least_work / steps if steps else 1.0, balance.cores / epsilon if epsilon else 0.0)
