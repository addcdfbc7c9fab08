"""Damaged files and odd options: each command ends with a status and a short message, and accepts nothing invalid.

Seeds are fixed, so that a failure comes again: ``python -m tests.fuzz.battery 17 18`` runs the trial of seed 17.
"""

import sys
import warnings

import pytest

from tests.fuzz import battery
from tests.fuzz.cases import FILES, OPTIONS

ORDINARY, NIGHTLY = 20, 2000
EVERY = 200  # trials that cover every case and command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    battery.restore(tmp_path)
    with battery.no_devices(), warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.showwarning = shown
        yield tmp_path


def shown(message, category, file, line, *rest):
    sys.stderr.write(warnings.formatwarning(message, category, file, line))


def failures(folder, seeds):
    found = {}
    for seed in seeds:
        one = battery.trial(seed)
        if problems := battery.problems(one, folder):
            found[str(one)] = problems
    return found


def test_every_command_ends_well(folder, monkeypatch):
    monkeypatch.setattr("perfmodel.cluster.ANSWERS_S", 0.2)  # no odd address is a scheduler's
    assert {} == failures(folder, range(ORDINARY))


@pytest.mark.nightly
@pytest.mark.parametrize("first", range(0, NIGHTLY, 500))
def test_every_command_ends_well_many_times(folder, first):
    seeds = range(ORDINARY + first, ORDINARY + first + 500)
    assert {} == failures(folder, seeds)


@pytest.mark.nightly
def test_the_first_trials_hold_every_case_and_every_command():
    trials = [battery.trial(seed) for seed in range(EVERY)]
    assert {case.name for case in FILES} <= {one.case.name for one in trials if one.how != "options"}
    assert {case.name for case in OPTIONS} <= {one.case.name for one in trials if one.how == "options"}
    assert set(battery.commands()) == {battery.command_of(case) for case in OPTIONS}
    assert {path for case in FILES for path in case.damaged} <= {path for one in trials for path in one.files}


@pytest.mark.nightly
@pytest.mark.parametrize("case", FILES, ids=lambda case: case.name)
def test_undamaged_files_are_accepted(folder, case):
    one = battery.Trial(-1, case, "as they are", case.arguments, {})
    ended = battery.run(one.arguments)
    assert 0 == ended.status, ended
    assert [] == battery.judged(one, ended, folder)


@pytest.mark.parametrize(("ended", "said"), [
    (battery.Ended(0, "", "", "Traceback ..."), "Traceback"),
    (battery.Ended(3, "", "perfmodel: error: no.\n"), "status 3"), (battery.Ended(2, "", "a\nb\nc\nd\n"), "4 lines"),
    (battery.Ended(2, "", ""), "no message"),
    (battery.Ended(2, "", "x.py:1: RuntimeWarning: overflow\n"), "a warning of Python"),
    (battery.Ended(0, '{"predictions": [{"seconds": 1.0}]}', ""), "accepted: 1.0 s"),
    (battery.Ended(0, "[NaN]", ""), "accepted: NaN"),
])  # fmt: skip
def test_the_judge_sees_what_is_wrong(folder, ended, said):
    (case,) = (case for case in FILES if case.name == "predict")
    (problem,) = battery.judged(battery.Trial(-1, case, "nothing", case.arguments, {}), ended, folder)
    assert said in problem


def test_the_judge_sees_files_that_are_left_and_inputs_that_changed(folder):
    (folder / "store" / ".0123.new").write_text("half")
    (folder / "kernel.py").write_text("other")
    (case,) = (case for case in FILES if case.name == "predict")
    found = battery.unwanted(battery.Trial(-1, case, "nothing", case.arguments, {}), 2, folder)
    assert ["'kernel.py' was changed", "'store/.0123.new' was left"] == found
    battery.restore(folder)
    assert battery.originals() == {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def for_ever():
    while True:
        pass


def test_a_loop_without_end_is_stopped(monkeypatch):
    monkeypatch.setattr(battery, "CPU_S", 0.1)
    with pytest.raises(TimeoutError, match=r"no end after 0\.1 s"), battery.limited():
        for_ever()
