"""perfmodel's warnings on the command line: two lines at most, whatever their number."""

from __future__ import annotations

import warnings

import pytest

from perfmodel.cli.notes import as_notes
from perfmodel.counts.quasipoly.at_sizes import UpperBoundWarning, warn_of_bound
from perfmodel.errors import PerfModelWarning, SetAsideWarning


def warned(count: int) -> None:
    for k in range(count):
        warnings.warn(f"file {k} is\ndamaged", SetAsideWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, []),
        (1, ["file 0 is damaged"]),
        (2, ["file 0 is damaged", "file 1 is damaged"]),
        (4, ["file 0 is damaged", "file 1 is damaged; file 2 is damaged; file 3 is damaged"]),
    ],
)
def test_the_first_note_and_all_others(capsys, count, said):
    with as_notes():
        warned(count)
    assert [f"perfmodel: note: {one}" for one in said] == capsys.readouterr().err.splitlines()


def fail_with_warnings():
    warned(2)
    raise KeyError


def test_the_others_are_told_before_an_error(capsys):
    with pytest.raises(KeyError), as_notes():
        fail_with_warnings()
    assert 2 == len(capsys.readouterr().err.splitlines())


def test_an_upper_bound_is_a_note(capsys):
    assert issubclass(UpperBoundWarning, PerfModelWarning)
    with as_notes():
        warn_of_bound({"n": 8})
    assert capsys.readouterr().err.startswith("perfmodel: note: the count is an upper bound at n=8: ")


def test_other_warnings_are_pythons(capsys):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with as_notes():
            warnings.warn("another", RuntimeWarning, stacklevel=1)
    assert (["another"], "") == ([str(one.message) for one in found], capsys.readouterr().err)
