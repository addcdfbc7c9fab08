"""The address of an access, affine in the inames."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from weakref import WeakKeyDictionary

import islpy as isl

from perfmodel.counts.program.program import Access, Domain
from perfmodel.counts.quasipoly.count import Count
from perfmodel.values import FrozenValue

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
PARAM, DIV = isl.dim_type.param, isl.dim_type.div
NO_BYTES = Count.constant(0, "byte")


@dataclass(frozen=True, eq=False)
class Address(FrozenValue):
    """``start`` plus the sum of ``steps[i]*i`` over the inames, in bytes from the array's first cell."""

    start: Count  # where all inames are 0; it may be negative
    steps: Mapping[str, Count]  # bytes for each iname on which it depends
    drifts: bool = False  # whether data decide where a loop of the steps starts, or a part of the index
    chosen: str = ""  # the parts of the index that data decide. Then all known steps, also of 0 bytes, are in ``steps``
    #: for each iname with several digits in the index, the bytes for each digit, by its place value
    digits: Mapping[str, Mapping[int, Count]] = field(default_factory=dict)

    def step(self, iname: str, width: int = 1) -> Count:
        digits = self.digits.get(iname, {})
        return digits[width] if width in digits else width * self.steps.get(iname, NO_BYTES)

    @cached_property
    def base(self) -> str:
        """The text of ``start`` without its constant. Equal texts mean that addresses differ by a constant [B]."""
        pieces = [self.chosen] if self.chosen else []
        for domain, value in self.start.polynomial.get_pieces():
            moving = value.sub(isl.QPolynomial.val_on_domain(value.get_domain_space(), value.get_constant_val()))
            pieces += [] if moving.is_zero() else [f"{domain}: {moving}"]  # a function has no piece where it is zero
        return "; ".join(sorted(pieces))

    @cached_property
    def text(self) -> tuple[object, ...]:
        """A value that is equal for equal addresses in one array."""
        return str(self.start.polynomial), texts_of(self.steps), self.chosen

    @cached_property
    def degree(self) -> int:
        """The largest number of parameters in a term of ``start``. Rows of a matrix have 1, planes of rows have 2."""
        return max((degree for degree, _ in _terms(self.start)), default=0)

    def keeps_low_bits(self, width: int) -> bool:
        """Return whether the address modulo ``width`` bytes is independent of sizes, as far as it is known.

        A compiler sees this only for a power of two if sizes are in the address.
        """
        terms = (term for count in (self.start, *self.steps.values()) for term in _terms(count))
        factors = [factor for degree, factor in terms if degree]
        whole = all(factor.is_int() and factor.mod(width).is_zero() for factor in factors)
        return not factors or (whole and width & (width - 1) == 0)


def texts_of(steps: Mapping[str, Count]) -> tuple[tuple[str, str], ...]:
    """Return steps as texts, which are equal if the steps are."""
    return tuple(sorted((name, str(step.polynomial)) for name, step in steps.items()))


def _terms(count: Count) -> list[tuple[int, isl.Val]]:
    """Return the degree in parameters, and in floors of parameters, and the factor of each term."""
    terms: list[isl.Term] = []
    for _, value in count.polynomial.get_pieces():
        value.foreach_term(terms.append)
    degrees = (sum(each.get_exp(kind, k) for kind in (PARAM, DIV) for k in range(each.dim(kind))) for each in terms)
    return list(zip(degrees, (each.get_coefficient_val() for each in terms), strict=True))


def constant_of(start: Count) -> Fraction | None:
    """Return the constant [B] that :attr:`Address.base` leaves out, or None if the pieces have several constants."""
    values = {str(value.get_constant_val()) for _, value in start.polynomial.get_pieces()}
    return Fraction(values.pop()) if len(values) == 1 else None if values else Fraction(0)


_addresses: WeakKeyDictionary[Domain, dict[int, tuple[Access, Address | None]]] = WeakKeyDictionary()


def address_of(access: Access, domain: Domain) -> Address | None:
    """Return the address of an access in a domain, or None if it is not affine. The domain keeps the address."""
    known = _addresses.setdefault(domain, {})
    if id(access) not in known:
        # the reference to the access keeps its id in use
        known[id(access)] = (access, _address(access, access.cells, domain.points))
    return known[id(access)][1]


def moving_address_of(access: Access, domain: Domain) -> Address | None:
    """Return the address of an access, also with steps of data-bounded loops, whose inames are 0 at the start."""
    if access.moves is None:
        return address_of(access, domain)
    address = _address(access, access.moves, domain.with_loops)
    if address is None or not access.chosen:
        return None if address is None else replace(address, drifts=access.drifts)
    names = {*domain.with_loops.get_var_names(SET)}.difference(access.chosen_by)
    steps = {name: address.step(name) for name in names}
    return replace(address, drifts=True, steps=steps, chosen=access.chosen)


def _address(access: Access, cells: isl.Map | None, points: isl.Set) -> Address | None:
    if cells is None:
        return None
    function = isl.PwMultiAff.from_map(cells.intersect_domain(points))
    start: Count = Fraction(access.bits, 8) * _distance(access.offset)
    steps: dict[str, Count] = {}
    for axis, stride in enumerate(access.strides):
        form = _form(function.get_pw_aff(axis))
        if form is None:
            return None
        distance = Fraction(access.bits, 8) * _distance(stride)
        for position, name in enumerate(points.get_var_names(SET)):
            factor = form.get_coefficient_val(IN, position)
            if not factor.is_zero():
                part = Fraction(str(factor)) * distance
                steps[name] = steps[name] + part if name in steps else part
        for position in range(points.dim(SET)):
            form = form.set_coefficient_val(IN, position, 0)
        constant = isl.PwQPolynomial.from_pw_aff(isl.PwAff.from_aff(form)).project_domain_on_params()
        start = start + distance.times(_distance(constant))
    return Address(start, steps)


def _distance(function: isl.PwQPolynomial) -> Count:
    return Count(function, granularity="byte")


def _form(index: isl.PwAff) -> isl.Aff | None:
    forms = [form for _, form in index.get_pieces()]
    if not forms or forms[0].dim(DIV) or any(not form.plain_is_equal(forms[0]) for form in forms[1:]):
        return None
    return forms[0]
