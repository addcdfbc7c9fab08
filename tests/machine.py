"""The OpenCL device that tests run on, found once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from perfmodel import opencl
from perfmodel.facts import DeviceFacts
from perfmodel.opencl import Device

ROOT = Path(__file__).parents[1]


@cache
def device() -> Device:
    """PoCL where it works, else whatever does."""
    return opencl.find()


def fake_device(index: int, name: str, platform: str) -> Device:
    """Make a device that only has a name."""
    return Device(index, DeviceFacts(name, platform, "1", ()))
