"""The scoreboard as a page: for each device the goals, measurement groups left out, and test kernels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from perfmodel.compare.protocols import PROTOCOLS, RECORDED
from perfmodel.display import percent, seconds_text
from scripts.lab.markdown import below_marker, markdown_table
from scripts.lab.scoreboard.goals import MEASURED as MEASURED_GOALS, SIMULATED as SIMULATED_GOALS, hold
from scripts.lab.scoreboard.ideas import BLACK_BOX
from scripts.lab.scoreboard.log import latest
from scripts.lab.scoreboard.scored_device import ALL, MEASURED, OTHERS, PAPER, TESTS
from scripts.lab.scoreboard.scoring import Scoring

BEGIN = "<!-- what follows is drawn by scripts/scoreboard -->"
GROUPS_HEADER = (
    "model", "error", "factor - 1", "oracle leaves", "coverage", "width", "withheld", "weights", "fit", "predict",
    "scored",
)  # fmt: skip
TESTS_HEADER = (
    "model", "error", "oracle leaves", "factor - 1", "regret", "top-1", "top-1, ties", "tau", "coverage", "width",
    "withheld", "scored",
)  # fmt: skip
GOALS_BY = "B"


def scoreboard_page(page: str, rows: Iterable[Scoring], log: Iterable[tuple[str, Scoring]]) -> str:
    """Put sections for each device in place of what `page` has after its marker; simulated devices come last."""
    last = sorted(latest(rows), key=lambda one: (one.simulated, one.device))
    devices = [list(own) for _, own in groupby(last, key=lambda one: one.device)]
    return below_marker(page, BEGIN, [*map(_device, devices), _paper(tuple(log))])


def floor_of(rows: Iterable[Scoring], protocol: str, kernels: str = TESTS) -> float:
    """Return the least error that oracle factors leave of a model with weights on a device; NaN where none is known."""
    found = (one.oracle for one in rows if (one.protocol, one.kernels) == (protocol, kernels) and not _is_box(one))
    return min((value for value in found if not math.isnan(value)), default=math.nan)


def _is_box(one: Scoring) -> bool:
    return one.model.startswith(BLACK_BOX)


def _device(rows: Sequence[Scoring]) -> str:
    first = rows[0]
    groups = {one.model: one for one in rows if one.kernels == MEASURED}

    def place(one: Scoring) -> tuple[bool, float, str]:
        known = groups.get(one.model, one)
        return math.isnan(known.factor), known.factor, one.model

    ordered = sorted(rows, key=place)
    return "\n\n".join(
        [
            f"## {first.device}{' (simulated)' * first.simulated}",
            *_groups([one for one in ordered if one.kernels == MEASURED]),
            *(
                part
                for protocol in RECORDED
                for part in _tests([one for one in ordered if (one.protocol, one.kernels) == (protocol, OTHERS)])
            ),
            *_goals([one for one in ordered if (one.protocol, one.kernels) == (GOALS_BY, TESTS)], groups),
            *(
                part
                for protocol in dict.fromkeys((GOALS_BY, *PROTOCOLS))
                for part in _tests([one for one in ordered if (one.protocol, one.kernels) == (protocol, TESTS)])
            ),
            *(f"Not fitted: `{one.model}`: {one.problem}" for one in ordered if one.problem),
        ]
    )


def _groups(rows: Sequence[Scoring]) -> Iterator[str]:
    if not rows:
        return
    cases = max(one.cases for one in rows)
    yield f"### Measurement groups left out\n\n{cases} measured cases. Models are chosen by this table."
    yield _table(GROUPS_HEADER, (_groups_cells(one) for one in rows))


def _groups_cells(one: Scoring) -> tuple[str, ...]:
    return (
        f"`{one.model}`", percent(one.error), percent(one.factor), percent(one.oracle), percent(one.inside),
        _short(one.width), str(one.withheld), str(one.weights) if one.weights else "-", seconds_text(one.fit_s),
        seconds_text(one.predict_s), one.date,
    )  # fmt: skip


def _tests(rows: Sequence[Scoring]) -> Iterator[str]:
    if not rows:
        return
    name, cases = rows[0].protocol, max(one.cases for one in rows)
    recorded = rows[0].kernels == OTHERS
    title, which = ("Recorded", "all by others") if recorded else ("Test", "none of the 2016 paper's kernels")
    yield f"### {title} kernels, protocol {name}\n\n{cases} cases, {which}; {PROTOCOLS[name]}."
    yield _table(TESTS_HEADER, (_tests_cells(one) for one in rows))


def _tests_cells(one: Scoring) -> tuple[str, ...]:
    return (
        f"`{one.model}`", percent(one.error), percent(one.oracle), percent(one.factor), _short(one.regret),
        percent(one.top1), percent(one.top1_tied), _short(one.tau), percent(one.inside), _short(one.width),
        str(one.withheld), one.date,
    )  # fmt: skip


def _goals(rows: Sequence[Scoring], groups: Mapping[str, Scoring]) -> Iterator[str]:
    if not rows:
        return
    goals, floor = SIMULATED_GOALS if rows[0].simulated else MEASURED_GOALS, floor_of(rows, GOALS_BY)
    held = [hold(one, groups.get(one.model), floor, goals) for one in rows]
    most = max(held, key=len)
    yield f"### Goals, protocol {GOALS_BY}\n\nOracle factors leave {percent(floor)} of the error at least."
    header = ("model", *(f"{one.name} ({one.goal})" for one in most), "met")
    yield _table(
        header,
        (
            (
                f"`{one.model}`",
                *(_held_text(each.name, each.found, each.met) for each in own),
                *("-",) * (len(most) - len(own)),
                f"{sum(each.met for each in own)} of {len(own)}",
            )
            for one, own in zip(rows, held, strict=True)
        ),
    )


def _held_text(name: str, found: float, met: bool) -> str:
    if name.partition(",")[0] in ("error", "factor - 1", "top-1", "coverage"):
        text = percent(found)
    elif name in ("fit", "predict"):
        text = seconds_text(found)
    else:
        text = f"{found:.0f}" if name == "withheld" else _short(found)
    return f"**met**, {text}" if met else f"not met, {text}"


def _paper(log: Sequence[tuple[str, Scoring]]) -> str:
    """Return the section on the paper's kernels: the last logged scoring of each model, by B."""
    text = "## The 2016 paper's test kernels"
    if not log:
        return f"{text}\n\nThey were not scored yet.\n"
    reasons = {(one.date, one.commit): reason for reason, one in log}
    rows = [one for one in latest(one for _, one in log) if one.protocol == GOALS_BY and one.kernels in (PAPER, ALL)]
    header = ("device", "model", "kernels", "error", "oracle leaves", "factor - 1", "regret", "tau", "scored", "reason")
    cells = (
        (
            one.device, f"`{one.model}`", one.kernels, percent(one.error), percent(one.oracle), percent(one.factor),
            _short(one.regret), _short(one.tau), one.date, reasons[one.date, one.commit],
        )
        for one in sorted(rows, key=lambda one: (one.simulated, one.device, one.kernels, one.error))
    )  # fmt: skip
    intro = f"Scored {len(reasons)} times; `docs/data/scorings.csv` has each scoring with its reason."
    return f"{text}\n\n{intro} Protocol {GOALS_BY}:\n\n{_table(header, cells)}\n"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return markdown_table([header, ("---", *["---:"] * (len(header) - 1)), *rows])


def _short(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
