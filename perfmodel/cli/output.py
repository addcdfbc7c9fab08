"""How commands print documents and intervals."""

from __future__ import annotations

from math import isfinite
from typing import Any


def print_document(document: Any) -> None:
    """Print one JSON document."""
    from json import dumps

    print(dumps(document, indent=2))


def sizes_text(sizes: Any) -> str:
    """Return sizes as ``n=1024, m=8``."""
    return ", ".join(f"{name}={value}" for name, value in sizes.items())


def interval_text(interval: tuple[float, float] | None) -> str:
    """Return an interval's bounds with units; a dash where there is none."""
    from perfmodel.report import seconds_text

    return "-" if interval is None else f"{seconds_text(interval[0])} to {seconds_text(interval[1])}"


def interval_document(interval: tuple[float, float] | None) -> list[float | None] | None:
    """Return an interval's bounds for JSON, which has no infinity: null stands for no bound."""
    return None if interval is None else [interval[0], interval[1] if isfinite(interval[1]) else None]
