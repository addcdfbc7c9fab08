"""Families side by side and ranked variants, as plotly draws them."""

from __future__ import annotations

import math

from perfmodel.analyses.report_models import FamilyLine
from perfmodel.compare import Figures
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.html.figures import families_plot, ranking_plot


def line(name: str, error: float) -> FamilyLine:
    return FamilyLine(name, figures=Figures(9, 0, error=error, regret=1.0))


def test_the_best_family_is_at_the_top_and_the_reports_own_stands_out():
    families = (line("good_one", 0.1), line("own", 0.2), line("bad", 0.5), FamilyLine("broken", problem="no"))
    plot = families_plot(families, "own")
    (bars,) = plot.specification["data"]
    assert [50.0, 20.0, 10.0] == bars["x"]
    assert ["bad", "own", "good one"] == plot.specification["layout"]["yaxis"]["ticktext"]
    assert ["var(--blue)", "var(--orange)", "var(--blue)"] == bars["marker"]["color"]
    assert families_plot(families[:1], "own") is None


def test_variants_stand_with_their_intervals():
    ranking = Ranking((
        RankedVariant("a", 1.0, (0.5, 3.0), tied=True, fastest=0.6),
        RankedVariant("b", 1.5, None, tied=True, fastest=0.3),
        RankedVariant("c", 4.0, (2.0, math.inf), tied=False, fastest=0.1),
    ))  # fmt: skip
    plot = ranking_plot(ranking, 0.9)
    tied, other = plot.specification["data"]
    assert ["c", "b", "a"] == plot.specification["layout"]["yaxis"]["ticktext"]
    assert ([1.5, 1.0], [1, 2]) == (tied["x"], tied["y"])
    assert ([0.0, 2.0], [0.0, 0.5]) == (tied["error_x"]["array"], tied["error_x"]["arrayminus"])
    assert ([4.0], [0.0]) == (other["x"], other["error_x"]["array"])  # no bound is drawn as none
    assert "the fastest with 60.0 %" in tied["customdata"][1][0]
    assert ranking_plot(Ranking((RankedVariant("a", -1.0),)), 0.9) is None
