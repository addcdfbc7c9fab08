"""Integer polytopes without existential variables, and their simplification.

A set that isl holds becomes disjoint polytopes of as many points: its floors of variables become
variables (their values are determined), its floors of size parameters become *derived* parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import islpy as isl

from perfmodel.counts.points.polynomials import Form, combine, replaced

SET, PARAM, DIV = isl.dim_type.set, isl.dim_type.param, isl.dim_type.div


@dataclass(frozen=True)
class Derived:
    """The parameter ``name = floor(form / denominator)``."""

    name: str
    form: Form
    denominator: int


@dataclass(frozen=True)
class Polytope:
    """The integer points with ``form == 0`` and ``form >= 0``.

    Attributes
    ----------
    variables : tuple of str
        What is counted over; other names are parameters.
    equalities, inequalities : tuple of dict
        Affine forms.
    """

    variables: tuple[str, ...]
    equalities: tuple[Form, ...]
    inequalities: tuple[Form, ...]

    def substituted(self, name: str, by: Form) -> Polytope:
        """Return the polytope with a variable or parameter replaced by a form."""
        return Polytope(
            tuple(v for v in self.variables if v != name),
            tuple(replaced(form, name, by) for form in self.equalities),
            tuple(replaced(form, name, by) for form in self.inequalities),
        )


def polytope_of(
    basic: isl.BasicSet, dimensions: tuple[str, ...] = ()
) -> tuple[Polytope, tuple[Derived, ...]]:
    """Return a polytope with as many points as the set, and its derived parameters.

    Its variables are named after the set's dimensions, ``_v0, _v1, ...`` if left out.
    """
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    n_params = len(names)
    names += dimensions or [f"_v{k}" for k in range(basic.dim(SET))]
    variables = names[n_params:]
    derived: list[Derived] = []
    equalities: list[Form] = []
    inequalities: list[Form] = []
    for k in range(basic.dim(DIV)):
        definition = basic.get_div(k)
        denominator = int(definition.get_denominator_val().to_python())
        form = form_of(definition.scale_val(isl.Val(denominator)), names)
        name = next(f"_e{i}" for i in count() if f"_e{i}" not in names)
        if any(key in variables for key in form):
            variables.append(name)
            remainder = combine(form, 1, {name: denominator}, -1)
            inequalities.append(remainder)
            inequalities.append(combine({"": denominator - 1}, 1, remainder, -1))
        else:
            derived.append(Derived(name, form, denominator))
        names.append(name)
    for constraint in basic.get_constraints():
        form = form_of(constraint.get_aff(), names)
        (equalities if constraint.is_equality() else inequalities).append(form)
    return Polytope(tuple(variables), tuple(equalities), tuple(inequalities)), tuple(derived)


def form_of(aff: isl.Aff, names: list[str]) -> Form:
    """Return an affine form with whole coefficients; names of its parameters, inputs, floors."""
    form = {"": int(aff.get_constant_val().to_python())}
    position = 0
    for kind in (PARAM, isl.dim_type.in_, DIV):
        for k in range(aff.dim(kind)):
            if c := int(aff.get_coefficient_val(kind, k).to_python()):
                form[names[position]] = c
            position += 1
    return {name: c for name, c in form.items() if c}


def text_of(polytope: Polytope) -> str:
    """Return the polytope in isl's notation, every parameter a symbol."""
    used = {name for form in (*polytope.equalities, *polytope.inequalities) for name in form}
    # derived parameters first: of an equality isl eliminates the last name
    symbols = sorted(used - set(polytope.variables) - {""}, key=lambda s: (s[0] != "_", s))
    tests = [f"{form_text(form)} = 0" for form in polytope.equalities]
    tests += [f"{form_text(form)} >= 0" for form in polytope.inequalities]
    condition = " and ".join(tests) or "1 = 1"
    return f"[{', '.join(symbols)}] -> {{ [{', '.join(polytope.variables)}] : {condition} }}"


def form_text(form: Form) -> str:
    """Return a form in isl's notation."""
    return " + ".join(f"{c}*{name}" if name else f"{c}" for name, c in form.items()) or "0"


def reduced(polytope: Polytope) -> Polytope | None:
    """Return the polytope without redundant constraints; None where it has no points."""
    basic = isl.BasicSet(text_of(polytope)).detect_equalities().remove_redundancies()
    if basic.is_empty():
        return None
    names = [basic.get_dim_name(PARAM, k) for k in range(basic.dim(PARAM))]
    names += list(polytope.variables)
    equalities: list[Form] = []
    inequalities: list[Form] = []
    for constraint in basic.get_constraints():
        form = form_of(constraint.get_aff(), names)
        (equalities if constraint.is_equality() else inequalities).append(form)
    return Polytope(polytope.variables, tuple(equalities), tuple(inequalities))


def without_tiles(polytope: Polytope) -> Polytope:
    """Return a polytope of as many points, in which tile and offset are one variable.

    Where ``0 <= y - f < a`` and all else is about ``a*x + y`` or ``x`` alone, ``z = a*x + y`` stands
    for both: x = floor((z - f)/a) is determined, and ``x >= l`` is ``z >= a*l + f``.
    """
    polytope = _without_determined(polytope)
    for offset in polytope.variables:
        for tile in polytope.variables:
            merged = _merged(polytope, tile, offset) if tile != offset else None
            if merged is not None:
                return without_tiles(merged)
    return polytope


def _without_determined(polytope: Polytope) -> Polytope:
    """Leave out variables of which each point of the others has exactly one value.

    Those are ``x`` with no more than ``0 <= f - a*x < a``: x = floor(f/a).
    """
    for name in polytope.variables:
        rows = [form for form in polytope.inequalities if name in form]
        if len(rows) == 2 and not any(name in form for form in polytope.equalities):
            span = combine(rows[0], 1, rows[1], 1)
            if span == ({"": abs(rows[0][name]) - 1} if abs(rows[0][name]) > 1 else {}):
                others = tuple(form for form in polytope.inequalities if name not in form)
                variables = tuple(v for v in polytope.variables if v != name)
                return _without_determined(Polytope(variables, polytope.equalities, others))
    return polytope


def _merged(polytope: Polytope, tile: str, offset: str) -> Polytope | None:
    """Return the polytope with ``offset`` standing for width * tile + offset, if that is right."""
    if any(tile in form or offset in form for form in polytope.equalities):
        return None
    rows = [form for form in polytope.inequalities if tile in form or offset in form]
    low = [form for form in rows if tile not in form and form[offset] == 1]
    high = [form for form in rows if tile not in form and form[offset] == -1]
    for start in low:
        for stop in high:
            span = combine(start, 1, stop, 1)
            if set(span) <= {""} and span.get("", 0) >= 0:
                width = span.get("", 0) + 1
                moved = _retiled(rows, (start, stop), tile, offset, width)
                if moved is not None:
                    others = [form for form in polytope.inequalities if form not in rows]
                    variables = tuple(v for v in polytope.variables if v != tile)
                    return Polytope(variables, polytope.equalities, (*others, *moved))
    return None


def _retiled(
    rows: list[Form], ends: tuple[Form, Form], tile: str, offset: str, width: int
) -> list[Form] | None:
    first = {name: -c for name, c in ends[0].items() if name != offset}  # offset >= first
    moved = []
    for form in rows:
        if form in ends:
            continue
        c, d = form.get(tile, 0), form.get(offset, 0)
        rest = {name: value for name, value in form.items() if name not in (tile, offset)}
        if c == width * d:
            moved.append(combine(rest, 1, {offset: d}, 1))
        elif d == 0 and c == 1:  # tile + rest >= 0: offset - first + width*rest >= 0
            moved.append(combine(combine({offset: 1}, 1, first, -1), 1, rest, width))
        elif d == 0 and c == -1:  # tile <= rest: offset - first <= width*rest + width - 1
            limit = combine(rest, width, {"": width - 1}, 1)
            moved.append(combine(combine(limit, 1, first, 1), 1, {offset: 1}, -1))
        else:
            return None
    return moved
