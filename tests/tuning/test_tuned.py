"""What tuning found, as text and as tables."""

from dataclasses import replace

import pytest

from perfmodel.analyses.roofline import KernelPoint
from perfmodel.tuning.agreement import Agreement
from perfmodel.tuning.tuned import COLUMNS, Tuned, TunedVariant

#: 4 million operations and 8 MB in 2 ms, of which the memory needs 1 ms.
REACHED = KernelPoint("fast", "", "", 4e6, 8e6, 2e-3, 1e-3, "memory")
RAN = (
    TunedVariant("slow", 2e-3, 2e-3, "ok", 4e-3, cost_s=2.0),
    TunedVariant("broken", 1e-3, 1e-3, "correctness", message="its output differs", cost_s=1.0),
    TunedVariant("fast", 1e-3, 2e-3, "ok", 2e-3, cost_s=1.5, reached=REACHED),
    TunedVariant("near", 1e-3, 2e-3, "ok", 2.02e-3, cost_s=1.5),
)
SKIPPED = (TunedVariant("a", 5e-3, 9e-3, cost_s=2.5), TunedVariant("b", 6e-3, 1e-2, cost_s=3.0))


def tuned(tried=RAN, skipped=SKIPPED, within=0.02) -> Tuned:
    return Tuned("a device", {"n": 64}, tried, skipped, 0.93, within, "the best is known", 3.0)


def test_the_best_and_its_ties():
    assert tuned().best is RAN[2]
    assert [one.name for one in tuned().tied] == ["fast", "near"]
    assert [one.name for one in tuned(within=0.005).tied] == ["fast"]
    assert (tuned().spent_s, tuned().saved_s) == (6.0, 5.5)


def test_the_summary():
    assert tuned().summary == (
        "best: fast, 2 ms (2 GFLOP/s, 4 GB/s: 50.0 % of what the device allows, by its memory bandwidth)",
        "tied, with times that differ by at most 2.0 %: fast, near",
        "4 of 6 variants were tried in 6 s, after 3 s of counting; the best is known",
        "2 were skipped, which would have taken about 5.5 s; "
        "the model gives a probability of 7.0 % that one of them is more than 2.0 % faster",
    )
    assert str(tuned()).splitlines()[1].split() == ["fast", "2", "ms", "1.00", "2", "4", "50.0", "%", "1", "ms", "tie"]
    assert str(tuned()).endswith("\n".join(tuned().summary))
    assert repr(tuned()) == "<Tuned: fast takes 2 ms, 4 of 6 variants tried, the best is known>"


def test_the_summary_names_the_load():
    loaded = tuned((*RAN[:2], replace(RAN[2], flags=("load",)), replace(RAN[3], flags=("load", "spread"))))
    assert "2 times were measured while other programs ran: run it again on a quiet machine" in loaded.summary


def test_tables_hold_every_variant():
    assert tuned().table[1:] == [
        ("fast", "2 ms", "1.00", "2", "4", "50.0 %", "1 ms", "tie"),
        ("near", "2.02 ms", "1.01", "-", "-", "-", "1 ms", "tie"), ("slow", "4 ms", "2.00", "-", "-", "-", "2 ms", ""),
        ("broken", "failed", "-", "-", "-", "-", "1 ms", ""),
    ]  # fmt: skip
    frame = tuned().to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert list(frame["variant"]) == ["slow", "broken", "fast", "near", "a", "b"]
    assert list(frame["status"]) == ["ok", "correctness", "ok", "ok", "skipped", "skipped"]
    assert frame[frame["best"]]["seconds"].tolist() == [2e-3]
    assert "<td>2.02 ms</td>" in tuned()._repr_html_()


def test_variants_that_cannot_be_built_are_left_out():
    failed = tuple(TunedVariant(name, status="constraint", message="cannot be built") for name in "xy")
    found = tuned((*failed, *RAN))
    assert (failed, tuned().table) == (found.left_out, found.table)
    assert tuned().summary == found.summary
    assert repr(tuned()) == repr(found)


@pytest.mark.parametrize("tried", [(), (RAN[1],)])
def test_no_variant_ran_well(tried):
    found = tuned(tried, ())
    assert (found.best, found.tied) == (None, ())
    text = "broken: correctness, its output differs" if tried else "there are none"
    assert found.summary == (f"none of the {len(tried)} variants tried runs; the first error: {text}",)
    assert "nothing ran" in repr(found)


def test_a_variant_that_most_disagree_with_is_not_the_best():
    doubtful = Agreement((("fast",), ("slow",)), {"slow": "'out' by up to 1"})
    found = Tuned("a device", {"n": 64}, (RAN[0], RAN[2]), (), 0.9, 0.02, "all variants were tried", 1.0, doubtful)
    assert (None, ()) == (found.best, found.tied)
    assert ("fast", "2 ms", "-", "2", "4", "50.0 %", "1 ms", "in doubt") == found.table[1]
    outvoted = Agreement((("slow", "near", "x"), ("fast",)), {"fast": "'out' by up to 1"})
    found = Tuned("a device", {"n": 64}, (RAN[0], RAN[2]), (), 0.9, 0.02, "all variants were tried", 1.0, outvoted)
    assert found.best is RAN[0]
    assert "fast: its output differs from that of 'slow': 'out' by up to 1" == found.summary[-1]
