"""What surrounds a command: each trial ends with a status and a short message, whatever environment and files it meets.

Trials have numbers, so that a failure comes again: ``failures(folder, [17])`` runs the trial of number 17.
"""

from __future__ import annotations

import sys
import warnings

import pytest
from loopy.diagnostic import LoopyWarning

from tests.fuzz import battery, surroundings

EVERY, PART = 23, 8  # of the ordinary run: each 23rd trial


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    battery.restore(tmp_path)
    with battery.no_devices(), warnings.catch_warnings():
        warnings.showwarning = shown
        warnings.simplefilter("default")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):  # as Python itself ignores them
            warnings.simplefilter("ignore", kind)
        warnings.simplefilter("ignore", LoopyWarning)  # Loopy's words on a kernel reach its user
        yield tmp_path


def shown(message, category, file, line, *rest):
    sys.stderr.write(warnings.formatwarning(message, category, file, line))


def failures(folder, numbers):
    every, found = surroundings.trials(), {}
    for number in numbers:
        if problems := surroundings.problems(every[number], folder):
            found[f"{number}: {every[number]}"] = problems
    return found


def test_there_are_enough_trials_of_every_kind():
    every = surroundings.trials()
    kinds = {one.kind: sum(other.kind == one.kind for other in every) for one in every}
    assert len(every) >= 900
    assert len({(one.how, one.arguments) for one in every}) >= 900
    assert 16 <= len(kinds)
    often = {"environment", "form of a file", "kind of file", "odd kernel", "kernel file that acts", "two options"}
    assert often <= {one.kind for one in every[3::EVERY]} <= set(kinds)


def test_commands_end_well_whatever_surrounds_them(folder):
    """Each 23rd trial; those that start a program are for the night."""
    every = surroundings.trials()
    assert {} == failures(folder, [n for n in range(3, len(every), EVERY) if not every[n].shell])


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(PART))
def test_every_trial_ends_well(folder, part):
    assert {} == failures(folder, range(part, len(surroundings.trials()), PART))


def test_the_judge_sees_a_wrong_end(folder):
    case = surroundings.Odd("none", "nothing", ("count", "kernel.py", "--json"))
    for ended, said in ((battery.Ended(0, "{", ""), "believed"), (battery.Ended(3, "", "no.\n"), "status 3")):
        (problem,) = battery.judged(case.trial, ended, folder)
        assert problem.startswith(said)
