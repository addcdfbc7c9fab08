"""The report on a recording: its run time, its kernels, its timeline and its data, in one HTML file."""

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from perfmodel.analyses.roofline import facts_with_roofs, roof_values
from perfmodel.display import percent, seconds_text
from perfmodel.documents import shortened
from perfmodel.report import pictures
from perfmodel.report.drawing import Axis, Picture, Series
from perfmodel.report.html import figures, tables
from perfmodel.report.html.page import Head, page
from perfmodel.report.html.tables import PageTable, TableCell, table
from perfmodel.watching.explained import LEVEL, Explained, Explanation
from perfmodel.watching.recording import Process, Recording
from perfmodel.watching.tables import COLUMNS, elsewhere_lines, kernel_table, notes, sizes_text
from perfmodel.watching.writing import BUILD, OWN, WAIT

TABS = {
    "watch_run": "The run", "watch_kernels": "Kernels", "watch_timeline": "Timeline", "watch_data": "Data and notes",
    "made": "How it was made",
}  # fmt: skip
MOST = 15  # kernels in a picture
SMALLEST, LARGEST = 8.0, 46.0  # diameters of bubbles [pixel]
STEPS, MOST_BARS, MOST_TEXTS = 20_000, 6000, 2000
"""Parts of the timeline: intervals with a shorter gap are joined. Most bars of a series, and most with a text."""
COLOURS = ("blue", "vermilion", "green", "orange")  # of the kernels with the longest total times
HOST = {BUILD: ("builds", "yellow"), OWN: ("recording", "purple"), WAIT: ("waits", "muted")}
"""The kinds of the host's intervals, each with its name and colour."""


def recording_page(explanation: Explanation, elsewhere: Mapping[str, Explanation], made: Mapping[str, str]) -> str:
    """Return the report as the text of an HTML file; `made` has the time, the versions and the command."""
    recording = explanation.recording
    first = recording.processes[0]
    about = f"{', '.join(device.name for device in recording.devices)}, {first.about.started}, on {first.about.host}"
    shown = SimpleNamespace(
        tabs=TABS, figures=_figures(recording),
        advice=[f"{text[:1].upper()}{text[1:]}." for text in explanation.advice],
        parts=figures.plot("parts", time_parts(recording)), parts_table=_parts_table(recording),
        elsewhere=[line for name, other in elsewhere.items() for line in elsewhere_lines(name, other)],
        roofline=figures.plot("roofline", bubbles(explanation)), kernels=_kernels_table(explanation),
        to_win=figures.plot("to-win", savings(explanation)), alone=figures.plot("alone", times_of_calls(explanation)),
        others=_others_table(recording), timeline=figures.plot("timeline", timeline(first)),
        statistics=_statistics(recording), notes=notes(explanation), made=tables.made_table(made.items()), level=LEVEL,
    )  # fmt: skip
    return page(Head("perfmodel watch", shlex.join(first.about.command), about), explanation, shown)


def _figures(recording: Recording) -> list[tuple[str, str]]:
    shares = recording.shares
    return [
        (seconds_text(shares.total), "run time"), (percent(shares.device / shares.total), "device busy"),
        (str(len({row.name for row in recording.kernels})), "Loopy kernels"),
        (str(recording.launches), "launches of them"), (seconds_text(recording.kernels_s), "their time"),
        (seconds_text(sum(row.total_s for row in recording.others)), "other commands of the device"),
    ]  # fmt: skip


def _named_parts(recording: Recording) -> list[tuple[str, float]]:
    shares = recording.shares
    part = shares.device * recording.kernels_s / recording.device_s if recording.device_s else 0.0
    return [
        ("Loopy kernels", part), ("other commands of the device", shares.device - part),
        ("generating and building code", shares.builds), ("host alone", shares.host),
        ("host waits, device idle", shares.waits), ("recording", shares.recording),
    ]  # fmt: skip


def time_parts(recording: Recording) -> Picture:
    """Describe how the run time divides."""
    parts = _named_parts(recording)[::-1]
    texts = [f"{name}\n{seconds_text(seconds)}" for name, seconds in parts]
    bars = Series("", [seconds for _, seconds in parts], range(len(parts)), "blue", bars=True, texts=texts)
    return Picture(
        Axis("time [s]", log=False), Axis("", log=False, names=tuple(name for name, _ in parts)), (bars,),
        "How the run time divides.",
    )


def _parts_table(recording: Recording) -> PageTable:
    whole = recording.shares.total
    rows = [(name, seconds_text(seconds), percent(seconds / whole)) for name, seconds in _named_parts(recording)]
    return table("how the run time divides", ("part", "time", "share"), rows, (1, 2), "narrow")


def bubbles(explanation: Explanation) -> Picture | None:
    """Describe the kernels below the roofs; the area of a marker is the kernel's share of the time."""
    if not explanation.models:
        return None
    roofs = roof_values(facts_with_roofs(next(iter(explanation.models.values()))))
    points, diameters = [], {}
    for each in explanation.kernels:
        if each.point is not None and each.point.drawable:
            name = f"{each.row.name} {sizes_text(each.row)}".rstrip()
            points.append(replace(each.point, kernel=name, sizes=""))
            share = each.row.total_s / explanation.recording.device_s
            diameters[name] = SMALLEST + (LARGEST - SMALLEST) * math.sqrt(share)
    picture = pictures.roofline(points, roofs, by_kernel=False) if points else None
    return picture and replace(picture, series=tuple(
        replace(one, sizes=[diameters[name] for name in one.groups]) for one in picture.series
    ))  # fmt: skip


def savings(explanation: Explanation) -> Picture | None:
    """Describe what kernels would save at the least time; the one that saves most on top."""
    known = [(each.to_win_s, each) for each in explanation.kernels if each.to_win_s]
    pairs = sorted(known, key=lambda pair: pair[0])[-MOST:]
    if not pairs:
        return None
    wins, shown = zip(*pairs, strict=True)
    texts = [
        f"{each.row.name}, {sizes_text(each.row)}\n{seconds_text(win)} of "
        f"{seconds_text(each.row.total_s)} in {each.row.calls} calls\nlargest term: {each.bound}"
        for win, each in pairs
    ]
    series = (
        Series("time of all calls", [each.row.total_s for each in shown], range(len(shown)), "sky", bars=True),
        Series("saved at the roof and the cost of launches", wins, range(len(shown)), "vermilion", bars=True,
               texts=texts),
    )  # fmt: skip
    return Picture(
        Axis("time", log=False, tick=seconds_text), Axis("", log=False, names=_names(shown)),
        series, f"What {len(shown)} kernels would save at the least time that the roofs allow.",
    )


def times_of_calls(explanation: Explanation) -> Picture | None:
    """Describe the median in the program, the time alone and the prediction of each kernel."""
    shown = explanation.kernels[:MOST][::-1]
    if not shown:
        return None
    series = [_markers("median in the program", "blue", "o", shown, [each.row.median_s for each in shown])]
    series.append(_markers("fastest in the program", "sky", "^", shown, [each.row.fastest_s for each in shown]))
    if any(each.row.alone_s for each in shown):
        series.append(_markers("alone", "green", "s", shown, [each.row.alone_s for each in shown]))
    if any(each.predicted for each in shown):
        times = [float(each.predicted.seconds) if each.predicted else None for each in shown]
        series.append(_markers("predicted", "orange", "D", shown, times))
    ends = [x for one in series for x in one.x]
    return Picture(
        Axis("time of a call", tick=seconds_text, limits=(min(ends) / 2, max(ends) * 2)),
        Axis("", log=False, names=_names(shown)), tuple(series),
        f"Times of {len(shown)} kernels in the program, alone and predicted.",
    )


def _names(shown: Sequence[Explained]) -> tuple[str, ...]:
    """Return names of rows; sizes distinguish rows of one kernel."""
    rows = [each.row for each in shown]
    several = Counter(row.name for row in rows)
    named = zip(rows, [shortened(sizes_text(row), 16, quoted=False) for row in rows], strict=True)
    return tuple(row.name if several[row.name] == 1 else f"{row.name} {at}" for row, at in named)


def _markers(label: str, colour: str, marker: str, shown: Sequence[Explained], times: Sequence[float | None]) -> Series:
    known = [(k, time) for k, time in enumerate(times) if time is not None and time > 0]
    texts = [f"{shown[k].row.name}, {sizes_text(shown[k].row)}\n{label}: {seconds_text(time)}" for k, time in known]
    return Series(label, [time for _, time in known], [k for k, _ in known], colour, marker, texts=texts)


def _kernels_table(explanation: Explanation) -> PageTable:
    names = ("calls", "total", "share", "median", "alone", "predicted", "interval", "roof", "to win")
    rows = []
    for record in kernel_table(explanation).records[: tables.MOST_ROWS]:
        below = ", ".join(filter(None, (record["sizes_text"], record["bound"] or record["problem"])))
        kernel = TableCell(record["kernel"], below, record["source"])
        rows.append((kernel, *(COLUMNS[name].cell(record) for name in names)))
    head = ("kernel", *(f"{LEVEL:.0%} interval" if name == "interval" else name for name in names))
    return table("Loopy kernels, the one with the longest total time first", head, rows, range(1, 10))


def _others_table(recording: Recording) -> PageTable:
    rows = [
        (row.name, str(row.calls), seconds_text(row.total_s), percent(row.total_s / recording.device_s))
        for row in recording.others[: tables.MOST_ROWS]
    ]
    return table("other commands of the device", ("command", "calls", "total", "share"), rows, (1, 2, 3), "narrow")


def _statistics(recording: Recording) -> PageTable:
    rows = [(unit.name, key, f"{value:.5g}") for unit in recording.units for key, value in unit.statistics.items()]
    return table("statistics of the program's data", ("kernel", "statistic", "value"), rows, (2,), "narrow")


def timeline(process: Process) -> Picture | None:
    """Describe when the device and the host worked; intervals closer than a step are joined."""
    if not len(process.timeline):
        return None
    start, end, _ = process.timeline.T * 1e-9
    whole = max(process.lasted_s, float(end.max()))
    totals: dict[str, float] = {}
    for row in process.rows:
        totals[row.name] = totals.get(row.name, 0.0) + row.total_s
    largest = sorted(totals, key=lambda name: -totals[name])[: len(COLOURS)]
    host = dict(HOST.values())
    colours = {**dict(zip(largest, COLOURS, strict=False)), "others": "sky", **host}
    named = [_name(process, kind) for kind in process.timeline[:, 2].tolist()]
    names = np.array([name if name in colours else "others" for name in named])
    series = []
    for name, colour in colours.items():
        chosen = names == name
        if chosen.any():
            low, high = _joined(start[chosen], end[chosen], whole / STEPS)
            texts = [f"{name}\n{seconds_text(b - a)} at {seconds_text(a)}" for a, b in zip(low, high, strict=True)]
            series.append(Series(
                name, high, [float(name not in host)] * len(low), colour, bars=True, starts=low,
                texts=texts if len(texts) <= MOST_TEXTS else (),
            ))  # fmt: skip
    across = Axis("time in the program [s]", log=False, limits=(0.0, whole))
    return Picture(across, Axis("", log=False, names=("host", "device")), tuple(series), "When device and host work.")


def _name(process: Process, kind: int) -> str:
    return HOST[kind][0] if kind in HOST else process.rows[kind].name


def _joined(start: Any, end: Any, step: float) -> tuple[list[float], list[float]]:
    """Return intervals in order; neighbours with a gap below `step` are one. Of too many, the step is doubled."""
    order = np.argsort(start, kind="stable")
    low: list[float] = []
    high: list[float] = []
    for a, b in zip(start[order].tolist(), end[order].tolist(), strict=True):
        if low and a - high[-1] < step:
            high[-1] = max(high[-1], b)
        else:
            low.append(a)
            high.append(b)
    return (low, high) if len(low) <= MOST_BARS else _joined(np.array(low), np.array(high), 2 * step)


def trace_events(recording: Recording) -> list[dict[str, Any]]:
    """Return the timeline as events of the Trace Event Format, which Perfetto and Chrome read [us]."""
    events: list[dict[str, Any]] = []
    for number, process in enumerate(recording.processes):
        names = {"name": f"{process.about.host} {process.folder.name}"}
        events.append({"ph": "M", "pid": number, "name": "process_name", "args": names})
        for start, end, kind in process.timeline.tolist():
            row = process.rows[kind] if kind >= 0 else None
            event = {
                "ph": "X", "pid": number, "tid": f"device {row.device}" if row else "host",
                "name": _name(process, kind), "ts": start / 1e3, "dur": (end - start) / 1e3,
            }  # fmt: skip
            events.append(event | ({"args": {"sizes": dict(row.sizes)}} if row and row.sizes else {}))
    return events
