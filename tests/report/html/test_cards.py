"""Cards of kernels and the figures of the first tab, from values by hand."""

import math
from dataclasses import replace

from perfmodel.analyses.descriptions import FactLine
from perfmodel.analyses.report_data import FamilyLine, KernelTerms, Share
from perfmodel.compare import Comparison, Comparisons, Figures
from perfmodel.models import Family, families
from perfmodel.report.html import page
from perfmodel.report.html.page import MOST_CARDS, REST, kernel_card, legend, term_keys, worst_kernels
from tests.report.html.reported import reported

ISSUE, FAR, SMALL = Share("issue_time", 0.9, 0.9), Share("far_time", -0.2, -0.2), Share("near_time", 1e-4, 1e-4)
KERNEL = KernelTerms("k", "form=a", "n=8", 1.0, 0.8, (ISSUE, FAR, SMALL), False, ("free",))
FAMILY = families()["bottleneck"]


def card(one: KernelTerms):
    return kernel_card(FAMILY, one, None, term_keys(FAMILY, [one]))


def test_terms_have_words_and_bars():
    found = card(KERNEL)
    assert ("k", "form=a, n=8") == (found.title, found.detail)
    assert "predicted 1 s, measured 800 ms, error 25.0 %" == found.times
    assert [("issuing instructions", "90.0 %", "900 ms", False), (
        "cache lines from the second-level cache on, and from memory", "-20.0 %", "-200 ms", True,
    )] == [(bar.label, bar.share, bar.seconds, bar.negative) for bar in found.terms]  # fmt: skip
    assert [90.0, 20.0] == [round(bar.length, 6) for bar in found.terms]
    assert "1 smaller term is left out" in found.terms_note
    assert "do not add up" in found.terms_note
    assert "its largest term is issuing instructions, 90.0 %" in found.bounds[0]
    assert found.advice[0].startswith("Issue fewer instructions")
    assert ("free",) == found.warnings
    # A saving makes another term larger than the whole: 2.0 of a time of 1
    found = card(replace(KERNEL, terms=(Share("issue_time", 2.0, 2.0), Share("far_time", -1.0, -1.0)), adds_up=True))
    assert [100.0, 50.0] == [bar.length for bar in found.terms]


def test_a_term_has_one_colour_on_all_cards_and_of_many_kernels_the_worst_have_cards():
    many = [replace(KERNEL, terms=tuple(Share(f"part_{i}", 1.0 / i, 1.0 / i) for i in range(1, 9)))]
    keys = term_keys(Family("mine", "nowhere"), many)
    assert ["part 1", "part 7"] == [keys["part_1"].label, keys["part_7"].label]
    assert 8 == len({key.colour for key in keys.values()})
    assert REST == keys["part_8"].colour
    assert "smaller terms" == legend(keys)[-1].label
    assert 8 == len(legend(keys))
    many = [replace(KERNEL, kernel=str(place), seconds=0.8 + 0.01 * place) for place in range(MOST_CARDS + 5)]
    assert [str(place) for place in range(5, MOST_CARDS + 5)] == [one.kernel for one in worst_kernels(many)]


def test_figures_and_facts_that_are_known():
    figures = Figures(20, 2, error=0.12, p90=0.4, choices=5, regret=1.02, inside=0.88, width=4.0)
    found = [value for value, _ in page.figure_stats(replace(reported(), figures=figures))]
    assert ["12.0 %", "18 of 20", "40.0 %", "2.0 %", "88.0 %", "4 times"] == found
    bare = Figures(3, 3, error=math.nan)
    assert ["-", "0 of 3"] == [value for value, _ in page.figure_stats(replace(reported(), figures=bare))]
    data = replace(reported(), facts=(FactLine("compute_units", "15", "", ""), FactLine("other", "1", "", "")))
    assert [("15", "compute units")] == page.fact_stats(data)


def test_times_roofs_and_models_in_words():
    cases = Comparisons(Comparison("k", {"n": 1}, time, 1.0) for time in (2e-3, 3.0))
    assert "2 ms to 3 s" == page.times_text(replace(reported(), comparisons=cases))
    assert "float32 peak 2 Gop/s" == page.roofs_text(replace(reported(), roofs={"peak_flops_float32": 2e9}))
    families = (FamilyLine("work_depth", figures=Figures(9, 0, error=0.5)),)
    expected = "Typical errors of these models on this device: work depth 50.0 %."
    assert expected == page.advisers_text(replace(reported(), families=families))
    assert "" == page.advisers_text(replace(reported(), families=()))
