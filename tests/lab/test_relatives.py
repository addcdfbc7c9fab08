"""The package's table of weights, for ratios between relatives, equals the weights in the devices' folders."""

from __future__ import annotations

import json

from perfmodel.predicting.relatives import RELATIVES_FILE
from scripts.lab.relatives import relatives_table, write_relatives
from tests.machine import ROOT


def test_the_file_agrees_with_the_folders():
    stored = json.loads(RELATIVES_FILE.read_text())
    assert relatives_table(ROOT / "fitted_weights") == stored, "draw it again: scripts/redraw relatives"


def test_it_is_written(tmp_path):
    write_relatives(ROOT / "fitted_weights", tmp_path / "relatives.json")
    assert json.loads(RELATIVES_FILE.read_text()) == json.loads((tmp_path / "relatives.json").read_text())
