"""The campaign: every configuration once, in a shuffled order, whatever happens."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel import store
from perfmodel.kernels import KernelClass, Parameters
from perfmodel.measure.bench import Bench, FailedError, Subject, stage
from perfmodel.measure.campaign import DEFAULT, Campaign
from perfmodel.measure.plan import keep_plan, plan, plan_key, plan_path, read_plans, work_groups
from perfmodel.measure.progress import Progress, Silent
from perfmodel.measure.timing import Samples, sample
from perfmodel.store import Key, Measurement, Measurements, canonical, read

if TYPE_CHECKING:
    from perfmodel.counts import KernelCounts
    from perfmodel.devices import Device

LIBRARIES = ("perfmodel", "loopy", "islpy", "pyopencl", "numpy")
NOTHING = Samples((), ())


def run(
    kernel_classes: Iterable[KernelClass],
    device: Device,
    store: Path | str,
    progress: Progress | None = None,
    campaign: Campaign = DEFAULT,
) -> Measurements:
    """Measure what the store does not hold yet.

    Each configuration gets one record, failed ones too.  Stopped at any instant and begun
    again, it ends with the same set of records as a run left alone: the sizes chosen are
    kept beside the store.

    Parameters
    ----------
    kernel_classes : iterable of KernelClass
        What to measure.
    device : Device
        Where.
    store : path
        A folder, or a ``.jsonl`` file; see :mod:`perfmodel.store`.
    progress : Progress, optional
        Told of each step.
    campaign : Campaign
        How much and how; :data:`QUICK` or :data:`DEFAULT`.

    Returns
    -------
    Measurements
        All that the store now holds of these classes on this device.

    Raises
    ------
    OutputError
        The store cannot be written.
    """
    kernel_classes = tuple(kernel_classes)
    session = _Session(Bench(device, campaign), Path(store), progress or Silent())
    session.begin()
    configurations = session.planned(kernel_classes)
    configurations.sort(key=lambda c: (c[0].kernel.name, canonical([c[0].variant, c[1]])))
    random.Random(campaign.seed).shuffle(configurations)
    session.measure([c for c in configurations if session.key(*c) not in session.done])
    names = [kernel.name for kernel in kernel_classes]
    return read(store).of_device(device.name).of_kernels(*names)


@dataclass(eq=False)
class _Session:
    """What one call of :func:`run` knows."""

    bench: Bench
    path: Path
    progress: Progress
    overhead_s: float = 0.0
    done: set[Key] = field(default_factory=set)
    counted: dict[str, KernelCounts] = field(default_factory=dict)
    checked: dict[tuple[str, str], FailedError | None] = field(default_factory=dict)

    def begin(self) -> None:
        """See that the store can be written, and what it holds."""
        store.prepare(self.path)
        self.done = {row.key for row in store.read(self.path).rows}
        self.overhead_s = self.bench.launch_overhead()

    def planned(self, kernel_classes: tuple[KernelClass, ...]) -> list[tuple[Subject, Parameters]]:
        """Every configuration, those done before too."""
        limit = self.bench.fact("max_work_group_size")
        shapes = self.bench.campaign.shapes
        subjects = [
            Subject(kernel, variant) for kernel in kernel_classes for variant in kernel.variants_on(limit, shapes)
        ]
        path = plan_path(self.path)
        plans = read_plans(path)
        configurations: list[tuple[Subject, Parameters]] = []
        self.progress.start("choosing sizes", len(subjects))
        try:
            for subject in subjects:
                key = plan_key(self.bench, subject)
                try:
                    if key not in plans:
                        plans[key] = plan(self.bench, subject, self._count(subject), self.overhead_s)
                        keep_plan(path, key, plans[key])
                    configurations.extend((subject, point) for point in plans[key])
                except FailedError as failure:
                    self._give_up(subject, failure)
                self.progress.advance(subject.kernel.name)
        finally:
            self.progress.stop()
        return configurations

    def measure(self, configurations: list[tuple[Subject, Parameters]]) -> None:
        """Measure and record."""
        self.progress.start("measuring", len(configurations))
        try:
            for subject, parameters in configurations:
                row = self._measured(subject, parameters)
                store.append(self.path, row, self.counted.get(row.kernel_hash))
                note = "" if row.status == "ok" else f": {row.status} ({row.message})"
                self.progress.advance(f"{subject.kernel.name}{note}")
        finally:
            self.progress.stop()

    def key(self, subject: Subject, parameters: Parameters) -> Key:
        """Key that a record of this configuration would have."""
        return self._row(subject, parameters, status="ok").key

    def _give_up(self, subject: Subject, failure: FailedError) -> None:
        """Record a variant that cannot even be planned, at its smallest size."""
        row = self._row(subject, subject.smallest, status=failure.status, message=failure.message)
        if row.key not in self.done:
            store.append(self.path, row)

    def _measured(self, subject: Subject, parameters: Parameters) -> Measurement:
        campaign, digest, samples = self.bench.campaign, "", NOTHING
        try:
            self._check(subject)
            digest = self._count(subject).hash
            with self.bench.ready(subject, parameters) as launches:
                samples = sample(self.bench.queue, launches, campaign.runs, campaign.timeout_s)
            if not samples.complete:
                message = f"{len(samples.host_s)} runs took over {campaign.timeout_s} s"
                raise FailedError("timeout", message)
        except FailedError as failure:
            return self._row(subject, parameters, samples, digest, failure.status, failure.message)
        return self._row(subject, parameters, samples, digest)

    def _check(self, subject: Subject) -> None:
        """Compare the output with the reference, once for each variant."""
        code = subject.kernel.name, subject.program.hash
        if code not in self.checked:
            try:
                work_groups(self._count(subject), subject.smallest)
                self.bench.check(subject)
                self.checked[code] = None
            except FailedError as failure:
                self.checked[code] = failure
        found = self.checked[code]
        if found is not None:
            raise found

    def _count(self, subject: Subject) -> KernelCounts:
        """Count the variant, once: counts hold for all sizes."""
        from perfmodel.counts import count

        program = subject.program
        if program.hash not in self.counted:
            with stage("constraint"):
                counts = count(program.t_unit, subgroup_size=self.bench.fact("subgroup_size"))
            self.counted[program.hash] = counts
        return self.counted[program.hash]

    def _row(
        self,
        subject: Subject,
        parameters: Parameters,
        samples: Samples = NOTHING,
        counts_hash: str = "",
        status: Any = "ok",
        message: str = "",
    ) -> Measurement:
        campaign, facts = self.bench.campaign, self.bench.device.facts
        return Measurement(
            kernel=subject.kernel.name,
            group=subject.kernel.group,
            tags=subject.kernel.tags,
            isolates=subject.kernel.isolated(subject.variant),
            variant=dict(subject.variant),
            parameters=dict(parameters),
            device=facts.name,
            platform=facts.platform,
            driver=facts.driver,
            versions=_versions(),
            kernel_hash=subject.hash,
            counts_hash=counts_hash,
            samples_s=samples.host_s,
            device_samples_s=samples.device_s,
            dropped=campaign.dropped,
            launch_overhead_s=self.overhead_s,
            seed=campaign.seed,
            taken_at=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            status=status,
            message=message,
        )


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
