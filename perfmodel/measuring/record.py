"""The record of one visit to a configuration, whether it was measured or failed."""

from __future__ import annotations

import os
import sys
from datetime import datetime, timezone
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from perfmodel.kernels import Parameters
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.pinning import PINNED
from perfmodel.measuring.subject import Subject
from perfmodel.measuring.timing import Samples
from perfmodel.store import Measurement

#: Libraries whose versions a record holds.
LIBRARIES = ("perfmodel", "loopy", "islpy", "pyopencl", "numpy")
NOTHING = Samples((), ())


def record(
    bench: Bench, subject: Subject, parameters: Parameters, samples: Samples = NOTHING, **others: Any
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


def origin(bench: Bench, subject: Subject) -> dict[str, Any]:
    """Fields of any record of a variant: the variant, the device, its driver and other versions, and the time."""
    facts = bench.device.facts
    return {
        "kernel": subject.kernel.name,
        "variant": dict(subject.variant),
        "device": facts.name,
        "platform": facts.platform,
        "driver": facts.driver,
        "versions": versions(),
        "kernel_hash": subject.hash,
        "taken_at": now("seconds"),
    }


def now(to: str) -> str:
    """Write the time in UTC, ISO 8601, to ``seconds`` or ``milliseconds``."""
    return datetime.now(timezone.utc).isoformat(timespec=to)


def outcome(row: Measurement) -> str:
    """Name the kernel class of a record, with the failure if there was one."""
    return row.kernel if row.status == "ok" else f"{row.kernel}: {row.status} ({row.message})"


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that times depend on, and whether threads are pinned."""
    found = {"python": sys.version.split()[0]}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return {**found, **{name: os.environ[name] for name in PINNED if name in os.environ}}
