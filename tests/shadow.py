"""Modules put in front of the installed ones, for new processes that shall meet a machine unlike this one."""

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent


def shadow(folder: Path, module: str, body: str) -> str:
    """Write a module into a folder; gives the PYTHONPATH that puts it in front."""
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(body)
    return os.pathsep.join([str(folder), str(ROOT)])


def fake_opencl(when_listed: str) -> str:
    """Give a pyopencl that runs this statement as soon as the platforms are listed."""
    return f"class Error(Exception): pass\ndef get_platforms():\n    {when_listed}\n"


NO_DRIVERS = fake_opencl("raise Error('clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR')")
