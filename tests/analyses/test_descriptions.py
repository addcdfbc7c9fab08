"""Weights and terms in plain words: rates worked out by hand, advice, and the words of a user's own family."""

from __future__ import annotations

import pytest

from perfmodel.analyses.descriptions import term_advice, term_label, weight_text
from perfmodel.features import FEATURE_NAMES, unit
from perfmodel.models import Family, families
from perfmodel.models.model import Weight


@pytest.mark.parametrize(
    ("name", "value", "per", "expected"),
    [
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
    ],
)  # fmt: skip
def test_words(name, value, per, expected):
    assert expected == weight_text(name, value, per)


def test_every_feature_and_every_weight_has_words():
    for name in FEATURE_NAMES:
        words = weight_text(name, 1e-9, f"s/{unit(name)}")
        assert " costs 1 ns" in words
        assert "_" not in words
        assert "  " not in words
    for family in families().values():
        for weight in family.weights:
            assert "w_" not in weight_text(weight.name, 1e-9, weight.unit)


@pytest.mark.parametrize("family", families().values(), ids=lambda family: family.name)
def test_every_part_of_every_family_has_words_and_no_other(family):
    assert {*family.parts} == {*family.labels} >= {*family.advice}
    for part in family.parts:
        assert term_label(family, part) != part.replace("_", " "), part


def test_every_feature_has_words_and_advice():
    for feature in FEATURE_NAMES:
        assert feature not in term_label(families()["stevens_kloeckner_2016"], feature)
        advice = term_advice(families()["stevens_kloeckner_2016"], feature)
        assert advice.endswith("."), feature
        assert ("functions" in advice) == feature.endswith("_special")


@pytest.mark.parametrize(
    ("family", "term", "begins"),
    [
        ("bottleneck", "chain_time", "Break the chain"), ("bottleneck", "near_time", "Fit the first-level cache"),
        ("multithreaded", "memory", "Move less data"), ("roofline", "local", "Access local memory less"),
        ("multithreaded", "near", "Touch fewer sectors"),
        ("work_depth", "latency", "Break the chain"),
    ],
)  # fmt: skip
def test_advice_follows_the_term(family, term, begins):
    assert term_advice(families()[family], term).startswith(begins)


def test_a_users_own_family_is_shown_by_its_names_and_gets_no_advice():
    mine = Family("mine", "nowhere")
    assert ("my part", "") == (term_label(mine, "my_part"), term_advice(mine, "my_part"))


def test_a_users_own_family_may_give_words():
    wait = Weight("w_wait", "s/access", label="waiting for a load", counted="access")
    mine = Family(
        "mine", "nowhere", weights=(wait,), labels={"my_part": "loads that wait"}, advice={"my_part": "Load less."}
    )
    assert ("loads that wait", "Load less.") == (term_label(mine, "my_part"), term_advice(mine, "my_part"))
    assert "waiting for a load costs 500 ps: 2 Gaccess/s" == weight_text("w_wait", 5e-10, "s/access", mine)
    assert "wait, an access, costs 500 ps: 2 Gaccess/s" == weight_text("w_wait", 5e-10, "s/access")
