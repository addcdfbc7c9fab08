"""Proportional columns share one weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from perfmodel.fitting.linear.least_squares import Array, proportional_groups

Groups: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Merging:
    """Columns of a matrix, and the merged columns that take their place in a fit.

    Parameters
    ----------
    groups
        Groups of columns that share one weight, each sorted.
    shares
        The weight of each column for a weight of 1 of each merged column, shape (n, n_merged).
    """

    groups: Groups
    shares: Array

    def expand(self, merged: Groups) -> Groups:
        """Return groups of merged columns as groups of columns."""
        return tuple(
            tuple(np.flatnonzero(np.any(self.shares[:, list(group)] != 0, axis=1)).tolist()) for group in merged
        )


def merge_columns(matrix: Array, groups: Groups | None = None) -> Merging:
    """Merge groups of columns, by default those that are positive multiples of one another.

    A merged column is the sum of its members scaled to unit length: in the rows at hand each member
    gets an equal time out of what they cost together.

    Examples
    --------
    >>> merge_columns(np.array([[3.0, 1.0, 6.0], [4.0, 0.0, 8.0]])).shares.tolist()
    [[0.2, 0.0], [0.0, 1.0], [0.1, 0.0]]
    """
    groups = proportional_groups(matrix) if groups is None else groups
    of_group = {i: group for group in groups for i in group}
    heads = [i for i in range(matrix.shape[1]) if of_group.get(i, (i,))[0] == i]
    shares = np.zeros((matrix.shape[1], len(heads)))
    for place, head in enumerate(heads):
        for i in of_group.get(head, ()):
            shares[i, place] = 1 / np.linalg.norm(matrix[:, i])
        if head not in of_group:
            shares[head, place] = 1.0
    return Merging(groups, shares)
