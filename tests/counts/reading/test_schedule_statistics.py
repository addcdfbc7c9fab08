"""Statistics that name nothing of the kernel are told each time, from the cache too."""

from __future__ import annotations

import warnings

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.reading.schedule import schedule, unknown_statistics
from perfmodel.errors import UnknownStatisticWarning


def ragged() -> lp.TranslationUnit:
    return lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: 0 <= j < stop}"],
        """
        for i
            <> stop = row[i]
            y[i] = sum(j, a[j])
            z[i] = 2*y[i] {if=y[i] > 0}
        end
        """,
        [lp.GlobalArg("row", np.int32, shape="n"), lp.GlobalArg("a, y, z", np.float32, shape=None),
         lp.ValueArg("n", np.int32)],
        assumptions="n >= 8", lang_version=(2018, 2),
    )  # fmt: skip


def test_a_misspelt_key_is_told_each_time():
    for _ in range(2):
        with pytest.warns(UnknownStatisticWarning, match=r"statistics\['jj'\] is not used"):
            count(ragged(), statistics={"j": 2.5, "jj": 3, "y[i] > 0": 0.5})


def test_known_keys_say_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counts = count(ragged(), statistics={"j": 2.5, "y[i] > 0": 0.5})
    assert 2.5 * 8 == counts.accesses(array="a")(n=8)


def test_names_are_those_of_loops_and_variables_before_or_after_scheduling():
    asked = []

    def scheduled():
        asked.append(1)
        return schedule(ragged())

    assert () == unknown_statistics(ragged(), scheduled, ("i", "j", "stop", "y[i] > 0", "row[i]+a[j] < 3.5"))
    assert not asked
    assert ("k", "b[i] > 0") == unknown_statistics(ragged(), scheduled, ("j", "k", "b[i] > 0"))
    assert asked
