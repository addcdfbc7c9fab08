"""The scoreboard's page: the best models of each device, with their figures."""

from __future__ import annotations

import math

from scripts.lab.scoreboard.page import floor_of
from tests.lab.scoreboard.scored import scoring


def groups(**changed):
    return scoring(
        protocol="groups", kernels="measured", cases=500, choices=0, regret=math.nan, top1=math.nan, top1_tied=math.nan,
        tau=math.nan, **changed,
    )  # fmt: skip


def test_the_floor_is_what_the_best_scaling_model_leaves_and_no_black_box():
    rows = [
        scoring(oracle=0.09), scoring(model="mine", oracle=0.08), scoring(model="black box (mine)", oracle=0.01),
        scoring(oracle=0.02, protocol="A"), scoring(oracle=math.nan),
    ]  # fmt: skip
    assert 0.08 == floor_of(rows, "B")
    assert math.isnan(floor_of([], "B"))
