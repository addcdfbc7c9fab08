"""Coverage and width of intervals from scores by hand, and the committed table."""

import math
import shutil

import pytest

from perfmodel.fitting.conformal import Conformal, LocalScale
from scripts.lab.intervals import coverage, draw_intervals, kernel_groups
from tests.machine import ROOT

LEVEL = 0.6  # two other groups give bounds up to 2/3


def test_each_group_is_judged_by_the_scores_of_the_others():
    """Both rows of c have half of a group's weight. So q is 0.3 for a and for b, and 0.2 for c."""
    scores = Conformal(scores=(0.1, 0.2, 0.3, 0.4), groups=("a", "b", "c", "c"))
    found = coverage(scores, LEVEL)
    assert pytest.approx((200 / 3, 50.0)) == (found.groups, found.rows)  # a and b are inside
    assert pytest.approx((math.exp(0.6) + math.exp(0.4)) / 2) == found.width


def test_scales_widen_intervals_and_samples_count_only_for_kernels():
    """The scores are 0.1, 0.2 and 0.2, so q is 0.2 for both groups of kernels. That of b is three times as wide."""
    scale = LocalScale(constant=0, lack=0, private=0, weights={})
    scores = Conformal(scores=(0.1, 0.6, 0.2), groups=("a", "b", "samples 0"), scales=(1.0, 3.0, 1.0), scale=scale)
    assert ["a", "b"] == kernel_groups(scores)
    found = coverage(scores, LEVEL)
    assert (100.0, 100.0) == (found.groups, found.rows)
    assert pytest.approx((math.exp(0.4) + math.exp(1.2)) / 2) == found.width


@pytest.mark.nightly
def test_the_committed_table_is_what_the_committed_weights_give(tmp_path):
    docs = ROOT / "docs"
    table, page = tmp_path / "intervals.csv", tmp_path / "intervals.md"
    shutil.copy(docs / "lab" / "intervals.md", page)
    draw_intervals(ROOT / "fitted_weights", table, page)
    advice = "the weights have changed: run scripts/redraw intervals"
    assert (docs / "lab" / "intervals.md").read_text() == page.read_text(), advice
    assert (docs / "data" / "intervals.csv").read_bytes() == table.read_bytes(), advice
