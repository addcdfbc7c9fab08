"""Words for the quantities of the model for CPUs."""

from __future__ import annotations

from perfmodel.analyses.quantity_words import QUANTITY_WORDS
from perfmodel.quantities.bottleneck import QUANTITIES


def test_every_quantity_has_words_and_no_other():
    assert sorted(QUANTITIES) == sorted(QUANTITY_WORDS)


def test_words_are_different_and_plain():
    words = [words for words, _ in QUANTITY_WORDS.values()]
    assert len(words) == len({*words})
    assert not [one for one in words if "_" in one or not one.startswith(("a ", "an ", "another "))]


def test_operations_have_a_rate_of_operations():
    for name, unit in QUANTITIES.items():
        words, counted = QUANTITY_WORDS[name]
        assert (counted == "op") <= (unit == "operation"), name
        assert (counted in ("line", "element", "value")) <= (unit == "access"), name
        extra = "beside the instruction" in words  # what an access takes more than any instruction
        assert (not counted) <= (extra or unit in ("launch", "work-group", "barrier", "operation")), name
