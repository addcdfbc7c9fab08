"""``predict`` for a device that nobody measured, by its facts and the weights of another."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.calibration import recommended
from perfmodel.facts import published
from perfmodel.predicting import transfer
from tests.cli.documents import document, seconds
from tests.predicting.test_transfer import GPU

ASKED = ("predict", "kernel.py", "-p", "n=4096")
A100 = published("a100")


@pytest.fixture
def card(perfmodel, monkeypatch):
    """A folder of weights of a GPU with round numbers, and the runner of commands."""
    folder = Path("fitted_weights", "acme-card-1")
    folder.mkdir(parents=True)
    shutil.copy("weights.json", folder / "stevens_kloeckner_2016.json")
    name = json.loads(Path("weights.json").read_text())["device"]
    (folder / "device.json").write_text(json.dumps(replace(GPU, name=name).to_json()))
    monkeypatch.setattr(recommended, "search_folders", lambda: (("of the current folder", Path("fitted_weights")),))
    monkeypatch.setattr(transfer, "transfer_errors", dict)
    return perfmodel


def test_a_time_by_facts(card):
    """Additions follow the peaks, loads and stores the bandwidths, groups units and clocks, launches their times."""
    found = document(card(*ASKED, "--facts", "a100", "--device", "card-1", "--json"))
    assert (A100.name, "stand-in") == (found["device"], found["transferred_from"])
    here = found["predictions"][0]["terms"]
    there = document(card(*ASKED, "-w", "weights.json", "--json"))["predictions"][0]["terms"]
    assert pytest.approx(seconds(4096, 128)) == sum(term["seconds"] for term in there.values())
    factors = {
        "op_float32_add": 1.28e12 / A100.value("peak_flops_float32"), "global_load_32_stride1": 5e11 / 1.555e12,
        "work_groups": 10 * 1e9 / (108 * A100.value("clock_hz")), "launches": A100.value("launch_s") / 5e-6,
    }  # fmt: skip
    for name, factor in factors.items():
        assert pytest.approx(there[name]["seconds"] * factor) == here[name]["seconds"]
    # 4096 floats are loaded and stored, and stay in the second-level cache; that is what a roofline says
    assert pytest.approx(2 * 4 * 4096 / A100.value("l2_bandwidth_bytes_per_s")) == found["predictions"][0]["roofline_s"]


def test_what_is_printed(card):
    result = card(*ASKED, "--facts", "a100")
    assert 0 == result.exit_code, result.stderr
    first, *rest = result.stdout.splitlines()
    title = f"stevens_kloeckner_2016 on {A100.name}, by facts, with weights of stand-in, n=4096"
    assert f"{title}, times by the host's clock" == first
    assert any(line.startswith("note: no interval") for line in rest)
    assert any(line.startswith("a roofline by facts alone: ") and line.endswith("(memory)") for line in rest)
    assert "of all gpus with the most measured rows" in result.stderr


def test_weights_that_are_named(card):
    by_file = card(*ASKED, "--facts", "a100", "-w", "fitted_weights/acme-card-1/stevens_kloeckner_2016.json")
    assert card(*ASKED, "--facts", "a100", "--device", "card-1").stdout == by_file.stdout


def test_a_file_of_facts_is_not_another_device(card):
    Path("mine.yaml").write_text("facts:\n  device_type: {value: gpu, unit: '', source: a guess}\n")
    assert "weights of" not in card(*ASKED, "-w", "weights.json", "--facts", "mine.yaml").stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--device", "card-2", "--facts", "a100"), "no device matches 'card-2'"),
        (("--facts", "a101"), "a100"),
        (("--device", "a100"), "predict by its published facts: perfmodel predict --facts a100"),
    ],
)
def test_what_is_refused(card, options, expected):
    result = card(*ASKED, *options)
    assert 2 == result.exit_code
    assert expected in result.stderr
