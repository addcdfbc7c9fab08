"""The OpenCL device that tests run on, found once."""

import os
from functools import cache
from pathlib import Path

from perfmodel import opencl
from perfmodel.facts import DeviceFacts
from perfmodel.opencl import Device

ROOT = Path(__file__).parents[1]
#: Variable of the environment with the index of the device that was found.
KNOWN = "PERFMODEL_TESTS_DEVICE"


@cache
def device() -> Device:
    """PoCL where it works, else whatever does; processes that a test starts take what it found without a check."""
    if KNOWN in os.environ:
        return opencl.devices()[int(os.environ[KNOWN])]
    found = opencl.find()
    os.environ[KNOWN] = str(found.index)
    return found


def fake_device(index: int, name: str, platform: str) -> Device:
    """Make a device that only has a name."""
    return Device(index, DeviceFacts(name, platform, "1", ()))
