"""What goes wrong with a Dask scheduler and the workers that measure."""

from __future__ import annotations

from perfmodel.errors.base import PerfModelError


class SchedulerError(PerfModelError, ConnectionError):
    """A Dask scheduler does not answer."""

    address: str
    problem: str
    message = """the Dask scheduler at '{address}' does not answer: {problem}; give the address that 'dask scheduler'
    prints, such as tcp://host:8786, and run this again: what was measured is kept."""


class TlsError(PerfModelError, ConnectionError):
    """A scheduler is reached by TLS only with certificates, and those at hand do not serve."""

    address: str
    problem: str
    message = """no encrypted connection to the Dask scheduler at '{address}': {problem}; give files that the cluster's
    own authority signed, by Dask's configuration (distributed.comm.tls) or 'perfmodel worker --tls-ca-file CA.PEM
    --tls-cert CERT.PEM --tls-key KEY.PEM'."""


class EmptyClusterError(PerfModelError, LookupError):
    """A scheduler has no workers."""

    address: str
    waited_s: float
    message = """the Dask scheduler at '{address}' has no workers (waited {waited_s:g} s); start some, as
    'dask worker {address} --nthreads 1', or leave the block of parallel_config(backend="dask")."""


class NoWorkerError(PerfModelError, LookupError):
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


class AmbiguousDeviceError(PerfModelError, LookupError):
    """Workers have several devices of which one is to be chosen."""

    selector: str
    allowed: tuple[str, ...]
    message = "several devices of the workers match '{selector}': {allowed}; give one of these names."


class WorkerVersionError(PerfModelError, RuntimeError):
    """A worker has other versions than the process that asks it."""

    worker: str
    wrong: tuple[str, ...]  # each as "loopy 2025.1 (here 2025.2)"
    message = """the worker {worker} has other versions: {wrong}; its code and counts may differ. Install
    the same versions there, or run this from an environment like the worker's."""


class KernelTravelError(PerfModelError, TypeError):
    """A kernel class cannot be sent to a worker."""

    kernel: str
    problem: str
    message = """the kernel class '{kernel}' cannot be sent to a worker: {problem}; let its functions make such values
    when they are called, instead of holding them, and install on the worker what they import."""
