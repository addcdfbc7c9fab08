"""The scoreboard's page: its sections, and which figure stands where."""

from __future__ import annotations

import math

import pytest

from scripts.lab.scoreboard.page import BEGIN, floor_of, scoreboard_page
from tests.scored import scoring


def groups(**changed):
    return scoring(
        protocol="groups", kernels="measured", cases=500, choices=0, regret=math.nan, top1=math.nan, top1_tied=math.nan,
        tau=math.nan, **changed,
    )  # fmt: skip


ROWS = (
    groups(model="worse", factor=0.5), scoring(model="worse", error=0.4, withheld=2),
    groups(model="better", factor=0.2), scoring(model="better"), scoring(model="better", protocol="A", error=0.09),
    scoring(device="gpu", model="better", simulated=True),
    scoring(model="broken", protocol="", kernels="", problem="it needs a fact"),
)  # fmt: skip


def section(page: str, title: str) -> str:
    return page.split(f"{title}\n\n")[1].split("\n#")[0]


def rows_of(text: str) -> list[list[str]]:
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_what_stands_above_the_marker_stays_and_simulated_devices_come_last():
    page = scoreboard_page(f"# Mine\n\n{BEGIN}\n\nold", ROWS, ())
    assert page.startswith("# Mine\n\n")
    assert "old" not in page
    assert ["toy", "gpu (simulated)", "The 2016 paper's test kernels"] == [
        line[3:] for line in page.splitlines() if line.startswith("## ")
    ]


def test_models_stand_in_the_order_of_groups_left_out():
    page = scoreboard_page("", ROWS, ())
    for title in ("### Measurement groups left out", "### Goals, protocol B", "### Test kernels, protocol B"):
        assert ["model", "---", "better", "worse"] == [row[0] for row in rows_of(section(page, title))]
    assert ["9.0 %"] == [row[1] for row in rows_of(section(page, "### Test kernels, protocol A"))[2:]]
    assert "Not fitted: `broken`: it needs a fact" in page


def test_recorded_kernels_have_their_own_tables():
    page = scoreboard_page("", [scoring(model="a", protocol="groups", kernels="recorded", regret=1.5)], ())
    text = section(page, "### Recorded kernels, protocol groups")
    assert "cases, all by others; measured kernels, each by a fit without its group." in text
    assert "1.5" == rows_of(text)[2][4]


def test_goals_say_met_or_not_with_the_number():
    head, _, better, worse = rows_of(section(scoreboard_page("", ROWS, ()), "### Goals, protocol B"))
    assert ("model", "error (at most 12.0 %)", "met") == (head[0], head[1], head[-1])
    assert ("**met**, 10.0 %", "12 of 12") == (better[1], better[-1])
    assert ("not met, 40.0 %", "10 of 12") == (worse[1], worse[-1])
    assert "not met, 2" == worse[head.index("withheld (none)")]


def test_the_floor_is_what_the_best_scaling_model_leaves_and_no_black_box():
    rows = [
        scoring(oracle=0.09), scoring(model="mine", oracle=0.08), scoring(model="black box (mine)", oracle=0.01),
        scoring(oracle=0.02, protocol="A"), scoring(oracle=math.nan),
    ]  # fmt: skip
    assert 0.08 == floor_of(rows, "B")
    assert math.isnan(floor_of([], "B"))
    page = scoreboard_page("", [scoring(oracle=0.1, error=0.14)], ())
    assert "**met**, 14.0 %" in page  # at most 1.5 x 10 %


def test_the_papers_kernels_come_from_the_log_alone():
    assert "They were not scored yet." in scoreboard_page("", ROWS, ())
    last = scoring(kernels="paper", error=0.05, date="2026-03-04")
    log = [("tag v1", scoring(kernels="paper", error=0.07)), ("a trial", last)]
    page = scoreboard_page("", ROWS, log)
    found = rows_of(section(page, "## The 2016 paper's test kernels"))[2:]
    assert [["toy", "gpuperf", "paper", "5.0 %"]] == [row[:4] for row in found]
    assert "a trial" == found[0][-1]
    assert "Scored 2 times" in page


@pytest.mark.parametrize("rows", [(), ROWS[-1:]])
def test_a_page_of_nothing(rows):
    assert "They were not scored yet." in scoreboard_page("", rows, ())
