"""What runs in the process in which a device is checked, since its driver may crash.

``main("list")`` writes the facts of all devices as one line of JSON, ``main("0")`` the health of device 0.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import sys
import time
from typing import Any

from perfmodel.opencl.device import Device, devices

_WORK_ITEMS = 64
PR_SET_PDEATHSIG = 1
"""Of Linux' ``prctl``: which signal a process gets when its parent ends."""


def run_small_kernel(device: Device) -> None:
    """Build a kernel that no cache holds, run it, and check its result.

    Work-item :math:`i` writes :math:`3 i + s` for a random constant :math:`s`.

    Raises
    ------
    ArithmeticError
        If the result is wrong.
    """
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
        raise ArithmeticError(
            f"element {wrong} is {result[wrong]}, not {expected[wrong]}: a kernel ran wrongly"
        )


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
    found = devices()
    if argument == "list":
        answer: dict[str, Any] = {"devices": [device.facts.to_json() for device in found]}
    elif int(argument) < len(found):
        answer = health(found[int(argument)])
    else:
        answer = {"ok": False, "seconds": 0.0, "message": "the device is no longer listed"}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
