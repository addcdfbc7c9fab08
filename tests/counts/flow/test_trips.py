"""Trip counts of loops for the work-item with the longest loops, by hand."""

from fractions import Fraction

import islpy as isl
import loopy as lp
import numpy as np
import pytest

from perfmodel.counts.flow.trips import Span, Trips, _bound
from tests.counts.flow.small_kernels import ADD, FLOAT, LOAD, STORE, at, flow_of, in_lanes, kernel


def test_a_triangle_below_the_work_item_is_as_deep_as_its_longest_row() -> None:
    flow = flow_of(in_lanes(kernel("{[i, j]: 0 <= i < n and 0 <= j <= i}", "out[i] = sum(j, a[j])")))
    assert {LOAD: 1, ADD: 48, STORE: 1} == at(flow.depth, n=48)


def test_statistics_give_the_trips_that_data_decide() -> None:
    unit = kernel(
        ["{[i]: 0 <= i < n}", "{[j]: first <= j < last}"],
        """
        for i
            <int32> first = starts[i] {id=first}
            <int32> last = starts[i + 1] {id=last}
            out[i] = sum(j, a[j]) {dep=first:last}
        end
        """,
        lp.GlobalArg("starts", np.int32, shape="n + 1"), lp.GlobalArg("a", FLOAT, shape=None),
    )
    flow = flow_of(in_lanes(unit), statistics={"j": Fraction(7, 2)})
    assert Fraction(7, 2) == flow.depth.operations()(n=48)


def trips_of(domain: str, code: str) -> Trips:
    return Trips(flow_of(in_lanes(kernel(domain, code))).cardinalities)


def test_loops_one_in_the_other() -> None:
    # of the lanes i the last has the longest loop over j: n trips; the loop over k has 2*j + 1, at most 2*n - 1
    trips = trips_of("{[i, j, k]: 0 <= i < n and 0 <= j <= i and 0 <= k <= 2*j}", "out[i] = sum(j, sum(k, a[j, k]))")
    assert {"j": (), "k": ("j",)} == trips.around
    assert [1, 8, 15] == [trips.count(nest)(n=8) for nest in ((), ("j",), ("k",))]
    # both together for the last lane: 1 + 3 + ... + 15
    assert sum(2 * j + 1 for j in range(8)) == trips.count(("j", "k"))(n=8)
    assert trips.sizes["n"] >= 1024
    assert trips.sizes["n"] == trips.value(("j",))


def test_values_of_a_loop_that_are_the_same_for_all_sizes() -> None:
    trips = trips_of(
        "{[i, j, k]: 0 <= i < n and 2 <= j < 14 and j mod 3 = 2 and 0 <= k < n}", "out[i] = sum((j, k), a[j, k])"
    )
    assert Span(start=2, step=3, trips=4) == trips.span("j")  # 2, 5, 8, 11
    assert trips.span("k") is None


@pytest.mark.parametrize(("domain", "spans"), [
    ("0 <= i < n and 0 <= j < 8", [None, Span(0, 1, 8)]),  # nothing runs where n is 0
    ("0 <= i < n and 0 <= j < 8 and n mod 16 = 0", [None, Span(0, 1, 8)]),
    ("0 <= i < 4 and 0 <= j < 8 and n >= 9", [Span(0, 1, 4), Span(0, 1, 8)]),
    ("0 <= i <= n and 0 <= j < 8 and j <= n", [None, None]),  # with n = 3 only four trips
])  # fmt: skip
def test_values_of_a_loop_around_which_there_may_be_nothing(domain, spans) -> None:
    unit = kernel(f"{{[i, j]: {domain}}}", "out[i, j] = a[i, j]", assumptions="n >= 0")
    trips = Trips(flow_of(unit).cardinalities)
    assert spans == [trips.span("i"), trips.span("j")]


def test_no_lane_makes_all_the_trips() -> None:
    # lane 0 runs j = 0, 1 and lane 1 runs j = 1, 2: two trips each, though j has three values
    trips = trips_of("{[i, j]: 0 <= i < 2 and i <= j < i + 2 and n >= 1}", "out[i] = sum(j, a[j])")
    assert 2 == trips.count(("j",))(n=1)


def test_a_simple_bound_of_the_longest_trips() -> None:
    # x has 4 values in each line, whatever p is, and y has n in all; the rows of y are shorter
    points = isl.Set("[n] -> { [x, y, p] : p <= x < p + 4 and p <= y < n and 0 <= p < n }")
    assert isl.PwQPolynomial("[n] -> { 4 * n : n > 0 }").plain_is_equal(_bound(points, 2))
