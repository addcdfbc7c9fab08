"""The counter against a brute-force execution of the generated code, which knows no domains."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings

from perfmodel.counts import KernelCounts, count
from tests import oracle
from tests.corpus import CorpusKernel, kernels
from tests.oracle.compare import compare
from tests.oracle.generated import GeneratedKernel, generated_kernels

SUBGROUP_SIZE = 32
LINE_BYTES = 64
UNITS = ("instance", "subgroup", "workgroup", "launch")
CORPUS = kernels()
pytestmark = [
    # the corpus is there to be counted, not to be run: races and unused results don't matter
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
EXAMPLES = int(os.environ.get("PERFMODEL_EXAMPLES", "50"))


def counted(kernel: CorpusKernel, sizes: dict[str, int]) -> KernelCounts:
    statistics = kernel.statistics(sizes) if kernel.statistics else None
    return count(kernel.build(), SUBGROUP_SIZE, statistics)


@pytest.mark.parametrize("kernel", CORPUS, ids=lambda kernel: kernel.name)
def test_corpus(kernel: CorpusKernel) -> None:
    for sizes in kernel.cases:
        executed = oracle.execute(kernel.build(), sizes, SUBGROUP_SIZE, kernel.contents(sizes))
        counts = counted(kernel, sizes)
        assert [] == compare(executed, counts, sizes)
        assert [] == list(wrong_lines(executed, counts, sizes))


def wrong_lines(
    executed: oracle.Executed, counts: KernelCounts, sizes: dict[str, int]
) -> Iterator[str]:
    """Yield what is wrong with lines: exact at fixed sizes, never below symbolically."""
    for array, direction in executed.arrays("global"):
        for per in UNITS:
            truth = executed.lines(array, LINE_BYTES, per, direction)
            what = f"lines of {array} ({direction}) per {per}: executed {truth}"
            fixed = counts.lines(array, LINE_BYTES, per, direction, **sizes)
            if (fixed.exact and truth != fixed(**sizes)) or truth > fixed(**sizes):
                yield f"{what}, counted {fixed(**sizes)} at these sizes"
            symbolic = counts.lines(array, LINE_BYTES, per, direction)
            if (symbolic.exact and truth != symbolic(**sizes)) or truth > symbolic(**sizes):
                yield f"{what}, counted {symbolic}"


def test_the_corpus_is_large() -> None:
    assert 60 <= len(CORPUS)


@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(generated_kernels())
def test_generated(kernel: GeneratedKernel) -> None:
    check(kernel)


def check(kernel: GeneratedKernel) -> None:
    executed = oracle.execute(kernel.unit, kernel.case, SUBGROUP_SIZE)
    counts = count(kernel.unit, SUBGROUP_SIZE)
    assert [] == compare(executed, counts, kernel.case)
