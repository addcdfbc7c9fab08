"""Commands that measure run in a child process, which a broken driver may end."""

from __future__ import annotations

import sys
from functools import partial

import typer


def supervise_command(context: typer.Context) -> None:
    """Run this command in a supervised child process, and end with its status; return in the child.

    The context holds the arguments of the command line where the command line is a process of its
    own. A test or a program that calls the application in its own process has no such arguments,
    and no child is started.
    """
    if context.obj is None:
        return
    from perfmodel.measuring.supervised import supervise

    status = supervise([sys.executable, "-m", "perfmodel", *context.obj], partial(typer.echo, err=True))
    if status is not None:
        raise typer.Exit(status)
