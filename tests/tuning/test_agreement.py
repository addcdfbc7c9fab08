"""Groups of variants with equal outputs, and what they let one say."""

from __future__ import annotations

import numpy as np
import pytest

from perfmodel.tuning.agreement import KEPT, Agreement, OutputComparison


def compared(outputs, expected=None) -> Agreement:
    found = OutputComparison(expected)
    for name, value in outputs.items():
        found.add(name, {"out": np.asarray(value, float)} if not isinstance(value, dict) else value)
    return found.agreement


@pytest.mark.parametrize(
    ("outputs", "right", "wrong", "settled"),
    [
        ({"a": 1}, "a", "", False),
        ({"a": 1, "b": 1}, "ab", "", False),
        ({"a": 1, "b": 2}, "", "", False),
        ({"a": 1, "b": 1, "c": 1}, "abc", "", True),
        ({"a": 1, "b": 2, "c": 2}, "bc", "a", False),
        ({"a": 1, "b": 2, "c": 2, "d": 2, "e": 2}, "bcde", "a", True),
        ({"a": 1, "b": 1, "c": 2, "d": 2}, "", "", False),
        ({"a": 1, "b": 1, "c": 2, "d": 3}, "", "", False),  # most disagree with the largest group
    ],
)
def test_more_than_half_are_right_and_three_more_settle_it(outputs, right, wrong, settled):
    found = compared(outputs)
    assert (tuple(right), tuple(wrong), settled) == (found.right, found.wrong, found.settled)
    assert (len(outputs) > 1 and not right) or not found.undecided
    assert set(right) == {name for name in outputs if found.allows(name)}


def test_variants_that_were_not_compared_are_not_allowed_where_two_were():
    assert compared({"a": 1}).allows("other")
    assert not compared({"a": 1, "b": 1}).allows("other")
    assert Agreement().allows("any")


def test_a_reference_is_right_whatever_the_majority_says():
    found = compared({"a": 2, "b": 2, "c": 1}, {"out": np.asarray(1.0)})
    assert (("c",), ("a", "b"), True) == (found.right, found.wrong, found.settled)
    found = compared({"a": 2}, {"out": np.asarray(1.0)})
    assert ((), ("a",), False) == (found.right, found.wrong, found.undecided)
    found = compared({"a": {"other": np.ones(3)}}, {"out": np.asarray(1.0)})
    assert "a: its output differs from that of reference(): it does not write out" == found.sentences[1]


def test_other_names_are_not_compared_and_the_most_frequent_count():
    other = {"tmp": np.ones(3)}
    found = compared({"a": other, "b": 1, "c": 1})
    assert (("b", "c"), {"a": "it writes tmp, and 'b' writes out"}) == (found.right, found.uncompared)


def test_a_second_run_with_other_outputs_agrees_with_none():
    found = OutputComparison()
    for name in "abc":
        found.add(name, {"out": np.ones(2)})
    found.again("a", {"out": np.ones(2)})
    assert ("a", "b", "c") == found.agreement.right
    found.again("a", {"out": np.array([1.0, 5.0])})
    assert (("b", "c"), ("a",)) == (found.agreement.right, found.agreement.wrong)
    assert found.agreement.differs["a"].startswith("a second run of it gave other outputs: 'out' by up to 4 ")


def test_many_that_differ_are_told_though_their_outputs_are_not_kept():
    found = compared({"first": 1, "second": 1, **{f"w{i}": 10.0 + i for i in range(KEPT + 3)}})
    assert found.undecided
    assert all(text.startswith("'out' by up to ") for text in found.differs.values())
    assert len(found.groups) == KEPT + 4


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ({"a": 1}, "the output of a was compared with no other; add reference() to the kernel file, which gives the "
         "right outputs, or accept all outputs with --tolerance inf"),
        ({"a": 1, "b": 1}, "outputs of only 2 variants were compared, and agree: a, b"),
        (dict.fromkeys("abcdefgh", 1), "outputs of 8 variants were compared, and agree: a, b, c, d, e, f and 2 more"),
        ({"a": 1, "b": 2}, "outputs differ without a majority, so no variant counts as right: a against b; add "
         "reference() to the kernel file, which gives the right outputs, or accept all outputs with --tolerance inf"),
        ({"a": 1, "b": 2, "c": 2}, "outputs of 2 of 3 variants agree (b, c); the others are wrong"),
    ],
)  # fmt: skip
def test_the_first_sentence(outputs, said):
    assert said == compared(outputs).sentences[0]


def test_a_document_has_the_groups_and_what_differs():
    found = compared({"a": 3, "b": 2, "c": 2, "d": {"tmp": np.ones(1)}}).to_json()
    assert {
        "reference": False, "groups": [["b", "c"], ["a"]], "right": ["b", "c"],
        "wrong": [{"variant": "a", "difference": "'out' by up to 1 (50 %), in 1 of 1 elements, first out = 3.0 instead "
                   "of 2.0"}],
        "undecided": False, "uncompared": [{"variant": "d", "problem": "it writes tmp, and 'b' writes out"}],
    } == found  # fmt: skip
