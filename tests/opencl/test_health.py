"""The check of devices, also of drivers that crash, hang or are missing."""

import json
import subprocess
import sys
import time

import pytest

from perfmodel import opencl
from perfmodel.errors import BrokenDeviceError
from perfmodel.opencl import health
from tests.machine import fake_device
from tests.shadow import NO_DRIVERS, ROOT, fake_opencl, shadow

pytestmark = pytest.mark.device


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """Let new processes meet a driver that does this when it is listed."""

    def install(when_listed: str) -> None:
        monkeypatch.setenv("PYTHONPATH", shadow(tmp_path, "pyopencl", fake_opencl(when_listed)))

    return install


def test_check_of_a_working_device():
    health = opencl.check(opencl.find())
    assert health.ok
    assert "built and ran a kernel" == health.message
    assert 0 < health.seconds < 60


def test_modules_of_the_working_directory_are_not_run(tmp_path, monkeypatch):
    for name in ("json.py", "numpy.py", "pyopencl.py"):
        (tmp_path / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise SystemExit")
    monkeypatch.chdir(tmp_path)
    assert opencl.survey()
    assert not (tmp_path / "ran").exists()


def test_a_crashing_driver_ends_only_its_own_process(driver):
    driver("import os; os.abort()")
    health = opencl.check(fake_device(0, "crasher", "any"))
    assert not health.ok
    assert "crashed (SIGABRT)" in health.message
    with pytest.raises(BrokenDeviceError, match="SIGABRT"):
        opencl.survey()


def test_a_hanging_driver_is_given_up(driver):
    driver("import time; time.sleep(600)")
    start = time.perf_counter()
    health = opencl.check(fake_device(0, "sleeper", "any"), time_limit=1.0)
    assert not health.ok
    assert "gave no answer in 1 s" == health.message
    assert time.perf_counter() - start < 10


def test_no_driver_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", shadow(tmp_path, "pyopencl", NO_DRIVERS))
    assert () == opencl.survey()
    code = "from perfmodel import opencl\nassert () == opencl.devices()\nopencl.find()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert "NoDeviceError: no OpenCL device was found" in last
    assert "scripts/setup" in last
    assert "apt-get install pocl-opencl-icd" in last


@pytest.mark.parametrize(
    ("old", "new", "message"), [("kernel", "nonsense", "RuntimeError"), ("3*", "5*", "element 1 is ")]
)
def test_a_failed_build_and_a_wrong_result_are_unhealthy(monkeypatch, old, new, message):
    import pyopencl as cl

    real = cl.Program
    monkeypatch.setattr(cl, "Program", lambda context, source: real(context, source.replace(old, new)))
    answer = health.health(opencl.find())
    assert not answer["ok"]
    assert message in answer["message"]
    assert "\n" not in answer["message"]


def test_the_answer_is_the_last_line_of_standard_output(capsys):
    health.main("list")
    (listed,) = json.loads(capsys.readouterr().out.splitlines()[-1]).items()
    assert ("devices", [device.facts.to_json() for device in opencl.devices()]) == listed
