"""Proportional columns that share a weight."""

from __future__ import annotations

import numpy as np

from perfmodel.fitting.linear import merge_columns

#: The first and the third column are proportional, of lengths 5 and 10; so are the second and the last.
MATRIX = np.array([[3.0, 0.0, 6.0, 1.0, 0.0], [4.0, 2.0, 8.0, 0.0, 1.0]])


def test_members_get_equal_times():
    merging = merge_columns(MATRIX)
    assert ((0, 2), (1, 4)) == merging.groups
    np.testing.assert_allclose(
        [[1 / 5, 0, 0], [0, 1 / 2, 0], [1 / 10, 0, 0], [0, 0, 1], [0, 1, 0]], merging.shares
    )
    weights = merging.shares @ [10.0, 0.0, 0.0]
    np.testing.assert_allclose(MATRIX[:, 0] * weights[0], MATRIX[:, 2] * weights[2])


def test_groups_of_merged_columns_are_expanded():
    assert ((0, 2, 3), (1, 4)) == merge_columns(MATRIX).expand(((0, 2), (1,)))


def test_without_groups_nothing_changes():
    merging = merge_columns(MATRIX, ())
    np.testing.assert_array_equal(np.eye(5), merging.shares)
    assert ((1, 3),) == merging.expand(((1, 3),))
