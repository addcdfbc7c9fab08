"""Tuning on this machine's device: which variants run, what is kept, and what happens to those that fail."""

from __future__ import annotations

from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel import store
from perfmodel.errors import LevelError, ParameterError, SpaceError, TuningError
from perfmodel.tuning import tuning
from perfmodel.tuning.trials import Trials
from tests.tuning.test_anchoring import model

pytestmark = pytest.mark.device
SHORT = replace(tuning.TUNE, runs=4, dropped=1)
SIZES = {"n": 2**18}


def summed(repeats: int, group: int = 64, wrong: bool = False) -> lp.TranslationUnit:
    """Each work-item adds its number to itself so often; all variants give the same, but the wrong one."""
    t_unit = lp.make_kernel(
        "{[i, j]: 0 <= i < n and 0 <= j < repeats}".replace("repeats", str(repeats)),
        f"out[i] = {2.0 if wrong else 1.0} * sum(j, a[i]) / {float(repeats)}",
        [lp.GlobalArg("out, a", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {group} = 0", lang_version=(2018, 2), name="summed",
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def broken() -> lp.TranslationUnit:
    raise ValueError("cannot be built")


def found_by(variants, **options):
    asked = {"model": model(op_float64_add=1e-9), "campaign": SHORT, **options}
    return pm.tune(variants, SIZES, **asked)


def test_hopeless_variants_do_not_run():
    """Predicted times are in proportion to the additions, as measured times nearly are."""
    found = found_by({f"{repeats}": (lambda repeats=repeats: summed(repeats)) for repeats in (4000, 16, 1000, 2000)})
    assert found.best.name == "16"
    assert [one.name for one in found.skipped] == ["1000", "2000", "4000"][-len(found.skipped):]
    assert len(found.skipped) >= 1
    assert found.known >= 0.9
    assert found.ended == tuning.KNOWN
    assert found.saved_s > sum(one.expected for one in found.skipped)


def test_variants_that_fail_have_a_status_and_do_not_end_the_search():
    found = found_by({
        "broken": broken, "good": lambda: summed(16), "wrong": lambda: summed(16, wrong=True),
        "other group": lambda: summed(16, 96),
    })  # fmt: skip
    status = {one.name: one.status for one in (*found.tried, *found.skipped)}
    assert status["broken"] == "constraint"
    assert status["other group"] == "constraint"  # 2**18 is no multiple of 96
    assert sorted(one for name, one in status.items() if name in ("good", "wrong")) == ["correctness", "ok"]
    said = {one.name: one.message for one in found.tried}
    assert "cannot be built" in said["broken"]
    assert "n=262144 breaks the kernel's assumption" in said["other group"]


def test_a_search_goes_on_from_what_was_kept(tmp_path, monkeypatch):
    variants = {str(repeats): (lambda repeats=repeats: summed(repeats)) for repeats in (16, 24, 32)}
    first = found_by(variants, keep=tmp_path, most=1, level=0.999999)
    assert (len(first.tried), first.ended) == (1, tuning.MOST)
    rows = store.read(tmp_path).rows
    assert {row.kernel for row in rows} == {"kernel"}
    visited, visit = [], Trials.visit

    def noted(self, name, *given, **asked):
        visited.append(name)
        return visit(self, name, *given, **asked)

    monkeypatch.setattr(Trials, "visit", noted)
    monkeypatch.setattr(tuning, "MOST_NEAR", 0)
    second = found_by(variants, keep=tmp_path, level=0.999999)
    assert first.tried[0].name not in visited
    assert second.tried[0].seconds == first.tried[0].seconds
    changed = {**variants, "16": lambda: summed(16, 128), "24": lambda: summed(24, 128)}
    changed["32"] = lambda: summed(32, 128)
    visited.clear()
    found_by(changed, keep=tmp_path, most=1, level=0.999999)
    assert len(visited) == 1


def test_a_space_with_restrictions():
    seen = []
    found = pm.tune(
        summed, SIZES, space={"repeats": (16, 2000), "group": (32, 64)},
        restrictions=[lambda repeats, group: repeats < 100 or group == 64],
        model=model(op_float64_add=1e-9), campaign=SHORT, watch=seen.append,
    )  # fmt: skip
    assert {one.name for one in (*found.tried, *found.skipped)} == {
        "repeats=16 group=32", "repeats=16 group=64", "repeats=2000 group=64",
    }  # fmt: skip
    assert found.best.name.startswith("repeats=16")
    assert [len(one.tried) for one in seen] == list(range(1, len(seen) + 1))
    space = pm.Space(summed, {"repeats": (16, 2000), "group": (32, 64)})
    again = pm.tune(space, SIZES, model=model(op_float64_add=1e-9), campaign=SHORT, budget_s=0.0)
    assert (again.best, again.ended, len(again.skipped)) == (None, tuning.BUDGET, 4)


@pytest.mark.parametrize(
    ("variants", "options", "error", "said"),
    [
        ({}, {}, TuningError, "there are no variants; give at least one."),
        (summed, {}, TuningError, "a function was given without a space; give space={name: values, ...} too."),
        ({"a": summed}, {"space": {"group": (8,)}}, TuningError, "give a function that builds them"),
        (summed, {"space": {"group": ()}}, SpaceError, "parameter 'group' has no values"),
        ({"a": broken}, {}, TuningError, "no variant can be predicted"),
        ({"a": lambda: summed(16)}, {"level": 1.5}, LevelError, "1.5"),
        ({"a": lambda: summed(16)}, {"within": 1.0}, TuningError, "within is 1.0"),
        ({"a": lambda: summed(16)}, {"m": 8}, ParameterError, "m"),
    ],
)
def test_what_cannot_be_tuned(variants, options, error, said):
    with pytest.raises(error) as raised:
        found_by(variants, **options)
    assert said in str(raised.value)


@pytest.mark.nightly
def test_processes_predict_what_this_one_predicts():
    variants = {"16": lambda: summed(16), "400": lambda: summed(400), "broken": broken}
    here, there = (found_by(variants, jobs=jobs, most=1) for jobs in (1, 2))
    for one in (here, there):
        assert "16" == one.best.name
        assert "constraint" == next(row.status for row in one.tried if row.name == "broken")
    assert [row.predicted for row in here.skipped] == [row.predicted for row in there.skipped]
