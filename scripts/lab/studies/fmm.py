r"""The U-list of the fast multipole method, after Kim et al. (2012), chapter 3 and section 4.1.2.

- Words that a target moves and operations a byte (section 3.3), with and without the slips of the printed text.
- The measured combinations of optimisations, with the times that families predict and the benefits of Sim et al.
- The heuristic search of section 3.5.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from statistics import median
from typing import TYPE_CHECKING, Any

from perfmodel.analyses.benefits import FAMILY, Benefits, potential_benefits
from perfmodel.counts.program.program import DECISIONS
from scripts.lab.studies.study import predictions

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel
    from perfmodel.store import Measurement, Measurements

#: The study's optimisations, by the names of its figures.
TOGGLES = ("vecpack", "rsqrt", "shmem", "ujam", "tight", "pref")
#: The order in which figure 4.5 applies them to the baseline; `tight` is not among them.
PATH = ("vecpack", "rsqrt", "shmem", "ujam", "pref")
#: Boxes of a U-list with a uniform distribution in three dimensions, and words of a particle (section 3.3).
NEIGHBOURS, WORDS = 27, 4
#: Operations of an interaction, as Listing 3.1 has it: 3 differences, 3 squares, 2 sums, a root, a quotient and a sum.
FLOPS = 11
WORD_BYTES = 4
#: What combinations are looked up by.
Taken = frozenset[str]
BASELINE: Taken = frozenset()
#: The four benefits, by their names in :class:`perfmodel.analyses.benefits.Benefits`.
METRICS = ("itilp", "memlp", "fp", "serial")


# {{{ section 3.3: what must move, and what is computed with it


def words_moved(neighbours: int = NEIGHBOURS, stored: int = WORDS) -> int:
    """Return the words that move for each target, if one box of sources fits into fast memory: Q/n of section 3.3.

    A box loads its targets and the sources of its U-list, and stores its potentials. The paper's 116 counts
    `stored` = 4 words, the particle as a whole; the potentials alone are 1.

    Examples
    --------
    >>> words_moved(), words_moved(stored=1)
    (116, 113)
    """
    return WORDS + neighbours * WORDS + stored


def intensity(q: float, flops: float = FLOPS, neighbours: int = NEIGHBOURS, stored: int = WORDS) -> float:
    """Return the operations a byte with q particles in a box: `neighbours` boxes of q sources for each target.

    The paper prints kappa q / 116 operations a word, that is with the interactions of one box and the words of 27; that
    is this function over 27.

    Examples
    --------
    >>> round(intensity(422)), round(intensity(422)/NEIGHBOURS)
    (270, 10)
    """
    return neighbours * flops * q / (words_moved(neighbours, stored) * WORD_BYTES)


def least_q(balance: float, flops: float = FLOPS) -> float:
    """Return the particles in a box from which on the operations a byte reach a balance [operation/B] (section 3.5).

    Examples
    --------
    >>> round(least_q(10), 1), round(least_q(10)*NEIGHBOURS)
    (15.6, 422)
    """
    return balance / intensity(1, flops)


# }}}


# {{{ measured combinations


@dataclass(frozen=True)
class Combination:
    """A combination of optimisations, at the sizes at which all are compared."""

    taken: Taken  # the optimisations that are applied
    measured: float  # measured time [s]; NaN if only predictions are used
    predicted: Mapping[str, float]  # predicted times by family [s]; a family that cannot predict it is left out
    benefits: Benefits | None  # the benefits of Sim et al.; None if the device has no weights of that model

    @property
    def name(self) -> str:
        """Its optimisations, in the order of :data:`TOGGLES`."""
        return named(self.taken)

    def seconds(self, family: str = "") -> float:
        """Return the time that a family predicts, or without one the measured time [s]; NaN without one."""
        return self.predicted.get(family, nan) if family else self.measured


Combinations = Mapping[Taken, Combination]


def named(taken: Collection[str]) -> str:
    """Return a combination in words.

    Examples
    --------
    >>> named({"ujam", "rsqrt"}), named(())
    ('rsqrt+ujam', 'baseline')
    """
    return "+".join(name for name in TOGGLES if name in taken) or "baseline"


def combinations(
    measured: Measurements | None, models: Mapping[str, FittedModel]
) -> tuple[Combinations, Mapping[str, int]]:
    """Return the combinations by their optimisations, and their sizes: the largest at which most of them ran."""
    rows: dict[tuple[tuple[str, int], ...], dict[Taken, Measurement]] = {}
    if measured is None:
        return {}, {}
    for row in measured:
        if not set(row.variant) - {*TOGGLES}:
            taken = frozenset(name for name, value in row.variant.items() if value)
            rows.setdefault(tuple(sorted(row.parameters.items())), {})[taken] = row
    if not rows:
        return {}, {}
    at = max(rows, key=lambda sizes: (len(rows[sizes]), [value for _, value in sizes]))
    sizes = dict(at)
    found = {
        taken: combination(taken, measured.counts[row.counts_hash], sizes, models, row.seconds)
        for taken, row in rows[at].items()
    }
    return {taken: found[taken] for taken in sorted(found, key=lambda one: (len(one), named(one)))}, sizes


def combination(
    taken: Taken, kernel: Any, sizes: Mapping[str, int], models: Mapping[str, FittedModel], seconds: float = nan
) -> Combination:
    """Return a combination with the models' predictions, by family, of its kernel (a kernel, or its counts)."""
    predicted = {name: float(one.seconds) for name, one in predictions(kernel, sizes, models).items()}
    benefits = potential_benefits(models[FAMILY], kernel, sizes) if FAMILY in models else None
    return Combination(taken, seconds, predicted, benefits)


def speedups(found: Combinations, family: str = "") -> dict[Taken, float]:
    """Return the speedup over the baseline of each combination, predicted by a family or measured [1].

    Empty if the baseline has no such time; a combination without one is left out.
    """
    base = found[BASELINE].seconds(family) if BASELINE in found else nan
    times = {taken: one.seconds(family) for taken, one in found.items()}
    return {taken: base / time for taken, time in times.items() if base > 0 and time > 0}


def added(found: Combinations, toggle: str) -> tuple[tuple[Combination, Combination], ...]:
    """Return all pairs of a combination without an optimisation and the same with it."""
    return tuple(
        (one, found[one.taken | {toggle}])
        for one in found.values()
        if toggle not in one.taken and one.taken | {toggle} in found
    )


def steps(found: Combinations, path: Iterable[str] = PATH) -> tuple[Combination, ...]:
    """Return the baseline and what comes of it as optimisations are applied one by one.

    A step that was not measured is skipped. Without the baseline it is empty.
    """
    taken, line = BASELINE, [found[BASELINE]] if BASELINE in found else []
    for toggle in path:
        if taken | {toggle} in found and line:
            taken = taken | {toggle}
            line.append(found[taken])
    return tuple(line)


def step_names(line: Sequence[Combination]) -> tuple[str, ...]:
    """Return what each step of a path adds: "baseline", "+vecpack", ...

    Examples
    --------
    >>> step_names([Combination(frozenset(one), 1.0, {}, None) for one in ((), ("rsqrt",), ("rsqrt", "ujam"))])
    ('baseline', '+rsqrt', '+ujam')
    """
    before = [one.taken for one in line[:1]] + [one.taken for one in line]
    return tuple(
        f"+{named(one.taken - last)}" if one.taken else named(()) for last, one in zip(before, line, strict=False)
    )


def costs(benefits: Benefits) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the memory and the computation cost [ms] of figure 4.3: of the point A, and of A' after the overlap.

    A third point is the ideal, T_mem_min and T_fp.
    """
    hidden = benefits.memory_s - benefits.overlap_s
    computed = (benefits.compute_s, benefits.compute_s, benefits.ideal_compute_s)
    memory, computation = (benefits.memory_s, hidden, benefits.ideal_memory_s), computed
    return tuple(1e3 * one for one in memory), tuple(1e3 * one for one in computation)


def operations_each(measured: Measurements | None) -> float:
    """Return the floating-point operations of an interaction, as counted of a measured kernel [1]; NaN without any."""
    row = None if measured is None else next(iter(measured), None)
    if row is None or measured is None:
        return nan
    table = measured.counts[row.counts_hash].operation_table
    arithmetic = (each for each in table if each.dtype == "float32" and each.kind not in DECISIONS)
    operations = sum(each.count(**row.parameters) for each in arithmetic)
    return float(operations) / (NEIGHBOURS * row.parameters["boxes"] * row.parameters["q"] ** 2)


def search(seconds: Mapping[Taken, float]) -> tuple[Taken, ...]:
    """Return the path of the search of section 3.5.2: to the baseline always the optimisation that gives the best code.

    It ends where none remains; what it finds is the best on the path. `seconds` are the times of the combinations.

    Examples
    --------
    >>> times = {frozenset(): 3.0, frozenset("a"): 2.0, frozenset("b"): 2.5, frozenset("ab"): 2.1}
    >>> [sorted(one) for one in search(times)]
    [[], ['a'], ['a', 'b']]
    """
    path = [BASELINE]
    while True:
        more = [one for one in seconds if len(one) == len(path) and one > path[-1]]
        if not more:
            return tuple(path)
        path.append(min(more, key=seconds.__getitem__))


def share(one: Combination, metric: str, base: Combination | None = None) -> float:
    """Return a benefit over the predicted time of the kernel, or of another one [1]; NaN if it is unknown."""
    of = (base or one).benefits
    if one.benefits is None or of is None:
        return nan
    return float(getattr(one.benefits, f"{metric}_s")) / of.seconds


def gain(before: Combination, after: Combination, family: str = "") -> float:
    """Return the time that is saved over the time before, measured or predicted by a family [1]."""
    return 1 - after.seconds(family) / before.seconds(family)


def records(found: Combinations, families: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row of a table for each combination: times and benefits in seconds, and speedups."""
    ratios = {name: speedups(found, name) for name in ("", *families)}
    rows = []
    for taken, one in found.items():
        row: dict[str, Any] = {"combination": one.name, "measured_s": one.measured, "speedup": ratios[""].get(taken)}
        for family in families:
            row |= {f"{family}_s": one.predicted.get(family), f"{family}_speedup": ratios[family].get(taken)}
        if one.benefits:
            row |= {f"B_{name}_s": getattr(one.benefits, f"{name}_s") for name in METRICS}
        rows.append(row)
    return rows


def toggle_records(found: Combinations, families: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each optimisation: the pairs with and without it, and the median of the saved time [1]."""
    rows = []
    for toggle in TOGGLES:
        pairs = added(found, toggle)
        if pairs:
            row: dict[str, Any] = {"optimisation": toggle, "pairs": len(pairs)}
            for name, family in (("measured", ""), *((name, name) for name in families)):
                saved = [gain(*pair, family) for pair in pairs]
                row[f"{name}_saves"] = median(saved) if all(map(isfinite, saved)) else None
            rows.append(row)
    return rows


# }}}
