"""Programs as JSON: a round trip gives equal values."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import islpy as isl

from perfmodel.counts.program.program import (
    Access,
    BarrierSite,
    Dataflow,
    DeviceKernel,
    Domain,
    LaneStride,
    Launch,
    Loop,
    Operation,
    Program,
    Reading,
    Run,
    Statement,
    Step,
    Wait,
    Writing,
)
from perfmodel.counts.program.serialisation import read_program, write_program

ONE = isl.PwQPolynomial("{ 1 }")
POINTS = isl.Set("[n] -> { [l, k] : 0 <= l < 16 and 0 <= k < n }")
ACCESS = Access(
    "global", "load", "a", "float32", 32, isl.Map("[n] -> { [l, k] -> [k, l] }"), True,
    (isl.Set("[n] -> { [x] : 0 <= x < n }"), isl.Set("{ [x] : 0 <= x < 16 }")), 1,
    (LaneStride(ONE, None, 1), LaneStride(ONE, isl.Set("[n] -> { [l, k] : l = 3 }"), None)),
    (isl.PwQPolynomial("{ 16 }"), ONE), isl.PwQPolynomial("{ 0 }"),
)
PROGRAM = Program(
    "kernel", ("n",), isl.Set("[n] -> { : n >= 1 }"),
    (Launch("kernel", (16,), (isl.PwAff("[n] -> { [(n)] }"),), isl.Set("[n] -> { [] }")),),
    (
        Statement(
            Domain(0, POINTS, ("l.0", ""), Fraction(5, 2), Fraction(1, 3), False, frozenset({"k"})),
            (Operation("float32", "add", 2),),
            (ACCESS, replace(ACCESS, cells=None, cells_exact=False, shape=None, unit_axis=None, lane_stride=())),
        ),
    ),
    (BarrierSite(0, "local", isl.Set("[n] -> { [k] : 0 <= k < n }"), ("",), Fraction(1, 2), False),),
    (DeviceKernel("kernel", (Loop("k", (Run("add"), Wait("local"))),)),),
    Dataflow(
        (
            Step(
                "add", (Reading("a", ((1, (("l", 2), ("k", -1))), None), (("global", "load"), ("float32", "add"))),),
                (Writing("s", (), "private"),), ((("float32", "add"), 2),), True,
            ),
        ),
        ("k",), ("l",),
    ),
)


def test_round_trip() -> None:
    document = json.loads(json.dumps(write_program(PROGRAM)))
    again = read_program(document)
    assert document == write_program(again)
    for name in ("name", "parameters", "launches", "schedule", "dataflow"):
        if name != "launches":
            assert getattr(PROGRAM, name) == getattr(again, name)
    assert again.assumptions.is_equal(PROGRAM.assumptions)
    assert (PROGRAM.launches[0].name, PROGRAM.launches[0].group_shape) == (
        again.launches[0].name, again.launches[0].group_shape
    )
    (before,), (after,) = PROGRAM.statements, again.statements
    assert after.domain.points.is_equal(POINTS)
    assert before.operations == after.operations
    assert [False, True] == [access.indirect for access in after.accesses]
    for name in ("launch", "axes", "trips", "chance", "exact", "tied"):
        assert getattr(before.domain, name) == getattr(after.domain, name)


def test_the_form_on_disk_stays() -> None:
    document = write_program(PROGRAM)
    assert [{"device": "kernel", "body": [{"loop": "k", "body": [{"run": "add"}, {"wait": "local"}]}]}] == (
        document["schedule"]
    )
    assert [["float32", "add", 2]] == document["statements"][0]["operations"]
    assert ("1/2", "5/2") == (document["barriers"][0]["factor"], document["domains"][0]["trips"])


def test_counts_of_before_dataflow_was_recorded() -> None:
    document = write_program(replace(PROGRAM, dataflow=None))
    assert "dataflow" not in document
    assert read_program(document).dataflow is None
