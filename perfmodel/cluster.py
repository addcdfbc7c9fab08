"""A Dask scheduler and its workers: whether it answers, and whether their versions are ours."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perfmodel.errors import SchedulerError, TlsError, WorkerVersionError, extra_needed

#: A scheduler that does not answer so long is taken for gone [s].
ANSWERS_S = 5.0
#: The same for one that has answered before, and may have much to do [s].
LOST_S = 30.0
#: Must be the same on workers, so that they generate and count the same, and understand what they are asked.
SAME = ("perfmodel", "loopy", "islpy", "pyopencl")


def connected(address: str, timeout_s: float | None = None, security: Any = None) -> Any:
    """Connect to a scheduler, which must answer in :data:`ANSWERS_S`; return a ``distributed.Client``, to be closed.

    `security` holds certificates (:func:`secured`); by default those of Dask's configuration. Raises MissingExtraError
    without Dask, SchedulerError where nothing answers, TlsError where it does not accept the certificates.
    """
    distributed, timeout_s = dask(), ANSWERS_S if timeout_s is None else timeout_s
    security = security or secured(address)
    told = logging.getLogger("distributed")
    before = told.level
    told.setLevel(logging.CRITICAL)  # it repeats each attempt; the error below says it once
    try:
        with ThreadPoolExecutor(1) as thread:  # this one may run a loop of events already, as a notebook's does
            thread.submit(asyncio.run, _answered(address, timeout_s, security)).result()
        return distributed.Client(address, timeout=timeout_s, set_as_default=False, security=security)
    except asyncio.TimeoutError as error:
        raise SchedulerError(address, f"nothing in {timeout_s:g} s") from error
    except Exception as error:  # an address may be wrong in many ways, and a library for its protocol missing
        if address.startswith("tls://") and (refused := _refused_by_tls(error)):
            raise TlsError(address, refused) from error
        raise SchedulerError(address, " ".join(f"{error}".split()) or type(error).__name__) from error
    finally:
        told.setLevel(before)


async def _answered(address: str, timeout_s: float, security: Any) -> None:
    """Wait for a scheduler's answer, for which a client would wait for ever once it is connected."""
    arguments = security.get_connection_args("client")
    async with dask().rpc(address, timeout=timeout_s, connection_args=arguments) as scheduler:
        await asyncio.wait_for(scheduler.identity(), timeout_s)


def secured(address: str, **files: Path | None) -> Any:
    """Return the certificates for a scheduler as a ``distributed.Security``; TlsError if ``tls://`` cannot use them.

    The files are ``tls_ca_file``, ``tls_worker_cert`` and ``tls_worker_key``; without one, Dask's configuration names
    it. Where any is given, the worker's are shown to the scheduler, else a client's.
    """
    security = dask().Security(**{name: str(file) for name, file in files.items() if file is not None})
    if files:
        security.tls_client_cert, security.tls_client_key = security.tls_worker_cert, security.tls_worker_key
    if not address.startswith("tls://"):
        return security
    authority, cert, key = security.tls_ca_file, security.tls_client_cert, security.tls_client_key
    if not (authority and cert):
        raise TlsError(address, f"no {'certificate' if authority else 'certificate authority'} is given")
    for file in (authority, cert, key):
        if file and "\n" not in file and not Path(file).is_file():  # Dask takes the text of a file too
            raise TlsError(address, f"there is no file '{file}'")
    try:
        security.get_connection_args("client")
    except (OSError, ValueError) as error:
        shown = " and ".join(f"'{file}'" for file in (cert, key) if file and "\n" not in file)
        problem = f"{shown or 'what is given'} cannot be used with the certificates of authorities ({error})"
        raise TlsError(address, problem) from error
    return security


def _refused_by_tls(error: BaseException) -> str:
    """Return what TLS found wrong, if that is behind an error; else an empty text.

    Under TLS 1.3 a client learns only after its side of the handshake that its certificate is refused. Which error that
    is depends on what it does meanwhile: TLS's own, one that a closed stream holds, or a connection that is reset.
    """
    cause: BaseException | None = error
    while cause is not None:
        real = getattr(cause, "real_error", None) or cause
        if isinstance(real, ssl.SSLError | ConnectionResetError | BrokenPipeError):
            return f"the certificates of one side were refused ({' '.join(str(real).split())})"
        cause = cause.__cause__ or cause.__context__
    return ""


def reached_from(client: Any) -> tuple[str, str]:
    """Return by which protocol, and from which address of this machine, a client reaches its scheduler."""
    from distributed.comm.addressing import get_address_host

    local = client.scheduler_comm.comm.local_address
    return local.partition("://")[0], get_address_host(local)


def dask() -> Any:
    """Import Dask's scheduler of several processes; MissingExtraError says how to install it."""
    try:
        import distributed
    except ImportError:
        raise extra_needed("dask.distributed", "scale") from None
    return distributed


def address_of(client: Any) -> str:
    """Return the scheduler's address, also where the client was closed because the scheduler was lost."""
    return str(client._start_arg if client.scheduler is None else client.scheduler.address)


@contextmanager
def asking(client: Any) -> Iterator[None]:
    """Turn what a lost scheduler raises in the block into a SchedulerError that says so."""
    try:
        yield
    except (Exception, asyncio.CancelledError) as error:
        if problem := lost(client, error):
            raise problem from error
        raise


def lost(client: Any, error: BaseException) -> SchedulerError | None:
    """Return the error that says that the scheduler is lost, if this one of Dask's means that."""
    closed = client.scheduler is None  # the client finds that it has nobody to ask
    if closed or isinstance(error, OSError | asyncio.TimeoutError | CancelledError | asyncio.CancelledError):
        said = "" if closed else " ".join(str(error).split())
        return SchedulerError(address_of(client), said or "the connection is lost")
    return None


def workers_of(client: Any) -> dict[str, Any]:
    """Return what the scheduler says of each worker now, by its address."""
    with asking(client):  # client.scheduler_info() returns what it knew, where the scheduler is lost
        answer = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=LOST_S)
        return dict(answer["workers"])


def check_versions(client: Any, workers: list[str]) -> None:
    """Refuse workers whose versions are not those of this process; one that is lost meanwhile is not judged.

    WorkerVersionError names the first such worker, and all that differs on it.
    """
    with asking(client):
        answers = client.get_versions(packages=SAME)
    ours = _versions(answers["client"])
    for address in workers:
        theirs = _versions(answers["workers"][address]) if address in answers["workers"] else ours
        wrong = tuple(f"{name} {theirs[name]} (here {version})" for name, version in ours.items()
                      if theirs[name] != version)  # fmt: skip
        if wrong:
            raise WorkerVersionError(address, wrong)


def _versions(answer: dict[str, Any]) -> dict[str, str]:
    """Return from Dask's answer the version of Python without its last number, and those that must be the same."""
    packages = answer["packages"]
    python = ".".join(packages["python"].split(".")[:2])
    return {"Python": python} | {name: packages[name] or "not installed" for name in SAME}
