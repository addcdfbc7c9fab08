"""Options of ``perfmodel count`` that are arguments of :func:`perfmodel.count`."""

from __future__ import annotations

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
DeclaredFile = Annotated[
    Path | None,
    typer.Option("--declared", metavar="FILE.JSON", help="What each C instruction does; docs/own-kernels.md."),
]
Work = Annotated[float, typer.Option("--budget", help="How much work a formula may take; 1 is about a second.")]


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
