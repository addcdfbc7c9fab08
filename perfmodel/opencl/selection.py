"""Selection of a device by index, name or platform, and the registers that a kernel uses (NVIDIA's build log only)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from warnings import warn

from perfmodel.errors import AmbiguousDeviceWarning, BrokenDeviceError, NoDeviceError, UnknownDeviceError
from perfmodel.opencl.device import Device, devices, identities, quiet_compiler
from perfmodel.opencl.health import Health, check


def find(selector: str | None = None) -> Device:
    """Find a device that works.

    Parameters
    ----------
    selector : str, optional
        An index, a slug or name, else a part of a platform's name, else a part of a slug or
        name, in upper or lower case; of several that match equally well, the first that works.
        Left out: PoCL if it works, else the first device that does.

    Raises
    ------
    NoDeviceError
        If no device is listed, or none was named and none works.
    UnknownDeviceError
        If none matches.
    BrokenDeviceError
        If those that match do not build and run a kernel.

    Warns
    -----
    AmbiguousDeviceWarning
        If devices of several names match.
    """
    candidates = _candidates(selector, devices())
    failures: list[tuple[Device, Health]] = []
    for device in candidates:
        health = check(device)
        if health.ok:
            return device
        failures.append((device, health))
    device, health = failures[0]
    if selector is None:
        raise NoDeviceError(f"no listed OpenCL device works ('{device.name}' failed: {health.message})")
    raise BrokenDeviceError(device.name, health.message)


def identify(selector: str | None = None) -> Device:
    """Find the device that :func:`find` would return if all devices work, quickly: no kernel is built or run.

    It has only the facts that tell devices apart (:func:`perfmodel.opencl.device.identities`).

    Raises
    ------
    NoDeviceError
        If no device is listed.
    UnknownDeviceError
        If none matches.
    """
    return _candidates(selector, identities())[0]


def _candidates(selector: str | None, listed: tuple[Device, ...]) -> list[Device]:
    """Return the devices that may be meant, the one to be tried first in front."""
    if not listed:
        raise NoDeviceError
    if selector is None:
        return sorted(listed, key=lambda device: not device.slug.startswith("pocl-"))
    return _matching(selector, listed)


def _matching(selector: str, listed: tuple[Device, ...]) -> list[Device]:
    wanted = selector.strip().lower()
    rules: tuple[Callable[[Device], bool], ...] = (
        lambda device: wanted == str(device.index),
        lambda device: wanted in (device.slug, device.name.lower()),
        lambda device: wanted in device.platform.lower(),
        lambda device: wanted in device.slug or wanted in device.name.lower(),
    )
    for rule in rules:
        if wanted and (matches := [device for device in listed if rule(device)]):
            if len({device.slug for device in matches}) > 1:
                names = ", ".join(f"{device.index}: {device.name} ({device.platform})" for device in matches)
                warn(f"several devices match '{selector}', and the first that works is taken ({names})",
                     AmbiguousDeviceWarning, stacklevel=2)  # fmt: skip
            return matches
    raise UnknownDeviceError(selector, tuple(f"{device.index}: {device.name} ({device.platform})" for device in listed))


VERBOSE_OPTION = "-cl-nv-verbose"

_ENTRY = re.compile(r"Compiling entry function '([^']+)'")
_PROPERTIES = re.compile(r"Function properties for '?([^'\s]+)'?")
_SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True)
class RegisterUse:
    """Registers that a device kernel uses.

    Parameters
    ----------
    registers : int
        32-bit registers of one work-item.
    spilled_bytes : int
        Bytes that one work-item stores and loads because its registers do not suffice [B].
    """

    registers: int
    spilled_bytes: int = 0


def read_registers(build_log: str) -> Mapping[str, RegisterUse]:
    """Find the registers of each device kernel in NVIDIA's verbose build log.

    Parameters
    ----------
    build_log : str
        Output of ``ptxas`` with the option ``-cl-nv-verbose`` (extension ``cl_nv_compiler_options``).

    Returns
    -------
    mapping
        Kernel name to its use, in the order of the log; empty if the log reports nothing, as that of
        another vendor, or of a program from the driver's cache.

    Examples
    --------
    >>> log = '''ptxas info    : Compiling entry function 'sum0' for 'sm_50'
    ... ptxas info    : Function properties for sum0
    ...     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
    ... ptxas info    : Used 12 registers, 344 bytes cmem[0]'''
    >>> dict(read_registers(log))
    {'sum0': RegisterUse(registers=12, spilled_bytes=0)}
    """
    uses: dict[str, RegisterUse] = {}
    entry, subject, spilled = "", "", 0
    for line in build_log.splitlines():
        if begins := _ENTRY.search(line):
            entry = subject = begins[1]
            spilled = 0
        elif of := _PROPERTIES.search(line):
            subject = of[1]
        if (spills := _SPILLS.search(line)) and subject == entry:
            spilled = int(spills[1]) + int(spills[2])
        if (used := _USED.search(line)) and entry:
            uses[entry] = RegisterUse(int(used[1]), spilled)
            entry = ""
    return uses


def count_registers(device: Device, source: str, options: tuple[str, ...] = ()) -> Mapping[str, RegisterUse] | None:
    """Build a program and find the registers that its kernels use.

    Parameters
    ----------
    device : Device
    source : str
        OpenCL code.
    options : tuple of str
        Build options.

    Returns
    -------
    mapping or None
        As :func:`read_registers`; None where they are unknown, as on all devices except NVIDIA's:
        OpenCL has no query for them. NVIDIA's driver reports nothing for a program in its own
        cache: set ``CUDA_CACHE_DISABLE=1`` before the process starts.
    """
    import pyopencl as cl

    context, _ = device.context()
    (handle,) = context.devices
    if "cl_nv_compiler_options" not in handle.extensions.split():
        return None
    with quiet_compiler():
        program = cl.Program(context, source).build([*options, VERBOSE_OPTION], cache_dir=False)
    log = program.get_build_info(handle, cl.program_build_info.LOG)
    return read_registers(log) or None
