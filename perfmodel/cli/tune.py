"""``perfmodel tune``: run the promising variants of a kernel until the fastest is known."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from perfmodel.cli.options import Jobs, KernelOptions, ModelOptions, Sizes, Tolerance, sizes
from perfmodel.cli.output import model_document, print_document, print_text
from perfmodel.cli.settings import settings, table_width
from perfmodel.cli.streams import begin_result, supervised_store
from perfmodel.errors import TuningError

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel
    from perfmodel.tuning.tuned import Tuned

SCHEMA = "perfmodel.tuning/1"

Budget = Annotated[
    float | None, typer.Option("--budget", min=0, help="Begin no run later than so many seconds, counting included.")
]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep", metavar="FOLDER",
        help="Add all runs to the store in this folder; the same command goes on from there. `fit` reads it too.",
    ),
]  # fmt: skip
Code = Annotated[
    Path | None, typer.Option("--code", metavar="FILE.cl", help="Write the OpenCL code of the fastest variant.")
]


def command(
    context: typer.Context,
    asked: KernelOptions,
    by: ModelOptions,
    size: Sizes = None,
    budget: Budget = None,
    tolerance: Tolerance = None,
    keep: Keep = None,
    code: Code = None,
    json: bool = False,
    jobs: Jobs = None,
) -> None:
    """Find the fastest variant of a kernel: predict all of them, and run only the promising ones.

    Counting takes about 0.2 s for each variant, and each run variant a second or two. Stopped with --keep, the same
    command goes on.
    """
    at, known = sizes(size), asked.statistics
    store = supervised_store(context, keep)
    from perfmodel.cli.settings import CommandBar
    from perfmodel.measuring import pin_threads
    from perfmodel.tuning.tuning import tune

    pin_threads()
    model, loaded = by.load(), asked.load()
    bar = CommandBar()
    steps = _Steps(sys.stderr if json else sys.stdout)
    found = tune(
        loaded.space or loaded.builders, at, model=model, budget_s=budget, keep=store, kernel=asked.kernel.stem,
        arguments=loaded.arguments, reference=loaded.reference, tolerance=tolerance, statistics=known,
        jobs=1 if jobs is None else jobs, progress=bar, watch=steps.show,
    )  # fmt: skip
    begin_result()
    if code is not None and found.best is not None:
        _write_code(code, loaded.builders[found.best.name])
    if json:
        print_document(_document(asked.kernel, model, found))
    else:
        print_text("\n".join(_lines(found)))
    if found.best is None and any(one.seconds for one in found.tried):
        advice = "see how they differ, and add reference() to the kernel file, which gives the right outputs"
        raise TuningError("no variant is called the best, since their outputs are in doubt", advice)
    if found.best is None:
        raise TuningError("no variant ran well", "see the status of each, and try `perfmodel time` with one of them")


class _Steps:
    """Prints a line for each variant that ran."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.begun = file, False

    def show(self, found: Tuned) -> None:
        """Print what is known after a run."""
        from perfmodel.display import percent, seconds_text

        if settings().quiet:
            return
        last = found.tried[-1]
        if not self.begun:
            print_text(" run      took  expected      best   known  variant", file=self.file)
            self.begun = True
        took = seconds_text(last.seconds) if last.seconds else last.status
        expected = "-" if last.expected is None else seconds_text(last.expected)
        best = "-" if found.best is None else seconds_text(found.best.seconds or 0.0)
        ran = sum(one.expected is not None for one in found.tried)
        line = f"{ran:4d}  {took:>8}  {expected:>8}  {best:>8}  {percent(found.known):>6}  {last.name}"
        print_text(line, file=self.file)


def _lines(found: Tuned) -> list[str]:
    from perfmodel.display import fitted_text

    lines = ["", fitted_text(found.table, 1, ("predicted", "tie"), table_width()), ""]
    lines += [f"{one.name}: {one.status}: {one.message}" for one in found.tried if one.message]
    return [*lines, *found.summary]


def _document(kernel: Path, model: FittedModel, found: Tuned) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        **model_document(kernel, model, found.sizes),
        "best": found.best and found.best.name,
        "seconds": found.best and found.best.seconds,
        "tied": [one.name for one in found.tied],
        "known": found.known,
        "within": found.within,
        "ended": found.ended,
        "outputs": found.outputs.to_json(),
        "counting_s": found.counting_s,
        "spent_s": found.spent_s,
        "saved_s": found.saved_s,
        "variants": found.records(),
    }


def _write_code(path: Path, build: Any) -> None:
    from perfmodel.io import write_whole
    from perfmodel.measuring.subject import GeneratedCode

    write_whole(path, GeneratedCode(build()).text.encode())
