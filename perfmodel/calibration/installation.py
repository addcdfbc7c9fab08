"""The parts that perfmodel needs: the versions found, whether they work, and the command that repairs each."""

import platform
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from perfmodel import libraries
from perfmodel.errors import BrokenDeviceError, PerfModelError
from perfmodel.libraries import INSTALL, NEWER, REPAIR_COMMAND, fits, has_upper_bound, installed

OK = "ok"
NOTE = "note"  # the main job runs without it
WRONG = "wrong"  # the main job cannot run

# Graphics cards that OpenCL's loader may not know: the device file of the card's driver, a word of the OpenCL
# platform's name, and the file and the library that register the platform.
_CARDS = (
    ("/dev/nvidiactl", "nvidia", "nvidia.icd", "libnvidia-opencl.so.1"),
    ("/dev/kfd", "amd", "amdocl64.icd", "libamdocl64.so"),
)
_REPAIR_DEVICES = "scripts/setup, or pip install 'perfmodel[cpu]', or as root: apt-get install pocl-opencl-icd"


@dataclass(frozen=True)
class Part:
    """One part of the installation."""

    name: str
    found: str  # the version or name that was found
    status: str = OK
    message: str = ""  # the problem, or how well the part works
    repair: str = ""  # the command that repairs it; empty where nothing is broken


def diagnose() -> Iterator[Part]:
    """Check every part. Each part is checked after the parts that it needs."""
    yield python_part()
    yield from library_parts()
    yield barvinok_part()
    yield from device_parts()


def python_part() -> Part:
    """Check Python's version."""
    version = platform.python_version()
    allowed = metadata.metadata("perfmodel")["Requires-Python"]
    if Requirement(f"python{allowed}").specifier.contains(version, prereleases=True):
        return Part("Python", version)
    repair = "rm -rf .venv && PYTHON=python3.11 scripts/setup"
    return Part("Python", version, WRONG, f"perfmodel needs {allowed}", repair)


def library_parts() -> Iterator[Part]:
    """Check the version of each library in setup.cfg. Import the libraries whose range has an upper bound."""
    return map(_library_part, libraries.required())


def _library_part(requirement: Requirement) -> Part:
    name, wanted = requirement.name, str(requirement.specifier)
    repair = f"{INSTALL} '{name}{wanted}'"
    version = installed(name)
    if not version:
        return Part(name, "", WRONG, f"is not installed, {wanted} is needed", repair)
    if not fits(requirement, version):
        message = f"lies outside the range that works, {wanted}"
        if name in NEWER and fits(Requirement(NEWER[name]), version):
            message = f"lies outside the range of the released Loopy, {wanted}; only Loopy's main branch works with it"
        return Part(name, version, WRONG, message, repair)
    if has_upper_bound(requirement) and (failure := _import_failure(name)):
        repair = f"{INSTALL} --force-reinstall --no-deps '{name}{wanted}'"
        return Part(name, version, WRONG, f"does not load: {failure}", repair)
    which = "" if name != "loopy" else ", its main branch, with namedisl" if libraries.with_main() else ", as released"
    return Part(name, version, OK, f"{wanted}{which}")


def _import_failure(module: str) -> str:
    from perfmodel.opencl.health import ONLY_INSTALLED

    command = [sys.executable, "-W", "ignore", "-c", f"{ONLY_INSTALLED}import {module}"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stderr.strip().splitlines() or [f"Python ended with status {done.returncode}"]
    return lines[-1].strip() if done.returncode else ""


def barvinok_part() -> Part:
    """Check whether the installed islpy counts the points of a set."""
    try:
        from perfmodel.counts.points import set_counter
    except (ImportError, PerfModelError) as error:
        return Part("Barvinok", "", WRONG, f"cannot be checked: {error}", "scripts/setup")
    version = installed("islpy-barvinok")
    if not fits(wanted := libraries.barvinok(), version):
        return Part("Barvinok", version, WRONG, f"is not the version that works, {wanted}", REPAIR_COMMAND)
    if set_counter.has_barvinok():
        return Part("Barvinok", "in islpy", OK, "counts sets")
    if set_counter.is_overwritten():
        status, message = WRONG, "islpy was reinstalled on top of islpy-barvinok"
    else:
        status, message = NOTE, "islpy-barvinok is not installed"
    message += ": counting is slower, and some counts may be upper bounds"
    return Part("Barvinok", "not in islpy", status, message, REPAIR_COMMAND)


def device_parts() -> Iterator[Part]:
    """Build and run a small kernel on every OpenCL device, each in its own process."""
    try:
        from perfmodel.opencl import survey

        surveyed = survey()
    except BrokenDeviceError as error:
        yield Part("OpenCL", "", WRONG, f"listing the devices: {error.cause}", _REPAIR_DEVICES)
        return
    if not surveyed:
        yield Part("OpenCL", "no device", WRONG, "nothing to measure on", _REPAIR_DEVICES)
    yield from _hidden_cards(tuple(device.platform for device, _ in surveyed))
    any_works = any(health.ok for _, health in surveyed)
    for device, health in surveyed:
        name, what = f"device {device.index}", f"{device.name} ({device.platform})"
        if health.ok:
            yield Part(name, what, OK, f"{health.message} in {health.seconds:.2f} s")
            yield from fact_parts(device.index)
        else:
            yield Part(name, what, NOTE if any_works else WRONG, health.message, _repair_of(device.slug))


def fact_parts(index: int) -> Iterator[Part]:
    """Yield contradictions between the facts that belong to the weights in use for a device."""
    from perfmodel.calibration.recommended import load
    from perfmodel.facts.doubts import contradictions

    try:
        facts = load(device=str(index)).facts
    except PerfModelError:
        return  # a prediction reports it
    for doubt in contradictions(facts) if facts else ():
        repair = f"perfmodel calibrate --probes --device {index}, on a quiet machine"
        yield Part(f"facts of {index}", doubt.what, NOTE, f"{', '.join(doubt.statements)}; {doubt.assumption}", repair)


def _hidden_cards(platforms: tuple[str, ...]) -> Iterator[Part]:
    """Yield the machine's cards, and Intel's runtime in this environment, for which OpenCL has no platform."""
    from perfmodel.opencl.device import INTEL

    for file, word, entry, library in _CARDS:
        if Path(file).exists() and not any(word in platform.lower() for platform in platforms):
            message = "the card is installed, but OpenCL's loader does not know its driver"
            repair = f"as root: mkdir -p /etc/OpenCL/vendors && echo {library} > /etc/OpenCL/vendors/{entry}"
            yield Part("OpenCL", f"{word.upper()} card", NOTE, message, f"{repair} (docs/new-device.md)")
    if INTEL.is_file() and platforms and not any("Intel" in platform for platform in platforms):
        message = "it is in this environment (pip's extra 'cpu'), and OpenCL's loader knows other drivers"
        yield Part("OpenCL", "Intel's runtime", NOTE, message, f"export OCL_ICD_VENDORS={INTEL}")


def _repair_of(slug: str) -> str:
    if not slug.startswith("pocl-"):
        return _REPAIR_DEVICES
    if not installed("pocl-binary-distribution"):
        return "as root: apt-get install --reinstall pocl-opencl-icd"
    return f"{sys.executable} -m pip uninstall -y pocl-binary-distribution && scripts/setup"
