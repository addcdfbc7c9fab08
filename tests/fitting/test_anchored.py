"""Anchored predictions of measured rows, by hand."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from perfmodel.fitting.anchored import anchor_rows, anchored_errors, anchors_of, carried_share, one_visit_s
from perfmodel.fitting.conformal import Unseen
from tests.standins import Row


@dataclass(frozen=True)
class Visited(Row):
    """A row whose first visit was slower than its best one."""

    first_s: float = 0.0

    @property
    def kept_by_visit_s(self):
        return ((2 * self.first_s, self.first_s), (self.seconds,))


ROWS = [
    Row("a", {"n": 8}, 8.0, "", {"v": 1}, "g"), Row("a", {"n": 2}, 3.0, "", {"v": 1}, "g"),
    Row("a", {"n": 4}, 4.0, "", {"v": 1}, "g"), Row("a", {"n": 2}, 1.0, "", {"v": 2}, "g"),
    Row("a", {"n": 8}, 5.0, "", {"v": 2}, "g"), Row("b", {"n": 8}, 5.0, "", {}, "h"),
]  # fmt: skip


def groups_of(rows):
    return [row.group for row in rows]


def test_the_smallest_size_of_each_variant_is_its_anchor():
    assert [1, 1, 1, 3, 3, -1] == anchors_of(ROWS).tolist()
    # of equal products, the first by the values of the sorted names
    same = [Row("a", sizes, 1.0, "") for sizes in ({"n": 4, "m": 2}, {"n": 2, "m": 4}, {"n": 9, "m": 1})]
    assert [0, 0, 0] == anchors_of(same).tolist()
    assert [] == anchors_of([]).tolist()


def test_predictions_are_scaled_by_what_the_anchor_took_and_withheld_with_it():
    rows, found = anchor_rows(ROWS, Unseen(np.array([4.0, 1.0, 2.0, 2.0, 8.0, 1.0]), ((),) * 6))
    assert [0, 2, 4] == rows.tolist()
    # the first variant takes three times as long as predicted, the second half as long
    assert [12.0, 6.0, 4.0] == found.seconds.tolist()
    assert ((), (), ()) == found.needs
    seconds = np.array([4.0, math.nan, 2.0, -2.0, 8.0, 1.0])
    _, found = anchor_rows(ROWS, Unseen(seconds, (("x",), ("launches",), (), (), (), ())))
    assert np.isnan(found.seconds).all()
    # the second variant's anchor is predicted below zero, and lacks nothing
    assert (("launches", "x"), ("launches",), ()) == found.needs


def test_an_anchor_is_visited_once_and_noise_is_that_of_one_visit_beside_all():
    rows = [Visited("a", {"n": 2}, 3.0, "", group="g", first_s=6.0), Visited("a", {"n": 4}, 4.0, "", first_s=9.0)]
    assert [6.0, 9.0] == [one_visit_s(row) for row in rows]
    assert [24.0] == anchor_rows(rows, Unseen(np.array([1.0, 4.0]), ((), ())))[1].seconds.tolist()
    found = anchored_errors(rows, groups_of(rows), np.array([3.0, 4.0]), Unseen(np.ones(2), ((), ())), measured=2)
    assert ([pytest.approx(math.log(2))], ("g",)) == (list(found.noise.scores), found.noise.groups)
    times = np.array([row.seconds for row in ROWS])
    single = anchored_errors(ROWS, groups_of(ROWS), times, Unseen(np.ones(6), ((),) * 6), measured=6)
    assert single.noise is None


def test_errors_of_anchored_predictions():
    seconds, times = np.array([4.0, 1.0, 2.0, 2.0, 8.0, 1.0]), np.array([row.seconds for row in ROWS])
    found = anchored_errors(ROWS, groups_of(ROWS), times, Unseen(seconds, ((),) * 6), measured=6)
    # 8 / 12, 4 / 6 and 5 / 4
    assert pytest.approx([math.log(1.5), math.log(1.5), math.log(1.25)]) == list(found.conformal.scores)
    assert ("g", "g", "g") == found.conformal.groups
    # at n=8 the two variants' errors are log(8/12) and log(5/4)
    assert 1 == found.scatter.cells
    expected = (math.log(1.25) - math.log(8 / 12)) / (0.6744897501960817 * math.sqrt(2))
    assert pytest.approx(expected) == found.scatter.deviation
    # rows of test kernels have scores, and take no part in the scatter
    tested = anchored_errors(ROWS, groups_of(ROWS), times, Unseen(seconds, ((),) * 6), measured=3)
    assert (found.conformal, None) == (tested.conformal, tested.scatter)


def test_the_share_of_an_anchors_error_that_other_sizes_have():
    """Groups g and h: at n=4 errors are half, and a quarter, of those at n=2; by the other group each is scaled."""
    rows = [
        Row("a", {"n": 2}, 4.0, "", {}, "g"), Row("a", {"n": 4}, 2.0, "", {}, "g"),
        Row("b", {"n": 2}, 16.0, "", {}, "h"), Row("b", {"n": 4}, 2.0, "", {}, "h"),
    ]  # fmt: skip
    times = np.array([row.seconds for row in rows])
    found = anchored_errors(rows, groups_of(rows), times, Unseen(np.ones(4), ((),) * 4), measured=4)
    # the share of both is that of h, whose anchor is off by 16, beside 4 of g
    assert pytest.approx(0.25) == found.carried
    # g with the share 1/4 gives 4^(1/4) for 2, and h with 1/2 gives 16^(1/2) for 2
    assert pytest.approx([math.log(math.sqrt(2)), math.log(2)]) == list(found.conformal.scores)
    _, scaled = anchor_rows(rows, Unseen(np.ones(4), ((),) * 4), found.carried)
    assert [pytest.approx(math.sqrt(2)), pytest.approx(2)] == scaled.seconds.tolist()
    used, of = np.ones(1, dtype=bool), np.array(["g"])
    assert [0.0, 1.0] == [carried_share(np.ones(1), np.array([error]), of, used) for error in (-0.5, 1.5)]
    assert 1.0 == carried_share(np.ones(1), np.ones(1), of, ~used)
