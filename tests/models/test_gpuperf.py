"""The model of Sim et al.: its inputs, its equations and bounds."""

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.expressions.expression import parse
from perfmodel.facts import Fact, published
from perfmodel.models import find_family
from perfmodel.quantities.case import Case
from tests.corpus.kernel import make
from tests.models.test_synchronous_parallel_throughput import local

FAMILY = find_family("gpuperf")
C2050 = published("tesla-c2050")
WEIGHTS = {
    "w_memory_latency": 400e-9, "w_hit_latency": 20e-9, "w_departure": 10e-9, "w_arithmetic_latency": 18e-9,
    "w_issue": 1e-9, "w_bandwidth": 144e9, "w_sync": 64.0, "w_launch": 0.0,
}  # fmt: skip
#: A kernel on a device of 14 units: nanoseconds below.
KERNEL = {
    "insts": 100.0, "mem_insts": 5.0, "mem_share": 0.05, "sync_insts": 0.0, "sfu_issues": 0.0, "diverged": 0.0,
    "conflicts": 0.0, "unit_warps": 640.0, "warps": 16.0, "others": 15 / 16, "ilp": 1.5, "mlp": 2.0,
    "more_transactions": 0.0, "miss_ratio": 1.0, "hit_waits": 1.0, "unit_bytes": 128.0 * 14, "launched": 1.0,
}  # fmt: skip
CHANGES = (
    {}, {"warps": 1.0, "others": 0.0}, {"warps": 48.0, "others": 47 / 48}, {"insts": 1000.0, "mem_share": 0.005},
    {"insts": 10.0, "mem_share": 0.5}, {"sync_insts": 2.0}, {"sfu_issues": 40.0}, {"diverged": 0.3},
    {"conflicts": 6.0}, {"more_transactions": 31.0}, {"miss_ratio": 0.1}, {"miss_ratio": 0.1, "hit_waits": 2.5},
    {"mem_insts": 0.0, "mem_share": 0.0},
    {"ilp": 9.0}, {"mlp": 8.0, "insts": 8.0}, {"warps": 2.0, "others": 0.5, "insts": 4000.0},
    {"warps": 48.0, "others": 47 / 48, "insts": 60.0, "mem_insts": 50.0, "mem_share": 5 / 6},
)  # fmt: skip


def counted(text, *arguments, width=64, assumptions="n >= 64 and n mod 64 = 0"):
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", text, [lp.GlobalArg("a, out", np.float32, shape=lp.auto), *arguments, ...],
        assumptions=assumptions, lang_version=(2018, 2),
    )  # fmt: skip
    return count(lp.split_iname(t_unit, "i", width, outer_tag="g.0", inner_tag="l.0"), subgroup_size=32)


def case(counts, n=2**16, **facts):
    made_up = {key: Fact(value, "", "made up") for key, value in facts.items()}
    return Case(counts, {"n": n}, C2050.updated(made_up), FAMILY.name)


def quantities(counts, n=2**16, **facts):
    return FAMILY.quantities(case(counts, n, **facts))


def value(expression, found):
    """An expression of the family's parts at the weights above."""
    model = parse(expression, tuple(FAMILY.units), parts=FAMILY.parts)
    return model.value(found, [WEIGHTS[name] for name in model.weights])


def printed(q):
    """Eq. 4.1 to 4.24 in nanoseconds, as W_parallel, W_serial, T_mem, T_overlap and the rest by name."""
    latency, issue, delta = 18.0, 1.0, 10.0
    itilp = min(q["ilp"] * q["warps"], latency / issue)  # 4.4, 4.5
    parallel = q["insts"] * q["unit_warps"] * latency / itilp  # 4.3
    dram = 400.0 + q["more_transactions"] * delta  # 4.13
    amat = dram * q["miss_ratio"] + 20.0 * q["hit_waits"]  # 4.12
    sync = q["sync_insts"] * q["unit_warps"] * 64 * dram * q["mem_share"]  # 4.7, 4.8
    rest = (q["sfu_issues"] + q["conflicts"]) * q["unit_warps"] * issue + q["diverged"] * parallel
    peak = 144.0 / (128 / dram * 14)  # 4.23, 4.24 [B/ns]
    mwp = min(dram / delta, peak, q["warps"])  # 4.22
    comp_cycles, mem_cycles = q["insts"] * latency / itilp, q["mem_insts"] * amat / q["mlp"]  # 4.20, 4.21
    cwp = min((mem_cycles + comp_cycles) / comp_cycles, q["warps"])  # 4.18, 4.19
    itmlp = min(q["mlp"] * min(max(1, cwp - 1), mwp), peak)  # 4.14, 4.15
    memory = q["mem_insts"] * q["unit_warps"] / itmlp * amat  # 4.11
    zeta = 1 if cwp <= mwp else 0
    overlap = min((parallel + sync + rest) * (q["warps"] - zeta) / q["warps"], memory)  # 4.16, 4.17
    return {"parallel": parallel, "serial": sync + rest, "memory": memory, "overlap": overlap, "zeta": zeta}


@pytest.mark.parametrize("changes", CHANGES)
def test_the_printed_equations(changes):
    found = {**KERNEL, **changes}
    wanted = printed(found)
    for name in ("parallel", "serial", "memory", "overlap"):
        assert pytest.approx(wanted[name] * 1e-9) == value(name, found)
    seconds = (wanted["parallel"] + wanted["serial"] + wanted["memory"] - wanted["overlap"]) * 1e-9
    assert pytest.approx(seconds) == value(FAMILY.expression, found)
    # 4.5: no instruction takes less than an issue, warp_size/SIMD_width, nor more than its whole latency
    assert 1 - 1e-12 <= wanted["parallel"] / (found["insts"] * found["unit_warps"]) <= 18
    # 4.17: all of computing is hidden at most, and none of it with one warp
    compute, memory = (value(name, found) for name in ("compute", "memory"))
    least = compute + memory if found["warps"] == 1 else max(compute, memory)
    assert least * (1 - 1e-12) <= seconds <= (compute + memory) * (1 + 1e-12)


def test_both_sides_of_4_17_are_met():
    assert {0, 1} == {printed({**KERNEL, **changes})["zeta"] for changes in CHANGES}


@pytest.mark.parametrize(("text", "special", "insts"), [
    ("out[i] = fabs(a[i]) + floor(a[i])", 0, 9),  # one instruction each, and no special one
    ("out[i] = a[i]/3.7f + fabs(a[i])", 1, None),
    ("out[i] = exp(a[i])", 1, 4),
    ("out[i] = exp(a[i]) + 3*a[i] + exp(a[i]+1) + exp(a[i]+2)", 3, None),
    ("out[i] = exp(a[i]) + (((a[i]*a[i]+1)*a[i]+2)*a[i]+3)*a[i]+4", 1, None),
])  # fmt: skip
def test_the_bounds_of_4_10(text, special, insts):
    """The visible part of special functions is their share above 4/32, in [0, 1]."""
    found = quantities(counted(text))
    assert insts in (None, found["insts"])
    visible = min(max(special / found["insts"] - 4 / 32, 0), 1)
    assert 0 <= visible <= 1
    assert pytest.approx(special * 32 / 4 * visible) == found["sfu_issues"]  # 4.9: warp_size / SFU_width issues each


def test_a_copy_s_inputs_transactions_of_the_mean_access_and_independent_loads():
    found = quantities(counted("out[i] = a[i]"), max_groups_per_unit=8)
    # Two accesses, each with its address.
    assert (4, 2, 0.5, 0, 1) == tuple(found[n] for n in ("insts", "mem_insts", "mem_share", "sync_insts", "mlp"))
    assert 2**16 / 32 / 14 == found["unit_warps"]
    assert (16, 15 / 16) == (found["warps"], found["others"])  # eight groups of two warps
    assert (0, 1, 128 * 14) == (found["more_transactions"], found["hit_waits"], found["unit_bytes"])
    assert pytest.approx((8 + 1) / 2 - 1) == quantities(counted("out[i] = a[8*i]"))["more_transactions"]
    assert 3 == quantities(counted("out[i] = a[i] + a[i+1] + a[i+2]"))["mlp"]


def test_miss_ratios_multiply():
    counts = counted("out[i] = a[i]")
    assert 0.5 == quantities(counts, l2_miss_ratio=0.5)["miss_ratio"]
    assert 0.125 == quantities(counts, l1_miss_ratio=0.25, l2_miss_ratio=0.5)["miss_ratio"]
    waited = quantities(counts, l1_miss_ratio=0.25, l1_load_s=1e-8, l2_load_s=4e-8)["hit_waits"]
    assert 1 + 0.25 * 4 == waited
    assert 1 == quantities(counts, l1_miss_ratio=0.25, l2_latency_s=4e-8)["hit_waits"]  # of one the latency is unknown


def test_a_sequence_of_launches_does_not_diverge():
    """Eight launches of one statement each: a sub-group executes in all what its work-items do."""
    numbers = range(8)
    t_unit = lp.make_kernel(
        [f"{{[i{k}]: 0 <= i{k} < n}}" for k in numbers],
        "\n".join(
            f"a[i{k}] = 2*a[i{k}] {{id=s{k}{f',dep=b{k}' if k else ''}}}"
            + (f"\n... gbarrier {{id=b{k + 1},dep=s{k}}}" if k < 7 else "") for k in numbers
        ),
        [lp.GlobalArg("a", np.float32, shape="n"), ...], assumptions="n >= 64 and n mod 64 = 0",
        lang_version=(2018, 2),
    )  # fmt: skip
    for k in numbers:
        t_unit = lp.split_iname(t_unit, f"i{k}", 64, outer_tag="g.0", inner_tag="l.0")
    found = quantities(count(t_unit, subgroup_size=32))
    assert (8, 0) == (found["launched"], found["diverged"])


@pytest.mark.parametrize("test", ["l < 32", "l < 16", "l mod 2 = 0", "l < 40", "l >= 32 + g - 4*(g // 4)", "l < 0"])
def test_paths_are_those_that_sub_groups_execute(test):
    """Lane by lane: a product behind a test, beside a load, a sum and a store that all lanes execute."""
    t_unit = make("{[g, l]: 0 <= g < n/64 and 0 <= l < 64}", f"""
        for g, l
            <> t = a[64*g + l] + 1 {{id=all}}
            if {test.replace("mod", "%").replace(" = ", " == ")}
                t = t*t*t*t {{id=some,dep=all}}
            end
            out[64*g + l] = t {{dep=some}}
        end
        """, "a, out: n", assumes="n >= 256 and n mod 256 = 0")  # fmt: skip
    counts = count(lp.tag_inames(t_unit, {"g": "g.0", "l": "l.0"}), subgroup_size=32)
    taken = [
        [eval(test.replace("mod", "%").replace(" = ", " == "), {"l": lane, "g": group}) for lane in lanes]
        for group in range(4) for lanes in (range(32), range(32, 64))
    ]
    by_lanes = sum(3 + 3 * passed for lanes in taken for passed in lanes)
    by_subgroups = sum(3 + 3 * any(lanes) for lanes in taken)
    assert pytest.approx(32 * by_subgroups / by_lanes - 1) == quantities(counts, n=256)["diverged"]


@pytest.mark.parametrize(("stride", "extra"), [(1, 0), (2, 1), (32, 31)])
def test_bank_conflicts_are_serialised_accesses(stride, extra):
    counts = local(stride)
    assert 2 * extra == quantities(counts, banks=32)["conflicts"]  # a store and a load of each warp
    assert 0 == quantities(counts)["conflicts"]
    assert 1 == quantities(counts)["sync_insts"]


def test_the_c2050_and_c2070_are_the_paper_s():
    for device in (C2050, published("tesla-c2070")):
        caught = [device.value(key) for key in ("clock_hz", "memory_bandwidth_bytes_per_s", "global_transaction_bytes")]
        assert [1.15e9, 144e9, 128] == caught
        assert pytest.approx(1 / 1.15e9) == device.value("issue_s")  # 32/32 cycles
