"""``perfmodel compare``: model families side by side on measured test kernels; needs no device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.evaluate import Level, Sources, judge_folder
from perfmodel.cli.kernel_file import Json
from perfmodel.errors import PerfModelError

if TYPE_CHECKING:
    from perfmodel.report import Judged

Names = Annotated[
    list[str] | None, typer.Option("--family", help="A model family; repeat for more. All of them by default.")
]


def command(source: Sources, family: Names = None, level: Level = 0.9, json: Json = False) -> None:
    """Print the figures of several model families on the same measurements, by every protocol."""
    from perfmodel.families import families, find_family
    from perfmodel.report import document, figures_table

    chosen = [find_family(name) for name in family or families()]
    judged: list[Judged] = []
    failure: PerfModelError | None = None
    for folder in source:
        for one in chosen:
            try:
                judged.append(judge_folder(folder, one, level))
            except PerfModelError as error:  # one family that needs more must not end the rest
                failure = error
                print(f"note: {one.name} on {folder}: {error}", file=sys.stderr)
    if not judged and failure:
        raise failure
    if json:
        from json import dumps

        print(dumps(document(judged), indent=1))
    else:
        print(figures_table([one for each in judged for one in each.evaluations]))
