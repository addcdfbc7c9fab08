"""The commands' bar is silent where they are."""

from __future__ import annotations

import pytest

from perfmodel.cli.progress import Bar
from perfmodel.cli.settings import Settings, using


@pytest.mark.parametrize(("quiet", "expected"), [(False, ["counting: 1 steps", "counting: bad: no"]), (True, [])])
def test_with_quiet_it_says_nothing(quiet, expected, capsys):
    with using(Settings(quiet=quiet)):
        bar = Bar()
    bar.start("counting", 1)
    bar.advance("bad: no")
    assert expected == capsys.readouterr().err.splitlines()
