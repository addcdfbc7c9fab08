"""Measurements for other programs (a flat table, pandas, CSV, T4), and the results of other tuners.

T4 is the auto-tuning community's format for results (Lorentz Center workshop, March 2022), which Kernel Tuner writes:
results schema 1.0.0, times in milliseconds. Kernel Tuner appends a line to its cache for each timed configuration and
closes the file at the end: the file of an interrupted run lacks its last two braces, which are added here as in
``kernel_tuner.util.correct_open_cache`` (version 1.5). A torn last line is left out.

A table of times is CSV: columns of integer parameters, then ``min_ms`` [ms], and ``invalid``, Kernel Tuner's word for
the reason of a missing time. A file of each kind may be packed by gzip.
"""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from perfmodel import display
from perfmodel.documents import LIMITS, json_document, read_file, reading, shortened
from perfmodel.errors import DocumentError, ResultsError
from perfmodel.store.measurement import LONGEST_S, SHORTEST_S, Measurement, Status, canonical

if TYPE_CHECKING:
    from pandas import DataFrame

T4_VERSION: Final = "1.0.0"
KERNEL_TUNER: Final = "Kernel Tuner cache"
T4: Final = "T4"
TABLE: Final = "table of times"
TIME_COLUMN: Final = b"min_ms"
#: Kernel Tuner's words for failures, in ``__error__`` or (before version 1.1) in place of the time.
_ERRORS: Mapping[str, Status] = {
    "InvalidConfig": "constraint",
    "CompilationFailedConfig": "compile",
    "RuntimeFailedConfig": "runtime",
    "ErrorConfig": "runtime",
}
_INVALIDITY: Mapping[str, Status] = {
    "correct": "ok",
    "constraints": "constraint",
    "compile": "compile",
    "runtime": "runtime",
    "timeout": "timeout",
    "correctness": "correctness",
}
#: Seconds of a unit of time, as T4 files write it.
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6,
          "nanoseconds": 1e-9}  # fmt: skip
_MS = 1e-3
_WORDS: Mapping[str, str] = {status: word for word, status in _INVALIDITY.items()}
#: Time of a failed configuration in files of older versions of Kernel Tuner [ms].
_FAILED_MS: Final = 1e20


def table(rows: Iterable[Measurement]) -> list[dict[str, Any]]:
    """Return one flat dict for each record, all with the same keys; values that a record lacks are None."""
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
    """Return :func:`table` as comma-separated values with one line of headings; None is empty."""
    cells = table(rows)
    return display.csv_text(list(cells[0]), cells) if cells else ""


def frame(rows: Iterable[Measurement]) -> DataFrame:
    """Return :func:`table` as a pandas ``DataFrame``, or raise MissingExtraError."""
    return display.data_frame(table(rows))


def t4(rows: Iterable[Measurement]) -> dict[str, Any]:
    """Return records as a document of the T4 results schema, version 1.0.0.

    A configuration is the kernel's name, its variant and its sizes in one flat object; a size with the name of a
    variant's key becomes ``parameters.<name>``. The objective ``time`` is the minimum after the drop [ms].
    """
    return {"schema_version": T4_VERSION, "results": [_result(row) for row in rows]}


def _result(row: Measurement) -> dict[str, Any]:
    sizes = {name if name not in row.variant else f"parameters.{name}": size for name, size in row.parameters.items()}
    return {
        "timestamp": row.taken_at,
        "configuration": {"kernel": row.kernel, **row.variant, **sizes},
        "objectives": ["time"],
        "times": {"runtimes": [1e3 * seconds for seconds in row.kept_s]},
        "invalidity": _WORDS[row.status],
        "correctness": 1 if row.status == "ok" else 0,
        "measurements": _figures(row) if row.status == "ok" else [],
    }


def _figures(row: Measurement) -> list[dict[str, Any]]:
    times = [("time", row.seconds), ("time_median", row.median)]
    if row.launch_overhead_s is not None:
        times.append(("time_launch_overhead", row.launch_overhead_s))
    return [{"name": name, "value": 1e3 * seconds, "unit": "ms"} for name, seconds in times]


def _cell(value: Any) -> Any:
    return canonical(value) if isinstance(value, (list, dict)) else value


@dataclass(frozen=True)
class TunerResult:
    """The times of one configuration by a tuner [s]; none if it failed."""

    configuration: Mapping[str, Any]
    status: Status
    samples_s: tuple[float, ...] = ()
    message: str = ""
    taken_at: str = ""


@dataclass(frozen=True)
class TunerResults:
    """The results in a tuner's file.

    Parameters
    ----------
    path
        The file.
    form
        :data:`KERNEL_TUNER`, :data:`T4` or :data:`TABLE`.
    device, kernel
        Names, if the file has them.
    results
        One for each configuration, in the order of the file.
    refused
        A sentence for each invalid entry.
    notes
        Remarks about the file.
    """

    path: str
    form: str
    device: str | None
    kernel: str | None
    results: tuple[TunerResult, ...]
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_results(path: str | Path) -> TunerResults:
    """Read a cache file of Kernel Tuner, a file of T4 results, or a table of times, or raise ResultsError."""
    path = Path(path)
    try:
        with reading(path):
            content = unpacked(read_file(path))
            if TIME_COLUMN in content.partition(b"\n")[0].split(b","):
                return _table_of_times(path, content)
            document, notes = _document(path, content)
    except DocumentError as error:
        raise _refused(path, error.problem) from error
    if isinstance(document, dict) and isinstance(document.get("cache"), dict):
        return _kernel_tuner(path, document, notes)
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        return _t4(path, document)
    found = f"an object with {', '.join(map(shortened, document)) or 'nothing'}" if isinstance(document, dict) else ""
    raise _refused(path, f"is {found or type(document).__name__}: it has neither 'cache' nor 'results'")


def _refused(path: Path, problem: str) -> ResultsError:
    return ResultsError(
        f"'{path}' {problem}",
        "give a cache file of Kernel Tuner (its tune_kernel(cache=...) writes it), a file of T4 results of version 1, "
        "or a CSV table with the column min_ms",
    )


def unpacked(content: bytes) -> bytes:
    """Return the bytes of a file, without gzip; DocumentError if it is damaged or too long."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.open(BytesIO(content)) as stream:
            plain = stream.read(LIMITS.bytes + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(f"cannot be unpacked ({error})") from error
    if len(plain) > LIMITS.bytes:
        raise DocumentError(f"has more than {LIMITS.bytes} bytes when it is unpacked, the allowed size")
    return plain


def _table_of_times(path: Path, content: bytes) -> TunerResults:
    found, refused = [], []
    lines = csv.DictReader(content.decode("utf-8", "replace").splitlines())
    for number, cells in enumerate(lines, start=2):
        try:
            found.append(_table_row(cells))
        except DocumentError as error:
            refused.append(f"line {number} {error.problem}")
    return TunerResults(str(path), TABLE, None, None, tuple(found), tuple(refused))


def _table_row(cells: Mapping[str, str | None]) -> TunerResult:
    """Return the result of a line; other columns are left out."""
    given = {name: cell for name, cell in cells.items() if name not in ("min_ms", "median_ms", "runs", "invalid")}
    try:
        configuration = {name: int(cell or "") for name, cell in given.items()}
        reason, time = cells.get("invalid"), cells["min_ms"]
        if reason:
            return TunerResult(configuration, _ERRORS.get(reason, "runtime"), (), f"table: {reason}")
        return TunerResult(configuration, "ok", _seconds([float(time or "")], _MS))
    except (TypeError, ValueError) as error:
        raise DocumentError(f"does not have integers and a time ({error})") from error


def _document(path: Path, content: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return the file's document, and a note if its last braces were missing."""
    try:
        return json_document(content), ()
    except DocumentError as error:
        first = error
    text = content.rstrip()
    whole, _, torn = text.rpartition(b"\n")
    closed = [(text, "the file was not closed, as after an interrupted run")]
    if b'"cache"' in whole:
        shown = shortened(torn.decode("utf-8", "replace"), 60)
        closed.append((whole, f"the file was not closed, and its last line is torn: {shown} was left out"))
    for part, note in closed:
        try:
            return json_document(part.rstrip().removesuffix(b",") + b"}\n}"), (note,)
        except DocumentError:
            continue
    raise _refused(path, first.problem) from first


def _kernel_tuner(path: Path, document: Mapping[str, Any], notes: tuple[str, ...]) -> TunerResults:
    names = document.get("tune_params_keys")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _refused(path, "does not name its parameters: 'tune_params_keys' must be a list of names")
    found, refused = [], []
    for key, entry in document["cache"].items():
        try:
            found.append(_entry(entry, names))
        except DocumentError as error:
            refused.append(f"the entry {shortened(key)} {error.problem}")
    device, kernel = document.get("device_name"), document.get("kernel_name")
    return TunerResults(str(path), KERNEL_TUNER, _text(device), _text(kernel), tuple(found), tuple(refused), notes)


def _entry(entry: Any, names: Iterable[str]) -> TunerResult:
    """Return the result of an entry of Kernel Tuner's cache."""
    if not isinstance(entry, dict):
        raise DocumentError(f"is {type(entry).__name__}, not an object")
    missing = [name for name in names if name not in entry]
    if missing:
        raise DocumentError(f"has no value for {', '.join(missing)}")
    configuration = {name: entry[name] for name in names}
    taken = str(entry.get("timestamp", ""))
    failed = entry.get("__error__", entry.get("time"))
    if isinstance(failed, str):
        return TunerResult(configuration, _ERRORS.get(failed, "runtime"), (), f"Kernel Tuner: {failed}", taken)
    if failed == _FAILED_MS:
        return TunerResult(configuration, "runtime", (), "Kernel Tuner: the time 1e20 marks a failure", taken)
    times = entry.get("times")
    if not isinstance(times, list) or not times:
        times = [entry.get("time")]
    return TunerResult(configuration, "ok", _seconds(times, _MS), "", taken)


def _t4(path: Path, document: Mapping[str, Any]) -> TunerResults:
    version = document.get("schema_version")
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        raise _refused(path, f"has results of the schema version {version!r}, and version 1 is known here")
    unit = _metadata_unit(document.get("metadata"))
    found, refused = [], []
    for place, entry in enumerate(document["results"], start=1):
        try:
            found.append(_t4_result(entry, unit))
        except DocumentError as error:
            refused.append(f"result {place} {error.problem}")
    return TunerResults(str(path), T4, None, None, tuple(found), tuple(refused))


def _t4_result(entry: Any, unit: str) -> TunerResult:
    if not isinstance(entry, dict) or not isinstance(entry.get("configuration"), dict):
        raise DocumentError("has no 'configuration' that is an object")
    word = entry.get("invalidity")
    if not isinstance(word, str) or word not in _INVALIDITY:
        raise DocumentError(f"has the invalidity {shortened(word)}; allowed are {', '.join(_INVALIDITY)}")
    status = _INVALIDITY[word]
    if status == "ok" and entry.get("correctness") == 0:
        status = "correctness"
    configuration, taken = entry["configuration"], str(entry.get("timestamp", ""))
    if status != "ok":
        return TunerResult(configuration, status, (), f"T4: {word}", taken)
    times = entry.get("times")
    runs = times.get("runtimes") if isinstance(times, dict) else None
    if isinstance(runs, list) and runs:
        return TunerResult(configuration, status, _seconds(runs, _scale(unit)), "", taken)
    return TunerResult(configuration, status, _objective(entry, unit), "", taken)


def _objective(entry: Mapping[str, Any], unit: str) -> tuple[float, ...]:
    """Return the measured time of a result without runtimes [s]."""
    measured = entry.get("measurements")
    for figure in measured if isinstance(measured, list) else ():
        if isinstance(figure, dict) and figure.get("name") == "time":
            return _seconds([figure.get("value")], _scale(figure.get("unit") or unit))
    raise DocumentError("has neither runtimes nor a measurement 'time'")


def _metadata_unit(metadata: Any) -> str:
    return str(metadata.get("timeunit", "ms")) if isinstance(metadata, dict) else "ms"


def _scale(unit: Any) -> float:
    if not isinstance(unit, str) or unit not in _UNITS:
        raise DocumentError(f"has times in {shortened(unit)}; allowed are {', '.join(_UNITS)}")
    return _UNITS[unit]


def _seconds(times: Iterable[Any], scale: float) -> tuple[float, ...]:
    seconds = []
    for time in times:
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not time > 0:
            raise DocumentError(f"has the time {shortened(time)}, which is not a number above 0")
        if not SHORTEST_S <= scale * float(time) <= LONGEST_S:
            raise DocumentError(
                f"has the time {shortened(time)}; a record holds times from {SHORTEST_S:g} to {LONGEST_S:g} s"
            )
        seconds.append(scale * float(time))
    return tuple(seconds)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
