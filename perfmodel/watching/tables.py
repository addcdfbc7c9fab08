"""An explained recording as text, as records of a table, and as a document for JSON."""

import re
from collections.abc import Mapping
from typing import Any

from perfmodel.calibration.recommended import verdict_of
from perfmodel.display import Column, Table, finite, interval_text, percent, seconds_text, values_text
from perfmodel.documents import shortened
from perfmodel.report.sweeps import interval_cell, noted_lines
from perfmodel.watching.explained import LEVEL, Explained, Explanation
from perfmodel.watching.recording import Recording, Row

OUTSIDE = "!"  #: Mark of a kernel whose measured time is outside of the interval
SMALL = 0.002  # share of the devices' time below which a row of a table is left out of the text
MOST_OTHERS = 8
NOTABLE = 1.05  # slowdown by the host's thread from which on the text has a column for it
FEW = 2  # calls whose times are in doubt
LONGEST = 40  # characters of a row's sizes
_STRIDE = re.compile(r"_stride\d+$")  # an argument that Loopy adds for an array of unknown layout

COLUMNS = {column.name: column for column in (
    Column("kernel", "kernel"), Column("device", "device"), Column("sizes", "sizes_text"), Column("calls", "calls"),
    Column("total", "total_s", seconds_text), Column("share", "share", percent),
    Column("fastest", "fastest_s", seconds_text), Column("median", "median_s", seconds_text),
    Column("alone", "alone_s", seconds_text), Column("predicted", "predicted_s", seconds_text),
    Column("with host", "beside_s", seconds_text), Column("interval", write=interval_cell), Column("", "mark"),
    Column("roof", "share_of_roof", percent), Column("to win", "to_win_s", seconds_text),
    Column("largest term", "bound"), Column("called from", "source"),
)}  # fmt: skip
_MEASURED = ("kernel", "sizes", "calls", "total", "share", "fastest", "median")
_PREDICTED = ("predicted", "interval", "", "roof", "to win", "largest term")


def measured_table(recording: Recording) -> Table:
    """Return the measured times of all kernels and other commands."""
    whole = recording.device_s
    records = [_measured(row, whole) for row in recording.rows if row.total_s >= SMALL * whole]
    return Table([COLUMNS[name] for name in _MEASURED], records, 2)


def kernel_table(explanation: Explanation, whole: bool = True) -> Table:
    """Return a record for each kernel at each size; rows with a tiny share are left out unless it is `whole`."""
    every, total = explanation.kernels, explanation.recording.device_s
    shown = [each for each in every if whole or each.row.total_s >= SMALL * total]
    known = {
        "device": len(explanation.recording.devices) > 1, "alone": any(each.row.alone_s is not None for each in shown),
        "with host": any(each.slower > NOTABLE for each in shown),
        **dict.fromkeys(_PREDICTED, any(each.predicted for each in shown)),
    }  # fmt: skip
    columns = [column for name, column in COLUMNS.items() if known.get(name, True)]
    return Table(columns, [_record(each, explanation) for each in shown], 2)


def sizes_text(row: Row) -> str:
    """Return the sizes of a row without strides, which follow from them, in at most :data:`LONGEST` characters."""
    sizes = {name: size for name, size in row.sizes.items() if not _STRIDE.search(name)}
    return shortened(values_text(sizes), LONGEST, quoted=False)


def _measured(row: Row, whole: float) -> dict[str, Any]:
    return {
        "kernel": row.name, "sizes_text": sizes_text(row), "calls": row.calls, "total_s": row.total_s,
        "share": row.total_s / whole if whole else 0.0, "first_s": row.first_s, "fastest_s": row.fastest_s,
        "median_s": row.median_s,
    }  # fmt: skip


def _record(each: Explained, explanation: Explanation) -> dict[str, Any]:
    predicted, point = each.predicted, each.point
    low, high = (predicted and predicted.interval) or (None, None)
    return {
        **_measured(each.row, explanation.recording.device_s), "alone_s": each.row.alone_s,
        "device": explanation.recording.devices[each.row.device].name,
        "predicted_s": predicted and float(predicted.seconds), "low_s": low, "high_s": high,
        "beside_s": each.beside_s, "mark": OUTSIDE if each.inside is False else "",
        "share_of_roof": point and finite(point.share), "to_win_s": each.to_win_s, "bound": each.bound,
        "source": each.row.unit.source if each.row.unit else "", "problem": each.problem,
    }  # fmt: skip


def lines(explanation: Explanation, elsewhere: Mapping[str, Explanation], width: int | None = None) -> list[str]:
    """Return the whole result as lines of text."""
    recording = explanation.recording
    text = [*_head(recording), ""]
    if recording.kernels:
        table = kernel_table(explanation, whole=False)
        text.append(table.text(width))
        if hidden := len(recording.kernels) - len(table.records):
            text.append(f"({hidden} more with a share below {percent(SMALL)}; --json has all)")
    else:
        text.append("the program called no kernel of Loopy")
    text += ["", *_others(recording)]
    if any(each.inside is False for each in explanation.kernels):
        text.append(f"{OUTSIDE}: the measured time is outside of the interval, which should contain {LEVEL:.0%}")
    text += [line for name, other in elsewhere.items() for line in elsewhere_lines(name, other)]
    text += [f"advice: {sentence}" for sentence in explanation.advice]
    text += [f"note: {note}" for note in notes(explanation)]
    return text


def _head(recording: Recording) -> list[str]:
    shares, units = recording.shares, len({row.name for row in recording.kernels})
    processes = f" in {len(recording.processes)} processes" if len(recording.processes) > 1 else ""
    parts = (
        ("device busy", shares.device), ("host alone", shares.host), ("builds", shares.builds),
        ("host waits", shares.waits), ("recording", shares.recording),
    )  # fmt: skip
    devices = ", ".join(device.name for device in recording.devices)
    ended = [process for process in recording.processes if not process.about.finished]
    return [
        f"{units} Loopy kernel{'s' * (units != 1)}, {recording.launches} launch{'es' * (recording.launches != 1)}"
        f"{processes} on {devices}",
        f"{seconds_text(shares.total)}: " + ", ".join(
            f"{name} {seconds_text(seconds)} ({percent(seconds / shares.total)})" for name, seconds in parts
        ),
        *(["the program was killed, or still runs: the last seconds are missing"] if ended else []),
    ]  # fmt: skip


def _others(recording: Recording) -> list[str]:
    others, whole = recording.others, recording.device_s
    if not others:
        return []
    named = [f"{row.name} {row.calls}x {seconds_text(row.total_s)}" for row in others[:MOST_OTHERS]]
    more = f", {len(others) - MOST_OTHERS} more" if len(others) > MOST_OTHERS else ""
    share = percent(sum(row.total_s for row in others) / whole)
    return [f"not Loopy ({share} of the device's time): {', '.join(named)}{more}"]


def elsewhere_lines(name: str, other: Explanation) -> list[str]:
    """Return the predicted time of all kernels on another device, with the launches' part."""
    known = [each for each in other.kernels if each.predicted]
    if not known:
        return [f"on {name}: no kernel can be predicted: {next((each.problem for each in other.kernels), 'none ran')}"]
    measured, missing = sum(each.row.total_s for each in known), len(other.kernels) - len(known)
    bounds = f" ({interval_text(other.interval)} at {LEVEL:.0%})" if other.interval else ""
    text = [
        f"on {name}: {seconds_text(other.seconds)}{bounds} for the kernels, {seconds_text(measured)} here; "
        f"{seconds_text(other.launch_s)} of it for launches"
        + (f"; {missing} rows have no prediction" if missing else "")
    ]
    single = [each.row.name for each in known if each.work_items == 1]
    if single:
        text.append(
            f"  {', '.join(dict.fromkeys(single))}: one work-item, which uses one lane of a GPU; the program would "
            "transform it differently there"
        )
    return text


def notes(explanation: Explanation) -> list[str]:
    """Return refusals with their reasons, cautions of predictions, and limits of the recording."""
    recording = explanation.recording
    unprofiled = sum(process.about.unprofiled for process in recording.processes)
    found = [f"no predictions: {problem}" for problem in explanation.problems.values()]
    for number, model in explanation.models.items():
        if verdict := verdict_of(model.path):
            found.append(f"the weights of {recording.devices[number].name} are {verdict}")
    if unprofiled:
        found.append(
            f"{unprofiled} commands ran in queues without profiling; the host timed each, which made the program wait"
        )
    few = [each.row.name for each in explanation.kernels
           if each.inside is False and each.row.calls <= FEW and each.row.alone_s is None]  # fmt: skip
    if few:
        names = ", ".join(dict.fromkeys(few))
        found.append(
            f"{names}: at most {FEW} calls, and first calls also wait for new memory; --replay runs each kernel again"
        )
    said = [(each.row.name, each.problem) for each in explanation.kernels if each.problem]
    predicted = [(each.row.name, each.predicted) for each in explanation.kernels if each.predicted]
    said += [(name, text) for name, prediction in predicted for text in prediction.warnings]
    found += noted_lines(said, every=0)
    for unit in recording.units:
        if unit.notes:
            more = f" (and {len(unit.notes) - 1} more)" if len(unit.notes) > 1 else ""
            found.append(f"{unit.name}: {unit.notes[0]}{more}")
    return found


def document(explanation: Explanation, elsewhere: Mapping[str, Explanation]) -> dict[str, Any]:
    """Return the whole result for JSON."""
    recording = explanation.recording
    return {
        "command": list(recording.processes[0].about.command), "processes": len(recording.processes),
        "devices": [device.name for device in recording.devices], "seconds": vars(recording.shares),
        "kernels": [
            {name: value for name, value in record.items() if name != "sizes_text"} | {"sizes": dict(each.row.sizes)}
            for record, each in zip(kernel_table(explanation).records, explanation.kernels, strict=True)
        ],
        "others": [_measured(row, recording.device_s) | {"transfer": row.transfer} for row in recording.others],
        "statistics": {unit.name: dict(unit.statistics) for unit in recording.units if unit.statistics},
        "elsewhere": {
            name: {"seconds": other.seconds, "interval": other.interval, "launch_s": other.launch_s}
            for name, other in elsewhere.items()
        },
        "advice": list(explanation.advice), "notes": notes(explanation),
    }  # fmt: skip
