"""Programs as JSON and back, and the places of accesses and barriers in a schedule."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import islpy as isl
import loopy as lp
import numpy as np

from perfmodel.counts import count
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
from perfmodel.counts.program.serialisation import access_places, loops_of, read_program, write_program

ONE = isl.PwQPolynomial("{ 1 }")
POINTS = isl.Set("[n] -> { [l, k] : 0 <= l < 16 and 0 <= k < n }")
ACCESS = Access(
    "global", "load", "a", "float32", 32, isl.Map("[n] -> { [l, k] -> [k, l] }"), True,
    (isl.Set("[n] -> { [x] : 0 <= x < n }"), isl.Set("{ [x] : 0 <= x < 16 }")), 1,
    (LaneStride(ONE, None, 1), LaneStride(ONE, isl.Set("[n] -> { [l, k] : l = 3 }"), None)),
    (isl.PwQPolynomial("{ 16 }"), ONE), isl.PwQPolynomial("{ 0 }"),
)
# x[2*l - k + 1, where[l]] = a[k, l]*2, under a guard, and a statement without anything
STORE = Step(
    "add", (Reading("a", ((0, (("k", 1),)), None), (("global", "load"), ("float32", "mul"))),),
    (Writing("x", ((1, (("k", -1), ("l", 2))), None), "global"),), ((("float32", "mul"), 2),), True, ("k", "l"),
)
PROGRAM = Program(
    "kernel", ("n",), isl.Set("[n] -> { : n >= 1 }"),
    (Launch("kernel", (16,), (isl.PwAff("[n] -> { [(n)] }"),), isl.Set("[n] -> { [] }")),),
    (
        Statement(
            Domain(0, POINTS, ("l.0", ""), Fraction(5, 2), Fraction(1, 3), False, frozenset({"k"})),
            (Operation("float32", "add", 2),),
            (ACCESS, replace(ACCESS, cells=None, cells_exact=False, shape=None, unit_axis=None, lane_stride=())),
            (0, "k", 0), "add",
        ),
    ),
    (BarrierSite(0, "local", isl.Set("[n] -> { [k] : 0 <= k < n }"), ("",), Fraction(1, 2), False),),
    (DeviceKernel("kernel", (Loop("k", (Run("add"), Wait("local"))),)),),
    Dataflow((STORE, Step("nothing", (), (), ())), ("k",), ("l",)),
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


def test_the_places_of_loads_and_stores() -> None:
    """The launch holds the sum's start (0), the loop over k (2) with its update (0), and the store (4)."""
    unit = lp.make_kernel(
        "{ [i, k]: 0 <= i, k < n }", "y[i] = sum(k, a[i, k]*x[k])", lang_version=(2018, 2), assumptions="n >= 1"
    )
    unit = lp.tag_inames(lp.add_dtypes(unit, {"a": np.float32, "x": np.float32}), {"i": "g.0"})
    places = access_places(count(unit, cache=False).program, 0)
    assert [("a", (2, "k", 0)), ("x", (2, "k", 0)), ("y", (4,))] == [(one.access.array, one.place) for one in places]
    assert [0, 1, 2] == [one.number for one in places]
    assert [("k",), ("k",), ()] == [loops_of(one.place) for one in places]


def test_statements_that_load_the_same_array_have_a_load_each() -> None:
    unit = lp.make_kernel(
        "{ [i]: 0 <= i < n }", ["b[i] = a[i] {id=first}", "c[i] = a[i] + a[i+1] {id=second, dep=first}"],
        [lp.GlobalArg("a", np.float32, shape="n+1"), lp.GlobalArg("b, c", np.float32, shape="n"), ...],
        lang_version=(2018, 2), assumptions="n >= 1",
    )  # fmt: skip
    places = access_places(count(lp.tag_inames(unit, {"i": "g.0"}), cache=False).program, 0)
    assert [("a", "first"), ("a", "second"), ("a", "second"), ("b", "first"), ("c", "second")] == [
        (one.access.array, one.statement) for one in places
    ]
