"""``perfmodel compare``, ``evaluate`` and ``outliers``: models held against measured test kernels; no device."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import OwnFamily, WeightsFile, weights_in_use
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.compare import Contender
    from perfmodel.predicting.model import FittedModel
    from perfmodel.store import Measurements

STORES = Path("fitted_weights")

Families = Annotated[
    list[str] | None, typer.Option("--family", help="A model family; repeat for more. All of them by default.")
]
Folders = Annotated[
    list[Path] | None,
    typer.Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl and test.jsonl; repeat for more devices. By default those of "
        "fitted_weights/, but for simulated ones.",
    ),
]  # fmt: skip
FiguresCsv = Annotated[bool, typer.Option("--csv", help="Print the figures as CSV.")]


def compare_command(
    source: Folders = None,
    family: Families = None,
    csv: FiguresCsv = False,
    json: bool = False,
) -> None:
    """Fit every model family to the same measurements and print one table of how good each is.

    It takes one to two minutes for each device.
    """
    from perfmodel.compare.contenders import families_csv, families_document, families_table
    from perfmodel.fitting.device_folder import measured_folders

    found = [_judged(folder, tuple(family or ())) for folder in source or measured_folders(STORES)]
    every = [one for each in found for one in each]
    if json:
        print_document(families_document(every))
    elif csv:
        print(families_csv(every), end="")
    else:
        print_text("\n\n".join(families_table(one, table_width()) for one in found))


def _judged(folder: Path, names: tuple[str, ...]) -> tuple[Contender, ...]:
    from perfmodel.cli.settings import CommandBar
    from perfmodel.compare.contenders import contenders

    bar = CommandBar()
    try:
        return contenders(folder, names, begin=bar.start, advance=bar.advance)
    finally:
        bar.stop()


Stores = Annotated[
    list[Path] | None,
    typer.Option(
        "--from", metavar="FOLDER",
        help="Folder with measurements.jsonl and test.jsonl; repeat for more devices. By default that of the device's "
        "weights.",
    ),
]  # fmt: skip
EvaluatedFamily = Annotated[
    str | None,
    typer.Option(
        "--family",
        help="Its name, 'expr:' and seconds from features and weights w_*, or a .py file; by default "
        "stevens_kloeckner_2016, without --from the family that is recommended for the device.",
    ),
]
TableCsv = Annotated[str, typer.Option("--csv", metavar="TABLE", help="Print a table as CSV: predictions or weights.")]
Tests = Annotated[
    str, typer.Option("--tests", metavar="FILE", help="File of the folder with the kernels that are predicted.")
]
Protocols = Annotated[
    list[str] | None,
    typer.Option(
        "--protocol", metavar="NAME", help="A, B, sizes or C (one cheap run of each variant); repeat for more."
    ),
]


def evaluate_command(
    source: Stores = None,
    tests: Tests = "test.jsonl",
    family: EvaluatedFamily = None,
    protocol: Protocols = None,
    csv: TableCsv = "",
    json: bool = False,
) -> None:
    """Print predicted and measured times of the test kernels, the weights, and how good the model is.

    The linear model takes seconds, and bottleneck half a minute for each folder.
    """
    from perfmodel.calibration.calibrate import CORE, judge_family
    from perfmodel.fitting.device_folder import refuse_mixture
    from perfmodel.models import find_family
    from perfmodel.report import document, evaluation_text, predictions_csv, weights_csv

    if csv not in ("", "predictions", "weights"):
        raise OptionError(f"--csv is '{csv}'", "give predictions or weights")
    if not source:
        found = weights_in_use(told=not json)
        source, family = [found.folder], family or found.path.stem
    refuse_mixture(source)
    chosen, asked = find_family(family or CORE), protocols(protocol)
    judged = [judge_family(folder, chosen, protocols=asked, tests=tests) for folder in source]
    if json:
        print_document(document(judged))
    elif csv == "predictions":
        print(predictions_csv([one for each in judged for one in each.evaluations]), end="")
    elif csv:
        print(weights_csv([each.model for each in judged]), end="")
    else:
        print_text(evaluation_text(judged, table_width()))


def protocols(names: Iterable[str] | None) -> tuple[str, ...]:
    """Return the protocols that ``--protocol`` options name; with C, A and B over its cases follow it.

    Raises
    ------
    OptionError
        If there is no such protocol.
    """
    from perfmodel.compare.protocols import PROTOCOLS, UNASKED

    asked: dict[str, None] = {}
    for name in names or UNASKED:
        if name not in PROTOCOLS:
            raise OptionError(f"--protocol is '{name}'", f"give one of {', '.join(PROTOCOLS)}")
        asked |= dict.fromkeys((name, "A/C", "B/C") if name == "C" else (name,))
    return tuple(asked)


Judged = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="FOLDER|FILE.jsonl",
        help="Store whose configurations are looked at; by default test.jsonl beside the weights.",
    ),
]  # fmt: skip
Factor = Annotated[
    float | None,
    typer.Option(
        "--factor",
        help="An outlier is predicted too long or too short by more than this factor; by default it is outside of "
        "Tukey's fences.",
    ),
]


def outliers_command(
    source: Judged = None,
    weights: WeightsFile = None,
    family: OwnFamily = None,
    factor: Factor = None,
    json: bool = False,
) -> None:
    """List configurations whose measured time is far from the predicted one, with the terms that disagree.

    A term disagrees if another cost of it alone gives the measured time, and that cost would leave most of the cases
    well predicted that are so now. Without --weights they are those beside the store, or those of the device in use.
    """
    from perfmodel.analyses.outliers import explained_outliers
    from perfmodel.report.outliers import outliers_document, outliers_text

    if factor is not None and not 1 < factor < math.inf:
        raise OptionError(f"--factor is {factor:g}", "give a number above 1, as in --factor 2")
    model, measured = _read(source, weights, family, told=not json)
    found = explained_outliers(model, measured, factor)
    if json:
        print_document(outliers_document(found, model))
    else:
        print_text(outliers_text(found, model, table_width()))


def _read(
    source: Path | None, weights: Path | None, family: str | None, told: bool
) -> tuple[FittedModel, Measurements]:
    """Return a model, and the measurements of a store, or those of the test kernels beside the model's weights.

    Raises
    ------
    StoreMissingError
        If there is no store.
    OptionError
        If the store holds no times, or those of another device than the weights.
    """
    from perfmodel import store
    from perfmodel.predicting.model import load

    measured = None if source is None else store.read(source)
    if weights is None and source is not None:
        weights = _beside(source if source.is_dir() else source.parent, family)
    if weights is None:
        weights = weights_in_use(None, family, told).path
    model = load(weights, family)
    if measured is None or source is None:
        source = weights.parent / store.TESTS_FILE
        measured = store.read(source)
    if not len(measured):
        raise OptionError(f"'{source}' holds no time of a kernel that ran", "give another store with --from")
    if measured.device != model.device:
        problem = f"'{source}' holds times of '{measured.device}', and the weights are of '{model.device}'"
        raise OptionError(problem, "give weights of that device with --weights, or another store with --from")
    return model, measured


def _beside(folder: Path, family: str | None) -> Path | None:
    """Return the weights of a family, by default of the recommended one, in a store's folder; None of none."""
    from perfmodel.calibration.recommended import recommended_weights
    from perfmodel.io import file_part
    from perfmodel.models import find_family

    if family is None:
        return recommended_weights(folder)
    path = folder / f"{file_part(find_family(family).name)}.json"
    return path if path.is_file() else None
