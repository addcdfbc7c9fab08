"""Wang and Lou's model: inputs, equations with and without the L2 cache, and the reading in which all warps compute."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.facts import Fact, published
from perfmodel.models import find_family
from perfmodel.models.model import bind
from perfmodel.models.mwp_cwp import CACHED_UNITS
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make

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


def test_where_the_last_warp_of_22_and_20_decides():
    """60 instructions, 40 of them before the first access: CWP 1260/60 is below MWP 32, and Comp below Mem."""
    found = {**inputs(1, 32), "insts": 60, "first_insts": 40}
    assert pytest.approx((40 * 32 + 400 * HIT / LATENCY) * 1e-9) == seconds(CACHED, found)  # 1320 cycles
    assert pytest.approx((400 + 60) * 1e-9) == seconds(CACHED, {**found, "first_insts": 10})  # the first
    # 32 warps, of which each issues 245 of its 250 instructions before its first of 20 accesses: CWP is 33
    found = {**inputs(1, 32), "insts": 250, "mem_insts": 20, "periods": 20, "first_insts": 245}
    assert pytest.approx((245 * 31 + 20 * HIT) * 1e-9) == seconds(CACHED, found)  # 8395 cycles
    assert pytest.approx((20 * 400 + 250) * 1e-9) == seconds(CACHED, {**found, "first_insts": 12.5})  # the first warp


def test_all_three_cases_are_met():
    assert {1, 2, 4} == {printed(4, n, insts)[2] for n in (1, 8, 32, 64) for insts in (INSTS, 60, 2000)}


@pytest.mark.parametrize("family", [PLAIN, CACHED])
def test_without_global_memory_all_warps_compute(family):
    found = {**inputs(1, 8), "mem_insts": 0.0, "periods": 1.0}
    assert pytest.approx(INSTS * 8e-9) == seconds(family, found)


def test_a_cache_that_never_hits_is_none():
    found = quantities(saxpy(4), CACHED, l2_miss_ratio=1.0)
    assert (1.0, 0.0) == (found["misses"], found["hits"])
    many = {**found, "insts": INSTS, "warps": 64, "rounds": 1.0}
    assert 1 == printed(4, 64)[2]
    assert pytest.approx(seconds(PLAIN, many)) == seconds(CACHED, many)
    assert (0.0, 1.0) == tuple(quantities(saxpy(4), CACHED)[name] for name in ("misses", "hits"))


ALL_WARPS = find_family("mwp_cwp_l2_all_warps")


@pytest.mark.parametrize("stride", [1, 4, 8, 16])
@pytest.mark.parametrize("warps", [1, 2, 8, 16, 32, 64])
def test_the_paper_s_saxpy_is_the_same_by_both_readings(stride, warps):
    """With one cycle to issue an instruction CWP is never below MWP."""
    found = inputs(stride, warps)
    assert seconds(CACHED, found) == seconds(ALL_WARPS, found)
    assert pytest.approx(printed(stride, warps)[1] * 1e-9) == seconds(ALL_WARPS, found)


@pytest.mark.parametrize(
    ("insts", "warps", "read", "as_printed"),
    [
        (2000, 8, 400 + 2000 * 8, 1200 + 2000 / 3 * 7),  # Comp 2000 > Mem 1200; CWP 1.6 < MWP 8: Eq. 2 for 21
        (60, 64, 400 + 60 * 64, 10 * 64 + 40),  # Comp 60 < Mem; CWP 21 < MWP 43.8: Eq. 2 for 22
        (2000, 1, 1200 + 2000, 1200 + 2000),  # one warp: Eq. 20
    ],
)
def test_all_warps_compute_where_cwp_is_below_mwp(insts, warps, read, as_printed):
    found = {**inputs(1, warps), "insts": insts}
    assert pytest.approx(read * 1e-9) == seconds(ALL_WARPS, found)
    assert pytest.approx(as_printed * 1e-9) == seconds(CACHED, found)


def test_misses_enter_where_memory_decides():
    changes = {"insts": INSTS, "mem_insts": 3.0, "periods": 3.0, "warps": 64, "rounds": 1.0}
    found = {**quantities(saxpy(4), ALL_WARPS, l2_miss_ratio=1.0), **changes}
    assert pytest.approx(printed(4, 64)[0] * 1e-9) == seconds(ALL_WARPS, found)
    assert set(CACHED_UNITS) == set(found)
    assert (1.0, 0.0) == (found["misses"], found["hits"])


@pytest.mark.parametrize(("stride", "transactions"), [(1, 1), (4, 4), (8, 8), (16, 16), (64, 32)])
def test_transactions_of_a_warp_at_the_paper_s_strides(stride, transactions):
    found = quantities(saxpy(stride))
    assert transactions == found["per_mw"]  # sizeof(float) * 32 * stride / 128, one for each lane at most
    assert (0 if stride == 1 else pytest.approx(1 / 3)) == found["uncoalesced"]  # x; y is read and written coalesced
    assert 3 == found["mem_insts"]  # as lines 11, 13 and 15 of the listing


def test_instructions_are_one_multiply_add_three_accesses_and_their_addresses():
    assert 1 + 3 + 3 == quantities(saxpy(1))["insts"]


@pytest.mark.parametrize(
    ("n", "facts", "units", "warps", "rounds"),
    [
        (256 * 12, {}, 12, 8, 1),  # a group of 8 warps on half of the units
        (256 * 48, {}, 24, 16, 1),
        (256 * 48, {"max_groups_per_unit": 1}, 24, 8, 2),
        (256 * 480, {"max_items_per_unit": 2048}, 24, 64, 2.5),
        (256 * 480, {"registers_per_unit": 2**16, "registers_per_work_item": 64}, 24, 32, 5),
        (256 * 480, {"max_items_per_unit": 100}, 24, 8, 20),  # one group is there anyhow
    ],
)
def test_equations_18_and_19(n, facts, units, warps, rounds):
    found = quantities(saxpy(1), n=n, **facts)
    assert (units, warps, rounds) == (found["units"], found["warps"], found["rounds"])


def first(text, domains="{[i]: 0 <= i < n}", *temporaries):
    """The instructions before the first access of a work-item."""
    t_unit = lp.make_kernel(
        domains, text,
        [lp.GlobalArg("a, b, out", np.float32, shape=lp.auto), lp.ValueArg("c", np.float32), *temporaries, ...],
        assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    t_unit = lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")
    return quantities(count(t_unit, subgroup_size=32), CACHED, n=2**16)["first_insts"]


T = lp.TemporaryVariable("t", np.float32)


def test_of_saxpy_the_address_comes_before_the_first_access():
    """The paper's listing has ten: of them we count one, and take guards and numbers of work-items as free."""
    assert 1 == quantities(saxpy(4), CACHED)["first_insts"]


@pytest.mark.parametrize(
    ("text", "domains", "expected"),
    [
        ("out[i] = a[i]*b[i] + 1", "{[i]: 0 <= i < n}", 1),
        ("out[i] = 2.5f", "{[i]: 0 <= i < n}", 1),
        # a product and a sum that are one instruction, then the address of the store
        ("t = c*c + 1\nout[i] = exp(t)", "{[i]: 0 <= i < n}", 1 + 1 + 1),
        # 5 iterations of a product and a sum before the loop with accesses, of which the first begins with one
        ("""
         t = 0 {id=t0}
         for j
             t = t*c + c {id=t1,dep=t0}
         end
         for k
             t = t + a[i] {id=t2,dep=t1}
         end
         out[i] = t {dep=t2}
         """, "{[i, j, k]: 0 <= i < n and 0 <= j < 5 and 0 <= k < 7}", 5 + 1),
    ],
)  # fmt: skip
def test_what_comes_before_the_first_access(text, domains, expected):
    assert expected == first(text, domains, *([T] if "t =" in text else ()))


def test_of_several_launches_the_mean_counts():
    """One launch loads first, the other computes two instructions before its store."""
    t_unit = make(["{[i]: 0 <= i < n}", "{[j]: 0 <= j < n}"], """
        out[i] = a[i] {id=one}
        ... gbarrier {id=wait,dep=one}
        b[j] = exp(c*c + 1) {dep=wait}
        """, "a, b, out: n; float32 c", assumes="n >= 64 and n mod 64 = 0")  # fmt: skip
    for iname in ("i", "j"):
        t_unit = lp.split_iname(t_unit, iname, 64, outer_tag="g.0", inner_tag="l.0")
    found = quantities(count(t_unit, subgroup_size=32), CACHED, n=2**16)
    assert ((0 + 2) / 2 + 1, 2) == (found["first_insts"], found["launched"])


def test_double_precision_takes_twice_the_blocks():
    assert 8 == quantities(saxpy(4, np.float64))["per_mw"]
    assert 256 == quantities(saxpy(1, np.float64))["warp_bytes"]
