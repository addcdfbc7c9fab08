"""The picture of potential benefits: its axes, points and arrows."""

from dataclasses import fields, replace

import pytest

from perfmodel.analyses.benefits import Benefits
from perfmodel.report.bounds import benefits_text
from scripts.lab.kim.benefits_picture import benefits_figure


def benefits(scale):
    """T_comp 9, T_mem 6, T_overlap 4, ideals 3 and 1, then B_itilp 2, B_memlp 1, B_fp 3 and B_serial 1."""
    numbers = dict(zip((field.name for field in fields(Benefits)[:9]), (9, 6, 4, 3, 1, 2, 1, 3, 1), strict=True))
    return Benefits(**{name: scale * n for name, n in numbers.items()})


@pytest.mark.parametrize(("scale", "unit"), [(0.0, "ns"), (1e-9, "ns"), (1e-3, "ms"), (5.0, "s")])
def test_axes_have_the_unit_of_the_largest_time(scale, unit):
    (axes,) = benefits_figure(benefits(scale), "a kernel").axes
    assert (f"cost of memory [{unit}]", f"cost of computing [{unit}]") == (axes.get_xlabel(), axes.get_ylabel())
    assert axes.get_title(loc="left").startswith("a kernel\n")
    assert axes.get_xlim() == axes.get_ylim()


def test_points_and_arrows():
    (axes,) = benefits_figure(benefits(1e-3), "a kernel").axes
    points = [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines if line.get_marker() == "o"]
    assert [(6, 9), (2, 9)] == [pytest.approx(point) for point in points]  # A, and A' less the overlap of 4
    arrows = [(text.xyann, text.xy) for text in axes.texts if getattr(text, "arrow_patch", None) is not None]
    expected = [
        ((6, 9), (2, 9)),  # the overlap
        ((2, 9), (2, 8)), ((2, 8), (2, 6)), ((2, 6), (2, 3)),  # B_serial, B_itilp and B_fp end at T_fp
        ((2, 9), (1, 9)),  # B_memlp ends at T_mem_min
    ]  # fmt: skip
    assert expected == [(pytest.approx(start), pytest.approx(end)) for start, end in arrows]
    expected = [
        "$T_{fp}$ 3 ms", "$T_{mem\\_min}$ 1 ms", "A: 15 ms", "A': 11 ms", "$T_{overlap}$ 4 ms", "$B_{serial}$ 1 ms",
        "$B_{itilp}$ 2 ms", "$B_{fp}$ 3 ms", "$B_{memlp}$ 1 ms",
    ]  # fmt: skip
    assert expected == [text.get_text() for text in axes.get_legend().get_texts()]


def test_an_itilp_of_at_most_one_has_no_meaning():
    assert "ITILP_max" not in benefits_text(benefits(1.0))
    said = benefits_text(replace(benefits(1.0), most_itilp=0.25))
    assert said.endswith("ITILP_max is 0.25: no latency must be hidden, so the first has no meaning.")
