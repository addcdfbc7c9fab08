"""The dataflow on disk, written out by hand."""

from __future__ import annotations

import json

from perfmodel.counts.program.program import Dataflow, Reading, Step, Writing
from perfmodel.counts.program.serialisation import read_dataflow, write_dataflow

# x[2*i - k + 1, where[i]] = rsqrt(s), under a guard, and a statement without anything
FULL = Step(
    "store", (Reading("s", (), (("float32", "rsqrt"),)), Reading("where", ((0, (("i", 1),)),), (("global", "load"),))),
    (Writing("x", ((1, (("i", 2), ("k", -1))), None), "global"),),
    ((("float32", "rsqrt"), 1), (("global", "store"), 1)), guarded=True,
)  # fmt: skip
DATAFLOW = Dataflow((FULL, Step("nothing", (), (), ())), unrolled=("k",), parallel=("i",))
DOCUMENT = {
    "steps": [
        [
            "store",
            [["s", [], [["float32", "rsqrt"]]], ["where", [[0, [["i", 1]]]], [["global", "load"]]]],
            [["x", [[1, [["i", 2], ["k", -1]]], None], "global"]],
            [["float32", "rsqrt", 1], ["global", "store", 1]],
            True,
        ],
        ["nothing", [], [], [], False],
    ],
    "unrolled": ["k"],
    "parallel": ["i"],
}


def test_the_form_on_disk() -> None:
    assert DOCUMENT == write_dataflow(DATAFLOW)
    assert DATAFLOW == read_dataflow(json.loads(json.dumps(DOCUMENT)))


def test_statements_are_found_by_their_identifiers() -> None:
    assert {"store": FULL, "nothing": DATAFLOW.steps[1]} == DATAFLOW.by_name
