"""A campaign goes on after a configuration that kills its process; nobody else is condemned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.measuring import supervised
from tests.machine import ROOT, device
from tests.store.test_files import measurement

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]

# In place of a driver: `{where}` ends the process for one of the configurations.
CAMPAIGN = """
import os, signal, sys, time
from pathlib import Path
from perfmodel.measuring.supervised import follow_supervisor, supervise

folder, where, how = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
signal.signal(signal.SIGINT, signal.default_int_handler)  # where the tests' caller ignores it
if not follow_supervisor():
    again = [sys.executable, *sys.orig_argv[1:]]
    sys.exit(supervise(again, lambda message: print(message, flush=True)))

from dataclasses import replace
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.bench import Timekeeper
from tests.campaigns import SCALE, measured

def measured_deadly(self, configuration, place=None):
    if (configuration.subject.variant, configuration.parameters) == ({"factor": 3}, {"n": 512}):
        die()
    return whole(self, configuration, place)

def trial_deadly(self, subject, parameters):
    if subject.variant == {"factor": 3}:
        die()
    return whole(self, subject, parameters)

def build_deadly(factor, **others):
    if factor == 3:
        die()
    return SCALE.build(factor, **others)

def die():
    folder.joinpath("deaths").open("a").write("x")
    exec(how)

if "CLOCK" in os.environ:
    from perfmodel.measuring import timing
    timing.now = lambda unit: os.environ["CLOCK"]
kernel = SCALE
if where == "build":
    kernel = replace(SCALE, build=build_deadly)
else:
    place, deadly = {"measured": (Timekeeper, measured_deadly), "trial": (Bench, trial_deadly)}[where]
    whole = getattr(place, where)
    setattr(place, where, deadly)
measured(folder, kernel)
"""


def campaign(folder: Path, where: str, how: str) -> tuple[int, list[str], int]:
    """Status, messages and deaths of a supervised campaign."""
    device()  # is found and checked here, once for all processes of all campaigns
    folder.mkdir()
    command = [sys.executable, "-c", CAMPAIGN, str(folder), where, how]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    return ended.returncode, ended.stdout.splitlines(), len((folder / "deaths").read_text())


def statuses(folder: Path) -> dict[tuple[int, int], str]:
    rows = store.read(folder).rows
    assert len(rows) == len({row.key for row in rows})
    return {(row.variant["factor"], row.parameters["n"]): row.status for row in rows}


def test_who_kills_the_process_twice_is_recorded_and_the_rest_is_measured(tmp_path):
    status, said, deaths = campaign(tmp_path / "m", "measured", "os.abort()")
    assert (0, 2) == (status, deaths), said
    expected = {(factor, n): "ok" for factor in (2, 3) for n in (256, 512, 1024)} | {(3, 512): "runtime"}
    assert expected == statuses(tmp_path / "m")
    (row,) = (row for row in store.read(tmp_path / "m").rows if row.status != "ok")
    assert "the process died of SIGABRT while this was under way, twice" == row.message
    name = 'scale {"factor":3}: the process died of SIGABRT while this was under way; '
    assert [f"{name}tried again", f"{name}recorded, the rest goes on"] == said


def test_a_death_while_sizes_are_chosen_costs_that_variant_only(tmp_path):
    status, said, deaths = campaign(tmp_path / "m", "trial", "os._exit(0)")
    assert (0, 2) == (status, deaths), said
    assert "the process died of os._exit(0) while this was under way; tried again" in said[0]
    expected = {(2, n): "ok" for n in (256, 512, 1024)} | {(3, 256): "runtime"}
    assert expected == statuses(tmp_path / "m")
    assert 2 == len(said)


def test_a_crash_in_build_is_recorded_like_one_at_run_time(tmp_path):
    status, said, deaths = campaign(tmp_path / "m", "build", "os.abort()")
    assert (0, 2) == (status, deaths), said
    assert {(2, n): "ok" for n in (256, 512, 1024)} | {(3, 256): "runtime"} == statuses(tmp_path / "m")
    (row,) = (row for row in store.read(tmp_path / "m").rows if row.status != "ok")
    assert ("", "the process died of SIGABRT while this was under way, twice") == (row.kernel_hash, row.message)


def test_a_clock_that_is_set_back_starts_nothing_again(tmp_path, monkeypatch):
    """Records of this command are older than it, by the clock; a death without code is known all the same."""
    monkeypatch.setenv("CLOCK", "2001-02-03T04:05:06+00:00")
    status, said, deaths = campaign(tmp_path / "m", "build", "os.abort()")
    assert (0, 2, 2) == (status, deaths, len(said)), said
    assert {(2, n): "ok" for n in (256, 512, 1024)} | {(3, 256): "runtime"} == statuses(tmp_path / "m")


def test_a_configuration_that_is_recorded_and_ends_the_process_again_is_the_last(tmp_path):
    """As where a store forgets: no other start would bring anything new."""
    program = """
import os, sys
from pathlib import Path
from perfmodel.measuring.supervised import under_way
from tests.store.test_files import measurement
with under_way(Path(sys.argv[1]), measurement):
    os.abort()
"""
    said: list[str] = []
    assert 134 == supervised.supervise([sys.executable, "-c", program, str(tmp_path / "m")], said.append)
    assert ["tried again", "recorded, the rest goes on"] == [text.partition("; ")[2] for text in said]


def test_an_interrupt_of_the_supervisor_alone_ends_the_campaign(tmp_path):
    status, said, deaths = campaign(tmp_path / "m", "measured", "os.kill(os.getppid(), 2); time.sleep(30)")
    assert (130, 1, [supervised.INTERRUPT]) == (status, deaths, said)
    assert {"ok"} >= set(statuses(tmp_path / "m").values())


def test_the_first_interrupt_ends_a_child_and_the_second_disturbs_nothing(tmp_path):
    from perfmodel.measuring.supervised import supervise

    program = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from perfmodel.measuring.supervised import follow_supervisor
follow_supervisor()
try:
    os.kill(os.getpid(), 2)
    time.sleep(30)
finally:
    os.kill(os.getpid(), 2)
    open(sys.argv[1], "w").write("whole")
    os._exit(3)
"""
    assert 3 == supervise([sys.executable, "-c", program, str(tmp_path / "said")], pytest.fail)
    assert "whole" == (tmp_path / "said").read_text()


def test_who_kills_the_process_once_is_measured(tmp_path):
    once = "(folder / 'deaths').stat().st_size > 1 or os.abort()"
    status, said, deaths = campaign(tmp_path / "m", "measured", once)
    assert (0, 2, 1) == (status, deaths, len(said))
    assert {(factor, n): "ok" for factor in (2, 3) for n in (256, 512, 1024)} == statuses(tmp_path / "m")


@pytest.mark.parametrize(("how", "expected"), [("os.kill(os.getpid(), 9)", 137), ("sys.exit(7)", 7)])
def test_a_process_that_a_person_ends_condemns_nothing_and_is_not_started_again(tmp_path, how, expected):
    status, said, deaths = campaign(tmp_path / "m", "measured", how)
    assert (expected, 1, []) == (status, deaths, said)
    assert {"ok"} >= set(statuses(tmp_path / "m").values())


def test_a_campaign_without_supervisor_says_nothing():
    from perfmodel.measuring.supervised import PIPE, spent_s, under_way

    assert PIPE not in os.environ
    assert 0.0 == spent_s()
    with under_way(Path("no such store"), lambda: pytest.fail("nobody asked")):
        pass


@pytest.mark.parametrize(("times", "expected"), [(1, 0), (2, 134)])
def test_a_death_between_configurations_is_forgiven_once_in_a_row(tmp_path, times, expected):
    from perfmodel.measuring.supervised import supervise

    program = f"""
import os, pathlib
deaths = pathlib.Path({str(tmp_path / "deaths")!r})
deaths.open("a").write("x")
if deaths.stat().st_size <= {times}:
    os.abort()
"""
    said: list[str] = []
    assert expected == supervise([sys.executable, "-c", program], said.append)
    assert ["the process died of SIGABRT between configurations; tried again"] == said


def test_a_process_knows_what_its_command_recorded(tmp_path, monkeypatch):
    """Whatever their clocks say: it is what the store holds behind what it held at first."""
    earlier, own = measurement(kernel_hash="a"), measurement(kernel_hash="b")
    store.append(tmp_path, earlier)
    assert () == supervised.recorded_before(tmp_path)  # nobody supervises
    said: list[dict[str, dict[str, int]]] = []
    monkeypatch.setattr(supervised, "_write", said.append)
    monkeypatch.setenv(supervised.PIPE, "0")
    assert () == supervised.recorded_before(tmp_path)
    store.append(tmp_path, own)
    with (tmp_path / "measurements.jsonl").open("a") as file:
        file.write('{"torn')
    monkeypatch.setenv(supervised.BEGINS, json.dumps(said[0]["begins"]))
    assert (own,) == supervised.recorded_before(tmp_path)


PRINTER = """
import os, sys
from perfmodel.measuring.supervised import begin_result, end_result, follow_supervisor
follow_supervisor()
open(sys.argv[1], "a").write("x")
begin_result()
print("the result", flush=True)
{whole}
os.abort()
"""


@pytest.mark.parametrize(
    ("whole", "status", "said"),
    [
        ("end_result(3)", 3, "the process died of SIGABRT after it printed its result"),
        ("", 134, "the process died of SIGABRT while it printed its result; run it again"),
    ],
)
def test_who_dies_after_its_result_is_not_started_again(tmp_path, whole, status, said):
    told: list[str] = []
    program = PRINTER.format(whole=whole)
    assert status == supervised.supervise([sys.executable, "-c", program, str(tmp_path / "starts")], told.append)
    assert ("x", [said]) == ((tmp_path / "starts").read_text(), told)


def test_half_a_line_of_a_report_is_no_report():
    child = supervised._Child()
    child.read(b'{"store": "m", "record": {"kern')
    assert (None, False) == (child.report, child.printing)
