"""The record of one measured configuration."""

from __future__ import annotations

import json
from statistics import median
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from perfmodel.documents import EXACT

SCHEMA: Final = "perfmodel.measurement/1"

Status = Literal["ok", "compile", "runtime", "timeout", "correctness", "constraint"]
Key = tuple[str, ...]
#: A dict as it is read back from JSON: tuples are lists.
JsonObject: TypeAlias = Annotated[dict[str, Any], AfterValidator(lambda value: json.loads(json.dumps(value)))]

Seconds: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Size: TypeAlias = Annotated[int, Field(ge=0, le=EXACT)]


def canonical(value: Any) -> str:
    """Write a value as JSON with sorted keys: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Measurement(BaseModel):
    """One configuration (kernel, variant, parameters) on one device, with its raw times.

    ``samples_s`` are the host-clock times of all runs in order [s], the `dropped` first
    ones too; ``device_samples_s`` the device's own times of the same runs [s], empty where
    it has no profiling.  ``place_in_order`` is the place in the shuffled order of the
    campaign, ``remeasured`` how often the configuration was measured again because its spread
    was too wide (the samples are those of the best try), ``flags`` words for what is still
    suspicious.  These three are optional, so that older records stay valid.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["perfmodel.measurement/1"] = Field(default=SCHEMA, alias="schema")
    kernel: str
    group: str
    tags: tuple[str, ...] = ()
    isolates: str | None = None
    variant: JsonObject
    parameters: dict[str, Size]
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    kernel_hash: str
    counts_hash: str
    samples_s: tuple[Seconds, ...]
    device_samples_s: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()
    dropped: int = Field(ge=0)
    launch_overhead_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    seed: int | None = None
    taken_at: str = ""
    status: Status
    message: str = ""
    place_in_order: int | None = Field(default=None, ge=0)
    remeasured: int = Field(default=0, ge=0)
    flags: tuple[str, ...] = ()

    @property
    def kept_s(self) -> tuple[float, ...]:
        """Samples after the drop [s]."""
        return self.samples_s[self.dropped :]

    @property
    def seconds(self) -> float:
        """The minimum after the drop [s] (paper, section 4.2)."""
        return min(self.kept_s)

    @property
    def median(self) -> float:
        """The median after the drop [s]."""
        return median(self.kept_s)

    @property
    def spread(self) -> float:
        """Median over minimum, less one [1]."""
        return self.median / self.seconds - 1

    @property
    def place(self) -> Key:
        """What was measured, without its code and driver."""
        return self.device, self.platform, self.kernel, canonical(self.variant), canonical(self.parameters)

    @property
    def key(self) -> Key:
        """Place, driver and code: records of the same key are of the same configuration."""
        return (*self.place, self.driver, self.kernel_hash)
