"""Affine addresses against the cells of the accesses, one by one."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import KernelCounts, count
from perfmodel.counts.lanes import addresses, values_at
from perfmodel.counts.nests.addresses import address_of
from perfmodel.counts.quasipoly.count import Count
from tests.corpus import CorpusKernel, kernels
from tests.corpus.made import counted
from tests.counts.enumerated import enumerate_points, fixed

pytestmark = pytest.mark.filterwarnings("ignore::loopy.diagnostic.LoopyWarning", "ignore::DeprecationWarning")


def test_steps_and_start_are_functions_of_the_sizes() -> None:
    unit = lp.make_kernel(
        "{ [i, j]: 0 <= i, j < n }", "b[i, j] = a[j, n - 1 - i]",
        [lp.GlobalArg("a, b", np.float64, shape="n, n"), ...], assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    load = next((d, a) for d, a in count(unit, cache=False).access_maps if a.array == "a")
    address = address_of(load[1], load[0])
    assert address is not None
    # 8 bytes a cell, n cells a row: row j, column n - 1 - i
    assert ("8*n - 8", "-8", "8*n", "0") == tuple(
        map(str, (address.start, address.step("i"), address.step("j"), address.step("k")))
    )


@pytest.mark.parametrize("kernel", kernels(), ids=lambda kernel: kernel.name)
def test_every_affine_address_is_that_of_the_cell(kernel: CorpusKernel) -> None:
    sizes = kernel.cases[0]
    counts = counted(kernel, sizes)
    check(counts, {name: sizes[name] for name in counts.parameters})


def check(counts: KernelCounts, sizes: dict[str, int]) -> None:
    for domain, access in counts.access_maps:
        address = address_of(access, domain)
        if address is None or access.cells is None:
            continue
        points = fixed(domain.points, sizes)
        columns, number = enumerate_points(points)
        expected = values_at(addresses(access, access.cells, points, sizes), columns, number) * access.bits // 8
        start = Count(address.start.polynomial, granularity="byte", signed=frozenset(sizes))  # offsets may be negative
        found = np.full(number, int(start(**sizes)))
        for name, column in columns.items():
            found = found + int(address.step(name)(**sizes)) * column
        assert expected.tolist() == found.tolist()
