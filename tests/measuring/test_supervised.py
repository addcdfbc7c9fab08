"""A campaign continues after a configuration that ends its process."""

import json
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


ALL = {(factor, n): "ok" for factor in (2, 3) for n in (256, 512, 1024)}
OTHERS = {place: status for place, status in ALL.items() if place[0] == 2}
CAUSE = 'scale {"factor":3}: the process died of SIGABRT while this was under way; '


@pytest.mark.parametrize(("where", "expected"), [
    ("measured", ALL | {(3, 512): "runtime"}),
    pytest.param("trial", OTHERS | {(3, 256): "runtime"}, marks=pytest.mark.nightly),
    ("build", OTHERS | {(3, 256): "runtime"}),
])  # fmt: skip
def test_a_configuration_that_ends_the_process_twice_is_recorded(tmp_path, monkeypatch, where, expected):
    monkeypatch.setenv("CLOCK", "2001-02-03T04:05:06+00:00")  # an older time: a clock may be set back
    status, messages, deaths = campaign(tmp_path / "m", where, "os.abort()")
    assert (0, 2) == (status, deaths), messages
    assert expected == statuses(tmp_path / "m")
    (row,) = (row for row in store.read(tmp_path / "m").rows if row.status != "ok")
    assert "the process died of SIGABRT while this was under way, twice" == row.message
    assert (where == "build") == (row.kernel_hash == "")
    assert [f"{CAUSE}tried again", f"{CAUSE}recorded, the rest goes on"] == messages


def test_a_recorded_configuration_that_ends_the_process_again_ends_the_command(tmp_path):
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


def test_the_first_interrupt_ends_a_child_and_it_ignores_the_second(tmp_path):
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


@pytest.mark.parametrize(("how", "expected"), [("os.kill(os.getpid(), 9)", 137), ("sys.exit(7)", 7)])
def test_a_process_that_the_user_ends_is_not_started_again(tmp_path, how, expected):
    program = """
import os, sys
from pathlib import Path
from perfmodel.measuring.supervised import under_way
from tests.store.test_files import measurement
with under_way(Path(sys.argv[1]), measurement):
    exec(sys.argv[2])
"""
    command = [sys.executable, "-c", program, str(tmp_path / "m"), how]
    assert expected == supervised.supervise(command, pytest.fail)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(("times", "expected"), [(1, 0), (2, 134)])
def test_after_two_deaths_between_configurations_the_command_ends(tmp_path, times, expected):
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


def test_a_process_reads_the_records_of_its_command(tmp_path, monkeypatch):
    earlier, own = measurement(kernel_hash="a"), measurement(kernel_hash="b")
    store.append(tmp_path, earlier)
    assert () == supervised.recorded_before(tmp_path)  # nobody supervises
    said: list[dict[str, dict[str, int]]] = []
    monkeypatch.setattr(supervised, "_report", said.append)
    monkeypatch.setenv(supervised.PIPE, "0")
    assert () == supervised.recorded_before(tmp_path)
    store.append(tmp_path, own)
    with (tmp_path / "measurements.jsonl").open("a") as file:
        file.write('{"torn')
    monkeypatch.setenv(supervised.STARTS, json.dumps(said[0]["starts"]))
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


@pytest.mark.parametrize(("whole", "status", "said"), [
    ("end_result(3)", 3, "the process died of SIGABRT after its result"),
    ("", 134, "the process died of SIGABRT while it printed its result; run it again"),
])  # fmt: skip
def test_a_death_after_the_result_starts_nothing_again(tmp_path, whole, status, said):
    told: list[str] = []
    program = PRINTER.format(whole=whole)
    assert status == supervised.supervise([sys.executable, "-c", program, str(tmp_path / "starts")], told.append)
    assert ("x", [said]) == ((tmp_path / "starts").read_text(), told)
