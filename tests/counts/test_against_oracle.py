"""The counter against a brute-force execution of the generated code, which uses no domains."""

import os
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection

import pytest
from hypothesis import HealthCheck, given, settings

from perfmodel.counts import Count, KernelCounts, count
from tests import oracle
from tests.corpus import CorpusKernel, kernels
from tests.corpus.made import SUBGROUP_SIZE, counted, executed
from tests.oracle.compare import compare
from tests.oracle.conditionals import conditional_kernel
from tests.oracle.generated import GeneratedKernel, generated_kernels

LINE_BYTES = 64
UNITS = ("instance", "subgroup", "workgroup", "launch")
CORPUS = kernels()
#: They take five seconds and more; test_reported.py has their counts in an ordinary run.
COSTLY = ("stencil_3d_guarded", "stencil_3d_halo_group", "skewed_plane", "scattered_remainders")
pytestmark = [
    # the corpus is there to be counted, not to be run: races and unused results don't matter
    pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
EXAMPLES = int(os.environ.get("PERFMODEL_EXAMPLES", "10"))
LIMIT_S = 60.0
FORK = get_context("fork")


@pytest.mark.parametrize("kernel", [
    pytest.param(one, id=one.name, marks=[pytest.mark.nightly] * (one.name in COSTLY)) for one in CORPUS
])
def test_corpus(kernel: CorpusKernel) -> None:
    lines = cache(KernelCounts.lines)  # symbolic ones are asked for at each case
    for sizes in kernel.cases:
        done, _ = executed(kernel, sizes)
        assert done.launches or (kernel.name, sizes["m"]) == ("test_before_the_launch", 2)  # of m > 2
        for key, times in done.accesses.items():
            assert times >= done.subgroup_accesses[key] >= done.workgroup_accesses[key] >= 1
        counts = counted(kernel, sizes)
        assert [] == compare(done, counts, sizes)
        assert [] == list(wrong_lines(done, counts, sizes, lines))


def wrong_lines(
    executed: oracle.Executed, counts: KernelCounts, sizes: dict[str, int], lines: Callable[..., Count]
) -> Iterator[str]:
    """Yield what is wrong with lines: exact at fixed sizes, never below symbolically."""
    for array, direction in executed.arrays("global"):
        for per in UNITS:
            truth = executed.lines(array, LINE_BYTES, per, direction)
            what = f"lines of {array} ({direction}) per {per}: executed {truth}"
            fixed = lines(counts, array, LINE_BYTES, per, direction, **sizes)
            if (fixed.exact and truth != fixed(**sizes)) or truth > fixed(**sizes):
                yield f"{what}, counted {fixed(**sizes)} at these sizes"
            symbolic = lines(counts, array, LINE_BYTES, per, direction)
            if (symbolic.exact and truth != symbolic(**sizes)) or truth > symbolic(**sizes):
                yield f"{what}, counted {symbolic}"


def test_the_corpus_is_large_and_has_a_name_for_each_kernel() -> None:
    assert 217 <= len(CORPUS) == len({kernel.name for kernel in CORPUS})


def test_generated() -> None:
    """Random kernels; one in a hundred may be so entangled that counting outlasts the limit."""
    slow: list[str] = []

    @settings(
        max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(generated_kernels())
    def check(kernel: GeneratedKernel) -> None:
        found = disagreements_within(kernel, LIMIT_S)
        if found is None:
            slow.append(repr(kernel))
        else:
            assert [] == found

    check()
    assert len(slow) <= EXAMPLES / 100, slow


@pytest.mark.parametrize("seeds", [
    range(3), *(pytest.param(range(start, start + 50), marks=pytest.mark.nightly) for start in range(3, 203, 50)),
], ids=str)
@pytest.mark.filterwarnings("ignore::perfmodel.errors.UnknownStatisticWarning")  # of all tests, drawn or not
def test_nested_conditions(seeds: range) -> None:
    """Random nests of tests that read arrays; their outcome is known, so that most counts are exact."""
    made = [kernel for seed in seeds if (kernel := conditional_kernel(seed))]
    assert len(made) >= len(seeds) / 2
    exact = 0
    for kernel in made:
        executed = oracle.execute(kernel.unit, kernel.sizes, SUBGROUP_SIZE, kernel.arrays)
        counts = count(kernel.unit, SUBGROUP_SIZE, kernel.statistics, cache=False)
        assert [] == compare(executed, counts, kernel.sizes, sections=("operations", "accesses")), kernel.text
        exact += all(row.count.exact for row in counts.access_table)
    assert exact >= len(made) / 2


def disagreements_within(kernel: GeneratedKernel, seconds: float) -> list[str] | None:
    """Compare in a process of its own, for isl cannot be interrupted; None if it took too long."""
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=send_disagreements, args=(kernel, sender))
    child.start()
    found = receiver.recv() if receiver.poll(seconds) else None
    child.kill()
    child.join()
    return found


def send_disagreements(kernel: GeneratedKernel, sender: Connection) -> None:
    try:
        executed = oracle.execute(kernel.unit, kernel.case, SUBGROUP_SIZE)
        counts = count(kernel.unit, SUBGROUP_SIZE, cache=False)
        # where Loopy's grid is of a negative extent no device launches anything
        launched = all(extent >= 0 for grid in executed.launched for extent in grid.groups)
        sender.send(compare(executed, counts, kernel.case) if launched else [])
    except Exception as error:  # whatever it is, it is the counter's answer
        sender.send([repr(error)])
