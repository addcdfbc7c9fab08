"""``perfmodel fit``: weights from measurements that are already there; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import Json
from perfmodel.fitting.device_folder import TESTS_FILE, tests_of

if TYPE_CHECKING:
    from perfmodel.predict import FittedModel

Source = Annotated[
    Path,
    typer.Option("--from", metavar="FOLDER", help="Folder or .jsonl file with measurements."),
]
FamilyName = Annotated[
    str,
    typer.Option("--family", help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file."),
]
FitFacts = Annotated[
    bool,
    typer.Option(
        "--fit-facts",
        help="Fit the weights that facts should give and nobody told, also those that could be read off measurements.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="File to write; <family>.json beside the measurements."),
]
Nonnegative = Annotated[bool, typer.Option("--nonnegative", help="Rule out weights below zero.")]
Refuse = Annotated[
    bool, typer.Option("--no-merge", help="Refuse features that are not told apart; they share their cost otherwise.")
]


def command(
    source: Source,
    family: FamilyName = "stevens_kloeckner_2016",
    output: Output = None,
    nonnegative: Nonnegative = False,
    fit_facts: FitFacts = False,
    no_merge: Refuse = False,
    json: Json = False,
) -> None:
    """Fit a model family to measurements and save the weights."""
    from perfmodel import store
    from perfmodel.fitting import FitOptions
    from perfmodel.fitting.facts.measured_facts import with_measured_facts
    from perfmodel.models import find_family
    from perfmodel.predict import fit

    chosen = find_family(family)
    measured = store.read(source)
    if not fit_facts:
        measured = with_measured_facts(measured)
    folder = source if source.is_dir() else source.parent
    tests = tests_of(folder, measured) if (folder / TESTS_FILE).is_file() else None
    options = FitOptions(nonnegative=nonnegative, merge=not no_merge, fit_facts=fit_facts)
    model = fit(measured, chosen, options=options, others=tests)
    path = output or folder / f"{chosen.name}.json"
    model.save(path)
    if json:
        print(model.fitted.model_dump_json(by_alias=True, indent=2))
    else:
        _print_model(model, path)


def _print_model(model: FittedModel, path: Path) -> None:
    from perfmodel.report import weights_table

    fitted = model.fitted
    print(f"{model.family.name} on {model.device}, {fitted.rows} measurements")
    print(weights_table(model.weights, model.units))
    print(
        f"relative error of the fit: geometric mean {100 * fitted.residuals.geometric_mean:.1f} %, "
        f"median {100 * fitted.residuals.median:.1f} %, largest {100 * fitted.residuals.largest:.0f} %"
    )
    for note in fitted.notes:
        print(f"note: {note}")
    print(f"wrote {path}")
