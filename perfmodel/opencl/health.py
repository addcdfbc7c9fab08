"""Selection of a device that works: it must build and run a kernel, in another process, since drivers may crash."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from warnings import warn

from perfmodel.errors import BrokenDeviceError, PerfModelWarning, UnknownNameError, listed as joined
from perfmodel.facts import DeviceFacts
from perfmodel.opencl.device import Device, devices, identities, no_device

TIME_LIMIT_S = 60.0

ONLY_INSTALLED = "import sys; sys.path = [place for place in sys.path if place]; "
"""Start of a program for ``python -c``; without it, modules of the current folder would be imported first."""
WORK_ITEMS = 64
# a cached program would hide a broken compiler
_WITHOUT_CACHES = {"PYOPENCL_NO_CACHE": "1", "POCL_KERNEL_CACHE": "0", "CUDA_CACHE_DISABLE": "1"}


@dataclass(frozen=True)
class Health:
    """Result of a check in one line, and its time, without the start of Python [s]."""

    ok: bool
    seconds: float
    message: str


def find(selector: str | None = None) -> Device:
    """Return a device that works. Without one, raise NoDeviceError, UnknownNameError or BrokenDeviceError.

    `selector` is an index, a slug or a name. Otherwise it is a part of a platform's name, or else of a slug or name, in
    upper or lower case. Of several equally good matches, the first that works is taken. The default is PoCL, or else
    the first that works.
    """
    failures: list[tuple[Device, Health]] = []
    for device in _candidates(selector, devices()):
        health = check(device)
        if health.ok:
            return device
        failures.append((device, health))
    device, health = failures[0]
    if selector is None:
        raise no_device(f"no listed OpenCL device works ('{device.name}' failed: {health.message})")
    raise broken(device.name, health.message)


def identify(selector: str | None = None) -> Device:
    """Return the device that :func:`find` returns if all devices work, with only its identity. No kernel is built."""
    return _candidates(selector, identities())[0]


def _candidates(selector: str | None, listed: tuple[Device, ...]) -> list[Device]:
    if not listed:
        raise no_device()
    if selector is None:
        return sorted(listed, key=lambda device: not device.slug.startswith("pocl-"))
    wanted = selector.strip().lower()
    rules: tuple[Callable[[Device], bool], ...] = (
        lambda device: wanted == str(device.index), lambda device: wanted in (device.slug, device.name.lower()),
        lambda device: wanted in device.platform.lower(),
        lambda device: wanted in device.slug or wanted in device.name.lower(),
    )  # fmt: skip
    for rule in rules:
        if wanted and (matches := [device for device in listed if rule(device)]):
            if len({device.slug for device in matches}) > 1:
                warn(f"several devices match '{selector}', and the first that works is taken ({_names(matches)})",
                     PerfModelWarning, stacklevel=2)  # fmt: skip
            return matches
    problem = f"no OpenCL device matches '{selector}'; there are: {_names(listed)}"
    raise UnknownNameError(problem, "give an index or a part of a name or platform")


def _names(devices: tuple[Device, ...] | list[Device]) -> str:
    return joined(f"{device.index}: {device.name} ({device.platform})" for device in devices)


def check(device: Device, time_limit: float = TIME_LIMIT_S) -> Health:
    """Build and run a new small kernel on a device in a new process, and check its result, within `time_limit` [s]."""
    start = time.perf_counter()
    try:
        return Health(**_probe(str(device.index), time_limit))
    except BrokenDeviceError as error:
        return Health(False, time.perf_counter() - start, error.cause)


def survey() -> tuple[tuple[Device, Health], ...]:
    """Return all devices with their checks, without OpenCL in this process. A crash raises BrokenDeviceError."""
    listed = _probe("list", TIME_LIMIT_S)["devices"]
    known = (Device(index, DeviceFacts.from_json(document)) for index, document in enumerate(listed))
    return tuple((device, check(device)) for device in known)


def broken(device: str, cause: str) -> BrokenDeviceError:
    """Return the error for a device that does not work."""
    problem = f"the OpenCL device '{device}' is listed but does not work: {cause}"
    advice = "choose another with --device, or run 'perfmodel doctor' for the remedy"
    return BrokenDeviceError(problem, advice, cause=cause)


def _probe(argument: str, time_limit: float) -> dict[str, Any]:
    program = f"{ONLY_INSTALLED}from perfmodel.opencl.health import main; main(sys.argv[1])"
    command = [sys.executable, "-W", "ignore", "-c", program, argument]
    subject = "any" if argument == "list" else argument
    try:
        environment = {**os.environ, **_WITHOUT_CACHES}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=time_limit)
    except subprocess.TimeoutExpired:
        raise broken(subject, f"gave no answer in {time_limit:g} s") from None
    if done.returncode != 0:
        raise broken(subject, _death(done.returncode, done.stderr))
    # a driver may print too; the answer is the last line
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _death(status: int, stderr: str) -> str:
    lines = stderr.strip().splitlines()
    last = f": {lines[-1].strip()}" if lines else ""
    if status < 0:
        return f"its driver crashed ({signal.Signals(-status).name}){last}"
    return f"its driver ended the process with status {status}{last}"


def run_small_kernel(device: Device) -> None:
    """Run a new kernel in which item i writes 3 i + s for a random s. Raise ArithmeticError if the result is wrong."""
    import numpy as np
    import pyopencl as cl

    salt = random.randrange(2**24)
    source = f"kernel void small(global int *a) {{ a[get_global_id(0)] = 3*get_global_id(0) + {salt}; }}"
    context, queue = device.context()
    program = cl.Program(context, source).build()
    result = np.zeros(WORK_ITEMS, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, result.nbytes)
    program.small(queue, result.shape, None, buffer)
    cl.enqueue_copy(queue, result, buffer)
    queue.finish()
    expected = 3 * np.arange(WORK_ITEMS) + salt
    if not np.array_equal(expected, result):
        wrong = int(np.flatnonzero(expected != result)[0])
        raise ArithmeticError(f"element {wrong} is {result[wrong]}, not {expected[wrong]}: a kernel ran wrongly")


def health(device: Device) -> dict[str, Any]:
    """Run the small kernel. Return the fields of :class:`Health`."""
    start = time.perf_counter()
    try:
        run_small_kernel(device)
    except Exception as error:  # a driver may raise any error
        reason = str(error).strip().partition("\n")[0].rstrip() or "no reason given"
        ok, message = False, f"{type(error).__name__}: {reason}"
    else:
        ok, message = True, "built and ran a kernel"
    return {"ok": ok, "seconds": time.perf_counter() - start, "message": message}


def main(argument: str) -> None:
    """Write JSON to standard output: the facts of all devices for "list", and the health of device 0 for "0"."""
    listed = devices()
    if argument == "list":
        answer: dict[str, Any] = {"devices": [device.facts.to_json() for device in listed]}
    elif int(argument) < len(listed):
        answer = health(listed[int(argument)])
    else:
        answer = {"ok": False, "seconds": 0.0, "message": "the device is no longer listed"}
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
