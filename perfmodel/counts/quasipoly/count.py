"""Count: an exact piecewise quasi-polynomial in a kernel's size parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Rational
from typing import Any

import islpy as isl
import numpy as np
from numpy.typing import ArrayLike, NDArray

from perfmodel import errors
from perfmodel.counts.points.cardinality import Cardinality, Number, Unexpanded, simplified, unbounded
from perfmodel.counts.points.set_counter import OPERATIONS, BudgetSpentError, limited
from perfmodel.counts.quasipoly import arguments, printing
from perfmodel.counts.quasipoly.evaluation import QuasiPolynomial, evaluated, vanishes
from perfmodel.documents import one_line, shortened

UNIVERSE = isl.Set("{ : }")
PARAMETER = re.compile(r"\{ [^\W\d]\w* \}$")


@dataclass(frozen=True, eq=False, repr=False)
class Count:
    """How often something happens, as a function of the size parameters.

    The function consists of finitely many pieces. On each piece it is ``sum_k c_k prod_j x_j^(e_jk)`` with rational
    ``c_k``. The atoms ``x_j`` are parameters, or floors of affine forms in parameters (section 3.2 of Stevens and
    Klöckner). Values are immutable. ``==`` compares functions on the common assumptions, so counts are not hashable.

    >>> c = Count.from_text("[n] -> { n^2 }", assumptions="[n] -> { : n >= 1 }")
    >>> c(n=3), str(2 * c)
    (9, '2*n^2')
    """

    number: Any  #: The function over parameters: a Cardinality, or an ``islpy.PwQPolynomial`` that becomes one.
    assumptions: isl.Set = UNIVERSE  #: The parameter values for which the count holds. At others it has no value.
    #: What is counted: ``"workitem"`` (executions by work-items), ``"subgroup"``, ``"workgroup"``, ``"launch"``,
    #: ``"cell"`` or ``"line"``. Counts of different granularities cannot be added.
    granularity: str = "workitem"
    reasons: tuple[str, ...] = ()  #: The known reasons why the count is not exact. ``str`` shows these reasons.
    signed: frozenset[str] = frozenset()  #: The parameters that may be negative. Other negative sizes are refused.

    def __post_init__(self) -> None:
        number = self.number if isinstance(self.number, Cardinality) else Cardinality(self.number)
        vars(self).update(number=number, reasons=tuple(dict.fromkeys(self.reasons)))

    @property
    def polynomial(self) -> isl.PwQPolynomial:
        """The number without its unexpanded products."""
        return self.number.polynomial

    @property
    def exact(self) -> bool:
        """Whether the count is exact. If not, the count is an upper bound."""
        return self.number.exact

    @property
    def unexpanded(self) -> tuple[Unexpanded, ...]:
        """The summands without a formula, evaluated at given sizes."""
        return self.number.unexpanded

    @classmethod
    def from_text(
        cls, text: str, assumptions: str = "{ : }", exact: bool = True, granularity: str = "workitem"
    ) -> Count:
        """Read a count from isl's notation, as :meth:`to_json` writes it."""
        return cls(Cardinality(isl.PwQPolynomial(text), exact), isl.Set(assumptions), granularity)

    @classmethod
    def constant(cls, value: Number, granularity: str = "workitem") -> Count:
        """Return the count that is ``value`` everywhere."""
        return cls(isl.PwQPolynomial(f"{{ {Fraction(value)} }}"), granularity=granularity)

    def to_json(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        polynomial, assumptions = self._texts
        return {
            "polynomial": polynomial, "assumptions": assumptions, "exact": self.exact, "granularity": self.granularity,
            **({"unexpanded": [summand.to_json() for summand in self.unexpanded]} if self.unexpanded else {}),
            **({"reasons": list(self.reasons)} if self.reasons else {}),
            **({"signed": sorted(self.signed)} if self.signed else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Count:
        """Read what :meth:`to_json` wrote."""
        texts = data["polynomial"], data["assumptions"]
        unexpanded = tuple(map(Unexpanded.from_json, data.get("unexpanded", ())))
        number = Cardinality(isl.PwQPolynomial(texts[0]), given(data, "exact", bool), unexpanded)
        reasons = tuple(data.get("reasons", ()))
        signed = frozenset(data.get("signed", ()))
        count = cls(number, isl.Set(texts[1]), given(data, "granularity", str), reasons, signed)
        vars(count)["_texts"] = texts  # isl may change the order of what it reads
        return count

    @cached_property
    def _texts(self) -> tuple[str, str]:
        return str(self.polynomial), str(self.assumptions)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Count.from_json, (self.to_json(),))

    def __add__(self, other: Count | Number) -> Count:
        if isinstance(other, (int, Fraction)) and other == 0:
            return self
        if not isinstance(other, Count):
            return NotImplemented
        if other.granularity != self.granularity:
            problem = f"a count per {self.granularity} cannot be combined with a count per {other.granularity}"
            raise errors.CountError(problem, "ask for both with the same granularity=")
        assumptions = self._common_assumptions(other)
        exact = self.exact and other.exact
        reasons = self.reasons + other.reasons
        unexpanded = self.unexpanded + other.unexpanded
        try:
            with limited(OPERATIONS):
                total = self.polynomial.add(other.polynomial)
                if total.n_piece() > 1:
                    total = simplified(total, assumptions)
        except BudgetSpentError:
            total = self.polynomial
            unexpanded = (*unexpanded, Unexpanded(Fraction(1), (other.polynomial,), ()))
        number = Cardinality(total, exact, unexpanded)
        return Count(number, assumptions, self.granularity, reasons, self.signed | other.signed)

    __radd__ = __add__

    def __mul__(self, factor: Number | Rational) -> Count:
        if not isinstance(factor, Rational):
            return NotImplemented
        if factor == 1:
            return self
        return replace(self, number=self.number.scaled(Fraction(int(factor.numerator), int(factor.denominator))))

    __rmul__ = __mul__

    def times(self, other: Count) -> Count:
        """Return the product of the functions, with the granularity of this count."""
        number, reasons = self.number.times(other.number), self.reasons + other.reasons
        return Count(number, self._common_assumptions(other), self.granularity, reasons, self.signed | other.signed)

    def labelled(self, granularity: str, exact: bool | None = None, reasons: Iterable[str] = ()) -> Count:
        """Return the same function with another granularity and more ``reasons``. ``exact`` is replaced if given."""
        number = self.number if exact is None else replace(self.number, exact=exact)
        return Count(number, self.assumptions, granularity, (*self.reasons, *reasons), self.signed)

    def _common_assumptions(self, other: Count) -> isl.Set:
        if self.assumptions is other.assumptions:
            return self.assumptions
        return self.assumptions.intersect(other.assumptions)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Count):
            return NotImplemented
        if (self.exact, self.granularity) != (other.exact, other.granularity):
            return False
        if self.unexpanded or other.unexpanded:
            if self.to_json() == other.to_json():
                return True
            problem = f"{self} and {other} have no formulas within the budget, so == cannot compare them at all sizes"
            raise errors.CountError(problem, "compare their values at given sizes, or pass a larger budget= to count()")
        difference = self.polynomial.sub(other.polynomial).intersect_params(self._common_assumptions(other))
        return bool(difference.is_zero()) or vanishes(printing.quasi_polynomial_of(difference))

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The sorted names of the size parameters that the count depends on."""
        written_out = set(arguments.parameters_of(self.polynomial))
        return tuple(sorted(written_out.union(self._summands.parameters if self.unexpanded else ())))

    @property
    def is_parameter(self) -> bool:
        """Whether the count equals one parameter: n, but not 2*n or n*m."""
        values = [str(value) for _, value in self.polynomial.get_pieces()]
        return bool(values) and not self.unexpanded and all(PARAMETER.search(value) for value in values)

    @cached_property
    def _summands(self) -> arguments.SummandsAtSizes:
        return arguments.SummandsAtSizes(self.unexpanded)

    @cached_property
    def function(self) -> QuasiPolynomial:
        """The polynomial as a value that can be evaluated."""
        if any(value.is_infty() for _, value in self.polynomial.get_pieces()):
            raise unbounded(str(self.polynomial))
        return printing.quasi_polynomial_of(self.polynomial)

    @cached_property
    def allowed(self) -> QuasiPolynomial:
        """The function that is 1 at the sizes that the assumptions allow, and 0 elsewhere."""
        return printing.indicator_of(self.assumptions)

    def __call__(self, **sizes: int) -> Number:
        """Return the value at one size. The value is an int, or a Fraction if statistics enter.

        A missing or invalid size raises a SizeError. A size that breaks the assumptions raises an AssumptionError. A
        value that is infinite or takes too much work raises a CountError.
        """
        value = self._formula_at(sizes)
        return value + self._summands.at(sizes) if self.unexpanded else value

    def _formula_at(self, sizes: Mapping[str, int]) -> Number:
        function, allowed = self.function, self.allowed
        try:
            point = [sizes[name] for name in function.parameters]
            context = [sizes[name] for name in allowed.parameters]
        except KeyError as missing:
            raise arguments.left_out(missing.args[0], self._all_parameters) from None
        for name, value in sizes.items():
            if type(value) is not int or (value < 0 and not self.takes_negative(name)):
                value = arguments.whole(name, value, tuple(sorted(function.parameters)), self.takes_negative(name))
                return self._formula_at({**sizes, name: value})
        if not allowed.exact(*context):
            raise self._broken(dict(zip(allowed.parameters, context, strict=True)))
        return function.exact(*point)

    def takes_negative(self, name: str) -> bool:
        """Return whether a size may be negative: one of :attr:`signed`, or one on which the count does not depend."""
        return name in self.signed or name not in self._all_parameters

    def _broken(self, values: dict[str, int], indices: tuple[int, ...] = ()) -> errors.AssumptionError:
        sizes = ", ".join(f"{name}={value}" for name, value in values.items())
        position = f" (first of {len(indices)} such sizes, at index {indices[0]})" if len(indices) > 1 else ""
        assumption = str(self.assumptions)
        problem = f"{sizes}{position} breaks the kernel's assumption {assumption}"
        advice = "choose another size, or build the kernel without it"
        return errors.AssumptionError(problem, advice, assumption=assumption, values=values, indices=indices)

    @property
    def _all_parameters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.function.parameters, *self.allowed.parameters)))

    def at(self, **sizes: int) -> Count:
        """Return the value at one size as a constant count, with the exactness and the reasons of this count."""
        return Count.constant(self(**sizes)).labelled(self.granularity, self.exact, self.reasons)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the values at arrays of sizes, which are broadcast together. The relative error is at most 1e-12."""
        function, allowed, arrays = self.function, self.allowed, {}
        for name in self._all_parameters:
            if name not in sizes:
                raise arguments.left_out(name, self._all_parameters)
            allowed_names = tuple(sorted(function.parameters))
            arrays[name] = arguments.whole_array(name, sizes[name], allowed_names, name in self.signed)
        shape = np.broadcast_shapes(*(np.shape(value) for value in sizes.values()))
        flat = {name: np.ravel(np.broadcast_to(array, shape)) for name, array in arrays.items()}
        number = int(np.prod(shape, dtype=np.int64))
        context = [flat[name] for name in allowed.parameters]
        broken = np.flatnonzero(evaluated(allowed, context, number) != 1)
        if broken.size:
            first = {name: int(values[broken[0]]) for name, values in zip(allowed.parameters, context, strict=True)}
            raise self._broken(first, tuple(broken.tolist()))
        values = evaluated(function, [flat[name] for name in function.parameters], number).reshape(shape)
        if not self.unexpanded:
            return values
        return values + self._summands.at_arrays({
            name: arguments.whole_array(name, sizes[name], self.parameters, self.takes_negative(name)) for name in sizes
        })

    def __str__(self) -> str:
        if self.unexpanded:
            text = f"{'' if self.exact else 'at most '}f({', '.join(self.parameters)}), evaluated at given sizes only"
        else:
            text = printing.as_text(self.function, self.exact)
        return f"{text} ({'; '.join(self.reasons)})" if self.reasons else text

    def __repr__(self) -> str:
        return one_line(f"<Count per {self.granularity}: {self}>")


@dataclass(frozen=True, eq=False)
class Ratio:
    """A count divided by the largest of some counts. The ratio is 1 where all of these are 0."""

    number: Count
    divisors: tuple[Count, ...]

    def __call__(self, **sizes: int) -> Fraction:
        """Return the ratio at given sizes."""
        most = max(Fraction(count(**sizes)) for count in self.divisors)
        return Fraction(self.number(**sizes)) / most if most else Fraction(1)

    def evaluate(self, sizes: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """Return the ratios at arrays of sizes. The arrays are broadcast together."""
        most = np.max([count.evaluate(sizes) for count in self.divisors], axis=0)
        return np.divide(self.number.evaluate(sizes), most, out=np.ones_like(most), where=most != 0)


def given(document: Mapping[str, Any], name: str, kind: type[Any], each: type[Any] = object) -> Any:
    """Return a part of a document. Raise a DocumentError if the part, or an item of a list, has another type."""
    part = document[name]
    if not isinstance(part, kind) or (kind is list and not all(isinstance(item, each) for item in part)):
        raise errors.DocumentError(f"has {name} = {shortened(part)}, which is of another type")
    return part
