"""``perfmodel predict --why``: the balance and the benefits of a kernel file's variants."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfmodel.analyses.balance import judge_balance
from perfmodel.analyses.benefits import potential_benefits
from perfmodel.counts import count
from perfmodel.kernels import load_kernel_file
from perfmodel.predicting.model import load
from tests.cli.documents import document
from tests.recorded import POCL

WORK_DEPTH, GPUPERF = (str(POCL / f"{name}.json") for name in ("work_depth", "gpuperf"))


def test_the_balance_in_words(perfmodel):
    text = perfmodel("predict", "kernel.py", "-p", "n=1048576", "-w", WORK_DEPTH, "--why").stdout
    # Each of 2^20 work-items loads 4 B, adds, and stores 4 B: 8388608 B, and an addition and a load for 8 B.
    assert "bound by memory bandwidth (8 MiB must move" in text


def test_the_document_holds_the_numbers(perfmodel):
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


def test_what_to_try_is_printed_once_for_variants_that_share_it(perfmodel):
    text = perfmodel("predict", "variants.py", "-p", "n=1048576", "-w", str(POCL / "bottleneck.json"), "--why").stdout
    assert 3 == text.count("By this model: ")
    assert 1 == text.count("\ntry: ")
