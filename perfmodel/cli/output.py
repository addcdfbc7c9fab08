"""How commands print documents, predictions and intervals."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from perfmodel.cli.settings import table_width
from perfmodel.cli.streams import begin_result
from perfmodel.errors import PictureFormatError
from perfmodel.io import file_part

if TYPE_CHECKING:
    from perfmodel.errors import PerfModelError
    from perfmodel.predicting.model import FittedModel
    from perfmodel.predicting.predictions import Anchor
    from perfmodel.predicting.ranking import RankedVariant


def print_document(document: Any) -> None:
    """Print one JSON document, once also where the process dies then and is supervised.

    Raises
    ------
    NotFiniteError
        If it holds NaN or infinity; nothing is printed then.
    """
    from perfmodel.documents import json_text

    text = json_text(document, indent=2).replace("\x7f", "\\u007f")  # which a stream would show as \\x7f
    begin_result()
    print(text)


def print_text(text: str, file: TextIO | None = None) -> None:
    """Print text, lines of prose broken between words where the terminal is narrow."""
    from perfmodel.display import wrapped_text

    print(wrapped_text(text, table_width()), file=file or sys.stdout)


def text_stream(file: Path | None) -> TextIO:
    """Return where a command prints its text beside a file: standard error where the file is standard output."""
    from perfmodel.io import is_standard_output

    return sys.stderr if file is not None and is_standard_output(file) else sys.stdout


def one_output(json: bool, **files: Path | None) -> None:
    """Refuse options that send two documents to standard output.

    Raises
    ------
    OptionError
        If more than one of ``--json`` and the files, by the names of their options, is standard output.
    """
    from perfmodel.errors import OptionError
    from perfmodel.io import is_standard_output

    taken = ["--json"] * json
    taken += [f"--{name} -" for name, file in files.items() if file is not None and is_standard_output(file)]
    if len(taken) > 1:
        raise OptionError(f"{' and '.join(taken)} both write to standard output", "give a file for one of them")


def sizes_text(sizes: Any) -> str:
    """Return sizes as ``n=1024, m=8``."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def interval_document(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return an interval's bounds for JSON, which has no infinity: null stands for no bound."""
    return None if interval is None else [interval[0], interval[1] if isfinite(interval[1]) else None]


def model_document(kernel: Path, model: FittedModel, at: Mapping[str, int]) -> dict[str, Any]:
    """Return which kernel file is predicted by which model at which sizes, for JSON."""
    return {**weights_document(kernel, model), "sizes": dict(at)}


def weights_document(kernel: Path, model: FittedModel) -> dict[str, Any]:
    """Return which kernel file is predicted by which model of which weights file, for JSON."""
    weights = None if model.path is None else str(model.path)
    return {"kernel": str(kernel), "device": model.device, "family": model.family.name, "weights": weights}


def variant_document(one: RankedVariant) -> dict[str, Any]:
    """Return the prediction of a variant for JSON."""
    interval = interval_document(one.interval)
    ties = {"fastest": one.fastest, "tied": one.tied, "to_measure": one.to_measure}
    return {"variant": one.name, "seconds": one.seconds, "interval": interval, "warnings": list(one.warnings), **ties}


def anchor_document(one: Anchor) -> dict[str, Any]:
    """Return the run that anchors a prediction for JSON."""
    return {
        "variant": one.kernel,
        "sizes": dict(one.sizes),
        "measured": one.measured,
        "predicted": one.predicted,
        "factor": one.factor,
        "flags": list(one.flags),
    }


def withheld_document(withheld: Mapping[str, PerfModelError]) -> dict[str, Any]:
    """Return the variants without a prediction for JSON, with features that no measurement exercised, or the error."""
    return {"withheld": [{"variant": name, **_why(error)} for name, error in withheld.items()]}


def _why(error: PerfModelError) -> dict[str, Any]:
    from perfmodel.errors import UnmeasuredFeatureError

    if isinstance(error, UnmeasuredFeatureError):
        return {"unmeasured": list(error.features)}
    return {"unmeasured": [], "error": str(error)}


def check_format(path: Path | None, formats: tuple[str, ...] = (".png", ".svg")) -> None:
    """Refuse the name of a picture that ends in none of these.

    Raises
    ------
    PictureFormatError
        If it ends otherwise; ``-`` does.
    """
    if path is not None and path.suffix not in formats:
        raise PictureFormatError(path, formats)


def of_variant(path: Path, name: str, several: bool) -> Path:
    """Return the file of one variant, beside that given: with several variants, the name is added before the suffix."""
    return path.with_name(f"{path.stem}-{file_part(name)}{path.suffix}") if several else path
