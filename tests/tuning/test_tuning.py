"""Tuning on this machine's device: which variants run, what is kept, and what happens to those that fail."""

from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

import perfmodel as pm
from perfmodel import store
from perfmodel.errors import ArgumentError, OptionError, SizeError, TuningError
from perfmodel.facts import Fact
from perfmodel.measuring.bench import Timekeeper
from perfmodel.tuning import tuning
from perfmodel.tuning.anchoring import device_of
from perfmodel.tuning.trials import Trials
from tests.corpus.kernel import make
from tests.tuning.test_anchoring import model

pytestmark = pytest.mark.device
SHORT = replace(tuning.TUNE, runs=4, dropped=1)
SIZES = {"n": 2**18}


def summed(repeats: int, group: int = 64, wrong: bool = False) -> lp.TranslationUnit:
    """Each work-item adds its number to itself so often; all variants give the same, but the wrong one."""
    t_unit = make("{[i, j]: 0 <= i < n and 0 <= j < repeats}".replace("repeats", str(repeats)),
                  f"out[i] = {2.0 if wrong else 1.0} * sum(j, a[i]) / {float(repeats)}", "float64 out, a: n",
                  assumes=f"n >= 1 and n mod {group} = 0", name="summed")  # fmt: skip
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def broken() -> lp.TranslationUnit:
    raise ValueError("cannot be built")


def found_by(variants, **options):
    asked = {"model": model(op_float64_add=1e-9), "campaign": SHORT, **options}
    return pm.tune(variants, SIZES, **asked)


def test_slow_variants_do_not_run():
    """Predicted times are in proportion to the additions, as measured times nearly are."""
    found = found_by({f"{repeats}": (lambda repeats=repeats: summed(repeats)) for repeats in (4000, 16, 1000, 2000)})
    assert found.best.name == "16"
    assert [one.name for one in found.skipped] == ["1000", "2000", "4000"][-len(found.skipped):]
    assert len(found.skipped) >= 1
    assert found.known >= 0.9
    assert found.ended == tuning.KNOWN
    assert found.saved_s > sum(one.expected for one in found.skipped)


def test_the_search_ends_near_the_roof():
    """A memory of a byte a second is outdone by any; without a roof that is known, the rule makes no sense."""
    roof = {"memory_bandwidth_bytes_per_s": Fact(1.0, "B/s", "made up"), "cache_line_bytes": Fact(64, "B", "made up"),
            "peak_flops_float64": Fact(1e15, "operation/s", "made up")}  # fmt: skip
    variants = {str(group): (lambda group=group: summed(16, group)) for group in (32, 64, 128, 256)}
    near = found_by(variants, model=model(op_float64_add=1e-9).with_facts(roof), of_roof=0.5)
    assert tuning.ROOF == near.ended
    assert near.best.reached.share > 0.5
    with pytest.raises(TuningError, match="a roof of the device is unknown"):
        found_by(variants, of_roof=0.5)


def test_variants_that_fail_have_a_status_and_do_not_end_the_search():
    found = found_by({
        "broken": broken, "good": lambda: summed(16), "wrong": lambda: summed(16, wrong=True),
        "slow": lambda: summed(400), "other group": lambda: summed(16, 96),
    })  # fmt: skip
    status = {one.name: one.status for one in (*found.tried, *found.skipped)}
    assert status["broken"] == "compile"
    assert status["other group"] == "constraint"  # 96 does not divide 2**18
    assert (status["good"], status["wrong"], found.best.name) == ("ok", "correctness", "good")
    messages = {one.name: one.message for one in found.tried}
    assert "cannot be built" in messages["broken"]
    assert "n=262144 breaks the kernel's assumption" in messages["other group"]


def faulty(group: int, skip: bool = False, text: str = "out[i] = sum(j, a[i]) / 400") -> lp.TranslationUnit:
    """Sums of 400 equal terms; one that skips leaves three quarters of them out, and is predicted four times faster."""
    unit = make(f"{{[i, j]: 0 <= i < n and 0 <= j < {100 if skip else 400}}}", text, "float64 out, a: n",
                assumes=f"n >= 1 and n mod {group} = 0", name="faulty")  # fmt: skip
    return lp.split_iname(unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def test_a_variant_that_skips_work_is_not_the_best():
    variants = {"skips": lambda: faulty(64, skip=True)}
    variants |= {str(group): (lambda group=group: faulty(group)) for group in (32, 64, 128, 256)}
    found = found_by(variants)
    assert "skips" == found.tried[0].name
    assert ("correctness", None) == (found.tried[0].status, found.tried[0].seconds)
    assert "its output differs from that of '" in found.tried[0].message
    assert found.best.name in ("32", "64", "128", "256")
    assert (("skips",), True) == (found.outputs.wrong, found.outputs.settled)
    assert any(text.startswith("outputs of 4 of 5 variants agree") for text in found.summary)


def test_two_that_differ_have_no_best():
    found = found_by({"skips": lambda: faulty(64, skip=True), "whole": lambda: faulty(64)})
    assert (None, ()) == (found.best, found.tied)
    assert found.outputs.undecided
    assert "outputs are in doubt, so no variant is the best" == found.summary[0]
    assert "no variant counts as right: " in found.summary[1]
    assert {"in doubt"} == {row[-1] for row in found.table[1:]}


def test_few_runs_report_their_comparison():
    variants = {str(group): (lambda group=group: faulty(group)) for group in (32, 64, 128, 256)}
    found = found_by(variants, most=1)
    assert (1, 1) == (len(found.tried), len(found.outputs.compared))
    assert f"the output of {found.best.name} was compared with no other; " in found.summary[-1]
    assert 3 <= len(found_by(variants, level=0.01).outputs.compared)


def test_a_search_continues_from_its_store(tmp_path, monkeypatch):
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


def transposed(layout: str) -> lp.TranslationUnit:
    """Doubles n times 4 numbers that lie row by row, or column by column."""
    at, shape = ("i, j", "n, 4") if layout == "rows" else ("j, i", "4, n")
    unit = make("{[i, j]: 0 <= i < n and 0 <= j < 4}", f"out[{at}] = 2*a[{at}]", f"float64 out, a: {shape}",
                assumes="n >= 1 and n mod 64 = 0", name="transposed")  # fmt: skip
    return lp.split_iname(unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def test_each_layout_has_its_arguments_and_outputs():
    def arguments(n, variant):
        a = np.random.default_rng(0).uniform(1, 2, (n, 4))
        return {"a": a if variant == "rows" else np.ascontiguousarray(a.T)}

    variants = {layout: (lambda layout=layout: transposed(layout)) for layout in ("rows", "columns")}
    given = {"arguments": arguments, "level": 0.999999}
    found = found_by(variants, reference=lambda a, **others: {"out": 2 * a}, **given)
    assert {"rows", "columns"} == set(found.outputs.right)
    wrong = found_by(variants, reference=lambda a, **others: {"out": 2 * a + (a.shape[0] == 4)}, **given)
    assert (("rows",), ("columns",)) == (wrong.outputs.right, wrong.outputs.wrong)
    unchecked = found_by(variants, compare=False, **given)
    assert (0, True) == (len(unchecked.outputs.compared), unchecked.best is not None)


def test_one_disturbed_visit_does_not_decide(monkeypatch):
    """The first visit to the variant predicted fastest is disturbed; the second is sure after two visits."""
    times = {"first": [3e-3, 1e-3, 1e-3], "second": [1.2e-3] * 3, "far": [9e-3] * 3}
    seen, measured = [], Timekeeper.measured

    def disturbed(self, configuration, place=None):
        name = configuration.subject.variant["variant"]
        seconds = times[name][seen.count(name)]
        seen.append(name)
        row = measured(self, configuration, place)
        return row.model_copy(update={"samples_s": (seconds,) * len(row.samples_s), "flags": ()})

    monkeypatch.setattr(Timekeeper, "measured", disturbed)
    variants = {name: (lambda repeats=repeats: summed(repeats)) for name, repeats in
                (("first", 16), ("second", 32), ("far", 400))}  # fmt: skip
    found = found_by(variants, level=0.999999)
    assert ("first", 1e-3) == (found.best.name, found.best.seconds)
    assert (3, 2) == (seen.count("first"), seen.count("second"))  # once more, since its first two visits disagree


def test_a_space_with_restrictions():
    seen = []
    values = {"repeats": (16, 2000), "group": (32, 64)}
    space = pm.Space(summed, values, [lambda repeats, group: repeats < 100 or group == 64])
    found = pm.tune(space, SIZES, model=model(op_float64_add=1e-9), campaign=SHORT, watch=seen.append)
    assert {one.name for one in (*found.tried, *found.skipped)} == {
        "repeats=16 group=32", "repeats=16 group=64", "repeats=2000 group=64",
    }  # fmt: skip
    assert found.best.name.startswith("repeats=16")
    assert [len(one.tried) for one in seen] == list(range(1, len(seen) + 1))
    again = pm.tune(pm.Space(summed, values), SIZES, model=model(op_float64_add=1e-9), campaign=SHORT, budget_s=0.0)
    assert (again.best, again.ended, len(again.skipped)) == (None, tuning.BUDGET, 4)


@pytest.mark.parametrize(("variants", "options", "error", "text"), [
    ({}, {}, TuningError, "the mapping of variants is empty; give at least one."),
    (summed, {}, ArgumentError, "give a Space, or kernels by name"),
    ({"a": broken}, {}, TuningError, "no variant can be predicted"),
    ({"a": lambda: summed(16)}, {"level": 1.5}, OptionError, "1.5"),
    ({"a": lambda: summed(16)}, {"within": 1.0}, TuningError, "within is 1.0"),
    ({"a": lambda: summed(16)}, {"m": 8}, SizeError, "m"),
])  # fmt: skip
def test_invalid_requests(variants, options, error, text):
    with pytest.raises(error) as raised:
        found_by(variants, **options)
    assert text in str(raised.value)


def test_named_variants_run_first_and_what_cannot_be_built_is_no_run():
    """By the predictions "16" runs first, and alone."""
    variants = {name: (lambda name=name: summed(int(name))) for name in ("16", "2000", "4000")}
    named = {"broken": broken, **variants}
    seconds = {"broken": 1e-9, **{name: 1e-9 * int(name) for name in variants}}
    predictions = {name: pm.Prediction(time, {"add": time}) for name, time in seconds.items()}
    fitted = model(op_float64_add=1e-9).by_clock("host")
    with Trials(device_of(fitted), named, SIZES, SHORT, compare=False) as trials:
        search = tuning.Tuning(trials, fitted, SIZES, 1.0, 0.02, None, 2, 0.0, None, None, first=("2000",))
        search.expect(predictions)
        found = search.finished()
    assert ["2000", "broken", "16"] == [one.name for one in found.tried]
    assert (found.best.name, found.ended) == ("16", tuning.MOST)
