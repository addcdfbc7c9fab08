"""``perfmodel time``: what it prints of two kernels that run on the device, and of those that do not."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perfmodel import store
from perfmodel.calibration import recommended
from perfmodel.cli import time as timing
from perfmodel.opencl import find
from tests.cli.conftest import OFFSETS, SCALE
from tests.cli.program import RUN, document, ran, refused, seconds
from tests.machine import device
from tests.shadow import ROOT

pytestmark = [pytest.mark.device, pytest.mark.usefixtures("times_are_believed")]

PAIR = SCALE + '''

def variants():
    return {"small": scale("out[i] = a[i] + 1", 64), "large": scale("out[i] = 1 + a[i]", 128)}
'''
WRONG = SCALE + '''

def variants():
    return {
        "right": scale("out[i] = a[i] + 1", 64), "wrong": scale("out[i] = a[i] + 2", 128),
        "right too": scale("out[i] = 1 + a[i]", 64),
        "odd": scale("out[i] = a[i] + 1", 2**20),
    }
'''
GATHER = '''
import loopy as lp
import numpy as np


def gather(factor):
    t_unit = lp.make_kernel(
        "{[i]: 0 <= i < n}",
        f"out[i] = a[index[i]*{factor}]",
        [
            lp.GlobalArg("out, a", np.float32, shape="n"), lp.GlobalArg("index", np.int32, shape="n"),
            lp.ValueArg("n", np.int32),
        ],
        assumptions="n >= 1 and n mod 64 = 0", lang_version=(2018, 2), name="gather",
    )
    return lp.split_iname(t_unit, "i", 64, outer_tag="g.0", inner_tag="l.0")


def arguments(n):
    return {"index": np.arange(n, dtype=np.int32)}
'''
ONCE = ("--visits", "1")
N = ("-p", "n=4096")


@pytest.fixture
def here(perfmodel, monkeypatch):
    """The commands; the device is not checked again by each, and no weights are found."""
    monkeypatch.setattr(recommended, "search_folders", lambda: ())
    used = device()
    monkeypatch.setattr(recommended, "identify", lambda name=None: used)
    monkeypatch.setattr("perfmodel.opencl.find", lambda name=None: find(name) if name == "H100" else used)
    Path("pair.py").write_text(PAIR)
    Path("wrong.py").write_text(WRONG)
    return perfmodel


def test_measured_next_to_predicted(here):
    weights = json.loads(Path("weights.json").read_text())  # of this machine's device now
    Path("weights.json").write_text(json.dumps({**weights, "device": device().name}))
    found = document(here("time", "pair.py", *N, "-w", "weights.json", *ONCE, "--json"))
    assert (timing.SCHEMA, device().name, "stevens_kloeckner_2016") == (
        found["schema"], found["device"], found["family"],
    )  # fmt: skip
    (point,) = found["points"]
    assert {"n": 4096} == point["sizes"]
    rows = {row["variant"]: row for row in point["variants"]}
    for name, group in (("small", 64), ("large", 128)):
        row = rows[name]
        assert ("ok", "") == (row["status"], row["message"])
        assert pytest.approx(seconds(4096, group), rel=1e-7) == row["predicted"]["seconds"]
        assert pytest.approx(row["predicted"]["seconds"] / row["seconds"]) == row["factor"]
        low, high = row["predicted"]["interval"]
        assert (low <= row["seconds"] <= (high or row["seconds"])) == row["inside"]
        terms = row["predicted"]["terms"].values()
        assert pytest.approx(row["predicted"]["seconds"]) == sum(term["seconds"] for term in terms)
    assert sorted(rows, key=lambda name: rows[name]["seconds"]) == point["order_measured"]
    assert ["large", "small"] == point["order_predicted"]
    assert pytest.approx(rows["large"]["seconds"] / min(row["seconds"] for row in rows.values()) - 1) == point["regret"]
    assert all(one["seconds"] > 0 for one in found["spent"])


def test_offsets_and_float_scalars_need_no_value(here):
    """Loopy's host code asks for the offsets that it adds."""
    Path("offsets.py").write_text(OFFSETS)
    found = document(here("time", "offsets.py", *N, "-w", "weights.json", *ONCE, "--json"))
    (row,) = found["points"][0]["variants"]
    assert ("ok", pytest.approx(seconds(4096, 128), rel=1e-7)) == (row["status"], row["predicted"]["seconds"])


def test_the_table_the_terms_and_what_is_printed_beforehand(here):
    result = ran(here("time", "kernel.py", *N, "-w", "weights.json", *ONCE))
    head, columns, row, *rest = result.stdout.splitlines()
    assert f"kernel on {device().name}, n=4096, predicted by stevens_kloeckner_2016 at 90%" == head
    assert ["variant", "measured", "predicted", "interval", "factor", "inside"] == columns.split()
    assert "kernel" == row.split()[0]
    assert "terms of kernel:" == rest[0]
    assert any(line.split()[0] == "launches" for line in rest[1:])
    assert "note: the predictions are of another device, 'stand-in'" in rest
    what = rf"1 size on {re.escape(device().name)}: 1 visit of up to 10 runs, about \d+ s with building"
    assert re.search(what, result.stderr)
    assert "terms of" not in here("time", "pair.py", *N, "-w", "weights.json", *ONCE).stdout
    assert "terms of small:" in here("time", "pair.py", *N, "-w", "weights.json", *ONCE, "--variant", "small").stdout


def test_without_weights_it_only_measures(here):
    result = ran(here("time", "pair.py", "-p", "n=2048,4096", *ONCE, "--variant", "large"))
    lines = result.stdout.splitlines()
    assert ["n", "variant", "measured", "GFLOP/s", "GB/s", "of", "the", "roof"] == lines[1].split()
    assert all(line.endswith(" -") for line in lines[2:4])  # no roof is known
    assert [["2048", "large"], ["4096", "large"]] == [line.split()[:2] for line in lines[2:4]]
    assert lines[-1].startswith("note: no predictions: no weights were found of the device in use, ")
    assert "perfmodel calibrate" in lines[-1]
    found = document(here("time", "pair.py", *N, *ONCE, "--json"))
    assert (None, None) == (found["family"], found["points"][0]["variants"][0]["predicted"])


def test_variants_that_fail_are_reported_and_the_rest_goes_on(here):
    result = ran(here("time", "wrong.py", *N, "-w", "weights.json", *ONCE))
    assert "note: wrong: correctness: its output differs from that of 'right': 'out' by up to 1 (" in result.stdout
    assert "note: outputs of 2 of 3 variants agree (right, right too); the others are wrong" in result.stdout
    assert "note: odd: constraint: " in result.stdout
    assert "note: wrong: prediction withheld" not in result.stdout


def test_variants_of_a_space_that_cannot_be_built_are_one_line(here):
    Path("space.py").write_text(SCALE + """

def kernel(width, tile):
    if tile == "none":
        raise ValueError("no such tile")
    return scale("out[i] = a[i] + 1", width if tile == "some" else 64 * width)


def space():
    return {"width": (512, 1024), "tile": ("some", "none", "all")}
""")
    result = ran(here("time", "space.py", "-p", "n=128Ki", "-w", "weights.json", *ONCE))
    assert ["width=1024", "width=512"] == sorted(line.split()[0] for line in result.stdout.splitlines()[2:4])
    assert result.stdout.splitlines()[4].startswith("order measured: ")
    left_out, large = (line for line in result.stdout.splitlines() if "tile=none" in line or "tile=all" in line)
    part = "note: 2 variants are left out (width=512 tile={0} and width=1024 tile={0}): "
    assert left_out.startswith(part.format("none") + "compile: ")
    assert large.startswith(part.format("all") + "constraint: ")
    assert "raised ValueError (no such tile)" in left_out
    assert left_out.endswith("correct kernel().")
    assert "tile=none" not in result.stderr  # once is enough
    found = document(here("time", "space.py", "-p", "n=128Ki", *ONCE, "--json"))["points"][0]
    assert 2 * ["compile"] + 2 * ["constraint"] + 2 * ["ok"] == sorted(one["status"] for one in found["variants"])


def test_of_two_that_differ_none_is_called_wrong(here):
    two = ("--variant", "right", "--variant", "wrong")
    result = ran(here("time", "wrong.py", *N, *ONCE, *two))
    part = "note: outputs differ without a majority, so no variant counts as right: right against wrong; add"
    assert part in result.stdout
    with Path("wrong.py").open("a") as file:
        file.write("\n\ndef reference(a, **others):\n    return {'out': a + 1}\n")
    found = document(here("time", "wrong.py", *N, *ONCE, *two, "--json"))["points"][0]
    assert {"right": "ok", "wrong": "correctness"} == {one["variant"]: one["status"] for one in found["variants"]}
    assert (True, ["right"]) == (found["outputs"]["reference"], found["outputs"]["right"])


def test_records_are_kept(here):
    result = here("time", "wrong.py", *N, *ONCE, "--keep", "kept")
    assert "records: kept" == result.stdout.splitlines()[-1]
    here("time", "wrong.py", *N, *ONCE, "--keep", "kept", "--variant", "right")
    read = store.read("kept")
    (row,) = (one for one in read if one.variant == {"variant": "right"})
    assert ("wrong", {"variant": "right"}, {"n": 4096}, 2) == (row.kernel, row.variant, row.parameters, len(row.visits))
    assert 4096 // 64 == read.counts[row.counts_hash].work_groups()(n=4096)
    assert ["correctness"] == [one.status for one in read.current if one.variant == {"variant": "wrong"}]


def test_arguments_of_the_kernel_file(here):
    Path("gather.py").write_text(GATHER + "\ndef variants():\n    return {'a': gather(1), 'b': gather('(2-1)')}\n")
    ran(here("time", "gather.py", *N, *ONCE))
    for text, part in (
        ("{'index': np.arange(n)}", "arguments() gives 'index' for the kernel 'gather', and it is an array of int64"),
        ("{'indices': 1}", "arguments() gives 'indices' for the kernel 'gather', and it is"),
        ("[1]", "arguments() is or returns list; it must be a dict of argument name to numpy array or number"),
        ("1/0", "raised ZeroDivisionError"),
    ):
        own = f"\ndef kernel():\n    return gather(1)\n\n\ndef arguments(n):\n    return {text}\n"
        Path("bad.py").write_text(GATHER + own)
        assert part in refused(here("time", "bad.py", *N, *ONCE)).splitlines()[-1]


@pytest.mark.parametrize(("part", "arguments"), [
    ("no OpenCL device matches 'H100'", ("pair.py", *N, "--device", "H100")), ("size parameter 'n'", ("pair.py",)),
    ("'m'", ("pair.py", *N, "-p", "m=1")), ("n=100 breaks the kernel's assumption", ("pair.py", "-p", "n=100")),
    ("no variant 'huge'", ("pair.py", *N, "--variant", "huge")), ("gone.json", ("pair.py", *N, "-w", "gone.json")),
    ("gone.py", ("gone.py", *N)), ("its arrays need 8 TiB", ("kernel.py", "-p", "n=2**40")),
    ("no type is known for a", ("untyped.py", *N)),
])  # fmt: skip
def test_bad_input_ends_in_one_line(here, part, arguments):
    Path("untyped.py").write_text(PAIR.replace("np.float32", "None"))
    result = here("time", *arguments, *ONCE)
    assert 2 == result.exit_code
    assert "" == result.stdout
    line = result.stderr.splitlines()[-1]
    assert line.startswith("perfmodel: error: ")
    assert part in line


@pytest.mark.slow
def test_a_kernel_that_ends_its_process_is_recorded_and_the_rest_goes_on(here):
    """The third kernel reads far outside of its array, which the driver does not survive."""
    Path("deadly.py").write_text(
        GATHER
        + "\ndef variants():\n    return {'a': gather(1), 'deadly': gather(-400000000), 'b': gather('(2-1)')}\n"
    )
    command = [sys.executable, "-c", RUN, "time", "deadly.py", *N, *ONCE, "--json", "--keep", "kept"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
    )
    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    status = {row["variant"]: row["status"] for row in found["points"][0]["variants"]}
    assert {"a": "ok", "b": "ok", "deadly": "runtime"} == status
    (message,) = [row["message"] for row in found["points"][0]["variants"] if row["variant"] == "deadly"]
    assert "the process died of SIG" in message
    assert "recorded, the rest goes on" in done.stderr
    assert ["deadly", "a", "b"] == [row.variant["variant"] for row in store.read("kept").rows]
