"""What tests of pictures share: axes without a window, and whether everything written can be read."""

import itertools

from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from perfmodel.report.drawing import empty_figure

SMALLEST = 6.5
"""Smallest letters that are legible in print [pt]."""


def new_axes() -> Axes:
    """Axes of a figure that pyplot does not know."""
    return empty_figure(8.0, 5.0).add_subplot()


def overlap(box, other) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]


def box(text) -> tuple[float, float, float, float]:
    """The box of a text but for a pixel of air around it."""
    found = text.get_window_extent()
    return found.x0 + 1, found.y0 + 1, found.x1 - 1, found.y1 - 1


def written(drawn: Axes) -> list:
    """Every text that is seen."""
    legend = drawn.get_legend()
    texts = [*drawn.texts, drawn.title, drawn.xaxis.label, drawn.yaxis.label]
    (left, right), (low, high) = sorted(drawn.get_xlim()), sorted(drawn.get_ylim())
    for axis, ends in ((drawn.xaxis, (left, right)), (drawn.yaxis, (low, high))):
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        texts += [tick.label1 for tick in ticks if ends[0] <= tick.get_loc() <= ends[1]]
    texts += [] if legend is None else [*legend.get_texts(), legend.get_title()]
    return [text for text in texts if text.get_text() and text.get_visible()]


def check_legible(drawn: Axes) -> None:
    """Every text is large enough, within the figure, and on no other text; the legend lies beside the axes."""
    figure = drawn.figure
    figure.canvas.draw()
    whole = figure.bbox
    texts = written(drawn)
    for text in texts:
        left, low, right, high = box(text)
        assert text.get_fontsize() >= SMALLEST, text
        assert left >= -1, text
        assert low >= -1, text
        assert right <= whole.width + 1, text
        assert high <= whole.height + 1, text
    # Slanted labels of ticks have boxes that overlap, though their letters do not.
    level = [text for text in texts if text.get_rotation() % 90 == 0]
    for one, other in itertools.combinations(level, 2):
        assert not overlap(box(one), box(other)), (one, other)
    plt.close(figure)
    if drawn.get_legend() is not None:
        assert drawn.get_legend().get_window_extent().x0 >= drawn.get_window_extent().x1


def labels(drawn: Axes) -> list[str]:
    """The texts of the legend."""
    return [text.get_text() for text in drawn.get_legend().get_texts()]
