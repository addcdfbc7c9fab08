"""Tables and CSV of predictions at several sizes."""

from __future__ import annotations

import csv
from io import StringIO

from perfmodel.analyses.roofline import KernelPoint
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.ranking import RankedVariant, Ranking
from perfmodel.report.sweeps import RATES, leads_lines, sweep_csv, sweep_records, sweep_table, winners_table


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


PLACES = ({"a": KernelPoint("a", "", "", 4e6, 8e6, 1e-3, 5e-4, "memory")}, {})


def test_rates_stand_before_the_interval_and_before_the_times():
    rates = ["GFLOP/s", "GB/s", "of", "the", "roof"]
    every = rows(sweep_table(POINTS, places=PLACES))
    assert ["n", "m", "variant", "predicted", *rates, "interval"] == every[0]
    assert ["8", "1", "a", "1", "ms", "4", "8", "50.0", "%"] == every[1][:9]
    assert ["1", "ms", "-", "-", "-"] == every[3][3:8]
    assert "not shown: interval, GFLOP/s, GB/s, of the roof" in " ".join(sweep_table(POINTS, 40, PLACES).split("\n"))
    winners = rows(winners_table(POINTS, places=PLACES))
    assert ["n", "m", "fastest", "sure", "ties", "with", *rates, "b", "a"] == winners[0]
    assert ["8", "1", "a", "75.0", "%", "b", "4", "8", "50.0", "%", "2", "ms", "1", "ms"] == winners[1]
    assert ["-", "-", "-", "-", "1", "ms", "-"] == winners[2][-7:]
    (first, *_) = csv.DictReader(StringIO(sweep_csv(POINTS, places=PLACES)))
    assert ("4000000000.0", "8000000000.0", "0.5") == tuple(first[name] for name in RATES)
    found = sweep_records(POINTS, PLACES)[0]["variants"]
    assert (0.5, False) == (found[0]["share_of_roof"], "share_of_roof" in found[1])


def lines_of(leads, **tied):
    return leads_lines([Lead(*lead) for lead in leads], "n", {int(end[1:]): list(names) for end, names in tied.items()})


def test_neighbours_that_tie_are_one_line():
    two = (("a", 1, 4), ("b", 5, 9))
    assert ["n from 1 to 4: a (ties with b at 4)", "n from 5 to 9: b (ties with a at 5)"] == lines_of(
        two, n4="ab", n5="ba"
    )
    everywhere = {"n1": "abc", "n4": "ab", "n5": "ba", "n9": "bac"}
    expected = "n from 1 to 9: a or b, which cannot be told apart (a to 4, then b; ties with c at both ends)"
    assert [expected] == lines_of(two, **everywhere)
    back = (*two, ("a", 10, 12), ("d", 13, 20))
    more = {**everywhere, "n9": "ba", "n10": "ab", "n12": "ab"}
    assert [
        "n from 1 to 12: a or b, which cannot be told apart (2 changes; ties with c at 1)", "n from 13 to 20: d",
    ] == lines_of(back, **more)  # fmt: skip
    assert ["n from 1 to 4: a", "n from 5 to 9: b"] == lines_of(two)


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
