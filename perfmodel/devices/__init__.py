"""Discovery and health of OpenCL devices.

A listed device is not a working one: its compiler may fail on every kernel, or take the whole
process down. :func:`check` builds and runs a small kernel in a process of its own, and
:func:`find` gives only devices that passed.

The room can be called too: ``perfmodel.devices()`` is short for
``perfmodel.devices.devices()``.
"""

from __future__ import annotations

from perfmodel.devices.device import Device, devices, quiet_compiler
from perfmodel.devices.health import Health, check, survey
from perfmodel.devices.registers import RegisterUse, read_registers, registers
from perfmodel.devices.selection import find
from perfmodel.rooms import make_callable

__all__ = [
    "Device",
    "Health",
    "RegisterUse",
    "check",
    "devices",
    "find",
    "quiet_compiler",
    "read_registers",
    "registers",
    "survey",
]

_called = devices
make_callable(__name__)
