"""What a report says of facts, of weights and of how they were made."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import t as student

from perfmodel import store
from perfmodel.analyses.descriptions import fact_lines, how_made, weight_lines
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.predicting.model import fit

QUICKSTART = Path(__file__).parents[2] / "docs" / "data" / "quickstart"


@pytest.fixture(scope="module")
def model():
    return fit(store.read(QUICKSTART))


def test_weights_in_words_with_students_interval(model):
    lines = {line.name: line for line in weight_lines(model)}
    assert sorted(model.weights) == list(lines)
    line = lines["launches"]
    assert "a launch costs 403 ns" == line.text  # by the device's clock
    half = student.ppf(0.95, model.fitted.degrees_of_freedom) * model.standard_errors["launches"]
    assert pytest.approx((line.value - half, line.value + half)) == line.interval
    wider = {one.name: one for one in weight_lines(model, 0.99)}["launches"].interval
    assert wider[0] < line.interval[0] < line.interval[1] < wider[1]
    merged = lines["global_store_32_stride2_1of2"].warnings
    assert ("it has an equal part of the common cost of features that are always proportional",) == merged


def test_no_interval_of_a_cost_is_below_zero(model):
    """At so high a level Student's interval reaches below zero; a weight below zero keeps its bounds."""
    bounds = {line.name: line.interval for line in weight_lines(model, 1 - 1e-12) if line.interval}
    assert {0.0} == {low for name, (low, _) in bounds.items() if model.weights[name] >= 0}
    assert all(low < model.weights[name] for name, (low, _) in bounds.items() if model.weights[name] < 0)


def test_how_it_was_made(model):
    known = how_made(model, store.read(QUICKSTART), "a folder")
    made = dict(known)
    assert "a folder" == made["data"]
    assert "115 configurations of 9 kernels" == made["measured kernels"]
    assert "these 115 configurations" == made["weights fitted to"]
    assert "times by the host's clock, with the launch" == made["predicts"]
    assert "the usual ones" == made["options of the fit"]
    assert made["error of the fit on its own rows"].endswith(" % (geometric mean)")
    notes = [text for name, text in known if name == "note"]
    assert 2 == len(notes)
    assert all(note.startswith("not determined separately") for note in notes)


def test_other_options_and_measurements_are_reported(model):
    seeded = fit(store.read(QUICKSTART), options=FitOptions(seed=25))
    made = dict(how_made(seeded, store.read(QUICKSTART).of_kernels("arithmetic"), "a folder"))
    assert "seed=25" == made["options of the fit"]
    assert "other 115 configurations" == made["weights fitted to"]
    assert "52 configurations of 1 kernels" == made["measured kernels"]


def test_facts_have_units_meanings_and_sources():
    facts = {"compute_units": Fact(2, "", "OpenCL"), "clock_hz": Fact(2.6e9, "Hz", "data sheet"),
             "max_work_item_sizes": Fact((8, 4), "work-items", "OpenCL"), "own": Fact(1.25, "", "a user")}  # fmt: skip
    clock, units, shape, own = fact_lines(DeviceFacts.from_mapping("toy", "none", "0", facts))
    assert ("clock_hz", "2.6 GHz", "data sheet") == (clock.key, clock.value, clock.source)
    assert "clock of the compute units" in clock.meaning
    assert ("2", "8 x 4 work-items") == (units.value, shape.value)
    assert ("largest work-group along each axis", "") == (shape.meaning, own.meaning)
    assert () == fact_lines(None)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (6.162e-10, "s", "616 ps"), (1.0, "ns", "1 ns"), (2596, "MHz", "2.6 GHz"), (9.634e10, "B/s", "96.3 GB/s"),
        (1.415e11, "operation/s", "142 Gop/s"),  # 141.5, halves go to even
        (49152, "B", "48 KiB"),  # 48 * 1024
        (True, "", "yes"), (1.96912, "", "1.969"), (4096, "work-items", "4096 work-items"),
    ],
)  # fmt: skip
def test_facts_have_fitting_units(value, unit, expected):
    (line,) = fact_lines(DeviceFacts.from_mapping("toy", "none", "0", {"own": Fact(value, unit, "")}))
    assert expected == line.value
