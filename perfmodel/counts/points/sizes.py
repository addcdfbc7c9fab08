"""Numbers of points of sets, each distinct set counted once, and each product factor by factor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import islpy as isl

from perfmodel.counts.points.barvinok import can_count, warn_once
from perfmodel.counts.points.factors import Product, canonical, product_of
from perfmodel.counts.points.interval_counts import ClosedForms
from perfmodel.counts.points.polytopes import Polytope
from perfmodel.counts.points.summation import sum_of_points
from perfmodel.counts.quasipoly.count import product

SET = isl.dim_type.set

MANY = 8
"""Sums of more quasi-polynomials than these are slow to add up: one each for the 48 sub-groups of a guarded
work-group takes ten seconds, Barvinok's algorithm on all of them five milliseconds."""


@dataclass(frozen=True)
class Cardinality:
    """The number of points of a set, and whether it is exact or an upper bound."""

    polynomial: isl.PwQPolynomial
    exact: bool = True

    def times(self, factor: isl.PwQPolynomial) -> Cardinality:
        """Return the number multiplied by an exact function of the parameters."""
        return Cardinality(product(self.polynomial, factor), self.exact)


class Sizes:
    """Counts sets under a program's assumptions, and remembers them.

    Closed forms come first; what has none is counted by :func:`cardinality`.
    """

    def __init__(self, assumptions: isl.Set) -> None:
        self._closed = ClosedForms(assumptions)
        self._known: dict[object, Cardinality] = {}

    def product_of(self, points: isl.Set) -> Product | None:
        """Return a set over the program's parameters as a product, if it is one."""
        if not self._closed.knows(points):
            return None
        whole = product_of(points)
        if whole is not None:
            self._closed.learn(whole.multiples)
        return whole

    def size(self, points: isl.Set, whole: Product | None) -> Cardinality:
        """Return the number of points of a set, given as a product, too, if it is one."""
        parts = [] if whole is None else [self._closed_form(f) for f in whole.factors]
        if whole is None or (None in parts and not whole.divisible):
            return self._remembered(str(_unnamed(points)), points)
        context = (whole.multiples, canonical(Polytope((), (), whole.conditions)))
        total = Cardinality(self._closed.where(whole.conditions))
        for factor, part in zip(whole.factors, parts, strict=True):
            known = part or self._remembered((canonical(factor), context), whole.points(factor))
            total = Cardinality(
                product(total.polynomial, known.polynomial), total.exact and known.exact
            )
        return total

    def sum_of_products(
        self, whole: Product, products: Iterable[list[Polytope | None]]
    ) -> Cardinality | None:
        """Return the sum of the sizes of products under the conditions of ``whole``.

        None where a factor is None or has no closed form, or where counting points is faster.
        """
        found: list[tuple[Cardinality, ...]] = []
        for factors in products:
            parts = [None if factor is None else self._closed_form(factor) for factor in factors]
            if None in parts:
                return None
            found.append(tuple(part for part in parts if part is not None))
        distinct = Counter(found)
        if len(distinct) > MANY and can_count():
            return None
        conditions = self._closed.where(whole.conditions)
        number = isl.PwQPolynomial("{ 0 }")
        for sizes, times in distinct.items():
            one = Cardinality(conditions.scale_val(isl.Val(times)))
            for size in sizes:
                one = one.times(size.polynomial)
            number = number.add(one.polynomial)
        return Cardinality(number)

    def _closed_form(self, factor: Polytope) -> Cardinality | None:
        key = canonical(factor)
        if key not in self._known:
            number = self._closed.number(factor)
            if number is None:
                return None
            self._known[key] = Cardinality(number)
        return self._known[key]

    def _remembered(self, key: object, points: isl.Set) -> Cardinality:
        if key not in self._known:
            self._known[key] = cardinality(points)
        return self._known[key]


def _unnamed(points: isl.Set) -> isl.Set:
    for index in range(points.dim(SET)):
        points = points.set_dim_name(SET, index, f"d{index}")
    return points


def cardinality(points: isl.Set) -> Cardinality:
    """Return the number of points of a set (section 3.2 of the 2016 paper).

    By Barvinok's algorithm where ``islpy`` has it, else by :mod:`perfmodel.counts.points.summation`,
    with one warning in a process.
    """
    points = points.coalesce()
    if can_count():
        return Cardinality(points.card().coalesce())
    warn_once()
    return Cardinality(*sum_of_points(points))
