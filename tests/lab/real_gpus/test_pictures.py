"""Pictures of recorded rows: what stands on their axes."""

from __future__ import annotations

import numpy as np

from perfmodel.compare import Contenders
from scripts.lab.real_gpus.pictures import choices_figure, families_figure, misses_figure, transforms_figure
from scripts.lab.real_gpus.study import Recorded
from tests.lab.real_gpus.test_study import EXACT, ROWS, TRAITS, contender, recorded


def test_families_have_a_row_each_and_random_choice_a_line():
    left, right = families_figure(recorded()).axes
    assert ["flat", "exact"] == [label.get_text() for label in left.get_yticklabels()]
    lines = [line.get_xdata() for line in left.lines if line.get_linestyle() == "--"]
    assert np.allclose([recorded().random.random_regret] * 2, lines[0])
    assert (-1.05, 1.05) == right.get_xlim()


def test_maps_of_transforms_and_of_traits():
    left, right = transforms_figure(recorded()).axes
    assert ["exact", "flat", "random choice"] == [label.get_text() for label in left.get_yticklabels()]
    assert (3, 2) == left.images[0].get_array().shape == right.images[0].get_array().shape
    (axes,) = misses_figure(recorded()).axes
    assert ["size", "rest", "same"] == [label.get_text() for label in axes.get_xticklabels()]


def test_choices_are_over_the_least_of_their_space():
    two = Contenders([contender("mwp_cwp_l2", EXACT), contender("multithreaded", ROWS)])
    figure = choices_figure(Recorded(two, TRAITS))
    flat, _, exact, _ = figure.axes
    assert np.allclose([1, 2, 3, 4, 5, 6], exact.lines[1].get_xdata())
    assert np.allclose([1, 2, 3, 4, 5, 6], exact.lines[1].get_ydata())
    assert np.allclose([1] * 6, flat.lines[1].get_ydata())
