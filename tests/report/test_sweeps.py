"""Tables and CSV of predictions at several sizes, and rankings as text with their ties."""

import csv
import json
from io import StringIO

from perfmodel.analyses.roofline import KernelPoint
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.crossovers import Lead
from perfmodel.predicting.ranking import RankedVariant, Ranking, with_ties
from perfmodel.report import sweeps
from perfmodel.report.sweeps import leads_lines, ranking_text, sweep_records, sweep_table, ties_document, ties_text


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


def test_a_row_for_each_size_and_variant_or_for_each_size_with_its_winner():
    assert [
        ["n", "m", "variant", "predicted", "interval"], ["8", "1", "a", "1", "ms", "500", "us", "to", "inf", "s"],
        ["8", "1", "b", "2", "ms", "1", "ms", "to", "inf", "s"],
        ["9", "1", "b", "1", "ms", "500", "us", "to", "inf", "s"], ["9", "1", "a", "breaks", "an", "assumption", "-"],
    ] == rows(sweep_table(POINTS).text())  # fmt: skip
    narrow = sweep_table(POINTS).text(36).split("\n\n")
    assert ["predicted", "interval"] == [block.split("\n")[0].split()[-1] for block in narrow]
    alone = sweep_table([Ranking([variant("a", 1e-3)], sizes={"n": 8})]).text()
    assert "variant" not in alone
    assert [
        ["n", "m", "fastest", "sure", "ties", "with", "b", "a"],
        ["8", "1", "a", "75.0", "%", "b", "2", "ms", "1", "ms"], ["9", "1", "b", "100.0", "%", "-", "1", "ms", "-"],
    ] == rows(sweeps.winners_table(POINTS).text())  # fmt: skip


PLACES = ({"a": KernelPoint("a", "", "", 4e6, 8e6, 1e-3, 5e-4, "memory")}, {})


def test_rates_are_before_the_interval_and_before_the_times():
    rates = ["GFLOP/s", "GB/s", "of", "the", "roof"]
    every = rows(sweep_table(POINTS, PLACES).text())
    assert ["n", "m", "variant", "predicted", *rates, "interval"] == every[0]
    assert ["8", "1", "a", "1", "ms", "4", "8", "50.0", "%"] == every[1][:9]
    assert ["1", "ms", "-", "-", "-"] == every[3][3:8]
    winners = rows(sweeps.winners_table(POINTS, PLACES).text())
    assert ["n", "m", "fastest", "sure", "ties", "with", *rates, "b", "a"] == winners[0]
    assert ["8", "1", "a", "75.0", "%", "b", "4", "8", "50.0", "%", "2", "ms", "1", "ms"] == winners[1]
    assert ["-", "-", "-", "-", "1", "ms", "-"] == winners[2][-7:]
    (first, *_) = csv.DictReader(StringIO(sweep_table(POINTS, PLACES).csv()))
    assert ("4000000000.0", "8000000000.0", "0.5") == tuple(first[name] for name in (one.key for one in sweeps.RATES))
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
    expected = "n from 1 to 9: a or b, which cannot be distinguished (a to 4, then b; ties with c at both ends)"
    assert [expected] == lines_of(two, **everywhere)
    back = (*two, ("a", 10, 12), ("d", 13, 20))
    more = {**everywhere, "n9": "ba", "n10": "ab", "n12": "ab"}
    assert [
        "n from 1 to 12: a or b, which cannot be distinguished (2 changes; ties with c at 1)", "n from 13 to 20: d",
    ] == lines_of(back, **more)  # fmt: skip
    assert ["n from 1 to 4: a", "n from 5 to 9: b"] == lines_of(two)


def test_csv_and_records_hold_everything():
    found = list(csv.DictReader(StringIO(sweep_table(POINTS, withheld={"c": "never measured"}).csv())))
    assert ["a", "b", "b", "a", "c"] == [row["variant"] for row in found]
    assert ["1", "2", "1", "", ""] == [row["place"] for row in found]
    assert ["", "", "", "breaks an assumption", "never measured"] == [row["problem"] for row in found]
    expected = {"seconds": "0.001", "low_s": "0.0005", "high_s": "inf", "fastest": "0.75"}
    assert expected.items() <= found[0].items()
    assert "0.001" == found[0]["term.launches"]
    records = sweep_records(POINTS)
    assert [0.0005, None] == records[0]["variants"][0]["interval"]
    assert ["a"] == records[1]["broken"]


SCATTER = Scatter(deviation=0.1, cells=9)


def ranked(**seconds: float):
    return with_ties([RankedVariant(name, time, (time / 2, 2 * time)) for name, time in seconds.items()], SCATTER)


def test_a_table_with_ties_and_with_rates_before_the_interval():
    expected = """\
variant  seconds  times the best  fastest  tie         interval
tiled       1 ms            1.00   89.1 %  tie   500 us to 2 ms
naive    1.19 ms            1.19   10.9 %  tie  595 us to 2.38 ms
far         9 ms            9.00    0.0 %       4.5 ms to 18 ms"""
    found = ranking_text(ranked(tiled=1e-3, naive=1.19e-3, far=9e-3))
    assert [line.split() for line in expected.splitlines()] == [line.split() for line in found.splitlines()]
    point = KernelPoint("tiled", "", "", operations=4e6, bytes=8e6, seconds=1e-3, bound_s=5e-4, bound="memory")
    lines = ranking_text(ranked(tiled=1e-3, far=9e-3), points={"tiled": point}).splitlines()
    assert ["4", "8", "50.0", "%", "500", "us", "to", "2", "ms"] == lines[1].split()[-9:]
    assert ["-", "-", "-", "4.5", "ms", "to", "18", "ms"] == lines[2].split()[-8:]


def test_ties_in_words_and_as_a_document():
    by = "(errors between variants of one kernel scatter by a factor of 1.11)"
    two = ranked(tiled=1.0, naive=1.1, far=9.0)
    expected = f"tiled and naive cannot be distinguished {by}; measure them to have the fastest with 90%"
    assert expected == ties_text(two, SCATTER, 0.9)
    clear = ranked(tiled=1.0, naive=2.0)
    expected = f"nothing ties with tiled {by}; the first is the fastest with 100%, so none needs to be measured"
    assert expected == ties_text(clear, SCATTER, 0.9)
    many = ranked(**{f"v{i}": 1 + 1e-6 * i for i in range(20)})
    assert "v0, v1, v2, v3, v4, v5, v6, v7 and 12 more cannot be distinguished" in ties_text(many, SCATTER, 0.9)
    assert "" == ties_text(ranked(alone=1.0), SCATTER, 0.9)
    plain = [RankedVariant("a", 1.0), RankedVariant("b", 2.0)]
    assert "perfmodel fit" in ties_text(plain, None, 0.9)
    assert "not above zero" in ties_text(ranked(a=-1.0, b=1.0), SCATTER, 0.9)
    assert ties_document(plain, None, 0.9) is None is ties_document(ranked(a=-1.0), SCATTER, 0.9)
    found = json.loads(json.dumps(ties_document(two, SCATTER, 0.9)))
    expected = {
        "level": 0.9, "deviation": 0.1, "freedom": None, "tied": ["tiled", "naive"], "to_measure": ["tiled", "naive"],
    }  # fmt: skip
    assert expected == found
