"""``perfmodel evaluate``: a model held against measured test kernels; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.fit import FamilyName, FitFacts
from perfmodel.cli.options import Json
from perfmodel.errors import OptionError
from perfmodel.fitting.device_folder import measured_folder

if TYPE_CHECKING:
    from perfmodel.models import Family
    from perfmodel.report import Judged

Sources = Annotated[
    list[Path],
    typer.Option(
        "--from", metavar="FOLDER", help="Folder with measurements.jsonl and test.jsonl; repeat for more devices."
    ),
]
Level = Annotated[float, typer.Option("--level", help="Probability that intervals should have.")]
Csv = Annotated[str, typer.Option("--csv", metavar="TABLE", help="Print one table as CSV: predictions or weights.")]


def command(
    source: Sources,
    family: FamilyName = "stevens_kloeckner_2016",
    level: Level = 0.9,
    fit_facts: FitFacts = False,
    csv: Csv = "",
    json: Json = False,
) -> None:
    """Print predicted and measured times of the test kernels, the weights, and how good the model is."""
    from perfmodel.models import find_family
    from perfmodel.report import document, evaluation_text, predictions_csv, weights_csv

    if csv not in ("", "predictions", "weights"):
        raise OptionError(f"--csv is '{csv}'", "give predictions or weights")
    chosen = find_family(family)
    judged = [judge_folder(folder, chosen, level, fit_facts) for folder in source]
    if json:
        from json import dumps

        print(dumps(document(judged), indent=1))
    elif csv == "predictions":
        print(predictions_csv([one for each in judged for one in each.evaluations]), end="")
    elif csv:
        print(weights_csv([each.model for each in judged]), end="")
    else:
        print(evaluation_text(judged))


def judge_folder(folder: Path, family: Family, level: float, fit_facts: bool = False) -> Judged:
    """Fit a family to a folder's measurements and judge it by every protocol.

    Raises
    ------
    StoreMissingError, ForeignDeviceError
        As :func:`measured_folder` does.
    MissingFactError
        If the family needs a fact of the device that nobody gave; with `fit_facts` those that give
        a weight are fitted instead, and nothing is read off the measurements.
    """
    from perfmodel.compare import evaluate
    from perfmodel.fitting import FitOptions
    from perfmodel.predict import fit
    from perfmodel.report import Judged

    measured, tests = measured_folder(folder, measured_facts=not fit_facts)
    options = FitOptions(fit_facts=fit_facts)
    model = fit(measured, family, options=options, others=tests)
    scores = model.fitted.conformal
    return Judged(model, evaluate(measured, tests, family, level=level, options=options, scores=scores))
