"""The results of ``perfmodel measure``: as one document, and as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perfmodel.store import Measurements

SCHEMA = "perfmodel.measure/1"

#: What the flags of a record mean.
FLAGS = {
    "spread": "their runs differ widely; measure on a quieter machine",
    "clock": "the device's clock and the host's do not agree",
    "bound": "faster than the device can be: the compiler dropped work that was counted",
    "visits": "their two lowest visits differ by more than 5 %; they weigh less in fits",
}


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
