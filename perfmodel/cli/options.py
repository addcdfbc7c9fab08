"""Options and arguments that several commands share, and the values that they stand for."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perfmodel.documents.limits import EXACT, shortened
from perfmodel.errors import OptionError, PerfModelError, SizeOptionError, UnknownVariantError, VariantError

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.anchors import Anchor
    from perfmodel.counts import KernelCounts
    from perfmodel.errors import UnmeasuredFeatureError
    from perfmodel.predict import FittedModel
    from perfmodel.ranking import RankedVariant

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

# A user's kernels.
KernelFile = Annotated[Path, typer.Argument(metavar="KERNEL.PY", help="Python file with kernel() or variants().")]
Variant = Annotated[str | None, typer.Option("--variant", help="Only this variant; all of them by default.")]
Sizes = Annotated[
    list[str] | None,
    typer.Option("--size", "-p", metavar="NAME=INTEGER", help="A size parameter; repeat for more."),
]

# A device and what is measured on it.
DeviceName = Annotated[str | None, typer.Option("--device", help="Name, platform or index; PoCL by default.")]
Kernels = Annotated[list[Path] | None, typer.Option("--kernels", help="Folder of kernel classes; repeat for more.")]
Classes = Annotated[list[str] | None, typer.Option("--class", help="Only this class; repeat for more.")]
Quick = Annotated[bool, typer.Option("--quick", help="The paper's classes in short runs: under a minute.")]
Full = Annotated[bool, typer.Option("--full", help="Every variant, work-group shape and size.")]
Budget = Annotated[
    float | None,
    typer.Option("--budget", min=0, help="Begin no measurement later than so many seconds; each class in turn."),
]

# Measurements and models.
Source = Annotated[
    Path, typer.Option("--from", metavar="FOLDER", help="Folder or .jsonl file with measurements.")
]
FamilyName = Annotated[
    str,
    typer.Option("--family", help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file."),
]
GivenFacts = Annotated[
    bool, typer.Option("--given-facts", help="Refuse a family that needs an unknown fact of the device; do not fit it.")
]
MeasuredFacts = Annotated[
    bool,
    typer.Option("--measured-facts", help="Fix the facts that can be read off the measurements; do not fit them."),
]
WeightsFile = Annotated[Path, typer.Option("--weights", "-w", metavar="FILE", help="Weights that `fit` wrote.")]
OwnFamily = Annotated[
    str | None,
    typer.Option("--family", metavar="FILE.py", help="Run this file, where the weights belong to a family in it."),
]
AllowUnmeasured = Annotated[
    bool, typer.Option("--allow-unmeasured", help="Count features that were never measured as free.")
]
Level = Annotated[float, typer.Option("--level", help="Probability that intervals should have.")]
Anchored = Annotated[
    bool,
    typer.Option("--anchor", help="Run each variant once at a small size, and scale its prediction by that."),
]


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes that ``-p`` options give.

    Raises
    ------
    SizeOptionError
        If one is not of the form NAME=INTEGER.
    OptionError
        If one is too large to be exact as a double.

    Examples
    --------
    >>> sizes(["n=1024", "m = 8"])
    {'n': 1024, 'm': 8}
    """
    found = {}
    for text in options or ():
        name, equals, value = (part.strip() for part in text.partition("="))
        try:
            if not (name.isidentifier() and equals):
                raise ValueError
            found[name] = int(value)
        except ValueError:
            raise SizeOptionError(shortened(text, quoted=False)) from None
        if found[name] > EXACT:
            raise OptionError(
                f"'-p {shortened(text, quoted=False)}' is above 2**53, so that it is not exact as a double",
                "give a smaller size",
            )
    return found


def dtypes(options: Iterable[str] | None) -> dict[str, str]:
    """Return the types that ``--dtype`` options give.

    Raises
    ------
    OptionError
        If one is not of the form NAME=TYPE.

    Examples
    --------
    >>> dtypes(["a=float32", "b = int8"])
    {'a': 'float32', 'b': 'int8'}
    """
    found = {}
    for text in options or ():
        name, _, value = (part.strip() for part in text.partition("="))
        if not (name.isidentifier() and value):
            raise OptionError(f"--dtype '{text}' is no type of an argument", "give NAME=TYPE, as in --dtype a=float32")
        found[name] = value
    return found


def share(text: str | None) -> float | None:
    """Return the share that ``25%`` or ``0.25`` stands for; None for no text.

    Raises
    ------
    OptionError
        If it is not above 0 and at most 1.

    Examples
    --------
    >>> share("25%"), share("0.5"), share(None)
    (0.25, 0.5, None)
    """
    if text is None:
        return None
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        found = math.nan
    if not 0 < found <= 1:
        raise OptionError(f"--choose '{text}' is no share", "give more than 0 and at most 100%, as in 25%")
    return found


def counted_variants(
    path: Path, variant: str | None, subgroup_size: int = 32, **options: Any
) -> dict[str, KernelCounts]:
    """Return the counts of a kernel file's variants, or of the variant asked for; options are those of `count`.

    Raises
    ------
    UnknownVariantError
        If there is no such variant.
    KernelFileMissingError, KernelFileSyntaxError, KernelFileContentError, ...
        If the file is not what it should be.
    IncompleteKernelError, OutOfBoundsError
        If a kernel cannot be built.
    VariantError
        If one of several variants cannot be counted.
    """
    return count_units(units_of(path, variant), subgroup_size, **options)


def units_of(path: Path, variant: str | None) -> dict[str, TranslationUnit]:
    """Return a kernel file's variants, or only the one asked for; for the errors see :func:`counted_variants`."""
    from perfmodel.kernels import load_file

    units = load_file(path)
    if variant is None:
        return units
    if variant not in units:
        raise UnknownVariantError(variant, tuple(units))
    return {variant: units[variant]}


def count_units(
    units: Mapping[str, TranslationUnit], subgroup_size: int = 32, **options: Any
) -> dict[str, KernelCounts]:
    """Return the counts of variants; for the errors see :func:`counted_variants`."""
    from rich.console import Console

    from perfmodel.counts import count

    with Console(stderr=True).status("counting ..."):  # silent where there is no terminal
        found = {}
        for name, unit in units.items():
            with about(name, units):
                found[name] = count(unit, subgroup_size, check=True, **options)
        return found


@contextmanager
def about(name: str, variants: Collection[str]) -> Iterator[None]:
    """Let an error of a block say which variant it is about, where there are several.

    Raises
    ------
    VariantError
        If there are, and the block raises a PerfModelError.
    """
    try:
        yield
    except PerfModelError as error:
        if len(variants) < 2 or isinstance(error, VariantError):
            raise
        raise VariantError(name, str(error)) from error


def ranked(
    variants: Mapping[str, KernelCounts],
    model: FittedModel,
    at: Mapping[str, int],
    level: float,
    allow_unmeasured: bool,
    anchors: Mapping[str, Anchor] | None = None,
) -> tuple[tuple[RankedVariant, ...], dict[str, UnmeasuredFeatureError]]:
    """Rank the variants that can be predicted, with ties; return the errors of the others too.

    Raises
    ------
    UnmeasuredFeatureError
        If no variant can be predicted.
    """
    from perfmodel.ranking import rank_measured, scatter_of, with_ties

    asked: dict[str, Any] = {"level": level, "allow_unmeasured": allow_unmeasured, "anchors": anchors}
    found: list[RankedVariant] = []
    withheld: dict[str, UnmeasuredFeatureError] = {}
    for name, counts in variants.items():
        with about(name, variants):
            one, without = rank_measured({name: counts}, model, at, **asked)
        found += one
        withheld.update(without)
    if not found:
        raise next(iter(withheld.values()))
    scatter = scatter_of(model, anchored=anchors is not None)
    return with_ties(sorted(found, key=lambda one: one.seconds), scatter, level), withheld
