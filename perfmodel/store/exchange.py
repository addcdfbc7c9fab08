"""Measurements for other programs (a flat table, pandas, CSV, T4), and the results of other tuners, maybe gzipped.

T4 is the auto-tuning community's format for results (Lorentz Center workshop, March 2022): results schema 1.0.0, times
in milliseconds. Kernel Tuner appends a line to its cache for each timed configuration, and two braces at the end. After
an interrupted run the missing braces are added as in ``kernel_tuner.util.correct_open_cache`` (version 1.5), and an
incomplete last line is left out. A table of times is CSV. Its columns are integer parameters, then ``min_ms`` [ms], and
``invalid``. The last column has Kernel Tuner's word for the reason of a missing time.
"""

import csv
import gzip
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from perfmodel import display
from perfmodel.documents import MOST_BYTES, canonical, json_document, read_file, reading, shortened
from perfmodel.errors import DocumentError
from perfmodel.store.measurement import LONGEST_S, SHORTEST_S, Measurement, Status

TIME_COLUMN: Final = b"min_ms"
OTHER_COLUMNS = ("min_ms", "median_ms", "runs", "invalid")
# Kernel Tuner's words for failures, in ``__error__`` or (before version 1.1) instead of the time.
_ERRORS: Mapping[str, Status] = {
    "InvalidConfig": "constraint", "CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime",
    "ErrorConfig": "runtime",
}  # fmt: skip
_INVALIDITY: Mapping[str, Status] = {
    "correct": "ok", "constraints": "constraint", "compile": "compile", "runtime": "runtime", "timeout": "timeout",
    "correctness": "correctness",
}  # fmt: skip
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "seconds": 1.0, "milliseconds": 1e-3, "microseconds": 1e-6,
          "nanoseconds": 1e-9}  # fmt: skip
_FAILED_MS: Final = 1e20  # time of a failed configuration in files of older versions of Kernel Tuner [ms]


def table(rows: Iterable[Measurement]) -> list[dict[str, Any]]:
    """Return one flat dict for each record, all with the same keys. A value that a record lacks is None."""
    rows = tuple(rows)
    variants = sorted({name for row in rows for name in row.variant})
    sizes = sorted({name for row in rows for name in row.parameters})
    return [_cells(row, variants, sizes) for row in rows]


def _cells(row: Measurement, variants: list[str], sizes: list[str]) -> dict[str, Any]:
    ok = row.status == "ok"
    return {
        "kernel": row.kernel, "group": row.group, "tags": " ".join(row.tags), "isolates": row.isolates,
        **{f"variant.{name}": _cell(row.variant.get(name)) for name in variants},
        **{f"parameters.{name}": row.parameters.get(name) for name in sizes}, "status": row.status,
        "seconds": row.seconds if ok else None, "median_s": row.median if ok else None,
        "spread": row.spread if ok else None, "launch_overhead_s": row.launch_overhead_s,
        "visits": len(row.every_visit) if row.samples_s else 0,
        "disagreement": None if math.isnan(row.disagreement) else row.disagreement, "runs": len(row.samples_s),
        "dropped": len(row.samples_s) - len(row.kept_s), "flags": " ".join(row.flags),
        "place_in_order": row.place_in_order, "device": row.device, "platform": row.platform, "driver": row.driver,
        "kernel_hash": row.kernel_hash, "counts_hash": row.counts_hash, "taken_at": row.taken_at,
        "message": row.message,
    }  # fmt: skip


def _cell(value: Any) -> Any:
    return canonical(value) if isinstance(value, (list, dict)) else value


def csv_text(rows: Iterable[Measurement]) -> str:
    """Return :func:`table` as comma-separated values with one line of headings. None is empty."""
    cells = table(rows)
    return display.csv_text(list(cells[0]), cells) if cells else ""


def t4(rows: Iterable[Measurement]) -> dict[str, Any]:
    """Return records as a document of the T4 results schema, version 1.0.0.

    A configuration is the name, the variant and the sizes of a kernel in one flat object. A size with the name of a
    variant's key becomes ``parameters.<name>``. The objective ``time`` is the minimum after the drop [ms].
    """
    return {"schema_version": "1.0.0", "results": [_result(row) for row in rows]}


def _result(row: Measurement) -> dict[str, Any]:
    ok = row.status == "ok"
    sizes = {name if name not in row.variant else f"parameters.{name}": size for name, size in row.parameters.items()}
    times = {"time": row.seconds, "time_median": row.median} if ok else {}
    if ok and row.launch_overhead_s is not None:
        times["time_launch_overhead"] = row.launch_overhead_s
    return {
        "timestamp": row.taken_at, "configuration": {"kernel": row.kernel, **row.variant, **sizes},
        "objectives": ["time"], "times": {"runtimes": [1e3 * seconds for seconds in row.kept_s]},
        "invalidity": next(word for word, status in _INVALIDITY.items() if status == row.status),
        "correctness": int(ok),
        "measurements": [{"name": name, "value": 1e3 * time, "unit": "ms"} for name, time in times.items()],
    }  # fmt: skip


@dataclass(frozen=True)
class TunerResult:
    """Times of one configuration by a tuner [s]. A failed configuration has none."""

    configuration: Mapping[str, Any]
    status: Status
    samples_s: tuple[float, ...] = ()
    message: str = ""
    taken_at: str = ""


@dataclass(frozen=True)
class TunerResults:
    """The results in a tuner's file, in the order of the file. `refused` has a sentence for each invalid entry."""

    path: str
    form: str  # "Kernel Tuner cache", "T4" or "table of times"
    device: str | None
    kernel: str | None
    results: tuple[TunerResult, ...]
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # on the file


def read_results(path: str | Path) -> TunerResults:
    """Read a cache file of Kernel Tuner, a file of T4 results, or a table of times, or raise DocumentError."""
    path = Path(path)
    try:
        with reading(path):
            content = unpacked(read_file(path))
            if TIME_COLUMN in content.partition(b"\n")[0].split(b","):
                lines = enumerate(csv.DictReader(content.decode("utf-8", "replace").splitlines()), start=2)
                return _results(path, "table of times", ((f"line {line}", cells) for line, cells in lines), _table_row)
            document, notes = _document(content)
        if isinstance(document, dict) and isinstance(document.get("cache"), dict):
            return _kernel_tuner(path, document, notes)
        if isinstance(document, dict) and isinstance(document.get("results"), list):
            return _t4(path, document)
        found = type(document).__name__
        if isinstance(document, dict):
            found = f"an object with {', '.join(map(shortened, document)) or 'nothing'}"
        raise DocumentError(f"is {found}: it has neither 'cache' nor 'results'")
    except DocumentError as error:
        raise DocumentError(
            f"'{path}' {error.problem}",
            "give a cache file of Kernel Tuner (its tune_kernel(cache=...) writes it), a file of T4 results of version "
            "1, or a CSV table with the column min_ms",
        ) from error


def _results(
    path: Path, form: str, entries: Iterable[tuple[str, Any]], read: Callable[[Any], TunerResult],
    device: Any = None, kernel: Any = None, notes: tuple[str, ...] = (),
) -> TunerResults:  # fmt: skip
    found, refused = [], []
    for position, entry in entries:
        try:
            found.append(read(entry))
        except DocumentError as error:
            refused.append(f"{position} {error.problem}")
    names = [name if isinstance(name, str) and name else None for name in (device, kernel)]
    return TunerResults(str(path), form, names[0], names[1], tuple(found), tuple(refused), notes)


def unpacked(content: bytes) -> bytes:
    """Return the bytes of a file, without gzip. Raise DocumentError if the file is damaged or too long."""
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        with gzip.open(BytesIO(content)) as stream:
            plain = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DocumentError(f"cannot be unpacked ({error})") from error
    if len(plain) > MOST_BYTES:
        raise DocumentError(f"has more than {MOST_BYTES} bytes when it is unpacked, the allowed size")
    return plain


def _table_row(cells: Mapping[str, str | None]) -> TunerResult:
    try:
        configuration = {name: int(cell or "") for name, cell in cells.items() if name not in OTHER_COLUMNS}
        if reason := cells.get("invalid"):
            return TunerResult(configuration, _ERRORS.get(reason, "runtime"), (), f"table: {reason}")
        return TunerResult(configuration, "ok", _seconds([float(cells["min_ms"] or "")], "ms"))
    except (TypeError, ValueError) as error:
        raise DocumentError(f"does not have integers and a time ({error})") from error


def _document(content: bytes) -> tuple[Any, tuple[str, ...]]:
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
        with suppress(DocumentError):
            return json_document(part.rstrip().removesuffix(b",") + b"}\n}"), (note,)
    raise first


def _kernel_tuner(path: Path, document: Mapping[str, Any], notes: tuple[str, ...]) -> TunerResults:
    names = document.get("tune_params_keys")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DocumentError("does not name its parameters: 'tune_params_keys' must be a list of names")

    def read(entry: Any) -> TunerResult:
        if not isinstance(entry, dict):
            raise DocumentError(f"is {type(entry).__name__}, not an object")
        if missing := [name for name in names if name not in entry]:
            raise DocumentError(f"has no value for {', '.join(missing)}")
        configuration, taken = {name: entry[name] for name in names}, str(entry.get("timestamp", ""))
        failed = entry.get("__error__", entry.get("time"))
        if isinstance(failed, str):
            return TunerResult(configuration, _ERRORS.get(failed, "runtime"), (), f"Kernel Tuner: {failed}", taken)
        if failed == _FAILED_MS:
            return TunerResult(configuration, "runtime", (), "Kernel Tuner: the time 1e20 marks a failure", taken)
        times = entry.get("times")
        runs = times if isinstance(times, list) and times else [entry.get("time")]
        return TunerResult(configuration, "ok", _seconds(runs, "ms"), "", taken)

    entries = ((f"the entry {shortened(key)}", entry) for key, entry in document["cache"].items())
    device, kernel = document.get("device_name"), document.get("kernel_name")
    return _results(path, "Kernel Tuner cache", entries, read, device, kernel, notes)


def _t4(path: Path, document: Mapping[str, Any]) -> TunerResults:
    version, metadata = document.get("schema_version"), document.get("metadata")
    if not isinstance(version, str) or version.partition(".")[0] != "1":
        raise DocumentError(f"has results of the schema version {version!r}, and version 1 is known here")
    unit = str(metadata.get("timeunit", "ms")) if isinstance(metadata, dict) else "ms"
    entries = ((f"result {number}", entry) for number, entry in enumerate(document["results"], start=1))
    return _results(path, "T4", entries, lambda entry: _t4_result(entry, unit))


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
    times, measured = entry.get("times"), entry.get("measurements")
    runs = times.get("runtimes") if isinstance(times, dict) else None
    if isinstance(runs, list) and runs:
        return TunerResult(configuration, status, _seconds(runs, unit), "", taken)
    for figure in measured if isinstance(measured, list) else ():
        if isinstance(figure, dict) and figure.get("name") == "time":
            seconds = _seconds([figure.get("value")], figure.get("unit") or unit)
            return TunerResult(configuration, status, seconds, "", taken)
    raise DocumentError("has neither runtimes nor a measurement 'time'")


def _seconds(times: Iterable[Any], unit: Any) -> tuple[float, ...]:
    if not isinstance(unit, str) or unit not in _UNITS:
        raise DocumentError(f"has times in {shortened(unit)}; allowed are {', '.join(_UNITS)}")
    seconds = []
    for time in times:
        if isinstance(time, bool) or not isinstance(time, (int, float)) or not time > 0:
            raise DocumentError(f"has the time {shortened(time)}, which is not a number above 0")
        seconds.append(_UNITS[unit] * float(time))
        if not SHORTEST_S <= seconds[-1] <= LONGEST_S:
            problem = f"has the time {shortened(time)}; a record holds times from {SHORTEST_S:g} to {LONGEST_S:g} s"
            raise DocumentError(problem)
    return tuple(seconds)
