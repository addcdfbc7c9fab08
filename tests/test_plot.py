"""``pm.plot``: what it holds, and the earlier names of its functions."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel import plot
from perfmodel.report.plots import plot_terms


def test_every_picture_has_a_name():
    assert plot is pm.plot
    assert ["families", "predicted_vs_measured", "roofline", "sizes", "terms"] == dir(pm.plot)
    assert plot_terms is pm.plot.terms
    assert all(callable(getattr(pm.plot, name)) for name in dir(pm.plot))


def test_earlier_names_still_work():
    for name in dir(pm.plot):
        assert getattr(pm.plot, name) is getattr(pm, f"plot_{name}")
        assert f"plot_{name}" not in dir(pm)


@pytest.mark.parametrize("module", [pm, pm.plot])
def test_other_names_are_refused(module):
    with pytest.raises(AttributeError, match="has no attribute 'pie'"):
        _ = module.pie
    with pytest.raises(AttributeError, match="has no attribute"):
        _ = module.plot_pie
