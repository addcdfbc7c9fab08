"""Figures and their files."""

from __future__ import annotations

import pytest

from perfmodel.errors import OutputError
from perfmodel.report.drawing import empty_figure, figure_bytes, write_figure


def test_a_figure_has_its_size_and_no_axes():
    figure = empty_figure(4.0, 3.0)
    assert ([4.0, 3.0], []) == (list(figure.get_size_inches()), figure.axes)


def test_the_name_gives_the_format(tmp_path):
    figure = empty_figure(1.0, 1.0)
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("picture", b"\x89PNG")):
        write_figure(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)


def test_dots_per_inch_are_the_size_in_pixels():
    # The header of a PNG has width and height as integers of 4 bytes from the byte 16 on.
    content = figure_bytes(empty_figure(2.0, 1.0), dpi=50)
    assert (100, 50) == (int.from_bytes(content[16:20], "big"), int.from_bytes(content[20:24], "big"))


def test_a_figure_that_cannot_be_written(tmp_path):
    with pytest.raises(OutputError):
        write_figure(empty_figure(1.0, 1.0), tmp_path)  # a folder
