"""Readable text and LaTeX of a count."""

from __future__ import annotations

from fractions import Fraction

from perfmodel.counts.evaluation import Affine, Guard, Program, Term


def as_text(program: Program, exact: bool = True) -> str:
    """Return for example ``1/2*n^2 + 1/2*n if n >= 1, else 0``; ``<=`` leads an upper bound."""
    names = _names(program, "floor(({})/{})")
    return _pieces(program, exact, names, "*", "^{}", " if ", "; ", ("<= ", "=", ">="))


def as_latex(program: Program, exact: bool = True) -> str:
    """Return the same for LaTeX's math mode."""
    names = _names(program, r"\left\lfloor\frac{{{}}}{{{}}}\right\rfloor")
    marks = (r"\le ", "=", r"\ge")
    return _pieces(program, exact, names, r"\,", "^{{{}}}", r"\ \text{ if }\ ", r";\quad ", marks)


def _names(program: Program, floor_form: str) -> list[str]:
    names = list(program.parameters)
    for floor in program.floors:
        names.append(floor_form.format(_affine(floor.numerator, names, "*"), floor.denominator))
    return names


def _pieces(
    program: Program, exact: bool, names: list[str], times: str, power: str,
    where: str, separator: str, marks: tuple[str, str, str],
) -> str:
    shown = []
    for piece in program.pieces:
        value = _sum(piece.terms, names, times, power)
        condition = _condition(piece.guard, names, times, marks)
        shown.append(value if condition == "" else f"{value}{where}{condition}")
    text = separator.join(shown) or "0"
    return text if exact else marks[0] + text


def _sum(terms: tuple[Term, ...], names: list[str], times: str, power: str) -> str:
    def degree(term: Term) -> tuple[int, tuple[int, ...]]:
        return (-sum(e for _, e in term.powers), tuple(-e for _, e in term.powers))

    shown = []
    for term in sorted(terms, key=degree):
        factors = [names[a] + (power.format(e) if e > 1 else "") for a, e in term.powers]
        shown.append(_signed(term.coefficient, factors, times))
    return " + ".join(shown).replace("+ -", "- ") or "0"


def _signed(coefficient: Fraction, factors: list[str], times: str) -> str:
    product = times.join(factors)
    if not factors:
        return str(coefficient)
    if coefficient == 1:
        return product
    if coefficient == -1:
        return f"-{product}"
    return f"{coefficient}{times}{product}"


def _affine(form: Affine, names: list[str], times: str) -> str:
    shown = [_signed(Fraction(c), [names[a]], times) for a, c in form.coefficients]
    if form.constant or not shown:
        shown.append(str(form.constant))
    return " + ".join(shown).replace("+ -", "- ")


def _condition(
    guard: Guard, names: list[str], times: str, marks: tuple[str, str, str]
) -> str:
    alternatives = []
    for conjunction in guard:
        tests = [
            f"{_affine(c.form, names, times)} {marks[1] if c.equality else marks[2]} 0"
            for c in conjunction
        ]
        if not tests:
            return ""
        alternatives.append(" and ".join(tests))
    return " or ".join(alternatives)
