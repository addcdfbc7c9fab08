"""All probes of a device, in visits with long pauses, which are appended to ``probes.jsonl``.

A series has all visits of all probes. After a stop at any time, the next call continues it. A file names the probe
under way. If a probe ends the process twice, it is recorded as failed.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic

from perfmodel import store as stored
from perfmodel.facts.doubts import DISTURBED, disturbed
from perfmodel.facts.probed import Point, ProbeRun
from perfmodel.io import replace_file
from perfmodel.measuring import timing
from perfmodel.measuring.campaign import DEFAULT
from perfmodel.measuring.lock import LoadWatch, locked
from perfmodel.measuring.probes import PROBES
from perfmodel.measuring.probes.probe import THOROUGH, Earlier, Instrument, Probe, ProbeSettings
from perfmodel.opencl import Device
from perfmodel.progress import FailedStep, Progress, Silent, task
from perfmodel.store.files import append_probe, probes_path, read_probes
from perfmodel.store.lines import failure

TRIES = 3  # most attempts at a visit with impossible times


def measure_probes(
    device: Device, folder: Path, progress: Progress | None = None, settings: ProbeSettings = THOROUGH,
    again: bool = False,
) -> tuple[ProbeRun, ...]:  # fmt: skip
    """Run the probes that a device's folder lacks, and return all probes of the folder.

    If the folder has thorough probes, brief probes are not run. With `again` a new series begins, unless the last
    series is incomplete. Facts of a new series replace the earlier ones. Raise DeviceBusyError if another campaign does
    not end in an hour.
    """
    progress = progress or Silent()
    stored.prepare(folder, device.facts)
    with locked(device.facts, progress, DEFAULT.wait_s):
        series, todo = _todo(read_probes(folder), device.facts.driver, settings, again)
        if not todo:
            return read_probes(folder)
        instrument, watch = Instrument(device), LoadWatch(progress.report)
        with task(progress, "probing the device", len(todo)):
            for visit, probe in todo:
                for _ in range(TRIES):
                    with _under_way(folder, f"{series} {visit} {probe.name}") as deaths:
                        run = _visited(instrument, folder, settings, probe, (series, visit), deaths)
                        append_probe(folder, run)
                    if not run.message.startswith(DISTURBED):
                        break
                watch.look()
                progress.advance(FailedStep(probe.name, run.message) if run.message else probe.name)
    return read_probes(folder)


def _todo(known: Earlier, driver: str, settings: ProbeSettings, again: bool) -> tuple[int, list[tuple[int, Probe]]]:
    """Return the last series (or a new one for a new driver or settings), and its missing visits and probes."""
    series = max((run.series for run in known), default=0)
    visits = [(visit, probe) for probe in PROBES for visit in range(probe.visits(settings))]
    every = sorted(visits, key=lambda pair: pair[0])
    done = {(run.visit, run.probe) for run in known if run.series == series and run.driver == driver}
    todo = [(visit, probe) for visit, probe in every if (visit, probe.name) not in done]
    others = {(run.campaign, run.driver) for run in known if run.series == series} - {(settings.name, driver)}
    if (todo and others) or (again and not todo):
        return series + 1, every
    return series, todo


def _visited(
    instrument: Instrument, folder: Path, settings: ProbeSettings, probe: Probe, position: tuple[int, int], deaths: int
) -> ProbeRun:
    began, facts, (series, visit) = monotonic(), instrument.device.facts, position
    points, message = tuple[Point, ...](), "it ended the process twice"
    if deaths < 2:
        earlier = tuple(run for run in read_probes(folder) if run.series == series)
        points, message = probe.timed(instrument, settings, earlier)
    run = ProbeRun(
        probe.name, settings.name, series, visit, facts.name, facts.platform, facts.driver, dict(timing.versions()),
        timing.now("seconds"), round(monotonic() - began, 3), settings.dropped, points,
        "failed" if message else "ok", message,
    )  # fmt: skip
    if reason := disturbed(run):
        return replace(run, status="failed", message=f"{DISTURBED}{reason}")
    return run


@contextmanager
def _under_way(folder: Path, what: str) -> Iterator[int]:
    """Name the visit under way in a file. Yield how often a process has ended in the middle of this visit."""
    path = probes_path(folder).with_suffix(".begun")
    before = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    deaths = before.count(what)
    try:
        replace_file(path, (f"{what}\n" * (deaths + 1)).encode())
    except OSError as error:
        raise failure(path, error) from error
    try:
        yield deaths
    finally:
        with suppress(OSError):
            path.unlink()
