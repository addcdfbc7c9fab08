"""``rank --anchor`` and ``predict --anchor``: two short runs on the device, and one line where there can be none."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from perfmodel.cli import predict
from perfmodel.cli.predict import anchor_lines
from perfmodel.predicting import Anchor
from perfmodel.tuning import ANCHOR, anchoring
from tests.cli.documents import document, seconds
from tests.machine import device

PAIR = '''
from variants import scale


def variants():
    return {"small": scale("out[i] = a[i] + 1", 64), "large": scale("out[i] = a[i] + 1", 128)}
'''
AT = ("-w", "weights.json", "-p", "n=1048576")


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
    found = document(here("rank", "pair.py", *AT, "--anchor", "--json"))
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
    result = here("predict", "kernel.py", *AT, "--anchor")
    assert 0 == result.exit_code, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("anchor: ")]
    assert "kernel took" in line
    assert "predictions at other sizes are multiplied by" in line


def test_ties_of_weights_that_keep_a_scatter(here):
    found = document(here("rank", "pair.py", *AT, "--json"))
    assert ({"small", "large"}, []) == (set(found["ties"]["tied"]), found["anchors"])
    assert 0.3 == found["ties"]["deviation"]
    assert [True, True] == [row["tied"] for row in found["variants"]]
    text = here("rank", "pair.py", *AT).stdout
    assert "cannot be distinguished" in text
    assert "measure them to have the fastest" in text
    assert "cannot be distinguished" in here("predict", "pair.py", *AT).stdout


def test_a_crossover_shows_where_variants_tie(here):
    asked = ("rank", "pair.py", "-w", "weights.json", "--crossover", "n=128:1Mi")
    (lead,) = document(here(*asked, "--json"))["leads"]
    assert ("large", {"small", "large"}) == (lead["variant"], set(lead["tied"][0]))
    assert "large (ties with small at " in here(*asked).stdout


def test_weights_of_another_device_are_refused_in_one_line(perfmodel):
    for command in ("rank", "predict"):
        result = perfmodel(command, "kernel.py", *AT, "--anchor")
        assert 2 == result.exit_code
        (line,) = result.stderr.splitlines()
        assert "kernels run on the device of the weights, 'stand-in'" in line


@pytest.mark.parametrize("command", ["rank", "predict"])
def test_runs_are_supervised_as_those_of_time(perfmodel, monkeypatch, command):
    class SupervisedError(Exception):
        pass

    def supervised(context, keep):
        raise SupervisedError

    monkeypatch.setattr(predict, "supervised_store", supervised)
    assert 0 == perfmodel(command, "kernel.py", *AT).exit_code
    assert isinstance(perfmodel(command, "kernel.py", *AT, "--anchor").exception, SupervisedError)


def test_anchors_of_several_variants_are_one_line():
    """Three runs of 2, 9 and 3 ms, each predicted to take 4 ms."""
    anchors = {name: Anchor(name, "d", {"n": 64}, took, 4e-3) for name, took in (("a", 2e-3), ("b", 9e-3), ("c", 3e-3))}
    message = "each variant ran once at n=64; its predictions at other sizes are multiplied by 0.5 (a) to 2.25 (b)"
    assert [f"anchors: {message}"] == list(anchor_lines(anchors))
    alone = "a took 2 ms at n=64, predicted 4 ms: predictions at other sizes are multiplied by 0.5"
    assert [f"anchor: {alone}"] == list(anchor_lines({"a": anchors["a"]}))
    assert [] == list(anchor_lines({}))
