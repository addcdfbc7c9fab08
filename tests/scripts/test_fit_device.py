"""A new device from health check to verdict, with a few kernels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from runpy import run_path

import pytest

from perfmodel import store
from perfmodel.opencl import find
from perfmodel.predict import load

ROOT = Path(__file__).parents[2]
FEW = {"measurement_kernels": ("empty", "scale_add", "stride1"), "test_kernels": ("stencil",)}


@pytest.fixture
def main(tmp_path):
    """The script's ``main``, over a few kernels."""
    for folder, names in FEW.items():
        (tmp_path / "root" / folder).mkdir(parents=True)
        for name in names:
            shutil.copy(ROOT / folder / f"{name}.py", tmp_path / "root" / folder)
    script = run_path(str(ROOT / "scripts" / "fit_device.py"))
    script["main"].__globals__["ROOT"] = tmp_path / "root"
    return script["main"]


@pytest.mark.device
@pytest.mark.slow
def test_a_device_in_one_command(main, tmp_path, capfd):
    assert 0 == main(["--quick", "--budget", "120", "--output", str(tmp_path / "out")]), capfd.readouterr().err
    device = find()
    folder = tmp_path / "out" / device.slug
    measured, checked = store.read(folder), store.read(folder / "test.jsonl")
    assert device.facts.hash == measured.facts.hash == checked.facts.hash
    assert {"empty", "scale_add", "stride1"} == {row.kernel for row in measured}
    assert {"stencil"} == {row.kernel for row in checked}
    model = load(folder / "stevens_kloeckner_2016.json")
    assert (len(measured), device.name) == (model.fitted.rows, model.device)
    printed = capfd.readouterr().out
    assert f"device that builds and runs a kernel: {device.name} ({device.platform})" in printed
    text = (folder / "verdict.txt").read_text()
    assert text in printed
    assert "verdict: usable neither to time nor to rank" in text  # one test kernel is not enough for more
    assert f"of {len(checked)} cases predicted" in text
    assert "withheld; never measured: " in text
    assert "perfmodel.device/1" == json.loads((folder / "device.json").read_text())["schema"]


@pytest.mark.device
def test_an_unknown_device_is_answered_in_one_line(main, tmp_path, capfd):
    assert 2 == main(["--device", "no such device", "--output", str(tmp_path / "out")])
    error = capfd.readouterr().err
    assert 1 == len(error.splitlines())
    assert "no such device" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.device
def test_the_store_of_another_device_is_left_alone(main, tmp_path, capfd):
    device = find()
    folder = tmp_path / "out" / device.slug
    folder.mkdir(parents=True)
    document = {**device.facts.to_json(), "platform": "another"}
    (folder / "device.json").write_text(json.dumps(document))
    assert 2 == main(["--quick", "--output", str(tmp_path / "out")])
    assert "(another), not of" in capfd.readouterr().err
    assert {"device.json", "measurements.jsonl"} >= {path.name for path in folder.iterdir()}
