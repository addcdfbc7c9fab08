"""Which of the weights in a device's folder to use."""

from __future__ import annotations

from pathlib import Path

from perfmodel.analyses.report_families import weights_files
from perfmodel.calibration.recommended import recommended_weights
from perfmodel.errors import OptionError, StoreMissingError
from perfmodel.models import find_family
from perfmodel.store.files import ROWS_FILE


def folder_weights(folder: Path, family: str | None = None) -> Path:
    """Return the weights of a family in a device's folder.

    Parameters
    ----------
    folder
        A folder with measurements.
    family
        Its name, or its Python file. By default the one that calibration recommends
        (:func:`perfmodel.calibration.recommended.recommended_weights`), else the first by name.

    Raises
    ------
    StoreMissingError
        If the folder holds no measurements.
    OptionError
        If it holds no weights, or none of the family.
    UnknownFamilyError, FamilyFileError
        If there is no such family, or its file cannot be used.
    WeightsFileError
        If ``recommended.json`` is not what it should be.
    """
    if not (folder / ROWS_FILE).is_file():
        raise StoreMissingError(folder)
    known = {path.stem: path for path in weights_files(folder)}
    if not known:
        raise OptionError(f"'{folder}' holds no weights", f"fit some: perfmodel fit --all --from {folder}")
    if family is None:
        return recommended_weights(folder) or next(iter(known.values()))
    name = find_family(family).name
    if name not in known:
        advice = f"choose one of {', '.join(known)}, or fit it: perfmodel fit --from {folder} --family {family}"
        raise OptionError(f"'{folder}' holds no weights of the family '{name}'", advice)
    return known[name]
