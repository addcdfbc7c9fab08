"""Lines that caches fetch, by hand."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import fetched_lines, last_cache, touched_lines
from tests.models.test_threaded_manycore import GTX480, counted


def case(n, **known):
    facts = GTX480.updated({key: Fact(value, "", "made up") for key, value in known.items()})
    return Case(counted(), {"n": n}, facts, "")


def test_a_copy_fetches_each_line_once_for_its_loads():
    # n cells of 4 bytes are n/32 lines of 128 bytes, loaded, and as many stored
    assert (40, 80) == (fetched_lines(case(1280), 1024, 128), touched_lines(case(1280), 128))


def test_each_size_may_have_a_cache_of_its_own():
    found = fetched_lines(case(np.array([1280, 2560])), np.array([512, 1024]), 128)
    np.testing.assert_array_equal([40, 80], found)


def test_rows_of_a_power_of_two_meet_in_one_set():
    # each lane sums a row of 32 cells, 4096 bytes long: 32 lanes fill 32 lines, which stay until the rows are done
    unit = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j < 32 }", "out[i] = sum(j, a[i, j])",
        [lp.GlobalArg("a", np.float32, shape="n, 1024"), lp.GlobalArg("out", np.float32, shape="n"), ...],
        assumptions="n >= 1 and n mod 32 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    rows = count(lp.split_iname(unit, "i", 32, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)
    one = Case(rows, {"n": 320}, GTX480, "")
    assert 320 == fetched_lines(one, 8192, 128)  # 64 lines anywhere: each is fetched once
    assert 320 * 32 == fetched_lines(one, 8192, 128, ways=4)  # 32 sets of 4 lines: for each cell again


@pytest.mark.parametrize(
    ("known", "expected"),
    [({}, None), ({"cache_bytes": 4096}, 4096), ({"cache_bytes": 4096, "l2_bytes": 8192}, 8192), ({"l2_bytes": 1}, 128),
     ({"l2_bytes": 8192, "l3_bytes": 2**20}, 2**20)],
)  # fmt: skip
def test_the_last_cache_that_is_known(known, expected):
    assert expected == last_cache(case(64, **known), 128)
