"""Check of a device: it must build and run a kernel, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import BrokenDeviceError
from perfmodel.facts import DeviceFacts
from perfmodel.opencl.device import Device

TIME_LIMIT_S = 60.0

#: Start of a program for ``python -c``, which would import what lies in the current folder first.
ONLY_INSTALLED = "import sys; sys.path = [place for place in sys.path if place]; "

# With a cached program, a compiler that no longer works would not be noticed.
_WITHOUT_CACHES = {"PYOPENCL_NO_CACHE": "1", "POCL_KERNEL_CACHE": "0", "CUDA_CACHE_DISABLE": "1"}


@dataclass(frozen=True)
class Health:
    """Result of a check.

    Parameters
    ----------
    ok : bool
        Whether it built and ran the kernel, and the result was right.
    seconds : float
        Time that it took [s], without the start of Python.
    message : str
        The result in one line.
    """

    ok: bool
    seconds: float
    message: str


def check(device: Device, time_limit: float = TIME_LIMIT_S) -> Health:
    """Build and run a small kernel on a device and look at its result.

    Each check builds another kernel, in a new process, so that a program from a cache does not
    count, and a driver that crashes or hangs does no harm. It ends with this process, however that ends.

    Parameters
    ----------
    device : Device
    time_limit : float
        A device that takes longer is reported as not working [s].
    """
    start = time.perf_counter()
    try:
        answer = _probe(str(device.index), time_limit)
    except BrokenDeviceError as error:
        return Health(False, time.perf_counter() - start, error.problem)
    return Health(bool(answer["ok"]), float(answer["seconds"]), str(answer["message"]))


def survey(time_limit: float = TIME_LIMIT_S) -> tuple[tuple[Device, Health], ...]:
    """List all devices and check each, with no OpenCL in this process.

    Parameters
    ----------
    time_limit : float
        As in :func:`check`, for each device [s].

    Raises
    ------
    BrokenDeviceError
        If a driver crashes or hangs as soon as the devices are listed.
    """
    listed = _probe("list", time_limit)["devices"]
    found = (
        Device(index, DeviceFacts.from_json(document)) for index, document in enumerate(listed)
    )
    return tuple((device, check(device, time_limit)) for device in found)


def _probe(argument: str, time_limit: float) -> dict[str, Any]:
    own = "from perfmodel.opencl.probe import end_with_parent, main; end_with_parent({}); main(sys.argv[1])"
    command = [sys.executable, "-W", "ignore", "-c", ONLY_INSTALLED + own.format(os.getpid()), argument]
    subject = "any" if argument == "list" else argument
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **_WITHOUT_CACHES},
            capture_output=True,
            text=True,
            timeout=time_limit,
        )
    except subprocess.TimeoutExpired:
        raise BrokenDeviceError(subject, f"gave no answer in {time_limit:g} s") from None
    if done.returncode != 0:
        raise BrokenDeviceError(subject, _death(done.returncode, done.stderr))
    # A driver may print too; the answer is the last line.
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _death(status: int, stderr: str) -> str:
    lines = stderr.strip().splitlines()
    said = f": {lines[-1].strip()}" if lines else ""
    if status < 0:
        return f"its driver crashed ({signal.Signals(-status).name}){said}"
    return f"its driver ended the process with status {status}{said}"
