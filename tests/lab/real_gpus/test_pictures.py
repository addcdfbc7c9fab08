"""Pictures of recorded rows: what stands on their axes."""

from __future__ import annotations

import numpy as np

from perfmodel.compare import Contenders
from scripts.lab.real_gpus.pictures import choices_figure
from scripts.lab.real_gpus.study import Recorded
from tests.lab.real_gpus.test_study import EXACT, ROWS, TRAITS, contender


def test_choices_are_over_the_least_of_their_space():
    two = Contenders([contender("mwp_cwp_l2", EXACT), contender("multithreaded", ROWS)])
    figure = choices_figure(Recorded(two, TRAITS))
    flat, _, exact, _ = figure.axes
    assert np.allclose([1, 2, 3, 4, 5, 6], exact.lines[1].get_xdata())
    assert np.allclose([1, 2, 3, 4, 5, 6], exact.lines[1].get_ydata())
    assert np.allclose([1] * 6, flat.lines[1].get_ydata())
