"""Commands that measure run in a child process, which a broken driver may end."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

#: Environment variable: the folder that holds the records of a command without ``--keep`` until it ends.
SCRATCH = "PERFMODEL_SCRATCH"


def supervise_command(context: typer.Context) -> None:
    """Run this command in a supervised child process, and end with its status; return in the child.

    The context holds the command that runs this program again. It holds none where a test or a
    program calls the application in its own process; no child is started then.
    """
    from perfmodel.measuring.supervised import follow_supervisor, supervise

    if context.obj and not follow_supervisor():
        raise typer.Exit(supervise(context.obj, partial(typer.echo, err=True)))


def begin_result() -> None:
    """Tell a supervisor, if there is one, that the result is printed from now on: no other process does it again."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.begin_result()


def tell_status(status: object) -> None:
    """Tell a supervisor, if there is one, the status of this process, once its standard output is written."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.end_result(status if isinstance(status, int) else int(status is not None))


def supervised_store(context: typer.Context, keep: Path | None) -> Path | None:
    """Run this command in a child process, which a kernel may end; return the store of its records in the child.

    Without ``--keep`` they lie in a folder that is removed in the end: a child that takes over reads them.
    """
    if keep is not None or not context.obj or SCRATCH in os.environ:
        supervise_command(context)
        return keep or (Path(os.environ[SCRATCH]) if context.obj else None)
    with TemporaryDirectory(prefix="perfmodel-") as folder:
        os.environ[SCRATCH] = folder
        supervise_command(context)  # ends this process's command
    return None
