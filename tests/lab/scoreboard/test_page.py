"""The scoreboard's page: the best models of each device, with their figures."""

from __future__ import annotations

import math

from scripts.lab.scoreboard.page import BEGIN, floor_of, scoreboard_page
from tests.lab.scoreboard.scored import scoring


def groups(**changed):
    return scoring(
        protocol="groups", kernels="measured", cases=500, choices=0, regret=math.nan, top1=math.nan, top1_tied=math.nan,
        tau=math.nan, **changed,
    )  # fmt: skip


ROWS = (
    groups(model="worse", factor=0.5), scoring(model="worse", error=0.4, withheld=2),
    groups(model="better", factor=0.2), scoring(model="better"), scoring(model="better", protocol="A", error=0.09),
    groups(device="gpu", model="better", simulated=True), scoring(device="gpu", model="better", simulated=True),
    scoring(model="broken", protocol="", kernels="", problem="it needs a fact"),
)  # fmt: skip


def cells(page: str) -> list[list[str]]:
    rows = [line.strip("|").split("|") for line in page.splitlines() if line[:1] == "|"][2:]
    return [[cell.strip(" `") for cell in row] for row in rows]


def test_models_are_in_the_order_of_groups_left_out_and_simulated_devices_come_last():
    page = scoreboard_page(f"# Mine\n\n{BEGIN}\n\nold", ROWS, ())
    assert page.startswith("# Mine\n\n")
    assert "old" not in page
    better, worse, simulated = cells(page)
    assert ["toy", "better", "20.0 %", "10.0 %", "12 of 12"] == [better[i] for i in (0, 1, 3, 4, 7)]
    assert ["toy", "worse", "50.0 %", "40.0 %", "10 of 12"] == [worse[i] for i in (0, 1, 3, 4, 7)]
    assert "gpu (simulated)" == simulated[0]


def test_the_floor_is_what_the_best_scaling_model_leaves_and_no_black_box():
    rows = [
        scoring(oracle=0.09), scoring(model="mine", oracle=0.08), scoring(model="black box (mine)", oracle=0.01),
        scoring(oracle=0.02, protocol="A"), scoring(oracle=math.nan),
    ]  # fmt: skip
    assert 0.08 == floor_of(rows, "B")
    assert math.isnan(floor_of([], "B"))
