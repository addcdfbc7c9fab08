"""Schedules as trees, and loops without an end."""

from __future__ import annotations

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts import count
from perfmodel.counts.program.program import DeviceKernel, Loop, Run, Wait
from perfmodel.counts.reading.schedule import refuse_unbounded
from perfmodel.counts.reading.statements import schedule_tree
from perfmodel.errors import CountError, KernelError


@pytest.mark.parametrize(
    ("domain", "inames"),
    [
        ("[n] -> { [i] : 0 <= i }", ("i",)),
        ("[n] -> { [i] : i < n }", ("i",)),
        ("[n] -> { [i, j] : 0 <= i < n and j <= i }", ("j",)),
        ("[n] -> { [i, j, k] : 0 <= i < n and j = k }", ("j", "k")),
        ("{ [i] }", ("i",)),
    ],
)
def test_loops_without_an_end(domain, inames):
    with pytest.raises(CountError, match="a lower and an upper bound") as caught:
        refuse_unbounded([isl.BasicSet("[n] -> { [h] : 0 <= h < n }"), isl.BasicSet(domain)])
    assert inames == caught.value.inames
    assert str(caught.value).startswith(f"the loop over {', '.join(inames)} has no bound in its domain ")


@pytest.mark.parametrize(
    "domain",
    [
        "{ [] }",
        "[n] -> { [i] : 0 <= i < n and n < 0 }",
        "[n, outer] -> { [i] : 16*outer <= i < n }",
        "[n] -> { [i, j] : 0 <= i + j < n and 0 <= i - j < n }",
        "[n] -> { [i] : exists e : i = 3*e and 0 <= e < n }",
    ],
)
def test_loops_that_end(domain):
    refuse_unbounded([isl.BasicSet(domain)])


def test_a_loop_that_another_domain_bounds_ends():
    """Loopy's main branch leaves the iname of a sequential scan in the domain of the loop that takes its place."""
    refuse_unbounded([isl.Set("[n] -> { [i, j] : 0 <= i < n and 0 <= j <= i }"), isl.Set("[i] -> { [s, j] : s = i }")])


def test_a_kernel_with_a_loop_without_an_end_is_not_counted():
    kernel = lp.make_kernel(
        "{ [i, j]: 0 <= i < n and 0 <= j }", "b[i] = sum(j, 2)",
        [lp.GlobalArg("b", np.float32, shape=("n",)), lp.ValueArg("n", np.int32)],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    with pytest.raises(CountError, match="such as 0 <= j < n"):
        count(kernel, cache=False)


def test_a_schedule_that_is_there_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = lp.make_kernel("{ [i]: 0 <= i < n }", "out[i] = 2*a[i]", lang_version=(2018, 2), assumptions="n >= 1")
    unit = lp.split_iname(lp.add_dtypes(unit, {"a": np.float32}), "i", 16, outer_tag="g.0", inner_tag="l.0")
    made = lp.linearize(lp.preprocess_program(unit))
    expected = count(unit, cache=False).hash

    def refuse(_: lp.TranslationUnit) -> None:
        raise AssertionError("the kernel has a schedule")

    monkeypatch.setattr(lp, "preprocess_program", refuse)
    monkeypatch.setattr(lp, "linearize", refuse)
    assert expected == count(made, cache=False).hash
    with pytest.raises(KernelError, match="has a schedule"):
        count(unit, cache=False)


def test_a_schedule_becomes_a_tree(scheduled):
    kernel = scheduled(
        "{ [i, k, l]: 0 <= i < n and 0 <= k < 5 and 0 <= l < 16 }",
        """
        for i
            tile[l] = a[16*i + l] {id=fill}
            ... lbarrier {id=wait, dep=fill}
            <> s = 0 {id=start, dep=wait}
            for k
                s = s + tile[k] {id=add, dep=start}
            end
            out[i] = s {id=end, dep=add}
        end
        """,
        lp.GlobalArg("a", np.float32, shape="16*n"), lp.GlobalArg("out", np.float32, shape="n"),
        lp.TemporaryVariable("tile", np.float32, (16,), address_space=lp.AddressSpace.LOCAL),
    )
    (launch,) = schedule_tree(kernel)
    assert isinstance(launch, DeviceKernel)
    (outer,) = launch.body
    inner = Loop("l", (Run("fill"),))
    assert Loop("i", (inner, Wait("local"), Run("start"), Loop("k", (Run("add"),)), Run("end"))) == outer


def test_a_callee_that_loopy_makes_two_versions_of_is_inlined_twice() -> None:
    callee = lp.make_function("{ [i]: 0 <= i < 4 }", "y[i] = i*i", name="squares", lang_version=(2018, 2))
    caller = lp.make_kernel(
        "{ [i, j]: 0 <= i, j < 4 }", "[i]: a[2*i] = squares()\n[j]: b[7 - j] = squares()",
        [lp.GlobalArg("a,b", np.int32, shape=(8,))], lang_version=(2018, 2),
    )
    counts = count(lp.merge([caller, callee]), cache=False)
    assert (4, 4) == (counts.accesses(array="a")(), counts.accesses(array="b")())
