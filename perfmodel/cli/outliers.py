"""``perfmodel outliers``: measured configurations that a model mispredicts, and the terms that disagree; no device."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perfmodel.cli.options import (
    Csv,
    DeviceFile,
    DeviceName,
    Json,
    OwnFamily,
    WeightsFile,
    given_facts_of,
    weights_in_use,
)
from perfmodel.cli.output import print_document, print_text
from perfmodel.cli.settings import table_width
from perfmodel.errors import OptionError

if TYPE_CHECKING:
    from perfmodel.predicting.model import FittedModel
    from perfmodel.store import Measurements

Store = Annotated[
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


def command(
    source: Store = None,
    weights: WeightsFile = None,
    family: OwnFamily = None,
    device: DeviceName = None,
    factor: Factor = None,
    facts: DeviceFile = None,
    csv: Csv = False,
    json: Json = False,
) -> None:
    """List configurations whose measured time is far from the predicted one, with the terms that disagree.

    A term disagrees if another cost of it alone gives the measured time, and that cost would leave most of the cases
    well predicted that are so now. Without --weights they are those beside the store, or those of the device in use.
    """
    from perfmodel.analyses.disagreements import explained_outliers
    from perfmodel.report.outliers import outliers_csv, outliers_document, outliers_text

    if csv and json:
        raise OptionError("--json and --csv both write to standard output", "give one of them")
    if factor is not None and not 1 < factor < math.inf:
        raise OptionError(f"--factor is {factor:g}", "give a number above 1, as in --factor 2")
    model, measured = _read(source, weights, family, device, facts, told=not (csv or json))
    found = explained_outliers(model, measured, factor)
    if json:
        print_document(outliers_document(found, model))
    elif csv:
        print(outliers_csv(found), end="")
    else:
        print_text(outliers_text(found, model, table_width()))


def _read(
    source: Path | None, weights: Path | None, family: str | None, device: str | None, facts: str | None, told: bool
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

    given = given_facts_of(facts)
    measured = None if source is None else store.read(source)
    if weights is None and source is not None:
        weights = _beside(source if source.is_dir() else source.parent, family)
    if weights is None:
        weights = weights_in_use(device, family, told).path
    model = load(weights, family)
    if given:
        model = model.with_facts(given)
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
