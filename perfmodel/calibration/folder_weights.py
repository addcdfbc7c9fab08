"""Which of the weights in a device's folder to use."""

from __future__ import annotations

from pathlib import Path

from perfmodel.analyses.report_families import weights_files
from perfmodel.calibration.fitted_device import VERDICT_FILE
from perfmodel.calibration.recommended import CANDIDATES
from perfmodel.errors import OptionError, StoreMissingError
from perfmodel.store.files import ROWS_FILE


def folder_weights(folder: Path, family: str | None = None) -> Path:
    """Return the weights of a family in a device's folder.

    Parameters
    ----------
    family
        Its name. By default the one that ``verdict.txt`` recommends, else the first of
        :data:`perfmodel.calibration.recommended.CANDIDATES` that is there, else the first by name.

    Raises
    ------
    StoreMissingError
        If the folder holds no measurements.
    OptionError
        If it holds no weights, or none of the family.
    """
    if not (folder / ROWS_FILE).is_file():
        raise StoreMissingError(folder)
    known = {path.stem: path for path in weights_files(folder)}
    if not known:
        advice = f"fit some with: perfmodel fit --from {folder} --all"
        raise OptionError(f"'{folder}' holds no weights", advice)
    if family is not None and family not in known:
        advice = f"choose one of {', '.join(known)}, or fit it: perfmodel fit --from {folder} --family {family}"
        raise OptionError(f"'{folder}' holds no weights of the family '{family}'", advice)
    wanted = (family,) if family else (_recommended(folder), *CANDIDATES, *known)
    return next(known[name] for name in wanted if name in known)


def _recommended(folder: Path) -> str:
    """Return the family that the first line of ``verdict.txt`` names; empty where there is none."""
    path = folder / VERDICT_FILE
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.readline(200).partition(" on ")[0].strip()
    except OSError:
        return ""
