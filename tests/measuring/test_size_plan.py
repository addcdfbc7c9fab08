"""Size plans: the search is fed with times, counts and memory of the team, and failures name their variant."""

from types import SimpleNamespace

import pytest

from perfmodel.errors import SetAsideWarning
from perfmodel.kernels import KernelClass, Ladder
from perfmodel.measuring import size_plan
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.subject import FailedError
from perfmodel.store import append_line

KERNEL = KernelClass(
    "k", "g", build=lambda **_: None, sizes=Ladder(lambda e: ({"n": 2**e},), 2, rungs=2), reference=lambda **_: {}
)


def keeper(overhead_s, most=2**20, **settings):
    """Stand in for a timekeeper: two compute units, 1 MB, a work-group of four work-items."""
    facts = {"compute_units": 2, "global_memory_bytes": 10**6}
    bench = SimpleNamespace(
        campaign=Campaign("test", **{"groups_per_unit": 1, **settings}), fact=facts.__getitem__,
        fits=lambda subject, parameters: parameters["n"] <= most,
    )  # fmt: skip
    work_groups = lambda subject, parameters: parameters["n"] // 4  # noqa: E731 -- the stand-in of a method
    return SimpleNamespace(bench=bench, overhead_s=overhead_s, work_groups=work_groups)


def team(*factors, kernel=KERNEL):
    return tuple(SimpleNamespace(kernel=kernel, factor=factor) for factor in factors)


def time(subject, parameters):
    return 1e-6 * subject.factor * parameters["n"]


def test_sizes_start_where_runs_are_three_overheads_and_have_a_group_for_each_unit():
    # 3 overheads are 12 us: n = 16 is the first; two groups come at n = 8.
    assert size_plan.Plan(({"n": 16}, {"n": 32}), (16e-6, 32e-6)) == size_plan.plan_sizes(keeper(4e-6), team(1), time)
    # 3 overheads are 3 us: the two groups decide.
    assert ({"n": 8}, {"n": 16}) == size_plan.plan_sizes(keeper(1e-6), team(1), time).parameters


def test_times_of_a_team_are_averaged_and_its_quickest_decides_the_lowest_rung_its_slowest_the_highest():
    plan = size_plan.plan_sizes(keeper(4e-6), team(1, 3), time)
    assert ({"n": 16}, {"n": 32}) == plan.parameters
    assert pytest.approx((32e-6, 64e-6)) == plan.seconds
    assert ({"n": 16},) == size_plan.plan_sizes(keeper(4e-6, longest_s=80e-6), team(1, 3), time).parameters


def test_no_size_that_fits_is_a_failure_that_says_so():
    with pytest.raises(size_plan.PlanError, match=r"the memory that the device offers \(25% of its 1 MB\)") as caught:
        size_plan.plan_sizes(keeper(1e-6, most=1), team(1), time)
    assert "constraint" == caught.value.failure.status


def test_a_failure_names_its_variant():
    pair = team(1, 3)

    def fails_for_the_second(subject, parameters):
        if subject.factor == 3:
            raise FailedError("runtime", "said")
        return 1e-6

    with pytest.raises(size_plan.PlanError, match="said") as caught:
        size_plan.plan_sizes(keeper(1e-6), pair, fails_for_the_second)
    assert pair[1] is caught.value.subject


SIZES = Ladder(lambda e: ({"n": 2**e},), start=2)
BOTH = Ladder(lambda e: ({"n": 2**e}, {"n": 2**e + 1}), start=2)


def choose(sizes=SIZES, seconds=lambda n: n * 1e-6, most=2**30, least=0, **settings):
    """Return the chosen and the tried sizes; those from `least` on suffice."""
    tried = []

    def trial(point):
        tried.append(point["n"])
        return size_plan.Trial(seconds(**point), point["n"] >= least)

    points = size_plan.search_sizes(sizes, trial, lambda point: point["n"] <= most, Campaign("test", **settings))
    return [point["n"] for point in points], tried


@pytest.mark.parametrize(("settings", "expected"), [
    ({"least": 100}, [128, 256, 512, 1024]), ({"longest_s": 16e-6}, [4, 8, 16]),
    ({"longest_s": 5e-6, "least_rungs": 4}, [4, 8, 16, 32]), ({"most": 8}, [4, 8]), ({"most": 64, "least": 1000}, [64]),
    ({"most": 1}, []), ({"seconds": lambda n: 1.0}, [4]), ({"sizes": BOTH, "rungs": 2}, [4, 5, 8, 9]),
    ({"sizes": BOTH, "rungs": 2, "points": 1}, [4, 8]),
    ({"sizes": Ladder(SIZES.at, start=2, step=2), "least": 8}, [8, 32, 128, 512]),
])  # fmt: skip
def test_the_chosen_sizes(settings, expected):
    assert expected == choose(**settings)[0]


def test_nothing_longer_than_twice_the_limit_is_tried():
    assert 32 > max(choose(longest_s=20e-6)[1])


@pytest.mark.parametrize(("cost", "expected"), [(1e-6, [16, 64, 256]), (1e-4, [1, 4, 16]), (1e-3, [1, 4])])
def test_a_rung_ordered_by_time_keeps_its_longest_that_are_short_enough(cost, expected):
    sizes = Ladder(lambda e: tuple({"n": 2**e, "k": k} for k in (1, 4, 16, 64, 256)), start=2, rungs=1, longest=3)

    def trial(point):
        return size_plan.Trial(cost * point["n"] * point["k"], True)

    points = size_plan.search_sizes(sizes, trial, lambda point: True, Campaign("test", longest_s=0.02))
    assert expected == [point["k"] for point in points]


def test_plans_are_kept(tmp_path):
    path = tmp_path / "p.jsonl"
    assert {} == size_plan.read_plans(path)
    kept = size_plan.Plan(({"n": 1}, {"n": 2}), (0.5, 1.0))
    size_plan.append_plan(path, "a", kept)
    assert {"a": kept} == size_plan.read_plans(path)


@pytest.mark.parametrize(("line", "said"), [
    ({"schema": "perfmodel.plan/1", "key": "b"}, "older schema .* 'perfmodel measure' searches the sizes again"),
    ({"key": "b", "parameters": [{"n": 1}], "seconds": [1.0]}, "has no schema"),
    ({"schema": "perfmodel.plan/2", "key": "b", "parameters": [{"n": -1}], "seconds": [1.0]}, "parameters.0.n"),
    ({"schema": "perfmodel.plan/2", "key": "b", "parameters": [{"n": 1}], "seconds": ["1"]}, "seconds.0"),
    ({"schema": "perfmodel.plan/2", "key": "b", "parameters": [{"n": 1}], "seconds": []}, "1 sizes and 0 times"),
])  # fmt: skip
def test_lines_that_are_no_plans_are_left_out_and_told(tmp_path, line, said):
    path = tmp_path / "p.jsonl"
    append_line(path, line)
    with pytest.warns(SetAsideWarning, match=said):
        assert {} == size_plan.read_plans(path)
    size_plan.append_plan(path, "a", size_plan.Plan(({"n": 2},), (2.0,)))
    with pytest.warns(SetAsideWarning, match="line 1"):
        assert ["a"] == list(size_plan.read_plans(path))


def bench(driver="1", **settings):
    facts = SimpleNamespace(name="D", platform="P", driver=driver)
    return SimpleNamespace(device=SimpleNamespace(facts=facts), campaign=Campaign("test", **settings))


K = SimpleNamespace(name="k", sizes=SimpleNamespace(rungs=3))


def subject(**changes):
    return SimpleNamespace(**{"kernel": K, "variant": {"a": 1}, "hash": "h", **changes})


def test_a_key_changes_with_all_that_sizes_depend_on():
    key = size_plan.plan_key(bench(), (subject(),))
    others = {
        size_plan.plan_key(bench(driver="2"), (subject(),)), size_plan.plan_key(bench(rungs=2), (subject(),)),
        size_plan.plan_key(bench(longest_s=1.0), (subject(),)), size_plan.plan_key(bench(), (subject(hash="other"),)),
        size_plan.plan_key(bench(), (subject(variant={"a": 2}),)),
        size_plan.plan_key(bench(), (subject(kernel=SimpleNamespace(name="k", sizes=SimpleNamespace(rungs=1))),)),
        size_plan.plan_key(bench(), (subject(), subject(variant={"a": 2}))),
    }  # fmt: skip
    assert key not in others
    assert 7 == len(others)
