"""From isl's functions and sets to the values of :mod:`perfmodel.counts.quasipoly.evaluation`."""

from __future__ import annotations

from fractions import Fraction
from math import lcm

import islpy as isl

from perfmodel.counts.quasipoly.evaluation import (
    Affine,
    Constraint,
    Floor,
    Guard,
    Piece,
    QuasiPolynomial,
    Term,
    remainder_in,
)

PARAM, DIV = isl.dim_type.param, isl.dim_type.div


def fraction(value: isl.Val) -> Fraction:
    """Return an isl value as a Fraction."""
    return Fraction(str(value))


class _Translator:
    """Collects the floor atoms met while pieces are translated."""

    def __init__(self, space: isl.Space) -> None:
        self.n_params = space.dim(PARAM)
        self.parameters = tuple(space.get_dim_name(PARAM, i) for i in range(self.n_params))
        self.floors: dict[Floor, int] = {}

    def affine(self, aff: isl.Aff) -> tuple[Affine, int]:
        """Return (form, d) with the integer form divided by d equal to ``aff``."""
        coefficients: dict[int, Fraction] = {}
        constant = fraction(aff.get_constant_val())
        for i in range(self.n_params):
            c = fraction(aff.get_coefficient_val(PARAM, i))
            if c:
                coefficients[i] = c
        for i in range(aff.dim(DIV)):
            c = fraction(aff.get_coefficient_val(DIV, i))
            if c:
                atom = self.floor(aff.get_div(i))
                coefficients[atom] = coefficients.get(atom, Fraction(0)) + c
        common = lcm(constant.denominator, *(c.denominator for c in coefficients.values()))
        form = Affine(
            int(constant * common),
            tuple((a, int(c * common)) for a, c in sorted(coefficients.items()) if c),
        )
        return form, common

    def floor(self, aff: isl.Aff) -> int:
        """Return the atom that stands for floor(aff)."""
        form, denominator = self.affine(aff)
        return self.floors.setdefault(Floor(form, denominator), self.n_params + len(self.floors))

    def guard(self, domain: isl.Set) -> Guard:
        """Return the set as a disjunction of conjunctions of constraints."""
        conjunctions = []
        for basic in domain.compute_divs().get_basic_sets():
            constraints = []
            for constraint in basic.get_constraints():
                form, _ = self.affine(constraint.get_aff())
                if constraint.is_equality() or not self.always(form):
                    constraints.append(Constraint(form, bool(constraint.is_equality())))
            conjunctions.append(tuple(constraints))
        return tuple(conjunctions)

    def always(self, form: Affine) -> bool:
        """Whether ``form >= 0`` is one of the two constraints that define a floor."""
        found = remainder_in(form, list(self.floors), self.n_params)
        if found is None:
            return False
        floor, sign, constant = found
        return constant >= (0 if sign > 0 else floor.denominator - 1)

    def term(self, term: isl.Term) -> Term:
        powers = {}
        for i in range(self.n_params):
            exponent = term.get_exp(PARAM, i)
            if exponent:
                powers[i] = exponent
        for i in range(term.dim(DIV)):
            exponent = term.get_exp(DIV, i)
            if exponent:
                powers[self.floor(term.get_div(i))] = exponent
        return Term(fraction(term.get_coefficient_val()), tuple(sorted(powers.items())))

    def assembled(self, pieces: list[Piece]) -> QuasiPolynomial:
        return QuasiPolynomial(self.parameters, tuple(self.floors), tuple(pieces))


def quasi_polynomial_of(polynomial: isl.PwQPolynomial) -> QuasiPolynomial:
    """Return isl's function of parameters as a value."""
    polynomial = polynomial.drop_unused_params()
    translator = _Translator(polynomial.get_domain_space())
    guards: dict[tuple[Term, ...], Guard] = {}
    for domain, value in polynomial.get_pieces():
        terms = [translator.term(t) for t in value.get_terms()]
        key = tuple(sorted(terms, key=lambda term: term.powers))
        if key:  # it is zero outside all pieces
            guards[key] = (*guards.get(key, ()), *translator.guard(domain))
    return translator.assembled([Piece(guard, terms) for terms, guard in guards.items()])


def indicator_of(domain: isl.Set) -> QuasiPolynomial:
    """Return the function that is 1 on a set of parameters and 0 elsewhere."""
    domain = domain.drop_unused_params()
    translator = _Translator(domain.get_space())
    return translator.assembled([Piece(translator.guard(domain), (Term(Fraction(1), ()),))])
