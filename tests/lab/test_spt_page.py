"""The tables of the page on Synchronous Parallel Throughput, from numbers by hand; nightly from what is committed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from perfmodel.compare.contenders import Contenders
from perfmodel.display import percent
from perfmodel.fitting.device_folder import measured_folders
from scripts.lab.spt_page import LINEAR, MEASURED, SPT, draw_spt, errors_table
from tests.compare.test_contenders_side_by_side import contenders

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "lab" / "spt.md"


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
