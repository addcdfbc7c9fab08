"""How ranked variants show themselves."""

from __future__ import annotations

from perfmodel.ranked import COLUMNS, RankedVariant, Ranking
from tests.test_display import Cells

RANKING = Ranking([
    RankedVariant("tiled", 1e-3, (5e-4, 2e-3), ("far <outside>",), {"load": 1e-3}, (), 0.75, True, True),
    RankedVariant("naive", 1.5e-3, None, (), {"load": 1e-3, "add": 5e-4}, ("op_x",), 0.25, True, False),
])  # fmt: skip


def test_it_is_a_tuple():
    assert RANKING == tuple(RANKING)
    assert hash(RANKING[0].name) == hash(RANKING[:1][0].name)
    assert "naive" == RANKING[1].name


def test_one_line():
    assert "<Ranking of 2 variants, fastest first: tiled, naive>" == repr(RANKING)
    assert "<RankedVariant tiled: 1 ms (500 us to 2 ms), tied>" == repr(RANKING[0])
    assert "<Ranking of 0 variants, fastest first: >" == repr(Ranking())
    many = Ranking([RankedVariant("x" * 30, 1.0)] * 20)
    assert len(repr(many)) < 120


def test_the_table():
    shown = Cells(RANKING._repr_html_())
    assert [
        ["variant", "seconds", "times the best", "fastest", "tie", "interval"],
        ["tiled", "1 ms", "1.00", "75.0 %", "tie", "500 us to 2 ms"],
        ["naive", "1.5 ms", "1.50", "25.0 %", "tie", "-"],
    ] == shown.rows
    assert ["tiled: far <outside>"] == shown.notes
    assert [("variant", "seconds", "times the best", "interval")] == Ranking().table


def test_the_frame():
    frame = RANKING.to_frame()
    assert [*COLUMNS, "term.load", "term.add"] == list(frame.columns)
    assert ["tiled", "naive"] == frame["variant"].tolist()
    assert [1e-3, 1.5e-3] == frame["seconds"].tolist()
    assert [5e-4] == frame["low_s"].dropna().tolist()
    assert [5e-4] == frame["term.add"].dropna().tolist()
    assert list(COLUMNS) == list(Ranking().to_frame().columns)
