"""The picture of hit rates: histograms, means and what answers each array's requests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from perfmodel.errors import PerfModelError
from scripts.lab.kim.memory_hierarchy import HitRates
from scripts.lab.kim.pictures import draw_memory_hierarchy, hit_rates_figure

RATES = HitRates(
    l1=(0.5, 0.6, 0.7), l2=(0.2, 0.2, 0.2), by_array=(("x", 0.75, 0.125), ("y", 0.0, 1.0)), requests=640, groups=4
)


def test_both_histograms_hold_all_orders_and_have_axes_of_one_width() -> None:
    first, second, _ = hit_rates_figure(RATES, "gather").axes
    for axes, name in ((first, "first-level cache"), (second, "second-level cache")):
        assert (name, "hit rate", "orders") == (axes.get_title(), axes.get_xlabel(), axes.get_ylabel())
        assert 3 == sum(bar.get_height() for bar in axes.containers[0])
    assert [np.ptp(first.get_xlim())] == pytest.approx([np.ptp(second.get_xlim())])


def test_a_line_marks_the_mean_and_a_band_its_interval() -> None:
    axes = hit_rates_figure(RATES, "gather").axes[0]
    assert ["90 % interval of the mean", "mean 60 %"] == [text.get_text() for text in axes.get_legend().get_texts()]
    assert [0.6, 0.6] == pytest.approx(axes.lines[0].get_xdata())


def test_bars_add_up_to_all_requests_of_an_array() -> None:
    axes = hit_rates_figure(RATES, "gather").axes[2]
    assert "requests answered by" == axes.get_xlabel()
    assert ["x", "y"] == [label.get_text() for label in axes.get_yticklabels()]
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert [[0.75, 0], [0.125, 0], [0.125, 1]] == [pytest.approx(row) for row in widths]
    names = ["first-level cache", "second-level cache", "memory"]
    assert names == [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_title_gives_the_sample() -> None:
    assert "gather\n3 orders of 640 requests of 4 work-groups" == hit_rates_figure(RATES, "gather").get_suptitle()


def test_the_name_gives_the_format(tmp_path: Path) -> None:
    draw_memory_hierarchy(RATES, tmp_path / "rates.png", "gather")
    assert b"\x89PNG" == (tmp_path / "rates.png").read_bytes()[:4]
    draw_memory_hierarchy(RATES, tmp_path / "rates.svg", "gather")
    assert (tmp_path / "rates.svg").read_bytes().startswith(b"<?xml")
    with pytest.raises(PerfModelError, match="png or"):
        draw_memory_hierarchy(RATES, tmp_path / "rates.txt", "gather")
