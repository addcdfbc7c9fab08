"""Trials of variants on a device: what is recorded of those that run and of those that fail in each way."""

import json
from dataclasses import replace

import loopy as lp
import numpy as np
import pytest

from perfmodel import store
from perfmodel.errors import KernelError, TrialError, TuningError, UnknownNameError
from perfmodel.measuring import supervised
from perfmodel.measuring.bench import Timekeeper
from perfmodel.tuning.trials import TRIALS, Trials
from tests.machine import device

pytestmark = pytest.mark.device
#: Visits that end quickly.
SHORT = replace(TRIALS, visits=1, most_visits=1, runs=4, dropped=1, apart_s=0.0)
PLACE = '{"n":256}'


def unit(text: str = "out[i] = 2*a[i]", group: int = 64, *more: object) -> lp.TranslationUnit:
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}", text, [lp.GlobalArg("out, a", np.float32, shape="n"), *more, lp.ValueArg("n", np.int32)],
        assumptions=f"n >= 1 and n mod {group} = 0", lang_version=(2018, 2), name="scaled",
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", group, outer_tag="g.0", inner_tag="l.0")


def trials(variants, n: int = 256, campaign=SHORT, **asked) -> Trials:
    return Trials(device(), variants, {"n": n}, campaign, **asked)


def visit(given, **asked):
    with trials({"kernel": given}, **asked) as found:
        return found.visit("kernel")


def test_variants_that_run():
    made = []

    def second():
        made.append("second")
        return unit("out[i] = a[i] + a[i]", 128)

    with trials({"first": unit(), "second": second}, kernel="scaling") as found:
        assert [] == made
        first, second_row = found.visit("first"), found.visit("second")
        again = found.visit("second")
        spent = found.spent("second")
        assert found.count("second").work_groups()(n=1024) == 8
    assert ["second"] == made
    assert ("ok", "ok", "ok") == (first.status, second_row.status, again.status)
    assert ("scaling", {"variant": "first"}, {"n": 256}) == (first.kernel, first.variant, first.parameters)
    assert (4, 1) == (len(first.samples_s), first.dropped)
    assert 0 < first.seconds < 1
    assert first.counts_hash
    assert first.launch_overhead_s is not None
    joined = found.rows["second", PLACE]
    assert second_row.samples_s + again.samples_s == joined.samples_s
    assert min(second_row.seconds, again.seconds) == joined.seconds
    assert 0 < spent


def test_each_failure_is_a_record():
    def refuses():
        raise ValueError("no such\ntile")

    variants = {
        "refused": refuses, "number": lambda: 3, "reference": unit(),
        "wrong": unit("out[i] = 2*a[i] + (1 if i == 3 else 0)"),
        "flags": lp.set_options(unit(), build_options=["-D__global=nonsense"]), "odd": unit(group=96),
        "good": unit("out[i] = a[i]*2", 32),
    }  # fmt: skip
    with trials(variants) as found:
        for name in variants:
            found.visit(name)
        again = found.visit("refused")
        rows = {name: found.judged(name) for name in variants}
        assert (("reference", "good"), ("wrong",)) == found.agreement().groups
    outcomes = {name: (row.status, row.message) for name, row in rows.items()}
    assert ("compile", "ValueError: no such tile") == outcomes["refused"] == (again.status, again.message)
    assert ("compile", "it is of type int, and not a loopy.TranslationUnit") == outcomes["number"]
    assert ("correctness", "its output differs from that of 'reference': 'out' by up to 1 (") == (
        outcomes["wrong"][0],
        outcomes["wrong"][1].partition("(")[0] + "(",
    )
    assert "in 1 of 256 elements, first out[3] = " in outcomes["wrong"][1]
    assert "compile" == outcomes["flags"][0]
    huge = visit(unit(group=2**20), n=2**20)
    assert "constraint" == huge.status
    assert "needs 1048576 work-items" in huge.message
    assert "constraint" == outcomes["odd"][0]
    assert "n=256 breaks the kernel's assumption" in outcomes["odd"][1]
    assert ("ok", "ok") == (outcomes["reference"][0], outcomes["good"][0])
    assert all(not row.samples_s for name, row in rows.items() if row.status != "ok")


#: Each computes something else than twice `a`.
WRONG = {"nothing written": "out[i] = out[i]", "neighbours race": "out[i - i % 2] = 2*a[i]"}
RIGHT = {"right": "out[i] = 2*a[i]", "sum": "out[i] = a[i] + a[i]", "shifted": "out[i] = (a[i] + 4) + (a[i] - 4)"}


@pytest.mark.parametrize("fault", sorted(WRONG))
def test_the_wrong_one_of_four_is_found(fault):
    variants = {fault: unit(WRONG[fault]), **{name: unit(text) for name, text in RIGHT.items()}}
    with trials(variants) as found:
        assert ["ok"] * 4 == [found.visit(name).status for name in variants]
        agreement = found.agreement()
        assert ((fault,), tuple(RIGHT)) == (agreement.wrong, agreement.right)
        assert "correctness" == found.judged(fault).status
        assert ["ok"] * 3 == [found.judged(name).status for name in RIGHT]


@pytest.mark.parametrize("kind", ["arrays", "kernel"])
def test_a_reference_refuses_wrong_outputs(kind):
    asked = []

    def reference(**arguments):
        asked.append({name: one.shape or int(one) for name, one in arguments.items()})
        arguments["out"][:] = 0  # a copy: the kernel keeps its own
        return {"out": 2.0 * arguments["a"].astype(np.float64)} if kind == "arrays" else unit()

    variants = {"wrong": unit("out[i] = 3*a[i]"), "right": unit("out[i] = a[i] + a[i]")}
    with trials(variants, reference=reference) as found:
        rows = {name: found.visit(name) for name in variants}
    assert [{"out": (256,), "a": (256,), "n": 256}] == asked
    assert ["correctness", "ok"] == [row.status for row in rows.values()]
    assert "its output differs from the expected one: 'out' by up to " in rows["wrong"].message
    assert (("right",), ("wrong",)) == found.agreement().groups


@pytest.mark.parametrize(("given", "error", "text"), [
    ({"out": np.full(256, np.nan)}, TuningError, "gives 'out' with NaN in every element"),
    ({"a": np.ones(256)}, TuningError, "gives 'a', which is not an output; give some of the outputs: out"),
    ([1], TuningError, "reference() returns list; give a dict with some of the outputs: out"),
    (unit("out[i] = a[i]", 96), TrialError, "n=256 breaks the kernel's assumption"),
])  # fmt: skip
def test_an_invalid_reference_ends_the_trials(given, error, text):
    with trials({"one": unit()}, reference=lambda **arguments: given) as found, pytest.raises(error) as raised:
        found.visit("one")
    assert text in str(raised.value)


def test_a_run_only_for_the_output_is_not_a_visit(tmp_path):
    variants = {"one": unit(), "two": unit("out[i] = a[i] + a[i]"), "wrong": unit("out[i] = 3*a[i]")}
    variants["odd"] = unit(group=96)
    with trials(variants, keep=tmp_path) as found:
        assert [None, None, None] == [found.compare(name) for name in ("one", "two", "wrong")]
        assert "constraint" == found.compare("odd").status
        assert ("wrong",) == found.agreement().wrong
        assert (None, "correctness") == (found.judged("one"), found.judged("wrong").status)
        assert None is found.compare("one")  # again, with the same output
        assert ("one", "two") == found.agreement().right
    assert ["constraint"] == [row.status for row in store.read(tmp_path).rows]


def test_too_much_memory_says_how_many_bytes():
    row = visit(unit(), n=2**40)
    assert "constraint" == row.status
    assert "its arrays need 8 TiB (out 4 TiB, a 4 TiB)" in row.message
    assert "choose smaller sizes" in row.message


def test_a_slow_variant_is_timed_in_few_runs():
    with trials({"kernel": unit()}) as found:
        brief = found.visit("kernel", enough_s=1e-12)
        assert ("ok", found.campaign.dropped + 1) == (brief.status, len(brief.samples_s))
        whole = found.visit("kernel", enough_s=100.0)
        assert found.campaign.runs == len(whole.samples_s)


def test_other_sizes_than_those_of_the_trials():
    with trials({"kernel": unit(), "wrong": unit("out[i] = 3*a[i]")}) as found:
        assert {"n": 512} == found.visit("kernel", {"n": 512}).parameters
        found.visit("wrong", {"n": 512})
        assert (("kernel",), ("wrong",)) == found.agreement({"n": 512}).groups
        assert "ok" == found.visit("wrong").status
        assert (("wrong",),) == found.agreement().groups  # at 256 it is alone
    assert {("kernel", '{"n":512}'), ("wrong", '{"n":512}'), ("wrong", PLACE)} == found.rows.keys()


GATHER = unit("out[i] = k*a[index[i]]", 64, lp.GlobalArg("index", np.int32, shape="n"), lp.ValueArg("k", np.float32))


def test_arguments_of_the_user():
    """The output of a gather with these indices is known, so that a kernel which writes it directly must agree."""
    asked = []

    def arguments(n):
        asked.append(n)
        a = np.arange(n, dtype=np.float32)
        return {"index": np.arange(n, dtype=np.int32)[::-1].copy(), "a": a, "k": 2.0}

    same = [one for one in GATHER.default_entrypoint.args if one.name in ("index", "k")]
    direct = unit("out[i] = 2*(n - 1 - i)", 32, *same)
    with trials({"gather": GATHER, "direct": direct}, arguments=arguments) as found:
        assert ["ok", "ok"] == [found.visit(name).status for name in found.variants]
        found.visit("gather")
        assert [256] == asked
        found.visit("gather", {"n": 512})
    assert [256, 512] == asked


def test_unknown_names_and_kernels_that_cannot_be_counted():
    def refuses():
        raise ValueError("no")

    untyped = lp.make_kernel("{[i]: 0 <= i < n}", "out[i] = a[i]", lang_version=(2018, 2))
    with trials({"bad": refuses, "untyped": untyped}) as found:
        with pytest.raises(UnknownNameError, match="choose one of: bad"):
            found.visit("good")
        with pytest.raises(TrialError, match=r"variant 'bad' failed \(compile: ValueError: no\); correct it"):
            found.count("bad")
        with pytest.raises(KernelError):
            found.count("untyped")
        row = found.visit("untyped")
    assert "constraint" == row.status
    assert "Loopy cannot build the kernel: no type is known for a, out" in row.message


def test_records_are_kept_with_counts(tmp_path):
    variants = {"wrong": unit("out[i] = 3*a[i]"), "one": unit(), "two": unit("out[i] = a[i] + a[i]")}
    with trials(variants, keep=tmp_path / "kept", kernel="mine") as found:
        for name in (*variants, "one"):
            found.visit(name)
    read = store.read(tmp_path / "kept")
    assert ["ok", "ok", "ok", "ok", "correctness"] == [row.status for row in read.rows]
    assert {"variant": "wrong"} == read.rows[-1].variant
    (row,) = (row for row in read if row.variant == {"variant": "one"})
    assert (2, "mine", "mine", {"variant": "one"}) == (len(row.visits), row.kernel, row.group, row.variant)
    assert 4 == read.counts[row.counts_hash].work_groups()(n=256)
    assert device().name == read.facts.name


def test_a_new_process_continues_after_a_death(tmp_path, monkeypatch):
    """The first process kept one visit and the death of another variant; nothing of both is run again."""
    texts = []
    monkeypatch.setattr(supervised, "_report", texts.append)
    variants = {"one": unit(), "deadly": unit("out[i] = a[i] + a[i]")}
    with trials({"one": unit()}, keep=tmp_path) as found:
        found.visit("one")  # another command's
    monkeypatch.setenv(supervised.PIPE, "0")
    with trials(variants, keep=tmp_path) as found:
        kept = found.visit("one")
        death = found._failed("deadly", supervised_failure(), {"n": 256})
    store.append(tmp_path, death)
    monkeypatch.setenv(supervised.STARTS, json.dumps(texts[0]["starts"]))
    measured = Timekeeper.measured
    timed = []
    monkeypatch.setattr(
        Timekeeper, "measured", lambda self, one: timed.append(one.subject.variant["variant"]) or measured(self, one)
    )
    with trials(variants, keep=tmp_path) as found:
        assert kept == found.visit("one")
        assert death == found.visit("deadly")
        assert "ok" == found.visit("one").status
    assert ["one"] == timed
    assert ["ok", "ok", "runtime", "ok"] == [row.status for row in store.read(tmp_path).rows]


def test_a_death_while_sizes_are_chosen_is_not_repeated(tmp_path, monkeypatch):
    texts = []
    monkeypatch.setattr(supervised, "_report", texts.append)
    monkeypatch.setenv(supervised.PIPE, "0")
    with trials({"deadly": unit()}, keep=tmp_path) as found:
        texts.clear()
        found.settle()
        death = found._failed("deadly", supervised_failure(), {"n": 256})
    (before, after), key = texts, ("deadly", {"n": 256})
    assert (key, None) == ((before["record"]["variant"]["variant"], before["record"]["parameters"]), after)
    monkeypatch.setenv(supervised.STARTS, json.dumps({str(store.paths(tmp_path)[0]): 0}))
    store.append(tmp_path, death)
    with (
        trials({"deadly": unit()}, keep=tmp_path) as found,
        pytest.raises(TrialError, match="the process died of SIGSEGV while this was under way, twice"),
    ):
        found.settle()


def supervised_failure():
    from perfmodel.measuring.subject import FailedError

    return FailedError("runtime", f"{supervised.DIED}SIGSEGV while this was under way, twice")


def test_a_size_is_chosen_from_a_ladder():
    """Every run is longer than nothing, so that the first one suffices that has enough work-groups."""
    easy = replace(SHORT, over_launch=0.0, groups_per_unit=1)
    needed = int(device().facts.value("compute_units"))
    ladder = [{"n": 64 * 2**k} for k in range(12)]
    asked = []

    def arguments(n):
        asked.append(n)
        return {}

    with trials({"kernel": unit()}, campaign=easy, ladder=ladder, arguments=arguments) as found:
        n = found.settle()["n"]
        assert {"n": n} == found.visit("kernel").parameters
    assert min(one["n"] for one in ladder if one["n"] // 64 >= needed) == n
    assert set(asked) <= {one["n"] for one in ladder}
    with trials({"kernel": lambda: 3}) as found, pytest.raises(TrialError, match="'kernel' failed"):
        found.settle()


def half_of(parts: int) -> lp.TranslationUnit:
    """Units of the same OpenCL code: the host divides the grid."""
    t_unit = lp.make_kernel(
        f"{{[i]: 0 <= i < n//{parts}}}", "out[i] = a[i] + 1",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n", np.int32)],
        assumptions="n >= 256 and n mod 256 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def test_records_of_the_same_code_on_another_grid_differ(tmp_path):
    with trials({"whole": half_of(1), "half": half_of(2)}, keep=tmp_path) as found:
        whole, half = found.visit("whole"), found.visit("half")
        assert ["half", "whole"] == sorted(name for group in found.agreement().groups for name in group)
    assert whole.kernel_hash != half.kernel_hash
    kept = store.read(tmp_path)
    groups = [kept.counts[row.counts_hash].work_groups()(n=256) for row in kept]
    assert [4, 2] == groups
    with trials({"whole": half_of(2)}) as later:
        assert not later.recall(whole)
    with trials({"whole": half_of(1)}) as later:
        assert later.recall(whole)


def test_outputs_are_compared_at_other_sizes():
    """The reference runs at 256 only; each variant is timed at 1024, and one differs from 512 on."""
    asked, given = [], []

    def reference(n, a, **passed):
        asked.append(n)
        return {"out": 2 * a}

    def arguments(n):
        given.append(n)
        return {"a": np.arange(n, dtype=np.float32)}

    variants = {
        "right": unit(), "wrong": unit("out[i] = 2*a[i] + (1 if i == 3 else 0)"), "wide": unit(group=512),
        "wrong later": unit("out[i] = 2*a[i] + (1 if i >= 512 else 0)"),
    }  # fmt: skip
    asked_of = {"n": 1024, "compare_at": {"n": 256}, "reference": reference, "arguments": arguments}
    with trials(variants, **asked_of) as found:
        rows = {name: found.visit(name) for name in variants}
        assert (None, ("right", "wrong later")) == (found.compare("right"), found.agreement().right)
        assert found.judged("wrong").status == "correctness"
    assert ["ok", "correctness", "constraint", "ok"] == [row.status for row in rows.values()]
    assert {1024} == {row.parameters["n"] for row in rows.values()}
    assert "n=256 breaks the kernel's assumption" in rows["wide"].message
    assert ({256}, {256, 1024}) == (set(asked), set(given))


def test_a_reference_kernel_gets_the_statistics_of_the_data():
    """The number of terms in each row depends on data, also in the unit that the reference returns."""
    plain = lp.make_kernel(
        ["{[i]: 0 <= i < n}", "{[j]: 0 <= j < length}"],
        ["for i", "<> length = lengths[i]", "out[i] = sum(j, a[j])", "end"],
        [lp.GlobalArg("lengths", np.int32, shape="n"), lp.GlobalArg("out, a", np.float32, shape="n"), "..."],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2),
    )  # fmt: skip
    tagged = lp.split_iname(plain, "i", 64, outer_tag="g.0", inner_tag="l.0")
    lengths = {"arguments": lambda n: {"lengths": np.arange(n, dtype=np.int32) % 5}}
    with trials({"tagged": tagged}, reference=lambda **passed: plain, **lengths) as found:
        assert "ok" == found.visit("tagged").status
        assert ("tagged",) == found.agreement().right
