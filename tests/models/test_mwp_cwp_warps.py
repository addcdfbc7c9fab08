"""The inputs of Table 1 of Wang and Lou (2017), for the kernel of their section 3.2."""

from __future__ import annotations

import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from tests.models.test_mwp_cwp import CACHED, quantities, saxpy


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
    t_unit = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: 0 <= j < n}"],
        """
        out[i] = a[i] {id=one}
        ... gbarrier {id=wait,dep=one}
        b[j] = exp(c*c + 1) {dep=wait}
        """,
        [lp.GlobalArg("a, b, out", np.float32, shape="n"), lp.ValueArg("c", np.float32), ...],
        assumptions="n >= 64 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    for iname in ("i", "j"):
        t_unit = lp.split_iname(t_unit, iname, 64, outer_tag="g.0", inner_tag="l.0")
    found = quantities(count(t_unit, subgroup_size=32), CACHED, n=2**16)
    assert ((0 + 2) / 2 + 1, 2) == (found["first_insts"], found["launched"])


def test_double_precision_takes_twice_the_blocks():
    assert 8 == quantities(saxpy(4, np.float64))["per_mw"]
    assert 256 == quantities(saxpy(1, np.float64))["warp_bytes"]
