"""The progress bar of the commands, which obeys ``--quiet``."""

from __future__ import annotations

from perfmodel import progress
from perfmodel.cli.settings import settings


class Bar(progress.Bar):
    """Shows the progress of a task on standard error; nothing with ``--quiet``."""

    def __init__(self) -> None:
        super().__init__(settings().quiet)
