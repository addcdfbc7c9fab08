"""Discovery and health of OpenCL devices.

A listed device is not a working one: its compiler may fail on every kernel, or take the whole
process down. :func:`check` builds and runs a small kernel in a process of its own, and
:func:`find` gives only devices that passed.
"""

from __future__ import annotations

from perfmodel.opencl.device import Device, devices, quiet_compiler
from perfmodel.opencl.health import Health, check, survey
from perfmodel.opencl.registers import RegisterUse, read_registers, registers
from perfmodel.opencl.selection import find

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
