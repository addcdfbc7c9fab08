"""Readable text and LaTeX of a count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from perfmodel.counts.quasipoly.evaluation import (
    Affine,
    Constraint,
    Guard,
    QuasiPolynomial,
    Term,
    remainder_in,
)


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


TEXT = Notation(
    "*", "^{}", "floor(({})/{})", "{} mod {}", ">=", "<=", " if ", "; ", ("(", ")")
)
LATEX = Notation(
    r"\,", "^{{{}}}", r"\left\lfloor\frac{{{}}}{{{}}}\right\rfloor", r"{} \bmod {}", r"\ge",
    r"\le", r"\ \text{ if }\ ", r";\quad ", (r"\left(", r"\right)"),
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
            numerator = self.form(floor.numerator)
            self.names.append(notation.floor.format(numerator, floor.denominator))

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
            factors = [
                self.names[a] + (self.notation.power.format(e) if e > 1 else "")
                for a, e in term.powers
            ]
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

    # {{{ conditions

    def condition(self, guard: Guard) -> str:
        alternatives = [
            " and ".join(self.test(constraint) for constraint in conjunction)
            for conjunction in guard
        ]
        if "" in alternatives:
            return ""
        words = " or ".join(alternatives)
        return words if self.notation is TEXT else _in_math(words)

    def test(self, constraint: Constraint) -> str:
        """Return a constraint with what is subtracted on the other side."""
        form, constant = constraint.form, constraint.form.constant
        if known := self.remainder(form):
            text, sign, constant = known
            left, right = ([text], []) if sign > 0 else ([], [text])
        else:
            left = [self.product(Fraction(c), [self.names[a]]) for a, c in form.coefficients if c > 0]
            right = [
                self.product(Fraction(-c), [self.names[a]]) for a, c in form.coefficients if c < 0
            ]
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
        found = remainder_in(form, self.function.floors, len(self.function.parameters))
        if found is None:
            return None
        floor, sign, constant = found
        text = self.form(floor.numerator)
        if len(floor.numerator.coefficients) > 1 or floor.numerator.constant:
            text = f"({text})"
        return self.notation.remainder.format(text, floor.denominator), sign, constant

    # }}}


def _joined(shown: list[str]) -> str:
    return " + ".join(shown).replace("+ -", "- ") or "0"


def _in_math(words: str) -> str:
    return words.replace(" and ", r"\ \text{and}\ ").replace(" or ", r"\ \text{or}\ ")
