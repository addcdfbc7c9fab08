"""The OpenCL devices of this machine as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.documents import one_line
from perfmodel.errors import NoDeviceError
from perfmodel.facts import DeviceFacts
from perfmodel.opencl.queries import facts_of, identity_of


@dataclass(frozen=True)
class Device:
    """One OpenCL device.

    Parameters
    ----------
    index : int
        Its place, from 0, among all devices of all platforms.
    facts : DeviceFacts
        What the device reports, each number with its source.
    """

    index: int
    facts: DeviceFacts

    def __repr__(self) -> str:
        return one_line(f"<Device {self.index}: {self.name} ({self.platform})>")

    @property
    def name(self) -> str:
        """The device's name, as OpenCL gives it."""
        return self.facts.name

    @property
    def platform(self) -> str:
        """The name of the platform that it belongs to."""
        return self.facts.platform

    @property
    def slug(self) -> str:
        """A short name that is safe for files; see :attr:`perfmodel.facts.DeviceFacts.slug`."""
        return self.facts.slug

    def context(self) -> tuple[Any, Any]:
        """Open the device.

        Returns
        -------
        (pyopencl.Context, pyopencl.CommandQueue)
            A new context, and an in-order queue in it with profiling.

        Raises
        ------
        NoDeviceError
            If the device has gone since it was listed.
        """
        import pyopencl as cl

        handles = _handles()
        if self.index >= len(handles):
            raise NoDeviceError(f"the OpenCL device {self.index} ('{self.name}') is gone")
        context = cl.Context([handles[self.index]])
        queue = cl.CommandQueue(
            context, properties=cl.command_queue_properties.PROFILING_ENABLE
        )
        return context, queue


def devices() -> tuple[Device, ...]:
    """List the OpenCL devices of all platforms, working or not.

    Returns
    -------
    tuple of Device
        In the order in which OpenCL lists them; empty if there is none.
    """
    return tuple(
        Device(index, facts_of(handle)) for index, handle in enumerate(_handles())
    )


def identities() -> tuple[Device, ...]:
    """List the same devices with only those facts that tell one from another: quickly, no kernel is built."""
    return tuple(Device(index, identity_of(handle)) for index, handle in enumerate(_handles()))


def _handles() -> list[Any]:
    import pyopencl as cl

    try:
        platforms = cl.get_platforms()
    except cl.Error:  # the loader raises it if there is no platform
        return []
    handles: list[Any] = []
    for platform in platforms:
        try:
            handles.extend(platform.get_devices())
        except cl.Error:  # a platform without its hardware
            continue
    return handles
