"""The results of ``perfmodel measure``: as one document, and as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.measuring import Repeatability
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.measure/1"
REPEATABILITY_SCHEMA = "perfmodel.repeatability/1"

#: What the flags of a record mean.
FLAGS = {
    "spread": "their runs differ widely; measure on a quieter machine",
    "clock": "the device's clock and the host's do not agree",
    "bound": "faster than the device can be: the compiler dropped work that was counted",
    "visits": "their two lowest visits differ by more than 5 %; they weigh less in fits",
}
#: Quantiles of the changes that are printed, and how many of the largest changes.
QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
WORST = 5


def campaign_document(found: Measurements, path: Path, campaign: str, seconds: float) -> dict[str, Any]:
    """Return the results of a campaign as one document."""
    return {
        "schema": SCHEMA,
        "device": found.device,
        "campaign": campaign,
        "store": str(path),
        "seconds": seconds,
        "statuses": dict(Counter(row.status for row in found.current)),
        "flags": dict(Counter(flag for row in found for flag in row.flags)),
        "visits": sum(len(row.every_visit) for row in found),
        "set_aside": [*found.set_aside, *found.notes],
        "rows": [
            {
                "kernel": row.kernel,
                "variant": row.variant,
                "parameters": row.parameters,
                "status": row.status,
                "message": row.message,
                "seconds": row.seconds if row.status == "ok" else None,
                "spread": row.spread if row.status == "ok" else None,
                "visits": len(row.every_visit) if row.status == "ok" else 0,
                "flags": list(row.flags),
            }
            for row in found.current
        ],
    }


def campaign_lines(document: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of its summary."""
    counted = [f"{number} {status}" for status, number in sorted(document["statuses"].items()) if status != "ok"]
    failed = f" ({', '.join(counted)})" if counted else ""
    yield (
        f"{document['device']}: {document['statuses'].get('ok', 0)} configurations measured{failed} "
        f"in {document['visits']} visits, in {document['store']}, after {document['seconds']:.0f} s"
    )
    for row in document["rows"]:
        if row["status"] != "ok":
            yield f"{row['status']}: {row['kernel']} {row['variant']} {row['parameters']}: {row['message']}"
    for flag, number in sorted(document["flags"].items()):
        yield f"note: {number} flagged '{flag}': {FLAGS.get(flag, 'see docs/measuring.md')}"


def repeatability_document(found: Repeatability, device: str, campaign: str) -> dict[str, Any]:
    """Return the results of measuring twice as one document."""
    quantiles = {f"{share:.2f}": found.quantile(share) for share in QUANTILES} if found.pairs else {}
    return {
        "schema": REPEATABILITY_SCHEMA,
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


def repeatability_lines(document: dict[str, Any]) -> Iterator[str]:
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
