"""Rankings as text, with the ties in words."""

from __future__ import annotations

import json

import pytest

from perfmodel.analyses.roofline import KernelPoint
from perfmodel.display import interval_text
from perfmodel.fitting.selection import Scatter
from perfmodel.predicting.ranking import RankedVariant, with_ties
from perfmodel.report.sweeps import ranking_table, ties_document, ties_text

SCATTER = Scatter(deviation=0.1, cells=9)


def ranked(**seconds: float):
    return with_ties([RankedVariant(name, time, (time / 2, 2 * time)) for name, time in seconds.items()], SCATTER)


def test_a_table_with_ties():
    expected = """\
variant  seconds  times the best  fastest  tie         interval
tiled       1 ms            1.00   89.1 %  tie   500 us to 2 ms
naive    1.19 ms            1.19   10.9 %  tie  595 us to 2.38 ms
far         9 ms            9.00    0.0 %       4.5 ms to 18 ms"""
    found = ranking_table(ranked(tiled=1e-3, naive=1.19e-3, far=9e-3))
    assert [line.split() for line in expected.splitlines()] == [line.split() for line in found.splitlines()]


def test_a_table_without_ties():
    lines = ranking_table([RankedVariant("a", 1.0), RankedVariant("b", 2.0)]).splitlines()
    assert [["variant", "seconds", "times", "the", "best", "interval"], ["a", "1", "s", "1.00", "-"]] == [
        line.split() for line in lines[:2]
    ]
    assert "-" == ranking_table([RankedVariant("a", -1.0)]).split()[-2]


def test_ties_in_words():
    by = "(errors between variants of one kernel scatter by a factor of 1.11)"
    two = ranked(tiled=1.0, naive=1.1, far=9.0)
    assert (
        f"tiled and naive cannot be told apart {by}; measure them to have the fastest with 90%"
        == ties_text(two, SCATTER, 0.9)
    )
    clear = ranked(tiled=1.0, naive=2.0)
    expected = f"nothing ties with tiled {by}; the first is the fastest with 100%, and none has to be measured"
    assert expected == ties_text(clear, SCATTER, 0.9)
    many = ranked(**{f"v{i}": 1 + 1e-6 * i for i in range(20)})
    assert "v0, v1, v2, v3, v4, v5, v6, v7 and 12 more cannot be told apart" in ties_text(many, SCATTER, 0.9)
    assert "" == ties_text(ranked(alone=1.0), SCATTER, 0.9)


def test_no_name_stands_twice_in_the_words():
    """Whether fewer variants are to be measured than tie, as many, or more."""
    for near in (1.0, 1.02, 1.1, 1.14, 1.17, 1.3):
        for level in (0.3, 0.6, 0.9, 0.99):
            found = with_ties([RankedVariant(f"v{i}", near**i) for i in range(5)], SCATTER, level)
            text = ties_text(found, SCATTER, level)
            assert all(text.count(variant.name) <= 1 for variant in found), text


def test_rates_stand_before_the_interval():
    point = KernelPoint("tiled", "", "", operations=4e6, bytes=8e6, seconds=1e-3, bound_s=5e-4, bound="memory")
    lines = ranking_table(ranked(tiled=1e-3, far=9e-3), points={"tiled": point}).splitlines()
    assert ["4", "8", "50.0", "%", "500", "us", "to", "2", "ms"] == lines[1].split()[-9:]
    assert ["-", "-", "-", "4.5", "ms", "to", "18", "ms"] == lines[2].split()[-8:]


def test_why_ties_cannot_be_told():
    plain = [RankedVariant("a", 1.0), RankedVariant("b", 2.0)]
    assert "perfmodel fit" in ties_text(plain, None, 0.9)
    assert "not above zero" in ties_text(ranked(a=-1.0, b=1.0), SCATTER, 0.9)
    assert ties_document(plain, None, 0.9) is None is ties_document(ranked(a=-1.0), SCATTER, 0.9)


def test_ties_as_a_document():
    found = json.loads(json.dumps(ties_document(ranked(tiled=1.0, naive=1.1, far=9.0), SCATTER, 0.9)))
    expected = {
        "level": 0.9, "deviation": 0.1, "freedom": None, "tied": ["tiled", "naive"], "to_measure": ["tiled", "naive"],
    }  # fmt: skip
    assert expected == found


@pytest.mark.parametrize(("interval", "text"), [(None, "-"), ((1e-3, 2.0), "1 ms to 2 s")])
def test_intervals(interval, text):
    assert text == interval_text(interval)
