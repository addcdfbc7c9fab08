"""How families side by side show themselves."""

from __future__ import annotations

from perfmodel.compare.contenders import Contenders, records
from tests.compare.test_contenders_side_by_side import contenders
from tests.test_display import Cells


def test_families_side_by_side_as_a_table_and_a_frame():
    found = contenders()
    shown = Cells(found._repr_html_())
    assert ["family", "stevens_kloeckner_2016", "blind"] == [row[0] for row in shown.rows]  # the better one first
    assert "5 cases that every family predicts" in shown.caption
    assert shown.notes[0].startswith("not fitted: needy: ")
    frame = found.to_frame()
    own = frame[(frame["family"] == "blind") & (frame["protocol"] == "A") & (frame["kernel"] == "all")]
    assert [found[1].figures("A").error] == own["error"].tolist()


def test_no_family_was_fitted():
    (needy,) = none = Contenders(contenders()[2:])
    assert () == none.judged
    assert "no family was fitted" in Cells(none._repr_html_()).caption
    assert [needy.problem] == [row["problem"] for row in records(none)]
    assert [needy.problem] == none.to_frame()["problem"].tolist()
