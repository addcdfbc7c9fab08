"""``rank`` and ``predict`` of variants and of several sizes, and anchored, against times by hand."""

import csv
import json
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

from perfmodel.cli import options
from perfmodel.cli.predict import anchor_lines
from perfmodel.fitting.cautions import FarOutside
from perfmodel.predicting import Anchor
from perfmodel.predicting.model import FittedModel
from perfmodel.tuning import ANCHOR, anchoring
from tests.cli.program import document, ran, refused, seconds
from tests.machine import device

PAIR = '''
from variants import scale


def variants():
    return {"small": scale("out[i] = a[i] + 1", 64), "large": scale("out[i] = a[i] + 1", 128)}
'''
AT = ("-w", "weights.json", "-p", "n=4096")


@pytest.fixture
def pair(perfmodel, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pair.py").write_text(PAIR)
    return perfmodel


def test_fastest_first_and_the_withheld_one_last(perfmodel):
    text = perfmodel("rank", "variants.py", *AT, "--strict").stdout.splitlines()
    assert "stevens_kloeckner_2016 on stand-in, n=4096, times by the host's clock" == text[0]
    assert ["variant", "large", "small"] == [line.split()[0] for line in text[1:4]]
    assert text[-1].startswith("product: prediction withheld")
    found = document(perfmodel("rank", "variants.py", *AT, "--strict", "--json"))
    assert "perfmodel.ranking/1" == found["schema"]
    assert ["large", "small"] == [row["variant"] for row in found["variants"]]
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == found["variants"][0]["seconds"]
    assert [{"variant": "product", "unmeasured": ["op_float32_mul"]}] == found["withheld"]


def test_a_note_on_all_variants_is_printed_once(pair, monkeypatch):
    """The caution on the last level of the cache stood below a ranking once for each variant."""
    caution = FarOutside("launches", (1e9, 1e9), (10.0, 1e3))
    predict = FittedModel.predict
    monkeypatch.setattr(
        FittedModel, "predict", lambda *given, **more: replace(predict(*given, **more), cautions=(caution,))
    )
    message = "note: launches is 1e+09, measured were 10 to 1e+03"
    for command in (("rank", *AT), ("predict", *AT), ("rank", "-w", "weights.json", "-p", "n=256,512")):
        name, *options = command
        text = pair(name, "pair.py", *options).stdout.splitlines()
        assert 1 == text.count(message), text


def test_a_range_of_sizes(pair, perfmodel):
    # half as many work-groups are always faster; only multiples of 128 are assumed
    found = document(pair("rank", "pair.py", "-w", "weights.json", "--crossover", "n=1:1000", "--json"))
    assert "perfmodel.ranking/1" == found["schema"]
    assert [{"variant": "large", "low": 128, "high": 896, "tied": [[], []]}] == found["leads"]
    text = pair("rank", "pair.py", "-w", "weights.json", "--crossover", "n=1:1000").stdout
    assert "n from 128 to 896: large\n" == text
    asked = ("rank", "variants.py", "-w", "weights.json", "--crossover", "n=1:1Ki", "--strict")
    found = document(perfmodel(*asked, "--json"))
    assert [{"variant": "large", "low": 128, "high": 1024, "tied": [[], []]}] == found["leads"]
    assert [{"variant": "product", "unmeasured": ["op_float32_mul"]}] == found["withheld"]


SPACE = """
from variants import scale


def kernel(group):
    return scale("out[i] = a[i] + 1", group)


def space():
    return {"group": (64, 0, 128)}
"""


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.nightly)])
def test_with_processes_a_variant_that_fails_is_left_out(jobs, pair, tmp_path):
    (tmp_path / "groups.py").write_text(SPACE)
    asked = ("groups.py", *AT, "--jobs", jobs)
    ran = pair("rank", *asked)
    lines = ran.stdout.splitlines()
    assert ["variant", "group=128", "group=64"] == [line.split()[0] for line in lines[1:4]]
    assert lines[-1].startswith("group=0: ")
    assert "counting and predicting: 2 of 3 done" not in ran.stderr
    assert "3 of 3 done, 1 failed" in ran.stderr
    found = document(pair("rank", *asked, "--json"))
    assert ["group=128", "group=64"] == [row["variant"] for row in found["variants"]]
    assert pytest.approx(seconds(4096, 128), rel=1e-7) == found["variants"][0]["seconds"]
    ((variant, unmeasured, error),) = [tuple(row.values()) for row in found["withheld"]]
    assert ("group=0", []) == (variant, unmeasured)
    assert "domain '[n] -> { [i_outer, i_inner] : 1 = 0 }' is empty" in error


HALF = """
from variants import scale


def kernel(group, tile):
    if tile > 1:
        raise ValueError(f"no tile of {tile} for {group}")
    return scale("out[i] = a[i] + 1", group)


def space():
    return {"group": (64, 128), "tile": (1, 2, 3)}
"""


def test_variants_that_cannot_be_built_are_left_out_in_one_line(pair, tmp_path):
    (tmp_path / "half.py").write_text(HALF)
    span = ("-w", "weights.json", "--crossover", "n=128:256")
    for asked in (("rank", *AT), ("predict", *AT), ("rank", *span), ("count",)):
        result = ran(pair(asked[0], "half.py", *asked[1:]))
        (line,) = [line for line in result.stdout.splitlines() if "no tile of" in line]
        names = "group=64 tile=2, group=64 tile=3, group=128 tile=2 and group=128 tile=3"
        assert line.startswith(f"4 variants are left out ({names}): 'half.py' line 7: raised ValueError")
        assert "no tile of" not in result.stderr
    assert 4 == len(document(pair("rank", "half.py", *AT, "--json"))["withheld"])
    text = pair("rank", "half.py", *AT, "--variant", "group=64 tile=2", "--variant", "group=64 tile=3").stderr
    assert "variant 'group=64 tile=2': 'half.py' line 7: raised ValueError" in text


def test_several_sizes_and_counts_with_processes(pair, tmp_path):
    (tmp_path / "groups.py").write_text(SPACE)
    found = document(pair("predict", "groups.py", "-w", "weights.json", "-p", "n=128,256", "-j", "1", "--json"))
    assert [2, 2] == [len(point["variants"]) for point in found["points"]]
    assert ["group=0"] == [row["variant"] for row in found["withheld"]]
    counted = document(pair("count", "groups.py", "-j", "1", "--json"))
    assert ["group=64", "group=128"] == [*counted["variants"]]
    refused = pair("count", "groups.py", "--jobs", "0")
    assert (2, 1) == (refused.exit_code, len(refused.stderr.splitlines()))
    assert "jobs=0; give the number of processes" in refused.stderr


W = ("-w", "weights.json")
BOTH = ("--variant", "small", "--variant", "large")


def table(result) -> list[dict[str, str]]:
    assert 0 == result.exit_code, result.stderr
    return list(csv.DictReader(StringIO(result.stdout)))


def test_predictions_at_several_sizes(perfmodel):
    found = document(perfmodel("predict", "kernel.py", "-p", "n=1Ki..4Ki", *W, "--json"))
    assert "perfmodel.sweep/1" == found["schema"]
    assert [{"n": 1024}, {"n": 2048}, {"n": 4096}] == [point["sizes"] for point in found["points"]]
    expected = [seconds(n, 128) for n in (1024, 2048, 4096)]
    assert pytest.approx(expected, rel=1e-7) == [point["variants"][0]["seconds"] for point in found["points"]]
    rows = table(perfmodel("predict", "kernel.py", "-p", "n=1Ki..4Ki", *W, "--csv"))
    assert pytest.approx(expected, rel=1e-7) == [float(row["seconds"]) for row in rows]
    terms = [sum(float(value) for name, value in row.items() if name.startswith("term.")) for row in rows]
    assert pytest.approx(expected, rel=1e-7) == terms  # a plain sum
    (row,) = table(perfmodel("predict", "kernel.py", "-p", "n=4096", *W, "--csv"))
    assert rows[-1] == row
    text = perfmodel("predict", "kernel.py", "-p", "n=1Ki..4Ki", *W).stdout.splitlines()
    assert [["n", "predicted", "interval"], ["1024"], ["2048"], ["4096"]] == [text[1].split()] + [
        line.split()[:1] for line in text[2:5]
    ]


def test_rankings_at_several_sizes(perfmodel):
    text = perfmodel("rank", "variants.py", "-p", "n=1024:4096:1024", *W, "--strict").stdout.splitlines()
    assert ["n", "fastest", "large", "small"] == text[1].split()
    assert [["1024", "large"], ["2048", "large"], ["3072", "large"], ["4096", "large"]] == [
        line.split()[:2] for line in text[2:6]
    ]
    assert text[-1].startswith("product: prediction withheld")
    rows = table(perfmodel("rank", "variants.py", "-p", "n=1024,4096", *W, "--strict", "--csv"))
    assert [("1024", "large"), ("1024", "small"), ("4096", "large"), ("4096", "small"), ("", "product")] == [
        (row["n"], row["variant"]) for row in rows
    ]
    assert "op_float32_mul" in rows[-1]["problem"]


def test_variants_are_picked(perfmodel):
    found = document(perfmodel("rank", "variants.py", "-p", "n=4096", *W, *BOTH, "--json"))
    assert (["large", "small"], []) == ([one["variant"] for one in found["variants"]], found["withheld"])
    result = perfmodel("rank", "variants.py", "-p", "n=4096", *W, "--variant", "huge")
    assert (2, True) == (result.exit_code, "small, large, product" in result.stderr)


def test_sizes_that_break_an_assumption_are_reported(perfmodel):
    text = perfmodel("rank", "variants.py", "-p", "n=100,128", *W).stdout.splitlines()
    assert ["100", "-", "-", "-", "-"] == text[2].split()
    rows = table(perfmodel("predict", "kernel.py", "-p", "n=100,128", *W, "--csv"))
    assert ["breaks an assumption", ""] == [row["problem"] for row in rows]
    assert "breaks the kernel's assumption" in perfmodel("rank", "variants.py", "-p", "n=100,101", *W).stderr


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_picture(perfmodel, form):
    assert 0 == perfmodel("predict", "variants.py", "-p", "n=1Ki..8Ki", *W, "--picture", f"p.{form}").exit_code
    drawn = Path(f"p.{form}").read_bytes()
    assert drawn.startswith({"png": b"\x89PNG", "svg": b"<?xml"}[form])


@pytest.mark.parametrize(("options", "part"), [
    (("-p", "n=128..512", "--csv", "--json"), "--json and --csv both"),
    (("-p", "n=128,256", "-p", "n=512"), "-p gives 'n' twice"),
    (("-p", "n=128,256", "-p", "m=1,2,3", "--zip"), "--zip was given with 2 of n and 3 of m"),
    (("-p", "n=1:9000", "-p", "m=1:9000"), "81000000 combinations"), (("-p", "n=128,256", "-p", "m=1"), "'m'"),
    (("-p", "n=128,256", "--crossover", "n=1:9"), "--crossover was given with several sizes"),
    (("--crossover", "n=1:9", "--csv"), "--csv and --crossover were both given"),
    (("-p", "n=128", "--anchor", "--statistics", "j=2"), "--anchor and --statistics were both given, and the run"),
    (("--crossover", "n=1:100"), "no n from 1 to 100"),
    (("--crossover", "n=1:1000", "--variant", "small"), "there is only 'small'"),
    (("-p", "n=100"), "breaks the kernel's assumption"), ((), "n"),
    (("--crossover", "n=1:"), "'--crossover n=1:' does not give exactly one range"),
])  # fmt: skip
def test_bad_input_is_one_line(perfmodel, options, part):
    result = perfmodel("rank", "variants.py", *W, *options)
    assert (2, "") == (result.exit_code, result.stdout)
    *_, line = result.stderr.splitlines()
    assert part in line


@pytest.mark.parametrize(("options", "part"), [
    (("n=128,256",), "--why was given with several sizes"),
    (("n=128", "--jobs", "2"), "--why and --jobs were both given; give one of them"),
])  # fmt: skip
def test_a_reason_is_of_one_size_and_process(perfmodel, options, part):
    result = perfmodel("predict", "kernel.py", *W, "--why", "-p", *options)
    assert (2, "", True) == (result.exit_code, result.stdout, part in result.stderr)


GRID = '''
import loopy as lp
import numpy as np


def kernel():
    t_unit = lp.make_kernel(
        "{[i,j]: 0 <= i < n and 0 <= j < m}", "out[i] = sum(j, a[i] + 1)",
        [lp.GlobalArg("out, a", np.float32, shape="n"), lp.ValueArg("n, m", np.int32)],
        assumptions="n >= 1 and n mod 128 = 0 and m >= 1", lang_version=(2018, 2))
    return lp.split_iname(t_unit, "i", 128, outer_tag="g.0", inner_tag="l.0")
'''


def test_two_names_are_combined_or_paired(perfmodel):
    Path("grid.py").write_text(GRID)
    asked = ("predict", "grid.py", "-p", "n=128,256", "-p", "m=1,2", *W, "--csv")
    combined = [(row["n"], row["m"]) for row in table(perfmodel(*asked))]
    assert [("128", "1"), ("128", "2"), ("256", "1"), ("256", "2")] == combined
    assert [("128", "1"), ("256", "2")] == [(row["n"], row["m"]) for row in table(perfmodel(*asked, "--zip"))]
    together = ("predict", "grid.py", "-p", "n=128,256,m=1", *W, "--csv")
    assert [("128", "1"), ("256", "1")] == [(row["n"], row["m"]) for row in table(perfmodel(*together))]
    for more in ((), ("--zip",)):
        assert 0 == perfmodel(*asked, *more, "--picture", "grid.png").exit_code
    many = ("predict", "grid.py", "-p", "n=128:2048:128", "-p", "m=1:9", *W)
    assert "9 combinations of m; give at most 6" in perfmodel(*many, "--picture", "grid.png").stderr


def test_facts_replace_those_of_the_device(perfmodel):
    """A work-group of 128 does not fit a device of 64 work-items."""
    Path("small.yaml").write_text("facts:\n  max_work_group_size: {value: 64, unit: work-items, source: a guess}\n")
    result = perfmodel("predict", "kernel.py", "-p", "n=1024", *W, "--facts", "small.yaml")
    assert (2, True) == (result.exit_code, "64" in result.stderr), result.stderr
    assert "gtx-480" in perfmodel("predict", "kernel.py", "-p", "n=1024", *W, "--facts", "gtx-4800").stderr


LARGE = ("-w", "weights.json", "-p", "n=1048576")


@pytest.fixture
def here(perfmodel, tmp_path, monkeypatch):
    """The commands, with two kernels and weights that belong to this machine's device; runs are short."""
    monkeypatch.syspath_prepend(tmp_path)
    Path("pair.py").write_text(PAIR)
    weights = json.loads(Path("weights.json").read_text())
    weights |= {
        "device": device().name,
        "scatter": {"deviation": 0.3, "freedom": 2, "cells": 9},
        "anchored": {
            "conformal": {"scores": [0.1] * 12, "groups": [f"g{i}" for i in range(12)]},
            "scatter": {"deviation": 0.2, "cells": 9},
        },
    }
    Path("weights.json").write_text(json.dumps(weights))
    quick = partial(anchoring.anchor_variants, campaign=replace(ANCHOR, runs=4, dropped=1, over_launch=2.0))
    monkeypatch.setattr(anchoring, "anchor_variants", quick)
    return perfmodel


@pytest.mark.device
def test_a_ranking_is_anchored(here):
    found = document(here("rank", "pair.py", *LARGE, "--anchor", "--json"))
    anchors = {one["variant"]: one for one in found["anchors"]}
    assert {"small", "large"} == anchors.keys()
    (n,) = {one["sizes"]["n"] for one in anchors.values()}
    for row in found["variants"]:
        one, group = anchors[row["variant"]], 64 if row["variant"] == "small" else 128
        assert pytest.approx(seconds(n, group), rel=1e-7) == one["predicted"]
        assert pytest.approx(one["measured"] / one["predicted"]) == one["factor"]
        assert pytest.approx(seconds(2**20, group) * one["factor"], rel=1e-7) == row["seconds"]
    assert (pytest.approx(0.2), None) == (found["ties"]["deviation"], found["ties"]["freedom"])
    assert pytest.approx(1) == sum(row["fastest"] for row in found["variants"])


@pytest.mark.device
def test_a_prediction_is_anchored(here):
    result = ran(here("predict", "kernel.py", *LARGE, "--anchor"))
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("anchor: ")]
    assert "kernel took" in line
    assert "predictions at other sizes are multiplied by" in line


def test_ties_of_weights_that_keep_a_scatter_at_a_size_and_over_a_range(here):
    found = document(here("rank", "pair.py", *LARGE, "--json"))
    assert ({"small", "large"}, []) == (set(found["ties"]["tied"]), found["anchors"])
    assert 0.3 == found["ties"]["deviation"]
    assert [True, True] == [row["tied"] for row in found["variants"]]
    text = here("rank", "pair.py", *LARGE).stdout
    assert "cannot be distinguished" in text
    assert "measure them to have the fastest" in text
    assert "cannot be distinguished" in here("predict", "pair.py", *LARGE).stdout
    asked = ("rank", "pair.py", "-w", "weights.json", "--crossover", "n=128:1Mi")
    (lead,) = document(here(*asked, "--json"))["leads"]
    assert ("large", {"small", "large"}) == (lead["variant"], set(lead["tied"][0]))
    assert "large (ties with small at " in here(*asked).stdout


def test_weights_of_another_device_are_refused_in_one_line(perfmodel):
    for command in ("rank", "predict"):
        (line,) = refused(perfmodel(command, "kernel.py", *LARGE, "--anchor")).splitlines()
        assert "kernels run on the device of the weights, 'stand-in'" in line


@pytest.mark.parametrize("command", ["rank", "predict"])
def test_runs_are_supervised_as_those_of_time(perfmodel, monkeypatch, command):
    class SupervisedError(Exception):
        pass

    def supervised(context, keep):
        raise SupervisedError

    monkeypatch.setattr(options, "supervised_store", supervised)
    assert 0 == perfmodel(command, "kernel.py", *LARGE).exit_code
    assert isinstance(perfmodel(command, "kernel.py", *LARGE, "--anchor").exception, SupervisedError)


def test_anchors_of_several_variants_are_one_line():
    """Three runs of 2, 9 and 3 ms, each predicted to take 4 ms."""
    anchors = {name: Anchor(name, "d", {"n": 64}, took, 4e-3) for name, took in (("a", 2e-3), ("b", 9e-3), ("c", 3e-3))}
    message = "each variant ran once at n=64; its predictions at other sizes are multiplied by 0.5 (a) to 2.25 (b)"
    assert [f"anchors: {message}"] == list(anchor_lines(anchors))
    alone = "a took 2 ms at n=64, predicted 4 ms: predictions at other sizes are multiplied by 0.5"
    assert [f"anchor: {alone}"] == list(anchor_lines({"a": anchors["a"]}))
    assert [] == list(anchor_lines({}))
