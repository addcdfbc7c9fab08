"""Affine forms with integer coefficients, as values with operators."""

from __future__ import annotations

from collections.abc import KeysView, Mapping
from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class AffineForm:
    """``sum(coefficient * name) + constant``.

    Attributes
    ----------
    terms : mapping of str to int
        The coefficients; none of them is zero.
    constant : int
        The value where every name stands for zero.

    Examples
    --------
    >>> i, n = AffineForm.variable("i"), AffineForm.variable("n")
    >>> form = 3*n - 2*i + 5
    >>> str(form), form["i"], form["k"], "k" in form
    ('3*n + -2*i + 5', -2, 0, False)
    >>> str(form.substituted("i", n + 1)), form.at({"i": 1, "n": 4})
    ('1*n + 3', 15)
    """

    terms: Mapping[str, int]
    constant: int = 0

    @classmethod
    def variable(cls, name: str) -> AffineForm:
        """Return the form that is the variable itself."""
        return cls({name: 1})

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    def __bool__(self) -> bool:
        return bool(self.terms) or self.constant != 0

    def __getitem__(self, name: str) -> int:
        return self.terms.get(name, 0)

    def __contains__(self, name: str) -> bool:
        return name in self.terms

    def __str__(self) -> str:
        shown = [f"{c}*{name}" for name, c in self.terms.items()]
        return " + ".join([*shown, str(self.constant)] if self.constant or not shown else shown)

    # {{{ arithmetic

    def __add__(self, other: AffineForm | int) -> AffineForm:
        if isinstance(other, int):
            return AffineForm(self.terms, self.constant + other)
        return self._plus(other, 1)

    def __neg__(self) -> AffineForm:
        return AffineForm({name: -c for name, c in self.terms.items()}, -self.constant)

    def __sub__(self, other: AffineForm | int) -> AffineForm:
        if isinstance(other, int):
            return AffineForm(self.terms, self.constant - other)
        return self._plus(other, -1)

    def _plus(self, other: AffineForm, times: int) -> AffineForm:
        terms = dict(self.terms)
        for name, c in other.terms.items():
            total = terms.get(name, 0) + times * c
            if total:
                terms[name] = total
            else:
                del terms[name]
        return AffineForm(terms, self.constant + times * other.constant)

    def __mul__(self, factor: int) -> AffineForm:
        if factor == 1:
            return self
        terms = {name: factor * c for name, c in self.terms.items()} if factor else {}
        return AffineForm(terms, factor * self.constant)

    __rmul__ = __mul__

    # }}}

    @property
    def names(self) -> KeysView[str]:
        """The names that the form depends on."""
        return self.terms.keys()

    def at(self, values: Mapping[str, int]) -> int:
        """Return the value of the form where each of its names has a value."""
        return self.constant + sum(c * values[name] for name, c in self.terms.items())

    def without(self, name: str) -> AffineForm:
        """Return the form with zero for a name."""
        if name not in self.terms:
            return self
        return AffineForm({key: c for key, c in self.terms.items() if key != name}, self.constant)

    def substituted(self, name: str, by: AffineForm) -> AffineForm:
        """Return the form with another form for a name."""
        return self.without(name)._plus(by, self.terms[name]) if name in self.terms else self

    def renamed(self, names: Mapping[str, str]) -> AffineForm:
        """Return the form with other names for some of its names."""
        return AffineForm({names.get(name, name): c for name, c in self.terms.items()}, self.constant)

    def tightened(self) -> AffineForm:
        """Return the form that is >= 0 at the same integers, with coefficients that share no divisor."""
        divisor = gcd(*self.terms.values())
        if divisor < 2:
            return self
        return AffineForm({name: c // divisor for name, c in self.terms.items()}, self.constant // divisor)

    def is_certain(self) -> bool:
        """Whether the form is a constant that is not negative."""
        return not self.terms and self.constant >= 0

    def follows_from(self, other: AffineForm) -> bool:
        """Whether the form is seen to be >= 0 where another one is: they differ by a constant."""
        return self.constant >= other.constant and self.terms == other.terms


def floor_rows(name: str, form: AffineForm, denominator: int) -> tuple[AffineForm, AffineForm]:
    """Return the two forms that are >= 0 only where the name is ``floor(form / denominator)``.

    That is ``0 <= form - denominator*name <= denominator - 1``.
    """
    remainder = form - AffineForm({name: denominator})
    return remainder, -remainder + (denominator - 1)
