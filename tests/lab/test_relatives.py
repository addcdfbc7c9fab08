"""The package's table of weights, for ratios between relatives, equals the weights in the devices' folders."""

from __future__ import annotations

import json

from perfmodel.predicting.relatives import RELATIVES_FILE
from scripts.lab.relatives import relatives_table
from tests.machine import ROOT


def test_the_file_agrees_with_the_folders():
    stored = json.loads(RELATIVES_FILE.read_text())
    assert relatives_table(ROOT / "fitted_weights") == stored, "draw it again: scripts/redraw relatives"
