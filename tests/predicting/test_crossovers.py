"""Crossovers, against sizes worked out by hand."""

import numpy as np
import pytest

from perfmodel.errors import SizeError, UnmeasuredFeatureError
from perfmodel.predicting import crossovers
from perfmodel.predicting.crossovers import Lead, fastest, leads_of
from perfmodel.progress import Silent
from tests.priced import CUBE, MODEL, SQUARE, STRICT, adding


def crossings(a, b, high, **fixed):
    return leads_of({"a": a, "b": b}, MODEL, "n", 1, high, fixed)[0]


def test_a_crossing_at_the_very_size():
    # equal at 64, where the cube keeps its lead
    assert (Lead("a", 1, 64), Lead("b", 65, 1000)) == crossings(CUBE, SQUARE, 1000)
    # equal at 1
    assert (Lead("a", 1, 1), Lead("b", 2, 10)) == crossings(adding("n^2", kind="mul"), adding("2*n - 1"), 10)


def test_long_comparisons_report_their_steps(monkeypatch):
    monkeypatch.setattr(crossovers, "ARRAYS", crossovers.Effort(1 << 17, 1 << 14, 100))
    tasks, progress = [], Silent()
    progress.start = lambda name, total, seconds: tasks.append((name, total))
    leads, _ = leads_of({"a": CUBE, "b": SQUARE}, MODEL, "n", 1, 1000, {}, progress=progress)
    assert (Lead("a", 1, 64), Lead("b", 65, 1000)) == leads
    assert [("comparing 2 variants at 1000 sizes", 10)] == tasks


def test_only_sizes_that_both_assume():
    tiled = adding("64*n^2", "[n] -> { : n mod 16 = 0 }", "mul")
    assert (Lead("a", 16, 64), Lead("b", 80, 992)) == crossings(CUBE, tiled, 1000)
    other = adding("n^3", "[n] -> { : n mod 24 = 0 }")
    assert (Lead("a", 48, 48), Lead("b", 96, 960)) == crossings(other, tiled, 1000)


@pytest.mark.parametrize("step", [48])
def test_a_crossing_in_a_range_of_a_thousand_million_sizes(step, monkeypatch):
    monkeypatch.setattr(crossovers, "ARRAYS", crossovers.Effort(1 << 12, 1 << 10, 1 << 17))
    a, b = adding("n^2", f"[n] -> {{ : n mod {step} = 0 }}"), adding("123456789*n", kind="mul")
    last = 123456789 // step * step
    found = crossings(a, b, 10**9)
    assert (Lead("a", step, last), Lead("b", last + step, 10**9 // step * step)) == found


@pytest.mark.parametrize("high", [5000, 10**8])
def test_all_crossings_are_found(high):
    # n^2 - 1100 n + 100000 is zero at 100 and 1000 and negative between
    a, b = adding("1100*n"), adding("n^2 + 100000", kind="mul")
    expected = (Lead("a", 1, 100), Lead("b", 101, 1000), Lead("a", 1001, high))
    assert expected == crossings(a, b, high)


def test_a_lower_bound_in_the_middle_of_a_wide_range():
    late = adding("10*n", "[n] -> { : n >= 3000000 and n mod 5 = 0 }", "mul")
    assert (Lead("b", 3_000_000, 10**7),) == crossings(CUBE, late, 10**7)
    early = adding("10*n", "[n] -> { : n <= 7000000 }", "mul")
    assert (Lead("a", 1, 3), Lead("b", 4, 7_000_000)) == crossings(CUBE, early, 10**7)


def test_other_parameters_are_fixed():
    a, b = adding("n^2*m", parameters="m, n"), adding("100*n*m", kind="mul", parameters="m, n")
    assert (Lead("a", 1, 100), Lead("b", 101, 200)) == crossings(a, b, 200, m=7)
    with pytest.raises(SizeError):
        crossings(a, b, 200)
    odd, even = (adding("n", f"[n] -> {{ : n mod 2 = {rest} }}") for rest in (1, 0))
    with pytest.raises(SizeError, match="no n from 1 to 1000 meets the assumptions"):
        crossings(odd, even, 1000)


def test_the_fastest_of_three_by_ranges():
    # n^3 < 16 n^2 < 1024 n: they cross at 16 and at 64
    three = {"cube": CUBE, "square": adding("16*n^2", kind="mul"), "line": adding("1024*n")}
    expected = (Lead("cube", 1, 16), Lead("square", 17, 64), Lead("line", 65, 1000))
    assert (expected, {}) == leads_of(three, MODEL, "n", 1, 1000, {})


def test_a_variant_that_was_never_measured_takes_no_part():
    variants = {"cube": CUBE, "divisions": adding("n", kind="div")}
    found, withheld = leads_of(variants, STRICT, "n", 1, 10, {})
    assert ((Lead("cube", 1, 10),), ["divisions"]) == (found, list(withheld))
    assert "divisions" == leads_of(variants, STRICT, "n", 2, 10, {}, allow_unmeasured=True)[0][0].name
    with pytest.raises(UnmeasuredFeatureError):
        leads_of({"divisions": variants["divisions"]}, STRICT, "n", 1, 10, {})


def test_a_lead_is_kept_while_times_are_equal():
    seconds = np.array([[2.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 2.0], [9.0, 1.0, 0.5, 2.0]])
    assert [1, 1, 2, 0] == fastest(seconds).tolist()
    assert 3 == len(fastest(np.full((2, 3), np.nan)))  # ends
