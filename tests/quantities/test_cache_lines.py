"""Lines that caches fetch, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.facts import Fact
from perfmodel.quantities.cache_lines import fetched_lines, last_cache, touched_lines
from perfmodel.quantities.case import Case
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


@pytest.mark.parametrize(
    ("known", "expected"),
    [({}, None), ({"cache_bytes": 4096}, 4096), ({"cache_bytes": 4096, "l2_bytes": 8192}, 8192), ({"l2_bytes": 1}, 128),
     ({"l2_bytes": 8192, "l3_bytes": 2**20}, 2**20)],
)  # fmt: skip
def test_the_last_cache_that_is_known(known, expected):
    assert expected == last_cache(case(64, **known), 128)
