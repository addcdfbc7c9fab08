"""The main job from end to end, as a user runs it, on a real device."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from perfmodel import measuring
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
@pytest.mark.parametrize(
    "python", [("-c", SHORTENED), pytest.param((), marks=pytest.mark.nightly)], ids=["a few classes", "all classes"]
)
def test_the_main_job(tmp_path, python):
    command = [sys.executable, *python, str(QUICKSTART), "--output", str(tmp_path), "--budget", "600"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == result.returncode, result.stderr
    assert result.stdout.startswith("device: ")
    (folder,) = tmp_path.iterdir()
    weights = recommended_weights(folder)
    assert weights is not None
    document = json.loads(weights.read_text())
    assert f"\n{document['family']}, weights from {document['rows']} measurements:\n" in result.stdout
    for name in ("launches", "w_launched"):
        if name in document["weights"]:
            assert re.search(rf"^{name} +[-0-9.e+]+ +s/launch$", result.stdout, re.MULTILINE)
    assert re.search(r"^\w+ +(?:\w+=\w+ )+ .* %$", result.stdout, re.MULTILINE)
    assert re.search(r"^all +geometric mean +[0-9.]+ %$", result.stdout, re.MULTILINE)
    assert re.search(r"^wrote .* in \d+ s$", result.stdout, re.MULTILINE)
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
