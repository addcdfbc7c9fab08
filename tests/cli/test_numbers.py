"""Sizes of each name that ``-p`` options give, and their combinations."""

from __future__ import annotations

import pytest

from perfmodel.cli.numbers import size_points, sizes
from perfmodel.errors import OptionError, SizeOptionError


@pytest.mark.parametrize("text", ["n", "n=", "=5", "n=1.5", "1=1", "n==1"])
def test_sizes_of_another_form_are_refused(text):
    with pytest.raises(SizeOptionError):
        sizes([text])


def test_points_of_several_names():
    assert ({"n": 1, "m": 5},) == size_points(["n=1", "m=5"])
    assert ({},) == size_points([]) == size_points(None, paired=True)
    expected = ({"n": 1, "m": 5}, {"n": 1, "m": 6}, {"n": 2, "m": 5}, {"n": 2, "m": 6})
    assert expected == size_points(["n=1,2", "m=5,6"])
    assert ({"n": 1, "m": 5, "k": 3}, {"n": 2, "m": 6, "k": 3}) == size_points(["n=1,2", "m=5,6,k=3"], paired=True)
    assert ({"n": 1, "m": 5},) == size_points(["n=1", "m=5"], paired=True)


@pytest.mark.parametrize(
    ("options", "paired", "part"),
    [
        (["n=1,2", "m=1,2,3"], True, "--zip was given with 2 of n and 3 of m"),
        (["n=1:200", "m=1:200"], False, "40000 combinations"),
        (["n=1", "n=2"], False, "gives 'n' twice"),
    ],
)
def test_points_that_are_refused(options, paired, part):
    with pytest.raises(OptionError, match=part):
        size_points(options, paired)


def test_one_size_of_each_name():
    assert {"n": 10**6, "m": 1024} == sizes(["n=1e6", "m=1Ki"])
    with pytest.raises(OptionError, match="-p gives 3 sizes of 'n'"):
        sizes(["n=1..4"])
