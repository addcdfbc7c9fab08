"""The file of a device's probes: one line for each visit of a probe."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from perfmodel.documents import Schema, value_of
from perfmodel.facts.probe_run import SCHEMA, ProbeRun
from perfmodel.store.lines import append_line, read_lines

FILE = "probes.jsonl"
PROBE = Schema(SCHEMA, "probe again: perfmodel calibrate --probes")


def probes_path(path: Path | str) -> Path:
    """Return the file of probes in the folder of a store (a folder, or a ``.jsonl`` file in it).

    Examples
    --------
    >>> probes_path("fitted_weights/pocl/test.jsonl").as_posix()
    'fitted_weights/pocl/probes.jsonl'
    """
    path = Path(path)
    return (path.parent if path.suffix == ".jsonl" else path) / FILE


def append_probe(path: Path | str, run: ProbeRun) -> None:
    """Add a visit to the file of probes beside a store.

    Raises
    ------
    OutputError
        The file cannot be written; what it held is unharmed.
    """
    append_line(probes_path(path), asdict(run))


def read_probes(path: Path | str) -> tuple[ProbeRun, ...]:
    """Read the visits of probes beside a store, in their order; none where there is no file.

    Raises
    ------
    NewerSchemaError
        A newer version of perfmodel wrote a line.
    StoreFormatError
        The file cannot be read.

    Warns
    -----
    SetAsideWarning
        A line is damaged; it is left out.
    """
    file = probes_path(path)
    if not file.is_file():
        return ()
    return tuple(run for _, run in read_lines(file, _run, needed=False)[0])


def _run(line: bytes) -> ProbeRun:
    return value_of(ProbeRun, line, PROBE)
