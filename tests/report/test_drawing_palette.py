"""Colours that differ in grey too, and texts that can be read on them."""

from __future__ import annotations

import itertools

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb

from perfmodel.report.drawing import COLOURS, ERRORS_MAP, FILLS, MARKERS, ink, style

#: Vischeck's and Machado's matrices for full deuteranopia and protanopia, applied to linear RGB.
BLINDNESS = {
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
}  # fmt: skip


def linear(colour):
    parts = np.array(to_rgb(colour))
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(colour):
    return float(linear(colour) @ (0.2126, 0.7152, 0.0722))


def lab(rgb):
    """CIE L*a*b* of linear sRGB, for a white of D65."""
    matrix = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (matrix @ np.clip(rgb, 0, 1)) / (0.9505, 1.0, 1.089)
    f = [t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29 for t in (x, y, z)]
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_every_pair_of_colours_differs_with_any_colour_vision():
    """A difference of 10 in CIE L*a*b* is seen at a glance."""
    for matrix in (np.eye(3), *BLINDNESS.values()):
        for colours in (COLOURS, FILLS):
            for one, other in itertools.combinations(colours, 2):
                assert np.linalg.norm(lab(matrix @ linear(one)) - lab(matrix @ linear(other))) > 10, (one, other)


def test_neighbouring_areas_differ_in_grey():
    for one, other in itertools.pairwise(FILLS):
        assert abs(lab(linear(one))[0] - lab(linear(other))[0]) > 5, (one, other)


def test_the_map_of_errors_darkens_evenly():
    light = [lab(linear(colour[:3]))[0] for colour in colormaps[ERRORS_MAP](np.linspace(0, 1, 20))]
    assert all(one > other for one, other in itertools.pairwise(light))
    assert light[0] - light[-1] > 60


def test_styles_differ_in_colour_or_marker():
    assert len({style(place) for place in range(len(COLOURS) * len(MARKERS))}) == len(COLOURS) * len(MARKERS)


def test_ink_is_the_better_of_black_and_white():
    """WCAG 2: contrast is (L1 + 0.05)/(L2 + 0.05) of the relative luminances; 4.5 is legible."""
    for colour in (*FILLS, *(colour[:3] for colour in colormaps[ERRORS_MAP](np.linspace(0, 1, 20)))):
        found = luminance(colour)
        black, white = (found + 0.05) / 0.05, 1.05 / (found + 0.05)
        assert max(black, white) == (black if ink(*to_rgb(colour)) == "black" else white)
        assert max(black, white) >= 4.5
