"""Values that options stand for."""

from __future__ import annotations

import re

import pytest

from perfmodel.calibration import recommended
from perfmodel.calibration.recommended import FoundWeights
from perfmodel.cli.options import ModelOptions, about
from perfmodel.cli.output import CommandSettings, using
from perfmodel.errors import OptionError, PerfModelWarning, VariantError
from perfmodel.facts import DeviceFacts
from perfmodel.predicting.model import load
from tests.shadow import ROOT

WEIGHTS = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json"


def test_an_error_of_one_of_several_variants_has_its_name():
    with pytest.raises(VariantError, match="variant 'tiled': n is wrong"), about("tiled", ("tiled", "naive")):
        raise OptionError("n is wrong")
    with pytest.raises(OptionError), about("kernel", ("kernel",)):
        raise OptionError("n is wrong")
    with pytest.raises(VariantError, match="'inner'"), about("outer", ("outer", "b")), about("inner", ("inner", "b")):
        raise OptionError("n is wrong")


def test_the_model_of_the_device_in_use_shows_where_it_is_from(monkeypatch, capsys):
    found = FoundWeights(WEIGHTS, DeviceFacts("Board 7", "P", "1", ()), "your own")
    asked = []
    monkeypatch.setattr(recommended, "find_weights", lambda *args: asked.append(args) or found)
    model = ModelOptions(device="board").load()
    assert [("board", None)] == asked
    assert load(WEIGHTS) == model
    assert WEIGHTS == model.path
    captured = capsys.readouterr()
    assert "" == captured.out
    assert f"perfmodel: {found.text}\n" == captured.err
    for silent in (CommandSettings(json=True), CommandSettings(quiet=True)):
        with using(silent):
            ModelOptions().load()
    assert "" == capsys.readouterr().err


def test_named_weights_of_another_device_are_warned_of(monkeypatch, capsys):
    own = load(WEIGHTS).facts
    monkeypatch.setattr(recommended, "device_in_use", lambda _: own)
    ModelOptions(WEIGHTS).load()
    newer = DeviceFacts(own.name, own.platform, "9.9", own.facts)
    monkeypatch.setattr(recommended, "device_in_use", lambda _: newer)
    expected = re.escape(f"the weights are not of the device in use: driver '{own.driver}', here '9.9'")
    with pytest.warns(PerfModelWarning, match=expected):
        ModelOptions(WEIGHTS).load()
