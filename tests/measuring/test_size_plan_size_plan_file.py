"""Size plans on disk: what is written is read back, and a line that is no plan is left out."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from perfmodel.errors import SetAsideWarning
from perfmodel.measuring.campaign import Campaign
from perfmodel.measuring.size_plan import Plan, append_plan, plan_key, plan_path, read_plans
from perfmodel.store import append_line


def test_plans_are_kept(tmp_path):
    path = tmp_path / "p.jsonl"
    assert {} == read_plans(path)
    kept = Plan(({"n": 1}, {"n": 2}), (0.5, 1.0))
    append_plan(path, "a", kept)
    assert {"a": kept} == read_plans(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"schema": "perfmodel.plan/1", "key": "b"}, "older schema .* 'perfmodel measure' searches the sizes again"),
        ({"key": "b", "parameters": [{"n": 1}], "seconds": [1.0]}, "has no schema"),
        ({"schema": "perfmodel.plan/2", "key": "b", "parameters": [{"n": -1}], "seconds": [1.0]}, "parameters.0.n"),
        ({"schema": "perfmodel.plan/2", "key": "b", "parameters": [{"n": 1}], "seconds": ["1"]}, "seconds.0"),
        ({"schema": "perfmodel.plan/2", "key": "b", "parameters": [{"n": 1}], "seconds": []}, "1 sizes and 0 times"),
    ],
)
def test_lines_that_are_no_plans_are_left_out_and_told(tmp_path, line, said):
    path = tmp_path / "p.jsonl"
    append_line(path, line)
    with pytest.warns(SetAsideWarning, match=said):
        assert {} == read_plans(path)
    append_plan(path, "a", Plan(({"n": 2},), (2.0,)))
    with pytest.warns(SetAsideWarning, match="line 1"):
        assert ["a"] == list(read_plans(path))


def test_the_file_lies_beside_the_rows(tmp_path):
    assert tmp_path / "measurements.plan.jsonl" == plan_path(tmp_path)
    assert tmp_path / "test.plan.jsonl" == plan_path(tmp_path / "test.jsonl")


def bench(driver="1", **settings):
    facts = SimpleNamespace(name="D", platform="P", driver=driver)
    return SimpleNamespace(device=SimpleNamespace(facts=facts), campaign=Campaign("test", **settings))


K = SimpleNamespace(name="k", sizes=SimpleNamespace(rungs=3))


def subject(**changes):
    return SimpleNamespace(**{"kernel": K, "variant": {"a": 1}, "hash": "h", **changes})


def test_a_key_changes_with_all_that_sizes_depend_on():
    key = plan_key(bench(), (subject(),))
    others = {
        plan_key(bench(driver="2"), (subject(),)),
        plan_key(bench(rungs=2), (subject(),)),
        plan_key(bench(longest_s=1.0), (subject(),)),
        plan_key(bench(), (subject(hash="other"),)),
        plan_key(bench(), (subject(variant={"a": 2}),)),
        plan_key(bench(), (subject(kernel=SimpleNamespace(name="k", sizes=SimpleNamespace(rungs=1))),)),
        plan_key(bench(), (subject(), subject(variant={"a": 2}))),
    }
    assert key not in others
    assert 7 == len(others)
