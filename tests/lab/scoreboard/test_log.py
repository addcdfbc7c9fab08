"""The scoreboard's CSV: it comes back as it was, and a damaged line is named."""

from __future__ import annotations

import math

from scripts.lab.scoreboard.log import read_scoreboard, scoreboard_csv
from tests.lab.scoreboard.scored import scoring


def test_rows_come_back_with_six_digits(tmp_path):
    rows = (
        scoring(simulated=True, error=0.123456789, factor=math.inf, problem='no, it says "no"'),
        scoring(model="mine", regret=math.nan),
    )
    path = tmp_path / "scoreboard.csv"
    path.write_text(scoreboard_csv(rows))
    first, second = read_scoreboard(path)
    assert (0.123457, math.inf, True, 'no, it says "no"') == (first.error, first.factor, first.simulated, first.problem)
    assert math.isnan(second.regret)
    assert ("mine", 20, 0.9, False) == (second.model, second.cases, second.tau, second.simulated)
