r"""Number of points of a set by pure isl, where Barvinok's algorithm is not at hand.

A set is cut into disjoint polytopes, and these are summed over one variable at a time:

.. math:: \sum_{x=L}^{U} x^k = S_k(U) - S_k(L - 1)

with Faulhaber's polynomials S. Where several bounds compete, the polytope is divided by which of
them is the tightest; a bound ``c*x >= l`` gives the floor of an affine form, and a variable in a
floor is summed residue by residue (Pugh, *Counting Solutions to Presburger Formulas: How and
Why*, PLDI 1994). Where that takes too many cases, or too large a function, a bounding box gives an
upper bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import gcd, lcm

import islpy as isl

from perfmodel.counts.points.bounding_box import box_around
from perfmodel.counts.points.enumeration import enumerated
from perfmodel.counts.points.partial_sums import Case, TooHardError, Values, closed, joined, total_of
from perfmodel.counts.points.polynomials import (
    Form,
    Polynomial,
    combine,
    constant,
    floor,
    floors_with,
    substituted,
    summed,
)
from perfmodel.counts.points.polytopes import (
    Derived,
    Polytope,
    polytope_of,
    reduced,
    text_of,
    without_tiles,
)
from perfmodel.errors import InfiniteCountError

PARAM = isl.dim_type.param
CASES = 400  # polytopes looked at before a set counts as too hard
RESIDUES = 64


def sum_of_points(points: isl.Set) -> tuple[isl.PwQPolynomial, bool]:
    """Return the number of points as a function of the parameters, and whether it is exact."""
    values: Values = {}
    hard: list[isl.BasicSet] = []
    known = enumerated(points.coalesce()).compute_divs()
    for basic in known.make_disjoint().compute_divs().get_basic_sets():
        try:
            values = joined(values, closed(cases_of(basic)))
        except TooHardError:
            hard.append(basic)
    parameters = [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))]
    total = total_of(values, parameters)
    return (total.add(box_around(hard)).coalesce(), False) if hard else (total, True)


def cases_of(basic: isl.BasicSet) -> list[Case]:
    """Return cases without variables that add up to the number of points of a basic set.

    Raises
    ------
    TooHardError
        There are too many of them.
    """
    polytope, derived = polytope_of(basic)
    todo = [Case(polytope, constant(1), derived)]
    done: list[Case] = []
    looked_at = 0
    while todo:
        case = todo.pop()
        looked_at += 1
        if looked_at > CASES:
            raise TooHardError
        simple = reduced(case.polytope)
        if simple is None:
            continue
        case = without_equalities(Case(simple, case.value, case.derived))
        if case.value == constant(1):
            case = replace(case, polytope=without_tiles(case.polytope))
        if case.polytope.variables:
            todo.extend(_summed_over(_best_variable(case), case))
        else:
            done.append(case)
    return done


# {{{ one variable

def _best_variable(case: Case) -> str:
    """Return the variable whose sum makes the fewest cases, now and later."""

    def cost(name: str) -> tuple[int, int, int]:
        rows = [form for form in case.polytope.inequalities if name in form]
        lower = sum(form[name] > 0 for form in rows)
        kept = set(case.polytope.variables) - {name}
        later = lcm(1, *(abs(form[name]) for form in rows if kept & set(form)))
        return period_in(case.value, name) * later, lower * (len(rows) - lower), len(rows)

    return min(case.polytope.variables, key=cost)


def period_in(value: Polynomial, name: str) -> int:
    """Return the period in a variable of the floors that it is in."""
    return lcm(1, *(
        atom.denominator // gcd(atom.denominator, dict(atom.form)[name])
        for atom in floors_with(value, name)
    ))


def _summed_over(name: str, case: Case) -> Iterator[Case]:
    """Yield cases whose sums add up to the case's, without the variable (or not in floors)."""
    period = period_in(case.value, name)
    if period > RESIDUES:
        raise TooHardError
    if period > 1:
        for residue in range(period):
            by = {name: period, "": residue}
            moved = case.polytope.substituted(name, by)
            moved = replace(moved, variables=case.polytope.variables)
            yield Case(moved, substituted(case.value, name, by), case.derived)
        return
    rows = case.polytope.inequalities
    others = tuple(form for form in rows if name not in form)
    lower = [_split(form, name) for form in rows if form.get(name, 0) > 0]
    upper = [_split(form, name) for form in rows if form.get(name, 0) < 0]
    if not lower or not upper:
        raise InfiniteCountError(text_of(case.polytope))
    variables = tuple(v for v in case.polytope.variables if v != name)
    for i, (a, low) in enumerate(lower):  # a*name + low >= 0
        for j, (b, high) in enumerate(upper):  # b*name <= high
            chosen = [combine(high, a, low, b)]  # some rational value is between them
            chosen += [_tightest(k < i, other, d, low, a) for k, (d, other) in enumerate(lower)
                       if k != i]
            chosen += [_tightest(k < j, other, d, high, b) for k, (d, other) in enumerate(upper)
                       if k != j]
            below = floor(combine(low, -1, {"": 1}, -1), a)
            value = summed(case.value, name, below, floor(high, b))
            yield Case(
                Polytope(variables, case.polytope.equalities, (*others, *chosen)), value,
                case.derived,
            )


def _split(form: Form, name: str) -> tuple[int, Form]:
    return abs(form[name]), {key: c for key, c in form.items() if key != name}


def _tightest(strictly: bool, other: Form, d: int, best: Form, a: int) -> Form:
    """Return the condition that ``best / a <= other / d``, strictly to break ties."""
    return combine(combine(other, a, best, -d), 1, {"": 1}, -int(strictly))

# }}}


# {{{ equalities

def without_equalities(case: Case) -> Case:
    """Return a case of the same sum, in which no variable is in an equality.

    A variable that an equality ties to the parameters alone becomes a derived parameter.
    """
    while True:
        polytope = case.polytope
        tied = [
            (form, names) for form in polytope.equalities
            if (names := [v for v in polytope.variables if v in form])
        ]
        if not tied:
            return case
        form, names = min(tied, key=lambda pair: min(abs(pair[0][v]) for v in pair[1]))
        least = min(names, key=lambda v: abs(form[v]))
        step = form[least]
        rest = {name: c for name, c in form.items() if name != least}
        remaining = tuple(v for v in polytope.variables if v != least)
        if all(c % step == 0 for c in rest.values()):
            by = {name: -c // step for name, c in rest.items()}
            case = _renamed(case, least, by, remaining)
        elif len(names) == 1:
            sign = 1 if step > 0 else -1
            derived = Derived(least, combine(rest, -sign, {}, 0), abs(step))
            case = Case(
                replace(polytope, variables=remaining), case.value, (*case.derived, derived)
            )
        else:  # the new variable makes the others' coefficients smaller than the step
            by = {name: -round(form[name] / step) for name in names} | {least: 1}
            case = _renamed(case, least, by, polytope.variables)


def _renamed(case: Case, name: str, by: Form, variables: tuple[str, ...]) -> Case:
    polytope = replace(case.polytope.substituted(name, by), variables=variables)
    return Case(polytope, substituted(case.value, name, by), case.derived)

# }}}
