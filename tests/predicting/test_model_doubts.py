"""Predictions where facts of the device contradict each other: intervals cover both numbers, and a caution says why."""

import math
from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.models.model import Family, Weight
from perfmodel.predicting.model import fit, load
from tests.corpus.kernel import make
from tests.fitting.test_weights_file import KERNELS, SIZES, Row, Rows
from tests.recorded import POCL

KIB = 1024


def fetched(case):
    """Return the work-groups beyond the last level's KiB."""
    groups = case.value(case.counts.work_groups())
    return {"beyond": np.maximum(groups - case.fact("last_level_bytes") / KIB, 0.0) if np.ndim(groups)
            else max(groups - case.fact("last_level_bytes") / KIB, 0.0)}  # fmt: skip


FAMILY = Family(
    name="held", citation="this test", quantities=fetched, units={"beyond": ""}, sums={"all": ("op_float*",)},
    weights=(Weight("w_beyond", "s", start=1e-6),), expression="all + w_beyond*beyond", additive=False,
)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    facts = {
        "last_level_bytes": Fact(64 * KIB, "B", "measured, all units read again"),
        "l3_bytes": Fact(16 * KIB, "B", "measured, pointer chase"),
    }
    rows = []
    for n in (64, 256, 1024, *SIZES):
        seconds = 1e-6 * max(n - 64, 0) + 1000 * n**2 * 2e-11
        rows += [Row(f"add{copy}", {"n": n}, seconds * 1.1**copy, "add", group=f"add{copy}") for copy in range(4)]
    measured = Rows(tuple(rows), KERNELS)
    object.__setattr__(measured, "facts", DeviceFacts.from_mapping("stand-in", "none", "0", facts))
    return fit(measured, FAMILY)


def quiet(model):
    return model.with_facts({"last_level_bytes": Fact(64 * KIB, "B", "written by hand")})


def test_where_the_fact_matters_the_interval_covers_both(model):
    groups = KERNELS["add"].work_groups()
    n = next(n for n in range(1, 4096) if groups(n=n) > 100)
    plain, doubtful = (each.predict(KERNELS["add"], n=n, level=0.5) for each in (quiet(model), model))
    smaller = model.with_facts({"last_level_bytes": Fact(16 * KIB, "B", "by hand")})
    other = smaller.predict(KERNELS["add"], n=n, level=0.5)
    assert plain.seconds == doubtful.seconds
    assert other.seconds > plain.seconds
    half_width = math.log(plain.interval[1] / plain.seconds)
    assert plain.interval[0] == doubtful.interval[0]
    assert pytest.approx(other.seconds * math.exp(half_width)) == doubtful.interval[1]
    assert doubtful.interval[1] > plain.interval[1]
    (said,) = [warning for warning in doubtful.warnings if "last-level cache" in warning]
    for words in ("a stream measures 64 KiB", "a pointer chase measures 16 KiB", "64 KiB is assumed"):
        assert words in said
    assert not any("last-level cache" in warning for warning in plain.warnings)


def test_arrays_are_covered_size_by_size(model):
    sizes = np.array([4, 400, 4000])
    many = model.predict(KERNELS["add"], n=sizes, level=0.5)
    for place, n in enumerate(sizes.tolist()):
        one = model.predict(KERNELS["add"], n=n, level=0.5)
        assert pytest.approx(one.interval) == (many.interval[0][place], many.interval[1][place])


def test_a_cpu_whose_name_tells_no_instruction_set_has_intervals_for_16_and_for_32_registers():
    """Without masks for gathers, PoCL leaves a guarded gather scalar, and its time differs."""
    unit = make("{[i]: 0 <= i < n}", "y[i] = 2*x[index[i]] {if=mask[i] > 0}", "x, y: n; int32 mask, index: n",
                assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    unit = lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    counts = count(unit, statistics={"mask[i_inner + i_outer*64] > 0": 0.5, "x:span": 1 << 14})
    model = load(POCL / "bottleneck.json")
    facts = {"vector_lanes": Fact(8, "", "by hand"), "opencl_version": Fact("3.0", "", "by hand")}
    unnamed = replace(model, facts=replace(model.facts.updated(facts), name="CPU"))
    few, many = (unnamed.with_facts({"vector_registers": Fact(n, "registers", "by hand")}) for n in (16, 32))
    assumed, at_few, at_many = (each.predict(counts, n=1 << 14) for each in (unnamed, few, many))
    assert at_many.seconds == assumed.seconds != at_few.seconds
    low, high = (bound / at_many.seconds for bound in at_many.interval)
    times = at_few.seconds, at_many.seconds
    assert (pytest.approx(low * min(times)), pytest.approx(high * max(times))) == assumed.interval
    (said,) = [warning for warning in assumed.warnings if "vector registers" in warning]
    assert "32 registers is assumed, because the device names no instruction set; intervals also cover" in said
    assert not any("vector registers" in warning for known in (at_few, at_many) for warning in known.warnings)
