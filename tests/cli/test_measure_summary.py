"""The summary of a campaign, from records made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.cli.measure import campaign_document, campaign_lines
from perfmodel.store import Measurements
from tests.store.test_files import measurement

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
