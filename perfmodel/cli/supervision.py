"""Run commands in a supervised child process. A kernel may crash the process that runs it."""

import os
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from perfmodel import measuring

#: Environment variable: the folder with the records of a command without ``--keep``.
SCRATCH = "PERFMODEL_SCRATCH"


def supervise_command(context: typer.Context) -> None:
    """Run this command in a supervised child process and end with its status. In the child itself, only return."""
    if context.obj and not measuring.supervised.follow_supervisor():
        raise typer.Exit(measuring.supervised.supervise(context.obj, partial(typer.echo, err=True)))


def supervised_store(context: typer.Context, keep: Path | None) -> Path | None:
    """Return the store for a child's records. Without ``--keep`` it is a temporary folder, also for the next child."""
    if keep is not None or not context.obj or SCRATCH in os.environ:
        supervise_command(context)
        return keep or (Path(os.environ[SCRATCH]) if context.obj else None)
    with TemporaryDirectory(prefix="perfmodel-") as folder:
        os.environ[SCRATCH] = folder
        supervise_command(context)  # ends this process's command
    return None


def begin_result() -> None:
    """Report to the supervisor, if any, that this process prints the result, so that it is printed once."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.begin_result()


def report_status(status: object) -> None:
    """Report the status of this process to the supervisor, if there is one."""
    if supervised := sys.modules.get("perfmodel.measuring.supervised"):
        supervised.end_result(status if isinstance(status, int) else int(status is not None))
