"""The launches of a kernel one by one, against the same launches as kernels of their own."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.tables import by_launch
from tests.corpus.kernel import make
from tests.corpus.structure import loop_around_launches

SIZES = {"n": 4096}

FIRST = ["b[i] = sum(k, a[k, i]*a[k, i]) {id=first}"]
SECOND = ["tile[l] = b[32*g + l] {id=put}", "c[32*g + l] = tile[31 - l] + 1 {dep=put}"]
WAIT = ["... gbarrier {id=wait, dep=first}", SECOND[0].replace("put", "put, dep=wait"), SECOND[1]]


def kernel(*steps):
    """The first launch adds up squares of rows of `a`, the second reverses blocks of `b` by way of local memory."""
    first, second = 1 in steps, 2 in steps
    inames = ["{[i, k]: 0 <= i < n and 0 <= k < 8}"] * first + ["{[g, l]: 0 <= g < n/32 and 0 <= l < 32}"] * second
    tile = lp.TemporaryVariable("tile", np.float32, shape=32, address_space=lp.AddressSpace.LOCAL)
    t_unit = make(inames, {(1,): FIRST, (2,): SECOND, (1, 2): FIRST + WAIT}[steps],
                  [*[lp.GlobalArg("a", np.float32, shape="8, n")] * first,
                   lp.GlobalArg("b", np.float32, shape="n", is_input=True),
                   *[lp.GlobalArg("c", np.float32, shape="n"), tile] * second, lp.ValueArg("n", np.int32)],
                  assumes="n >= 32 and n mod 32 = 0")  # fmt: skip
    if first:
        t_unit = lp.split_iname(t_unit, "i", 16, outer_tag="g.0", inner_tag="l.0")
    return lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"}) if second else t_unit


@pytest.fixture(scope="module")
def both():
    return count(kernel(1, 2), subgroup_size=8)


@pytest.mark.parametrize("place", [0, 1])
def test_a_launch_is_counted_as_a_kernel_of_its_own(both, place):
    alone, launch = count(kernel(place + 1), subgroup_size=8), by_launch(both)[place]
    for table in ("operation_table", "access_table", "barrier_table"):  # Loopy names launches by their place
        assert getattr(alone, table) == getattr(launch, table)
    for ask in (
        lambda one: (one.launch.group_shape, one.launch.local_bytes, one.work_groups()(**SIZES)),
        lambda one: one.flow.instruction_parallelism(**SIZES),
        lambda one: one.flow.memory_parallelism(**SIZES),
        lambda one: one.compiled.operations()(**SIZES),
        lambda one: [nest.iterations(**SIZES) for nest in one.nests],
        lambda one: [issue.turns(**SIZES) for issue in one.issues],
    ):
        assert ask(alone) == ask(launch)


def test_launches_add_up(both):
    first, second = by_launch(both)
    assert (128, 0) == (second.launch.local_bytes, first.launch.local_bytes)
    for ask in (
        lambda one: one.operations(), lambda one: one.accesses("global"), lambda one: one.accesses("local"),
        lambda one: one.barriers(), lambda one: one.work_groups(), lambda one: one.launches(),
    ):  # fmt: skip
        assert ask(both)(**SIZES) == ask(first)(**SIZES) + ask(second)(**SIZES)
    assert by_launch(both) is by_launch(both)


def test_a_host_s_loop_stays_around_its_launches():
    counts = count(loop_around_launches())
    assert [3, 3] == [one.launches()() for one in by_launch(counts)]
    assert [6, 6] == [one.work_groups()() for one in by_launch(counts)]
    assert [48, 0] == [one.accesses(array="a", direction="load")() for one in by_launch(counts)]
    assert [48, 0] == [one.accesses(array="b", direction="store")() for one in by_launch(counts)]
