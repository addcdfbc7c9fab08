"""Options of ``perfmodel count`` that are arguments of :func:`perfmodel.count`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from perfmodel.documents import json_document, read_file
from perfmodel.errors import DocumentError, OptionError

Within = Annotated[
    str, typer.Option("--within", metavar="EXPR", help="Count only these instructions, as 'id:f*' or 'writes:out'.")
]
AccessTags = Annotated[
    list[str] | None,
    typer.Option("--access-tag", metavar="TAG", help="Count only accesses with this tag; repeat for more."),
]
DataTypes = Annotated[
    list[str] | None,
    typer.Option("--dtype", metavar="NAME=TYPE", help="Type of an argument that has none; repeat for more."),
]
Statistics = Annotated[
    list[str] | None,
    typer.Option(
        "--statistic", metavar="KEY=NUMBER",
        help="Mean trip count of a loop that depends on data, or probability of a test by its text; repeat for more.",
    ),
]
DeclaredFile = Annotated[
    Path | None,
    typer.Option("--declared", metavar="FILE.JSON", help="What each C instruction does; docs/own-kernels.md."),
]
Work = Annotated[float, typer.Option("--budget", help="How much work a formula may take; 1 is about a second.")]


def statistics(options: Iterable[str] | None) -> dict[str, float]:
    """Return the statistics that ``--statistic`` options give; a test may hold an equals sign itself.

    Raises
    ------
    OptionError
        If one is not of the form KEY=NUMBER.

    Examples
    --------
    >>> statistics(["j=12.5", "k[i] <= 0=0.25"])
    {'j': 12.5, 'k[i] <= 0': 0.25}
    """
    found = {}
    for text in options or ():
        key, _, value = (part.strip() for part in text.rpartition("="))
        try:
            if not key:
                raise ValueError
            found[key] = float(value)
        except ValueError:
            advice = "give KEY=NUMBER, as in --statistic j=12.5 or --statistic 'a[i] > 0=0.25'"
            raise OptionError(f"--statistic '{text}' is no statistic", advice) from None
    return found


def declared(path: Path | None) -> dict[str, dict[str, Any]]:
    """Return what a file declares about C instructions; operations are named as ``"float32 mul"`` there.

    Raises
    ------
    OptionError
        If the file cannot be read, or is of another form.
    """
    if path is None:
        return {}
    try:
        document = json_document(read_file(path))
        if not isinstance(document, dict):
            raise DocumentError("holds no object of instructions")
        return {name: _declaration(given) for name, given in document.items()}
    except DocumentError as error:
        advice = """write {"<instruction>": {"operations": {"float32 mul": 1}, "loads": {"a[i]": 1}, "stores": {}}}"""
        raise OptionError(f"--declared '{path}' cannot be used: it {error.problem}", advice) from error


def _declaration(given: Any) -> Any:
    """Return a declaration with its operations by type and kind; what else is wrong with it, `count` says."""
    if not isinstance(given, dict) or not isinstance(given.get("operations", {}), dict):
        return given
    named = given.get("operations", {})
    operations = {tuple(name.split()): amount for name, amount in named.items()}
    return {**given, "operations": operations if len(operations) == len(named) else named}
