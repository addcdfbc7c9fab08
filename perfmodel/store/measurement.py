"""A record of a store: one measured configuration."""

import json
import math
from collections.abc import Callable, Sequence
from itertools import islice
from statistics import median
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_serializer

from perfmodel.display import seconds_text, values_text
from perfmodel.documents import EXACT, canonical, one_line

SCHEMA: Final = "perfmodel.measurement/1"

AGREEMENT: Final = 0.05  #: Two lowest visits of a configuration agree if their times differ by at most this share [1]
DISAGREE: Final = "visits"  # flag of a configuration whose two lowest visits do not agree
LOADED: Final = "load"  # flag of a visit while other processes loaded the machine
UNRANKED: Final = "few groups"  #: Flag of a launch with too few work-groups for each compute unit; rankings omit it

Clock: TypeAlias = Literal["host", "device"]
"""Clock of a time: the host's, from before the enqueue to the end, or the device's, without the launch."""
Status = Literal["ok", "compile", "runtime", "timeout", "correctness", "constraint"]
Key = tuple[str, ...]
JsonObject: TypeAlias = Annotated[dict[str, Any], AfterValidator(lambda value: json.loads(json.dumps(value)))]
"""A dict with JSON's types: tuples become lists."""

SHORTEST_S: Final = 1e-12
"""The shortest time of a record [s]; no clock resolves less, and relative errors must stay within doubles."""
LONGEST_S: Final = 1e9  # the longest time of a record [s]

Seconds: TypeAlias = Annotated[float, Field(ge=SHORTEST_S, le=LONGEST_S)]
ClockSeconds: TypeAlias = Annotated[float, Field(ge=0, le=LONGEST_S)]
Size: TypeAlias = Annotated[int, Field(ge=0, le=EXACT)]


class Visit(BaseModel):
    """Consecutive runs of a configuration. The first `dropped` runs do not count.

    ``began_at`` is the start (ISO 8601, UTC). ``load`` is the number of cores that other processes used [1], or None if
    unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    began_at: str = ""
    runs: int = Field(ge=0)
    dropped: int = Field(ge=0)
    load: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None

    @model_serializer(mode="wrap")
    def _without_unknown_load(self, write: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        document = write(self)
        return document if self.load is not None else {k: v for k, v in document.items() if k != "load"}


class Measurement(BaseModel):
    """One configuration (kernel, variant, parameters) on one device, with its raw times.

    ``samples_s`` are the times of all runs by the host's clock, in order [s]. ``device_samples_s`` are the times of the
    same runs by the device's clock [s], empty without profiling. ``visits`` groups the runs. A record without visits is
    one visit. A store holds one record for each visit, and :func:`joined` joins them. ``place_in_order`` is the
    position in the shuffled order of the campaign. ``flags`` are words for suspicious times.
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
    flags: tuple[str, ...] = ()
    visits: tuple[Visit, ...] = ()

    def __repr__(self) -> str:
        result = seconds_text(self.seconds) if self.status == "ok" else self.status
        return one_line(f"<Measurement {self.description}: {result} on {self.device}>")

    @property
    def description(self) -> str:
        """Kernel, variant and sizes in words."""
        return " ".join(filter(None, (self.kernel, values_text(self.variant), values_text(self.parameters))))

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
        """The visits of the record. Without visits, there is one visit with all runs."""
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
        """Return the minimum of all visits after the drop by a clock [s], or NaN without times of the device."""
        if clock == "host":
            return self.seconds
        return min(map(min, self._kept(self.device_samples_s))) if self.device_samples_s else math.nan

    @property
    def disagreement(self) -> float:
        """Ratio of the two lowest minima of visits, minus 1 [1], or NaN for a single visit."""
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
        """Ratio of the median to the minimum, minus 1 [1]."""
        return self.median / self.seconds - 1

    @property
    def case_key(self) -> Key:
        """Device, kernel, variant and sizes."""
        return self.device, self.platform, self.kernel, canonical(self.variant), canonical(self.parameters)

    @property
    def key(self) -> Key:
        """Case, driver and code, which identify a configuration."""
        return (*self.case_key, self.driver, self.kernel_hash)

    def after(self, before: "Measurement | None") -> "Measurement":
        """Return this record, with the visits of `before` put first if this record continues it (:meth:`follows`)."""
        return joined((before, self)) if before is not None and self.follows(before) else self

    def follows(self, before: "Measurement") -> bool:
        """Whether this record and the earlier one are of the same configuration, and both have the status ``ok``."""
        return before.status == self.status == "ok" and self.matches(before)

    def matches(self, other: "Measurement") -> bool:
        """Whether case, driver and code are equal. For code of another Loopy, equal counts suffice."""
        same_options = options_of(self.kernel_hash) == options_of(other.kernel_hash)
        counted_alike = same_options and "" != self.counts_hash == other.counts_hash
        same_code = self.kernel_hash == other.kernel_hash or counted_alike
        return same_code and self.driver == other.driver and self.case_key == other.case_key


def options_of(kernel_hash: str) -> str:
    """Return the hash of the compiler's options, which is a part of a code's hash, or "" without options."""
    return kernel_hash.partition("-")[2]


def joined(rows: Sequence[Measurement]) -> Measurement:
    """Return the visits of several records of a configuration as one record, with the flags of the fastest one."""
    if len(rows) == 1:
        return rows[0]
    profiled = all(row.device_samples_s for row in rows)
    both = rows[-1].model_copy(update={
        "samples_s": tuple(sample for row in rows for sample in row.samples_s),
        "device_samples_s": tuple(sample for row in rows for sample in row.device_samples_s) * profiled,
        "dropped": rows[0].dropped, "visits": tuple(visit for row in rows for visit in row.every_visit),
    })  # fmt: skip
    flags = [flag for flag in min(rows, key=lambda row: row.seconds).flags if flag != DISAGREE]
    return both.model_copy(update={"flags": (*flags, *[DISAGREE] * both.disagrees)})
