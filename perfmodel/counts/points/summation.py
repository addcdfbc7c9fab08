r"""Sums of polynomials over the points of polytopes.

A polytope is summed over one variable at a time:

.. math:: \sum_{x=L}^{U} x^k = S_k(U) - S_k(L - 1)

with Faulhaber's polynomials S. If there are several bounds, the polytope is split into parts. In each part, one bound
is the tightest. A bound ``c*x >= l`` gives the floor of an affine form. A variable in a floor is summed for each
residue (Pugh, *Counting Solutions to Presburger Formulas: How and Why*, PLDI 1994).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import islpy as isl

from perfmodel.counts.points import polytopes
from perfmodel.counts.points.cardinality import unbounded
from perfmodel.counts.points.factors import without_tiles
from perfmodel.counts.points.polytopes import AffineForm, FloorAtom, NamedFloor, Polynomial, Polytope, polytope_of

SUMS = 400  # most partial sums of a set
RESIDUES = 64
TERMS = 400  # limits for a function: no known kernel needs 300 terms or 20 floors
FLOORS = 24
ONE = Polynomial.constant(1)
Values = dict[str, Polynomial]  # by the condition in isl's notation


class TooHardError(Exception):
    """A sum needs too many partial sums."""


@dataclass(frozen=True)
class PartialSum:
    """A polynomial to be summed over a polytope. Derived parameters are floors of forms in earlier parameters."""

    polytope: Polytope
    value: Polynomial
    derived: tuple[NamedFloor, ...] = ()

    def substituted(self, name: str, by: AffineForm) -> "PartialSum":
        return PartialSum(self.polytope.substituted(name, by), self.value.substituted(name, by), self.derived)


def partial_sums_of(basic: isl.BasicSet) -> list[PartialSum]:
    """Return sums without variables that add up to the number of points of a basic set, or raise a TooHardError."""
    polytope, derived = polytope_of(basic)
    todo = [PartialSum(polytope, ONE, derived)]
    done: list[PartialSum] = []
    looked_at = 0
    while todo:
        summand = todo.pop()
        looked_at += 1
        if looked_at > SUMS:
            raise TooHardError
        simple = polytopes.reduced(summand.polytope)
        if simple is None:
            continue
        summand = without_equalities(replace(summand, polytope=simple))
        if summand.value == ONE:
            summand = replace(summand, polytope=without_tiles(summand.polytope))
        if summand.polytope.variables:
            todo.extend(_summed_over(_best_variable(summand), summand))
        else:
            done.append(summand)
    return done


def _best_variable(summand: PartialSum) -> str:
    def cost(name: str) -> tuple[int, int, int]:
        lower, upper, _ = summand.polytope.bounds(name)
        kept = set(summand.polytope.variables) - {name}
        later = lcm(1, *(abs(form[name]) for form in (*lower, *upper) if kept & form.names))
        return summand.value.period(name) * later, len(lower) * len(upper), len(lower) + len(upper)

    return min(summand.polytope.variables, key=cost)


def _summed_over(name: str, summand: PartialSum) -> Iterator[PartialSum]:
    """Yield sums that add up to a given sum, without the variable or without floors of the variable."""
    period = summand.value.period(name)
    if period > RESIDUES:
        raise TooHardError
    if period > 1:
        yield from (summand.substituted(name, AffineForm({name: period}, residue)) for residue in range(period))
        return
    lower, upper, others = summand.polytope.bounds(name)
    if not lower or not upper:
        raise unbounded(str(summand.polytope))
    for i, low in enumerate(lower):
        for j, high in enumerate(upper):
            # both bounds are the tightest, and a rational value lies between them
            chosen = [-high[name] * low + low[name] * high]
            chosen += [_is_tightest(low, other, name, k < i) for k, other in enumerate(lower) if k != i]
            chosen += [_is_tightest(high, other, name, k < j) for k, other in enumerate(upper) if k != j]
            # l + a*x >= 0 is x > floor((-l - 1)/a), and h - b*x >= 0 is x <= floor(h/b)
            below = polytopes.floor(-low.without(name) - 1, low[name])
            last = polytopes.floor(high.without(name), -high[name])
            polytope = replace(summand.polytope, inequalities=(*others, *chosen)).without(name)
            yield replace(summand, polytope=polytope, value=summand.value.summed(name, below, last))


def _is_tightest(best: AffineForm, other: AffineForm, name: str, strictly: bool) -> AffineForm:
    """Return the form that is >= 0 where a bound is at least as tight as another bound of the same side.

    Let ``a*x + l >= 0`` and ``c*x + m >= 0`` both be bounds from below, or both from above. Compare by ``l/|a| <=
    m/|c|``. If ``strictly``, compare by ``<``, so that one of two equal bounds is the tightest.
    """
    return abs(best[name]) * other - abs(other[name]) * best - int(strictly)


def without_equalities(summand: PartialSum) -> PartialSum:
    """Return an equal sum without variables in equalities. Determined variables become derived parameters."""
    while True:
        polytope = summand.polytope
        tied = [
            (form, names) for form in polytope.equalities if (names := [v for v in polytope.variables if v in form])
        ]
        if not tied:
            return summand
        form, names = min(tied, key=lambda pair: min(abs(pair[0][v]) for v in pair[1]))
        least = min(names, key=lambda v: abs(form[v]))
        step, rest = form[least], form.without(least)
        if all(c % step == 0 for c in (*rest.terms.values(), rest.constant)):
            by = AffineForm({name: -c // step for name, c in rest.terms.items()}, -rest.constant // step)
            summand = summand.substituted(least, by)
            summand = replace(summand, polytope=summand.polytope.without(least))
        elif len(names) == 1:
            derived = NamedFloor(least, -rest if step > 0 else rest, abs(step))
            summand = replace(summand, polytope=polytope.without(least), derived=(*summand.derived, derived))
        else:  # substitute to make the other coefficients smaller than the step
            steps = {name: -round(form[name] / step) for name in names} | {least: 1}
            summand = summand.substituted(least, AffineForm({name: c for name, c in steps.items() if c}))


def values_of(sums: list[PartialSum]) -> Values:
    """Return the values of sums without variables. The keys are the conditions of the sums, in isl's notation."""
    values: Values = {}
    for summand in sums:
        condition, value = _value_of(summand)
        values[condition] = values[condition] + value if condition in values else value
    return values


def joined(first: Values, second: Values) -> Values:
    """Add two results of :func:`values_of`. Raise a TooHardError if isl would take long to add them."""
    both = first | {
        condition: first[condition] + value if condition in first else value for condition, value in second.items()
    }
    terms = [monomial for value in both.values() for monomial in value.terms]
    floors = {atom for monomial in terms for atom, _ in monomial if "floor" in str(atom)}
    if len(terms) > TERMS or len(floors) > FLOORS:
        raise TooHardError
    return both


def total_of(values: Values, parameters: list[str]) -> isl.PwQPolynomial:
    names = ", ".join(parameters)
    total = isl.PwQPolynomial("{ 0 }")
    for condition, value in values.items():
        terms = []
        for monomial, c in value.terms.items():
            factors = [f"({atom})^{exponent}" for atom, exponent in monomial]
            terms.append("*".join([f"({c})", *factors]))
        text = f"[{names}] -> {{ ({' + '.join(terms) or '0'}) : {condition} }}"
        total = total.add(isl.PwQPolynomial(text)).coalesce()
    return total


def _value_of(summand: PartialSum) -> tuple[str, Polynomial]:
    """Return the condition of a sum in isl's notation, and the value over isl's parameters."""
    texts: dict[str, str] = {}
    for derived in summand.derived:
        texts[derived.name] = _floor_text(derived.form, derived.denominator, texts)
    tests = [f"{form.renamed(texts)} = 0" for form in summand.polytope.equalities]
    tests += [f"{form.renamed(texts)} >= 0" for form in summand.polytope.inequalities]
    value = summand.value
    for derived in reversed(summand.derived):
        for form in summand.polytope.equalities:
            if derived.name in form:
                solution = Polynomial.linear(form.without(derived.name)) * Fraction(-1, form[derived.name])
                value = value.replaced(derived.name, solution)
                break
    return " and ".join(sorted(tests)) or "1 = 1", value.mapped(lambda atom: Polynomial.atom(
        _floor_text(*atom, texts) if isinstance(atom, FloorAtom) else texts.get(atom, atom)
    ))


def _floor_text(form: AffineForm, denominator: int, texts: Mapping[str, str]) -> str:
    return f"floor(({form.renamed(texts)})/{denominator})"
