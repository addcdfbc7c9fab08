"""All that a work-item does, by hand."""

from __future__ import annotations

import loopy as lp

from tests.counts.flow.small_kernels import ADD, FLOAT, LOAD, MUL, STORE, at, flow_of, kernel


def test_short_nests_are_multiplied_out_and_long_ones_keep_their_loops() -> None:
    # a walk follows 4*3 runs one by one, but not 4*n: all of both are work
    flow = flow_of(kernel("{[i, j, k]: 0 <= i < 4 and 0 <= j < 3 and 0 <= k < n}", """
        for i
            <float32> s = a[i] {id=first}
            for j
                x[i, j] = a[i] + z[j]
            end
            for k
                s = s + y[k] {id=next, dep=first}
            end
            out[i] = s {dep=next}
        end
    """))
    runs = 4 * 3 + 4 * 1000
    assert {LOAD: 4 + 2 * 4 * 3 + 4 * 1000, ADD: runs, STORE: 4 * 3 + 4} == at(flow.work, n=1000)


def test_launches_and_barriers_are_summed() -> None:
    unit = lp.make_kernel(
        "{[i, j]: 0 <= i, j < n}",
        """
        mid[i] = 2*a[i] {id=first}
        ... gbarrier {id=wait, dep=first}
        out[j] = mid[n - 1 - j] + 1 {dep=wait}
        """,
        [lp.GlobalArg("a, mid, out", FLOAT, shape="n"), ...], assumptions="n >= 1", lang_version=(2018, 2),
    )  # fmt: skip
    for iname in "ij":
        unit = lp.split_iname(unit, iname, 16, outer_tag="g.0", inner_tag="l.0")
    assert {LOAD: 2, MUL: 1, ADD: 1, STORE: 2} == at(flow_of(unit).work, n=64)
