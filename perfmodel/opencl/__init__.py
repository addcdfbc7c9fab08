"""OpenCL devices: listing, selection, and a check in a separate process. A listed device may not work."""

from perfmodel.opencl.device import Device, devices, no_device, quiet_compiler
from perfmodel.opencl.health import Health, check, find, identify, survey

__all__ = ["Device", "Health", "check", "devices", "find", "identify", "no_device", "quiet_compiler", "survey"]
