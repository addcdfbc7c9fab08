"""Kernel files with ``arguments()``: commands take statistics from the data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from perfmodel.cli import application
from perfmodel.io import shipped

ROOT = Path(__file__).parents[2]
PRODUCT = str(ROOT / "docs" / "lab" / "gallery" / "sparse_product.py")
WEIGHTS = str(shipped("fitted_weights") / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json")
STATISTICS = ("--statistics", "j=16")  # rows of 8 to 24 entries, two of them 32 together


def run(*arguments: str):
    return CliRunner().invoke(application(), [*arguments, "--weights", WEIGHTS, "--variant", "wide"])


@pytest.mark.parametrize("jobs", [(), ("--jobs", "2")], ids=["one process", "two processes"])
def test_statistics_come_from_the_arguments_of_the_file(jobs: tuple[str, ...]) -> None:
    found = run("predict", PRODUCT, "-p", "n=1024", "--json", *jobs)
    assert 0 == found.exit_code, found.stderr
    given = run("predict", PRODUCT, "-p", "n=1024", "--json", *STATISTICS, "--statistics", "x:span=1024")
    seconds = [json.loads(each.stdout)["predictions"][0]["seconds"] for each in (found, given)]
    assert seconds[0] == pytest.approx(seconds[1], rel=0.05)  # the span of random columns is a little below n


def test_several_sizes_need_statistics() -> None:
    refused = run("predict", PRODUCT, "-p", "n=1024,2048", "--csv")
    assert 2 == refused.exit_code
    assert "the trip count of loop 'j' depends on data; give --statistics j=<number>" in refused.stderr
