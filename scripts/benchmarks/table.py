"""What was measured as text, with the goals that it reaches or misses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp, log
from typing import Any

COLUMNS = (
    ("kernel", "{}"), ("instr.", "{}"), ("loopy", "{:.4f}"), ("count", "{:.4f}"), ("check", "{:.4f}"),
    ("ours", "{:.4f}"), ("peer", "{:.4f}"), ("ratio", "{:.1f}"),
    ("total", "{:.4f}"), ("peer tot.", "{:.4f}"), ("ratio", "{:.1f}"),
    ("warm", "{:.6f}"), ("peer warm", "{:.4f}"), ("ratio", "{:.0f}"), ("disk", "{:.4f}"),
    ("all", "{:.4f}"), ("MB", "{:.0f}"), ("evals/s", "{:.1e}"), ("call us", "{:.1f}"),
)


WORST = 10  # kernels named


def table(result: dict[str, Any]) -> str:
    """Return the table of kernels, the peer's failures, and each goal with its result."""
    lines = [_line([name for name, _ in COLUMNS])]
    for row in result["kernels"]:
        lines.append(_line([_cell(form, value) for (_, form), value in zip(COLUMNS, _values(row), strict=True)]))
    for row in result["kernels"]:
        lines += [f"{row['kernel']}: {name} failed: {why}" for name, why in row["failures"].items()]
    rows = result["kernels"]
    lines += [f"{name}: perfmodel refuses it: {why}" for name, why in result["refused"].items()]
    for text, state in (("scheduled before", "cold"), ("in total", "total")):
        lines.append(f"the {WORST} slowest relative to the peer, {text}: {', '.join(_slowest(rows, state))}")
    without = sum(ratio(row, "total") is None for row in rows)
    lines.append(f"{len(rows)} kernels were timed, the peer cannot count {without} of them; {len(result['refused'])} "
                 "are refused")
    barvinok = "with" if result["barvinok"] else "without"
    lines += [
        "",
        f"CPU seconds, medians of {result['repeats']}, {barvinok} Barvinok; "
        f"Loopy {result['loopy']}, Python {result['python']}",
        *(f"{'met ' if met else 'MISSED'}  {text}" for text, met in goals(result["kernels"])),
    ]
    return "\n".join(lines)


def _slowest(rows: list[dict[str, Any]], state: str) -> list[str]:
    known = sorted((found, row["kernel"]) for row in rows if (found := ratio(row, state)))
    return [f"{name} {found:.2f}" for found, name in known[:WORST]]


def _values(row: dict[str, Any]) -> list[Any]:
    speed = row["evaluation"]
    return [
        row["kernel"], row["instructions"], row["loopy_cold_s"], row["count_cold_s"], row["check_cold_s"],
        row["ours_cold_s"], row["peer_cold_s"], ratio(row, "cold"),
        row["ours_total_s"], row["peer_total_s"], ratio(row, "total"),
        row["ours_warm_s"], row["peer_warm_s"], ratio(row, "warm"), row["ours_disk_s"],
        row["all_cold_s"], row["peak_bytes"] / 1e6,
        speed.get("slowest_evaluations_per_s"), speed.get("slowest_call_us"),
    ]


def _cell(form: str, value: Any) -> str:
    return "-" if value is None else form.format(value)


def _line(cells: list[str]) -> str:
    first, *others = cells
    return f"{first:<40}" + "".join(f"{cell:>10}" for cell in others)


def ratio(row: dict[str, Any], state: str) -> float | None:
    """Return the peer's seconds over ours; None if a side failed."""
    ours, peer = row[f"ours_{state}_s"], row[f"peer_{state}_s"]
    return peer / ours if ours and peer else None


def geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs)) if logs else float("nan")


def goals(rows: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    """Return each goal as a sentence with its result, and whether it is reached."""
    cold, total, warm = (
        {row["kernel"]: found for row in rows if (found := ratio(row, state))} for state in ("cold", "total", "warm")
    )
    shares = [row["count_cold_s"] / row["loopy_cold_s"] for row in rows if row["count_cold_s"] and row["loopy_cold_s"]]
    whole = {row["kernel"]: row["all_cold_s"] for row in rows if row["all_cold_s"]}
    memory = {row["kernel"]: row["peak_bytes"] / 1e6 for row in rows}
    rates = {row["kernel"]: row["evaluation"]["slowest_evaluations_per_s"] for row in rows if row["evaluation"]}
    calls = {row["kernel"]: row["evaluation"]["slowest_call_us"] for row in rows if row["evaluation"]}
    return [
        _goal("cold, scheduled before, geometric mean {:.1f} times faster (goal 4)", geometric_mean(cold.values()), 4),
        _goal("count's own share, geometric mean 1/{:.1f} of Loopy's (goal 1/4)", 1 / geometric_mean(shares), 4),
        _goal("in total, geometric mean {:.1f} times faster (goal 1)", geometric_mean(total.values()), 1),
        _worst("in total, slowest relative to the peer: {:.2f} times ({}; goal 1/1.05)", total, min, 1 / 1.05),
        _goal("warm, geometric mean {:.0f} times faster (goal 20)", geometric_mean(warm.values()), 20),
        _worst("warm, slowest relative to the peer: {:.2f} times ({}; goal 1)", warm, min, 1),
        _worst("everything cold, slowest {:.3f} s ({}; goal 0.5)", whole, max, 0.5),
        _worst("peak memory {:.0f} MB ({}; goal 500)", memory, max, 500),
        _worst("vectorised, slowest count {:.2e} evaluations/s ({}; goal 1e6)", rates, min, 1e6),
        _worst("scalar call, slowest count {:.1f} us ({}; goal 20)", calls, max, 20),
    ]


def _goal(text: str, value: float, least: float) -> tuple[str, bool]:
    return text.format(value), value >= least


def _worst(
    text: str, values: dict[str, float], choose: Callable[..., str], bound: float
) -> tuple[str, bool]:
    if not values:
        return f"nothing to judge: {text}", False
    name = choose(values, key=lambda key: values[key])
    met = values[name] >= bound if choose is min else values[name] <= bound
    return text.format(values[name], name), met
