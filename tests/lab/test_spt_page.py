"""The tables of the page on Synchronous Parallel Throughput, from numbers by hand; nightly from what is committed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.compare.contenders import Contenders
from perfmodel.display import percent
from perfmodel.fitting.device_folder import measured_folders
from perfmodel.fitting.throughput import BANDWIDTH_BOUND, LATENCY_BOUND, NOT_HIDDEN, ONE_MULTIPLICITY, Throughput
from scripts.lab.spt_page import LINEAR, MEASURED, SPT, draw_spt, errors_table, throughput_table
from tests.compare.test_contenders_side_by_side import contenders

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lab" / "spt.md"


def fit(operation: str, note: str) -> Throughput:
    return Throughput(operation, 1.25e-8, 2.5e9, 0.937, 18, False, note)


@pytest.mark.parametrize(
    ("note", "latency", "rate"),
    [
        ("", "12.5", "2.5"), (f"{BANDWIDTH_BOUND}; {NOT_HIDDEN}", "12.5 (at most)", "2.5"),
        (LATENCY_BOUND, "12.5", "2.5 (at least)"), (ONE_MULTIPLICITY, "12.5 (at most)", "2.5 (at least)"),
    ],
)  # fmt: skip
def test_a_bound_is_said_to_be_one(note, latency, rate):
    line = throughput_table([("cpu", [fit("local", note)])]).splitlines()[-1]
    assert f"| cpu | local | {latency} | {rate} | 0.94 | 18 |" == line


def test_a_launch_has_no_bandwidth():
    assert "| cpu | launch | 12.5 |  | 0.94 | 18 |" in throughput_table([("cpu", [fit("launch", "")])])


def test_thousands_of_nanoseconds_are_written_out():
    slow = replace(fit("launch", ""), latency_s=3.5942e-6)
    assert "| launch | 3594 |" in throughput_table([("cpu", [slow])])


def test_errors_are_of_protocol_a():
    """Of five cases four are exact, which counts 0.1 %, and one has half of what it was planted as."""
    exact, *_ = contenders()
    judged = Contenders([replace(exact, family=SPT), replace(exact, family=LINEAR)])
    error = percent((1e-3**4 * 0.5) ** 0.2)
    assert f"| gpu | 5 | not fitted | {error} | {error} |" == errors_table([("gpu", judged)]).splitlines()[-1]
    with_facts = Contenders([*judged, replace(exact, family=MEASURED)])
    assert f"| gpu | 5 | {error} | {error} | {error} |" in errors_table([("gpu", with_facts)])


@pytest.mark.nightly
def test_the_committed_page_is_what_the_committed_measurements_give(tmp_path):
    again = tmp_path / "spt.md"
    shutil.copy(PAGE, again)
    draw_spt(measured_folders(ROOT / "fitted_weights"), again)
    assert PAGE.read_text() == again.read_text()
