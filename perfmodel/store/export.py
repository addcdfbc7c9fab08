"""Measurements for other programs: a flat table, pandas, CSV, and T4.

T4 is the auto-tuning community's format for results, agreed on at the Lorentz Center workshop
of March 2022 and written by Kernel Tuner: its results schema 1.0.0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from perfmodel import display
from perfmodel.display import data_frame
from perfmodel.store.measurement import Measurement, canonical

if TYPE_CHECKING:
    from pandas import DataFrame

T4_VERSION: Final = "1.0.0"
_INVALIDITY = {"ok": "correct", "constraint": "constraints"}
_MS = 1e3


def table(rows: Iterable[Measurement]) -> list[dict[str, Any]]:
    """Give one flat dict for each record, all with the same keys in the same order.

    ``variant.<name>`` and ``parameters.<name>`` are None where a class has no such key, times in
    seconds are None where there is none.

    Parameters
    ----------
    rows : iterable of Measurement
    """
    rows = tuple(rows)
    variants = sorted({name for row in rows for name in row.variant})
    sizes = sorted({name for row in rows for name in row.parameters})
    return [
        {
            "kernel": row.kernel,
            "group": row.group,
            "tags": " ".join(row.tags),
            "isolates": row.isolates,
            **{f"variant.{name}": _cell(row.variant.get(name)) for name in variants},
            **{f"parameters.{name}": row.parameters.get(name) for name in sizes},
            "status": row.status,
            "seconds": row.seconds if row.status == "ok" else None,
            "median_s": row.median if row.status == "ok" else None,
            "spread": row.spread if row.status == "ok" else None,
            "launch_overhead_s": row.launch_overhead_s,
            "visits": len(row.every_visit) if row.samples_s else 0,
            "disagreement": None if math.isnan(row.disagreement) else row.disagreement,
            "runs": len(row.samples_s),
            "dropped": len(row.samples_s) - len(row.kept_s),
            "remeasured": row.remeasured,
            "flags": " ".join(row.flags),
            "place_in_order": row.place_in_order,
            "device": row.device,
            "platform": row.platform,
            "driver": row.driver,
            "kernel_hash": row.kernel_hash,
            "counts_hash": row.counts_hash,
            "taken_at": row.taken_at,
            "message": row.message,
        }
        for row in rows
    ]


def csv_text(rows: Iterable[Measurement]) -> str:
    """Give :func:`table` as comma-separated values with one line of headings; None is empty."""
    found = table(rows)
    return display.csv_text(list(found[0]), found) if found else ""


def frame(rows: Iterable[Measurement]) -> DataFrame:
    """Give :func:`table` as a pandas ``DataFrame``.

    Raises
    ------
    MissingExtraError
        pandas is not installed.
    """
    return data_frame(table(rows))


def t4(rows: Iterable[Measurement]) -> dict[str, Any]:
    """Give records as a JSON-able document of the T4 results schema, version 1.0.0.

    The configuration is the kernel's name, its variant and its sizes in one flat object, as tuners have them (a size
    that bears the name of a variant's key comes as ``parameters.<name>``). Times are in milliseconds, as Kernel Tuner
    writes them; ``time``, the objective, is the minimum after the drop.
    """
    return {"schema_version": T4_VERSION, "results": [_result(row) for row in rows]}


def _result(row: Measurement) -> dict[str, Any]:
    sizes = {
        name if name not in row.variant else f"parameters.{name}": size
        for name, size in row.parameters.items()
    }
    return {
        "timestamp": row.taken_at,
        "configuration": {"kernel": row.kernel, **row.variant, **sizes},
        "objectives": ["time"],
        "times": {"runtimes": [_MS * seconds for seconds in row.kept_s]},
        "invalidity": _INVALIDITY.get(row.status, row.status),
        "correctness": 1 if row.status == "ok" else 0,
        "measurements": _figures(row) if row.status == "ok" else [],
    }


def _figures(row: Measurement) -> list[dict[str, Any]]:
    times = [("time", row.seconds), ("time_median", row.median)]
    if row.launch_overhead_s is not None:
        times.append(("time_launch_overhead", row.launch_overhead_s))
    return [{"name": name, "value": _MS * seconds, "unit": "ms"} for name, seconds in times]


def _cell(value: Any) -> Any:
    return canonical(value) if isinstance(value, (list, dict)) else value
