"""What goes wrong with a device, its facts and its caches, and with a Dask cluster whose workers measure."""

from __future__ import annotations

from pathlib import Path

from perfmodel.errors.base import PerfModelWarning
from perfmodel.errors.described import DescribedError


class NoDeviceError(DescribedError, RuntimeError):
    """There is no OpenCL device, or none that works."""

    problem: str = "no OpenCL device was found"
    message = """{problem}; run scripts/setup, or pip install 'perfmodel[cpu]', or as root: apt-get install
    pocl-opencl-icd. Then 'perfmodel doctor' says what works."""


class UnknownDeviceError(DescribedError, LookupError):
    """No device matches what was asked for."""

    selector: str
    allowed: tuple[str, ...]
    message = """no OpenCL device matches '{selector}'; there are: {allowed}. Give an index or a part of a name or
    platform."""


class AmbiguousDeviceWarning(PerfModelWarning):
    """Several devices match what was asked for."""


class BrokenDeviceError(DescribedError, RuntimeError):
    """A device is listed, but does not build and run a small kernel."""

    device: str
    problem: str
    message = """the OpenCL device '{device}' is listed but does not work: {problem}; choose another with --device, or
    run 'perfmodel doctor' for what mends it."""


class DeviceBusyError(DescribedError, TimeoutError):
    """Another campaign measures on a device, and did not end in time."""

    device: str
    waited_s: float
    holder: str  # process, host, and since when
    path: str | Path
    message = """another campaign measures on '{device}' and did not end within {waited_s:g} s: {holder} (it locks
    '{path}'); end that process, or run this again later."""


class SchedulerError(DescribedError, ConnectionError):
    """A Dask scheduler does not answer."""

    address: str
    problem: str
    message = """the Dask scheduler at '{address}' does not answer: {problem}; give the address that 'dask scheduler'
    prints, such as tcp://host:8786, and run this again: what was measured is kept."""


class TlsError(DescribedError, ConnectionError):
    """A scheduler is reached by TLS only with certificates, and those at hand do not serve."""

    address: str
    problem: str
    message = """no encrypted connection to the Dask scheduler at '{address}': {problem}; give files that the cluster's
    own authority signed, by Dask's configuration (distributed.comm.tls) or 'perfmodel worker --tls-ca-file CA.PEM
    --tls-cert CERT.PEM --tls-key KEY.PEM'."""


class EmptyClusterError(DescribedError, LookupError):
    """A scheduler has no workers."""

    address: str
    waited_s: float
    message = """the Dask scheduler at '{address}' has no workers (waited {waited_s:g} s); start some, as
    'dask worker {address} --nthreads 1', or leave the block of parallel_config(backend="dask")."""


class NoWorkerError(DescribedError, LookupError):
    """No worker of a scheduler has a device."""

    device: str  # what was asked for; empty for any device
    address: str  # of the scheduler
    allowed: tuple[str, ...]  # the devices that workers have
    waited_s: float = 0.0

    def __str__(self) -> str:
        what = f"the device '{self.device}'" if self.device else "a device"
        waited = f" (waited {self.waited_s:g} s)" if self.waited_s else ""
        return (
            f"no worker of the scheduler at '{self.address}' has {what}{waited}; its workers have: "
            f"{', '.join(self.allowed) or 'none'}; on the machine with the device run: perfmodel worker {self.address} "
            "--device NAME."
        )


class AmbiguousDeviceError(DescribedError, LookupError):
    """Workers have several devices of which one is to be chosen."""

    selector: str
    allowed: tuple[str, ...]
    message = "several devices of the workers match '{selector}': {allowed}; give one of these names."


class WorkerVersionError(DescribedError, RuntimeError):
    """A worker has other versions than the process that asks it."""

    worker: str
    wrong: tuple[str, ...]  # each as "loopy 2025.1 (here 2025.2)"
    message = """the worker {worker} has other versions: {wrong}; its code and counts may differ. Install
    the same versions there, or run this from an environment like the worker's."""


class KernelTravelError(DescribedError, TypeError):
    """A kernel class cannot be sent to a worker."""

    kernel: str
    problem: str
    message = """the kernel class '{kernel}' cannot be sent to a worker: {problem}; let its functions make such values
    when they are called, instead of holding them, and install on the worker what they import."""
