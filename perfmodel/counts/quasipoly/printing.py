"""The text of counts, and the conversion of isl's functions to :class:`QuasiPolynomial`."""

from collections.abc import Iterable
from fractions import Fraction
from math import gcd

import islpy as isl

from perfmodel.counts.points.polytopes import AffineForm, Atom, Monomial, NamedFloor, Polynomial, Polytope, fraction_of
from perfmodel.counts.quasipoly.evaluation import Guard, IntegerSum, Piece, Powers, QuasiPolynomial

PARAM, DIV = isl.dim_type.param, isl.dim_type.div


def as_text(function: QuasiPolynomial, exact: bool = True) -> str:
    """Return a text such as ``n^2 if n >= 17; n if n <= 16``. The text of an upper bound begins with ``<=``."""
    text = _Writer(function).all()
    if exact:
        return text
    return f"<= ({text})" if " if " in text else f"<= {text}"


class _Writer:
    def __init__(self, function: QuasiPolynomial) -> None:
        self.function = function
        self.names: dict[Atom, str] = {name: name for name in function.parameters}
        for floor in function.floors:
            self.names[floor.name] = f"floor(({self.form(floor.form)})/{floor.denominator})"

    def all(self) -> str:
        shown = []
        for piece, total in zip(self.function.pieces, self.function.sums, strict=True):
            condition = self.condition(piece.guard)
            shown.append(f"{self.sum(total)} if {condition}" if condition else self.sum(total))
        return "; ".join(shown) or "0"

    def sum(self, value: IntegerSum) -> str:
        def degree(term: tuple[int, Powers]) -> tuple[int, tuple[int, ...]]:
            return (-sum(e for _, e in term[1]), tuple(-e for _, e in term[1]))

        shown = []
        for c, powers in sorted(value.terms, key=degree):
            factors = [self.names[a] + (f"^{e}" if e > 1 else "") for a, e in powers]
            shown.append(self.product(Fraction(c, value.denominator), factors))
        return _joined(shown)

    def product(self, coefficient: Fraction, factors: list[str]) -> str:
        product = "*".join(factors)
        if not factors:
            return str(coefficient)
        if abs(coefficient) == 1:
            return product if coefficient > 0 else f"-{product}"
        return f"{coefficient}*{product}"

    def form(self, form: AffineForm) -> str:
        shown = [self.product(Fraction(c), [self.names[name]]) for name, c in form.terms.items()]
        return _joined([*shown, str(form.constant)] if form.constant else shown)

    def condition(self, guard: Guard) -> str:
        alternatives = [" and ".join([
            *(self.test(form, "=") for form in conditions.equalities),
            *(self.test(form, ">=") for form in conditions.inequalities),
        ]) for conditions in guard]  # fmt: skip
        return "" if "" in alternatives else " or ".join(alternatives)

    def test(self, form: AffineForm, relation: str) -> str:
        constant = form.constant
        if known := self.remainder(form):
            text, sign, constant = known
            left, right = ([text], []) if sign > 0 else ([], [text])
        else:
            left = [self.product(Fraction(c), [self.names[name]]) for name, c in form.terms.items() if c > 0]
            right = [self.product(Fraction(-c), [self.names[name]]) for name, c in form.terms.items() if c < 0]
        if not left:  # constant - right >= 0
            return f"{_joined(right)} {'=' if relation == '=' else '<='} {constant}"
        if not right:
            return f"{_joined(left)} {relation} {-constant}"
        if constant == -1 and relation != "=":
            return f"{_joined(left)} > {_joined(right)}"
        (left if constant > 0 else right).extend([str(abs(constant))] if constant else [])
        return f"{_joined(left)} {relation} {_joined(right)}"

    def remainder(self, form: AffineForm) -> tuple[str, int, int] | None:
        """Return (r, sign, c) if the form is ``sign * r + c``, where r is the text ``f mod d``, or return None."""
        parts = remainder_in(form, self.function.floors)
        if parts is None:
            return None
        floor, sign, constant = parts
        text = self.form(floor.form)
        if len(floor.form.terms) > 1 or floor.form.constant:
            text = f"({text})"
        return f"{text} mod {floor.denominator}", sign, constant


def remainder_in(form: AffineForm, floors: Iterable[NamedFloor]) -> tuple[NamedFloor, int, int] | None:
    """Return (floor, sign, c) if the form is ``sign * r + c``, with the remainder r of the floor's division."""
    for floor in floors:
        if floor.name in form:
            sign = -1 if form[floor.name] > 0 else 1
            rest = form - sign * (floor.form - AffineForm({floor.name: floor.denominator}))
            if not rest.terms:
                return floor, sign, rest.constant
    return None


def _joined(shown: list[str]) -> str:
    return " + ".join(shown).replace("+ -", "- ") or "0"


def fraction(value: isl.Val) -> Fraction:
    return Fraction(value.to_python() if value.is_int() else str(value))


class _Translator:
    """Converts pieces and collects the floors in them. A floor's name is its text in isl's notation."""

    def __init__(self, space: isl.Space) -> None:
        self.parameters = tuple(space.get_dim_name(PARAM, k) for k in range(space.dim(PARAM)))
        self.positions: dict[Atom, int] = {name: k for k, name in enumerate(self.parameters)}
        self.floors: list[NamedFloor] = []

    def form(self, aff: isl.Aff) -> tuple[AffineForm, int]:
        used = [not aff.get_coefficient_val(DIV, k).is_zero() for k in range(aff.dim(DIV))]
        floors = [self.floor(aff.get_div(k)) if is_used else "" for k, is_used in enumerate(used)]
        form, denominator = fraction_of(aff, [*self.parameters, *floors])
        divisor = gcd(denominator, form.constant, *form.terms.values())
        terms = {name: form[name] // divisor for name in sorted(form.terms, key=self.positions.__getitem__)}
        return AffineForm(terms, form.constant // divisor), denominator // divisor

    def floor(self, aff: isl.Aff) -> str:
        form, denominator = self.form(aff)
        name = f"floor(({form})/{denominator})"
        if name not in self.positions:
            self.positions[name] = len(self.positions)
            self.floors.append(NamedFloor(name, form, denominator))
        return name

    def guard(self, domain: isl.Set) -> Guard:
        """Return the set as a union of polytopes, without constraints that only define floors."""
        return tuple(self.conditions(basic) for basic in domain.compute_divs().get_basic_sets())

    def conditions(self, basic: isl.BasicSet) -> Polytope:
        equalities, inequalities = [], []
        for constraint in basic.get_constraints():
            form, _ = self.form(constraint.get_aff())
            if constraint.is_equality():
                equalities.append(form)
            elif not self.always(form):
                inequalities.append(form)
        return Polytope((), tuple(equalities), tuple(inequalities))

    def always(self, form: AffineForm) -> bool:
        """Return whether ``form >= 0`` is one of the two constraints by which a floor is defined."""
        parts = remainder_in(form, self.floors)
        if parts is None:
            return False
        floor, sign, constant = parts
        return constant >= (0 if sign > 0 else floor.denominator - 1)

    def polynomial(self, value: isl.QPolynomial) -> Polynomial:
        terms: dict[Monomial, Fraction] = {}
        for term in value.get_terms():
            powers: dict[Atom, int] = {
                name: e for k, name in enumerate(self.parameters) if (e := term.get_exp(PARAM, k))
            }
            powers |= {self.floor(term.get_div(k)): e for k in range(term.dim(DIV)) if (e := term.get_exp(DIV, k))}
            monomial = frozenset(powers.items())
            coefficient = fraction(term.get_coefficient_val())
            terms[monomial] = terms[monomial] + coefficient if monomial in terms else coefficient

        def positions(monomial: Monomial) -> list[tuple[int, int]]:
            return sorted((self.positions[atom], exponent) for atom, exponent in monomial)

        return Polynomial({monomial: terms[monomial] for monomial in sorted(terms, key=positions)})

    def assembled(self, pieces: list[Piece]) -> QuasiPolynomial:
        return QuasiPolynomial(self.parameters, tuple(self.floors), tuple(pieces))


def quasi_polynomial_of(polynomial: isl.PwQPolynomial) -> QuasiPolynomial:
    polynomial = polynomial.drop_unused_params()
    translator = _Translator(polynomial.get_domain_space())
    guards: dict[Polynomial, Guard] = {}
    for domain, value in polynomial.get_pieces():
        translated = translator.polynomial(value)
        if translated:  # it is zero outside all pieces
            guards[translated] = (*guards.get(translated, ()), *translator.guard(domain))
    return translator.assembled([Piece(guard, value) for value, guard in guards.items()])


def indicator_of(domain: isl.Set) -> QuasiPolynomial:
    """Return the function that is 1 on a set of parameters and 0 elsewhere."""
    domain = domain.drop_unused_params()
    translator = _Translator(domain.get_space())
    return translator.assembled([Piece(translator.guard(domain), Polynomial.constant(1))])
