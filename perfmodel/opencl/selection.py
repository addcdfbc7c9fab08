"""Selection of a device by index, name or platform."""

from __future__ import annotations

from collections.abc import Callable
from warnings import warn

from perfmodel.errors import AmbiguousDeviceWarning, BrokenDeviceError, NoDeviceError, UnknownDeviceError
from perfmodel.opencl.device import Device, devices, identities
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
