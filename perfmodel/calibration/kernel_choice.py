"""Settings and kernel classes of a campaign, and classes made for features that were never measured.

For a quantity that a kernel needs and a device's weights lack, :func:`rows_for` chooses a few cheap rows in which the
quantity takes a large share of the time. The share is predicted with the cost of a related quantity.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from time import monotonic
from typing import Any, TypeAlias

import loopy as lp
import numpy as np

from perfmodel import features
from perfmodel.calibration.recommended import CANDIDATES
from perfmodel.compare.protocols import folds_of
from perfmodel.counts import KernelCounts, count
from perfmodel.documents import shortened
from perfmodel.errors import OptionError, PerfModelError, SizeError, UnknownNameError
from perfmodel.fitting import FamilyFits
from perfmodel.fitting.device_folder import recorded_folder
from perfmodel.io import shipped
from perfmodel.kernels import KernelClass, Ladder, Variant, WorkGroup, assume, discover
from perfmodel.kernels.samples import samples
from perfmodel.measuring.campaign import DEFAULT, FULL, QUICK, QUICK_SAMPLES, SAMPLES, Campaign
from perfmodel.models import families, find_family
from perfmodel.predicting.model import FittedModel, fitted_model, load
from perfmodel.quantities.bottleneck.work import CALLED_NAMES
from perfmodel.quantities.instructions import NATIVE
from perfmodel.store import paths, read

CHAINS, LENGTH = 8, 2  # independent chains of a work-item, and steps in a trip of the loop

Step: TypeAlias = tuple[str, Callable[[Any, Any], Any]]
"""One step of a chain: from x and the argument p to the next x, as Loopy and as NumPy write it."""

#: The step for each kind of operation, in floating point and in integers. In integers the step also takes a bitwise
#: "xor", so that the compiler cannot replace many steps by one.
STEPS: Mapping[str, Mapping[str, Step]] = {
    "float": {
        "add": ("{x} + p", lambda x, p: x + p),
        "mul": ("{x}*p", lambda x, p: x * p),
        "div": ("p/{x}", lambda x, p: p / x),
        "pow": ("{x}**p", lambda x, p: x**p),
        "minmax": ("fmax({x} + p, p)", lambda x, p: np.maximum(x + p, p)),
        "special": ("sqrt({x})", lambda x, _: np.sqrt(x)),
    },
    "int": {
        "add": ("({x} ^ p) + p", lambda x, p: (x ^ p) + p),
        "mul": ("({x} ^ p)*p", lambda x, p: (x ^ p) * p),
        "shift": ("({x} ^ p) >> 1", lambda x, p: (x ^ p) >> 1),
        "bitwise": ("({x} ^ p) + p", lambda x, p: (x ^ p) + p),
    },
}
ARGUMENT = {"float": 0.875, "int": 3}  # the argument p of the steps

#: For each direction the statement of an access, its arrays of shape (stride, n, k), and its array of shape (n,);
#: "uniform" is a load of the same cells by all work-items.
ACCESSES: Mapping[str, tuple[str, str, str]] = {
    "load": ("out[i] = sum((r, o), a[o, i, r])", "a", "out"),
    "uniform": ("out[i] = sum((r, o), a[o, 0, r])", "a", "out"),
    "store": ("out[o, i, r] = a[i]", "out", "a"),
    "minloadstore": ("out[o, i, r] = a[o, i, r]", "a, out", ""),
}
WIDTHS = {"8": "int8", "16": "int16", "32": "float32", "64": "float64", "128": "complex128"}
"""Element type of an access, by its number of bits."""
EVERYWHERE = frozenset({"launches", "work_groups"})  # features that every kernel exercises

_OPERATION = re.compile(r"op_(?P<dtype>u?(?P<numbers>float|int)\d+)_(?P<kind>\w+)")
_ACCESS = re.compile(
    r"global_(?P<direction>load|store|minloadstore)_(?P<bits>\d+)_"
    r"(?P<stride_class>uniform|stride1|stride(?P<stride>[234N])_(?P<part>\d)of\d)"
)


def classes_for(wanted: Iterable[str], library: Iterable[KernelClass]) -> tuple[KernelClass, ...]:
    """Return variants of library classes that isolate the features, or synthesised classes if there are none.

    If all kernels exercise all of the features, the library's classes with the tag "overhead" are returned.
    """
    library, missing = tuple(library), set(wanted)
    classes: list[KernelClass] = []
    for kernel in library:
        isolated = [(variant, kernel.isolated({"work_group": (), **variant})) for variant in kernel.variants]
        if useful := tuple(variant for variant, feature in isolated if feature in missing):
            classes.append(kernel.with_variants(useful))
            missing -= {feature for _, feature in isolated if feature}
    classes.extend(synthesise(name) for name in sorted(missing - EVERYWHERE))
    if missing and not classes:
        classes.extend(kernel for kernel in library if "overhead" in kernel.tags)
    return tuple(classes)


def synthesise(feature: str) -> KernelClass:
    """Return a class that mainly exercises this feature. Raise UnknownNameError if no class can be made."""
    if (match := _OPERATION.fullmatch(feature)) and match["kind"] in STEPS[match["numbers"]]:
        return _operation(feature, match["dtype"], match["numbers"], match["kind"])
    if (match := _ACCESS.fullmatch(feature)) and match["bits"] in WIDTHS:
        direction, dtype = match["direction"], WIDTHS[match["bits"]]
        if match["stride_class"] != "uniform":
            stride = {None: 1, "N": 8}.get(match["stride"]) or int(match["stride"])
            return _access(feature, direction, dtype, stride, stride * int(match["part"] or 1) // min(stride, 4))
        if direction == "load":
            return _access(feature, "uniform", dtype, stride=1, used=1)
    raise UnknownNameError(
        f"no measurement kernel can be made for {shortened(feature)} (only for operations and strided global accesses)",
        "write a kernel class that exercises it and pass its folder by --kernels",
    )  # fmt: skip


def _operation(feature: str, dtype: str, numbers: str, kind: str) -> KernelClass:
    """Each work-item takes k * LENGTH steps of the operation in each of its chains, and sums up the chains."""
    (text, apply), p = STEPS[numbers][kind], ARGUMENT[numbers]
    step = text.format(x="acc[u]")
    scalars = {"p": p} if "p" in text else {}

    def build(work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
        t_unit = lp.make_kernel(
            ["{[i]: 0 <= i < n}", "{[t]: 0 <= t < k}", f"{{[a, u, z]: 0 <= a, u, z < {CHAINS}}}"],
            [
                "for i", "acc[a] = x[i] + a {id=first}", "for t, u",
                f"acc[u] = {step} {{id=s0, dep=first}}", f"acc[u] = {step} {{id=s1, dep=s0}}",
                "end", "out[i] = sum(z, acc[z]) {dep=s1}", "end",
            ],
            [
                lp.GlobalArg("x, out", np.dtype(dtype), shape="n"),
                *(lp.ValueArg(name, np.dtype(dtype)) for name in scalars),
                lp.ValueArg("n, k", np.int32),
                lp.TemporaryVariable("acc", np.dtype(dtype), shape=(CHAINS,)),
            ],
            assumptions=assume(n=work_group, k=()), name=feature, lang_version=(2018, 2),
        )  # fmt: skip
        t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
        return lp.prioritize_loops(lp.tag_inames(t_unit, "a:unr, u:unr, z:unr"), "t, u")

    def reference(arguments: dict[str, Any], **variant: Any) -> dict[str, Any]:
        x = arguments["x"][:, np.newaxis] + np.arange(CHAINS, dtype=dtype)
        with np.errstate(over="ignore"):
            for _ in range(arguments["k"] * LENGTH):
                x = apply(x, np.dtype(dtype).type(p))
            return {"out": x.sum(axis=1, dtype=dtype)}

    sizes = Ladder(lambda e: ({"n": 2**e, "k": 64},), start=8, step=2)
    return _kernel_class(feature, build, reference, sizes, scalars)


def _access(feature: str, direction: str, dtype: str, stride: int, used: int) -> KernelClass:
    """Each work-item accesses `used` of `stride` neighbouring cells, in k slices of an array."""
    statement, arrays_of_stride, flat = ACCESSES[direction]

    def build(work_group: WorkGroup = (256,)) -> lp.TranslationUnit:
        shape, element = f"{stride}, n, k", np.dtype(dtype)
        arrays = [lp.GlobalArg(arrays_of_stride, element, shape=shape, order="F", is_input=True)]
        if flat:
            arrays.append(lp.GlobalArg(flat, element, shape="n", is_input=True))
        t_unit = lp.make_kernel(
            f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {used}}}", statement,
            [*arrays, lp.ValueArg("n, k", np.int32)], assumptions=assume(n=work_group, k=()), name=feature,
            lang_version=(2018, 2),
        )  # fmt: skip
        t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
        return lp.prioritize_loops(t_unit, "r, o")

    def reference(arguments: dict[str, Any], **_: Any) -> dict[str, Any]:
        a = arguments["a"]
        if flat == "out":
            cells = a[:used] if direction == "load" else a[:used, :1]
            return {"out": np.broadcast_to(cells.sum(axis=(0, 2), dtype=dtype), arguments["n"])}
        out = arguments["out"].copy()
        out[:used] = a[np.newaxis, :, np.newaxis] if direction == "store" else a[:used]
        return {"out": out}

    sizes = Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3)
    return _kernel_class(feature, build, reference, sizes, {})


def _kernel_class(
    feature: str, build: Callable[..., lp.TranslationUnit], reference: Callable[..., Mapping[str, Any]], sizes: Ladder,
    scalars: Mapping[str, float],
) -> KernelClass:  # fmt: skip
    return KernelClass(
        name=f"made_{feature}", group="made", build=build, reference=reference, dimensions=1, sizes=sizes,
        scalars=lambda **_: scalars, tags=("made",), isolates=feature, doubles="k", tolerance=1e-3,
    )  # fmt: skip


MEASUREMENT_KERNELS, TEST_KERNELS = "measurement_kernels", "test_kernels"


def discovered(folders: Iterable[Path] | None, default: str = MEASUREMENT_KERNELS) -> tuple[KernelClass, ...]:
    """Return the kernel classes in all of the folders. If no folders are given, return the shipped classes."""
    return tuple(kernel for folder in folders or [shipped(default)] for kernel in discover(folder))


def shipped_samples() -> tuple[KernelClass, ...]:
    """Return the random samples that ship with perfmodel, one class for each."""
    return samples(shipped(TEST_KERNELS) / "samples" / "samples.jsonl.xz")


def chosen_campaign(quick: bool, full: bool, budget_s: float | None) -> Campaign:
    """Return the campaign of that size, with this budget [s] if a budget is given."""
    if quick and full:
        raise OptionError("--quick and --full were both given", "give one of them")
    return replace(QUICK if quick else FULL if full else DEFAULT, budget_s=budget_s)


def sampling(campaign: Campaign) -> tuple[Campaign, tuple[KernelClass, ...]]:
    """Return the samples' campaign, with the budget of `campaign`, and the samples: all, or a third if quick."""
    quick, shipped = campaign.name == QUICK.name, shipped_samples()
    chosen = replace(QUICK_SAMPLES if quick else SAMPLES, budget_s=campaign.budget_s)
    return chosen, shipped[::3] if quick else shipped


def chosen_classes(kernels: tuple[KernelClass, ...], names: Sequence[str]) -> tuple[KernelClass, ...]:
    """Return the classes whose name or tag is in `names`, or all classes if `names` is empty."""
    known, labels = {kernel.name for kernel in kernels}, {tag for kernel in kernels for tag in kernel.tags}
    if unknown := set(names) - known - labels:
        allowed = f"choose of {', '.join(sorted(known))}, or of the tags {', '.join(sorted(labels))}"
        raise OptionError(f"no kernel class is called '{min(unknown)}' or has such a tag", allowed)
    return tuple(k for k in kernels if not names or {k.name, *k.tags} & set(names))


def missing_features(counted: Iterable[KernelCounts], sizes: Mapping[str, int], store: Path) -> tuple[str, ...]:
    """Return, sorted, features of the linear model that kernels need at sizes and that no row of a store exercised."""
    takes = find_family("stevens_kloeckner_2016").takes
    needed = {name for counts in counted for name in _exercised(counts, sizes) if takes(name)}
    if paths(store)[0].is_file():
        measured = read(store)
        for row in measured:
            needed -= _exercised(measured.counts[row.counts_hash], row.parameters)
    return tuple(sorted(needed))


def _exercised(counts: KernelCounts, sizes: Mapping[str, int]) -> set[str]:
    return {name for name, value in features.evaluate(counts, sizes).items() if value}


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
