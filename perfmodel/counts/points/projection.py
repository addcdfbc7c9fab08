"""Projections of one kernel's loop domain onto some of its inames.

isl looks for redundant constraints among all pairs when it eliminates an iname. With the ten inames
of a tiled kernel this takes most of the time of counting. So inames that no constraint couples are
projected apart.
"""

from __future__ import annotations

import islpy as isl

from perfmodel.counts.points.factors import factored, variable

SET = isl.dim_type.set


class Projector:
    """Projects a basic set, and remembers its projections.

    Parameters
    ----------
    whole : islpy.BasicSet
        With a name for each dimension.
    """

    def __init__(self, whole: isl.BasicSet) -> None:
        self.whole = whole
        self._names = [whole.get_dim_name(SET, k) for k in range(whole.dim(SET))]
        self._groups = self._coupled()
        self._known: dict[tuple[frozenset[int], frozenset[int]], isl.BasicSet] = {}

    def _coupled(self) -> list[frozenset[int]]:
        product = factored(self.whole.to_set())
        if product is None or self.whole.dim(isl.dim_type.div):  # floors may couple inames
            return [frozenset(range(len(self._names)))]
        places = {variable(k): k for k in range(len(self._names))}
        return [frozenset(places[name] for name in f.variables) for f in product.factors]

    def onto(self, names: list[str]) -> isl.Set:
        """Return the projection onto these dimensions, in this order."""
        kept = frozenset(self._names.index(name) for name in names)
        points = self.whole.drop_constraints_involving_dims(SET, 0, len(self._names))
        for group in self._groups:
            points = points.intersect(self._part(group, group - kept))
        result = points.to_set()
        for k in reversed(range(len(self._names))):
            if k not in kept:
                result = result.project_out(SET, k, 1)
        return _ordered(result, names)

    def _part(self, group: frozenset[int], removed: frozenset[int]) -> isl.BasicSet:
        """Return the constraints on a group, some of its dimensions eliminated."""
        if (group, removed) not in self._known:
            part = self.whole
            for k in range(len(self._names)):
                if k not in group:
                    part = part.drop_constraints_involving_dims(SET, k, 1)
            for k in removed:
                part = part.eliminate(SET, k, 1)
            self._known[group, removed] = part
        return self._known[group, removed]


def _ordered(points: isl.Set, names: list[str]) -> isl.Set:
    for target, name in enumerate(names):
        index = points.find_dim_by_name(SET, name)
        if index != target:
            # move through the parameters: isl moves only between different types
            points = points.move_dims(isl.dim_type.param, 0, SET, index, 1)
            points = points.move_dims(SET, target, isl.dim_type.param, 0, 1)
    return points
