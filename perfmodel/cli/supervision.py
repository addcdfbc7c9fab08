"""Commands that measure run in a child process, which a broken driver may end."""

from __future__ import annotations

from functools import partial

import typer


def supervise_command(context: typer.Context) -> None:
    """Run this command in a supervised child process, and end with its status; return in the child.

    The context holds the command that runs this program again. It holds none where a test or a
    program calls the application in its own process; no child is started then.
    """
    from perfmodel.measuring.supervised import follow_supervisor, supervise

    if context.obj and not follow_supervisor():
        raise typer.Exit(supervise(context.obj, partial(typer.echo, err=True)))
