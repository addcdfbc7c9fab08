"""The map of families' errors: its rows, columns and texts."""

from __future__ import annotations

from dataclasses import replace

import pytest

import perfmodel as pm
from perfmodel.errors import OptionError
from perfmodel.report.plots import families_figure, picture_families, plot_families
from tests.compare.test_contenders_side_by_side import contenders
from tests.report.drawn import check_legible, new_axes


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


def test_one_map_on_axes_of_the_callers():
    given = new_axes()
    found = contenders()
    assert given is plot_families(found, given, protocol="A", title="mine")
    assert ("mine", (2, 4)) == (given.get_title(), given.images[0].get_array().shape)
    assert ["adding", "copying", "other", "all"] == [label.get_text() for label in given.get_xticklabels()]
    assert f"error, {found[0].device}, protocol B" == plot_families(found, new_axes()).get_title()


def test_numbers_can_be_read_on_their_colours():
    """An error of 0.1 % is yellow, and one far above 500 % dark violet; one that is not known has no colour."""
    exact, blind, _ = contenders()
    far = replace(blind, evaluations=tuple(
        replace(one, rows=tuple(replace(row, predicted=100 * row.measured) for row in one.rows))
        for one in blind.evaluations
    ))
    withheld = replace(blind, family="none", evaluations=tuple(
        replace(one, rows=tuple(replace(row, predicted=None) for row in one.rows)) for one in blind.evaluations
    ))
    drawn = plot_families([exact, far, withheld], new_axes(), protocol="A")
    colours = {int(text.get_position()[1]): text.get_color() for text in drawn.texts if text.get_position()[0] == 1}
    assert {0: "black", 1: "white", 2: "black"} == colours
    assert "-" in {text.get_text() for text in drawn.texts}


@pytest.mark.parametrize(
    ("found", "protocol", "said"),
    [
        (lambda: contenders()[2:], "A", "no family that was fitted"),
        (lambda: (*contenders(), replace(contenders()[0], device="other")), "A", "families of 2 devices"),
        (contenders, "C", "by protocol 'C'; choose one of A, B"),
    ],
)
def test_what_cannot_be_drawn(found, protocol, said):
    with pytest.raises(OptionError, match=said):
        plot_families(found(), new_axes(), protocol=protocol)


def test_nothing_overlaps():
    check_legible(pm.plot.families(contenders()))


def test_the_picture_is_written(tmp_path):
    picture_families([contenders()], tmp_path / "families.png")
    assert b"\x89PNG" == (tmp_path / "families.png").read_bytes()[:4]
