"""The scoreboard as a page: the best models of each device, and how many goals they reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

from perfmodel.display import percent
from scripts.lab.markdown import below_marker, markdown_table
from scripts.lab.scoreboard.goals import MEASURED as MEASURED_GOALS, SIMULATED as SIMULATED_GOALS, hold
from scripts.lab.scoreboard.ideas import BLACK_BOX
from scripts.lab.scoreboard.log import latest
from scripts.lab.scoreboard.scored_device import MEASURED, OTHERS, TESTS
from scripts.lab.scoreboard.scoring import Scoring

BEGIN = "<!-- what follows is drawn by scripts/scoreboard -->"
HEADER = ("device", "model", "error, groups", "factor - 1, groups", "error, B", "regret, B", "tau, B", "goals")
BEST = 4
"""Number of models in the table of each device."""


def scoreboard_page(page: str, rows: Iterable[Scoring], log: Iterable[tuple[str, Scoring]]) -> str:
    """Put a table of the best models of each device instead of the text of `page` after its marker."""
    known = [one for one in latest(rows) if not one.problem]
    known.sort(key=lambda one: (one.simulated, one.device))
    cells = [cell for _, own in groupby(known, key=lambda one: one.device) for cell in _device(list(own))]
    table = markdown_table([HEADER, ("---", "---", *["---:"] * 6), *cells])
    times = len({(one.date, one.commit) for _, one in log})
    scored = f"were scored {times} times (`docs/data/scorings.csv`)" if times else "have not been scored yet"
    paper = f"The 2016 paper's test kernels {scored}.\n"
    return below_marker(page, BEGIN, [table, paper])


def floor_of(rows: Iterable[Scoring], protocol: str, kernels: str = TESTS) -> float:
    """Return the least error that oracle factors leave of a model with weights on a device; NaN if none is known."""
    found = (one.oracle for one in rows if (one.protocol, one.kernels) == (protocol, kernels) and not _is_box(one))
    return min((value for value in found if not math.isnan(value)), default=math.nan)


def _is_box(one: Scoring) -> bool:
    return one.model.startswith(BLACK_BOX)


def _device(rows: Sequence[Scoring]) -> Iterable[tuple[str, ...]]:
    groups = {one.model: one for one in rows if one.protocol == "groups" and one.kernels in (MEASURED, OTHERS)}
    tests = {one.model: one for one in rows if (one.protocol, one.kernels) == ("B", TESTS)}
    best = sorted(groups.values(), key=lambda one: (math.isnan(one.factor), one.factor, one.model))[:BEST]
    for one in best:
        judged = tests.get(one.model)
        name = f"{one.device}{' (simulated)' * one.simulated}"
        errors = (percent(one.error), percent(one.factor))
        if judged is None:
            yield name, f"`{one.model}`", *errors, "-", f"{one.regret:.3g}", f"{one.tau:.3g}", "-"
            continue
        goals = SIMULATED_GOALS if one.simulated else MEASURED_GOALS
        held = hold(judged, one, floor_of(rows, "B"), goals)
        met = f"{sum(each.met for each in held)} of {len(held)}"
        yield name, f"`{one.model}`", *errors, percent(judged.error), f"{judged.regret:.3g}", f"{judged.tau:.3g}", met
