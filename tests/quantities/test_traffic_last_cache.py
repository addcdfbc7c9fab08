"""Which cache is the last before memory."""

from __future__ import annotations

import pytest

from perfmodel.facts import DeviceFacts, Fact
from perfmodel.quantities.case import Case
from perfmodel.quantities.traffic import last_cache
from tests.models.test_threaded_manycore import counted


@pytest.mark.parametrize(
    ("known", "expected"),
    [({}, None), ({"cache_bytes": 4096}, 4096), ({"cache_bytes": 4096, "l2_bytes": 8192}, 8192), ({"l2_bytes": 1}, 128),
     ({"l2_bytes": 8192, "l3_bytes": 2**20}, 2**20)],
)  # fmt: skip
def test_the_last_cache_that_is_known(known, expected):
    facts = {key: Fact(value, "B", "made up") for key, value in known.items()}
    assert expected == last_cache(Case(counted(), {"n": 64}, DeviceFacts.from_mapping("toy", "none", "0", facts)), 128)
