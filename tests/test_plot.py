"""``pm.plot``: the names of the pictures."""

from __future__ import annotations

import pytest

import perfmodel as pm
from perfmodel.report.plots import plot_terms


def test_every_picture_has_a_name():
    assert ["families", "predicted_vs_measured", "roofline", "sizes", "terms"] == dir(pm.plot)
    assert plot_terms is pm.plot.terms
    with pytest.raises(AttributeError, match="has no attribute 'pie'"):
        _ = pm.plot.pie
