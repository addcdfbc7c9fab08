"""Quantities that a kernel needs and a device's weights lack: chooses rows to measure, and fits again with them.

The module chooses a few cheap rows in which the quantity takes a large share of the time. The share is predicted with
the cost of a related quantity.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import monotonic

from perfmodel.calibration.kernel_choice import classes_for
from perfmodel.calibration.recommended import CANDIDATES
from perfmodel.compare.protocols import folds_of
from perfmodel.counts import KernelCounts, count
from perfmodel.errors import PerfModelError, SizeError, UnknownNameError
from perfmodel.fitting import FamilyFits
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.kernels import KernelClass, Ladder, Variant
from perfmodel.measuring.campaign import QUICK, Campaign
from perfmodel.models import families
from perfmodel.predicting.model import FittedModel, fitted_model, load
from perfmodel.quantities.bottleneck.work import CALLED_NAMES
from perfmodel.quantities.instructions import NATIVE

FEW: Campaign = replace(QUICK, name="for", rungs=2, apart_s=0.5)
"""The campaign that measures the chosen rows, in two visits; classes made for features have two sizes."""
ROWS = 2  # rows that are measured for a quantity
DOMINANT = 0.3  # share of a row's time that ends the search for a better row [1]
ENOUGH = 4  # rows with the quantity after which the best ones are taken
LONGEST_S = 0.02  # longest predicted time of a chosen row, where a shorter one has the quantity [s]
SHORTEST_S = 5e-5  # shortest predicted time of a chosen row, where a longer one has the quantity [s]
GOOD = 0.7  # share, over the largest of a variant, from which the quickest sizes are taken [1]
SEARCH_S = 20.0  # after this time only likely classes are searched [s]
EXPONENTS = 5  # rungs of a class that are tried

HINTS: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(kind for kind, other in {**CALLED_NAMES, **NATIVE}.items() if other == name)
       for name in {*CALLED_NAMES.values(), *NATIVE.values()}},
    "function": ("tanh",), "inlined": ("exp", "tanh"), "power": ("pow",), "int_divide": ("integer_divisions",),
    "chain_divide": ("div", "latency"), "chain_root": ("sqrt", "latency"), "chain_power": ("pow", "latency"),
    "chain_multiply_add": ("madd", "latency"), "chain_multiply": ("mul", "latency"), "chain_add": ("add", "latency"),
    "chain_minmax": ("minmax", "latency"), "minmax": ("minmax",), "gathers": ("cells_per_item", "gather"),
    "scatters": ("scatter", "strided_store"), "kept_values": ("tile_sums", "tile_reuse"),
    "page_walks": ("column_sums",), "waiting_items": ("barriers",), "region_entries": ("barriers",),
    "varied_entries": ("halo_tiles",), "memory": ("large_arrays", "column_sums"), "split": ("shifted_loads",),
    "second_level": ("load_streams", "stride1", "transpose"), "first": ("stride1", "strided"),
    "again": ("sweeps", "matmul"),
}  # fmt: skip
"""Words in the names and variants of kernel classes that are looked at first, by the beginning of a quantity's name."""


@dataclass(frozen=True)
class ChosenRow:
    """A variant of a kernel class at sizes, and the share of a quantity in its time [1]."""

    kernel: KernelClass
    variant: Variant
    exponent: int
    index: int  # position of the sizes in the rung
    share: float

    def as_class(self, rungs: int = 1) -> KernelClass:
        """Return a class with this row alone, or with larger sizes too."""
        at, index = self.kernel.sizes.at, self.index
        sizes = Ladder(lambda exponent: (at(exponent)[index],), self.exponent, self.kernel.sizes.step, rungs)
        return replace(self.kernel, variants=(self.variant,), sizes=sizes)


def models_of(folder: Path) -> dict[str, FittedModel]:
    """Return the models of a device's folder by family. The candidates of a calibration come first."""
    names = sorted(families(), key=lambda name: (name not in CANDIDATES, name))
    return {name: load(path) for name in names if (path := folder / f"{name}.json").is_file()}


def lacking(
    models: Mapping[str, FittedModel], counted: Iterable[KernelCounts], sizes: Mapping[str, int]
) -> dict[str, tuple[str, ...]]:
    """Return for each family the features and quantities that kernels need and that no measurement exercised."""
    counted, found = tuple(counted), dict[str, set[str]]()
    problem: PerfModelError | None = None
    for (name, model), counts in product(models.items(), counted):
        try:
            lacks = model.lacking(counts, sizes)
            found.setdefault(name, set()).update(lacks)
        except SizeError:
            raise
        except PerfModelError as error:
            problem = problem or error
    if problem and not found:
        raise problem
    return {name: tuple(sorted(names)) for name, names in found.items() if names}


def rows_for(
    needed: Mapping[str, Sequence[str]], models: Mapping[str, FittedModel], library: Iterable[KernelClass],
    most_items: int,
) -> tuple[tuple[KernelClass, ...], tuple[str, ...]]:  # fmt: skip
    """Return classes with rows to measure, in work-groups of at most `most_items`, and problems of the others."""
    library, problems = sorted(library, key=lambda kernel: "context" in kernel.tags), list[str]()
    chosen: dict[tuple[str, str, int], KernelClass] = {}
    for family, names in needed.items():
        for name in names:
            if models[family].family.is_quantity(name):
                rows = exercising(name, models[family], library, most_items)
                rungs = max(1, 1 + ROWS - len(rows))
                chosen |= {(row.kernel.name, str(row.variant), row.exponent): row.as_class(rungs) for row in rows}
                problems += [f"no measurement kernel exercises '{name}' of {family}"] * (not rows)
                continue
            try:
                for kernel in classes_for([name], library)[:1]:
                    chosen.setdefault((kernel.name, name, 0), kernel)
            except UnknownNameError as error:
                problems.append(str(error))
    return tuple(chosen.values()), tuple(problems)


def exercising(
    quantity: str, model: FittedModel, library: Iterable[KernelClass], most_items: int
) -> tuple[ChosenRow, ...]:
    """Return rows of different variants in which a quantity has large shares of the time, the largest share first."""
    found: list[ChosenRow] = []
    began = monotonic()
    for likely, kernel, variant in _in_order(quantity, library):
        enough = any(row.share >= DOMINANT for row in found) or len(found) >= ROWS or monotonic() - began > SEARCH_S
        if len(found) >= ENOUGH or (enough and not likely):
            break
        if best := _best_row(quantity, model, kernel, variant, most_items):
            found.append(best)
            if sum(row.share >= DOMINANT for row in found) >= ROWS:
                break
    return tuple(sorted(found, key=lambda row: -row.share)[:ROWS])


def _in_order(quantity: str, library: Iterable[KernelClass]) -> list[tuple[bool, KernelClass, Variant]]:
    start = max((start for start in HINTS if quantity.startswith(start)), key=len, default="")
    hints, bits = HINTS.get(start, ()), quantity.rpartition("_")[2]

    def rank(kernel: KernelClass, variant: Variant) -> tuple[int, int]:
        names = {kernel.name, *map(str, variant.values())}
        named = sum(hint in names for hint in hints)
        near = sum(any(hint in name for name in names) for hint in hints)
        return -2 * named - near, -sum(name.endswith(bits) for name in names)

    every = sorted(((k, variant) for k in library for variant in k.variants), key=lambda pair: rank(*pair))
    return [(rank(kernel, variant)[0] < 0, kernel, variant) for kernel, variant in every]


def _best_row(
    quantity: str, model: FittedModel, kernel: KernelClass, variant: Variant, most_items: int
) -> ChosenRow | None:
    """Return the sizes at which a quantity has its largest share of a variant's time, or None if the share is 0."""
    (shaped, *_) = kernel.with_variants((variant,)).variants_on(most_items, 1)
    try:
        counts = count(kernel.build(**shaped), model.fitted.subgroup_size, statistics=kernel.known_statistics(shaped))
    except PerfModelError:
        return None
    rows: list[tuple[float, ChosenRow]] = []
    for rung in range(EXPONENTS):
        exponent = kernel.sizes.start + rung * kernel.sizes.step
        for index, sizes in enumerate(kernel.sizes.at(exponent)):
            share, seconds = model.share_of(quantity, counts, sizes)
            if share > 0 and (seconds <= LONGEST_S or not rows):
                rows.append((seconds, ChosenRow(kernel, variant, exponent, index, share)))
    most = max((row.share for _, row in rows), default=0.0)
    good = [(seconds < SHORTEST_S, seconds, row) for seconds, row in rows if row.share >= GOOD * most]
    return min(good, key=lambda each: each[:2])[2] if good else None


def refitted(folder: Path, names: Iterable[str]) -> dict[str, FittedModel]:
    """Fit families again to all records of a folder, with the facts of earlier fits. Write the weights."""
    measured, tests, samples = recorded_folder(folder)
    models = {}
    for name in names:
        before = load(folder / f"{name}.json")
        known, facts = measured, before.facts
        if facts is not None:
            chosen = {key: facts.fact(key) for key in before.family.choices if key in facts}
            known = measured.with_facts(measured.known_facts.updated(chosen))
        fits = FamilyFits(known, before.family, before.fitted.options, tests, folds_of(tests), samples=samples)
        models[name] = fitted_model(fits)
        models[name].save(folder / f"{name}.json")
    return models
