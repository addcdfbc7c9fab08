"""What ``count`` and ``predict`` share: a user's kernel file and sizes on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.errors import SizeOptionError, UnknownVariantError

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts

KernelFile = Annotated[
    Path, typer.Argument(metavar="KERNEL.PY", help="Python file with kernel() or variants().")
]
Variant = Annotated[
    str | None, typer.Option("--variant", help="Only this variant; all of them by default.")
]
Sizes = Annotated[
    list[str] | None,
    typer.Option("--size", "-p", metavar="NAME=INTEGER", help="A size parameter; repeat for more."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def sizes(options: Iterable[str] | None) -> dict[str, int]:
    """Return the sizes that ``-p`` options give.

    Raises
    ------
    SizeOptionError
        If one is not of the form NAME=INTEGER.

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
            raise SizeOptionError(text) from None
    return found


def counted_variants(
    path: Path, variant: str | None, subgroup_size: int = 32
) -> dict[str, KernelCounts]:
    """Return the counts of a kernel file's variants, or of the one asked for.

    Raises
    ------
    UnknownVariantError
        If there is no such variant.
    KernelFileMissingError, KernelFileSyntaxError, KernelFileContentError, ...
        If the file is not what it should be.
    """
    from rich.console import Console

    from perfmodel.counts import count
    from perfmodel.kernels import load_file

    units = load_file(path)
    if variant is not None:
        if variant not in units:
            raise UnknownVariantError(variant, tuple(units))
        units = {variant: units[variant]}
    with Console(stderr=True).status("counting ..."):  # silent where there is no terminal
        return {name: count(unit, subgroup_size) for name, unit in units.items()}
