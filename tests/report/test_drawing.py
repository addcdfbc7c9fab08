"""Figures, their files, and text on colours."""

import numpy as np
from matplotlib import colormaps, pyplot as plt
from matplotlib.colors import to_rgb

from perfmodel.report.drawing import ERRORS_MAP, FILLS, axes_or_new, empty_figure, ink, legend_beside, write_figure


def test_axes_that_are_given_are_taken_and_others_belong_to_pyplot():
    """What pyplot knows, a notebook shows."""
    given = empty_figure(4.0, 3.0).add_subplot()
    assert given is axes_or_new(given, 9.0, 9.0)
    before = plt.get_fignums()
    new = axes_or_new(None, 5.0, 2.0)
    assert [5.0, 2.0] == new.figure.get_size_inches().tolist()
    assert [new.figure.number] == [number for number in plt.get_fignums() if number not in before]
    plt.close(new.figure)
    assert before == plt.get_fignums()


def test_a_legend_is_next_to_axes_and_does_not_cover_others():
    figure, (left, right) = plt.subplots(1, 2)
    for axes in (left, right):
        axes.plot((0, 1), (0, 1), label="a rather long label of a line")
        legend_beside(axes, "title")
    figure.canvas.draw()
    legend = left.get_legend().get_window_extent()
    assert left.get_window_extent().x1 <= legend.x0 < legend.x1 <= right.get_tightbbox().x0
    assert right.get_legend().get_window_extent().x1 <= figure.bbox.x1
    plt.close(figure)


def test_the_name_gives_the_format(tmp_path):
    figure = empty_figure(1.0, 1.0)
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("picture", b"\x89PNG")):
        write_figure(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


NO_FORMULA = r"price$\nothing{$"


def test_a_name_between_dollars_is_drawn_as_it_is(tmp_path):
    """Matplotlib takes it for a formula, and raises where it is none; powers of ten at ticks are formulas."""
    figure = empty_figure(4.0, 3.0)
    axes = figure.add_subplot()
    axes.barh([NO_FORMULA, "other"], [1.0, 1e6], label=NO_FORMULA)
    axes.text(1.0, 0.0, NO_FORMULA)
    axes.set(xscale="log", title=NO_FORMULA, xlabel=NO_FORMULA)
    axes.legend(title=NO_FORMULA)
    figure.suptitle(NO_FORMULA)
    for name in ("drawn.png", "drawn.svg"):
        write_figure(figure, tmp_path / name)
    assert (tmp_path / "drawn.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "drawn.svg").read_text()
    assert "<!-- $\\mathdefault{10^{6}}$ -->" in svg
    assert 7 == svg.count(f"<!-- {NO_FORMULA} -->")


def luminance(colour):
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_ink_is_the_better_of_black_and_white():
    """WCAG 2: contrast is (L1 + 0.05)/(L2 + 0.05) of the relative luminances; 4.5 is legible."""
    for colour in (*FILLS, *(colour[:3] for colour in colormaps[ERRORS_MAP](np.linspace(0, 1, 20)))):
        found = luminance(colour)
        black, white = (found + 0.05) / 0.05, 1.05 / (found + 0.05)
        assert max(black, white) == (black if ink(*to_rgb(colour)) == "black" else white)
        assert max(black, white) >= 4.5
