"""Several quasi-polynomials as one function, which is generated once: floors that they share are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from perfmodel.counts.quasipoly.evaluation import (
    Affine,
    Constraint,
    Floor,
    Guard,
    Piece,
    QuasiPolynomial,
    Term,
    compiled,
    guard_source,
    sum_source,
)


class Together(NamedTuple):
    """A function of parameters, in order, that returns the value of each quasi-polynomial."""

    function: Callable[..., tuple[int | Fraction, ...]]
    parameters: tuple[str, ...]


def together(polynomials: Sequence[QuasiPolynomial]) -> Together:
    """Return the function that gives the values of quasi-polynomials at one point.

    Examples
    --------
    >>> double = QuasiPolynomial(("n",), (), (Piece(((),), (Term(Fraction(2), ((0, 1),)),)),))
    >>> function, parameters = together([double, QuasiPolynomial((), (), ())])
    >>> parameters, function(7)
    (('n',), (14, 0))
    """
    parameters = tuple(sorted({name for one in polynomials for name in one.parameters}))
    floors: dict[Floor, int] = {}
    lines: list[str] = []
    for k, one in enumerate(polynomials):
        places = [parameters.index(name) for name in one.parameters]
        for floor in one.floors:
            own = Floor(_moved(floor.numerator, places), floor.denominator)
            places.append(floors.setdefault(own, len(parameters) + len(floors)))
        lines.extend(_assignment(f"v{k}", [_piece(piece, places) for piece in one.pieces]))
    values = "".join(f"v{k}, " for k in range(len(polynomials)))
    return Together(compiled("together", parameters, tuple(floors), [*lines, f"return ({values})"]), parameters)


def _assignment(name: str, pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield the lines that give a variable the value of the first piece that holds, or zero."""
    word = "if"
    for piece in pieces:
        condition, value = guard_source(piece.guard), f"{name} = {sum_source(piece.terms)}"
        if condition == "True":
            yield value if word == "if" else f"else: {value}"
            return
        yield f"{word} {condition}: {value}"
        word = "elif"
    yield f"{name} = 0" if word == "if" else f"else: {name} = 0"


def _piece(piece: Piece, places: Sequence[int]) -> Piece:
    guard: Guard = tuple(
        tuple(Constraint(_moved(one.form, places), one.equality) for one in conjunction) for conjunction in piece.guard
    )
    terms = (Term(one.coefficient, tuple((places[atom], power) for atom, power in one.powers)) for one in piece.terms)
    return Piece(guard, tuple(terms))


def _moved(form: Affine, places: Sequence[int]) -> Affine:
    """Return a form in atoms at other places."""
    return Affine(form.constant, tuple((places[atom], coefficient) for atom, coefficient in form.coefficients))
