"""Repeatability of times: a campaign on a sample of configurations is run twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel import store
from perfmodel.kernels import KernelClass
from perfmodel.measuring.bench import Bench
from perfmodel.measuring.campaign import DEFAULT, Campaign, Configuration, in_turn, ordered
from perfmodel.measuring.lock import locked
from perfmodel.measuring.run import Session, plan_configurations
from perfmodel.progress import Progress, Silent
from perfmodel.store import Key, Measurement

if TYPE_CHECKING:
    from perfmodel.opencl import Device

SCHEMA = "perfmodel.repeatability/1"
#: Quantiles of the changes that are printed, and how many of the largest changes.
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
WORST = 5


@dataclass(frozen=True)
class Repeatability:
    """Two records of each configuration, from two campaigns.

    Parameters
    ----------
    pairs : tuple of (Measurement, Measurement)
        Those of status ok both times.
    failed : int
        Number of other configurations.
    """

    pairs: tuple[tuple[Measurement, Measurement], ...]
    failed: int = 0

    @property
    def changes(self) -> tuple[float, ...]:
        """The relative change ``|t1 - t2|/t1`` of each configuration [1]."""
        return tuple(abs(a.seconds - b.seconds) / a.seconds for a, b in self.pairs)

    def quantile(self, share: float) -> float:
        """The change that this share of the configurations stays below [1]; 0.5: the median."""
        return float(np.quantile(self.changes, share)) if self.pairs else float("nan")


def measure_twice(
    kernel_classes: Iterable[KernelClass],
    device: Device,
    progress: Progress | None = None,
    campaign: Campaign = DEFAULT,
    most: int = 60,
) -> Repeatability:
    """Run a campaign on up to `most` configurations, each class in turn, with all their visits, and then again.

    The two campaigns have different orders, so that the time between the two records of a
    configuration differs.  Nothing is kept.

    Raises
    ------
    BrokenDeviceError
        The device runs nothing, or nothing any more.
    DeviceBusyError
        Another campaign on the device does not end within `campaign.wait_s`.
    """
    progress = progress or Silent()
    with locked(device.facts, progress, campaign.wait_s), TemporaryDirectory(prefix="perfmodel-") as folder:
        path = Path(folder)
        store.prepare(path, device.facts)
        session = Session.started(Bench(device, campaign), path, progress)
        planned, _ = plan_configurations(session, kernel_classes, lambda found: len(found) >= 2 * most)
        sample = in_turn(ordered(planned, campaign), lambda c: c.name[0])[:most]
        again = ordered(sample, replace(campaign, seed=campaign.seed + 1))
        first, second = (_measured(session, path / name, order) for name, order in (("1", sample), ("2", again)))
    both = [(first[c.key], second[c.key]) for c in sample]
    pairs = tuple(pair for pair in both if {"ok"} == {row.status for row in pair})
    return Repeatability(pairs, len(both) - len(pairs))


def _measured(planned: Session, path: Path, order: list[Configuration]) -> dict[Key, Measurement]:
    """Run a separate campaign, with its own store, on the planned configurations."""
    session = Session(planned.bench, path, planned.progress, planned.timekeeper)
    session.measure(order)
    return session.rows


def document_of(found: Repeatability, device: str, campaign: str) -> dict[str, Any]:
    """Return the results of measuring twice as one document."""
    quantiles = {f"{share:.2f}": found.quantile(share) for share in QUANTILES} if found.pairs else {}
    return {
        "schema": SCHEMA,
        "device": device,
        "campaign": campaign,
        "configurations": len(found.pairs),
        "failed": found.failed,
        "quantiles": quantiles,
        "rows": [
            {
                "kernel": first.kernel,
                "variant": first.variant,
                "parameters": first.parameters,
                "seconds": [first.seconds, second.seconds],
                "change": change,
            }
            for (first, second), change in zip(found.pairs, found.changes, strict=True)
        ],
    }


def lines_of(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of its summary, with the largest changes."""
    failed = f" ({document['failed']} failed)" if document["failed"] else ""
    yield f"{document['device']}: {document['configurations']} configurations in two campaigns{failed}"
    if document["quantiles"]:
        median, high = document["quantiles"]["0.50"], document["quantiles"]["0.95"]
        yield f"median of |t1 - t2|/t1: {median:.2%}, 95th percentile: {high:.2%}"
        yield ", ".join(f"{float(q):.0%} below {value:.2%}" for q, value in document["quantiles"].items())
    for row in sorted(document["rows"], key=lambda row: -row["change"])[:WORST]:
        first, second = (f"{1e3 * seconds:.4g} ms" for seconds in row["seconds"])
        yield f"{row['change']:.1%}: {row['kernel']} {row['variant']} {row['parameters']}: {first}, {second}"
