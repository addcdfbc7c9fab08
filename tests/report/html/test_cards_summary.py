"""The figures of the first tab."""

from __future__ import annotations

import math
from dataclasses import replace

from perfmodel.analyses.descriptions import FactLine
from perfmodel.analyses.report_models import FamilyLine
from perfmodel.compare import Comparison, Comparisons, Figures
from perfmodel.report.html.cards import advisers_text, fact_stats, figure_stats, roofs_text, times_text
from tests.report.html.reported import reported


def test_figures_that_are_known():
    figures = Figures(20, 2, error=0.12, p90=0.4, choices=5, regret=1.02, inside=0.88, width=4.0)
    found = [value for value, _ in figure_stats(replace(reported(), figures=figures))]
    assert ["12.0 %", "18 of 20", "40.0 %", "2.0 %", "88.0 %", "4 times"] == found
    bare = Figures(3, 3, error=math.nan)
    assert ["-", "0 of 3"] == [value for value, _ in figure_stats(replace(reported(), figures=bare))]


def test_facts_that_are_known():
    data = replace(reported(), facts=(FactLine("compute_units", "15", "", ""), FactLine("other", "1", "", "")))
    assert [("15", "compute units")] == fact_stats(data)


def test_times_roofs_and_models_in_words():
    cases = Comparisons(Comparison("k", {"n": 1}, time, 1.0) for time in (2e-3, 3.0))
    assert "2 ms to 3 s" == times_text(replace(reported(), comparisons=cases))
    assert "float32 peak 2 Gop/s" == roofs_text(replace(reported(), roofs={"peak_flops_float32": 2e9}))
    families = (FamilyLine("work_depth", figures=Figures(9, 0, error=0.5)),)
    expected = "Typical errors of these models on this device: work depth 50.0 %."
    assert expected == advisers_text(replace(reported(), families=families))
    assert "" == advisers_text(replace(reported(), families=()))
