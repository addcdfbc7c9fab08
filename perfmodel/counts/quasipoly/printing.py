"""A count as text and as LaTeX, and isl's functions as values of :mod:`perfmodel.counts.quasipoly.evaluation`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import islpy as isl

from perfmodel.counts.quasipoly.evaluation import Affine, Constraint, Floor, Guard, Piece, QuasiPolynomial, Term

PARAM, DIV = isl.dim_type.param, isl.dim_type.div


@dataclass(frozen=True)
class Notation:
    """How the parts of a formula are written."""

    times: str
    power: str
    floor: str
    remainder: str
    at_least: str
    at_most: str
    where: str
    separator: str
    brackets: tuple[str, str]


TEXT = Notation("*", "^{}", "floor(({})/{})", "{} mod {}", ">=", "<=", " if ", "; ", ("(", ")"))
LATEX = Notation(
    r"\,", "^{{{}}}", r"\left\lfloor\frac{{{}}}{{{}}}\right\rfloor", r"{} \bmod {}", r"\ge", r"\le",
    r"\ \text{ if }\ ", r";\quad ", (r"\left(", r"\right)"),
)


def as_text(function: QuasiPolynomial, exact: bool = True) -> str:
    """Return for example ``n^2 if n >= 17; n if n <= 16``; ``<=`` leads an upper bound."""
    return _Writer(function, TEXT).all(exact)


def as_latex(function: QuasiPolynomial, exact: bool = True) -> str:
    """Return the same for LaTeX's math mode."""
    return _Writer(function, LATEX).all(exact)


_SPECIAL = {
    **{letter: f"\\{letter}" for letter in "_%#&${}"},
    "\\": r"\backslash ", "^": r"\wedge ", "~": r"\sim ", "<": "<", ">": ">",
}
"""Characters that are no text in LaTeX, as math mode writes them in MathJax and KaTeX too."""


def latex_name(name: str) -> str:
    r"""Return a parameter's name for math mode, where letters side by side would be a product.

    Examples
    --------
    >>> print(latex_name("n"), latex_name("n_rows"))
    n \mathit{n\_rows}
    """
    return name if len(name) == 1 else rf"\mathit{{{''.join(_SPECIAL.get(letter, letter) for letter in name)}}}"


def latex_text(text: str) -> str:
    r"""Return words inside of math mode.

    Examples
    --------
    >>> print(latex_text("all of n_rows"))
    \text{all of n}\_\text{rows}
    """
    words = "".join(rf"}}{_SPECIAL[letter]}\text{{" if letter in _SPECIAL else letter for letter in text)
    return rf"\text{{{words}}}".replace(r"\text{}", "")


class _Writer:
    """Writes a quasi-polynomial in a notation."""

    def __init__(self, function: QuasiPolynomial, notation: Notation) -> None:
        self.function = function
        self.notation = notation
        self.names = list(function.parameters) if notation is TEXT else [*map(latex_name, function.parameters)]
        for floor in function.floors:
            self.names.append(notation.floor.format(self.form(floor.numerator), floor.denominator))

    def all(self, exact: bool) -> str:
        shown = []
        for piece in self.function.pieces:
            condition = self.condition(piece.guard)
            value = self.sum(piece.terms)
            shown.append(f"{value}{self.notation.where}{condition}" if condition else value)
        text = self.notation.separator.join(shown) or "0"
        if exact:
            return text
        if self.notation.where in text:
            text = text.join(self.notation.brackets)
        return f"{self.notation.at_most} {text}"

    def sum(self, terms: tuple[Term, ...]) -> str:
        def degree(term: Term) -> tuple[int, tuple[int, ...]]:
            return (-sum(e for _, e in term.powers), tuple(-e for _, e in term.powers))

        shown = []
        for term in sorted(terms, key=degree):
            factors = [self.names[a] + (self.notation.power.format(e) if e > 1 else "") for a, e in term.powers]
            shown.append(self.product(term.coefficient, factors))
        return _joined(shown)

    def product(self, coefficient: Fraction, factors: list[str]) -> str:
        product = self.notation.times.join(factors)
        if not factors:
            return self.number(coefficient)
        if abs(coefficient) == 1:
            return product if coefficient > 0 else f"-{product}"
        return f"{self.number(coefficient)}{self.notation.times}{product}"

    def number(self, value: Fraction) -> str:
        if self.notation is TEXT or value.denominator == 1:
            return str(value)
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"

    def form(self, form: Affine) -> str:
        shown = [self.product(Fraction(c), [self.names[a]]) for a, c in form.coefficients]
        return _joined([*shown, str(form.constant)] if form.constant else shown)

    def condition(self, guard: Guard) -> str:
        alternatives = [" and ".join(map(self.test, conjunction)) for conjunction in guard]
        if "" in alternatives:
            return ""
        words = " or ".join(alternatives)
        if self.notation is LATEX:
            words = words.replace(" and ", r"\ \text{and}\ ").replace(" or ", r"\ \text{or}\ ")
        return words

    def test(self, constraint: Constraint) -> str:
        """Return a constraint with what is subtracted on the other side."""
        form, constant = constraint.form, constraint.form.constant
        if known := self.remainder(form):
            text, sign, constant = known
            left, right = ([text], []) if sign > 0 else ([], [text])
        else:
            left = [self.product(Fraction(c), [self.names[a]]) for a, c in form.coefficients if c > 0]
            right = [self.product(Fraction(-c), [self.names[a]]) for a, c in form.coefficients if c < 0]
        if not left:  # constant - right >= 0
            relation = "=" if constraint.equality else self.notation.at_most
            return f"{_joined(right)} {relation} {constant}"
        relation = "=" if constraint.equality else self.notation.at_least
        if not right:
            return f"{_joined(left)} {relation} {-constant}"
        if constant == -1 and not constraint.equality:
            return f"{_joined(left)} > {_joined(right)}"
        (left if constant > 0 else right).extend([str(abs(constant))] if constant else [])
        return f"{_joined(left)} {relation} {_joined(right)}"

    def remainder(self, form: Affine) -> tuple[str, int, int] | None:
        """Return (r, sign, c) where the form is ``sign * r + c`` with r the text ``f mod d``."""
        parts = remainder_in(form, self.function.floors, len(self.function.parameters))
        if parts is None:
            return None
        floor, sign, constant = parts
        text = self.form(floor.numerator)
        if len(floor.numerator.coefficients) > 1 or floor.numerator.constant:
            text = f"({text})"
        return self.notation.remainder.format(text, floor.denominator), sign, constant


def remainder_in(form: Affine, floors: Iterable[Floor], first: int) -> tuple[Floor, int, int] | None:
    """Return (floor, sign, c) where the form is ``sign * (numerator mod denominator) + c``.

    ``first`` is the position of the first floor among the atoms.
    """
    by_position = dict(enumerate(floors, first))
    for atom, coefficient in form.coefficients:
        if atom in by_position:
            floor = by_position[atom]
            sign = -1 if coefficient > 0 else 1
            rest = tuple(pair for pair in form.coefficients if pair[0] != atom)
            same = rest == tuple((a, sign * c) for a, c in floor.numerator.coefficients)
            if same and coefficient == -sign * floor.denominator:
                return floor, sign, form.constant - sign * floor.numerator.constant
    return None


def _joined(shown: list[str]) -> str:
    return " + ".join(shown).replace("+ -", "- ") or "0"


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
            if c := fraction(aff.get_coefficient_val(PARAM, i)):
                coefficients[i] = c
        for i in range(aff.dim(DIV)):
            if c := fraction(aff.get_coefficient_val(DIV, i)):
                atom = self.floor(aff.get_div(i))
                coefficients[atom] = coefficients.get(atom, Fraction(0)) + c
        common = lcm(constant.denominator, *(c.denominator for c in coefficients.values()))
        whole = tuple((a, int(c * common)) for a, c in sorted(coefficients.items()) if c)
        return Affine(int(constant * common), whole), common

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
        parts = remainder_in(form, self.floors, self.n_params)
        if parts is None:
            return False
        floor, sign, constant = parts
        return constant >= (0 if sign > 0 else floor.denominator - 1)

    def term(self, term: isl.Term) -> Term:
        powers = {}
        for i in range(self.n_params):
            if exponent := term.get_exp(PARAM, i):
                powers[i] = exponent
        for i in range(term.dim(DIV)):
            if exponent := term.get_exp(DIV, i):
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
