from .device import Device, devices, no_device, quiet_compiler
from .health import Health, check, find, identify, survey

__all__ = ["Device", "Health", "check", "devices", "find", "identify", "no_device", "quiet_compiler", "survey"]
