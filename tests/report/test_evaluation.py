"""Both tables of the core paper, as text, CSV and JSON."""

import csv
import json
import math
from dataclasses import replace
from io import StringIO

import pytest

from perfmodel.analyses.roofline import roofline_points
from perfmodel.compare import Comparison, Evaluation
from perfmodel.compare.protocols import Judged
from perfmodel.predicting.model import fit
from perfmodel.report import document, figures_table, predictions_csv
from perfmodel.report.evaluation import evaluation_text, roofline_document, roofline_text
from tests.fitting.test_throughput_roofs import facts, measured
from tests.fitting.test_weights_file import measurements
from tests.report.test_pictures import POINTS, ROOFS

FIRST = Evaluation(
    "A", "family", "first", 0.9,
    (
        Comparison("copy", {"n": 1}, 1.0, 1.1, group="g", variant={"w": [8, 4]}, interval=(0.5, 2.0)),
        Comparison("copy", {"n": 2}, 1.0, 0.6, group="g", variant={"w": [8, 4]}, interval=(0.0, math.inf)),
        Comparison("sum", {"n": 1}, 2e-3, None, ("launches", "work_groups")),
    ),
)  # fmt: skip


def test_the_predictions_as_csv_and_figures_with_a_row_each():
    rows = list(csv.DictReader(StringIO(predictions_csv([FIRST]))))
    assert 3 == len(rows)
    assert ("A", "first", "copy", "g", "w=8x4", "n=1") == tuple(
        rows[0][name] for name in ("protocol", "device", "kernel", "group", "variant", "sizes")
    )
    assert (1.0, 1.1, 0.5, 2.0) == tuple(
        float(rows[0][name]) for name in ("measured_s", "predicted_s", "low_s", "high_s")
    )
    assert ("", "", "launches work_groups") == tuple(rows[2][k] for k in ("predicted_s", "relative_error", "needs"))
    sizes = replace(FIRST, protocol="sizes")
    lines = figures_table([FIRST, sizes]).splitlines()
    assert ["family", "first", "A", "3", "1", "20.0", "%"] == lines[1].split()[:7]
    assert "in their 90.0 % interval" in lines[-1]


def test_one_document_without_infinities():
    judged = Judged(fit(measurements()), (FIRST, replace(FIRST, protocol="B"), replace(FIRST, protocol="sizes")))
    found = json.loads(json.dumps(document([judged]), allow_nan=False))
    (one,) = found["models"]
    assert ["A", "B", "sizes"] == [each["protocol"] for each in one["evaluations"]]
    assert [None, 2.0] == [one["evaluations"][0]["rows"][i]["high_s"] for i in (1, 0)]
    assert one["evaluations"][0]["figures"]["tau"] is None
    assert pytest.approx(0.2) == one["evaluations"][0]["figures"]["error"]
    text = evaluation_text([judged])
    assert text.index("Table 1.") < text.index("Table 2.") < text.index("Figures")


def test_a_roofline_has_roofs_with_sources_and_a_row_for_each_point():
    text = roofline_text(POINTS, facts(**ROOFS))
    assert "float32 peak: 4 Top/s (made up)" in text
    rows = [line.split() for line in text.splitlines() if line.startswith("product")]
    assert ["product", "naive", "n=8", "10", "100", "200", "50.0", "%", "memory"] == rows[0]
    assert 2 == len(rows)
    # 32 banks of 15 units move 4 bytes at 1 GHz
    known = facts(banks=32, compute_units=15, clock_hz=1e9)
    assert "bandwidth of local memory: 1.92 TB/s (4 bytes of each bank in each cycle)" in roofline_text(POINTS, known)
    (roof,) = roofline_document(POINTS, known)["roofs"].values()
    assert (pytest.approx(1.92e12), "B/s") == (roof["value"], roof["unit"])
    (first, *_) = roofline_points(measured())
    document = roofline_document([first], facts())
    assert ({}, None, None) == (document["roofs"], *(document["kernels"][0][key] for key in ("attainable", "share")))
    assert "no roofs are known" in roofline_text([first], facts())
