"""The map of families' errors: its rows, columns and texts."""

from __future__ import annotations

from perfmodel.report.families_picture import families_figure, picture_families
from tests.compare.test_side_by_side import contenders


def test_a_panel_for_each_protocol_with_an_error_for_each_family_and_kernel():
    found = contenders()
    by_a, by_b = families_figure([found]).axes
    for axes, protocol in ((by_a, "A"), (by_b, "B")):
        assert f"{found[0].device}, protocol {protocol}" == axes.get_title()
        assert ["stevens_kloeckner_2016", "blind"] == [label.get_text() for label in axes.get_yticklabels()]
        assert (2, 4) == axes.images[0].get_array().shape  # the family that cannot be fitted has no row
        assert 2 * 4 == len(axes.texts)
    assert ["adding", "copying", "other", "all"] == [label.get_text() for label in by_b.get_xticklabels()]
    assert [] == by_a.get_xticklabels()  # the lower panel has the names


def test_the_best_family_of_each_column_is_bold():
    by_a = families_figure([contenders()]).axes[0]
    bold = {(int(text.get_position()[0]), int(text.get_position()[1])) for text in by_a.texts
            if text.get_fontweight() == "bold"}  # fmt: skip
    assert {(0, 0), (1, 0), (2, 0), (3, 0)} == bold  # the exact family, of every kernel
    # Of two cases one is exact, which counts as 0.1 %, and one is planted at twice the time: 50 %.
    assert "2 %" == next(text.get_text() for text in by_a.texts if text.get_position() == (0, 0))


def test_the_picture_is_written(tmp_path):
    picture_families([contenders()], tmp_path / "families.png")
    assert b"\x89PNG" == (tmp_path / "families.png").read_bytes()[:4]
