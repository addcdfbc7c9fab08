"""The main job from end to end, as a user runs it, on a real device."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from perfmodel import measuring
from perfmodel.calibration.calibrate import CORE, fit_device
from perfmodel.calibration.recommended import recommended_weights, search_folders
from scripts import quickstart
from tests.machine import ROOT

QUICKSTART = ROOT / "scripts" / "quickstart.py"

#: The script with a few kernel classes and samples, short probes, and no waiting. Whichever family is
#: recommended, these classes exercise all that it needs for the test kernel.
SHORTENED = """
import runpy, sys
from dataclasses import replace
from perfmodel import measuring
from perfmodel.calibration import calibrate
from tests.measuring.probes.devices import SHORT

every, few = calibrate.discovered, ("empty", "scale_add", "transpose", "tile_neighbours", "transpose_variants")
calibrate.discovered = lambda *asked: [kernel for kernel in every(*asked) if kernel.name in few]
sampling = calibrate.sampling
calibrate.sampling = lambda campaign: (sampling(campaign)[0], sampling(campaign)[1][::150])
calibrate.BRIEF = SHORT
measuring.wait_until_quiet = lambda report: None
measuring.QUICK, calibrate.QUICK_CHECK = (
    replace(campaign, apart_s=0.0) for campaign in (measuring.QUICK, calibrate.QUICK_CHECK)
)
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.device
@pytest.mark.nightly
@pytest.mark.parametrize("python", [("-c", SHORTENED), ()], ids=["a few classes", "all classes"])
def test_the_main_job(tmp_path, python):
    command = [sys.executable, *python, str(QUICKSTART), "--output", str(tmp_path), "--budget", "600"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == result.returncode, result.stderr
    check_output(result.stdout, tmp_path)


@pytest.mark.device
@pytest.mark.usefixtures("one_process")
def test_the_main_job_with_recorded_measurements(tmp_path, monkeypatch, capsys):
    """tests/cli/test_calibrate.py measures a device as this script does."""

    def recorded(device, folder, campaign, progress, made_first):
        assert (measuring.QUICK.name, 600.0, True) == (campaign.name, campaign.budget_s, made_first)
        shutil.copytree(ROOT / "docs" / "data" / "quickstart", folder)
        return fit_device(folder, progress=progress, names=(CORE,))

    monkeypatch.setattr(measuring, "pin_threads", lambda: None)  # of this process
    monkeypatch.setattr(quickstart, "calibrate", recorded)
    assert 0 == quickstart.main(["--output", str(tmp_path), "--budget", "600"])
    check_output(capsys.readouterr().out, tmp_path)


def check_output(text, place):
    assert text.startswith("device: ")
    (folder,) = place.iterdir()
    weights = recommended_weights(folder)
    assert weights is not None
    document = json.loads(weights.read_text())
    assert f"\n{document['family']}, weights from {document['rows']} measurements:\n" in text
    for name in ("launches", "w_launched"):
        if name in document["weights"]:
            assert re.search(rf"^{name} +[-0-9.e+]+ +s/launch$", text, re.MULTILINE)
    assert re.search(r"^\w+ +(?:\w+=\w+ )+ .* %$", text, re.MULTILINE)
    assert re.search(r"^all +geometric mean +[0-9.]+ %$", text, re.MULTILINE)
    assert re.search(r"^wrote .* in \d+ s$", text, re.MULTILINE)
    assert (folder / "quickstart.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.device
def test_an_unknown_device_is_answered_in_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(measuring, "pin_threads", lambda: None)  # of this process
    assert 2 == quickstart.main(["--device", "no such device", "--output", str(tmp_path)])
    (line,) = capsys.readouterr().err.splitlines()
    assert "no such device" in line
    assert [] == list(tmp_path.iterdir())


def test_it_writes_where_predictions_look_for_weights(tmp_path, monkeypatch, capsys):
    """Not into the clone: raw data in ``fitted_weights`` stays as it is."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "1000")
    with pytest.raises(SystemExit):
        quickstart.main(["--help"])
    assert f"default: your data folder, {tmp_path / 'data' / 'perfmodel'}" in capsys.readouterr().out
    assert ("your own", tmp_path / "data" / "perfmodel") == search_folders()[0]
