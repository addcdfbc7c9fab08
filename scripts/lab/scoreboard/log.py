"""The scoreboard as CSV: rows are only ever added, and a page and a picture are drawn from them."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from io import StringIO
from pathlib import Path
from typing import Any

from perfmodel.display import cell_text, csv_text
from perfmodel.documents import read_file
from perfmodel.errors import DocumentError, StoreError
from perfmodel.store.lines import wrong_line
from scripts.lab.scoreboard.scoring import Scoring

COLUMNS = tuple(one.name for one in fields(Scoring))
REASON = "reason"
"""Column of the log of scorings of the paper's test kernels, next to :data:`COLUMNS`."""
DIGITS = 6


def scoreboard_csv(rows: Iterable[Scoring]) -> str:
    """Return scorings as CSV, numbers with six digits; what there is not is empty."""
    return csv_text(COLUMNS, map(_record, rows))


def log_csv(rows: Iterable[tuple[str, Scoring]]) -> str:
    """Return scorings of the paper's test kernels as CSV, each with its reason."""
    records = ({REASON: reason, **_record(one)} for reason, one in rows)
    return csv_text((REASON, *COLUMNS), records)


def read_scoreboard(path: Path) -> tuple[Scoring, ...]:
    """Return the scorings of a CSV file; none without the file.

    Raises StoreError if a line is none of :func:`scoreboard_csv`.
    """
    return tuple(one for _, one in _read(path, COLUMNS))


def read_log(path: Path) -> tuple[tuple[str, Scoring], ...]:
    """Return the logged scorings, each with its reason; see :func:`read_scoreboard`."""
    return _read(path, (REASON, *COLUMNS))


def latest(rows: Iterable[Scoring]) -> tuple[Scoring, ...]:
    """Return for each device, model, protocol and set of kernels the last scoring.

    A problem replaces all earlier figures of a model on a device, and figures replace a problem.
    """
    found: dict[tuple[str, str], dict[tuple[str, str], Scoring]] = {}
    for one in rows:
        own = found.setdefault((one.device, one.model), {})
        if one.problem or any(other.problem for other in own.values()):
            own.clear()
        own[one.protocol, one.kernels] = one
    return tuple(one for own in found.values() for one in own.values())


def _record(one: Scoring) -> dict[str, Any]:
    return {name: _cell(value) for name, value in asdict(one).items()}


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.{DIGITS}g}"
    return value


def _read(path: Path, columns: Sequence[str]) -> tuple[tuple[str, Scoring], ...]:
    if not path.is_file():
        return ()
    try:
        lines = csv.DictReader(StringIO(read_file(path).decode()), strict=True)
        if tuple(lines.fieldnames or ()) != tuple(columns):
            expected = ",".join(columns)
            raise wrong_line(path, 1, f"has not the columns of a scoreboard, which are '{expected}'")
        return tuple((cell_text(one.get(REASON, "")), _scoring(one)) for one in lines)
    except (DocumentError, UnicodeError) as error:
        raise wrong_line(path, 1, getattr(error, "problem", str(error))) from error
    except (csv.Error, ValueError, TypeError) as error:
        if isinstance(error, StoreError):
            raise
        raise wrong_line(path, lines.line_num, f"is not a row of a scoreboard ({error})") from error


def _scoring(cells: Mapping[str, str]) -> Scoring:
    readers: dict[str, Callable[[str], Any]] = {"str": _text, "int": int, "float": _number, "bool": _truth}
    return Scoring(**{one.name: readers[str(one.type)](cells[one.name]) for one in fields(Scoring)})


def _text(cell: str | None) -> str:
    return cell_text(str(cell))  # a short row has None


def _truth(text: str) -> bool:
    return bool(int(text))


def _number(text: str) -> float:
    return float(text) if text else math.nan
