"""Settings and kernel classes of a campaign, and classes made for features that were never measured."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import loopy as lp
import numpy as np

from perfmodel import features
from perfmodel.counts import KernelCounts
from perfmodel.documents import shortened
from perfmodel.errors import OptionError, UnknownNameError
from perfmodel.io import shipped
from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume, discover
from perfmodel.kernels.samples import samples
from perfmodel.measuring.campaign import DEFAULT, FULL, QUICK, QUICK_SAMPLES, SAMPLES, Campaign
from perfmodel.models import find_family
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
