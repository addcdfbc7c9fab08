"""Kernel classes made for a feature: what to measure when a kernel needs what nobody measured.

A feature's name says all that its kernel needs: the type and kind of an operation, or the size,
direction and stride class of an access.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import features
from perfmodel.errors import UnmadeFeatureError
from perfmodel.kernels import KernelClass, Ladder, WorkGroup, assume

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts
    from perfmodel.store import Measurements

CHAINS, STEPS = 8, 2
#: A step from x with the argument p, as Loopy and as NumPy write it, for floating point and integers.
REAL: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "add": ("{x} + p", lambda x, p: x + p),
    "mul": ("{x}*p", lambda x, p: x * p),
    "div": ("p/{x}", lambda x, p: p / x),
    "pow": ("{x}**p", lambda x, p: x**p),
    "minmax": ("fmax({x} + p, p)", lambda x, p: np.maximum(x + p, p)),
    "special": ("sqrt({x})", lambda x, _: np.sqrt(x)),
}
WHOLE: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "add": ("({x} ^ p) + p", lambda x, p: (x ^ p) + p),
    "mul": ("({x} ^ p)*p", lambda x, p: (x ^ p) * p),
    "shift": ("({x} ^ p) >> 1", lambda x, p: (x ^ p) >> 1),
    "bitwise": ("({x} ^ p) + p", lambda x, p: (x ^ p) + p),
}
#: Features that every kernel exercises.
EVERYWHERE = {"launches", "work_groups"}
#: Element type of an access of so many bits.
WIDTHS = {"8": "int8", "16": "int16", "32": "float32", "64": "float64", "128": "complex128"}
OPERATION = re.compile(r"op_(?P<dtype>\w+?\d+)_(?P<kind>\w+)")
ACCESS = re.compile(
    r"global_(?P<way>load|store|minloadstore)_(?P<bits>\d+)_"
    r"(?P<cls>uniform|stride1|stride(?P<stride>[234N])_(?P<part>\d)of\d)"
)


def unmeasured(
    counts: KernelCounts,
    sizes: Mapping[str, int],
    measured: Measurements | None,
    takes: Callable[[str], bool],
) -> tuple[str, ...]:
    """Return the features that a kernel needs at some sizes and no measurement exercised, sorted.

    Parameters
    ----------
    counts, sizes
        The kernel, and every size parameter of it.
    measured
        What was measured; None for nothing.
    takes
        Whether the model has a weight for a feature.
    """
    needed = {name for name, value in features.evaluate(counts, sizes).items() if value and takes(name)}
    if measured is not None:
        for row in measured:
            found = features.evaluate(measured.counts[row.counts_hash], row.parameters)
            needed -= {name for name, value in found.items() if value}
    return tuple(sorted(needed))


def classes_for(wanted: Iterable[str], library: Iterable[KernelClass]) -> tuple[KernelClass, ...]:
    """Return classes that exercise the features: variants of the library's, or made ones.

    Raises
    ------
    UnmadeFeatureError
        If a feature is of a kind that no class can be made for.
    """
    library = tuple(library)
    missing = set(wanted)
    found: list[KernelClass] = []
    for kernel in library:
        telling = tuple(v for v in kernel.variants if kernel.isolated({"work_group": (), **v}) in missing)
        if telling:
            found.append(kernel.with_variants(telling))
            missing -= {kernel.isolated({"work_group": (), **v}) or "" for v in telling}
    found.extend(made(name) for name in sorted(missing - EVERYWHERE))
    if missing and not found:
        found.extend(kernel for kernel in library if "overhead" in kernel.tags)
    return tuple(found)


def made(feature: str) -> KernelClass:
    """Return a class that exercises a feature more than any other.

    Raises
    ------
    UnmadeFeatureError
        If no class can be made for it.

    Examples
    --------
    >>> made("op_float64_pow").name, made("global_load_64_stride3_2of3").isolates
    ('made_op_float64_pow', 'global_load_64_stride3_2of3')
    """
    if operation := OPERATION.fullmatch(feature):
        dtype, kind = operation["dtype"], operation["kind"]
        if kind in (REAL if dtype.startswith("float") else WHOLE):
            return _operation(feature, dtype, kind)
    if access := ACCESS.fullmatch(feature):
        stride = {None: 1, "N": 8}.get(access["stride"], access["stride"])
        used = int(stride) * int(access["part"] or 1) // min(int(stride), 4)
        if access["cls"] != "uniform":
            return _access(feature, access["way"], WIDTHS[access["bits"]], (int(stride), used))
        if access["way"] == "load":
            return _access(feature, "uniform", WIDTHS[access["bits"]], (1, 1))
    raise UnmadeFeatureError(feature)


def _operation(feature: str, dtype: str, kind: str) -> KernelClass:
    real = np.dtype(dtype).kind == "f"
    text, step = (REAL if real else WHOLE)[kind]
    value = 0.875 if real else 3
    update = text.format(x="acc[u]")

    def build(work_group: WorkGroup = (256,)) -> TranslationUnit:
        import loopy as lp

        t_unit = lp.make_kernel(
            ["{[i]: 0 <= i < n}", "{[t]: 0 <= t < k}", f"{{[a, u, z]: 0 <= a, u, z < {CHAINS}}}"],
            [
                "for i", "acc[a] = x[i] + a {id=first}", "for t, u",
                *(f"acc[u] = {update} {{id=s{s}, dep={f's{s - 1}' if s else 'first'}}}" for s in range(STEPS)),
                "end", f"out[i] = sum(z, acc[z]) {{dep=s{STEPS - 1}}}", "end",
            ],
            [
                lp.GlobalArg("x, out", np.dtype(dtype), shape="n"),
                *([lp.ValueArg("p", np.dtype(dtype))] if "p" in text.replace("pow", "") else []),
                lp.ValueArg("n, k", np.int32),
                lp.TemporaryVariable("acc", np.dtype(dtype), shape=(CHAINS,)),
            ],
            assumptions=assume(n=work_group, k=()), name=feature, lang_version=(2018, 2),
        )  # fmt: skip
        t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
        return lp.prioritize_loops(lp.tag_inames(t_unit, "a:unr, u:unr, z:unr"), "t, u")

    def reference(arguments: dict[str, Any], **_: Any) -> dict[str, Any]:
        x = arguments["x"][:, np.newaxis] + np.arange(CHAINS, dtype=dtype)
        with np.errstate(over="ignore"):
            for _step in range(arguments["k"] * STEPS):
                x = step(x, np.dtype(dtype).type(value))
            return {"out": x.sum(axis=1, dtype=dtype)}

    return KernelClass(
        name=f"made_{feature}", group="made", build=build, reference=reference, dimensions=1,
        sizes=Ladder(lambda e: ({"n": 2**e, "k": 64},), start=8, step=2),
        scalars=lambda **_: {"p": value} if "p" in text else {},
        tags=("made",), isolates=feature, doubles="k", tolerance=1e-3,
    )  # fmt: skip


def _access(feature: str, way: str, dtype: str, stride_used: tuple[int, int]) -> KernelClass:
    stride, used = stride_used
    statement = {
        "load": "out[i] = sum((r, o), a[o, i, r])",
        "uniform": "out[i] = sum((r, o), a[o, 0, r])",
        "store": "out[o, i, r] = a[i]",
        "minloadstore": "out[o, i, r] = a[o, i, r]",
    }[way]
    wide = {"load": "a", "uniform": "a", "store": "out", "minloadstore": "a, out"}[way]
    flat = {"load": "out", "uniform": "out", "store": "a", "minloadstore": ""}[way]

    def build(work_group: WorkGroup = (256,)) -> TranslationUnit:
        import loopy as lp

        t_unit = lp.make_kernel(
            f"{{[i, r, o]: 0 <= i < n and 0 <= r < k and 0 <= o < {used}}}",
            statement,
            [
                lp.GlobalArg(wide, np.dtype(dtype), shape=f"{stride}, n, k", order="F", is_input=True),
                *([lp.GlobalArg(flat, np.dtype(dtype), shape="n", is_input=True)] if flat else []),
                lp.ValueArg("n, k", np.int32),
            ],
            assumptions=assume(n=work_group, k=()), name=feature, lang_version=(2018, 2),
        )  # fmt: skip
        t_unit = lp.split_iname(t_unit, "i", work_group[0], outer_tag="g.0", inner_tag="l.0")
        return lp.prioritize_loops(t_unit, "r, o")

    def reference(arguments: dict[str, Any], **_: Any) -> dict[str, Any]:
        a = arguments["a"]
        if way in ("load", "uniform"):
            cells = a[:used] if way == "load" else a[:used, :1]
            return {"out": np.broadcast_to(cells.sum(axis=(0, 2), dtype=dtype), arguments["n"])}
        out = arguments["out"].copy()
        out[:used] = a[np.newaxis, :, np.newaxis] if way == "store" else a[:used]
        return {"out": out}

    return KernelClass(
        name=f"made_{feature}", group="made", build=build, reference=reference, dimensions=1,
        sizes=Ladder(lambda e: ({"n": 2**e, "k": 16},), start=10, step=2, rungs=3),
        tags=("made",), isolates=feature, doubles="k", tolerance=1e-3,
    )  # fmt: skip
