"""Proof of isolation: where a class's isolated count doubles, its time must rise.

A kernel class says which feature dominates its time (``isolates``), which size parameter doubles
that feature's count (``doubles``), and by what fraction the time must rise then (``raises``).  If
it does not rise, the compiler folded the work away or something else dominates, and a weight
fitted on the class would not be the feature's.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from perfmodel import store
from perfmodel.errors import ForeignDeviceError, StoreFormatError, StoreMissingError
from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measure.bench import Bench, FailedError, Subject
from perfmodel.measure.campaign import Campaign
from perfmodel.measure.lock import locked
from perfmodel.measure.plan import PlanError, plan, work_groups
from perfmodel.measure.progress import Progress, Silent
from perfmodel.measure.record import versions
from perfmodel.measure.timekeeper import Timekeeper
from perfmodel.measure.timing import sample
from perfmodel.store import Status, canonical

if TYPE_CHECKING:
    from perfmodel.devices import Device

SCHEMA: Final = "perfmodel.isolation/1"
FILE = "isolation.jsonl"

#: One size of each variant, on which launching is a small part; 8 runs give each minimum.
ISOLATION = Campaign("isolation", shapes=1, rungs=1, over_launch=20.0, longest_s=0.02, runs=8, retries=1, timeout_s=2.0)

#: Pairs of minima, after a first one that warms up; twice as many where they show no rise.
ROUNDS = 5


class Isolation(BaseModel):
    """What doubling the isolated count did to one variant's time on one device.

    ``rounds_s`` are pairs of times [s], each the minimum of several runs: at `parameters`, and
    with the parameter `doubles` doubled.  ``raises`` is the least rise that proves isolation [1].
    """

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    schema_: Literal["perfmodel.isolation/1"] = Field(default=SCHEMA, alias="schema")
    kernel: str
    variant: dict[str, Any]
    feature: str
    doubles: str | None
    raises: float
    parameters: dict[str, int] = {}
    rounds_s: tuple[tuple[float, float], ...] = ()
    device: str
    platform: str
    driver: str
    versions: dict[str, str]
    kernel_hash: str
    taken_at: str
    status: Status = "ok"
    message: str = ""

    @field_validator("variant")
    @classmethod
    def _as_read_back(cls, value: dict[str, Any]) -> dict[str, Any]:
        import json

        return dict(json.loads(json.dumps(value)))

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
    """File of proofs in the store at `path` (a folder, or the ``.jsonl`` of records itself).

    Examples
    --------
    >>> isolation_path("fitted_weights/pocl").name, isolation_path("m.jsonl").name
    ('isolation.jsonl', 'm.isolation.jsonl')
    """
    rows, _ = store.paths(path)
    return rows.with_name(FILE if Path(path).suffix != ".jsonl" else f"{rows.stem}.{FILE}")


def read_isolations(path: Path | str) -> tuple[Isolation, ...]:
    """Newest proof of each variant in the store at `path`, by name.

    Raises
    ------
    StoreMissingError
        There is none.
    StoreFormatError
        A line is no record of this schema.
    """
    file = isolation_path(path)
    if not file.is_file():
        raise StoreMissingError(file)
    newest: dict[tuple[str, str], Isolation] = {}
    for number, document in store.read_lines(file)[0]:
        try:
            proof = Isolation.model_validate(document)
        except ValidationError as error:
            raise StoreFormatError(file, number, f"is no record of schema '{SCHEMA}' ({error.errors()[0]['msg']})") from error
        newest[proof.place] = proof
    return tuple(newest[place] for place in sorted(newest))


def isolations(
    kernel_classes: Iterable[KernelClass],
    device: Device,
    path: Path | str,
    progress: Progress | None = None,
    campaign: Campaign = ISOLATION,
) -> tuple[Isolation, ...]:
    """Prove what `path` does not hold yet, and give the newest proof of each variant.

    Raises
    ------
    OutputError
        The store cannot be written.
    ForeignDeviceError
        The store belongs to another device.
    BrokenDeviceError
        The device runs nothing, or nothing any more.
    """
    progress, file, facts = progress or Silent(), isolation_path(path), device.facts
    known = read_isolations(path) if file.is_file() else ()
    for proof in known:
        if (proof.device, proof.platform) != (facts.name, facts.platform):
            raise ForeignDeviceError(file, f"'{proof.device}' ({proof.platform})", f"'{facts.name}' ({facts.platform})")
    done = {proof.key for proof in known}
    with locked(facts, progress):
        prover = _Prover(Bench(device, campaign))
        subjects = prover.subjects(kernel_classes)
        progress.start("proving isolation", len(subjects))
        try:
            for subject in subjects:
                said = ""
                if prover.described(subject).key not in done:
                    proof = prover.proof(subject)
                    store.append_line(file, proof.model_dump(mode="json", by_alias=True))
                    said = "" if proof.proved else f": not proved ({proof.message or f'time rose by {proof.rise:.0%}'})"
                progress.advance(f"{subject.kernel.name} {canonical(subject.variant).replace(':', '=')}{said}")
        finally:
            progress.stop()
    return read_isolations(path) if file.is_file() else ()


class _Prover:
    """Proves variants on a device, one after another."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.timekeeper = Timekeeper(bench, bench.launch_overhead())

    def subjects(self, kernel_classes: Iterable[KernelClass]) -> list[Subject]:
        """Variants that isolate a feature, each in one work-group shape."""
        limit, campaign = self.bench.fact("max_work_group_size"), self.bench.campaign
        every = [Subject(kernel, v) for kernel in kernel_classes for v in campaign.variants_of(kernel, limit)]
        return [subject for subject in every if subject.kernel.isolated(subject.variant)]

    def described(self, subject: Subject, **others: Any) -> Isolation:
        """Make a record of the variant; `others` are what was found."""
        facts, kernel = self.bench.device.facts, subject.kernel
        fields = {
            "kernel": kernel.name,
            "variant": dict(subject.variant),
            "feature": kernel.isolated(subject.variant),
            "doubles": kernel.doubles,
            "raises": kernel.raises,
            "device": facts.name,
            "platform": facts.platform,
            "driver": facts.driver,
            "versions": versions(),
            "kernel_hash": subject.hash,
            "taken_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        return Isolation.model_validate({**fields, **others})

    def proof(self, subject: Subject) -> Isolation:
        """Measure one variant; a failure is a record too."""
        try:
            return self._proof(subject)
        except FailedError as failure:
            if failure.status == "runtime":
                self.bench.see_that_it_works()
            return self.described(subject, status=failure.status, message=failure.message)

    def _proof(self, subject: Subject) -> Isolation:
        single, double = self._sizes(subject)
        campaign, queue = self.bench.campaign, self.bench.queue
        self.bench.check(subject)
        rounds: list[tuple[float, float]] = []
        with self.bench.ready(subject, single) as short, self.bench.ready(subject, double) as long:
            for _ in range(1 + campaign.retries):
                for place in range(ROUNDS + 1):
                    first, second = (sample(queue, run, campaign.runs, campaign.timeout_s) for run in (short, long))
                    if place > 0:
                        rounds.append((min(first.host_s), min(second.host_s)))
                found = self.described(subject, parameters=dict(single), rounds_s=tuple(rounds))
                if found.proved:
                    break
        return found

    def _sizes(self, subject: Subject) -> tuple[Parameters, Parameters]:
        """Largest parameters of the ladder's lowest good rung, and the same with one doubled."""
        name = subject.kernel.doubles
        if name is None:
            raise FailedError("constraint", "its class names no parameter to double")
        try:
            chosen = plan(self.bench, (subject,), self.timekeeper.count, self.timekeeper.overhead_s)
        except PlanError as error:
            raise error.failure from error
        for single in reversed(chosen.parameters):
            double = {**single, name: 2 * single[name]}
            if self.bench.fits(subject, double):
                work_groups(self.timekeeper.count(subject), double)  # fails where an assumption does
                return single, double
        raise FailedError("constraint", "no size fits into the device's memory when it is doubled")
