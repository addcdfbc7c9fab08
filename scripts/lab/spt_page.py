"""The tables of docs/lab/spt.md that committed measurements give: latencies and bandwidths, and the family's errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from perfmodel import store
from perfmodel.compare.contenders import Contender, Contenders, contenders
from perfmodel.display import percent
from perfmodel.fitting.throughput import BANDWIDTH_BOUND, LATENCY_BOUND, ONE_MULTIPLICITY, Throughput, throughput
from perfmodel.io import write_whole
from scripts.lab.markdown import drawn_between, markdown_table

SPT, LINEAR = "synchronous_parallel_throughput", "stevens_kloeckner_2016"
MEASURED = f"{SPT} (measured)"
COMMAND = "scripts/redraw spt"


def draw_spt(folders: Sequence[Path], page: Path) -> None:
    """Draw the page's tables again from devices' folders; a fit of each family and group, some seconds a device."""
    text = page.read_text(encoding="utf-8")
    rates = throughput_table((folder.name, throughput(store.read(folder))) for folder in folders)
    errors = errors_table((folder.name, contenders(folder, (SPT, LINEAR))) for folder in folders)
    for name, table in (("rates", rates), ("errors", errors)):
        text = drawn_between(text, name, table, COMMAND)
    write_whole(page, text.encode())


def throughput_table(devices: Iterable[tuple[str, Iterable[Throughput]]]) -> str:
    """Return latencies [ns] and bandwidths [10^9/s] of devices by name."""
    rows: list[Sequence[str]] = [
        ("device", "operation", "latency [ns]", "bandwidth [10^9/s]", "r^2", "rows"), ("---",) * 2 + ("---:",) * 4,
    ]  # fmt: skip
    rows += [(name, *_cells(one)) for name, found in devices for one in found]
    return markdown_table(rows)


def _cells(one: Throughput) -> tuple[str, ...]:
    unknown = ONE_MULTIPLICITY in one.note
    latency = _digits(1e9 * one.latency_s) + " (at most)" * (unknown or BANDWIDTH_BOUND in one.note)
    rate = _digits(1e-9 * one.bandwidth_per_s) + " (at least)" * (unknown or LATENCY_BOUND in one.note)
    return one.operation, latency, "" if one.operation == "launch" else rate, f"{one.r_squared:.2f}", str(one.rows)


def _digits(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def errors_table(devices: Iterable[tuple[str, Contenders]]) -> str:
    """Return errors by protocol A of SPT with measured and with fitted facts, and of the linear family."""
    rows: list[Sequence[str]] = [
        ("device", "cases", "latencies and bandwidths measured", "fitted", "linear model"), ("---", *["---:"] * 4),
    ]  # fmt: skip
    for name, judged in devices:
        by_family = {one.family: one for one in judged}
        rows.append((name, _cases(by_family[SPT]), *(_error(by_family.get(one)) for one in (MEASURED, SPT, LINEAR))))
    return markdown_table(rows)


def _cases(one: Contender) -> str:
    return str(len(one.by("A").rows)) if one.evaluations else "0"


def _error(one: Contender | None) -> str:
    return percent(one.figures("A").error) if one and one.evaluations else "not fitted"
