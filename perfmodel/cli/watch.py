"""``perfmodel watch``: run a program, and explain the kernels that it executed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Annotated

import typer
from typer import Argument, Option

from perfmodel import calibration, predicting, watching
from perfmodel.cli import options, output
from perfmodel.documents import json_text
from perfmodel.errors import NoWeightsError, OptionError, PerfModelError, listed
from perfmodel.facts import DeviceFacts, published_devices
from perfmodel.io import write_whole

SCHEMA = "perfmodel.watch/1"
LIVE_S = 5.0

Program = Annotated[list[str], Argument(
    metavar="APP.PY ARGS... | -m MODULE ARGS... | COMMAND ARGS... | RECORDING",
    help="The program with its arguments; or the folder of a recording, which is explained again.",
)]  # fmt: skip
Out = Annotated[Path | None, Option(
    "--out", metavar="FOLDER", help="New folder for the recording; recording-1, recording-2, ... by default.",
)]  # fmt: skip
On = Annotated[list[str] | None, Option(
    "--on", metavar="DEVICE",
    help="Predict the program on this device too, by its weights (titan-v) or published facts (h100); repeat for more.",
)]  # fmt: skip
Trace = Annotated[Path | None, Option(
    "--trace", metavar="FILE.json", help="Write the timeline for Perfetto (ui.perfetto.dev) and Chrome.",
)]  # fmt: skip
Live = Annotated[bool, Option("--live", help="Print the measured times every five seconds while the program runs.")]
Replay = Annotated[bool, Option(
    "--replay", help="At the end of the program, run each kernel alone: at most 60 seconds.",
)]  # fmt: skip


def watch_command(
    program: Program, out: Out = None, on: On = None, live: Live = False, replay: Replay = False, trace: Trace = None,
) -> None:  # fmt: skip
    """Run a program, and print what its Loopy kernels cost, measured and predicted.

    The program needs no changes. It writes to its own output; the table follows at its end, and the status is the
    program's.
    """
    output.one_output(trace=trace)
    models = {name: model_of(name) for name in on or ()}  # before the program runs, which may take long
    status = 0
    folder = Path(program[0])
    if folder.is_dir() and watching.recording.is_recording(folder):
        if len(program) > 1:
            right = shlex.join(["perfmodel", "watch", *program[1:], program[0]])
            raise OptionError("the folder of a recording was given before other arguments", f"give it last: {right}")
    else:
        command = command_of(program)
        folder = watching.starting.new_folder(out)
        status = _run(command, environment(folder, replay), folder, live)
        if not watching.recording.is_recording(folder):
            output.message(_nothing(program, status), with_json=True)
            with suppress(OSError):
                folder.rmdir()  # it is empty
            raise typer.Exit(status)
    recording = watching.recording.read_recording(folder)
    if trace is not None:
        write_whole(trace, json_text({"traceEvents": watching.page.trace_events(recording)}).encode())
    explained, tables = explanations(recording, models), watching.tables
    output.show(
        lambda: {"schema": SCHEMA, **tables.document(*explained)},
        lambda: "\n".join(tables.lines(*explained, output.table_width())),
    )
    if not output.settings().json:
        short = calibration.recommended.shown(folder)
        output.message(f"the recording is in {short}: perfmodel report {short} draws it")
    raise typer.Exit(status)


def command_of(program: Sequence[str]) -> list[str]:
    """Return the command that runs a program: a Python file, a module after ``-m``, or any other command."""
    first = program[0]
    if first == "-m":
        if len(program) < 2:
            raise OptionError("-m was given without a module", "give one: perfmodel watch -m package.module")
        return [sys.executable, *program]
    if Path(first).suffix == ".py":
        if not Path(first).is_file():
            raise OptionError(f"the file '{first}' does not exist", "give the path of a Python file")
        return [sys.executable, *program]
    if which(first) is None:
        problem = f"'{first}' is neither a Python file, nor a command, nor the folder of a recording"
        raise OptionError(problem, "give one: perfmodel watch app.py")
    return [*program]


def environment(folder: Path, replay: bool = False) -> dict[str, str]:
    """Return the environment that records a program and all processes that it starts."""
    start = Path(watching.starting.__file__).parent / "start"
    paths = [str(start), *filter(None, [os.environ.get("PYTHONPATH")])]
    given = {watching.starting.FOLDER: str(folder), watching.starting.REPLAY: str(int(replay))}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **given}


def _run(command: Sequence[str], variables: Mapping[str, str], folder: Path, live: bool) -> int:
    """Run the program to its end and return its status; it gets Ctrl-C from the terminal, and SIGTERM from here."""
    output.message(f"recording into {calibration.recommended.shown(folder)}: {shlex.join(command)}")
    folder.mkdir(parents=True, exist_ok=True)
    old = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with subprocess.Popen(
            command, env=variables, preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in old]
        ) as process:
            signal.signal(signal.SIGTERM, lambda *_: process.terminate())
            while live:
                try:
                    process.wait(LIVE_S)
                    break
                except subprocess.TimeoutExpired:
                    _show_live(folder)
            status = process.wait()
    except OSError as error:
        raise OptionError(f"'{command[0]}' cannot be run ({error.strerror})", "check the command") from error
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
    if status < 0:
        output.message(f"the program was ended by {signal.Signals(-status).name}")
    elif status:
        output.message(f"the program ended with status {status}")
    return status if status >= 0 else 128 - status


def _show_live(folder: Path) -> None:
    try:
        recording = watching.recording.read_recording(folder)
    except PerfModelError:  # nothing was written yet
        return
    table = watching.tables.measured_table(recording).text(output.table_width())
    print(f"\n{time.strftime('%H:%M:%S')}\n{table}", file=sys.stderr)


def _nothing(program: Sequence[str], status: int) -> str:
    if status > 128:
        return (
            "nothing was recorded: the program was ended before it executed anything on an OpenCL device through "
            "PyOpenCL, or right after its first commands"
        )
    if Path(program[0]).suffix == ".py" or program[0] == "-m":
        return "the program executed nothing on an OpenCL device through PyOpenCL, so there is nothing to explain"
    return (
        "no process of the program executed anything on an OpenCL device through PyOpenCL; if one does, it may run in "
        "another Python environment, or with Python's -S, -E or -I: install perfmodel there, and leave these out"
    )


def explanations(
    recording: watching.recording.Recording, models: Mapping[str, predicting.FittedModel]
) -> tuple[watching.explained.Explanation, dict[str, watching.explained.Explanation]]:
    """Explain a recording by the weights of its own devices, and as if its program ran on others.

    A device without weights has measured times only.
    """
    own = watching.explain(recording, progress=output.CommandBar(), report=output.message)
    devices = range(len(recording.devices))
    return own, {
        name: watching.explain(recording, dict.fromkeys(devices, model), progress=output.CommandBar())
        for name, model in models.items()
    }


def model_of(name: str) -> predicting.FittedModel:
    """Return the model of a device by its own weights, or by published facts with weights of a similar device."""
    recommended = calibration.recommended
    try:
        found = recommended.weights_like(name, DeviceFacts(name, "", "", ()))
    except NoWeightsError as error:
        if name in published_devices():
            return options.model_with_facts(name, None, None, None, output.message)
        folders = listed([folder.name for _, folder, _ in recommended.fitted_devices()])
        problem = f"no device matches '{name}'"
        advice = f"name a device with weights ({folders}), or with published facts ({listed(published_devices())})"
        raise NoWeightsError(problem, advice) from error
    output.message(found.text)
    return predicting.load(found.path)
