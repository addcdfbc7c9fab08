"""Size plans: the search is fed with times, counts and memory of the team, and failures name their variant."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.size_plan import Plan, PlanError, plan_sizes
from perfmodel.measuring.subject import FailedError

KERNEL = KernelClass(
    "k", "g", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 2, rungs=2), reference=lambda **_: {}
)


def keeper(overhead_s, most=2**20, **settings):
    """Stand in for a timekeeper: two compute units, 1 MB, a work-group of four work-items."""
    facts = {"compute_units": 2, "global_memory_bytes": 10**6}
    bench = SimpleNamespace(
        campaign=Campaign("test", **{"groups_per_unit": 1, **settings}),
        fact=facts.__getitem__,
        fits=lambda subject, parameters: parameters["n"] <= most,
    )
    work_groups = lambda subject, parameters: parameters["n"] // 4  # noqa: E731 -- the stand-in of a method
    return SimpleNamespace(bench=bench, overhead_s=overhead_s, work_groups=work_groups)


def team(*factors, kernel=KERNEL):
    return tuple(SimpleNamespace(kernel=kernel, factor=factor) for factor in factors)


def time(subject, parameters):
    return 1e-6 * subject.factor * parameters["n"]


def test_sizes_start_where_runs_are_three_overheads_and_have_a_group_for_each_unit():
    # 3 overheads are 12 us: n = 16 is the first; two groups come at n = 8.
    assert Plan(({"n": 16}, {"n": 32}), (16e-6, 32e-6)) == plan_sizes(keeper(4e-6), team(1), time)
    # 3 overheads are 3 us: the two groups decide.
    assert ({"n": 8}, {"n": 16}) == plan_sizes(keeper(1e-6), team(1), time).parameters


def test_times_of_a_team_are_averaged_and_its_quickest_decides_the_lowest_rung_its_slowest_the_highest():
    plan = plan_sizes(keeper(4e-6), team(1, 3), time)
    assert ({"n": 16}, {"n": 32}) == plan.parameters
    assert pytest.approx((32e-6, 64e-6)) == plan.seconds
    assert ({"n": 16},) == plan_sizes(keeper(4e-6, longest_s=80e-6), team(1, 3), time).parameters


def test_no_size_that_fits_is_a_failure_that_says_so():
    with pytest.raises(PlanError, match=r"fits into the memory that the device offers \(25% of its 1 MB\)") as caught:
        plan_sizes(keeper(1e-6, most=1), team(1), time)
    assert "constraint" == caught.value.failure.status


def test_a_failure_names_its_variant():
    pair = team(1, 3)

    def fails_for_the_second(subject, parameters):
        if subject.factor == 3:
            raise FailedError("runtime", "said")
        return 1e-6

    with pytest.raises(PlanError, match="said") as caught:
        plan_sizes(keeper(1e-6), pair, fails_for_the_second)
    assert pair[1] is caught.value.subject
