"""One visit to a configuration: its kernel is counted and checked once, its runs are timed, the result is a record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from perfmodel.kernels import Parameters
from perfmodel.measuring.campaign import Configuration
from perfmodel.measuring.record import AnyBench, record
from perfmodel.measuring.subject import FailedError, Subject, stage
from perfmodel.measuring.timing import flags, least_seconds
from perfmodel.store import Measurement, Visit

if TYPE_CHECKING:
    from loopy import TranslationUnit

    from perfmodel.counts import KernelCounts


@dataclass(eq=False)
class Timekeeper:
    """Times configurations on a device, one visit at a time; each code is counted and checked once.

    Parameters
    ----------
    bench : AnyBench
        The opened device, and the campaign's settings.
    overhead_s : float
        The launch overhead on the device [s].
    statistics : mapping
        Of what depends on data, as of :func:`perfmodel.counts.count`; a kernel class's own come first.
    """

    bench: AnyBench
    overhead_s: float
    statistics: Mapping[str, float] = field(default_factory=dict)
    counted: dict[str, KernelCounts] = field(default_factory=dict)
    checked: dict[tuple[str, str], FailedError | None] = field(default_factory=dict)

    def configuration(self, subject: Subject, parameters: Parameters, seconds: float) -> Configuration:
        """Make a configuration; one run of it takes `seconds` [s]."""
        return Configuration(subject, parameters, seconds, record(self.bench, subject, parameters).key)

    def failed(self, subject: Subject, failure: FailedError, parameters: Parameters | None = None) -> Measurement:
        """Record of a failure; of a variant that cannot even be planned, at its smallest size."""
        return record(
            self.bench,
            subject,
            parameters or subject.smallest,
            status=failure.status,
            message=failure.message,
            launch_overhead_s=self.overhead_s,
        )

    def measured(self, configuration: Configuration, place: int | None = None) -> Measurement:
        """Record of one visit to a configuration, made now; a failure is a record too.

        Raises
        ------
        BrokenDeviceError
            The device runs nothing any more, also after it was opened again.
        """
        subject, parameters = configuration.subject, configuration.parameters
        fields: dict[str, Any] = {"place_in_order": place, "launch_overhead_s": self.overhead_s}
        campaign = self.bench.campaign
        try:
            self._check(subject)
            counts = self.count(subject)
            fields["counts_hash"] = counts.hash
            began_at, samples = self.bench.timed(subject, parameters)
        except FailedError as failure:
            if failure.status == "runtime":
                self.bench.see_that_it_works()
            fields.update(status=failure.status, message=failure.message)
            return record(self.bench, subject, parameters, **fields)
        runs = len(samples.host_s)
        fields["visits"] = (Visit(began_at=began_at, runs=runs, dropped=campaign.dropped),)
        if samples.complete:
            least_s = least_seconds(counts, parameters, self.bench.device.facts)
            fields["flags"] = flags(samples, campaign, self.overhead_s, least_s)
        else:
            message = f"{runs} runs took over {campaign.timeout_s} s"
            fields.update(status="timeout", message=message)
        return record(self.bench, subject, parameters, samples, **fields)

    def count(self, subject: Subject) -> KernelCounts:
        """Count the variant, once: counts hold for all sizes; one whose groups do not fit on the device fails."""
        generated = subject.generated
        if generated.hash not in self.counted:
            with stage("constraint"):
                counts = self.count_unit(generated.t_unit, statistics=subject.statistics)
                counts.check_launch(self.bench.device.facts)  # some drivers end the process over a group too large
            self.counted[generated.hash] = counts
        return self.counted[generated.hash]

    def count_unit(
        self, unit: TranslationUnit, check: bool = True, statistics: Mapping[str, float] | None = None
    ) -> KernelCounts:
        """Count a translation unit for the device; to check it, its code is generated, which takes longer."""
        from perfmodel.counts import count

        known = {**self.statistics, **(statistics or {})}
        return count(unit, subgroup_size=self.bench.fact("subgroup_size"), statistics=known, check=check)

    def work_groups(self, subject: Subject, parameters: Parameters) -> int:
        """Count the work-groups of a launch; fail where the kernel's assumptions do not hold.

        Code that is generated under an assumption has no guard against what the assumption rules
        out, so such parameters must not reach the device.
        """
        with stage("constraint"):
            return int(self.count(subject).work_groups()(**parameters))

    def _check(self, subject: Subject) -> None:
        """Compare the output with the reference, once for each variant."""
        code = subject.kernel.name, subject.generated.hash
        if code not in self.checked:
            try:
                self.work_groups(subject, subject.smallest)
                self.bench.check(subject)
                self.checked[code] = None
            except FailedError as failure:
                self.checked[code] = failure
        found = self.checked[code]
        if found is not None:
            raise found
