"""Wang and Lou's model: what it takes of saxpy, and its equations, both with and without the L2 cache."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact, published
from perfmodel.models import find_family
from perfmodel.models.model import bind
from perfmodel.quantities.case import Case

PLAIN, CACHED = find_family("mwp_cwp"), find_family("mwp_cwp_l2")
TITAN_X = published("titan-x")
#: At the card's 1 GHz a cycle is a nanosecond; the L2 cache has "a tenth of latency" (section 2.4).
LATENCY, HIT, ISSUE, COALESCED, UNCOALESCED, BANDWIDTH, UNITS = 400.0, 40.0, 1.0, 1.0, 1.0, 336.5, 24
WEIGHTS = {
    "w_memory_latency": LATENCY * 1e-9, "w_l2_latency": HIT * 1e-9, "w_issue": ISSUE * 1e-9,
    "w_departure_coalesced": COALESCED * 1e-9, "w_departure_uncoalesced": UNCOALESCED * 1e-9,
    "w_bandwidth": BANDWIDTH * 1e9, "w_launch": 0.0,
}  # fmt: skip


def saxpy(stride, dtype=np.float32):
    """Section 3.2's kernel, without its guard."""
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", f"y[i] = alpha*x[{stride}*i] + y[i]",
        [lp.GlobalArg("x, y", dtype, shape=lp.auto), lp.ValueArg("alpha", dtype), lp.ValueArg("n", np.int32)],
        assumptions="n >= 256 and n mod 256 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.split_iname(t_unit, "i", 256, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def known(**facts):
    return TITAN_X.updated({key: Fact(value, "", "made up") for key, value in facts.items()})


def quantities(counts, family=PLAIN, n=2**20, **facts):
    return family.quantities(Case(counts, {"n": n}, known(**facts), family.name))


def seconds(family, found):
    model = bind(family, ())
    return model.value(found, [WEIGHTS[name] for name in model.weights])


def test_the_titan_x_is_the_paper_s():
    assert (1e-9, 128) == (TITAN_X.value("departure_uncoalesced_s"), TITAN_X.value("global_transaction_bytes"))


INSTS, MEM_INSTS, FIRST_INSTS = 15, 3, 10  # section 3.3


def inputs(stride, warps):
    """Saxpy's quantities with the instructions of the paper's listing, and some warps on each unit."""
    changes = {
        "insts": INSTS, "mem_insts": MEM_INSTS, "periods": MEM_INSTS, "first_insts": FIRST_INSTS, "warps": warps,
        "rounds": 1.0,
    }  # fmt: skip
    return {**quantities(saxpy(stride), CACHED), **changes}


def printed(stride, n, insts=INSTS):
    """Cycles with and without L2, and the case that was met."""
    weight = 0.0 if stride == 1 else 1 / 3
    latency = (LATENCY + (stride - 1) * UNCOALESCED) * weight + LATENCY * (1 - weight)  # 8, 11, 12
    departure = UNCOALESCED * stride * weight + COALESCED * (1 - weight)  # 15
    peak = BANDWIDTH / (128 / latency * UNITS)  # 6 and 7, in bytes a cycle
    mwp = min(latency / departure, peak, n)  # 5
    memory, compute = latency * MEM_INSTS, ISSUE * insts  # 16 and 17
    cwp = min((memory + compute) / compute, n)  # 9 and 10
    period, ratio, first = compute / MEM_INSTS, HIT / LATENCY, FIRST_INSTS * ISSUE
    if mwp == n and cwp == n:
        cached = max(first * (mwp - 1) + memory * ratio, memory + compute)  # 20
        return memory + compute + period * (mwp - 1), cached, 4
    if cwp >= mwp or compute > memory:
        cached = memory + memory * ratio * max(n / mwp - 1, 0) + period * (mwp - 1)  # 21
        return memory * n / mwp + period * (mwp - 1), cached, 1
    return latency + compute * n, max(first * n + latency * ratio, latency + compute), 2  # 2 and 22


@pytest.mark.parametrize("insts", [INSTS, 60, 2000])
@pytest.mark.parametrize("stride", [1, 4, 8, 16])
@pytest.mark.parametrize("warps", [1, 2, 8, 16, 32, 64])
def test_the_printed_equations(stride, warps, insts):
    plain, cached, _ = printed(stride, warps, insts)
    found = {**inputs(stride, warps), "insts": insts}
    assert pytest.approx(plain * 1e-9) == seconds(PLAIN, found)
    assert pytest.approx(cached * 1e-9) == seconds(CACHED, found)


def test_where_the_last_warp_of_22_decides():
    """60 instructions, 40 of them before the first access: CWP 1260/60 is below MWP 32, and Comp below Mem."""
    found = {**inputs(1, 32), "insts": 60, "first_insts": 40}
    assert pytest.approx((40 * 32 + 400 * HIT / LATENCY) * 1e-9) == seconds(CACHED, found)  # 1320 cycles
    assert pytest.approx((400 + 60) * 1e-9) == seconds(CACHED, {**found, "first_insts": 10})  # the first


def test_where_the_last_warp_of_20_decides():
    """32 warps, of which each issues 245 of its 250 instructions before its first of 20 accesses: CWP is 33."""
    found = {**inputs(1, 32), "insts": 250, "mem_insts": 20, "periods": 20, "first_insts": 245}
    assert pytest.approx((245 * 31 + 20 * HIT) * 1e-9) == seconds(CACHED, found)  # 8395 cycles
    assert pytest.approx((20 * 400 + 250) * 1e-9) == seconds(CACHED, {**found, "first_insts": 12.5})  # the first warp


def test_all_three_cases_are_met():
    assert {1, 2, 4} == {printed(4, n, insts)[2] for n in (1, 8, 32, 64) for insts in (INSTS, 60, 2000)}


@pytest.mark.parametrize("family", [PLAIN, CACHED])
def test_without_global_memory_all_warps_compute(family):
    found = {**inputs(1, 8), "mem_insts": 0.0, "periods": 1.0}
    assert pytest.approx(INSTS * 8e-9) == seconds(family, found)
