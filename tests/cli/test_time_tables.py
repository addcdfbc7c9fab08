"""Tables, lines, CSV and JSON of measured beside predicted times, and the summary of a campaign, by hand."""

import csv
from io import StringIO
from pathlib import Path

import pytest

from perfmodel.cli.measure import campaign_document, campaign_lines
from perfmodel.cli.output import terms_text
from perfmodel.cli.time import note_lines, order_lines, point_document, timed_table
from perfmodel.predicting.ranking import RankedVariant
from perfmodel.store import Measurements
from perfmodel.tuning.timing import timed_point
from tests.store.test_files import measurement
from tests.tuning.test_timing import row

FAR = "far from what was measured"


def points(*sizes: int, predicted: bool = True):
    found = []
    for n in sizes:
        ranked = [
            RankedVariant("slow", n * 2e-3, (n * 1e-3, n * 3e-3), (FAR,), {"launches": n * 2e-3}),
            RankedVariant("quick", n * 1e-3, (n * 2e-3, float("inf")), (), {"launches": n * 4e-4, "adds": n * 6e-4}),
        ]  # fmt: skip
        rows = {
            "slow": row("slow", {"n": n}, n * 2.5e-3), "quick": row("quick", {"n": n}, n * 1e-3),
            "bad": row("bad", {"n": n}, 0, "compile").model_copy(update={"message": "no such tile"}),
        }  # fmt: skip
        rows["quick"] = rows["quick"].model_copy(update={"flags": ("spread",)})
        found.append(timed_point({"n": n}, rows, ranked if predicted else ()))
    return tuple(found)


def test_tables_of_one_size_of_several_without_predictions_and_of_terms():
    lines = [line.split() for line in timed_table(points(1)).text().splitlines()]
    assert ["variant", "measured", "predicted", "interval", "factor", "inside"] == lines[0]
    assert ["quick", "1", "ms", "1", "ms", "2", "ms", "to", "inf", "s", "1", "no"] == lines[1]
    assert ["slow", "2.5", "ms", "2", "ms", "1", "ms", "to", "3", "ms", "0.8", "yes"] == lines[2]
    assert ["bad", "compile", "-", "-", "-", "-"] == lines[3]
    lines = timed_table(points(1, 2, predicted=False)).text().splitlines()
    assert ["n", "variant", "measured"] == lines[0].split()
    assert ["2", "quick", "2", "ms"] == lines[4].split()
    (point,) = points(1)
    lines = [line.split() for line in terms_text(point.variants[0].predicted).splitlines()]
    assert [["adds", "600", "us", "60.0", "%"], ["launches", "400", "us", "40.0", "%"]] == lines


def test_the_order_in_words():
    assert [
        "order measured:  quick, slow", "order predicted: quick, slow",
        "predicted first: quick, which is the fastest; 1 of 1 pairs in order",
    ] == list(order_lines(points(1)))  # fmt: skip
    slow, quick = row("slow", {"n": 2}, 1.0), row("quick", {"n": 2}, 2.5)
    predicted = [one.predicted for one in points(2)[0].ran]
    swapped = (points(1)[0], timed_point({"n": 2}, {"slow": slow, "quick": quick}, predicted))
    assert "n=2: predicted first: quick, which takes 150.0% longer than slow; 0 of 1 pairs in order" in [
        *order_lines(swapped)
    ]


def test_notes_are_printed_once():
    assert [
        "quick: flag 'spread': the runs of a visit spread by more than 20 %", "slow: far from what was measured",
        "bad: compile: no such tile",
    ] == list(note_lines(points(1, 2)))  # fmt: skip
    loaded = [
        timed_point(point.sizes, {one.name: one.row.model_copy(update={"flags": ("load",)}) for one in point.ran})
        for point in points(1, 2)
    ]  # fmt: skip
    assert ["flag 'load': other programs used the machine"] == list(note_lines(loaded))
    some = (*points(1), *points(2, predicted=False))
    assert "slow (n=1): far from what was measured" in list(note_lines(some))


def test_csv_and_json_hold_everything():
    first, second, *_ = csv.DictReader(StringIO(timed_table(points(2, 4)).csv()))
    assert ("2", "quick", "ok", "spread", "0.002") == tuple(
        first[name] for name in ("n", "variant", "status", "flags", "predicted_s")
    )
    assert ("0.002", "0.004", "False", "0.0012") == (
        first["seconds"], first["low_s"], first["inside"], first["term.adds"],
    )  # fmt: skip
    assert ("slow", "") == (second["variant"], second["term.adds"])
    found = point_document(points(2)[0])
    quick, _, bad = found["variants"]
    assert ([0.004, None], ["spread"], 1, 3) == (
        quick["predicted"]["interval"], quick["flags"], quick["visits"], quick["runs"],
    )  # fmt: skip
    assert ("compile", "no such tile", None, None) == (bad["status"], bad["message"], bad["seconds"], bad["predicted"])
    assert (["quick", "slow"], ["quick", "slow"], "quick", 0.0) == (
        found["order_measured"], found["order_predicted"], found["chosen"], found["regret"],
    )  # fmt: skip


SAMPLES = (9.0, 8.0, 2.0, 2.0, 2.0)


def test_a_campaign_with_failures_and_flags() -> None:
    rows = (
        measurement(samples_s=SAMPLES, flags=("spread", "bound")),
        measurement(parameters={"n": 9}, samples_s=SAMPLES, flags=("spread",)),
        measurement(parameters={"n": 9}, samples_s=tuple(1.1 * s for s in SAMPLES)),  # a second visit
        measurement(parameters={"n": 10}, samples_s=(), status="runtime", message="out of memory"),
        measurement(parameters={"n": 11}, samples_s=(), status="timeout"),
        measurement(parameters={"n": 11}, samples_s=SAMPLES, flags=("odd",)),  # it went well the second time
    )
    found = campaign_document(Measurements(rows, {}, ("a line was torn",)), Path("s"), "quick", 61.6)
    assert {"ok": 3, "runtime": 1} == found["statuses"]
    assert {"spread": 2, "bound": 1, "odd": 1, "visits": 1} == found["flags"]
    assert (4, "s", "quick", 61.6) == (found["visits"], found["store"], found["campaign"], found["seconds"])
    assert [(8, 2.0, 1), (9, 2.0, 2), (10, None, 0), (11, 2.0, 1)] == [
        (row["parameters"]["n"], row["seconds"], row["visits"]) for row in found["rows"]
    ]
    assert [0.0, pytest.approx(0.05), None, 0.0] == [row["spread"] for row in found["rows"]]
    head, failure, *notes = campaign_lines(found)
    assert "D: 3 configurations measured (1 runtime) in 4 visits, in s, after 62 s" == head
    assert failure.startswith("runtime: copy {'work_group': [16, 16]} {'n': 10}: out of memory")
    assert ["bound", "odd", "spread", "visits"] == [note.split("'")[1] for note in notes]
    assert "see docs/measuring.md" in notes[1]
    assert ["a line was torn"] == found["set_aside"]  # a warning told it already
