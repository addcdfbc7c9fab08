"""Weights, terms, facts and how they were made, in plain words."""

import pytest
from scipy.stats import t as student

from perfmodel import store
from perfmodel.analyses.descriptions import fact_lines, how_made, term_advice, term_label, weight_lines, weight_text
from perfmodel.facts import DeviceFacts, Fact
from perfmodel.features import FEATURE_NAMES, unit
from perfmodel.fitting.weights_file import FitOptions
from perfmodel.models import Family, families
from perfmodel.models.model import Weight
from perfmodel.predicting.model import fit
from tests.recorded import QUICKSTART


@pytest.mark.parametrize(("name", "value", "per", "expected"), [
    # 4 bytes in 32 ps are 125 GB/s, 8 in 1 ns are 8 GB/s; a pair moves twice as much.
    ("global_load_32_stride1", 3.2e-11, "s/access",
     "a 32-bit load of neighbouring cells by neighbouring lanes costs 32 ps: 125 GB/s"),
    ("global_minloadstore_32_stride1", 1e-9, "s/access",
     "a pair of a 32-bit load and store of neighbouring cells by neighbouring lanes costs 1 ns: 8 GB/s"),
    ("global_load_32_stride2_1of2", 1e-9, "s/access",
     "a 32-bit load of cells at a distance of 2 by neighbouring lanes (half of the cells between are used) "
     "costs 1 ns: 4 GB/s"),
    ("global_load_8_strideN_3of4", 1e-9, "s/access",
     "an 8-bit load of cells at a distance of more than 4 by neighbouring lanes (three quarters of the cells "
     "between are used) costs 1 ns: 1 GB/s"),
    ("global_load_32_indirect", 1e-9, "s/access",
     "a 32-bit load at an address that comes from data costs 1 ns: 4 GB/s"),
    ("op_float32_add", 2e-12, "s/operation", "an addition of float32 costs 2 ps: 500 Gop/s"),
    ("barrier_local", 1e-9, "s/barrier", "a local barrier, for each work-item, costs 1 ns"),
    ("w_chain_add", 5e-10, "s/operation", "an addition that waits for the one before costs 500 ps: 2 Gop/s"),
    ("w_memory_jumps", 1e-9, "s/access",
     "a cache line that the last-level cache fetches, away from the one before, costs 1 ns: 1 Gline/s"),
    ("w_issue", 5e-10, "s/operation", "issue, an operation, costs 500 ps: 2 Gop/s"),
    ("w_memory", 1e-11, "s/B", "memory, a byte, costs 10 ps: 100 GB/s"),
    ("w_sharpness", 5.0, "", "sharpness is 5"),
    ("w_bandwidth", 9.634e10, "B/s", "bandwidth is 96.3 GB/s"),
    ("launches", 0.0, "s/launch", "a launch has no cost in these measurements"),
    ("global_minloadstore_32_stride1", -6e-12, "s/access",
     "a pair of a 32-bit load and store of neighbouring cells by neighbouring lanes saves 6 ps: it offsets costs "
     "that other weights include"),
])  # fmt: skip
def test_words(name, value, per, expected):
    assert expected == weight_text(name, value, per)


def test_every_feature_has_words_and_advice_and_every_weight_words():
    for name in FEATURE_NAMES:
        words = weight_text(name, 1e-9, f"s/{unit(name)}")
        assert " costs 1 ns" in words
        assert "_" not in words
        assert "  " not in words
        assert name not in term_label(families()["stevens_kloeckner_2016"], name)
        advice = term_advice(families()["stevens_kloeckner_2016"], name)
        assert advice.endswith("."), name
        assert ("functions" in advice) == name.endswith("_special")
    for family in families().values():
        for weight in family.weights:
            assert "w_" not in weight_text(weight.name, 1e-9, weight.unit)


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_every_part_of_every_family_has_words_and_no_other(family):
    assert {*family.parts} == {*family.labels} >= {*family.advice}
    for part in family.parts:
        assert term_label(family, part) != part.replace("_", " "), part


@pytest.mark.parametrize(("family", "term", "begins"), [
    ("bottleneck", "chain_time", "Break the chain"), ("bottleneck", "near_time", "Fit the first-level cache"),
    ("multithreaded", "memory", "Move less data"), ("roofline", "local", "Access local memory less"),
    ("multithreaded", "near", "Touch fewer sectors"), ("work_depth", "latency", "Break the chain"),
])  # fmt: skip
def test_advice_follows_the_term(family, term, begins):
    assert term_advice(families()[family], term).startswith(begins)


def test_a_users_own_family_is_shown_by_its_names_without_advice_unless_it_gives_words():
    mine = Family("mine", "nowhere")
    assert ("my part", "") == (term_label(mine, "my_part"), term_advice(mine, "my_part"))
    wait = Weight("w_wait", "s/access", label="waiting for a load", counted="access")
    mine = Family(
        "mine", "nowhere", weights=(wait,), labels={"my_part": "loads that wait"}, advice={"my_part": "Load less."}
    )
    assert ("loads that wait", "Load less.") == (term_label(mine, "my_part"), term_advice(mine, "my_part"))
    assert "waiting for a load costs 500 ps: 2 Gaccess/s" == weight_text("w_wait", 5e-10, "s/access", mine)
    assert "wait, an access, costs 500 ps: 2 Gaccess/s" == weight_text("w_wait", 5e-10, "s/access")


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
    # at so high a level Student's interval reaches below zero; a weight below zero keeps its bounds
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


@pytest.mark.parametrize(("value", "unit", "expected"), [
    (6.162e-10, "s", "616 ps"), (1.0, "ns", "1 ns"), (2596, "MHz", "2.6 GHz"), (9.634e10, "B/s", "96.3 GB/s"),
    (1.415e11, "operation/s", "142 Gop/s"),  # 141.5, halves go to even
    (49152, "B", "48 KiB"),  # 48 * 1024
    (True, "", "yes"), (1.96912, "", "1.969"), (4096, "work-items", "4096 work-items"),
])  # fmt: skip
def test_facts_have_fitting_units(value, unit, expected):
    (line,) = fact_lines(DeviceFacts.from_mapping("toy", "none", "0", {"own": Fact(value, unit, "")}))
    assert expected == line.value
