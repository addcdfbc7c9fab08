"""``perfmodel evaluate``: a model held against measured test kernels; needs no device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.fit import FamilyName
from perfmodel.cli.kernel_file import Json
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.families import Family
    from perfmodel.report import Judged

TESTS_FILE = "test.jsonl"

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
    csv: Csv = "",
    json: Json = False,
) -> None:
    """Print predicted and measured times of the test kernels, the weights, and how good the model is."""
    from perfmodel.families import find_family
    from perfmodel.report import document, evaluation_text, predictions_csv, weights_csv

    if csv not in ("", "predictions", "weights"):
        raise OptionError(f"--csv is '{csv}'", "give predictions or weights")
    chosen = find_family(family)
    judged = [judge_folder(folder, chosen, level) for folder in source]
    if json:
        from json import dumps

        print(dumps(document(judged), indent=1))
    elif csv == "predictions":
        print(predictions_csv([one for each in judged for one in each.evaluations]), end="")
    elif csv:
        print(weights_csv([each.model for each in judged]), end="")
    else:
        print(evaluation_text(judged))


def judge_folder(folder: Path, family: Family, level: float) -> Judged:
    """Fit a family to a folder's measurements and judge it by every protocol.

    Raises
    ------
    StoreMissingError
        If there are no measurements, or none of test kernels.
    ForeignDeviceError
        If the test kernels were measured on another device.
    """
    from perfmodel import store
    from perfmodel.compare import evaluate
    from perfmodel.errors import ForeignDeviceError
    from perfmodel.predict import fit
    from perfmodel.report import Judged

    measured, tests = store.read(folder), store.read(folder / TESTS_FILE)
    if tests.device != measured.device:
        raise ForeignDeviceError(folder / TESTS_FILE, f"'{tests.device}'", f"'{measured.device}'")
    return Judged(fit(measured, family=family), evaluate(measured, tests, family, level=level))
