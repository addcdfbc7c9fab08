"""``perfmodel fit``: weights from measurements that are already there; needs no device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import DeviceFile, FamilyName, GivenFacts, Json, MeasuredFacts, Source, given_facts_of
from perfmodel.cli.output import print_document, print_text, text_stream
from perfmodel.cli.settings import table_width
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.facts import Fact
    from perfmodel.predicting.model import FittedModel

All = Annotated[bool, typer.Option("--all", help="Fit every family, write all weights files and the verdict.")]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "--output", "-o", metavar="FILE|FOLDER",
        help="Weights file to write (- prints it), with --all the folder for all of them; beside the measurements "
        "by default.",
    ),
]  # fmt: skip
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Rule out weights below zero.")]
NoMerge = Annotated[
    bool,
    typer.Option("--no-merge", help="Refuse features that cannot be told apart; they share their cost otherwise."),
]
Driver = Annotated[
    str | None, typer.Option("--driver", metavar="NAME", help="Fit only what was measured with this driver version.")
]


def command(
    source: Source,
    family: FamilyName = "stevens_kloeckner_2016",
    every: All = False,
    out: Out = None,
    nonnegative: Nonnegative = False,
    given_facts: GivenFacts = False,
    measured_facts: MeasuredFacts = False,
    facts: DeviceFile = None,
    no_merge: NoMerge = False,
    driver: Driver = None,
    json: Json = False,
) -> None:
    """Fit a model family, or all of them, to measurements and save the weights.

    The linear model takes seconds, bottleneck half a minute, and --all about two minutes.
    """
    from perfmodel.calibration.calibrate import CORE, fit_family
    from perfmodel.fitting import FitOptions
    from perfmodel.io import file_part, is_standard_output
    from perfmodel.models import find_family

    if every:
        if family != CORE or nonnegative or given_facts or measured_facts or no_merge or driver is not None:
            advice = "give --all with --from, --out and --facts only"
            raise OptionError("--all was given with an option of a single fit", advice)
        _fit_all(source, out, given_facts_of(facts), json)
        return
    chosen = find_family(family)
    path = out or (source if source.is_dir() else source.parent) / f"{file_part(chosen.name)}.json"
    if out is None:
        _check_new([path], "--out FILE")
    options = FitOptions(nonnegative=nonnegative, merge=not no_merge, fit_facts=not given_facts)
    model = fit_family(source, chosen, options, measured_facts, given_facts_of(facts), driver)
    model.save(path)
    if json and not is_standard_output(path):
        print_document(model.fitted.model_dump(mode="json", by_alias=True))
    elif not json:
        with redirect_stdout(text_stream(path)):
            _print_model(model, path)


def _fit_all(folder: Path, out: Path | None, given: Mapping[str, Fact], json: bool) -> None:
    from perfmodel.calibration.calibrate import files_of_all, fit_device
    from perfmodel.cli.calibrate import fitted_document
    from perfmodel.cli.settings import Bar

    if not folder.is_dir():
        raise OptionError(f"--all was given with '{folder}', which is no folder", "give a device's folder with --from")
    if out is None:
        _check_new(files_of_all(folder), "--out FOLDER")
    found = fit_device(folder, out, Bar(), given=given)
    if json:
        print_document(fitted_document(found))
    else:
        print(f"{found.text}\nwrote {found.folder}")


def _check_new(paths: Iterable[Path], option: str) -> None:
    """Refuse to replace a file that no option names."""
    for path in paths:
        if path.exists():
            raise OptionError(f"'{path}' exists already", f"give {option}, which may replace it")


def _print_model(model: FittedModel, path: Path) -> None:
    from perfmodel.report import weights_table

    fitted = model.fitted
    print_text(f"{model.family.name} on {model.device}, {fitted.rows} measurements")
    print_text(weights_table(model.weights, model.units, width=table_width()))
    print_text(
        f"relative error of the fit: geometric mean {100 * fitted.residuals.geometric_mean:.1f} %, "
        f"median {100 * fitted.residuals.median:.1f} %, largest {100 * fitted.residuals.largest:.0f} %"
    )
    for note in fitted.notes:
        print_text(f"note: {note}")
    print_text(f"wrote {path}")
