"""The record of a proof that a variant isolates a feature, and the file of such records."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from perfmodel.documents import Schema, value_of
from perfmodel.errors import StoreMissingError
from perfmodel.store.files import paths
from perfmodel.store.lines import read_lines
from perfmodel.store.measurement import JsonObject, Seconds, Size, Status, canonical

SCHEMA: Final = "perfmodel.isolation/1"
PROOF = Schema(SCHEMA, "prove it again: perfmodel isolate --out FOLDER")
FILE = "isolation.jsonl"


class Isolation(BaseModel):
    """Times of one variant on one device, before and after its isolated count doubled.

    ``rounds_s`` are pairs of times [s], each the minimum of several runs: at `parameters`, and
    with the parameter `doubles` doubled.  ``raises`` is the least rise that proves isolation [1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["perfmodel.isolation/1"] = Field(default=SCHEMA, alias="schema")
    kernel: str
    variant: JsonObject
    feature: str
    doubles: str | None
    raises: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    parameters: dict[str, Size] = {}
    rounds_s: tuple[tuple[Seconds, Seconds], ...] = ()
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    kernel_hash: str
    taken_at: str
    status: Status = "ok"
    message: str = ""

    @property
    def seconds(self) -> tuple[float, float]:
        """Median times at the parameters and with the one doubled [s]; NaN where there are none."""
        if not self.rounds_s:
            return float("nan"), float("nan")
        single, double = zip(*self.rounds_s, strict=True)
        return median(single), median(double)

    @property
    def rise(self) -> float:
        """The ratio of those times, less one [1]."""
        single, double = self.seconds
        return double / single - 1

    @property
    def proved(self) -> bool:
        """Whether the time rose enough; never where it was not measured."""
        return self.rise >= self.raises

    @property
    def place(self) -> tuple[str, str]:
        """The variant that it is about."""
        return self.kernel, canonical(self.variant)

    @property
    def key(self) -> tuple[str, ...]:
        """What makes a proof worth repeating when it changes."""
        return (*self.place, self.driver, self.kernel_hash, str(self.doubles), self.feature)


def isolation_path(path: Path | str) -> Path:
    """File of proofs in the store at `path` (a folder, or the ``.jsonl`` of records itself)."""
    rows, _ = paths(path)
    return rows.with_name(FILE if Path(path).suffix != ".jsonl" else f"{rows.stem}.{FILE}")


def read_isolations(path: Path | str) -> tuple[Isolation, ...]:
    """Newest proof of each variant in the store at `path`, by name, or StoreMissingError or StoreFormatError.

    A line that is no such record is left out with a SetAsideWarning.
    """
    file = isolation_path(path)
    if not file.is_file():
        raise StoreMissingError(file)
    proofs, _ = read_lines(file, lambda line: value_of(Isolation, line, PROOF))
    newest = {proof.place: proof for _, proof in proofs}
    return tuple(newest[place] for place in sorted(newest))
