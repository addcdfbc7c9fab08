"""The record of one visit to a configuration, whether it was measured or failed."""

from __future__ import annotations

from typing import Any

from perfmodel.kernels import Parameters
from perfmodel.measuring.bench import AnyBench
from perfmodel.measuring.subject import Subject
from perfmodel.measuring.timing import Samples, now
from perfmodel.progress import FailedStep
from perfmodel.store import Measurement

NOTHING = Samples((), ())


def record(
    bench: AnyBench, subject: Subject, parameters: Parameters, samples: Samples = NOTHING, **others: Any
) -> Measurement:
    """Make the record of a configuration from its samples; `others` are further fields of the record."""
    kernel = subject.kernel
    return Measurement(
        **origin(bench, subject),
        group=kernel.group,
        tags=kernel.tags,
        isolates=kernel.isolated(subject.variant),
        parameters=dict(parameters),
        samples_s=samples.host_s,
        device_samples_s=samples.device_s,
        dropped=bench.campaign.dropped,
        seed=bench.campaign.seed,
        **{"counts_hash": "", "status": "ok", **others},
    )


def origin(bench: AnyBench, subject: Subject) -> dict[str, Any]:
    """Fields of any record of a variant: the variant, the device, its driver and other versions, and the time."""
    facts = bench.device.facts
    return {
        "kernel": subject.kernel.name,
        "variant": dict(subject.variant),
        "device": facts.name,
        "platform": facts.platform,
        "driver": facts.driver,
        "versions": bench.versions,
        "kernel_hash": subject.hash,
        "taken_at": now("seconds"),
    }


def outcome(row: Measurement) -> str:
    """Name the kernel class of a record, with the failure if there was one."""
    return row.kernel if row.status == "ok" else FailedStep(row.kernel, f"{row.status} ({row.message})")
