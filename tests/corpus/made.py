"""What tests need of a corpus kernel, made once: its unit, its counts, and what its execution by the oracle did."""

from collections.abc import Mapping
from functools import cache, lru_cache

import loopy as lp
import pytest

from perfmodel.counts import KernelCounts, count
from tests import oracle
from tests.corpus import CorpusKernel, kernels
from tests.oracle.execute import Memory

SUBGROUP_SIZE = 32
#: Thirds of the corpus by the place of their first kernel, of which an ordinary run takes the first.
THIRDS = (0, *(pytest.param(first, marks=pytest.mark.nightly) for first in (1, 2)))
Case = tuple[tuple[str, int], ...]


def third(first: int) -> tuple[CorpusKernel, ...]:
    """Each third kernel of the corpus from one on, but for those that are hard to count."""
    return tuple(kernel for kernel in kernels() if kernel.theme != "hard")[first::3]


@cache
def unit(kernel: CorpusKernel) -> lp.TranslationUnit:
    """The kernel, as :meth:`CorpusKernel.build` gives it."""
    return kernel.build()


def counted(kernel: CorpusKernel, sizes: Mapping[str, int]) -> KernelCounts:
    """Its counts, with the statistics of its data at these sizes; the same value at all sizes where it needs none."""
    return _counted(kernel, _case(sizes) if kernel.statistics else None)


def executed(kernel: CorpusKernel, sizes: Mapping[str, int]) -> tuple[oracle.Executed, dict[str, Memory]]:
    """What the oracle counts at these sizes, and what the arrays hold in the end."""
    return _executed(kernel, _case(sizes))


def _case(sizes: Mapping[str, int]) -> Case:
    return tuple(sorted(sizes.items()))


@cache
def _counted(kernel: CorpusKernel, case: Case | None) -> KernelCounts:
    statistics = kernel.statistics(dict(case)) if kernel.statistics and case is not None else None
    return count(unit(kernel), SUBGROUP_SIZE, statistics)


@lru_cache(maxsize=16)  # it is large, and needed by a few tests that follow one another
def _executed(kernel: CorpusKernel, case: Case) -> tuple[oracle.Executed, dict[str, Memory]]:
    sizes = dict(case)
    return oracle.run(unit(kernel), sizes, SUBGROUP_SIZE, kernel.contents(sizes))
