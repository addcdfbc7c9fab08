"""The records of a store: one measured configuration, and a proof that a variant isolates a feature."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import islice
from statistics import median
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    field_validator,
    model_serializer,
)

from perfmodel.display import in_words, seconds_text
from perfmodel.documents import EXACT, one_line

SCHEMA: Final = "perfmodel.measurement/1"
ISOLATION_SCHEMA: Final = "perfmodel.isolation/1"

AGREEMENT: Final = 0.05
"""The two lowest visits of a configuration agree if their times differ by this share at most [1]."""
DISAGREE: Final = "visits"
"""Flag of a configuration whose two lowest visits do not agree."""
LOADED: Final = "load"
"""Flag of a visit during which others loaded the machine."""
UNRANKED: Final = "few groups"
"""Flag of a launch that fills too few work-groups for each compute unit to be an alternative in rankings."""

Clock: TypeAlias = Literal["host", "device"]
"""Whose clock a time is of: the host's, from before the enqueue to the end, or the device's own, without the launch."""
Status = Literal["ok", "compile", "runtime", "timeout", "correctness", "constraint"]
Key = tuple[str, ...]
#: A dict as it is read back from JSON: tuples are lists.
JsonObject: TypeAlias = Annotated[dict[str, Any], AfterValidator(lambda value: json.loads(json.dumps(value)))]

SHORTEST_S: Final = 1e-12
"""The shortest time of a record [s]: no clock tells less, and relative errors of shorter ones are beyond doubles."""
LONGEST_S: Final = 1e9
"""The longest time of a record [s], some thirty years."""

Seconds: TypeAlias = Annotated[float, Field(ge=SHORTEST_S, le=LONGEST_S)]
ClockSeconds: TypeAlias = Annotated[float, Field(ge=0, le=LONGEST_S)]
Size: TypeAlias = Annotated[int, Field(ge=0, le=EXACT)]


def canonical(value: Any) -> str:
    """Write a value as JSON with sorted keys: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


class Visit(BaseModel):
    """Runs of a configuration that followed each other.

    ``began_at`` is when the first began (ISO 8601, UTC; empty in older records), ``runs`` how many
    there are, and ``dropped`` how many of the first do not count. ``load`` is how many cores other processes used
    meanwhile; None where nobody looked.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    began_at: str = ""
    runs: int = Field(ge=0)
    dropped: int = Field(ge=0)
    load: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_serializer(mode="wrap")
    def _without_unknown_load(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        document: dict[str, Any] = write(self)
        return document if self.load is not None else {k: v for k, v in document.items() if k != "load"}


class Measurement(BaseModel):
    """One configuration (kernel, variant, parameters) on one device, with its raw times.

    ``samples_s`` are the host-clock times of all runs in order [s]; ``device_samples_s`` the device's own times of the
    same runs [s], empty where it has no profiling. ``visits`` says which of them were taken together, in their order; a
    record without it is of one visit, whose `dropped` first runs do not count. A store holds one record for each visit,
    and :meth:`after` makes one of two. ``place_in_order`` is the place in the shuffled order of the campaign, ``flags``
    words for what is suspicious about the time. ``remeasured`` is of older records: how often they were measured again
    at once because the runs spread too widely.
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
    device_samples_s: tuple[ClockSeconds, ...] = ()
    dropped: int = Field(ge=0)
    launch_overhead_s: ClockSeconds | None = None
    seed: int | None = None
    taken_at: str = ""
    status: Status
    message: str = ""
    place_in_order: int | None = Field(default=None, ge=0)
    remeasured: int = Field(default=0, ge=0)
    flags: tuple[str, ...] = ()
    visits: tuple[Visit, ...] = ()

    def __repr__(self) -> str:
        what = " ".join(filter(None, (self.kernel, in_words(self.variant), in_words(self.parameters))))
        result = seconds_text(self.seconds) if self.status == "ok" else self.status
        return one_line(f"<Measurement {what}: {result} on {self.device}>")

    @field_validator("visits")
    @classmethod
    def _check_visits(cls, visits: tuple[Visit, ...], others: ValidationInfo) -> tuple[Visit, ...]:
        samples, ok = others.data.get("samples_s", ()), others.data.get("status") == "ok"
        runs = sum(visit.runs for visit in visits)
        if visits and runs != len(samples):
            raise ValueError(f"its visits have {runs} runs together, and it has {len(samples)} samples_s")
        for visit in visits:
            if ok and visit.runs <= visit.dropped:
                raise ValueError(f"a visit has {visit.runs} runs, of which {visit.dropped} are dropped")
        return visits

    @property
    def every_visit(self) -> tuple[Visit, ...]:
        """Its visits, also where the record does not name them."""
        return self.visits or (Visit(runs=len(self.samples_s), dropped=self.dropped),)

    @property
    def kept_by_visit_s(self) -> tuple[tuple[float, ...], ...]:
        """Samples of each visit after the drop [s]."""
        return self._kept(self.samples_s)

    def _kept(self, samples: tuple[float, ...]) -> tuple[tuple[float, ...], ...]:
        left = iter(samples)
        return tuple(tuple(islice(left, visit.runs))[visit.dropped :] for visit in self.every_visit)

    @property
    def kept_s(self) -> tuple[float, ...]:
        """Samples of all visits after the drop [s]."""
        return tuple(sample for visit in self.kept_by_visit_s for sample in visit)

    @property
    def seconds(self) -> float:
        """The minimum of all visits after the drop [s] (paper, section 4.2)."""
        return min(self.kept_s)

    def seconds_by(self, clock: Clock) -> float:
        """Return the minimum of all visits after the drop by a clock [s]; NaN where the device told no times."""
        if clock == "host":
            return self.seconds
        return min(map(min, self._kept(self.device_samples_s))) if self.device_samples_s else math.nan

    @property
    def disagreement(self) -> float:
        """Second lowest over lowest minimum of a visit, less one [1]; NaN where there is one visit only."""
        if len(self.visits) < 2:
            return math.nan
        lowest, second, *_ = sorted(map(min, self.kept_by_visit_s))
        return second / lowest - 1

    @property
    def disagrees(self) -> bool:
        """Whether the two lowest visits differ by more than :data:`AGREEMENT`."""
        return self.disagreement > AGREEMENT

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

    def after(self, before: Measurement | None) -> Measurement:
        """Put the visits of an earlier record before this one's, if it follows that (:meth:`follows`).

        Descriptions are of the later record, flags of the one with the lower time.
        """
        return joined((before, self)) if before is not None and self.follows(before) else self

    def follows(self, before: Measurement) -> bool:
        """Whether an earlier record holds visits of the same configuration, and neither failed."""
        return before.status == self.status == "ok" and self.matches(before)

    def matches(self, other: Measurement) -> bool:
        """Whether two records are of one place and driver, and of the same code or of code with the same counts.

        Versions of Loopy write one kernel differently: the terms of a sum in another order. Counts hold the launches.
        """
        options = (options_of(row.kernel_hash) for row in (self, other))
        counted_alike = "" != self.counts_hash == other.counts_hash and next(options) == next(options)
        is_alike = self.kernel_hash == other.kernel_hash or counted_alike
        return is_alike and self.driver == other.driver and self.place == other.place


def options_of(kernel_hash: str) -> str:
    """Return the part of a code's hash that is of the compiler's options, which no counts show; "" of none."""
    return kernel_hash.partition("-")[2]


def joined(rows: Sequence[Measurement]) -> Measurement:
    """Return one record with the visits of several of one key, in their order; see :meth:`Measurement.after`."""
    if len(rows) == 1:
        return rows[0]
    profiled = all(row.device_samples_s for row in rows)
    both = rows[-1].model_copy(
        update={
            "samples_s": tuple(sample for row in rows for sample in row.samples_s),
            "device_samples_s": tuple(sample for row in rows for sample in row.device_samples_s) * profiled,
            "dropped": rows[0].dropped,
            "visits": tuple(visit for row in rows for visit in row.every_visit),
        }
    )
    flags = min(rows, key=lambda row: row.seconds).flags
    own = [flag for flag in flags if flag != DISAGREE]
    return both.model_copy(update={"flags": (*own, *[DISAGREE] * both.disagrees)})


class Isolation(BaseModel):
    """Times of one variant on one device, before and after its isolated count doubled.

    ``rounds_s`` are pairs of times [s], each the minimum of several runs: at `parameters`, and
    with the parameter `doubles` doubled.  ``raises`` is the least rise that proves isolation [1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["perfmodel.isolation/1"] = Field(default=ISOLATION_SCHEMA, alias="schema")
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
