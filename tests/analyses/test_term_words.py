"""Terms of predicted times in words, and advice."""

from __future__ import annotations

import pytest

from perfmodel.analyses.term_words import term_advice, term_words
from perfmodel.features import FEATURE_NAMES
from perfmodel.models import families


@pytest.mark.parametrize("name", sorted(families()))
def test_every_part_of_every_family_has_words(name):
    for part in families()[name].parts:
        words = term_words(name, part)
        assert words != part.replace("_", " "), part
        assert words == term_words(f"{name} (measured)", part)


def test_every_feature_has_words_and_advice():
    for feature in FEATURE_NAMES:
        assert feature not in term_words("stevens_kloeckner_2016", feature)
        advice = term_advice("stevens_kloeckner_2016", feature)
        assert advice.endswith("."), feature
        assert ("functions" in advice) == feature.endswith("_special")


@pytest.mark.parametrize(
    ("family", "term", "begins"),
    [
        ("bottleneck", "chain_time", "Break the chain"), ("bottleneck", "near_time", "Fit the first-level cache"),
        ("multithreaded", "loop_memory", "Move less data"), ("roofline", "local", "Access local memory less"),
        ("work_depth", "latency", "Break the chain"),
    ],
)  # fmt: skip
def test_advice_follows_the_term(family, term, begins):
    assert term_advice(family, term).startswith(begins)


def test_a_users_own_family_is_shown_by_its_names_and_gets_no_advice():
    assert ("my part", "") == (term_words("mine", "my_part"), term_advice("mine", "my_part"))
