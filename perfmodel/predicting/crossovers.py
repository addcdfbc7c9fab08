"""The sizes at which another variant of a kernel becomes the fastest, by a grid of sizes and bisection in its gaps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from perfmodel import features
from perfmodel.counts import KernelCounts
from perfmodel.errors import AssumptionError, PerfModelError, SizeError, listed
from perfmodel.predicting.model import FittedModel
from perfmodel.predicting.predictions import Predicting
from perfmodel.predicting.ranking import ROUNDING, Ranking
from perfmodel.progress import Progress, Silent, task

Integers: TypeAlias = npt.NDArray[np.int64]

WINDOW = 1 << 16  # number of sizes at each end of a range that are tested against the variants' assumptions


class Effort(NamedTuple):
    """Numbers of sizes: the most to compare all, those in the grid of a larger range, and those predicted at once."""

    exhaustive: int
    grid: int
    step: int


ARRAYS = Effort(1 << 17, 1 << 14, 1 << 17)  # for models that are evaluated at arrays of sizes
ONE_BY_ONE = Effort(512, 512, 16)  # for models of resources, whose traffic is evaluated one size at a time


@dataclass(frozen=True)
class Lead:
    """Sizes from `low` to `high` at which the variant `name` is the fastest."""

    name: str
    low: int
    high: int


def leads_of(
    variants: Mapping[str, KernelCounts], model: FittedModel, parameter: str, low: int, high: int,
    fixed: Mapping[str, int], *, allow_unmeasured: bool = False, progress: Progress | None = None
) -> tuple[tuple[Lead, ...], dict[str, PerfModelError]]:  # fmt: skip
    """Return the ranges of sizes in which each variant is the fastest, and the errors of variants without predictions.

    A `parameter` varies from `low` to `high`, both included, and the other sizes are `fixed`. Times are predicted at
    all sizes of the range that all variants allow. For more than 131072 sizes, times are predicted at 16384 sizes in
    geometric steps. Both numbers are 512 for a family with resources, such as ``bottleneck``. Bisection then narrows
    gaps between neighbours with different winners. If the winner changes several times between two neighbours of this
    grid, changes can be missed. The pattern of allowed sizes must repeat after at most 65536 sizes. If times are equal,
    the variant that led before keeps the lead. At the lowest size the first variant leads.

    Raise the first error if no variant can be predicted, and a SizeError if they allow no common size.
    """
    def compared(*kernels: KernelCounts) -> _Compared:
        return _Compared(Predicting(model, allow_unmeasured=allow_unmeasured), kernels, parameter, fixed)

    withheld: dict[str, PerfModelError] = {}
    for name, counts in variants.items():
        try:
            ends = compared(counts).probed(low, high)
            compared(counts).timed(np.unique([*ends[:1], *ends[-1:]]).astype(np.int64))
        except SizeError:  # sizes are wrong for all of them
            raise
        except PerfModelError as error:
            withheld[name] = error
    kept = {name: counts for name, counts in variants.items() if name not in withheld}
    if not kept:
        raise next(iter(withheld.values()))
    every = replace(compared(*kept.values()), progress=progress or Silent())
    return every.leads(low, high, tuple(kept)), withheld


def leads_at(rankings: Sequence[Ranking], parameter: str) -> tuple[Lead, ...]:
    """Return the ranges of the rankings' ascending sizes in which each variant is the fastest."""
    return _leads((ranking[0].name, ranking.sizes[parameter]) for ranking in rankings if ranking)


def leads_between(
    rankings: Sequence[Ranking], parameter: str, variants: Mapping[str, KernelCounts], model: FittedModel
) -> tuple[Lead, ...]:
    """Return the leads over the whole range of ranked sizes. If several parameters vary, use only the ranked sizes."""
    fixed, *others = ({**ranking.sizes, parameter: 0} for ranking in rankings)
    low, high = rankings[0].sizes[parameter], rankings[-1].sizes[parameter]
    if any(other != fixed for other in others):
        return leads_at(rankings, parameter)
    try:
        return leads_of(variants, model, parameter, low, high, fixed)[0]
    except SizeError:
        return leads_at(rankings, parameter)


def _leads(winners: Iterable[tuple[str, int]]) -> tuple[Lead, ...]:
    groups = (list(group) for _, group in groupby(winners, key=lambda winner: winner[0]))
    return tuple(Lead(*group[0], group[-1][1]) for group in groups)


@dataclass(frozen=True, eq=False)
class _Compared:
    asked: Predicting
    variants: tuple[KernelCounts, ...]
    parameter: str
    fixed: Mapping[str, int]
    progress: Progress = field(default_factory=Silent)

    @property
    def effort(self) -> Effort:
        return ONE_BY_ONE if self.asked.model.family.resources else ARRAYS

    def leads(self, low: int, high: int, names: Sequence[str]) -> tuple[Lead, ...]:
        known = self.probed(low, high)
        if len(known) == 0:
            assumptions = listed(dict.fromkeys(kernel.assumptions for kernel in self.variants), "; ")
            problem = f"no {self.parameter} from {low} to {high} meets the assumptions of all variants ({assumptions})"
            raise SizeError(problem, "give a range that contains such a size")
        step = int(np.gcd.reduce(np.diff(known))) or 1
        tried = self._grid(known, step, low, high)
        sizes, seconds = self.timed(tried)
        while len(added := np.setdiff1d(_middles(tried, sizes, fastest(seconds), step), tried)):
            tried = np.union1d(tried, added)
            new_sizes, new_seconds = self.timed(added)
            order = np.argsort(np.concatenate([sizes, new_sizes]))
            sizes = np.concatenate([sizes, new_sizes])[order]
            seconds = np.concatenate([seconds, new_seconds], axis=1)[:, order]
        return _leads(zip((names[number] for number in fastest(seconds)), sizes.tolist(), strict=True))

    def _grid(self, known: Integers, step: int, low: int, high: int) -> Integers:
        """Return equally spaced sizes that include all allowed sizes, or geometric steps for a large range."""
        lattice = range(int(known[0]) - (int(known[0]) - low) // step * step, high + 1, step)
        numbers = np.arange(len(lattice))
        if len(lattice) > self.effort.exhaustive:
            numbers = np.unique(np.geomspace(1, len(lattice), self.effort.grid).astype(np.int64) - 1)
        return np.union1d(lattice.start + lattice.step * numbers, [*known[:1], *known[-1:]])

    def timed(self, sizes: Integers) -> tuple[Integers, npt.NDArray[np.float64]]:
        steps = np.array_split(sizes, -(-len(sizes) // self.effort.step) or 1)
        shown, timed = self.progress if len(steps) > 1 else Silent(), []
        with task(shown, f"comparing {len(self.variants)} variants at {len(sizes)} sizes", len(steps)):
            for step in steps:
                timed.append(self._timed(step))
                shown.advance()
        allowed, seconds = zip(*timed, strict=True)
        return np.concatenate(allowed), np.concatenate(seconds, axis=1)

    def _timed(self, sizes: Integers) -> tuple[Integers, npt.NDArray[np.float64]]:
        at = {**self.fixed, self.parameter: sizes}
        made = self.asked.predicted({str(number): kernel for number, kernel in enumerate(self.variants)}, at)
        allowed = np.all([variant.allowed for variant in made.variants.values()], axis=0)
        return sizes[allowed], np.array([variant.prediction.seconds[allowed] for variant in made.variants.values()])

    def probed(self, low: int, high: int) -> Integers:
        first = np.arange(low, min(high, low + WINDOW) + 1, dtype=np.int64)
        last = np.arange(max(low, high - WINDOW), high + 1, dtype=np.int64)
        return np.unique(np.concatenate([self._allowed(first), self._allowed(last)]))

    def _allowed(self, sizes: Integers) -> Integers:
        for kernel in self.variants:
            while len(sizes):
                try:
                    features.evaluate(kernel, {**self.fixed, self.parameter: sizes})
                    break
                except AssumptionError as error:
                    if not error.indices:
                        raise
                    sizes = np.delete(sizes, error.indices)
        return sizes


def fastest(seconds: npt.NDArray[np.float64]) -> Integers:
    """Return the number of the fastest variant at each size. `seconds` has the shape (n_variants, n_sizes).

    If times are equal, the variant that led before keeps the lead. If none led before, the first of the fastest leads.
    """
    least = seconds.min(axis=0)
    near = seconds - least <= ROUNDING * np.maximum(np.abs(seconds), np.abs(least))
    count = seconds.shape[1]
    # For each variant and size, the next size at which it is not among the fastest.
    ends = np.minimum.accumulate(np.where(near, count, np.arange(count))[:, ::-1], axis=1)[:, ::-1]
    leaders, first = np.zeros(count, np.int64), 0
    while first < count:
        leader = int(np.argmax(near[:, first]))
        end = max(int(ends[leader, first]), first + 1)  # goes on where a time is NaN
        leaders[first:end] = leader
        first = end
    return leaders


def _middles(tried: Integers, sizes: Integers, winners: Integers, step: int) -> Integers:
    changes = np.flatnonzero(winners[1:] != winners[:-1])
    gaps = [*zip(sizes[changes], sizes[changes + 1], strict=True)]
    gaps += [(below, sizes[0]) for below in tried[tried < sizes[0]][-1:]]
    gaps += [(sizes[-1], above) for above in tried[tried > sizes[-1]][:1]]
    return np.array([low + (high - low) // step // 2 * step for low, high in gaps], dtype=np.int64)
