"""The sets of executed instances of a kernel's instructions, and expressions as piecewise affine functions of isl."""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache, reduce
from math import prod
from typing import Any

import islpy as isl
import loopy as lp
import numpy as np
import pymbolic.primitives as p
from loopy.kernel.array import FixedStrideArrayDimTag
from loopy.kernel.data import GroupInameTag, LocalInameTag
from pymbolic.mapper import Mapper, UnsupportedExpressionError
from pymbolic.mapper.evaluator import CachedEvaluationMapper, UnknownVariableError

from perfmodel.counts.points.factors import projected
from perfmodel.counts.program.program import Domain, unknown_probability
from perfmodel.counts.reading import sets
from perfmodel.counts.reading.observed import CallData, Observed
from perfmodel.counts.reading.values import Condition, is_size, offset_argument, text_of
from perfmodel.counts.unused import spaceless
from perfmodel.errors import ArgumentError, CountError, StatisticsNeededError, listed

SET, PARAM = isl.dim_type.set, isl.dim_type.param
MOST = 2**63 - 1  # the largest integer in the code
MOST_POWER = 62  # a larger one is not computed
Statistics = Mapping[str, Fraction]
Form = Mapping[str, int]  # coefficients by name; the name "" is the constant


def pw_aff(space: isl.Space, expr: Any) -> isl.PwAff:
    """Return an expression as a function on a set space. May raise Loopy's ExpressionToAffineConversionError."""
    return pw_affs(space, (expr,))[0]


def pw_affs(space: isl.Space, exprs: Sequence[Any]) -> list[isl.PwAff]:
    mapper, functions = _PiecewiseAffine(space), []
    for expr in exprs:
        form = affine_form(expr)
        try:
            functions.append(mapper(expr) if form is None else mapper.of_form(form))
        except (TypeError, isl.Error, UnknownVariableError, UnsupportedExpressionError) as error:
            raise lp.diagnostic.ExpressionToAffineConversionError(f"'{expr}' is not quasi-affine: {error}") from error
    return functions


class _PiecewiseAffine(CachedEvaluationMapper):  # type: ignore[misc]
    def __init__(self, space: isl.Space) -> None:
        super().__init__({})
        self.positions = space.get_var_dict()
        self.zero = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
        self.pw_zero = isl.PwAff.from_aff(self.zero)

    def of_form(self, form: Form) -> isl.PwAff:
        aff = self.zero.set_constant_val(isl.Val(form.get("", 0)))
        for name, coefficient in form.items():
            if name:
                if name not in self.positions:
                    raise UnknownVariableError(name)
                kind, position = self.positions[name]
                kind = isl.dim_type.in_ if kind == SET else kind
                aff = aff.set_coefficient_val(kind, position, isl.Val(coefficient))
        return isl.PwAff.from_aff(aff)

    def map_variable(self, expr: p.Variable) -> isl.PwAff:
        return self.of_form({expr.name: 1})

    def map_constant(self, expr: Any) -> isl.PwAff:
        if int(expr) != expr:
            raise TypeError(f"{expr} is not an integer")
        return self.pw_zero + int(expr)

    def map_min(self, expr: p.Min | p.Max) -> isl.PwAff:
        join = isl.PwAff.min if isinstance(expr, p.Min) else isl.PwAff.max
        return reduce(join, map(self.rec, expr.children))

    map_max = map_min

    def map_floor_div(self, expr: p.FloorDiv) -> isl.PwAff:
        return self.rec(expr.numerator).div(self.rec(expr.denominator)).floor()

    def map_remainder(self, expr: p.Remainder) -> isl.PwAff:
        divisor = self.rec(expr.denominator)
        if not divisor.is_cst():
            raise TypeError(f"the divisor of '{expr}' is not a constant")
        return self.rec(expr.numerator).mod_val(divisor.get_pieces()[0][1].get_constant_val())

    def map_quotient(self, expr: Any) -> isl.PwAff:
        raise TypeError(f"'{expr}' is not an integer affine expression")

    map_call = map_call_with_kwargs = map_literal = map_reduction = map_quotient

    def map_power(self, expr: p.Power) -> isl.PwAff:
        form = affine_form(expr)
        return super().map_power(expr) if form is None else self.of_form(form)


def condition_to_set(space: isl.Space, expr: Any) -> isl.Set | None:
    """Return the points at which a condition holds, or None if it depends on data or is not quasi-affine."""
    if not lp.symbolic.get_dependencies(expr) <= space.get_var_dict().keys():
        return None
    try:
        return _ConditionSet(space)(_to_booleans(expr))
    except lp.diagnostic.ExpressionToAffineConversionError:
        return None


_to_booleans = lp.symbolic.ConditionExpressionToBooleanOpsExpression()


class _ConditionSet(Mapper):  # type: ignore[misc]
    def __init__(self, space: isl.Space) -> None:
        super().__init__()
        self.space = space

    def map_logical_and(self, expr: p.LogicalAnd) -> isl.Set:
        return reduce(isl.Set.intersect, map(self.rec, expr.children))

    def map_logical_or(self, expr: p.LogicalOr) -> isl.Set:
        return reduce(isl.Set.union, map(self.rec, expr.children))

    def map_logical_not(self, expr: p.LogicalNot) -> isl.Set:
        return self.rec(expr.child).complement()

    def map_comparison(self, expr: p.Comparison) -> isl.Set:
        operator = expr.operator
        if operator == "!=":
            return self.rec(p.Comparison(expr.left, "==", expr.right)).complement()
        left, right = (_in_one_piece(side, expr) for side in pw_affs(self.space, (expr.left, expr.right)))
        difference = left - right if operator in ("==", ">=", ">") else right - left
        if operator == "==":
            constraint = isl.Constraint.equality_from_aff(difference)
        else:
            constraint = isl.Constraint.inequality_from_aff(difference - 1 if operator in "<>" else difference)
        return isl.Set.universe(self.space).add_constraint(constraint)


def _in_one_piece(function: isl.PwAff, expr: Any) -> isl.Aff:
    pieces = function.coalesce().get_pieces()
    if len(pieces) != 1:
        raise lp.diagnostic.ExpressionToAffineConversionError(f"a side of '{expr}' is not affine in one piece")
    return pieces[0][1]


def is_nonnegative(points: isl.Set, expr: Any) -> bool:
    """Return whether Loopy shows that an affine expression, or a product of these, is non-negative at all points."""
    if isinstance(expr, p.Product) and all(is_nonnegative(points, child) for child in expr.children):
        return True
    try:
        function = isl.PwAff.from_aff(_in_one_piece(pw_aff(points.get_space(), expr), expr))
    except lp.diagnostic.ExpressionToAffineConversionError:
        return False
    return bool(points.is_subset(function.nonneg_set()))


def names_in(expr: Any) -> Set[str]:
    form = affine_form(expr)
    return lp.symbolic.get_dependencies(expr) if form is None else form.keys() - {""}


@lru_cache(maxsize=4096, typed=True)
def affine_form(expr: Any) -> Form | None:
    """Return the coefficients of an integer affine expression, or None if the expression is not one."""
    if isinstance(expr, (int, np.integer)):
        if not -MOST <= expr <= MOST:
            raise CountError(f"the integer {expr} needs more than 64 bits", "choose a smaller one")
        return {"": int(expr)}
    if isinstance(expr, p.Variable):
        return {expr.name: 1}
    if isinstance(expr, (p.FloorDiv, p.Remainder, p.Power)):
        return _of_numbers(expr)
    if not isinstance(expr, (p.Sum, p.Product)):
        return None
    parts = [affine_form(child) for child in expr.children]
    forms = [part for part in parts if part is not None]
    if len(forms) < len(parts):
        return None
    if isinstance(expr, p.Product):
        return _product_of(forms)
    total: dict[str, int] = {}
    for name, coefficient in (item for form in forms for item in form.items()):
        total[name] = total.get(name, 0) + coefficient
    return total


def _of_numbers(expr: p.FloorDiv | p.Remainder | p.Power) -> Form | None:
    operands = (expr.base, expr.exponent) if isinstance(expr, p.Power) else (expr.numerator, expr.denominator)
    forms = [affine_form(operand) for operand in operands]
    if isinstance(expr, p.Power) and forms[1] == {"": 1}:
        return forms[0]
    if any(form is None or any(form[name] for name in form if name) for form in forms):
        return None
    left, right = (form.get("", 0) for form in forms if form is not None)
    if isinstance(expr, p.Power):
        return affine_form(left**right) if 0 <= right <= MOST_POWER else None
    return {"": left // right if isinstance(expr, p.FloorDiv) else left % right} if right else None


def _product_of(forms: Iterable[Form]) -> Form | None:
    result: Form = {"": 1}
    for form in forms:
        constant, other = (result, form) if result.keys() <= {""} else (form, result)
        if not constant.keys() <= {""}:
            return None
        result = {name: constant.get("", 0) * coefficient for name, coefficient in other.items()}
    return result


class Domains:
    """The domains of one scheduled kernel, under its assumptions.

    Statistics that are not given follow from the `data` of a call, if there are any.
    """

    def __init__(self, kernel: lp.LoopKernel, statistics: Statistics, data: CallData | None = None) -> None:
        self.kernel, self.statistics = kernel, statistics  # mean trip counts by iname, probabilities by text
        self.observed = None if data is None else Observed(kernel, data)
        self.keys: dict[str, None] = {}  # of statistics: used ones, and those that could be given
        self.chances = {spaceless(key): (key, value) for key, value in statistics.items()}
        self.private = frozenset(
            name for name, variable in kernel.temporary_variables.items()
            if variable.address_space == lp.AddressSpace.PRIVATE
        )
        self.parameters = size_parameters(kernel)
        space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=self.parameters)
        universe = isl.Set.universe(space.params())
        assumptions = sets.assumptions(kernel).align_params(universe.get_space())
        self.assumptions = universe.intersect(assumptions)
        self.constants = constants(kernel)
        self.starts = self._starts()
        self.data_inames = self.starts.keys()
        self.axes = {name: hardware_axis(kernel, name) for name in kernel.all_inames()}
        self.unknown_loops: dict[str, None] = {}  # in the order of the kernel; loops without a bound
        self.unknown_tests: dict[str, None] = {}  # tests without a probability, which make counts inexact
        self.unknown: dict[Domain, tuple[tuple[Condition, str], ...]] = {}  # by domain, each with its doubt
        self._cache: dict[object, Domain] = {}
        self.line = cache(self._line)
        self._loop_domains: dict[tuple[str, ...], tuple[isl.Set, bool]] = {}

    def _starts(self) -> Mapping[str, frozenset[str]]:
        """Return the inames whose first value depends on data, and the names of these data."""
        starts: dict[str, set[str]] = {}
        for domain in map(self._with_constants, sets.domains(self.kernel)):
            data = {*domain.get_var_names(PARAM)} - {*self.parameters} - self.kernel.all_inames()
            pieces = domain.get_basic_sets() if data else ()
            for constraint in (constraint for piece in pieces for constraint in piece.get_constraints()):
                factors = constraint.get_coefficients_by_name()
                for name in factors.keys() & {*domain.get_var_names(SET)} if factors.keys() & data else ():
                    known = starts.setdefault(name, set())
                    if constraint.is_equality() or factors[name].is_pos():
                        known |= factors.keys() & data
        return {name: frozenset(names) for name, names in starts.items()}

    def domain(self, launch: int, inames: Iterable[str], conditions: tuple[Condition, ...] = ()) -> Domain:
        """Return the instances of something that is nested in ``inames`` and under ``conditions``."""
        atoms = tuple(dict.fromkeys(self._atomic(conditions)))
        key = (launch, frozenset(inames), frozenset(atoms))
        if key not in self._cache:
            self._cache[key] = self._under(self.domain(launch, key[1]), atoms) if atoms else self._nest(launch, key[1])
        return self._cache[key]

    def at_test(self, launch: int, inames: Iterable[str], conditions: tuple[Condition, ...], shared: bool) -> Domain:
        """Return the instances at which predicates are tested, or a superset. ``conditions`` are earlier tests."""
        atoms = tuple(dict.fromkeys(self._atomic(conditions)))
        key = (launch, frozenset(inames), frozenset(atoms), shared)
        if key not in self._cache:
            plain = self.domain(launch, key[1])
            points, doubts = plain.points.remove_divs_involving_dims(SET, 0, plain.points.dim(SET)), plain.reasons
            if not points.is_subset(plain.points):
                doubts += ("tests are made between the points of a strided loop too",)
            if shared:
                doubts += ("instructions may share a test or each have it",)
            self._cache[key] = self._under(replace(plain, points=points, exact=not doubts, reasons=doubts), atoms)
        return self._cache[key]

    def _nest(self, launch: int, inames: frozenset[str]) -> Domain:
        """Return the loop domain's projection onto inames (Algorithm 1). Loops with known mean trips are left out."""
        names = sorted(inames, key=lambda name: (not self.axes[name], self.axes[name], name))
        whole, data = self._loop_domain(names)
        self.keys.update(dict.fromkeys(name for name in names if name in self.data_inames))
        means = self._means(names)
        kept = [name for name in names if name not in means]
        points = self._assumed(projected(whole, kept))
        for name in kept:
            if name in self.data_inames and not _is_bounded(points, name):
                self.unknown_loops[name] = None  # continues, so that `refuse_unknown` lists all
                self.statistics = {**self.statistics, name: Fraction(1)}
                return self._nest(launch, inames)
        # Outside of a data-dependent loop Loopy sometimes tests whether the loop runs at all.
        around = sorted(whole.get_var_names(SET)) if data else ()
        unknown = [name for name in around if name in self.data_inames and name not in means]
        reasons = tuple(f"the trip count of '{name}' depends on data" for name in unknown)
        axes = tuple(self.axes[name] for name in points.get_var_names(SET))
        trips = prod(means.values(), start=Fraction(1)) if means else None
        tied = _tied(points, axes)
        return Domain(launch, points, axes, trips, Fraction(1), not reasons, tied, reasons, tuple(means.items()))

    def _means(self, names: Sequence[str]) -> dict[str, Fraction]:
        """Return the known mean trips of the loops of a nest that depend on data."""
        loops = [name for name in names if name in self.data_inames]
        found: Mapping[str, Fraction] = {}
        if self.observed is not None and not self.statistics.keys() >= {*loops}:
            found = self.observed.trips(names, [name for name in loops if name not in self.statistics])
        known = {**found, **self.statistics}
        return {name: known[name] for name in loops if name in known}

    def _under(self, plain: Domain, conditions: tuple[Condition, ...]) -> Domain:
        points, chance, reasons = plain.points, Fraction(1), plain.reasons
        unknown: list[tuple[Condition, str]] = []
        space = points.get_space()
        tested = [c for c in conditions if condition_to_set(space, c[0]) is not None] if self.observed else []
        if self.observed is not None:
            conditions = tuple(sorted(conditions, key=self.observed.depends_on_branches))
        for condition in conditions:
            points, likely, doubts = self._restrict(points, condition, plain, tested)
            chance *= likely
            reasons += doubts
            unknown += [(condition, doubt) for doubt in doubts]
        domain = replace(plain, points=points, chance=chance, exact=not reasons, reasons=tuple(dict.fromkeys(reasons)))
        if unknown:
            self.unknown[domain] = tuple(unknown)
        return domain

    def refuse_unknown(self) -> None:
        """Raise a StatisticsNeededError if a requested domain has a data-dependent loop without statistics."""
        if self.unknown_loops:
            notes = self.observed.notes if self.observed is not None else []
            raise _statistics_needed(tuple(self.unknown_loops), tuple(self.unknown_tests), notes)

    def _line(self, iname: str) -> isl.Set | None:
        """Return the values of an iname, or None if the bounds of the iname depend on data."""
        whole, data = self._loop_domain([iname])
        return None if data else self._assumed(projected(whole, [iname]))

    def values_without_data(self, iname: str) -> isl.Set | None:
        """Return the values of a loop for any data, or None if only data bound the loop."""
        points = self._assumed(projected(self._loop_domain([iname])[0], [iname]))
        return points if _is_bounded(points, iname) else None

    def _assumed(self, points: isl.Set) -> isl.Set:
        points = points.align_params(self.assumptions.get_space())
        return points.intersect_params(self.assumptions).coalesce()

    def _with_constants(self, points: isl.Set) -> isl.Set:
        for name in self.constants.keys() & {*points.get_var_names(PARAM)}:
            position = points.find_dim_by_name(PARAM, name)
            points = points.fix_val(PARAM, position, isl.Val(self.constants[name])).project_out(PARAM, position, 1)
        return points

    def _loop_domain(self, names: Iterable[str]) -> tuple[isl.Set, bool]:
        """Return the loop domain around some inames, and whether data determine the bounds."""
        whole = self._with_constants(sets.inames_domain(self.kernel, names))
        inames = tuple(whole.get_var_names(SET))
        if inames not in self._loop_domains:
            data = [name for name in whole.get_var_names(PARAM) if name not in self.parameters]
            for name in data:
                index = whole.get_var_names(PARAM).index(name)
                whole = whole.move_dims(SET, 0, PARAM, index, 1).project_out(SET, 0, 1)
            self._loop_domains[inames] = (whole, bool(data))
        return self._loop_domains[inames]

    def _restrict(
        self, points: isl.Set, condition: Condition, nest: Domain, tested: list[Condition]
    ) -> tuple[isl.Set, Fraction, tuple[str, ...]]:
        """Return the points under a condition, its probability, and why they are not exact.

        If the condition depends on data, it is added to those that were `tested` in the `nest` before.
        """
        expr, truth = condition
        where = condition_to_set(points.get_space(), expr)
        if where is not None:
            part = points.intersect(where) if truth else points.subtract(where)
            return part.coalesce(), Fraction(1), ()
        chance = self.probability(expr)
        if chance is None and self.observed is not None:
            inames = (*nest.names, *(name for name, _ in nest.means))
            chance = self.observed.probability(expr, inames, tested)
            tested.append(condition)
        if chance is not None:
            return points, chance if truth else 1 - chance, ()
        text = text_of(expr)
        self.unknown_tests[text] = None
        return points, Fraction(1), (unknown_probability(text),)

    def _atomic(self, conditions: Iterable[Condition]) -> Iterable[Condition]:
        """Yield conditions without negations at the top. A conjunction is split unless its probability is given."""
        for expr, truth in conditions:
            if isinstance(expr, p.LogicalNot):
                yield from self._atomic([(expr.child, not truth)])
            elif isinstance(expr, p.LogicalAnd if truth else p.LogicalOr) and not self._is_given(expr):
                yield from self._atomic([(child, truth) for child in expr.children])
            else:
                yield expr, truth

    def _is_given(self, test: Any) -> bool:
        return bool(self.chances) and spaceless(text_of(test)) in self.chances

    def probability(self, test: Any) -> Fraction | None:
        """Return the probability of a data-dependent test, or None if statistics do not give it."""
        texts = text_of(test), text_of(test, self.private)  # with ``ilp``, a scalar ``cold`` is ``cold[k_inner]``
        found = next((self.chances[key] for key in map(spaceless, texts) if key in self.chances), None)
        if found is None:
            self.keys[texts[0]] = None
            chances = [self.probability(child) for child in test.children] if isinstance(test, p.LogicalOr) else [None]
            none = prod((1 - chance for chance in chances if chance is not None), start=Fraction(1))
            return None if None in chances else 1 - none
        key, chance = found
        if chance > 1:
            problem = f"statistics[{key!r}] is {float(chance)}"
            raise ArgumentError(problem, "give the probability of a test, from 0 to 1", key=key)
        self.keys[key] = None
        return chance


def _statistics_needed(inames: tuple[str, ...], tests: tuple[str, ...], notes: Sequence[str]) -> StatisticsNeededError:
    loops = f"loop{'s' * (len(inames) > 1)} {listed(map(repr, inames))}"
    options = " ".join(f"--statistics {name}=<number>" for name in inames)
    given = ", ".join(f"{name!r}: <its mean trip count>" for name in inames)
    advice = f"give {options}, or in Python statistics={{{given}}}"
    if tests:
        advice += f"; add the probability of {listed(map(repr, tests))} for exact counts"
    why = next((f" ({note})" for note in notes if note.startswith("the trip count")), "")
    return StatisticsNeededError(f"the trip count of {loops} depends on data{why}", advice, inames=inames, tests=tests)


def constants(kernel: lp.LoopKernel) -> dict[str, int]:
    """Return scalars that are written once, with an integer, such as bounds of a reduction in Pytato's kernels."""
    writes = {name: [*map(kernel.id_to_insn.get, writers)] for name, writers in kernel.writer_map().items()}
    return {
        name: int(first.expression) for name, (first, *others) in writes.items()
        if not others and isinstance(first, lp.Assignment) and not first.predicates
        and isinstance(first.expression, (int, np.integer)) and isinstance(first.assignee, p.Variable)
    }  # fmt: skip


def _is_bounded(points: isl.Set, iname: str) -> bool:
    position = points.find_dim_by_name(SET, iname)
    return bool(points.dim_has_upper_bound(SET, position) and points.dim_has_lower_bound(SET, position))


def _tied(points: isl.Set, axes: tuple[str, ...]) -> frozenset[str]:
    lanes = [k for k, axis in enumerate(axes) if axis.startswith("l")]
    loops = [k for k, axis in enumerate(axes) if not axis]
    equalities = [
        constraint for basic in (points.get_basic_sets() if lanes and loops else ())
        for constraint in basic.get_constraints()
        if constraint.is_equality() and any(constraint.involves_dims(SET, k, 1) for k in lanes)
    ]
    return frozenset(points.get_dim_name(SET, k) for c in equalities for k in loops if c.involves_dims(SET, k, 1))


def size_parameters(kernel: lp.LoopKernel) -> tuple[str, ...]:
    """Return the sorted names of a kernel's integer value arguments, without arguments for arrays' offsets."""
    offsets = {offset_argument(kernel, argument) for argument in kernel.args} - {""}
    offsets -= _used_names(kernel) if offsets else set()
    return tuple(sorted({argument.name for argument in kernel.args if is_size(argument)} - offsets))


def _used_names(kernel: lp.LoopKernel) -> set[str]:
    given = [points.drop_unused_params() for points in (sets.assumptions(kernel), *sets.domains(kernel))]
    names = {name for points in given for name in points.get_var_names(PARAM)}
    for instruction in kernel.instructions:
        names |= instruction.dependency_names()
    for array in (*kernel.args, *kernel.temporary_variables.values()):
        shape, tags = getattr(array, "shape", None), getattr(array, "dim_tags", None)
        strides = [tag.stride for tag in tags or () if isinstance(tag, FixedStrideArrayDimTag)]
        names |= lp.symbolic.get_dependencies((*(shape if isinstance(shape, tuple) else ()), *strides))
    return names


def hardware_axis(kernel: lp.LoopKernel, iname: str) -> str:
    """Return the axis of an iname: ``"g.0"``, ``"l.1"``, ... Return ``""`` if the iname is on no hardware axis."""
    for tag in kernel.iname_tags_of_type(iname, (GroupInameTag, LocalInameTag)):
        return f"{'g' if isinstance(tag, GroupInameTag) else 'l'}.{tag.axis}"
    return ""
