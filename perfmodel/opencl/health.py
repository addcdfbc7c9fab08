"""Check of a device: it must build and run a kernel, in a process of its own, since its driver may crash.

There ``main("list")`` writes the facts of all devices as one line of JSON, ``main("0")`` the health of device 0.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from perfmodel.errors import BrokenDeviceError
from perfmodel.facts import DeviceFacts
from perfmodel.opencl.device import Device, devices

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
    known = (Device(index, DeviceFacts.from_json(document)) for index, document in enumerate(listed))
    return tuple((device, check(device, time_limit)) for device in known)


def _probe(argument: str, time_limit: float) -> dict[str, Any]:
    own = "from perfmodel.opencl.health import end_with_parent, main; end_with_parent({}); main(sys.argv[1])"
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


_WORK_ITEMS = 64
PR_SET_PDEATHSIG = 1
"""Of Linux' ``prctl``: which signal a process gets when its parent ends."""


def run_small_kernel(device: Device) -> None:
    """Build a kernel that no cache holds, run it, and check that item :math:`i` writes :math:`3 i + s`, s random."""
    import numpy as np
    import pyopencl as cl

    salt = random.randrange(2**24)
    source = f"kernel void small(global int *a) {{ a[get_global_id(0)] = 3*get_global_id(0) + {salt}; }}"
    context, queue = device.context()
    program = cl.Program(context, source).build()
    result = np.zeros(_WORK_ITEMS, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, result.nbytes)
    program.small(queue, result.shape, None, buffer)
    cl.enqueue_copy(queue, result, buffer)
    queue.finish()
    expected = 3 * np.arange(_WORK_ITEMS) + salt
    if not np.array_equal(expected, result):
        wrong = int(np.flatnonzero(expected != result)[0])
        raise ArithmeticError(f"element {wrong} is {result[wrong]}, not {expected[wrong]}: a kernel ran wrongly")


def health(device: Device) -> dict[str, Any]:
    """Run the small kernel; return the fields of :class:`perfmodel.opencl.Health`."""
    start = time.perf_counter()
    try:
        run_small_kernel(device)
    except Exception as error:  # whatever a driver raises is the answer
        ok, message = False, f"{type(error).__name__}: {_first_line(error)}"
    else:
        ok, message = True, "built and ran a kernel"
    return {"ok": ok, "seconds": time.perf_counter() - start, "message": message}


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in lines if line), "no reason given")


def end_with_parent(parent: int) -> None:
    """Let Linux end this process as soon as its parent of this number does, even where a driver never returns.

    A thread that waits for it could not: a driver may hold Python's lock. Elsewhere this does nothing.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before that
            os._exit(1)


def main(argument: str) -> None:
    """Write the answer for one argument to standard output."""
    listed = devices()
    if argument == "list":
        answer: dict[str, Any] = {"devices": [device.facts.to_json() for device in listed]}
    elif int(argument) < len(listed):
        answer = health(listed[int(argument)])
    else:
        answer = {"ok": False, "seconds": 0.0, "message": "the device is no longer listed"}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
