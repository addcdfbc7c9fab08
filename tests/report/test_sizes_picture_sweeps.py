"""The picture of time against size."""

from __future__ import annotations

import numpy as np

from perfmodel.predicting.crossovers import Lead, leads_at
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.sizes_picture import Panel, combinations, panels_of, picture_sweep, sweep_figure, varying
from tests.report.drawn import check_legible


def point(n: int, **seconds: float) -> Ranking:
    variants = [RankedVariant(name, value, (value / 2, value * 2)) for name, value in seconds.items()]
    return Ranking(sorted(variants, key=lambda one: one.seconds), sizes={"n": n, "m": 1})


POINTS = (point(16, a=1e-6, b=4e-6), point(64, a=4e-6, b=4.5e-6), point(256, a=2e-5, b=5e-6))
LEADS = (Lead("a", 16, 70), Lead("b", 71, 256))


def test_a_line_for_each_variant_and_a_mark_for_each_crossover():
    (axes,) = sweep_figure([Panel("n", POINTS, LEADS)], "bottleneck on it").axes
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    np.testing.assert_allclose(lines["a"], [(16, 1e-6), (64, 4e-6), (256, 2e-5)])
    np.testing.assert_allclose(lines["b"], [(16, 4e-6), (64, 4.5e-6), (256, 5e-6)])
    (mark,) = (line for line in axes.get_lines() if line.get_label() not in ("a", "b"))
    assert [71, 71] == list(mark.get_xdata())
    assert mark.get_color() == next(line.get_color() for line in axes.get_lines() if line.get_label() == "b")
    assert ["from 71: b"] == [text.get_text() for text in axes.texts]
    assert ("log", "log", "size n") == (axes.get_xscale(), axes.get_yscale(), axes.get_xlabel())
    assert 2 == len(axes.collections)  # an interval for each


def test_a_variant_keeps_its_colour_over_panels():
    panels = [Panel("n", POINTS, title="m=1"), Panel("n", (point(16, b=1e-6),), title="m=2")]
    first, second = sweep_figure(panels, "").axes
    colours = [{line.get_label(): line.get_color() for line in axes.get_lines()} for axes in (first, second)]
    assert colours[0]["b"] == colours[1]["b"]
    assert ["m=1", "m=2"] == [axes.get_title() for axes in (first, second)]


def test_what_is_not_above_zero_is_not_drawn():
    (axes,) = sweep_figure([Panel("n", (point(16, a=-1e-6, b=1e-6),))], "").axes
    assert ["b"] == [line.get_label() for line in axes.get_lines()]


def test_it_is_written(tmp_path):
    picture_sweep([Panel("n", POINTS, LEADS)], tmp_path / "p.png", "title")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_what_varies():
    assert ("m", "n") == varying([{"n": 1, "m": 1, "k": 3}, {"n": 1, "m": 2, "k": 3}, {"n": 2, "m": 3, "k": 3}])
    assert () == varying([{"n": 1}])


def test_a_panel_for_each_combination_of_the_other_sizes():
    grid = [{"n": n, "m": m} for n in (1, 2, 3) for m in (5, 4)]
    assert [[1, 3, 5], [0, 2, 4]] == combinations(grid)
    assert [[0, 1]] == combinations([{"n": 1, "m": 1}, {"n": 2, "m": 2}])  # in pairs
    rankings = [Ranking([RankedVariant("a", 1.0)], sizes=sizes) for sizes in reversed(grid)]
    first, second = panels_of(rankings, lambda here, across: (Lead(across, len(here), 0),))
    assert ("n", "m=4", "m=5") == (first.name, first.title, second.title)
    assert [1, 2, 3] == [ranking.sizes["n"] for ranking in first.points]
    assert (Lead("n", 3, 0),) == first.leads
    (pairs,) = panels_of(POINTS, leads_at)
    assert ((Lead("a", 16, 64), Lead("b", 256, 256)), "m=1") == (pairs.leads, pairs.title)


def test_variants_that_alternate_do_not_cover_the_picture_with_lines():
    """Of more changes than a picture can hold it says the number; words beside near lines are left out."""
    rankings = (point(16, a=1e-6, b=1e-6), point(4096, a=1e-4, b=1e-4))

    def drawn(*lows: int):
        leads = tuple(Lead("ab"[place % 2], low, low) for place, low in enumerate((16, *lows)))
        (axes,) = sweep_figure([Panel("n", rankings, leads)], "").axes
        vertical = [line for line in axes.lines if len({*line.get_xdata()}) == 1]
        check_legible(axes)
        return len(vertical), [text.get_text() for text in axes.texts], axes.get_title()

    lines, _, title = drawn(*range(32, 4000, 100))
    assert (0, "the fastest variant changes at 40 sizes, as those that tie do") == (lines, title)
    lines, texts, _ = drawn(100, 101, 2000)
    assert (3, ["from 100: b", "from 2000: b"]) == (lines, texts)
