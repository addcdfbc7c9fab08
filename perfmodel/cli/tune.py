"""``perfmodel tune``: run the promising variants of a kernel until the fastest is known."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from perfmodel import display, kernels, measuring, predicting, report, tuning
from perfmodel.cli import numbers, options, output
from perfmodel.errors import OptionError, TuningError
from perfmodel.io import write_whole

SCHEMA, TRANSFORMED_SCHEMA = "perfmodel.tuning/1", "perfmodel.transformation/1"

Budget = Annotated[float | None, Option(
    "--budget", min=0, help="Start no run after this many seconds, counting included.",
)]  # fmt: skip
OfRoof = Annotated[float | None, Option(
    "--of-roof", metavar="SHARE", help="Stop when a variant reaches this share of the device's roof, as 0.8.",
)]  # fmt: skip
Code = Annotated[Path | None, Option("--code", metavar="FILE.cl", help="Write the OpenCL code of the fastest variant.")]
Transform = Annotated[bool, Option(
    "--transform", help="Transform a plain kernel: search among recipes that perfmodel writes.",
)]  # fmt: skip
Runs = Annotated[int | None, Option(
    "--runs", metavar="K", min=0, help="With --transform: recipes that run, by default 5. 0: the model alone chooses.",
)]  # fmt: skip
Save = Annotated[Path | None, Option(
    "--save", metavar="FILE.py", help="With --transform: write a kernel file that runs without perfmodel.",
)]  # fmt: skip
Why = Annotated[bool, Option("--why", help="With --transform: compare the terms before and after.")]


@dataclass(frozen=True)
class TransformOptions:
    """Whether and how a plain kernel is transformed."""

    transform: Transform = False
    runs: Runs = None
    save: Save = None
    why: Why = False
    facts: options.DeviceFile = None

    def check(self) -> None:
        """Raise OptionError if an option lacks ``--transform``."""
        needed = {"--runs": self.runs is not None, "--save": self.save, "--why": self.why, "--facts": self.facts}
        name = next((name for name, given in needed.items() if given), None)
        if name is not None and not self.transform:
            raise OptionError(f"{name} was given without --transform", "add --transform, or leave it out")

    @property
    def model_alone(self) -> bool:
        """Whether nothing runs."""
        return self.runs == 0 or (self.runs is None and self.facts is not None)


def tune_command(
    context: typer.Context, asked: options.KernelOptions, by: options.ModelOptions, recipes: TransformOptions,
    size: options.Sizes = None, budget: Budget = None, of_roof: OfRoof = None, tolerance: options.Tolerance = None,
    keep: options.Keep = None, code: Code = None, jobs: options.Jobs = None,
) -> None:  # fmt: skip
    """Find the fastest variant of a kernel: predict all of them, and run only the promising ones.

    Counting takes about 0.2 s for each variant, a run a second or two. With --keep, an interrupted command continues.
    With --transform, perfmodel writes the variants of a plain kernel.
    """
    at = numbers.sizes(size)
    recipes.check()
    store = None if recipes.model_alone else options.supervised_store(context, keep)

    measuring.pin_threads()
    model, loaded = by.load(with_json=True, facts=recipes.facts), asked.load([] if recipes.transform else [at])
    given: dict[str, Any] = {
        "model": model, "of_roof": of_roof, "budget_s": budget, "keep": store, "kernel": asked.kernel.stem,
        "arguments": loaded.arguments, "reference": loaded.reference, "tolerance": tolerance,
        "compare": tolerance != math.inf, "statistics": asked.statistics,
        "progress": output.CommandBar(failures=False), "watch": _step_printer(),
    }  # fmt: skip
    if recipes.transform:
        _transform(asked, recipes, loaded, at, code, {"jobs": -1 if jobs is None else jobs, **given})
        return
    output.wait_until_quiet()
    tuned = tuning.tuning.tune(loaded.space or loaded.builders, at, jobs=1 if jobs is None else jobs, **given)
    if code is not None and tuned.best is not None:
        write_whole(code, measuring.subject.GeneratedCode(loaded.builders[tuned.best.name]()).text.encode())
    output.show(lambda: _document(asked.kernel, model, tuned), lambda: _text(tuned))
    if tuned.best is None and any(trial.seconds for trial in tuned.tried):
        advice = f"see how they differ, and {tuning.agreement.ADVICE}"
        raise TuningError("no variant is the best, since their outputs disagree", advice)
    if tuned.best is None:
        raise TuningError("no variant ran without an error", "see the status of each, or try one with `perfmodel time`")


def _transform(
    asked: options.KernelOptions, recipes: TransformOptions, loaded: kernels.files.KernelFile, at: Mapping[str, int],
    code: Path | None, given: Mapping[str, Any],
) -> None:  # fmt: skip
    from perfmodel.recipes import Recipe, transformed

    if loaded.space is not None or len(loaded.builders) != 1:
        problem = f"--transform was given for a file with {len(loaded.builders)} variants"
        raise OptionError(problem, "choose one with --variant, or leave --transform out")
    if not recipes.model_alone:
        output.wait_until_quiet()
    ((name, build),) = loaded.builders.items()
    runs = 0 if recipes.model_alone else 5 if recipes.runs is None else recipes.runs
    arguments = given["arguments"]  # recipes have other names than the variant
    by_variant = arguments is not None and "variant" in signature(arguments).parameters
    own = (lambda **sizes: arguments(variant=name, **sizes)) if by_variant else arguments
    plain, variant = asked.kernel.read_text(encoding="utf-8"), None if name == "kernel" else name
    if recipes.save is not None:
        Recipe().code(plain, variant)  # raises an error before the search and not after it
    found = transformed(build(), at, runs=runs, **{**given, "arguments": own})
    saved = recipes.save if found.recipe.steps else None
    if saved is not None:
        write_whole(saved, found.recipe.code(plain, variant, found.otherwise).encode())
    if code is not None:
        write_whole(code, measuring.subject.GeneratedCode(found.kernel(**at)).text.encode())

    def document() -> dict[str, Any]:
        return {
            "schema": TRANSFORMED_SCHEMA, **output.model_document(asked.kernel, given["model"]), "sizes": dict(at),
            "recipe": found.recipe.to_json(), "name": str(found.recipe), "code": list(found.recipe.lines()),
            "otherwise": found.otherwise.to_json(), "saved": saved and str(saved),
            "seconds": found.seconds, "predicted": found.predicted and found.predicted.seconds,
            "untransformed_predicted": found.plain and found.plain.seconds, "speedup": found.speedup,
            "fastest": found.fastest, "refused": dict(found.refused), "notes": list(found.notes),
            "counting_s": found.counting_s, "spent_s": found.spent_s,
            "tried": found.tuned.records()[: len(found.tuned.tried)] if found.tuned else [],
            "outputs": found.tuned and found.tuned.outputs.to_json(),
            "recipes": [{"name": one.name, "predicted": one.seconds} for one in found.candidates],
        }  # fmt: skip

    def text() -> str:
        table = [display.columns_text(found.table, 1, output.table_width()), ""] if len(found.table) > 1 else []
        lines = [*table, *found.summary]
        if recipes.save is not None:
            sizes = ", ".join(f"{name}={at[name]}" for name in found.recipe.sizes)
            where = f"; called with {sizes} it has the best recipe, without sizes the one for all" if sizes else ""
            lines.append(f"saved in '{saved}'{where}" if saved else "nothing was saved: the kernel stays as it is")
        if recipes.why and found.recipe.steps:
            lines += ["", display.columns_text(found.why, 1, output.table_width())]
        return "\n".join([*lines, *([""] if found.recipe.steps else []), *found.recipe.lines()])

    output.show(document, text)


def _step_printer() -> Callable[[tuning.tuned.Tuned], None]:
    file = sys.stderr if output.settings().json else sys.stdout
    heading = [" run      took  expected      best   known  variant"]

    def show(tuned: tuning.tuned.Tuned) -> None:
        if output.settings().quiet:
            return
        while heading:
            output.print_text(heading.pop(), file=file)
        last, best = tuned.tried[-1], tuned.best
        took = display.seconds_text(last.seconds) if last.seconds else "failed"
        expected = "-" if last.expected is None else display.seconds_text(last.expected)
        fastest = "-" if best is None else display.seconds_text(best.seconds or 0.0)
        ran = sum(trial.expected is not None for trial in tuned.tried)
        line = f"{ran:4d}  {took:>8}  {expected:>8}  {fastest:>8}  {display.percent(tuned.known):>6}  {last.name}"
        output.print_text(line, file=file)

    return show


def _text(tuned: tuning.tuned.Tuned) -> str:
    above = [] if output.settings().quiet else [""]
    lines = [*above, display.columns_text(tuned.table, 1, output.table_width()), ""]
    failures = {
        trial.name: f"{trial.status}: {trial.message}"
        for trial in tuned.tried if trial.message and trial.name not in tuned.outputs.wrong  # the summary has those
    }  # fmt: skip
    lines += report.sweeps.left_out_lines(failures)
    return "\n".join([*lines, *tuned.summary])


def _document(kernel: Path, model: predicting.FittedModel, tuned: tuning.tuned.Tuned) -> dict[str, Any]:
    variants = [
        {**record, **(variant.reached.document if variant.reached else {})}
        for record, variant in zip(tuned.records(), (*tuned.tried, *tuned.skipped), strict=True)
    ]
    return {
        "schema": SCHEMA, **output.model_document(kernel, model), "sizes": dict(tuned.sizes),
        "best": tuned.best and tuned.best.name, "seconds": tuned.best and tuned.best.seconds,
        "tied": [trial.name for trial in tuned.tied], "known": tuned.known, "within": tuned.within,
        "ended": tuned.ended, "outputs": tuned.outputs.to_json(), "counting_s": tuned.counting_s,
        "spent_s": tuned.spent_s, "saved_s": tuned.saved_s, "variants": variants,
    }  # fmt: skip
