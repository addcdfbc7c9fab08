"""Sizes as people write them, by Python's own arithmetic, and other values that options stand for."""

import re
import time

import pytest

from perfmodel.calibration import recommended
from perfmodel.cli.numbers import FORMS, parse_sizes, parse_span, size_points, sizes
from perfmodel.cli.options import ModelOptions, about
from perfmodel.errors import OptionError, PerfModelWarning, VariantError
from perfmodel.facts import DeviceFacts
from perfmodel.predicting.model import load
from tests.shadow import ROOT


@pytest.mark.parametrize(("text", "expected"), [
    ("1024", (1024,)), ("1_000", (1000,)), ("1e6", (10**6,)), ("1E3", (1000,)), ("1.5e3", (1500,)), ("2**20", (2**20,)),
    ("2**3**2", (2**9,)), ("2**20-1", (2**20 - 1,)), ("3*2**10+7", (3 * 2**10 + 7,)), ("1k", (1000,)), ("1M", (10**6,)),
    ("2G", (2 * 10**9,)), ("1T", (10**12,)), ("1.5k", (1500,)), ("1Ki", (1024,)), ("1Mi", (1024**2,)),
    ("1.5Gi", (3 * 2**29,)), ("1Ti", (2**40,)), ("2**53", (2**53,)), ("-128", (-128,)), ("10 - 3 - 2", (5,)),
    ("0", (0,)), ("1*2*3", (6,)), (" 8 ", (8,)), ("256..4096", (256, 512, 1024, 2048, 4096)),
    ("100..1000", (100, 200, 400, 800, 1000)), ("7..7", (7,)), ("1Ki..2**12", (1024, 2048, 4096)), ("1..3", (1, 2, 3)),
    ("1..2", (1, 2)), ("1000:5000:500", (1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000)), ("1:3", (1, 2, 3)),
    ("0:10:4", (0, 4, 8)), ("1,5,3", (1, 5, 3)), ("1..4,10:12", (1, 2, 4, 10, 11, 12)),
])  # fmt: skip
def test_sizes(text, expected):
    assert {"n": expected} == parse_sizes(f"n={text}")
    assert {"n": expected, "m": (3,)} == parse_sizes(f"n={text}, m=3")


@pytest.mark.parametrize(("text", "part"), [
    ("n=1.5", "1.5, which is not an integer"), ("n=1.5..3", "not an integer"), ("n=9**9**9", "the power 3.8742e+08"),
    ("n=2**60", "the power 60, and not an integer up to 53"), ("n=4**0.5", "the power 0.5"),
    ("n=9007199254740993", "above 2**53"), ("n=2**53+1", "above 2**53"), ("n=1T*1T", "above 2**53"),
    ("n=1e400", "'1e400', which is not a number"), ("n=1K", "'1K'"), ("n=2^20", "write 2**20 for a power"),
    ("n=ten", "'ten', which is not a number"), ("n=(2)", "'(2)'"), ("n=__import__('os')", "which is not a number"),
    ("n=1 2", "'1 2'"), ("n=5..1", "from 5 down to 1"), ("n=0..8", "doubling from 0"), ("n=1:9:0", "steps of 0"),
    ("n=1:1000000", "more than 10000 sizes"), ("n=1,n=2", "'n' twice"), ("n", FORMS), ("1=1", "no name"),
    ("n==1", "'=1'"),
])  # fmt: skip
def test_options_that_are_refused(text, part):
    with pytest.raises(OptionError) as caught:
        parse_sizes(text)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "n=", "n=1..", "n=1,", "n=1:", "n=1:2:", "n=2**", "n=1+", "n=-", ",n=1", "n=.5k", "=5", "n=1,,2",
             "n=1:9000,1:9000"],
)  # fmt: skip
def test_incomplete_options_are_refused(text):
    with pytest.raises(OptionError):
        parse_sizes(text)


@pytest.mark.parametrize("text", [
    "n=" + "9" * 5000, "n=" + "9**" * 100 + "9", "n=1e" + "9" * 300, "n=0.1**53*" + "0." + "9" * 300, "n=" * 99,
])  # fmt: skip
def test_hostile_sizes_take_no_time(text):
    began = time.process_time()
    with pytest.raises(OptionError):
        parse_sizes(text)
    assert time.process_time() - began < 0.5


def test_a_span():
    assert ("n", 16, 4096) == parse_span("n=16:4096", "--crossover") == parse_span(" n = 2**4:4Ki", "--crossover")
    assert ("n", 1, 2**40) == parse_span("n=1:1Ti", "--crossover")
    for text in ("n=1:", "n=5", "n=1:9:2", "n=9:1", "n", "n=1:2,m=1:2", "n=1:2,3:4"):
        with pytest.raises(OptionError) as caught:
            parse_span(text, "--crossover")
        assert str(caught.value).startswith(f"'--crossover {text}' ")


def test_points_of_several_names():
    assert ({"n": 1, "m": 5},) == size_points(["n=1", "m=5"])
    assert ({},) == size_points([]) == size_points(None, paired=True)
    expected = ({"n": 1, "m": 5}, {"n": 1, "m": 6}, {"n": 2, "m": 5}, {"n": 2, "m": 6})
    assert expected == size_points(["n=1,2", "m=5,6"])
    assert ({"n": 1, "m": 5, "k": 3}, {"n": 2, "m": 6, "k": 3}) == size_points(["n=1,2", "m=5,6,k=3"], paired=True)
    assert {"n": 10**6, "m": 1024} == sizes(["n=1e6", "m=1Ki"])


WEIGHTS = ROOT / "fitted_weights" / "pocl-skylake-avx512-amd-epyc" / "bottleneck.json"


def test_an_error_of_one_of_several_variants_has_its_name():
    with pytest.raises(VariantError, match="variant 'tiled': n is wrong"), about("tiled", ("tiled", "naive")):
        raise OptionError("n is wrong")
    with pytest.raises(OptionError), about("kernel", ("kernel",)):
        raise OptionError("n is wrong")
    with pytest.raises(VariantError, match="'inner'"), about("outer", ("outer", "b")), about("inner", ("inner", "b")):
        raise OptionError("n is wrong")


def test_named_weights_of_another_device_are_warned_of(monkeypatch, capsys):
    own = load(WEIGHTS).facts
    monkeypatch.setattr(recommended, "device_in_use", lambda _: own)
    ModelOptions(WEIGHTS).load()
    newer = DeviceFacts(own.name, own.platform, "9.9", own.facts)
    monkeypatch.setattr(recommended, "device_in_use", lambda _: newer)
    expected = re.escape(f"the weights are not of the device in use: driver '{own.driver}', here '9.9'")
    with pytest.warns(PerfModelWarning, match=expected):
        ModelOptions(WEIGHTS).load()
