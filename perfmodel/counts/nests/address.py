"""The address of an access as an affine form of the inames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import islpy as isl

from perfmodel.counts.program.program import Access, Domain
from perfmodel.counts.quasipoly.count import Count
from perfmodel.lazy import Lazy, cached_property

IN, PARAM = isl.dim_type.in_, isl.dim_type.param


@dataclass(frozen=True, eq=False)
class Address(Lazy):
    """``start`` plus the sum of ``steps[i]*i`` over the inames, in bytes from the array's first cell.

    Attributes
    ----------
    start : Count
        The address where all inames are 0; it may be negative.
    steps : mapping of str to Count
        How far the address moves where an iname rises by 1. Inames on which it does not depend are left out.
    """

    start: Count
    steps: Mapping[str, Count]

    def step(self, iname: str) -> Count:
        """Return how far the address moves with an iname."""
        return self.steps.get(iname, Count.constant(0, "byte"))

    @cached_property
    def base(self) -> str:
        """The start without its constant, as text: addresses of one base start a constant number of bytes apart."""
        pieces = []
        for domain, value in self.start.polynomial.get_pieces():
            constant = isl.QPolynomial.val_on_domain(value.get_domain_space(), value.get_constant_val())
            moving = value.sub(constant)
            pieces += [] if moving.is_zero() else [f"{domain}: {moving}"]  # a function has no piece where it is zero
        return "; ".join(sorted(pieces))


def address_of(access: Access, domain: Domain) -> Address | None:
    """Return the address of an access in the points of a domain; None where it is not affine there.

    Examples
    --------
    An access ``a[i, j]`` to an array of ``n`` columns of 4 bytes has the steps ``4*n`` along i and 4 along j.
    """
    if access.cells is None:
        return None
    start: Count = Fraction(access.bits, 8) * _distance(access.offset)
    steps: dict[str, Count] = {}
    for axis, stride in enumerate(access.strides):
        form = _form(access.cells, axis, domain)
        if form is None:
            return None
        distance = Fraction(access.bits, 8) * _distance(stride)
        for position, name in enumerate(domain.names):
            factor = form.get_coefficient_val(IN, position)
            if not factor.is_zero():
                part = Fraction(str(factor)) * distance
                steps[name] = steps[name] + part if name in steps else part
        for position in range(domain.points.dim(isl.dim_type.set)):
            form = form.set_coefficient_val(IN, position, 0)
        constant = isl.PwQPolynomial.from_pw_aff(isl.PwAff.from_aff(form)).project_domain_on_params()
        start = start + distance.times(_distance(constant))
    return Address(start, steps)


def _distance(function: isl.PwQPolynomial) -> Count:
    return Count(function, granularity="byte")


def _form(cells: isl.Map, axis: int, domain: Domain) -> isl.Aff | None:
    """Return the index along an axis as one affine form without remainders, if it is one in the whole domain."""
    function = isl.PwMultiAff.from_map(cells.intersect_domain(domain.points)).get_pw_aff(axis)
    forms = [form for _, form in function.get_pieces()]
    first = forms[0] if forms else None
    if first is None or first.dim(isl.dim_type.div) or any(not form.plain_is_equal(first) for form in forms[1:]):
        return None
    return first
