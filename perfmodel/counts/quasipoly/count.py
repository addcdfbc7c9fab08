"""Count: an exact piecewise quasi-polynomial in a kernel's size parameters."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel.counts.quasipoly import evaluation
from perfmodel.counts.quasipoly.printing import as_latex, as_text
from perfmodel.errors import AssumptionError, GranularityError, InfiniteCountError, ParameterError

Number = int | Fraction
UNIVERSE = isl.Set("{ : }")


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

    __slots__ = ("__dict__", "assumptions", "exact", "granularity", "polynomial")
    __hash__ = None  # type: ignore[assignment]

    polynomial: isl.PwQPolynomial
    assumptions: isl.Set
    exact: bool
    granularity: str

    def __init__(
        self,
        polynomial: isl.PwQPolynomial,
        assumptions: isl.Set = UNIVERSE,
        exact: bool = True,
        granularity: str = "workitem",
    ) -> None:
        set_ = object.__setattr__
        set_(self, "polynomial", polynomial)
        set_(self, "assumptions", assumptions)
        set_(self, "exact", exact)
        set_(self, "granularity", granularity)

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

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able dictionary from which :meth:`from_json` makes an equal count."""
        polynomial, assumptions = self._texts
        return {
            "polynomial": polynomial,
            "assumptions": assumptions,
            "exact": self.exact,
            "granularity": self.granularity,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Count:
        """Read what :meth:`to_json` wrote."""
        texts = data["polynomial"], data["assumptions"]
        count = cls.from_text(*texts, data["exact"], data["granularity"])
        count.__dict__["_texts"] = texts  # isl may write what it reads in another order
        return count

    @cached_property
    def _texts(self) -> tuple[str, str]:
        return str(self.polynomial), str(self.assumptions)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Count.from_json, (self.to_json(),))

    # }}}

    # {{{ arithmetic

    def __add__(self, other: Count | Number) -> Count:
        if isinstance(other, (int, Fraction)) and other == 0:
            return self
        if not isinstance(other, Count):
            return NotImplemented
        if other.granularity != self.granularity:
            raise GranularityError(self.granularity, other.granularity)
        assumptions = self._common_assumptions(other)
        exact = self.exact and other.exact
        (one, times), (same, more) = self._multiple, other._multiple
        if assumptions is self.assumptions and one.polynomial.plain_is_equal(same.polynomial):
            result = (times + more) * one
            again = Count(result.polynomial, assumptions, exact, self.granularity)
            again.__dict__["_multiple"] = result._multiple
            return again
        total = self.polynomial.add(other.polynomial)
        if total.n_piece() > 1:
            total = total.gist_params(assumptions).coalesce()
        return Count(total, assumptions, exact, self.granularity)

    __radd__ = __add__

    def __mul__(self, factor: Number | Rational) -> Count:
        if not isinstance(factor, Rational):
            return NotImplemented
        factor = Fraction(int(factor.numerator), int(factor.denominator))
        value = isl.Val(factor.numerator).div(isl.Val(factor.denominator))
        result = Count(
            self.polynomial.scale_val(value), self.assumptions, self.exact, self.granularity
        )
        base, times = self._multiple
        result.__dict__["_multiple"] = base, times * factor
        return result

    __rmul__ = __mul__

    @cached_property
    def _multiple(self) -> tuple[Count, Fraction]:
        """What this is how many times: isl takes seconds to add what it scales in no time."""
        return self, Fraction(1)

    def times(self, other: Count) -> Count:
        """Return the product as functions, with this count's granularity."""
        return Count(
            product(self.polynomial, other.polynomial), self._common_assumptions(other),
            self.exact and other.exact, self.granularity,
        )

    def _common_assumptions(self, other: Count) -> isl.Set:
        if self.assumptions is other.assumptions:
            return self.assumptions
        return self.assumptions.intersect(other.assumptions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Count):
            return NotImplemented
        if (self.exact, self.granularity) != (other.exact, other.granularity):
            return False
        from perfmodel.counts.quasipoly.vanishing import vanishes

        assumptions = self._common_assumptions(other)
        difference = self.polynomial.sub(other.polynomial).intersect_params(assumptions)
        return bool(difference.is_zero()) or vanishes(difference)

    # }}}

    # {{{ evaluating

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The size parameters that the count depends on, sorted."""
        kind = isl.dim_type.param
        return tuple(sorted(
            self.polynomial.get_domain_space().get_dim_name(kind, i)
            for i in range(self.polynomial.dim(kind))
            if self.polynomial.involves_dims(kind, i, 1)
        ))

    @cached_property
    def _program(self) -> evaluation.Program:
        from perfmodel.counts.quasipoly.translation import program_of_polynomial

        if any(value.is_infty() for _, value in self.polynomial.get_pieces()):
            raise InfiniteCountError(str(self.polynomial))
        return program_of_polynomial(self.polynomial)

    @cached_property
    def _assumed(self) -> evaluation.Program:
        from perfmodel.counts.quasipoly.translation import program_of_set

        return program_of_set(self.assumptions)

    def __call__(self, **sizes: int) -> Number:
        """Return the exact value at one size: an int, or a Fraction where statistics enter.

        Raises
        ------
        ParameterError
            A parameter is missing, negative or not an integer.
        AssumptionError
            The sizes break an assumption of the kernel.
        """
        assumed = self._assumed
        try:
            point = [sizes[name] for name in self._program.parameters]
            context = [sizes[name] for name in assumed.parameters]
        except KeyError as missing:
            raise self._missing(missing.args[0]) from None
        for name, value in sizes.items():
            if type(value) is not int or value < 0:
                sizes[name] = whole(name, value, self.parameters)
                return self(**sizes)
        if not assumed.holds(*context):
            values = dict(zip(assumed.parameters, context, strict=True))
            raise AssumptionError(str(self.assumptions), values)
        return self._program.exact(*point)

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
        names = dict.fromkeys((*self._program.parameters, *self._assumed.parameters))
        arrays = {}
        for name in names:
            if name not in sizes:
                raise self._missing(name)
            arrays[name] = whole_array(name, sizes[name], self.parameters)
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        arrays = {name: np.broadcast_to(a, shape) for name, a in arrays.items()}
        self._refuse_broken_assumptions(arrays, shape)
        return self._program.evaluate(arrays, shape)

    def _refuse_broken_assumptions(
        self, arrays: Mapping[str, NDArray[np.int64]], shape: tuple[int, ...]
    ) -> None:
        assumed = self._assumed
        good = assumed.evaluate(arrays, shape) == 1
        if not good.all():
            indices = tuple(int(i) for i in np.flatnonzero(~good))
            values = {n: int(arrays[n].flat[indices[0]]) for n in assumed.parameters}
            raise AssumptionError(str(self.assumptions), values, indices)

    def _missing(self, name: str) -> ParameterError:
        needed = dict.fromkeys((*self._program.parameters, *self._assumed.parameters))
        return ParameterError(name, "was left out", tuple(needed))

    # }}}

    # {{{ showing

    def __str__(self) -> str:
        return as_text(self._program, self.exact)

    def __repr__(self) -> str:
        return f"<Count per {self.granularity}: {self}>"

    def _repr_latex_(self) -> str:
        return f"${as_latex(self._program, self.exact)}$"

    # }}}


def product(left: isl.PwQPolynomial, right: isl.PwQPolynomial) -> isl.PwQPolynomial:
    """Return the product of two functions of parameters, which isl wants aligned first."""
    if not left.has_equal_space(right):
        for one in (left, right):
            everywhere = isl.Set.universe(one.get_domain_space())
            left, right = left.intersect_params(everywhere), right.intersect_params(everywhere)
    return left.mul(right)


def whole(name: str, value: object, allowed: tuple[str, ...]) -> int:
    """Return ``value`` as a non-negative int, or raise :class:`ParameterError`."""
    try:
        result = int(value)  # type: ignore[call-overload]
        same = bool(result == value)
    except (TypeError, ValueError, OverflowError):
        same, result = False, -1
    if not same or isinstance(value, (bool, str)):
        raise ParameterError(name, f"is {value!r}, not an integer", allowed)
    if result < 0:
        raise ParameterError(name, f"is {result}, which is negative", allowed)
    return result


def whole_array(name: str, values: ArrayLike, allowed: tuple[str, ...]) -> NDArray[np.int64]:
    """Return ``values`` as an int64 array, or raise :class:`ParameterError`."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        floats = np.asarray(array, dtype=np.float64)
        wrong = floats != np.floor(floats)
        if array.dtype.kind != "f" or wrong.any() or not np.isfinite(floats).all():
            raise ParameterError(name, f"has values of type {array.dtype}", allowed)
    if array.size and array.min() < 0:
        raise ParameterError(name, f"is {array.min()} somewhere, which is negative", allowed)
    return array.astype(np.int64)
