"""Count: an exact piecewise quasi-polynomial in a kernel's size parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from numbers import Rational
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.parts import given
from perfmodel.counts.points.cardinality import Unexpanded, multiplied, simplified
from perfmodel.counts.points.summation import OPERATIONS, BudgetSpentError, limited
from perfmodel.counts.quasipoly.arguments import (
    TOO_MUCH_WORK,
    SummandsAtSizes,
    parameters_of,
    read,
    warn_of_bound,
    whole_array,
    written,
)
from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial
from perfmodel.counts.quasipoly.evaluator import Evaluator
from perfmodel.counts.quasipoly.printing import as_latex, as_text, indicator_of, latex_text, quasi_polynomial_of
from perfmodel.counts.quasipoly.together import vanishes
from perfmodel.documents import one_line
from perfmodel.errors import GranularityError, IncomparableCountsError, InfiniteCountError
from perfmodel.lazy import cached_property
from perfmodel.threads import alone

Number = int | Fraction
UNIVERSE = isl.Set("{ : }")
MOST_LATEX = 3000
"""Characters of a formula that a notebook typesets: a longer one takes its browser seconds."""


class Count:
    """How often something happens, as a function of the size parameters.

    A count is ``sum_k c_k prod_j x_j^(e_jk)`` on each of finitely many pieces, with rational
    ``c_k`` and atoms ``x_j`` that are parameters or floors of affine forms in them.

    Parameters
    ----------
    polynomial : islpy.PwQPolynomial
        The function, over parameters only.
    assumptions : islpy.Set, optional
        The parameter values for which the count is meant; it is simplified under them, and
        evaluation elsewhere is refused.
    exact : bool
        False where the count is only an upper bound.
    granularity : str
        What is counted: ``"workitem"`` (executions by work-items), ``"subgroup"``,
        ``"workgroup"``, ``"launch"``, ``"cell"`` or ``"line"``. Only equal ones can be added.
    unexpanded : tuple of Unexpanded
        Summands beside the polynomial whose formula takes more work than the budget allows. They
        are exact too, but are counted at given sizes only; ``str`` says so.
    reasons : tuple of str
        Why the count is not exact, where that is known; ``str`` shows them.

    Notes
    -----
    Values are immutable. ``==`` compares as functions on the common assumptions, so counts are
    not hashable. The representation is that of section 3.2 of Stevens and Klöckner's model.

    Examples
    --------
    >>> c = Count.from_text("[n] -> { n^2 }", assumptions="[n] -> { : n >= 1 }")
    >>> c(n=3), str(2 * c)
    (9, '2*n^2')
    """

    __hash__ = None  # type: ignore[assignment]

    polynomial: isl.PwQPolynomial
    assumptions: isl.Set
    exact: bool
    granularity: str
    unexpanded: tuple[Unexpanded, ...]
    reasons: tuple[str, ...]
    _multiple: tuple[Count, Fraction] | None

    def __init__(
        self,
        polynomial: isl.PwQPolynomial,
        assumptions: isl.Set = UNIVERSE,
        exact: bool = True,
        granularity: str = "workitem",
        unexpanded: tuple[Unexpanded, ...] = (),
        reasons: Iterable[str] = (),
        *,
        _multiple: tuple[Count, Fraction] | None = None,
        _texts: tuple[str, str] | None = None,
    ) -> None:
        vars(self).update(
            polynomial=polynomial, assumptions=assumptions, exact=exact, granularity=granularity,
            unexpanded=unexpanded, reasons=tuple(dict.fromkeys(reasons)), _multiple=_multiple,
        )
        if _texts is not None:  # isl may write what it reads in another order
            vars(self)["_texts"] = _texts

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Count is immutable; cannot set '{name}'")

    # {{{ making

    @classmethod
    def from_text(
        cls, text: str, assumptions: str = "{ : }", exact: bool = True,
        granularity: str = "workitem",
    ) -> Count:
        """Read a count from isl's notation, as :meth:`to_json` writes it."""
        return cls(isl.PwQPolynomial(text), isl.Set(assumptions), exact, granularity)

    @classmethod
    def constant(cls, value: Number, granularity: str = "workitem") -> Count:
        """Return the count that is ``value`` everywhere."""
        value = Fraction(value)
        text = f"{{ {value.numerator}/{value.denominator} }}"
        return cls(isl.PwQPolynomial(text), granularity=granularity)

    @alone
    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able dictionary from which :meth:`from_json` makes an equal count."""
        polynomial, assumptions = self._texts
        return {
            "polynomial": polynomial,
            "assumptions": assumptions,
            "exact": self.exact,
            "granularity": self.granularity,
            **({"unexpanded": [written(one) for one in self.unexpanded]} if self.unexpanded else {}),
            **({"reasons": list(self.reasons)} if self.reasons else {}),
        }

    @classmethod
    @alone
    def from_json(cls, data: Mapping[str, Any]) -> Count:
        """Read what :meth:`to_json` wrote."""
        texts = data["polynomial"], data["assumptions"]
        return cls(
            isl.PwQPolynomial(texts[0]), isl.Set(texts[1]), given(data, "exact", bool), given(data, "granularity", str),
            tuple(read(one) for one in data.get("unexpanded", ())), tuple(data.get("reasons", ())), _texts=texts,
        )

    @cached_property
    def _texts(self) -> tuple[str, str]:
        return str(self.polynomial), str(self.assumptions)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Count.from_json, (self.to_json(),))

    # }}}

    # {{{ arithmetic

    @alone
    def __add__(self, other: Count | Number) -> Count:
        if isinstance(other, (int, Fraction)) and other == 0:
            return self
        if not isinstance(other, Count):
            return NotImplemented
        if other.granularity != self.granularity:
            raise GranularityError(self.granularity, other.granularity)
        assumptions = self._common_assumptions(other)
        exact = self.exact and other.exact
        reasons = self.reasons + other.reasons
        unexpanded = self.unexpanded + other.unexpanded
        if not unexpanded:
            (base, times), (same, more) = self._base_and_factor(), other._base_and_factor()
            if assumptions is self.assumptions and base.polynomial.plain_is_equal(same.polynomial):
                return base._scaled(times + more, assumptions, exact, reasons)
        try:
            with limited(OPERATIONS):
                total = self.polynomial.add(other.polynomial)
                if total.n_piece() > 1:
                    total = simplified(total, assumptions)
        except BudgetSpentError:
            total = self.polynomial
            unexpanded = (*unexpanded, Unexpanded(Fraction(1), (other.polynomial,), ()))
        return Count(total, assumptions, exact, self.granularity, unexpanded, reasons)

    __radd__ = __add__

    def __mul__(self, factor: Number | Rational) -> Count:
        if not isinstance(factor, Rational):
            return NotImplemented
        if factor == 1:
            return self
        base, times = self._base_and_factor()
        exactly = Fraction(int(factor.numerator), int(factor.denominator))
        return base._scaled(times * exactly, self.assumptions, self.exact, self.reasons)

    __rmul__ = __mul__

    def _base_and_factor(self) -> tuple[Count, Fraction]:
        """Return a count and the factor that gives this one: isl scales much faster than it adds."""
        return self._multiple or (self, Fraction(1))

    @alone
    def _scaled(self, factor: Fraction, assumptions: isl.Set, exact: bool, reasons: tuple[str, ...]) -> Count:
        value = isl.Val(factor.numerator).div(isl.Val(factor.denominator))
        return Count(
            self.polynomial.scale_val(value), assumptions, exact, self.granularity,
            tuple(one.scaled(factor) for one in self.unexpanded), reasons, _multiple=(self, factor),
        )

    @alone
    def times(self, other: Count) -> Count:
        """Return the product as functions, with this count's granularity."""
        polynomial, unexpanded = multiplied(
            (self.polynomial, self.unexpanded), (other.polynomial, other.unexpanded)
        )
        return Count(
            polynomial, self._common_assumptions(other), self.exact and other.exact, self.granularity, unexpanded,
            self.reasons + other.reasons,
        )

    def labelled(self, granularity: str, exact: bool | None = None, reasons: Iterable[str] = ()) -> Count:
        """Return the same function as a count of something else; ``exact`` stays if left out, reasons are added."""
        exact = self.exact if exact is None else exact
        reasons = (*self.reasons, *reasons)
        return Count(self.polynomial, self.assumptions, exact, granularity, self.unexpanded, reasons)

    def _common_assumptions(self, other: Count) -> isl.Set:
        if self.assumptions is other.assumptions:
            return self.assumptions
        return self.assumptions.intersect(other.assumptions)

    @alone
    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Count):
            return NotImplemented
        if (self.exact, self.granularity) != (other.exact, other.granularity):
            return False
        if self.unexpanded or other.unexpanded:
            if self.to_json() == other.to_json():
                return True
            raise IncomparableCountsError(str(self), str(other))
        assumptions = self._common_assumptions(other)
        difference = self.polynomial.sub(other.polynomial).intersect_params(assumptions)
        return bool(difference.is_zero()) or vanishes(difference)

    # }}}

    # {{{ evaluating

    @cached_property
    @alone
    def parameters(self) -> tuple[str, ...]:
        """The size parameters that the count depends on, sorted."""
        if self._multiple and self._multiple[1]:
            return self._multiple[0].parameters
        written_out = set(parameters_of(self.polynomial))
        return tuple(sorted(written_out.union(self._summands.parameters if self.unexpanded else ())))

    @cached_property
    @alone
    def _summands(self) -> SummandsAtSizes:
        return SummandsAtSizes(self.unexpanded)

    @cached_property
    @alone
    def _function(self) -> QuasiPolynomial:
        if any(value.is_infty() for _, value in self.polynomial.get_pieces()):
            raise InfiniteCountError(str(self.polynomial))
        return quasi_polynomial_of(self.polynomial)

    @cached_property
    @alone
    def evaluator(self) -> Evaluator:
        """What evaluates the polynomial where the assumptions hold."""
        return Evaluator(self._function, indicator_of(self.assumptions), self.assumptions)

    def __call__(self, **sizes: int) -> Number:
        """Return the value at one size: an int, or a Fraction where statistics enter.

        It is as exact as the count. A count without a formula may be too much work even at one size; a bound is
        then returned, with an :class:`~perfmodel.counts.quasipoly.arguments.UpperBoundWarning`.

        Raises
        ------
        ParameterError
            A parameter is missing, negative or not an integer.
        AssumptionError
            The sizes break an assumption of the kernel.
        CountTooHardError
            The count has no formula, is too much work even at these sizes, and no finite bound is found.
        """
        value = self.evaluator.at(sizes)
        if not self.unexpanded:
            return value
        found = self._summands.at(sizes)
        if not found.exact:
            warn_of_bound(sizes)
        return value + found.value

    def at(self, **sizes: int) -> Count:
        """Return the value at one size as a constant count, which says whether it is exact and else why not.

        Examples
        --------
        >>> str(Count.from_text("[n] -> { n^2 }", exact=False).at(n=3))
        '<= 9'
        """
        value, exact, reasons = self.evaluator.at(sizes), self.exact, self.reasons
        if self.unexpanded:
            found = self._summands.at(sizes)
            value, exact = value + found.value, exact and found.exact
            reasons += (TOO_MUCH_WORK,) * (not found.exact)
        return Count.constant(value, self.granularity).labelled(self.granularity, exact, reasons)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the values at arrays of sizes, broadcast together.

        Parameters
        ----------
        sizes : mapping of str to array of int
            One array for each parameter.

        Returns
        -------
        ndarray of float64
            Within a relative error of 1e-12 of the exact values.
        """
        values = self.evaluator.at_arrays(sizes)
        if not self.unexpanded:
            return values
        return values + self._summands.at_arrays({
            name: whole_array(name, sizes[name], self.parameters) for name in sizes
        })

    # }}}

    # {{{ showing

    def __str__(self) -> str:
        if self.unexpanded:
            text = f"{'' if self.exact else 'at most '}f({', '.join(self.parameters)}), evaluated at given sizes only"
        else:
            text = as_text(self._function, self.exact)
        return f"{text} ({'; '.join(self.reasons)})" if self.reasons else text

    def __repr__(self) -> str:
        return one_line(f"<Count per {self.granularity}: {self}>")

    def _repr_latex_(self) -> str:
        """Return the count for a notebook, which typesets what stands between dollars."""
        if self.unexpanded:
            return f"${latex_text(str(self))}$"
        formula = as_latex(self._function, self.exact)
        if len(formula) > MOST_LATEX:
            formula = latex_text(f"{len(self._function.pieces)} pieces, too long to typeset; str() writes them out")
        reasons = rf"\quad{latex_text('; '.join(self.reasons).join('()'))}" if self.reasons else ""
        return f"${formula}{reasons}$"

    # }}}

