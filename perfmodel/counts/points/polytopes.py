"""Integer polytopes without existential variables.

A set that isl holds becomes disjoint polytopes of as many points: its floors of variables become
variables (their values are determined), its floors of size parameters become *derived* parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import islpy as isl

from perfmodel.counts.points.affine_forms import AffineForm, floor_rows
from perfmodel.lazy import Lazy, cached_property

IN, SET, PARAM, DIV = isl.dim_type.in_, isl.dim_type.set, isl.dim_type.param, isl.dim_type.div


class Bounds(NamedTuple):
    """Inequalities by what they say about one name."""

    lower: list[AffineForm]
    upper: list[AffineForm]
    others: list[AffineForm]


@dataclass(frozen=True)
class Derived:
    """The parameter ``name = floor(form / denominator)``."""

    name: str
    form: AffineForm
    denominator: int


@dataclass(frozen=True)
class Polytope(Lazy):
    """The integer points with ``form == 0`` for all equalities and ``form >= 0`` for all inequalities.

    Attributes
    ----------
    variables : tuple of str
        What is counted over; other names are parameters.
    equalities, inequalities : tuple of AffineForm
        The constraints.
    """

    variables: tuple[str, ...]
    equalities: tuple[AffineForm, ...]
    inequalities: tuple[AffineForm, ...]

    def __str__(self) -> str:
        """Return the polytope in isl's notation, every parameter a symbol."""
        used = {name for form in (*self.equalities, *self.inequalities) for name in form.names}
        # derived parameters first: of an equality isl eliminates the last name
        symbols = sorted(used - set(self.variables), key=lambda s: (s[0] != "_", s))
        tests = [f"{form} = 0" for form in self.equalities]
        tests += [f"{form} >= 0" for form in self.inequalities]
        condition = " and ".join(tests) or "1 = 1"
        return f"[{', '.join(symbols)}] -> {{ [{', '.join(self.variables)}] : {condition} }}"

    @cached_property
    def canonical(self) -> object:
        """What is equal for polytopes that differ in the names of their variables only."""
        names = {name: f"_{k}" for k, name in enumerate(self.variables)}
        equalities, inequalities = (
            frozenset(form.renamed(names) for form in forms)
            for forms in (self.equalities, self.inequalities)
        )
        return len(names), equalities, inequalities

    def bounds(self, name: str) -> Bounds:
        """Return the inequalities that bound a name from below, from above, and not at all."""
        bounds = Bounds([], [], [])
        for form in self.inequalities:
            c = form.terms.get(name, 0)
            (bounds.lower if c > 0 else bounds.upper if c < 0 else bounds.others).append(form)
        return bounds

    def without(self, name: str) -> Polytope:
        """Return the polytope without one of its variables, which no constraint has any more."""
        return Polytope(tuple(v for v in self.variables if v != name), self.equalities, self.inequalities)

    def substituted(self, name: str, by: AffineForm) -> Polytope:
        """Return the polytope with a form for a name in all constraints; the variables stay."""
        return Polytope(
            self.variables,
            tuple(form.substituted(name, by) for form in self.equalities),
            tuple(form.substituted(name, by) for form in self.inequalities),
        )


def polytope_of(
    basic: isl.BasicSet, dimensions: tuple[str, ...] = ()
) -> tuple[Polytope, tuple[Derived, ...]]:
    """Return a polytope with as many points as the set, and its derived parameters.

    Its variables are named after the set's dimensions, ``_v0, _v1, ...`` if left out.
    """
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    variables = [*(dimensions or (f"_v{k}" for k in range(basic.dim(SET))))]
    names += variables
    derived: list[Derived] = []
    inequalities: list[AffineForm] = []
    for k in range(basic.dim(DIV)):
        form, denominator = fraction_of(basic.get_div(k), names)
        name = next(f"_e{i}" for i in count() if f"_e{i}" not in names)
        if any(key in variables for key in form.names):
            variables.append(name)
            inequalities += floor_rows(name, form, denominator)
        else:
            derived.append(Derived(name, form, denominator))
        names.append(name)
    return _constrained(Polytope(tuple(variables), (), tuple(inequalities)), basic, names), tuple(derived)


def reduced(polytope: Polytope) -> Polytope | None:
    """Return the polytope without redundant constraints; None where it has no points."""
    basic = isl.BasicSet(str(polytope)).detect_equalities().remove_redundancies()
    if basic.is_empty():
        return None
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    return _constrained(Polytope(polytope.variables, (), ()), basic, [*names, *polytope.variables])


def _constrained(polytope: Polytope, basic: isl.BasicSet, names: list[str]) -> Polytope:
    """Return the polytope with isl's constraints added; names of parameters, dimensions, floors."""
    equalities, inequalities = [*polytope.equalities], [*polytope.inequalities]
    for constraint in basic.get_constraints():
        form = form_of(constraint.get_aff(), names)
        (equalities if constraint.is_equality() else inequalities).append(form)
    return Polytope(polytope.variables, tuple(equalities), tuple(inequalities))


def fraction_of(aff: isl.Aff, names: list[str]) -> tuple[AffineForm, int]:
    """Return an affine expression as ``form / denominator``."""
    denominator = int(aff.get_denominator_val().to_python())
    return form_of(aff.scale_val(isl.Val(denominator)), names), denominator


def form_of(aff: isl.Aff, names: list[str]) -> AffineForm:
    """Return an affine expression with whole coefficients; names of parameters, inputs, floors."""
    terms: dict[str, int] = {}
    position = 0
    for kind in (PARAM, IN, DIV):
        for k in range(aff.dim(kind)):
            if c := int(aff.get_coefficient_val(kind, k).to_python()):
                terms[names[position]] = c
            position += 1
    return AffineForm(terms, int(aff.get_constant_val().to_python()))
