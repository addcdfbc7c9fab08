"""The opened device: what it compiles, fills and checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perfmodel.measuring.bench import Bench
from perfmodel.measuring.subject import FailedError, Subject
from tests.campaigns import SCALE, TINY
from tests.machine import device

pytestmark = pytest.mark.device
TWICE = Subject(SCALE, {"factor": 2})


@pytest.fixture(scope="module")
def bench():
    return Bench(device(), TINY)


def test_the_output_is_of_the_arguments_passed(bench):
    arguments, after = bench.output(TWICE, {"n": 256})
    assert {"a", "out", "n"} == set(arguments)
    assert 256 == arguments["n"]
    assert (2 * arguments["a"] == after["out"]).all()
    assert (arguments["a"] == after["a"]).all()
    assert 0.5 <= arguments["a"].min() < arguments["a"].max() < 2


def test_a_wrong_output_is_a_failure_that_names_the_array(bench):
    bench.check(TWICE)
    wrong = replace(SCALE, reference=lambda arguments, factor: {"out": 3 * arguments["a"]})
    with pytest.raises(FailedError, match="out") as caught:
        bench.check(Subject(wrong, {"factor": 2}))
    assert "correctness" == caught.value.status


def test_what_fits_depends_on_the_share_of_memory():
    half = 2 * 4 * 1024 / device().facts.value("global_memory_bytes")
    bench = Bench(device(), replace(TINY, memory_fraction=1.01 * half))
    assert bench.fits(TWICE, {"n": 1024})
    assert not bench.fits(TWICE, {"n": 2048})
