"""Which family a device's predictions should use, chosen without a look at test kernels, and the file that says so."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from perfmodel.documents import Schema, json_text, read_file, value_of
from perfmodel.errors import DocumentError, WeightsFileError
from perfmodel.io import file_part, write_whole

if TYPE_CHECKING:
    from perfmodel.facts import DeviceFacts
    from perfmodel.fitting import FamilyFits

CANDIDATES = ("bottleneck", "multithreaded", "stevens_kloeckner_2016")
"""Families among which a device's is chosen: for CPUs, for GPUs, and the linear model."""


RECOMMENDED_FILE = "recommended.json"
SCHEMA = "perfmodel.recommended/1"
_SCHEMA = Schema(SCHEMA, "fit again (perfmodel fit --all --from FOLDER --out FOLDER)")


class Recommended(BaseModel):
    """The content of ``recommended.json`` in a device's folder.

    Parameters
    ----------
    family
        The family whose weights predictions should use; "" where none could be fitted.
    candidates
        The families among which it was chosen.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    schema_: Literal["perfmodel.recommended/1"] = Field(
        default="perfmodel.recommended/1", validation_alias="schema", serialization_alias="schema"
    )
    family: str = Field(pattern=r"^\w*$")
    candidates: tuple[str, ...]

    def save(self, folder: Path) -> None:
        """Write it into a folder, whole or not at all; raise OutputError if that is not possible."""
        text = json_text(self.model_dump(mode="json", by_alias=True), indent=2)
        write_whole(folder / RECOMMENDED_FILE, f"{text}\n".encode())


def recommended_weights(folder: Path) -> Path | None:
    """Return the weights file of a device's folder that predictions should use; None where the folder has none.

    That is the family of ``recommended.json``; in a folder without that file, the first of :data:`CANDIDATES` that
    the folder has weights of.

    Raises
    ------
    WeightsFileError
        If ``recommended.json`` is not what it should be.
    """
    path = folder / RECOMMENDED_FILE
    names: tuple[str, ...] = CANDIDATES
    if path.is_file():
        try:
            names = (value_of(Recommended, read_file(path), _SCHEMA).family,)
        except DocumentError as error:
            raise WeightsFileError(str(path), error.problem) from error
    paths = (folder / f"{file_part(name)}.json" for name in names)
    return next((path for path in paths if path.is_file()), None)


def candidates(facts: DeviceFacts | None) -> tuple[str, ...]:
    """Return the families among which a device's is chosen.

    Where a probe has told the order of its lanes, one of :data:`CANDIDATES` is for other devices and left out: a quick
    campaign has too few groups to find that out from times.
    """
    if facts is None or "lane_order" not in facts:
        return CANDIDATES
    other = "bottleneck" if facts.value("lane_order") == "multithreaded" else "multithreaded"
    return tuple(name for name in CANDIDATES if name != other)


def recommended(rivals: Iterable[FamilyFits]) -> str:
    r"""Return the name of the family that predicts measured kernels best which its fit has not seen; "" of none.

    It has the smallest mean over kernels of the mean :math:`|\log(t/p)|` over rows t, each predicted as p by a fit
    without any row of its group. Rows that some family withholds count for none. Of equal families the first is taken.
    `rivals` are fits of families to the same measured rows; those that they have made already are not made again.
    """
    every = tuple(rivals)
    found = {fits.family.name: _errors(fits) for fits in every}
    if not found:
        return ""
    common = np.all([np.isfinite(errors) for errors in found.values()], axis=0)
    by_kernel: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(every[0].measured):
        if common[place]:
            by_kernel[row.kernel].append(place)
    if not by_kernel:
        return next(iter(found))
    return min(found, key=lambda name: float(np.mean([found[name][places].mean() for places in by_kernel.values()])))


def _errors(fits: FamilyFits) -> np.ndarray:
    """Return the errors of log time of measured rows by fits without their group, shape (n_rows,); NaN: withheld."""
    unseen, times = fits.predict_without_group(fits.seen).of(fits.seen), fits.refits.table.times[fits.seen]
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(np.log(times / unseen.seconds))
    return np.where(unseen.known & (unseen.seconds > 0), errors, np.nan)
