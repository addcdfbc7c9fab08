r"""Number of points of a set by pure isl, where Barvinok's algorithm is not at hand.

A set is cut into disjoint polytopes, and these are summed over one variable at a time:

.. math:: \sum_{x=L}^{U} x^k = S_k(U) - S_k(L - 1)

with Faulhaber's polynomials S. Where several bounds compete, the polytope is divided by which of
them is the tightest; a bound ``c*x >= l`` gives the floor of an affine form, and a variable in a
floor is summed residue by residue (Pugh, *Counting Solutions to Presburger Formulas: How and
Why*, PLDI 1994). Where that takes too many partial sums, or too large a function, a bounding box
gives an upper bound.

Barvinok's algorithm is in ``islpy-barvinok``. The plain ``islpy`` has the same module name and may replace it, which
pip does not notice; :func:`has_barvinok` tells which one is there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from importlib import metadata
from math import lcm

import islpy as isl

from perfmodel.counts.points.affine_forms import AffineForm
from perfmodel.counts.points.bounding_box import count_in_box
from perfmodel.counts.points.cardinality import Cardinality
from perfmodel.counts.points.elimination import without_tiles
from perfmodel.counts.points.enumeration import enumerated
from perfmodel.counts.points.partial_sums import PartialSum, TooHardError, Values, joined, total_of, values_of
from perfmodel.counts.points.polynomials import Polynomial, floor
from perfmodel.counts.points.polytopes import Derived, polytope_of, reduced
from perfmodel.errors import InfiniteCountError, PerfModelWarning

REQUIREMENT = "islpy-barvinok==2025.2.5.post1"
MENDING_COMMAND = f"{sys.executable} -m pip install --force-reinstall --no-deps {REQUIREMENT}"

OPERATIONS = 500_000
"""Operations of isl (it counts its allocations) that one set or sum may take: about a second."""


class BudgetSpentError(Exception):
    """A formula takes more work than the budget allows; callers count at given sizes then."""


@contextmanager
def limited(operations: int) -> Iterator[None]:
    """Let isl make at most so many operations, whatever time they take.

    Raises
    ------
    BudgetSpentError
        It needs more.
    islpy.Error
        Something else is wrong.
    """
    context = isl.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        yield
        if _is_spent():  # an operation failed whose error isl did not pass on: a result may lack pieces
            raise BudgetSpentError
    except isl.Error:
        if _is_spent():
            raise BudgetSpentError from None
        raise
    finally:
        context.set_max_operations(0)
        context.reset_operations()


def _is_spent() -> bool:
    """Whether isl refuses every operation now: its message can be of a later error, such as one of syntax."""
    try:
        isl.Set("{ : }")
    except isl.Error:
        return True
    return False


class BarvinokMissingWarning(PerfModelWarning):
    """Some counts will be upper bounds, as islpy cannot count the points of a set."""


def has_barvinok() -> bool:
    r"""Tell whether ``islpy.Set.card`` exists and counts a triangle right.

    The number of points of :math:`\{(i, j) : 0 \le i < j < 10\}` is 45.
    """
    if not hasattr(isl.Set, "card"):
        return False
    try:
        points = isl.Set("{ [i, j] : 0 <= i < j < 10 }").card()
        return 45 == int(points.eval(isl.Point.zero(points.space.domain())).to_python())
    except Exception:  # an islpy of mixed halves fails in many ways
        return False


def is_overwritten() -> bool:
    """Tell whether a plain ``islpy`` was installed over ``islpy-barvinok``."""
    try:
        metadata.version("islpy-barvinok")
    except metadata.PackageNotFoundError:
        return False
    return not has_barvinok()


@lru_cache(maxsize=1)
def can_count() -> bool:
    """Tell the same as :func:`has_barvinok`, which is called once in a process."""
    return has_barvinok()


@lru_cache(maxsize=1)
def warn_once() -> None:
    """Warn, the first time in a process, that Barvinok is missing."""
    warnings.warn(
        "islpy cannot count the points of a set (Barvinok is not in it): counts are exact for "
        "boxes, triangles and simple nests, and elsewhere upper bounds with exact=False. "
        f"For exact counts: {MENDING_COMMAND}",
        BarvinokMissingWarning,
        stacklevel=2,
    )


PARAM = isl.dim_type.param
SUMS = 400  # partial sums looked at before a set counts as too hard
RESIDUES = 64
ONE = Polynomial.constant(1)


def sum_of_points(points: isl.Set) -> Cardinality:
    """Return the number of points as a function of the parameters."""
    values: Values = {}
    hard: list[isl.BasicSet] = []
    known = enumerated(points.coalesce()).compute_divs()
    for basic in known.make_disjoint().compute_divs().get_basic_sets():
        try:
            values = joined(values, values_of(partial_sums_of(basic)))
        except TooHardError:
            hard.append(basic)
    total = total_of(values, [points.get_dim_name(PARAM, k) for k in range(points.dim(PARAM))])
    return Cardinality(total.add(count_in_box(hard)).coalesce(), False) if hard else Cardinality(total)


def partial_sums_of(basic: isl.BasicSet) -> list[PartialSum]:
    """Return sums without variables that add up to the number of points of a basic set.

    Raises
    ------
    TooHardError
        There are too many of them.
    """
    polytope, derived = polytope_of(basic)
    todo = [PartialSum(polytope, ONE, derived)]
    done: list[PartialSum] = []
    looked_at = 0
    while todo:
        one = todo.pop()
        looked_at += 1
        if looked_at > SUMS:
            raise TooHardError
        simple = reduced(one.polytope)
        if simple is None:
            continue
        one = without_equalities(replace(one, polytope=simple))
        if one.value == ONE:
            one = replace(one, polytope=without_tiles(one.polytope))
        if one.polytope.variables:
            todo.extend(_summed_over(_best_variable(one), one))
        else:
            done.append(one)
    return done


# {{{ one variable

def _best_variable(one: PartialSum) -> str:
    """Return the variable whose sum makes the fewest partial sums, now and later."""

    def cost(name: str) -> tuple[int, int, int]:
        lower, upper, _ = one.polytope.bounds(name)
        kept = set(one.polytope.variables) - {name}
        later = lcm(1, *(abs(form[name]) for form in (*lower, *upper) if kept & form.names))
        return one.value.period(name) * later, len(lower) * len(upper), len(lower) + len(upper)

    return min(one.polytope.variables, key=cost)


def _summed_over(name: str, one: PartialSum) -> Iterator[PartialSum]:
    """Yield sums that add up to a sum, without the variable or with the variable in no floor."""
    period = one.value.period(name)
    if period > RESIDUES:
        raise TooHardError
    if period > 1:
        for residue in range(period):
            yield one.substituted(name, AffineForm({name: period}, residue))
        return
    lower, upper, others = one.polytope.bounds(name)
    if not lower or not upper:
        raise InfiniteCountError(str(one.polytope))
    for i, low in enumerate(lower):
        for j, high in enumerate(upper):
            # some rational value is between them, and they are the tightest of all
            chosen = [-high[name] * low + low[name] * high]
            chosen += [_is_tightest(low, other, name, k < i) for k, other in enumerate(lower) if k != i]
            chosen += [_is_tightest(high, other, name, k < j) for k, other in enumerate(upper) if k != j]
            # l + a*x >= 0 is x > floor((-l - 1)/a), and h - b*x >= 0 is x <= floor(h/b)
            below = floor(-low.without(name) - 1, low[name])
            last = floor(high.without(name), -high[name])
            polytope = replace(one.polytope, inequalities=(*others, *chosen)).without(name)
            yield replace(one, polytope=polytope, value=one.value.summed(name, below, last))


def _is_tightest(best: AffineForm, other: AffineForm, name: str, strictly: bool) -> AffineForm:
    """Return the form that is >= 0 where a bound is no weaker than another one of the same side.

    Bounds ``a*x + l >= 0`` and ``c*x + m >= 0`` (both from below or both from above) compare as
    ``l/|a| <= m/|c|``; strictly to break ties.
    """
    return abs(best[name]) * other - abs(other[name]) * best - int(strictly)

# }}}


# {{{ equalities

def without_equalities(one: PartialSum) -> PartialSum:
    """Return an equal sum, in which no variable is in an equality.

    A variable that an equality ties to the parameters alone becomes a derived parameter.
    """
    while True:
        polytope = one.polytope
        tied = [
            (form, names) for form in polytope.equalities
            if (names := [v for v in polytope.variables if v in form])
        ]
        if not tied:
            return one
        form, names = min(tied, key=lambda pair: min(abs(pair[0][v]) for v in pair[1]))
        least = min(names, key=lambda v: abs(form[v]))
        step, rest = form[least], form.without(least)
        if all(c % step == 0 for c in (*rest.terms.values(), rest.constant)):
            by = AffineForm({name: -c // step for name, c in rest.terms.items()}, -rest.constant // step)
            one = one.substituted(least, by)
            one = replace(one, polytope=one.polytope.without(least))
        elif len(names) == 1:
            derived = Derived(least, -rest if step > 0 else rest, abs(step))
            one = replace(one, polytope=polytope.without(least), derived=(*one.derived, derived))
        else:  # the new variable makes the others' coefficients smaller than the step
            steps = {name: -round(form[name] / step) for name in names} | {least: 1}
            one = one.substituted(least, AffineForm({name: c for name, c in steps.items() if c}))

# }}}
