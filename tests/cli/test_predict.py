"""``perfmodel predict``: what it prints, reasons, statistics from data, devices that nobody measured, and bad input."""

import json
import shutil
from dataclasses import replace
from itertools import product
from json import dumps, loads
from pathlib import Path

import pytest

from perfmodel.analyses.balance import judge_balance
from perfmodel.analyses.benefits import potential_benefits
from perfmodel.calibration import recommended
from perfmodel.counts import count
from perfmodel.facts import DeviceFacts, published
from perfmodel.io import shipped
from perfmodel.kernels import load_kernel_file
from perfmodel.opencl import Device
from perfmodel.predicting import transfer
from perfmodel.predicting.model import load
from tests.cli.conftest import OFFSETS
from tests.cli.program import document, invoke, ran, refused, seconds
from tests.machine import ROOT
from tests.predicting.test_transfer import GPU
from tests.recorded import POCL


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
    assert "the launch is not known separately" in refused(perfmodel("predict", *arguments, "--clock", "device"))
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


@pytest.mark.parametrize(("part", "arguments"), [
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
])  # fmt: skip
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
    said = refused(perfmodel(*asked))
    assert "no weights were found of the device in use, 'Board 7' of A Platform, driver 1.2" in said
    Path("weights.json").rename(folder / "stevens_kloeckner_2016.json")
    found = ran(perfmodel(*asked))
    assert "perfmodel: weights of Board 7: data/board/stevens_kloeckner_2016.json (your own)\n" == found.stderr
    named = perfmodel(*asked, "-w", "data/board/stevens_kloeckner_2016.json")
    assert found.stdout == named.stdout
    shown_facts = perfmodel(*asked, "--json")
    assert "" == shown_facts.stderr
    assert str(folder / "stevens_kloeckner_2016.json") == document(shown_facts)["weights"]
    assert "data/board" in perfmodel("rank", "variants.py", "-p", "n=4096").stderr


WORK_DEPTH, GPUPERF = (str(POCL / f"{name}.json") for name in ("work_depth", "gpuperf"))


def test_the_balance_in_words_and_numbers(perfmodel):
    text = perfmodel("predict", "kernel.py", "-p", "n=1048576", "-w", WORK_DEPTH, "--why").stdout
    # Each of 2^20 work-items loads 4 B, adds, and stores 4 B: 8388608 B, and an addition and a load for 8 B.
    assert "bound by memory bandwidth (8 MiB must move" in text
    found = document(perfmodel("predict", "kernel.py", "-p", "n=4096", "-w", WORK_DEPTH, "--why", "--json"))
    (why,) = found["why"].values()
    model, (unit,) = load(WORK_DEPTH), load_kernel_file(Path("kernel.py")).variants.values()
    balance = judge_balance(model, count(unit, model.fitted.subgroup_size), {"n": 4096})
    assert (balance.work, balance.depth, balance.transfers) == (why["work"], why["depth"], why["transfers"])


def test_the_benefits_of_each_variant(perfmodel):
    options = "-p", "n=4096", "-w", GPUPERF, "--why"
    found = document(perfmodel("predict", "variants.py", *options, "--json"))
    assert set(found["why"]) == {row["variant"] for row in found["predictions"]}
    model, units = load(GPUPERF), load_kernel_file(Path("variants.py")).variants
    for name, why in found["why"].items():
        saved = potential_benefits(model, count(units[name], model.fitted.subgroup_size), {"n": 4096})
        assert pytest.approx((saved.itilp_s, saved.memlp_s)) == (why["itilp_s"], why["memlp_s"])
        assert "at most these times could be saved" in why["text"]


def test_the_family_in_use_shows_what_bounds_a_kernel_and_what_to_try(perfmodel):
    """Its own largest term, the roofs, and the two other models whose weights lie beside it."""
    options = "predict", "kernel.py", "-p", "n=1048576", "-w", str(POCL / "bottleneck.json"), "--why"
    text = perfmodel(*options).stdout
    for part in ("By this model: its largest term is ", "by its memory bandwidth", "By work and depth: "):
        assert part in text
    found = document(perfmodel(*options, "--json"))
    (why,), (row,) = found["why"].values(), found["predictions"]
    assert f"{100 * row['share_of_roof']:.1f} % of what the device allows" in why["bounds"][1]
    assert why["advice"]
    assert not any("gpuperf" in line for line in why["advice"])  # the device is a CPU
    assert all(f"Try: {line}" in text for line in why["advice"])
    text = perfmodel("predict", "variants.py", "-p", "n=1048576", "-w", str(POCL / "bottleneck.json"), "--why").stdout
    assert 3 == text.count("By this model: ")
    assert 1 == text.count("\ntry: ")


PRODUCT = str(ROOT / "docs" / "lab" / "gallery" / "sparse_product.py")
WEIGHTS = str(shipped("fitted_weights") / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json")
STATISTICS = ("--statistics", "j=16")  # rows of 8 to 24 entries, two of them 32 together


def run(*arguments: str):
    return invoke(*arguments, "--weights", WEIGHTS, "--variant", "wide")


@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")], ids=["one process", "two processes"])
def test_statistics_come_from_the_arguments_of_the_file(jobs: tuple[str, ...]) -> None:
    found = ran(run("predict", PRODUCT, "-p", "n=1024", "--json", *jobs))
    given = run("predict", PRODUCT, "-p", "n=1024", "--json", *STATISTICS, "--statistics", "x:span=1024")
    seconds = [json.loads(each.stdout)["predictions"][0]["seconds"] for each in (found, given)]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.05)  # the span of random columns is a little below n


def test_several_sizes_need_statistics() -> None:
    said = refused(run("predict", PRODUCT, "-p", "n=1024,2048", "--csv"))
    assert "the trip count of loop 'j' depends on data; give --statistics j=<number>" in said


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
    result = ran(card(*ASKED, "--facts", "a100"))
    first, *rest = result.stdout.splitlines()
    title = f"stevens_kloeckner_2016 on {A100.name}, by facts, with weights of stand-in, n=4096"
    assert f"{title}, times by the host's clock" == first
    assert any(line.startswith("note: no interval") for line in rest)
    assert any(line.startswith("a roofline by facts alone: ") and line.endswith("(memory)") for line in rest)
    assert "of all gpus with the most measured rows" in result.stderr


def test_weights_that_are_named_and_a_file_of_facts_that_is_not_another_device(card):
    by_file = card(*ASKED, "--facts", "a100", "-w", "fitted_weights/acme-card-1/stevens_kloeckner_2016.json")
    assert card(*ASKED, "--facts", "a100", "--device", "card-1").stdout == by_file.stdout
    Path("mine.yaml").write_text("facts:\n  device_type: {value: gpu, unit: '', source: a guess}\n")
    assert "weights of" not in card(*ASKED, "-w", "weights.json", "--facts", "mine.yaml").stdout


@pytest.mark.parametrize(("options", "expected"), [
    (("--device", "card-2", "--facts", "a100"), "no device matches 'card-2'"), (("--facts", "a101"), "a100"),
    (("--device", "a100"), "predict by its published facts: perfmodel predict --facts a100"),
])  # fmt: skip
def test_what_is_refused(card, options, expected):
    assert expected in refused(card(*ASKED, *options))
