"""A model family as a value: the numbers of a kernel that it uses, their combination into seconds, and the run time."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, reduce
from itertools import count
from operator import add
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from pymbolic.primitives import Call, Variable

from perfmodel.counts.tables import by_launch
from perfmodel.documents import one_line, require
from perfmodel.expressions.expression import Expression, Expressions, parse, weight_units
from perfmodel.expressions.parsing import expression_error
from perfmodel.expressions.trees import nodes
from perfmodel.facts import DeviceFacts, Fact, FactValue
from perfmodel.facts.doubts import AssumedFact
from perfmodel.features import HOST_LAUNCH, PLAIN, Classes, matches, rate, unit
from perfmodel.quantities.case import Case, computed, missing_fact
from perfmodel.values import FrozenValue

EXPRESSION = "expr:"  # prefix of a family's definition that is an expression
TOTAL = "total"  # the sum over a family's features; the run time of a family without an expression
MARK = "@"  # before the number of a launch: names of quantities of launch 2 end with ``@2``, and so on

Quantities: TypeAlias = Callable[[Case], Mapping[str, Any]]
AssumedFacts: TypeAlias = Callable[[DeviceFacts], Iterable[tuple[AssumedFact, Fact]]]


def _nothing(_: Any) -> Mapping[Any, Any]:
    return {}


def _empty() -> Any:
    return field(default_factory=lambda: MappingProxyType({}), hash=False)


@dataclass(frozen=True)
class Weight:
    """A number in a family's expression that belongs to the device."""

    name: str  #: Identifier beginning with ``w_``.
    unit: str  #: As in ``s/operation``. A pure number has an empty unit.
    start: float | None = 1.0  #: Of a fit, in `unit`; with None the fit starts where all terms take a similar time.
    lower: float = 0.0  #: Bounds of a fit, in `unit`.
    upper: float = math.inf
    fact: str = ""  #: Key of the device's fact that gives the number. Only without this fact the weight is fitted.
    label: str = ""  #: For reports: what the weight is charged for, or what the number means.
    counted: str = ""  #: For reports: the noun of its rate, as in ``line``.
    scale: str = ""  #: For transfers: the rate (``predicting.transfer.RATES``) that the weight is a multiple of.


LAUNCH = Weight("w_launch", "s/launch", start=1e-5, label="a launch", scale="launch")
GIVEN_LAUNCH = replace(LAUNCH, fact="launch_s")
SHARPNESS = Weight("w_sharpness", "", start=4.0, lower=1.0, upper=64.0,
                   label="the sharpness of the overlap (1: times add up, 64: only the longest counts)")  # fmt: skip
BANDWIDTH = Weight("w_bandwidth", "B/s", start=1e10, lower=1e3, fact="memory_bandwidth_bytes_per_s",
                   label="the bandwidth of global memory")  # fmt: skip
MEMORY_LATENCY = Weight("w_memory_latency", "s/operation", start=3e-7, lower=1e-10, fact="memory_latency_s",
                        label="waiting for one memory request")  # fmt: skip


KIM_2012 = (
    "H. Kim, R. Vuduc, S. Baghsorkhi, J. Choi, W. Hwu: Performance Analysis and Tuning for General Purpose Graphics "
    "Processing Units (GPGPU), 2012"
)


def weighted(names: Iterable[str]) -> str:
    """Return the sum of quantities, each times a weight of its own, as an expression."""
    return " + ".join(f"w_{name}*{name}" for name in names)


def overlapping(parts: Iterable[str]) -> str:
    """Return the p-norm of parts with the weight :data:`SHARPNESS`, as an expression."""
    return reduce(lambda left, right: f"smooth_max({left}, {right}, {SHARPNESS.name})", parts)


@dataclass(frozen=True)
class Family(FrozenValue):
    r"""A model of run time without the values of its weights.

    The run time is an expression in features of the kernel, quantities that the family computes, and weights. A *sum*
    is :math:`\sum_f w_f f` over all features :math:`f` that match the patterns of the sum and that some measurement
    exercises. Each weight has the name of its feature, in seconds per unit. The sum ``total`` is over :attr:`features`.
    Without an expression, ``total`` is the run time.
    """

    name: str  #: Identifier, which begins with the name of its file.
    citation: str  #: The paper and section that define the family.
    features: tuple[str, ...] = ()  #: Patterns (as for file names) of the features in the sum ``total``.
    sums: Mapping[str, tuple[str, ...]] = _empty()  #: Patterns of the features in each other sum by its name.
    quantities: Quantities = _nothing  #: From a :class:`~perfmodel.quantities.case.Case` to quantities by name.
    units: Mapping[str, str] = _empty()  #: Of each quantity; "" for a number.
    weights: tuple[Weight, ...] = ()  #: Weights that are not in a sum.
    parts: Mapping[str, str] = _empty()  #: Named steps, each of which may use earlier ones.
    expression: str = TOTAL  #: The run time [s] (:mod:`perfmodel.expressions.expression`).
    additive: bool = True  #: Whether a prediction is the sum of its terms.
    #: The quantities of each resource, if the run time is an overhead and a smooth maximum of resources with a weight
    #: ``w_<quantity>`` for each quantity (:mod:`perfmodel.fitting.resources`).
    resources: Mapping[str, tuple[str, ...]] = _empty()
    #: Facts of a device, with their candidates, that a fit chooses by cross-validation where they are unknown.
    choices: Mapping[str, tuple[FactValue, ...]] = _empty()
    labels: Mapping[str, str] = _empty()  #: For reports: the meaning of each part of the run time.
    advice: Mapping[str, str] = _empty()  #: For reports: what to try where a part is the largest.
    definition: str = ""  #: Source of a user's own family: ``expr:`` and an expression, or the path of a file.
    sha256: str = ""  #: Of that file.
    classes: Classes = PLAIN  #: What the classes of accesses depend on.
    #: Whether the expression is for one launch. Such an expression has no features, and times of launches add up.
    of_one_launch: bool = False
    #: From a device's facts to cautions on unknown facts, each with another plausible value of the fact.
    assumed_facts: AssumedFacts = _nothing

    def __repr__(self) -> str:
        return one_line(f"<Family {self.name}: {self.citation}>")

    @classmethod
    def from_expression(
        cls, expression: str, name: str = "expression", *, citation: str = "", weights: Iterable[Weight] = ()
    ) -> "Family":
        """Make a family from an expression over features and weights (:mod:`perfmodel.expressions.expression`).

        Give `weights` whose unit, start or bounds do not follow from the expression, or that a fact of the device
        gives. Raise a FamilyError if the expression has no weight, no feature or an unknown name, or lacks one of
        `weights`. The same error is raised if the expression is not differentiable or can be negative. The text of the
        error points to the characters at fault.

        >>> family = Family.from_expression("w_launch*launches + max(w_add*op_float32_add, w_wait)")
        >>> [(weight.name, weight.unit) for weight in family.weights]
        [('w_launch', 's/launch'), ('w_add', 's/operation'), ('w_wait', 's')]
        """
        require(isinstance(expression, str), "Family.from_expression: expression", expression, "the formula as text")
        return cls(
            name, citation or "a user's own expression", weights=_own_weights(expression, tuple(weights)),
            expression=expression, additive=False, definition=f"{EXPRESSION}{expression}",
        )  # fmt: skip

    @cached_property
    def plain_sum(self) -> bool:
        """Whether the run time is the sum over :attr:`features` and nothing else."""
        return self.expression == TOTAL

    @cached_property
    def patterns(self) -> tuple[str, ...]:
        """Patterns of all features that get a weight of their own."""
        return (*self.features, *(pattern for patterns in self.sums.values() for pattern in patterns))

    def values(self, case: Case) -> Mapping[str, Any]:
        """Return a case's features and quantities, from which the expression is evaluated.

        Quantities of launches after the first are named by :func:`in_launch`.
        """
        first, *others = by_launch(case.counts) if self.of_one_launch else (case.counts,)
        quantities = computed(self.quantities, self.units, replace(case, counts=first) if others else case)
        for number, counts in enumerate(others, 2):
            found = computed(self.quantities, self.units, replace(case, counts=counts))
            quantities = {**quantities, **{in_launch(name, number): value for name, value in found.items()}}
        features = case.features_by(self.classes)
        return {**features, **quantities} if quantities else features

    def is_quantity(self, name: str) -> bool:
        """Return whether the family has a quantity of this name, in any launch."""
        return quantity_of(name) in self.units

    def takes(self, feature: str) -> bool:
        """Return whether the family has a weight for a feature."""
        return matches(self.patterns, feature)

    def select(self, features: Iterable[str]) -> tuple[str, ...]:
        """Return the features for which the family has a weight, sorted."""
        return tuple(sorted(name for name in set(features) if self.takes(name)))

    def weight_unit(self, weight: str) -> str:
        """Return the unit of a weight."""
        units = {w.name: w.unit for w in self.weights}
        return units[weight] if weight in units else f"s/{unit(weight)}"

    def scale(self, weight: str) -> str:
        """Return the name of the rate that a weight is a multiple of, or an empty text."""
        scales = {w.name: w.scale for w in self.weights}
        return scales[weight] if weight in scales else rate(weight)

    @cached_property
    def transferable(self) -> bool:
        """Whether facts and rates suffice to transfer the weights of one device to another."""
        return all(weight.fact or weight.scale or not weight.unit for weight in self.weights)

    def terms(self, weights: Mapping[str, float], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return weight [s per unit] times value (a number or an array) [s] for each feature that has both."""
        return {name: weights[name] * value for name, value in values.items() if name in weights}


def _own_weights(text: str, given: tuple[Weight, ...] = ()) -> tuple[Weight, ...]:
    """Check an expression over features, and return its weights in order of appearance.

    Units that are not given follow from the expression. An exponent starts at 1. The sharpness of a ``smooth_max`` is
    at least 1 (the sum) and at most 64.
    """
    expression = parse(text, bounds={weight.name: (weight.lower, weight.upper) for weight in given})
    known = {weight.name: weight for weight in given}
    lacking = [name for name in known if name not in expression.weights]
    if lacking:
        problem, advice = f"the weight '{lacking[0]}' is not in it", "use it, or leave it out of the weights"
        raise expression_error(text, 0, len(text), problem, advice)
    if not expression.weights:
        advice = "multiply features by weights, named w_..."
        raise expression_error(text, 0, len(text), "it has no weight, so nothing to fit", advice)
    if not expression.features:
        advice = "multiply weights by features, named like op_float32_add or launches"
        raise expression_error(text, 0, len(text), "it has no feature, so all kernels take the same time", advice)
    units, sharp = weight_units(expression), _sharpnesses(expression.tree)
    weights = {
        name: Weight(name, "", start=4.0, lower=1.0, upper=64.0)
        if name in sharp
        else Weight(name, unit, start=None if unit else 1.0)
        for name, unit in units.items()
    }
    return tuple({**weights, **known}.values())


def _sharpnesses(tree: Any) -> set[str]:
    calls = (node for node in nodes(tree) if isinstance(node, Call) and node.function.name == "smooth_max")
    return {call.parameters[2].name for call in calls if isinstance(call.parameters[2], Variable)}


def in_launch(name: str, number: int) -> str:
    """Return the name of a quantity in a launch. Launches are numbered from 1."""
    return name if number == 1 else f"{name}{MARK}{number}"


def quantity_of(name: str) -> str:
    """Return a quantity's name without its launch."""
    return name.partition(MARK)[0]


def each_launch(names: Collection[str], values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the values for each launch, under names without ``@k``. Later launches have only those of `names`."""
    yield values
    for number in count(2):
        of_launch = {name: values[there] for name in names if (there := in_launch(name, number)) in values}
        if not of_launch:
            return
        yield of_launch


@dataclass(frozen=True)
class LaunchSum(Expression):
    """An expression for one launch, summed over launches. A later launch is skipped for a row with only zeros in it."""

    one: Expression

    @classmethod
    def of(cls, one: Expression, names: Collection[str]) -> Expression:
        """Return the sum of `one` over the launches in `names`. If there is only one launch, return `one` itself."""
        most = max((int(name.partition(MARK)[2] or 1) for name in names), default=1)
        if most == 1:
            return one
        features = tuple(in_launch(name, k) for k in range(1, most + 1) for name in one.features)
        own = {part.name: getattr(one, part.name) for part in fields(one)}
        return cls(**{**own, "features": features, "one": one})

    def value(self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]) -> Any:
        """Return the values of rows, shape (n_rows,), from columns of that shape."""
        total = np.array(self.one.value(features, weights), dtype=np.float64)
        for rows, columns in self._later(features):
            total[rows] += self.one.value(columns, weights)
        return total

    def jacobian(
        self, features: Mapping[str, Any], weights: Sequence[float] | npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the derivatives by the weights, shape (n_rows, n_weights), from columns of shape (n_rows,)."""
        total = self.one.jacobian(features, weights)
        for rows, columns in self._later(features):
            total[rows] += self.one.jacobian(columns, weights)
        return total

    def _later(self, features: Mapping[str, Any]) -> Iterator[tuple[npt.NDArray[np.int64], dict[str, Any]]]:
        """Yield for each launch after the first the rows of kernels with this launch, and the columns of these rows."""
        _, *later = each_launch(self.one.features, features)
        for columns in later:
            rows = np.flatnonzero(np.any([column != 0 for column in columns.values()], axis=0))
            yield rows, {name: column[rows] for name, column in columns.items()}


def bind(family: Family, features: Collection[str], known: Mapping[str, float] | None = None) -> Expression:
    """Return the run time of a family with numbers for `known` weights. Raise a FamilyError if that is impossible."""
    sums = {
        name: sorted(feature for feature in set(features) if matches(patterns, feature))
        for name, patterns in {TOTAL: family.features, **family.sums}.items()
    }
    expression = parse(
        family.expression, tuple(family.units), parts=family.parts, sums=sums, constants=known,
        bounds={weight.name: (weight.lower, weight.upper) for weight in family.weights},
    )  # fmt: skip
    return LaunchSum.of(expression, features) if family.of_one_launch else expression


@dataclass(frozen=True, eq=False)
class RunTime(FrozenValue):
    """A family with the value of each weight, and the time ``launch_s`` [s] that the host's clock adds, if known."""

    family: Family
    weights: Mapping[str, float]
    launch_s: float | None = None

    def evaluate(self, values: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Return the run time [s] and its terms [s] by name.

        The terms are the features of a plain sum, or otherwise the parts. If ``launch_s`` is known, HOST_LAUNCH is a
        term too.
        """
        seconds, terms = self._on_device(values)
        if self.launch_s is None:
            return seconds, terms
        launch = self.launch_s if isinstance(seconds, float) else np.full(np.shape(seconds), self.launch_s)
        return seconds + launch, {**terms, HOST_LAUNCH: launch}

    def _on_device(self, values: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        if self.family.plain_sum:
            terms = self.family.terms(self.weights, values)
            return sum(terms.values(), 0.0), terms
        seconds, *parts = self._over_launches(self._together.values, values)
        return seconds, dict(zip(self.family.parts, parts, strict=True))

    def seconds(self, values: Mapping[str, Any]) -> Any:
        """Return the run time [s] of :meth:`evaluate`."""
        return self.evaluate(values)[0]

    def by_weight(self, values: Mapping[str, Any]) -> Mapping[str, Any]:
        r"""Return the seconds due to each weight, :math:`w \, \partial T / \partial w`, by its name."""
        if self.family.plain_sum:
            return self.family.terms(self.weights, values)
        expression, weights = self._whole
        slopes = self._over_launches(lambda own: expression.slopes(own, weights), values)
        return {name: w * slope for name, w, slope in zip(self._names, weights, slopes, strict=True)}

    def _over_launches(self, numbers: Callable[[Mapping[str, Any]], Sequence[Any]], values: Mapping[str, Any]) -> Any:
        if not self.family.of_one_launch:
            return numbers(values)
        launches = map(numbers, each_launch(self.family.units, values))
        return [reduce(add, column) for column in zip(*launches, strict=True)]

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(weight_name(self.family, name) for name in self._whole[0].weights)

    @cached_property
    def charged(self) -> frozenset[str]:
        """Features and quantities that no weight is named after. Measurements must exercise these too."""
        free = () if self.family.resources else self.family.units
        return frozenset(self._whole[0].features) - {*free} - {*self.weights}

    @cached_property
    def _whole(self) -> tuple[Expression, list[float]]:
        return self._with_weights(self.family)

    @cached_property
    def _together(self) -> Expressions:
        names = (self.family.expression, *self.family.parts)
        every = [self._with_weights(replace(self.family, expression=name)) for name in names]
        known = {name: value for each, weights in every for name, value in zip(each.weights, weights, strict=True)}
        return Expressions(tuple(each for each, _ in every), known)

    def _with_weights(self, family: Family) -> tuple[Expression, list[float]]:
        expression = bind(family, self.weights)
        return expression, [self.weights[weight_name(self.family, name)] for name in expression.weights]


def known_weights(family: Family, facts: DeviceFacts | None, fit_facts: bool = False) -> dict[str, float]:
    """Return the weights that the device's facts give. With `fit_facts` a fact may be unknown, since a fit finds it."""
    known = {}
    for weight in family.weights:
        if not weight.fact:
            continue
        if facts is not None and weight.fact in facts:
            known[weight.name] = float(facts.value(weight.fact))
        elif not fit_facts:
            raise missing_fact(weight.fact, family.name, facts, weight.name)
    return known


def weight_name(family: Family, variable: str) -> str:
    """Return the name of a weight outside of expressions. A feature's weight in a sum has the name of the feature."""
    names = {weight.name for weight in family.weights}
    return variable if variable in names else variable.removeprefix("w_")
