"""Writes the recording of a process: a folder of text files, complete after each write."""

import json
import os
import platform
import sys
import time
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

from perfmodel.errors import PerfModelError
from perfmodel.io import replace_file
from perfmodel.libraries import installed
from perfmodel.watching.units import Sizes, Unit

SCHEMA = "perfmodel.recording/1"
ABOUT, UNITS, ROWS, TIMELINE, PROGRAMS = "recording.json", "units.json", "rows.json", "timeline.csv", "programs"
WAIT, BUILD, OWN = -1, -2, -3  #: Kinds of the host's intervals: it waits, it builds kernels, or the recorder works
LONGEST_S = 120.0  #: Longest time to write the programs of units at the end [s]
DRIVERS = ("POCL_", "DPCPP_", "CL_CONFIG_")  #: Beginnings of environment variables of OpenCL drivers, which are kept
SHARE = 0.02  #: Share of the run time that may be used to write programs before the end


class Writer:
    """Writes the recording of one process into a folder of its own, which it creates at the first write.

    A `recorder` is a :class:`perfmodel.watching.recorder.Recorder`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spent_s = 0.0  # on programs
        self.written_spans = 0  # numbers of the timeline
        self.programs: dict[tuple[int, Sizes], dict[str, Any]] = {}
        self.about = {
            "schema": SCHEMA, "perfmodel": installed("perfmodel"), "command": sys.orig_argv[1:],
            "python": platform.python_version(), "host": platform.node(),
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "environment": {name: value for name, value in os.environ.items() if name.startswith(DRIVERS)},
        }  # fmt: skip

    def write(self, recorder: Any, finished: bool = False, programs: bool = True) -> None:
        """Write the rows, the new part of the timeline, and a program if there is time and it may be read now."""
        from perfmodel.opencl.device import identity_of  # here: readers of recordings import this module too

        if not recorder.rows and not recorder.units:
            return
        (self.folder / PROGRAMS).mkdir(parents=True, exist_ok=True)
        self._timeline(recorder)
        elapsed = 1e-9 * (perf_counter_ns() - recorder.started)
        if programs and not finished and self.spent_s < SHARE * elapsed:
            self._programs(recorder, most=1)
        rows = [_row(key, times, recorder) for key, times in list(recorder.rows.items())]
        self._json(UNITS, [self._unit(unit) for unit in recorder.units])  # the rows refer to units and devices
        about = {
            **self.about, "finished": finished, "unprofiled": recorder.unprofiled,
            "lasted_ns": (recorder.ended or perf_counter_ns()) - recorder.started,
            "devices": [identity_of(handle).to_json() for handle in list(recorder.devices.values())],
        }  # fmt: skip
        files = {ABOUT: about, ROWS: rows}
        for name in files if (self.folder / ROWS).exists() else reversed(files):  # a folder with ABOUT is a recording
            self._json(name, files[name])

    def finish(self, recorder: Any) -> None:
        """Write everything, with the units' programs."""
        self._programs(recorder)
        self.write(recorder, finished=True)

    def _programs(self, recorder: Any, most: int | None = None) -> None:
        """Write programs of units that have none, the one with the longest total time first."""
        begin = perf_counter()
        for (number, sizes, *_), _ in sorted(recorder.rows.items(), key=lambda item: -item[1].total):
            if number is None:
                continue
            unit = recorder.units[number]
            key = number, sizes if unit.by_data else ()
            if key in self.programs:
                continue
            if self.spent_s + perf_counter() - begin > LONGEST_S:
                self.programs[key] = {"problem": f"it was not read: after {LONGEST_S:.0f} s the time was over"}
                continue
            self.programs[key] = self._program(unit, sizes)
            most = None if most is None else most - 1
            if most == 0:
                break
        self.spent_s += perf_counter() - begin

    def _program(self, unit: Unit, sizes: Sizes) -> dict[str, Any]:
        at = dict(zip(unit.parameters, map(int, sizes), strict=False)) if unit.by_data else {}
        name = f"{PROGRAMS}/{len(self.programs)}.json"
        try:
            prepared = unit.prepared(sizes)
            self._json(name, prepared.to_json())
        except PerfModelError as error:
            return {"sizes": at, "problem": str(error)}
        except Exception as error:  # an unusual kernel must not end the recording
            return {"sizes": at, "problem": f"{type(error).__name__}: {error}"}
        unit.notes += prepared.notes
        return {"sizes": at, "program": name, "statistics": prepared.found}

    def _unit(self, unit: Unit) -> dict[str, Any]:
        programs = [program for (number, _), program in self.programs.items() if number == unit.number]
        return {
            "name": unit.name, "key": unit.key, "parameters": unit.parameters, "made": unit.made,
            "source": unit.source, "programs": programs, "notes": list(dict.fromkeys(unit.notes)),
        }  # fmt: skip

    def _timeline(self, recorder: Any) -> None:
        new = recorder.spans[self.written_spans :]
        self.written_spans += len(new)
        parts = zip(new[::3], new[1::3], new[2::3], strict=True)
        with (self.folder / TIMELINE).open("a", encoding="ascii") as file:
            file.writelines(
                f"{start - recorder.started},{end - recorder.started},{number}\n" for start, end, number in parts
            )

    def _json(self, name: str, document: Any) -> None:
        replace_file(self.folder / name, json.dumps(document, separators=(",", ":")).encode(), durable=False)


def _row(key: tuple[Any, ...], times: Any, recorder: Any) -> dict[str, Any]:
    number, what, name, device = key
    row: dict[str, Any] = {
        "number": times.number, "device": device, "calls": times.calls, "total_ns": times.total,
        "first_ns": times.first, "least_ns": times.least, "times_ns": list(times.kept), "alone_ns": times.alone,
    }  # fmt: skip
    if number is None:
        return {**row, "name": name, "transfer": bool(what)}
    parameters = recorder.units[number].parameters
    launches = [[name, *numbers] for (_, name), numbers in times.launches.items()]
    return {**row, "unit": number, "sizes": dict(zip(parameters, map(int, what), strict=False)), "launches": launches}
