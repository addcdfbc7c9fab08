"""Comparison of outputs: differences, groups of variants, and the outputs of a reference."""

import numpy as np
import pytest

from perfmodel.errors import TuningError
from perfmodel.tuning.agreement import Agreement, OutputComparison, differences, expected_outputs, tolerance_of


def compared(outputs, expected=None) -> Agreement:
    found = OutputComparison(expected)
    for name, value in outputs.items():
        found.add(name, {"out": np.asarray(value, float)} if not isinstance(value, dict) else value)
    return found.agreement


@pytest.mark.parametrize(("outputs", "right", "wrong", "settled"), [
    ({"a": 1}, "a", "", False),
    ({"a": 1, "b": 1}, "ab", "", False),
    ({"a": 1, "b": 2}, "", "", False),
    ({"a": 1, "b": 1, "c": 1}, "abc", "", True),
    ({"a": 1, "b": 2, "c": 2}, "bc", "a", False),
    ({"a": 1, "b": 2, "c": 2, "d": 2, "e": 2}, "bcde", "a", True),
    ({"a": 1, "b": 1, "c": 2, "d": 2}, "", "", False),
    ({"a": 1, "b": 1, "c": 2, "d": 3}, "", "", False),  # most disagree with the largest group
])  # fmt: skip
def test_the_majority_is_right(outputs, right, wrong, settled):
    found = compared(outputs)
    assert (tuple(right), tuple(wrong), settled) == (found.right, found.wrong, found.settled)
    assert (len(outputs) > 1 and not right) or not found.undecided
    assert set(right) == {name for name in outputs if found.allows(name)}


def test_uncompared_variants_are_not_allowed_if_two_were_compared():
    assert compared({"a": 1}).allows("other")
    assert not compared({"a": 1, "b": 1}).allows("other")
    assert Agreement().allows("any")


def test_a_reference_overrules_the_majority():
    found = compared({"a": 2, "b": 2, "c": 1}, {"out": np.asarray(1.0)})
    assert (("c",), ("a", "b"), True) == (found.right, found.wrong, found.settled)
    found = compared({"a": 2}, {"out": np.asarray(1.0)})
    assert ((), ("a",), False) == (found.right, found.wrong, found.undecided)
    found = compared({"a": {"other": np.ones(3)}}, {"out": np.asarray(1.0)})
    assert "a: its output differs from the expected one: it does not write out" == found.sentences[1]


def test_variants_with_other_outputs_are_not_compared():
    other = {"tmp": np.ones(3)}
    found = compared({"a": other, "b": 1, "c": 1})
    assert (("b", "c"), {"a": "it writes tmp, and 'b' writes out"}) == (found.right, found.uncompared)


def test_outputs_that_are_all_nan_are_not_compared():
    found = compared({"a": {"out": np.full(3, np.nan)}, "b": {"out": np.full(3, np.nan)}})
    assert {"a", "b"} == found.uncompared.keys()
    assert "every element of 'out' is NaN; give arguments(**sizes)" in found.uncompared["a"]
    assert not found.allows("a")
    assert "no outputs were compared" == found.sentences[0]


def test_a_variant_whose_second_run_differs_is_wrong():
    found = OutputComparison()
    for name in "abc":
        found.add(name, {"out": np.ones(2)})
    found.again("a", {"out": np.ones(2)})
    assert ("a", "b", "c") == found.agreement.right
    found.again("a", {"out": np.array([1.0, 5.0])})
    assert (("b", "c"), ("a",)) == (found.agreement.right, found.agreement.wrong)
    assert found.agreement.differs["a"].startswith("a second run gave other outputs: 'out' by up to 4 ")


@pytest.mark.parametrize(("outputs", "text"), [
    ({"a": 1}, "the output of a was compared with no other; add reference() to the kernel file, which gives the "
     "right outputs, or accept all outputs with --tolerance inf"),
    ({"a": 1, "b": 1}, "outputs of only 2 variants were compared, and agree: a, b"),
    ({letter * 20: 1 for letter in "abcde"},
     f"outputs of 5 variants were compared, and agree: {'a' * 20}, {'b' * 20}, {'c' * 20} and 2 more"),
    ({"a": 1, "b": 2}, "outputs differ without a majority, so no variant counts as right: a against b; add "
     "reference() to the kernel file, which gives the right outputs, or accept all outputs with --tolerance inf"),
    ({"a": 1, "b": 2, "c": 2}, "outputs of 2 of 3 variants agree (b, c); the others are wrong"),
])  # fmt: skip
def test_the_first_sentence(outputs, text):
    assert text == compared(outputs).sentences[0]


def test_a_document_has_the_groups_and_what_differs():
    found = compared({"a": 3, "b": 2, "c": 2, "d": {"tmp": np.ones(1)}}).to_json()
    assert {
        "reference": False, "groups": [["b", "c"], ["a"]], "right": ["b", "c"],
        "wrong": [{"variant": "a", "difference": "'out' by up to 1 (50 %), in 1 of 1 elements, first out = 3.0 instead "
                   "of 2.0"}],
        "undecided": False, "uncompared": [{"variant": "d", "problem": "it writes tmp, and 'b' writes out"}],
    } == found  # fmt: skip


def off(found, expected, tolerance=None) -> bool:
    return bool(differences({"c": np.asarray(found)}, {"c": np.asarray(expected)}, tolerance))


@pytest.mark.parametrize(("dtype", "terms", "expected"), [
    ("float16", 1, 1e-2), ("complex64", 1e4, 1e-4), ("float32", 1e8, 2 * 2**-23 * 1e4), ("complex128", 1, 1e-8),
    ("int64", 1e8, 0.0),
])  # fmt: skip
def test_the_tolerance_by_type_and_number_of_terms(dtype, terms, expected):
    assert expected == pytest.approx(tolerance_of(np.dtype(dtype), terms))


def test_the_tolerance_is_relative_to_the_element_or_the_lower_quartile():
    ones = np.ones(4, np.float32)
    assert not off(ones * np.float32(1 + 9e-5), ones)
    assert off(ones * np.float32(1 + 2e-4), ones)
    # elements that are not zero are 2: one of nearly nothing may be off by 2e-4, and not by more
    assert not off(np.array([2, 1.9e-4], np.float32), np.array([2, 0], np.float32))
    assert off(np.array([2, 2.1e-4], np.float32), np.array([2, 0], np.float32))
    assert not off(np.array([1 + 1e-9]), np.array([1.0]))
    assert off(np.array([1 + 1e-7]), np.array([1.0]))
    assert not off(np.array([1 + 1e-7]), np.array([1.0]), 1e-6)


@pytest.mark.parametrize("huge", [1, 40_000])
def test_large_elements_do_not_hide_others(huge):
    expected = np.random.default_rng(1).uniform(0.5, 2.0, 65_536).astype(np.float32)
    expected[:huge] = 1e20
    found = expected.copy()
    found[huge:] *= np.float32(1.01)
    (phrase,) = differences({"c": found}, {"c": expected})
    assert f"in {65_536 - huge} of 65536 elements, first c[{huge}] = " in phrase
    assert not off(expected * np.float32(1 + 1e-5), expected)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("count", "sums"), [(64, 32), (2**18, 4)])
def test_sums_in_another_order_agree(signed, count, sums):
    """Also if terms cancel, so that rounding errors exceed small sums; the sorted order is the worst."""
    terms = np.random.default_rng(count).uniform(-1.0 if signed else 0.5, 1.0, (count, sums)).astype(np.float32)
    orders = (terms, terms[::-1], np.sort(terms, axis=0))
    forward, backward, ordered = (np.add.accumulate(one, axis=0)[-1] for one in orders)
    pairwise = terms.sum(axis=0)
    assert 0 < np.abs(forward - backward).max()
    for one in (backward, pairwise, *[ordered] * (not signed)):
        assert () == differences({"c": one}, {"c": forward}, terms=count)
    assert off(forward * np.float32(1.01), forward)


def test_fields_of_a_structure_have_a_tolerance():
    pairs = np.dtype([("x", "f4"), ("n", "i4")], align=True)
    expected = np.ones(3, pairs)
    near, wrong = expected.copy(), expected.copy()
    near["x"] *= np.float32(1 + 1e-6)
    wrong["n"][2] = 5
    assert not off(near, expected)
    assert "'c.n' by up to 4 (400 %), in 1 of 3 elements, first c.n[2] = 5 instead of 1" == (
        differences({"c": wrong}, {"c": expected})[0]
    )


def test_complex_numbers_are_compared_by_their_distance():
    expected = np.full(5, 3 + 4j, np.complex64)
    found = expected.copy()
    found[3] = 4 + 3j
    assert not off(expected * np.complex64(1 + 1e-6), expected)
    assert "first c[3] = (4+3j) instead of (3+4j)" in differences({"c": found}, {"c": expected})[0]


def test_integers_and_booleans_must_match_exactly():
    assert not off([1, 2], [1, 2])
    assert off([1, 3], [1, 2], 1.0)
    assert off([True], [False])
    assert off([2**62], [2**62 + 1])  # equal as float64


def test_values_that_are_not_finite_must_match():
    nan, inf = float("nan"), float("inf")
    assert not off([nan, inf, -inf, 1.0], [nan, inf, -inf, 1.0])
    assert off([nan, 1.0], [1.0, 1.0])
    assert off([inf, 1.0], [-inf, 1.0])
    (phrase,) = differences({"c": np.array([nan, 1.0])}, {"c": np.array([2.0, 1.0])})
    assert "'c' by up to inf (inf %), in 1 of 2 elements, first c[0] = nan instead of 2.0" == phrase


def test_other_shapes_types_and_structures():
    (phrase,) = differences({"c": np.ones(3)}, {"c": np.ones((3, 1), np.float32)})
    assert "'c' is float64 of shape (3,) instead of float32 of shape (3, 1)" == phrase
    pairs = np.zeros(2, [("a", "f4"), ("b", "i4")])
    assert not off(pairs, pairs)
    assert off(np.ones(2, pairs.dtype), pairs)
    assert not off(np.empty(0), np.empty(0))
    assert off(np.float64(2.0), np.float64(1.0))


OUTPUTS = {"out": np.zeros(3, np.float32), "place": np.zeros(2, np.int32)}


def test_expected_arrays_have_the_types_of_the_outputs():
    found = expected_outputs({"out": [1.0, 2.0, 1e300], "place": np.arange(2)}, OUTPUTS)
    assert {"out": np.float32, "place": np.int32} == {name: one.dtype for name, one in found.items()}
    assert [1.0, 2.0, np.inf] == found["out"].tolist()
    assert ["place"] == list(expected_outputs({"place": [1, 2]}, OUTPUTS))


@pytest.mark.parametrize(("value", "text"), [
    (None, "reference() returns NoneType; give a dict with some of the outputs: out, place"),
    ({}, "reference() returns an empty dict"), ({1: 2}, "gives 1, which is not an output"),
    ({"out": 1.0}, "gives 'out' as an array of float64 and shape (); give an array of float32 and shape (3,)"),
    ({"out": [1j, 1, 1]}, "gives 'out' as an array of complex128 and shape (3,)"),
    ({"place": [0.5, 1]}, "gives 'place' as an array of float64 and shape (2,); give an array of int32"),
    ({"out": [[1], [2, 3]]}, "gives 'out', which is not an array ("),
    ({"out": ["a", "b", "c"]}, "gives 'out' as an array of str"),
    ({"out": [np.nan] * 3}, "gives 'out' with NaN in every element; give numbers that can be compared"),
])  # fmt: skip
def test_invalid_references(value, text):
    with pytest.raises(TuningError) as raised:
        expected_outputs(value, OUTPUTS)
    assert text in str(raised.value)
