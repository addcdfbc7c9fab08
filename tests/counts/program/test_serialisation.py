"""Programs as JSON and back."""

import json
from dataclasses import replace
from fractions import Fraction

import islpy as isl

from perfmodel.counts.program import program
from perfmodel.counts.program.serialisation import read_program, write_program

ONE = isl.PwQPolynomial("{ 1 }")
POINTS = isl.Set("[n] -> { [l, k] : 0 <= l < 16 and 0 <= k < n }")
ACCESS = program.Access(
    "global", "load", "a", "float32", 32, isl.Map("[n] -> { [l, k] -> [k, l] }"), True,
    (isl.Set("[n] -> { [x] : 0 <= x < n }"), isl.Set("{ [x] : 0 <= x < 16 }")), 1,
    (program.LaneStride(ONE, None, 1), program.LaneStride(ONE, isl.Set("[n] -> { [l, k] : l = 3 }"), None)),
    (isl.PwQPolynomial("{ 16 }"), ONE), isl.PwQPolynomial("{ 0 }"),
)
# x[2*l - k + 1, where[l]] = a[k, l]*2, under a guard, and a statement without anything
STORE = program.Step(
    "add", (program.Read("a", ((0, (("k", 1),)), None), (("global", "load"), ("float32", "mul"))),),
    (program.Write("x", ((1, (("k", -1), ("l", 2))), None), "global"),), (("float32", "mul", 2),), True, ("k", "l"),
)
PROGRAM = program.Program(
    "kernel", ("n",), isl.Set("[n] -> { : n >= 1 }"),
    (program.Launch("kernel", (16,), (isl.PwAff("[n] -> { [(n)] }"),), isl.Set("[n] -> { [] }")),),
    (
        program.Statement(
            program.Domain(0, POINTS, ("l.0", ""), Fraction(5, 2), Fraction(1, 3), False, frozenset({"k"})),
            (program.Operation("float32", "add", 2),),
            (ACCESS, replace(ACCESS, cells=None, cells_exact=False, shape=None, unit_axis=None, lane_stride=())),
            (0, "k", 0), "add",
        ),
    ),
    (program.BarrierSite(0, "local", isl.Set("[n] -> { [k] : 0 <= k < n }"), ("",), Fraction(1, 2), False),),
    (program.DeviceKernel("kernel", (program.Loop("k", (program.Run("add"), program.Wait("local"))),)),),
    program.Dataflow((STORE, program.Step("nothing", (), (), ())), ("k",), ("l",)),
)


def test_round_trip() -> None:
    document = json.loads(json.dumps(write_program(PROGRAM)))
    again = read_program(document)
    assert document == write_program(again)
    for name in ("name", "parameters", "schedule", "dataflow"):
        assert getattr(PROGRAM, name) == getattr(again, name)
    assert again.assumptions.is_equal(PROGRAM.assumptions)
    (before,), (after,) = PROGRAM.statements, again.statements
    assert after.domain.points.is_equal(POINTS)
    assert [False, True] == [access.indirect for access in after.accesses]
    for name in ("operations", "place", "instruction"):
        assert getattr(before, name) == getattr(after, name)
    for name in ("launch", "axes", "trips", "chance", "exact", "tied"):
        assert getattr(before.domain, name) == getattr(after.domain, name)


def test_the_form_on_disk_stays() -> None:
    document = write_program(PROGRAM)
    assert [{"device": "kernel", "body": [{"loop": "k", "body": [{"run": "add"}, {"wait": "local"}]}]}] == (
        document["schedule"]
    )
    assert [["float32", "add", 2]] == document["statements"][0]["operations"]
    assert ("1/2", "5/2") == (document["barriers"][0]["factor"], document["domains"][0]["trips"])
    path, cell = [["global", "load"], ["float32", "mul"]], [[1, [["k", -1], ["l", 2]]], None]
    reading, writing = ["a", [[0, [["k", 1]]], None], path], ["x", cell, "global"]
    assert document["dataflow"] == {
        "steps": [["add", [reading], [writing], [["float32", "mul", 2]], True, ["k", "l"]],
                  ["nothing", [], [], [], False]],
        "unrolled": ["k"], "parallel": ["l"],
    }  # fmt: skip
