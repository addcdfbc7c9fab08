"""The scoreboard's picture: a row for each model, an earlier scoring beside the last, the goal as a line."""

from __future__ import annotations

import math

from scripts.lab.scoreboard.picture import MISSED, PLAIN, REACHED, picture_scoreboard, scoreboard_figure
from tests.lab.scoreboard.scored import scoring

OLD = scoring(model="mine", error=0.5, regret=1.6, date="2026-01-01")
NEW = scoring(model="mine", error=0.11, regret=1.2)
OTHER = scoring(model="other", error=0.2)
GROUPS = scoring(model="mine", protocol="groups", kernels="measured", error=0.3, regret=math.nan)


def marks(axes):
    """Return the place, the values, the marker and the colour of all that is drawn with markers."""
    return [
        (line.get_ydata()[0], [round(x, 6) for x in line.get_xdata()], line.get_marker(), line.get_color())
        for line in axes.lines
        if line.get_marker() not in ("None", "") and len(line.get_xdata())
    ]


def test_the_last_scoring_is_strong_and_earlier_ones_are_hollow():
    left, error, regret = scoreboard_figure([OLD, OTHER, GROUPS, NEW]).axes
    assert ["mine", "other"] == [label.get_text() for label in left.get_yticklabels()]
    earlier, last, other = marks(error)
    assert (0, [0.5], "o") == earlier[:3]
    assert (0, [0.11], "o", REACHED) == last
    assert (1, [0.2], "D", MISSED) == other
    assert [[1.6], [1.2], [1.02]] == [values for _, values, _, _ in marks(regret)]
    assert [(0, [0.3], "s", PLAIN)] == marks(left)


def test_a_picture_is_written(tmp_path):
    picture_scoreboard([OLD, NEW, scoring(problem="no fit", model="broken")], tmp_path / "board.png")
    assert (tmp_path / "board.png").read_bytes().startswith(b"\x89PNG")
    picture_scoreboard([], tmp_path / "empty.png")
    assert (tmp_path / "empty.png").is_file()
