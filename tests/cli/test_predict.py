"""``perfmodel predict``: what it prints, and one line for bad input of commands that take kernels."""

from __future__ import annotations

from itertools import product
from json import dumps, loads
from pathlib import Path

import pytest

from perfmodel.calibration import recommended
from perfmodel.facts import DeviceFacts
from perfmodel.opencl import Device
from tests.cli.conftest import OFFSETS
from tests.cli.documents import document, seconds


def test_predict_prints_seconds_and_shares(perfmodel):
    found = document(perfmodel("predict", "kernel.py", "-p", "n=4096", "-w", "weights.json", "--json"))
    assert "perfmodel.prediction/1" == found["schema"]
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == found["predictions"][0]["seconds"]
    shares = [term["share"] for term in found["predictions"][0]["terms"].values()]
    assert pytest.approx(1) == sum(shares)
    text = perfmodel("predict", "kernel.py", "-p", "n=4096", "--weights", "weights.json").stdout
    assert "stevens_kloeckner_2016 on stand-in, n=4096, times by the host's clock" in text
    assert "launches" in text


def test_the_verdict_of_the_weights_is_above_the_times(perfmodel):
    verdict = "usable neither to time nor to rank"
    judged = {"family": "stevens_kloeckner_2016", "candidates": ["stevens_kloeckner_2016"], "verdict": verdict}
    Path("judged").mkdir()
    Path("judged/recommended.json").write_text(dumps({"schema": "perfmodel.recommended/1", **judged}))
    weights = Path("judged/stevens_kloeckner_2016.json")
    weights.write_bytes(Path("weights.json").read_bytes())
    for command, sizes in product(("predict", "rank"), ("n=4096", "n=1Ki,4Ki")):
        lines = perfmodel(command, "variants.py", "-p", sizes, "-w", str(weights)).stdout.splitlines()
        assert f"these weights are {verdict}" in lines[:2], (command, sizes)
    arguments = "predict", "kernel.py", "-p", "n=4096"
    assert verdict == document(perfmodel(*arguments, "-w", str(weights), "--json"))["verdict"]
    assert "these weights" not in perfmodel(*arguments, "-w", "weights.json").stdout


def test_times_of_both_clocks(perfmodel):
    arguments = ("kernel.py", "-p", "n=4096", "-w", "weights.json")
    assert "times by the host's clock" in perfmodel("predict", *arguments).stdout
    refused = perfmodel("predict", *arguments, "--clock", "device")
    assert 2 == refused.exit_code
    assert "the launch is not known separately" in refused.stderr
    weights = loads(Path("weights.json").read_text())
    Path("weights.json").write_text(dumps({**weights, "launch_s": 2e-5}))
    text = perfmodel("predict", *arguments).stdout
    assert "times by the host's clock, with the launch" in text
    assert "by the device's clock:" in text
    (host,) = document(perfmodel("predict", *arguments, "--json"))["predictions"]
    assert pytest.approx((seconds(4096, 128) + 2e-5, seconds(4096, 128))) == (host["seconds"], host["device_s"])
    found = document(perfmodel("predict", *arguments, "--clock", "device", "--json"))
    assert "device" == found["clock"]
    assert pytest.approx(seconds(4096, 128)) == found["predictions"][0]["seconds"]


@pytest.mark.parametrize("command", ["predict", "rank"])
def test_offsets_and_float_scalars_are_no_sizes(perfmodel, command):
    """The only size is n; an offset may be given too."""
    Path("offsets.py").write_text(OFFSETS)
    for given in ((), ("-p", "a_offset=16")):
        found = document(perfmodel(command, "offsets.py", "-p", "n=4096", *given, "-w", "weights.json", "--json"))
        rows = found["predictions"] if command == "predict" else found["variants"]
        assert pytest.approx(seconds(4096, 128), rel=1e-7) == rows[0]["seconds"]
    assert "kernel(n)" in perfmodel("count", "offsets.py").stdout
    assert "features at n=4096" in perfmodel("count", "offsets.py", "-p", "n=4096").stdout


def test_predict_ranks_variants_and_shows_the_withheld_one(perfmodel):
    arguments = ("predict", "variants.py", "-p", "n=4096", "-w", "weights.json", "--strict")
    text = perfmodel(*arguments).stdout
    assert "fastest first: large, small" in text
    assert "op_float32_mul" in text
    found = document(perfmodel(*arguments, "--json"))
    assert ["large", "small"] == [row["variant"] for row in found["predictions"]]
    assert [{"variant": "product", "unmeasured": ["op_float32_mul"]}] == found["withheld"]


def test_predict_takes_the_cost_of_a_relative(perfmodel):
    arguments = ("predict", "variants.py", "-p", "n=4096", "-w", "weights.json")
    note = "op_float32_mul was never measured on this device: taken as "
    for command in (arguments, ("rank", *arguments[1:])):
        text, found = perfmodel(*command).stdout, document(perfmodel(*command, "--json"))
        assert note in text.replace("\n", " ")
        assert [] == found["withheld"]
        rows = {row["variant"]: row for row in found.get("predictions", found.get("variants"))}
        (taken,) = rows["product"]["relatives"]
        assert ("op_float32_mul", "op_float32_add", False) == (taken["quantity"], taken["relative"], taken["measured"])
        assert taken["low"] < taken["ratio"] < taken["high"]
        assert [] == rows["small"]["relatives"]
        text = perfmodel(*command, "--statistics", "a[i] > 1=0.5").stdout.replace("\n", " ")
        assert "`perfmodel measure --for variants.py -p n=4096 --statistics 'a[i] > 1=0.5'` measures it" in text


@pytest.mark.parametrize(
    ("part", "arguments"),
    [
        ("'n'", ("predict", "kernel.py", "-w", "weights.json")),
        ("'n'", ("predict", "kernel.py", "-p", "n=-128", "-w", "weights.json")),
        ("'m'", ("predict", "kernel.py", "-p", "n=128", "-p", "m=1", "-w", "weights.json")),
        ("n=100", ("predict", "kernel.py", "-p", "n=100", "-w", "weights.json")),
        ("gone.json", ("predict", "kernel.py", "-p", "n=128", "-w", "gone.json")),
        ("huge", ("count", "variants.py", "--variant", "huge")),
        ("op_float32_mul", ("predict", "variants.py", "--variant", "product", "-p", "n=128",
                            "-w", "weights.json", "--strict")),
        ("'q'", ("count", "kernel.py", "--dtype", "q=float32")),
        ("--dtype 'a'", ("count", "kernel.py", "--dtype", "a")),
        ("gone.py", ("count", "gone.py")),
        ("syntax.py", ("count", "syntax.py")),
        ("kernel()", ("count", "neither.py")),
        ("nothing", ("fit", "--from", "nothing")),
        ("'-p n=ten' gives 'ten', which is not a number; give NAME=SIZES, as ",
         ("predict", "kernel.py", "-p", "n=ten", "-w", "weights.json")),
        ("roofine", ("fit", "--from", "nothing", "--family", "roofine")),
    ],
)
def test_bad_input_is_answered_in_one_line(perfmodel, part, arguments):
    Path("syntax.py").write_text("def kernel(:\n")
    Path("neither.py").write_text("x = 1\n")
    before = sorted(Path().rglob("*"))
    result = perfmodel(*arguments)
    assert 2 == result.exit_code
    assert "" == result.stdout
    lines = result.stderr.splitlines()
    assert 1 == len(lines)
    assert lines[0].startswith("perfmodel: error: ")
    assert part in lines[0]
    assert before == sorted(Path().rglob("*"))


def test_weights_of_the_device_in_use_need_no_path(perfmodel, tmp_path, monkeypatch):
    """A made-up device, calibrated into the user's folder."""
    board = DeviceFacts("Board 7", "A Platform", "1.2", ())
    folder = tmp_path / "data" / "board"
    folder.mkdir(parents=True)
    (folder / "device.json").write_text(dumps(board.to_json()))
    monkeypatch.setattr(recommended, "data_folder", lambda: tmp_path / "data")
    asked = ("predict", "kernel.py", "-p", "n=4096")
    without = perfmodel(*asked)
    assert (2, "") == (without.exit_code, without.stdout)
    assert "no OpenCL device was found to take the weights of; there are weights of: data/board (" in without.stderr
    monkeypatch.setattr(recommended, "identify", lambda selector: Device(0, board))
    refused = perfmodel(*asked)
    assert 2 == refused.exit_code
    assert "no weights were found of the device in use, 'Board 7' of A Platform, driver 1.2" in refused.stderr
    Path("weights.json").rename(folder / "stevens_kloeckner_2016.json")
    found = perfmodel(*asked)
    assert 0 == found.exit_code, found.stderr
    assert "perfmodel: weights of Board 7: data/board/stevens_kloeckner_2016.json (your own)\n" == found.stderr
    named = perfmodel(*asked, "-w", "data/board/stevens_kloeckner_2016.json")
    assert found.stdout == named.stdout
    shown_facts = perfmodel(*asked, "--json")
    assert "" == shown_facts.stderr
    assert str(folder / "stevens_kloeckner_2016.json") == document(shown_facts)["weights"]
    assert "data/board" in perfmodel("rank", "variants.py", "-p", "n=4096").stderr
