"""Selection of a device by index, name or platform."""

from __future__ import annotations

from collections.abc import Callable
from warnings import warn

from perfmodel.errors import PerfModelWarning, UnknownNameError, listed as joined
from perfmodel.opencl.device import Device, devices, identities, no_device
from perfmodel.opencl.health import Health, broken, check


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
                warn(f"several devices match '{selector}', and the first that works is taken ({_names(matches)})",
                     PerfModelWarning, stacklevel=2)  # fmt: skip
            return matches
    problem = f"no OpenCL device matches '{selector}'; there are: {_names(listed)}"
    raise UnknownNameError(problem, "give an index or a part of a name or platform")


def _names(devices: tuple[Device, ...] | list[Device]) -> str:
    return joined(f"{device.index}: {device.name} ({device.platform})" for device in devices)
