"""Tables and CSV of predictions at several sizes."""

from __future__ import annotations

import csv
from io import StringIO

from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.sweeps import sweep_csv, sweep_records, sweep_table, winners_table


def variant(name, seconds, **more):
    return RankedVariant(name, seconds, (seconds / 2, float("inf")), terms={"launches": seconds}, **more)


POINTS = (
    Ranking(
        (variant("a", 1e-3, fastest=0.75, tied=True), variant("b", 2e-3, fastest=0.25, tied=True)),
        sizes={"n": 8, "m": 1},
    ),
    Ranking((variant("b", 1e-3, fastest=1.0, tied=False),), sizes={"n": 9, "m": 1}, broken=("a",)),
)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_row_for_each_size_and_variant():
    assert [
        ["n", "m", "variant", "predicted", "interval"],
        ["8", "1", "a", "1", "ms", "500", "us", "to", "inf", "s"],
        ["8", "1", "b", "2", "ms", "1", "ms", "to", "inf", "s"],
        ["9", "1", "b", "1", "ms", "500", "us", "to", "inf", "s"],
        ["9", "1", "a", "breaks", "an", "assumption", "-"],
    ] == rows(sweep_table(POINTS))
    narrow = sweep_table(POINTS, 36).splitlines()
    assert "interval" not in narrow[0]
    assert "not shown: interval (--wide shows all)" == " ".join(narrow[5:])
    alone = sweep_table([Ranking([variant("a", 1e-3)], sizes={"n": 8})])
    assert "variant" not in alone


def test_a_row_for_each_size_with_its_winner():
    assert [
        ["n", "m", "fastest", "sure", "ties", "with", "b", "a"],
        ["8", "1", "a", "75.0", "%", "b", "2", "ms", "1", "ms"],
        ["9", "1", "b", "100.0", "%", "-", "1", "ms", "-"],
    ] == rows(winners_table(POINTS))
    # ties go first, then the probability, then the slowest variant
    for width, without in ((36, "ties with"), (32, "ties with, sure"), (24, "ties with, sure, a")):
        assert f"not shown: {without} (--wide" in " ".join(winners_table(POINTS, width).split("\n"))


def test_csv_and_records_hold_everything():
    found = list(csv.DictReader(StringIO(sweep_csv(POINTS, {"c": "never measured"}))))
    assert ["a", "b", "b", "a", "c"] == [row["variant"] for row in found]
    assert ["1", "2", "1", "", ""] == [row["place"] for row in found]
    assert ["", "", "", "breaks an assumption", "never measured"] == [row["problem"] for row in found]
    expected = {"seconds": "0.001", "low_s": "0.0005", "high_s": "inf", "fastest": "0.75"}
    assert expected.items() <= found[0].items()
    assert "0.001" == found[0]["term.launches"]
    records = sweep_records(POINTS)
    assert [0.0005, None] == records[0]["variants"][0]["interval"]
    assert ["a"] == records[1]["broken"]
